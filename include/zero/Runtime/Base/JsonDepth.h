//===- JsonDepth.h - How deeply JSON text is nested -----------------------===//
#ifndef ZERO_RUNTIME_BASE_JSONDEPTH_H
#define ZERO_RUNTIME_BASE_JSONDEPTH_H

#include <cstddef>
#include <string_view>

namespace zero {

/// More levels than any file of ours has, and few enough for a parser that calls itself at each.
inline constexpr size_t kMostJsonLevels = 256;

/// Whether objects and arrays of `text`, well-formed or not, lie in each other more than kMostJsonLevels deep.
inline bool isNestedTooDeeply(std::string_view text) {
  size_t levels = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i; // what it escapes ends no string
    } else if (quoted) {
      quoted = text[i] != '"';
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == '{' || text[i] == '[') {
      if (++levels > kMostJsonLevels)
        return true;
    } else if ((text[i] == '}' || text[i] == ']') && levels > 0) {
      --levels;
    }
  }
  return false;
}

} // namespace zero

#endif
