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
      .Case([&](nn::StopGradientOp) { return x; })
      .Case([&](nn::FloorOp) { return std::floor(x); })
      .Case([&](nn::CeilOp) { return std::ceil(x); })
      .Case([&](nn::RoundOp) { return std::nearbyint(x); })
      .Case([&](nn::GeluOp gelu) { return ::gelu(x, gelu.getApproximate()); });
}

/// Wraps around; the tensor keeps the low bits. T is int64_t or, for elements without a sign, uint64_t.
template <typename T> static T applyToInt(Operation *op, T x) {
  auto bits = static_cast<uint64_t>(x);
  return llvm::TypeSwitch<Operation *, T>(op)
      .Case([&](nn::NegOp) { return static_cast<T>(-bits); })
      .Case([&](nn::AbsOp) { return static_cast<T>(x < 0 ? -bits : bits); })
      .Case([&](nn::SignOp) { return static_cast<T>((x > 0) - (x < 0)); })
      .Case([&](nn::NotOp) { return static_cast<T>(~x); });
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

/// x * 2^y or x / 2^y rounded down, of numbers of `width` bits; nothing is left of one that is shifted out.
template <typename T> static T shift(T x, T y, unsigned width, bool left) {
  bool isOut = y < 0 || static_cast<uint64_t>(y) >= width;
  if (left)
    return isOut ? 0 : static_cast<T>(static_cast<uint64_t>(x) << y);
  return isOut ? (x < 0 ? -1 : 0) : x >> y;
}

template <typename T> static FailureOr<T> applyToInts(Operation *op, T x, T y, unsigned width) {
  using Result = FailureOr<T>;
  constexpr bool isSigned = std::is_signed_v<T>;
  auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  auto wrapped = [](uint64_t value) -> Result { return static_cast<T>(value); };
  auto refuse = [&](const char *what) -> Result {
    return op->emitOpError() << what << " of " << x << " by " << y << " has no value";
  };
  bool isMinusOne = isSigned && y == static_cast<T>(-1); // the quotient of the smallest number wraps around
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](nn::AddOp) { return wrapped(a + b); })
      .Case([&](nn::SubOp) { return wrapped(a - b); })
      .Case([&](nn::MulOp) { return wrapped(a * b); })
      .Case([&](nn::DivOp) {
        return y == 0 ? refuse("division") : isMinusOne ? wrapped(-a) : wrapped(x / y);
      })
      .Case([&](nn::RemOp) {
        return y == 0 ? refuse("remainder") : isMinusOne ? wrapped(0) : wrapped(x % y);
      })
      .Case([&](nn::PowOp) { return y < 0 ? refuse("power") : wrapped(power(a, b)); })
      .Case([&](nn::MaxOp) { return Result(std::max(x, y)); })
      .Case([&](nn::MinOp) { return Result(std::min(x, y)); })
      .Case([&](nn::ShiftLeftOp) { return Result(shift(x, y, width, /*left=*/true)); })
      .Case([&](nn::ShiftRightOp) { return Result(shift(x, y, width, /*left=*/false)); })
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

/// The integer of `type` nearest to a float without its fraction: too large ones are cut to the largest, NaN
/// is 0.
static int64_t truncate(double value, IntegerType type, bool isUnsigned) {
  APSInt integer(type.getWidth(), isUnsigned);
  bool isExact;
  APFloat(value).convertToInteger(integer, APFloat::rmTowardZero, &isExact);
  return isUnsigned ? static_cast<int64_t>(integer.getZExtValue()) : integer.getSExtValue();
}

static void cast(const HostTensor &from, HostTensor &to, int64_t i) {
  if (to.getElementType().isInteger(1))
    return to.setInt(i, from.isFloat() ? from.getFloat(i) != 0.0 : from.getInt(i) != 0);
  if (from.isFloat() && to.isFloat())
    return to.setFloat(i, from.getFloat(i));
  if (from.isFloat())
    return to.setInt(
        i, truncate(from.getFloat(i), llvm::cast<IntegerType>(to.getElementType()), to.isUnsigned()));
  if (!to.isFloat())
    return to.setInt(i, from.getInt(i));
  // By way of a double a 64-bit integer would be rounded twice.
  APFloat value(llvm::cast<FloatType>(to.getElementType()).getFloatSemantics());
  value.convertFromAPInt(APInt(64, static_cast<uint64_t>(from.getInt(i))), /*IsSigned=*/!from.isUnsigned(),
                         APFloat::rmNearestTiesToEven);
  to.setFloat(i, value.convertToDouble());
}

/// Element i of an integer result, computed in T.
template <typename T>
static LogicalResult applyToIntElement(Operation *op, Operands operands, HostTensor &result, int64_t i) {
  auto get = [&](size_t operand) { return static_cast<T>(operands[operand].getInt(i)); };
  if (auto compareOp = dyn_cast<nn::CompareOp>(op)) {
    result.setInt(i, compare(compareOp.getPredicate(), get(0), get(1)));
    return success();
  }
  if (operands.size() == 1) {
    result.setInt(i, static_cast<int64_t>(applyToInt(op, get(0))));
    return success();
  }
  FailureOr<T> value = applyToInts(op, get(0), get(1), result.getElementType().getIntOrFloatBitWidth());
  if (failed(value))
    return failure();
  result.setInt(i, static_cast<int64_t>(*value));
  return success();
}

LogicalResult zero::reference::applyElementwise(Operation *op, Operands operands, Results results) {
  HostTensor &result = results[0];
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    if (isa<nn::SelectOp>(op)) {
      result.copyElement(i, operands[operands[0].getInt(i) ? 1 : 2], i);
    } else if (isa<nn::CastOp>(op)) {
      cast(operands[0], result, i);
    } else if (!operands[0].isFloat()) {
      if (failed(operands[0].isUnsigned() ? applyToIntElement<uint64_t>(op, operands, result, i)
                                          : applyToIntElement<int64_t>(op, operands, result, i)))
        return failure();
    } else if (auto compareOp = dyn_cast<nn::CompareOp>(op)) {
      result.setInt(i, compare(compareOp.getPredicate(), operands[0].getFloat(i), operands[1].getFloat(i)));
    } else if (operands.size() == 1) {
      result.setFloat(i, applyToFloat(op, operands[0].getFloat(i)));
    } else {
      result.setFloat(i, applyToFloats(op, operands[0].getFloat(i), operands[1].getFloat(i)));
    }
  }
  return success();
}
