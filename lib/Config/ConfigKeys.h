//===- ConfigKeys.h - The table of configuration keys ---------------------===//
#ifndef ZERO_LIB_CONFIG_CONFIGKEYS_H
#define ZERO_LIB_CONFIG_CONFIGKEYS_H

#include "zero/Config/TrainingConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <variant>

namespace zero {

/// One key: where it lives in the file and in TrainingConfig, what it may be, what it means.
struct ConfigKey {
  using IntegerMember = int64_t TrainingConfig::*;
  using RealMember = double TrainingConfig::*;
  using BoolMember = bool TrainingConfig::*;
  using StringMember = std::string TrainingConfig::*;
  /// betas: two reals under one key.
  struct PairMember {
    RealMember first, second;
  };

  llvm::StringRef path;
  std::variant<IntegerMember, RealMember, BoolMember, StringMember, PairMember> member;
  double minimum = 0;
  double maximum = 9007199254740992.0;  // 2^53: what a JSON number holds exactly
  llvm::StringRef choices;              // of strings: "a|b|c", each with other spellings as "a=x=y"; empty for any
  llvm::StringRef doc;
  llvm::StringRef defaultDoc = {};      // where the default is no value
};

llvm::ArrayRef<ConfigKey> getConfigKeys();

/// An error about those keys.
template <typename... Args> llvm::Error failAt(std::vector<std::string> keys, const char *format, Args &&...args) {
  return llvm::make_error<ConfigError>(std::move(keys), llvm::formatv(format, std::forward<Args>(args)...).str());
}

} // namespace zero

#endif
