//===- StartingValues.cpp - Which weights --init gives values, and which --===//
#include "StartingValues.h"
#include "dialects/NN/NNOps.h"

#include <cmath>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

std::optional<size_t> StartingValues::match(StringRef name, bool onlyNamed) const {
  for (size_t i = options.init.size(); i-- > 0;) {
    const InitRule &rule = options.init[i];
    if (rule.regex.empty() ? !onlyNamed : matchesWhole(rule.regex, name))
      return i;
  }
  return std::nullopt;
}

bool StartingValues::isNamed(StringRef name) const { return match(name, /*onlyNamed=*/true).has_value(); }

FailureOr<Attribute> StartingValues::find(StringRef name, RankedTensorType type, bool isStored, Location location) {
  std::optional<size_t> index = match(name, /*onlyNamed=*/false);
  if (!index)
    return Attribute();
  const InitRule &rule = options.init[*index];
  if (rule.needsTwoDimensions() && type.getRank() < 2) {
    if (isStored && rule.regex.empty()) {
      emitRemark(location) << "weight '" << name << "' keeps its stored values: --init=" << rule.text
                           << " is for tensors of two dimensions or more";
      return Attribute();
    }
    return emitError(location) << "--init=" << rule.text << " needs a tensor of two dimensions or more, and weight '"
                               << name << "' has type " << type << "; name it in a further rule, as in --init=zeros:"
                               << name;
  }
  used[*index] = true;
  ParameterRules::Fans fans = rules.fansOf(name, type.getShape());
  nn::InitialKind kind = nn::InitialKind::constant;
  double number = 0;
  switch (rule.kind) {
  case InitRule::Kind::Normal:
    kind = nn::InitialKind::normal;
    number = rule.deviation;
    break;
  case InitRule::Kind::Xavier:
    kind = nn::InitialKind::uniform;
    number = std::sqrt(6.0 / std::max(1.0, fans.in + fans.out));
    break;
  case InitRule::Kind::Kaiming:
    kind = nn::InitialKind::normal;
    number = std::sqrt(2.0 / std::max(1.0, fans.in));
    break;
  case InitRule::Kind::Zeros:
    break;
  case InitRule::Kind::Ones:
    number = 1;
    break;
  }
  // Other weights' values do not change when one is added.
  uint64_t seed = XXH3_64bits_withSeed(name.data(), name.size(), options.initSeed);
  MLIRContext *context = type.getContext();
  return Attribute(nn::InitialAttr::get(context, kind, FloatAttr::get(Float64Type::get(context), number), seed,
                                        type.getElementType()));
}

LogicalResult StartingValues::checkUsed(Location location) const {
  for (auto [index, rule] : llvm::enumerate(options.init))
    if (!used[index] && !rule.regex.empty())
      return emitError(location) << "--init=" << rule.text
                                 << " matches no trained weight, no float ConstantOfShape and no weight without "
                                    "values (it must match the whole name, and the last rule that matches decides)";
  return success();
}
