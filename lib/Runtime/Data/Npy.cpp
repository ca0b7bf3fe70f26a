//===- Npy.cpp - One array as NumPy writes it -----------------------------===//
#include "lib/Runtime/Data/Npy.h"
#include <cctype>
#include <charconv>
#include <cstring>

namespace zero {
namespace {

/// Reads a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Status parse(NpyHeader &array) {
    bool sawType = false, sawOrder = false, sawShape = false;
    if (!accept('{'))
      return wrong();
    while (!accept('}')) {
      std::string key;
      if (!string(key) || !accept(':'))
        return wrong();
      if (key == "descr") {
        if (!string(array.type))
          return Status::badInput("its type is not a simple one");
        sawType = true;
      } else if (key == "fortran_order") {
        if (word("True"))
          return Status::badInput("it is stored in Fortran order; store it in C order (numpy.ascontiguousarray)");
        if (!word("False"))
          return wrong();
        sawOrder = true;
      } else if (key == "shape") {
        if (!shape(array.shape))
          return wrong();
        sawShape = true;
      } else {
        return wrong();
      }
      if (!accept(',') && peek() != '}')
        return wrong();
    }
    return sawType && sawOrder && sawShape ? Status() : wrong();
  }

private:
  static Status wrong() { return Status::badInput("its header is malformed"); }
  char peek() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool accept(char c) { return peek() == c && (++at, true); }
  bool word(std::string_view expected) {
    peek();
    if (text.substr(at, expected.size()) != expected)
      return false;
    at += expected.size();
    return true;
  }
  bool string(std::string &value) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos)
      return false;
    value = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool shape(std::vector<uint64_t> &dimensions) {
    if (!accept('('))
      return false;
    while (!accept(')')) {
      peek();
      uint64_t dimension;
      auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), dimension);
      if (error != std::errc())
        return false;
      at = static_cast<size_t>(end - text.data());
      dimensions.push_back(dimension);
      if (!accept(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view text;
  size_t at = 0;
};

} // namespace

uint64_t sizeOfNpyHeader(std::string_view beginning) {
  if (beginning.size() < 12)
    return beginning.size();
  uint64_t start = beginning[6] == 1 ? 10 : 12;
  uint32_t headerSize = 0;
  std::memcpy(&headerSize, beginning.data() + 8, start - 8);
  return start + headerSize;
}

Expected<NpyHeader> parseNpyHeader(std::string_view beginning, uint64_t size) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (beginning.size() < 10 || beginning.substr(0, 6) != kMagic)
    return Status::badInput("it is no NumPy array");
  unsigned version = static_cast<unsigned char>(beginning[6]);
  if (version < 1 || version > 3)
    return Status::badInput("its format version is " + std::to_string(version) + "; 1 to 3 can be read");
  size_t start = version == 1 ? 10 : 12;
  uint32_t headerSize = 0;
  if (beginning.size() < start)
    return Status::badInput("its header is cut off");
  std::memcpy(&headerSize, beginning.data() + 8, start - 8);
  if (headerSize > beginning.size() - start)
    return Status::badInput("its header is cut off");
  NpyHeader array;
  ZERO_RETURN_IF_ERROR(HeaderParser(beginning.substr(start, headerSize)).parse(array));

  uint64_t elementSize = 0;
  std::string_view digits = std::string_view(array.type).substr(std::min<size_t>(2, array.type.size()));
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), elementSize);
  if (error != std::errc() || end != digits.data() + digits.size() || elementSize == 0)
    return Status::badInput("its type '" + array.type + "' cannot be read");
  array.dataOffset = start + headerSize;
  array.dataBytes = elementSize;
  bool fits = true;
  for (uint64_t dimension : array.shape)
    fits = fits && !__builtin_mul_overflow(array.dataBytes, dimension, &array.dataBytes);
  if (!fits || size - array.dataOffset != array.dataBytes)
    return Status::badInput("its type and shape need " + (fits ? std::to_string(array.dataBytes) : "more than 2^64") +
                            " bytes, it has " + std::to_string(size - array.dataOffset));
  return array;
}

Expected<NpyArray> parseNpy(std::string_view bytes) {
  NpyArray array;
  ZERO_ASSIGN_OR_RETURN(static_cast<NpyHeader &>(array), parseNpyHeader(bytes, bytes.size()));
  array.data = bytes.substr(array.dataOffset);
  return array;
}

} // namespace zero
