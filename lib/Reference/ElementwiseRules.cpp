//===- ElementwiseRules.cpp - Ops that map element i to element i ---------===//
#include "Rules.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace zero;
using namespace zero::reference;

double zero::reference::maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && std::signbit(b)) ? a : b;
}

double zero::reference::minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

static double gelu(double x, nn::GeluKind kind) {
  if (kind == nn::GeluKind::none)
    return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
  constexpr double factor = 0.79788456080286535588; // sqrt(2 / pi)
  return 0.5 * x * (1.0 + std::tanh(factor * (x + 0.044715 * x * x * x)));
}

static double sign(double x) { return (x > 0) - (x < 0); }

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

static double applyToFloat(Operation *op, double x) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](nn::NegOp) { return -x; })
      .Case([&](nn::AbsOp) { return std::fabs(x); })
      .Case([&](nn::ExpOp) { return std::exp(x); })
      .Case([&](nn::LogOp) { return std::log(x); })
      .Case([&](nn::Log1pOp) { return std::log1p(x); })
      .Case([&](nn::Expm1Op) { return std::expm1(x); })
      .Case([&](nn::AtanOp) { return std::atan(x); })
      .Case([&](nn::SqrtOp) { return std::sqrt(x); })
      .Case([&](nn::RsqrtOp) { return 1.0 / std::sqrt(x); })
      .Case([&](nn::ReciprocalOp) { return 1.0 / x; })
      .Case([&](nn::TanhOp) { return std::tanh(x); })
      .Case([&](nn::SigmoidOp) { return 1.0 / (1.0 + std::exp(-x)); })
      .Case([&](nn::ErfOp) { return std::erf(x); })
      .Case([&](nn::SinOp) { return std::sin(x); })
      .Case([&](nn::CosOp) { return std::cos(x); })
      .Case([&](nn::ReluOp) { return maximum(x, 0.0); })
      .Case([&](nn::SignOp) { return sign(x); })
      .Case([&](nn::FloorOp) { return std::floor(x); })
      .Case([&](nn::CeilOp) { return std::ceil(x); })
      .Case([&](nn::RoundOp) { return std::nearbyint(x); })
      .Case([&](nn::GeluOp gelu) { return ::gelu(x, gelu.getApproximate()); });
}

/// Wraps around; the tensor keeps the low bits.
static int64_t applyToInt(Operation *op, int64_t x) {
  auto bits = static_cast<uint64_t>(x);
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](nn::NegOp) { return static_cast<int64_t>(-bits); })
      .Case([&](nn::AbsOp) { return static_cast<int64_t>(x < 0 ? -bits : bits); })
      .Case([&](nn::SignOp) { return static_cast<int64_t>((x > 0) - (x < 0)); })
      .Case([&](nn::NotOp) { return ~x; });
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

static double applyToFloats(Operation *op, double x, double y) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](nn::AddOp) { return x + y; })
      .Case([&](nn::SubOp) { return x - y; })
      .Case([&](nn::MulOp) { return x * y; })
      .Case([&](nn::DivOp) { return x / y; })
      .Case([&](nn::MaxOp) { return maximum(x, y); })
      .Case([&](nn::MinOp) { return minimum(x, y); })
      .Case([&](nn::PowOp) { return std::pow(x, y); })
      .Case([&](nn::RemOp) { return std::fmod(x, y); });
}

/// x^y with wrap-around, y not negative.
static uint64_t power(uint64_t x, uint64_t y) {
  uint64_t result = 1;
  for (; y != 0; y >>= 1, x *= x)
    if (y & 1)
      result *= x;
  return result;
}

