//===- ShellText.h - Commands that a user can paste -----------------------===//
#ifndef ZERO_RUNTIME_BASE_SHELLTEXT_H
#define ZERO_RUNTIME_BASE_SHELLTEXT_H

#include <cctype>
#include <string>
#include <string_view>

namespace zero {

/// The text as one word for a POSIX shell: quoted where it has anything but letters, digits and -_./=:,+%@.
inline std::string quoteForShell(std::string_view text) {
  bool plain = !text.empty();
  for (char c : text)
    plain &= std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_./=:,+%@").find(c) != std::string_view::npos;
  if (plain)
    return std::string(text);
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

} // namespace zero

#endif
