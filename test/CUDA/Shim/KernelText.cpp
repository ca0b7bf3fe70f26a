//===- KernelText.cpp - CUDA C++ as the host's compiler takes it ----------===//
//
//   extern "C" __global__ void __launch_bounds__(256) sum(float *p) {      extern "C" void sum(float *p) {
//     __shared__ float tile[32];                                      ->     thread_local float tile[32];
//     extern __shared__ float all[];                                         float *const all = zero_shim::dynamicShared<float>();
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Shim/KernelText.h"
#include "test/CUDA/Shim/KernelObject.h"
#include "test/CUDA/Shim/Report.h"
#include <cctype>
#include <vector>

namespace zero::shim {
namespace {

/// A piece of the text that is no white space: a word, a literal, or one character.
struct Token {
  std::string_view text;
  size_t begin, end;
};

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Lines of the preprocessor (# 12 "file") are none.
std::vector<Token> tokensOf(std::string_view text) {
  std::vector<Token> tokens;
  bool lineBegins = true;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    size_t begin = at;
    if (std::isspace(static_cast<unsigned char>(c))) {
      lineBegins |= c == '\n';
      ++at;
      continue;
    }
    if (c == '#' && lineBegins) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    lineBegins = false;
    if (isWordCharacter(c)) {
      while (at < text.size() && isWordCharacter(text[at]))
        ++at;
    } else if (c == '"' || c == '\'') {
      for (++at; at < text.size() && text[at] != c; ++at)
        if (text[at] == '\\')
          ++at;
      at = std::min(at + 1, text.size());
    } else {
      ++at;
    }
    tokens.push_back({text.substr(begin, at - begin), begin, at});
  }
  return tokens;
}

struct Kernel {
  std::string name, mostThreads = "0";
};

class Rewriter {
public:
  Rewriter(std::string_view text) : text(text), tokens(tokensOf(text)) {}

  std::string run() {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (is(i, "__global__"))
        kernel(i);
      else if (is(i, "__launch_bounds__"))
        replace(i, closing(i + 1), "");
      else if (is(i, "__shared__"))
        shared(i);
    }
    out.append(text.substr(written));
    return std::move(out);
  }

  std::vector<Kernel> kernels;

private:
  bool is(size_t token, std::string_view word) const { return token < tokens.size() && tokens[token].text == word; }

  /// The token that closes the parenthesis or bracket at `token`.
  size_t closing(size_t token) const {
    int depth = 0;
    for (size_t i = token; i < tokens.size(); ++i) {
      depth += is(i, "(") || is(i, "[");
      depth -= is(i, ")") || is(i, "]");
      if (depth == 0)
        return i;
    }
    return tokens.size() - 1;
  }

  /// Replaces tokens first to last.
  void replace(size_t first, size_t last, std::string_view by) {
    if (tokens[first].begin < written)
      return;
    out.append(text.substr(written, tokens[first].begin - written));
    out.append(by);
    written = tokens[last].end;
  }

  void kernel(size_t at) {
    replace(at, at, "");
    if (at < 2 || !is(at - 1, "\"C\"") || !is(at - 2, "extern"))
      return;
    // Its name is the word before the parameters.
    Kernel found;
    for (size_t i = at + 1; i + 1 < tokens.size(); ++i) {
      if (is(i, "__launch_bounds__")) {
        size_t end = closing(i + 1), comma = i + 2;
        while (comma < end && !is(comma, ","))
          comma = is(comma, "(") ? closing(comma) + 1 : comma + 1;
        found.mostThreads = text.substr(tokens[i + 2].begin, tokens[comma].begin - tokens[i + 2].begin);
        i = end;
      } else if (is(i, "__attribute__")) {
        i = closing(i + 1);
      } else if (is(i + 1, "(")) {
        found.name = tokens[i].text;
        // A declaration may stand before.
        for (const Kernel &kernel : kernels)
          if (kernel.name == found.name)
            return;
        kernels.push_back(found);
        return;
      }
    }
  }

  void shared(size_t at) {
    size_t end = at;
    while (end < tokens.size() && !is(end, ";") && !is(end, "="))
      ++end;
    const bool isDynamic = at > 0 && is(at - 1, "extern");
    if (!isDynamic) {
      // alignas stands before everything else.
      if (is(at + 1, "alignas")) {
        size_t close = closing(at + 2);
        std::string alignment(text.substr(tokens[at + 1].begin, tokens[close].end - tokens[at + 1].begin));
        replace(at, close, alignment + " thread_local");
      } else {
        replace(at, at, "thread_local");
      }
      return;
    }
    // extern __shared__ TYPE NAME[];
    size_t name = end - 3;
    std::string type(text.substr(tokens[at + 1].begin, tokens[name].begin - tokens[at + 1].begin)), plain = type;
    for (size_t i = at + 1; i < name; ++i)
      if (is(i, "__attribute__") || is(i, "alignas")) {
        size_t close = closing(i + 1);
        plain = text.substr(tokens[close + 1].begin, tokens[name].begin - tokens[close + 1].begin);
        i = close;
      }
    std::string variable(tokens[name].text);
    replace(at - 1, end - 1,
            "static_assert(__builtin_FUNCTION()[0] != 0, \"extern __shared__ is simulated inside of functions alone\"); " + plain + " *const " +
                variable + " = ::zero_shim::dynamicShared<" + plain + ">()");
  }

  const std::string_view text;
  const std::vector<Token> tokens;
  std::string out;
  size_t written = 0;
};

} // namespace

/// Stands in objects where the architecture belongs.
constexpr std::string_view kNoArchitecture = "@architecture@";
static_assert(kNoArchitecture.size() < sizeof zero_shim::Object::architecture);

std::string hostText(std::string_view preprocessed, bool checksShared) {
  Rewriter rewriter(preprocessed);
  std::string text = rewriter.run();
  text += "\n#line 1 \"what the simulated driver needs\"\nnamespace zero_shim {\nstatic const Kernel allKernels[] = {\n";
  for (const Kernel &kernel : rewriter.kernels)
    text += "{\"" + kernel.name + "\", &Entry<&::" + kernel.name + ">::run, Entry<&::" + kernel.name + ">::count, Entry<&::" + kernel.name +
            ">::parameters, static_cast<unsigned>(" + kernel.mostThreads + ")},\n";
  text += "{nullptr, nullptr, 0, nullptr, 0}};\n"
          "static thread_local char sharedAnchor;\n"
          "static void *touchShared() { return &sharedAnchor; }\n"
          "}\nextern \"C\" __attribute__((visibility(\"default\"))) const zero_shim::Object zero_shim_object = {\"" +
          std::string(kNoArchitecture) + "\", " + std::to_string(rewriter.kernels.size()) +
          ", zero_shim::allKernels, &zero_shim::touchShared, " + (checksShared ? "true" : "false") + "};\n";
  return text;
}

void setArchitecture(std::string &object, std::string_view architecture) {
  size_t at = object.find(kNoArchitecture);
  if (at == std::string::npos || object.find(kNoArchitecture, at + 1) != std::string::npos || architecture.size() > kNoArchitecture.size())
    endProcess("setArchitecture", text("no one place for '", architecture, "' in a compiled object"));
  std::string padded(architecture);
  padded.resize(kNoArchitecture.size());
  object.replace(at, padded.size(), padded);
}

} // namespace zero::shim
