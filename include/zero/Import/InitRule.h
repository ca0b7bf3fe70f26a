//===- InitRule.h - Starting values of weights, as --init says them -------===//
#ifndef ZERO_IMPORT_INITRULE_H
#define ZERO_IMPORT_INITRULE_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace zero {

/// `KIND[:REGEX]`. Kinds: `normal:STD` (mean 0), `xavier` (Glorot and Bengio 2010: uniform, variance
/// 2 / (fan_in + fan_out)), `kaiming` (He et al. 2015: normal, variance 2 / fan_in), `zeros`, `ones`.
struct InitRule {
  enum class Kind { Normal, Xavier, Kaiming, Zeros, Ones };
  Kind kind = Kind::Zeros;
  double deviation = 0;
  /// Which names, whole, the rule is for. Empty: every trained weight of the dimensions that the rule needs, and
  /// every weight that the model has no values of.
  std::string regex;
  /// As the user wrote it.
  std::string text;

  /// `problem` says what is wrong where there is no rule.
  static std::optional<InitRule> parse(llvm::StringRef text, std::string &problem);
  /// Xavier and kaiming scale by what an element is summed with: one dimension does not say it.
  bool needsTwoDimensions() const { return kind == Kind::Xavier || kind == Kind::Kaiming; }
};

} // namespace zero

#endif