static FailureOr<int64_t> applyToInts(Operation *op, int64_t x, int64_t y) {
  using Result = FailureOr<int64_t>;
  auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  auto wrapped = [](uint64_t value) -> Result { return static_cast<int64_t>(value); };
  auto refuse = [&](const char *what) -> Result {
    return op->emitOpError() << what << " of " << x << " by " << y << " has no value";
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](nn::AddOp) { return wrapped(a + b); })
      .Case([&](nn::SubOp) { return wrapped(a - b); })
      .Case([&](nn::MulOp) { return wrapped(a * b); })
      .Case([&](nn::DivOp) { return y == 0    ? refuse("division")
                                    : y == -1 ? wrapped(-a)
                                              : wrapped(x / y); })
      .Case([&](nn::RemOp) { return y == 0    ? refuse("remainder")
                                    : y == -1 ? wrapped(0)
                                              : wrapped(x % y); })
      .Case([&](nn::PowOp) { return y < 0 ? refuse("power") : wrapped(power(a, b)); })
      .Case([&](nn::MaxOp) { return wrapped(std::max(x, y)); })
      .Case([&](nn::MinOp) { return wrapped(std::min(x, y)); })
      .Case([&](nn::AndOp) { return wrapped(a & b); })
      .Case([&](nn::OrOp) { return wrapped(a | b); })
      .Case([&](nn::XorOp) { return wrapped(a ^ b); });
}

template <typename T> static bool compare(nn::ComparePredicate predicate, T x, T y) {
  switch (predicate) {
  case nn::ComparePredicate::eq:
    return x == y;
  case nn::ComparePredicate::ne:
    return x != y;
  case nn::ComparePredicate::lt:
    return x < y;
  case nn::ComparePredicate::le:
    return x <= y;
  case nn::ComparePredicate::gt:
    return x > y;
  case nn::ComparePredicate::ge:
    return x >= y;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

static LogicalResult cast(nn::CastOp op, const HostTensor &from, HostTensor &to, int64_t i) {
  if (to.getElementType().isInteger(1)) {
    to.setInt(i, from.isFloat() ? from.getFloat(i) != 0.0 : from.getInt(i) != 0);
    return success();
  }
  if (from.isFloat() && to.isFloat()) {
    to.setFloat(i, from.getFloat(i));
    return success();
  }
  if (from.isFloat()) {
    double value = std::trunc(from.getFloat(i));
    auto type = llvm::cast<IntegerType>(to.getElementType());
    double high = std::ldexp(1.0, type.getWidth() - (type.isUnsigned() ? 0 : 1)),
           low = type.isUnsigned() ? 0 : -high;
    if (!(value >= low && value < high))
      return op.emitOpError() << "element " << i << " is " << from.getFloat(i) << ", which " << type
                              << " cannot hold";
    to.setInt(i, static_cast<int64_t>(value));
    return success();
  }
  if (to.isFloat()) {
    // By way of a double an i64 would be rounded twice.
    APFloat value(llvm::cast<FloatType>(to.getElementType()).getFloatSemantics());
    value.convertFromAPInt(APInt(64, static_cast<uint64_t>(from.getInt(i))), /*IsSigned=*/true,
                           APFloat::rmNearestTiesToEven);
    to.setFloat(i, value.convertToDouble());
    return success();
  }
  to.setInt(i, from.getInt(i));
  return success();
}

LogicalResult zero::reference::applyElementwise(Operation *op, Operands operands, Results results) {
  HostTensor &result = results[0];
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    if (isa<nn::SelectOp>(op)) {
      result.copyElement(i, operands[operands[0].getInt(i) ? 1 : 2], i);
    } else if (auto castOp = dyn_cast<nn::CastOp>(op)) {
      if (failed(cast(castOp, operands[0], result, i)))
        return failure();
    } else if (auto compareOp = dyn_cast<nn::CompareOp>(op)) {
      nn::ComparePredicate predicate = compareOp.getPredicate();
      result.setInt(i, operands[0].isFloat()
                           ? compare(predicate, operands[0].getFloat(i), operands[1].getFloat(i))
                           : compare(predicate, operands[0].getInt(i), operands[1].getInt(i)));
    } else if (operands.size() == 1) {
      if (result.isFloat())
        result.setFloat(i, applyToFloat(op, operands[0].getFloat(i)));
      else
        result.setInt(i, applyToInt(op, operands[0].getInt(i)));
    } else if (result.isFloat()) {
      result.setFloat(i, applyToFloats(op, operands[0].getFloat(i), operands[1].getFloat(i)));
    } else {
      FailureOr<int64_t> value = applyToInts(op, operands[0].getInt(i), operands[1].getInt(i));
      if (failed(value))
        return failure();
      result.setInt(i, *value);
    }
  }
  return success();
}
