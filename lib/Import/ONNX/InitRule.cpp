//===- InitRule.cpp - Parses --init ---------------------------------------===//
#include "zero/Import/InitRule.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace zero;

std::optional<InitRule> InitRule::parse(llvm::StringRef text, std::string &problem) {
  InitRule rule;
  rule.text = text.str();
  auto [kind, rest] = text.split(':');
  bool hasRegex = text.contains(':');
  if (kind == "normal") {
    rule.kind = Kind::Normal;
    auto [number, regex] = rest.split(':');
    if (number.getAsDouble(rule.deviation) || !(rule.deviation >= 0) || !std::isfinite(rule.deviation)) {
      problem = "--init=" + rule.text + " needs a standard deviation of 0 or more, as in normal:0.02";
      return std::nullopt;
    }
    hasRegex = rest.contains(':');
    rest = regex;
  } else if (kind == "xavier") {
    rule.kind = Kind::Xavier;
  } else if (kind == "kaiming") {
    rule.kind = Kind::Kaiming;
  } else if (kind == "zeros") {
    rule.kind = Kind::Zeros;
  } else if (kind == "ones") {
    rule.kind = Kind::Ones;
  } else {
    problem = "--init=" + rule.text + " is none of normal:STD, xavier, kaiming, zeros, ones, each with or without :REGEX";
    return std::nullopt;
  }
  std::string wrong;
  if (hasRegex && rest.empty())
    problem = "--init=" + rule.text + " ends in ':' without a regular expression";
  else if (!llvm::Regex(("^(" + rest + ")$").str()).isValid(wrong))
    problem = "--init=" + rule.text + " has no regular expression behind its ':': " + wrong;
  if (!problem.empty())
    return std::nullopt;
  rule.regex = rest.str();
  return rule;
}
