//===- Status.h - Success, or an error with its exit code -----------------===//
#ifndef ZERO_RUNTIME_BASE_STATUS_H
#define ZERO_RUNTIME_BASE_STATUS_H

#include <optional>
#include <string>
#include <utility>

namespace zero {

/// Why something failed; the values are the exit codes of the tools.
enum class ErrorCode : int {
  ProgramFailed = 1,  ///< over budget, a verifier, a step without counted labels
  WrongUsage = 2,     ///< flags
  BadInput = 3,       ///< a file, data that do not fit, a wrong world size, missing CPU features
  Communication = 4,  ///< a lost or stuck rank
};

/// Success, or an error: a code and a message that starts lower-case, has no full stop, and gives both numbers and
/// the name that the user wrote.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(ErrorCode code, std::string message) : error(std::in_place, code, std::move(message)) {}
  static Status badInput(std::string message) { return {ErrorCode::BadInput, std::move(message)}; }
  static Status wrongUsage(std::string message) { return {ErrorCode::WrongUsage, std::move(message)}; }
  static Status programFailed(std::string message) { return {ErrorCode::ProgramFailed, std::move(message)}; }
  static Status communication(std::string message) { return {ErrorCode::Communication, std::move(message)}; }

  bool ok() const { return !error; }
  ErrorCode code() const { return error->first; }
  const std::string &message() const { return error->second; }
  /// 0, or the exit code of the error.
  int exitCode() const { return error ? static_cast<int>(error->first) : 0; }
  /// The same error with "`prefix`: " before its message.
  Status annotate(const std::string &prefix) const { return ok() ? Status() : Status(code(), prefix + ": " + message()); }

private:
  std::optional<std::pair<ErrorCode, std::string>> error;
};

/// A value, or the error that kept it from being made.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : value_(std::move(value)) {}
  Expected(Status error) : status_(std::move(error)) {}
  bool ok() const { return value_.has_value(); }
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

} // namespace zero

#define ZERO_CONCAT_INNER(a, b) a##b
#define ZERO_CONCAT(a, b) ZERO_CONCAT_INNER(a, b)
/// Returns the error of `expression` (a Status) from the enclosing function.
#define ZERO_RETURN_IF_ERROR(expression)                                                                     \
  do {                                                                                                       \
    if (::zero::Status zeroStatus = (expression); !zeroStatus.ok())                                          \
      return zeroStatus;                                                                                     \
  } while (false)
/// Declares `declaration` from `expression` (an Expected), or returns its error.
#define ZERO_ASSIGN_OR_RETURN(declaration, expression)                                                       \
  ZERO_ASSIGN_OR_RETURN_INNER(ZERO_CONCAT(zeroExpected, __LINE__), declaration, expression)
#define ZERO_ASSIGN_OR_RETURN_INNER(temporary, declaration, expression)                                      \
  auto temporary = (expression);                                                                             \
  if (!temporary.ok())                                                                                       \
    return temporary.status();                                                                               \
  declaration = std::move(*temporary)

#endif
