//===- JsonText.h - Text and numbers as JSON ------------------------------===//
#ifndef ZERO_LIB_RUNTIME_EXECUTOR_JSONTEXT_H
#define ZERO_LIB_RUNTIME_EXECUTOR_JSONTEXT_H

#include <cstdio>
#include <string>
#include <string_view>

namespace zero {

/// The text as a JSON string, with its quotes.
inline std::string jsonString(std::string_view text) {
  std::string json = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      json += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      json += escape;
    } else {
      json += c;
    }
  }
  return json + "\"";
}

/// A number with as many digits as a float32 (9) or a float64 (17) needs to come back with the same bits. JSON has no word
/// for NaN and infinity: null, and whoever writes it says beside it what it was.
inline std::string jsonNumber(double value, int digits) {
  if (value - value != 0)
    return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

} // namespace zero

#endif
