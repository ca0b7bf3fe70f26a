//===- CudaText.cpp - nn ops as expressions of CUDA C++ -------------------===//
#include "CudaText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace zero {
namespace {

bool isUnsignedElement(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }
bool isFloat(Type element) { return isa<FloatType>(element); }
bool isDouble(Type element) { return element.isF64(); }

Type getElement(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

std::string call(StringRef function, ArrayRef<std::string> operands) {
  return function.str() + "(" + llvm::join(operands, ", ") + ")";
}
/// C's function of float or double.
std::string callMath(StringRef function, Type element, ArrayRef<std::string> operands) {
  return call((function + (isDouble(element) ? "" : "f")).str(), operands);
}
std::string castTo(StringRef type, const std::string &text) { return ("static_cast<" + type + ">(" + text + ")").str(); }

/// A number of the register type.
std::string number(Type element, double value) { return makeLiteral(FloatAttr::get(element, value), element); }

std::string negate(const std::string &x) { return StringRef(x).starts_with("-") ? "-(" + x + ")" : "-" + x; }

} // namespace

bool isNarrowFloat(Type element) { return element.isF16() || element.isBF16(); }

std::string getRegisterType(Type element) {
  if (element.isInteger(1))
    return "bool";
  if (isFloat(element))
    return isDouble(element) ? "double" : "float";
  return (isUnsignedElement(element) ? "u" : "i") + std::to_string(element.getIntOrFloatBitWidth());
}

std::string getMemoryType(Type element) {
  if (element.isInteger(1))
    return "u8";
  if (isNarrowFloat(element))
    return element.isF16() ? "f16" : "bf16";
  return getRegisterType(element);
}

std::string readMemory(const std::string &text, Type element) {
  if (element.isInteger(1))
    return text + " != 0";
  return isNarrowFloat(element) ? "toFloat(" + text + ")" : text;
}
std::string writeMemory(const std::string &text, Type element) {
  if (element.isInteger(1))
    return castTo("u8", text);
  return isNarrowFloat(element) ? "fromFloat<" + getMemoryType(element) + ">(" + text + ")" : text;
}
std::string makeRounded(const std::string &text, Type element) {
  return isNarrowFloat(element) ? "roundTo<" + getMemoryType(element) + ">(" + text + ")" : text;
}

std::string makeLiteral(Attribute value, Type element) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    const APInt &bits = integer.getValue();
    if (element.isInteger(1))
      return bits.isZero() ? "false" : "true";
    if (isUnsignedElement(element))
      return castTo(getRegisterType(element), std::to_string(bits.getZExtValue()) + "ull");
    // There is no literal of the smallest integer: a minus is an operator.
    if (bits.isMinSignedValue())
      return "smallestInteger<" + getRegisterType(element) + ">";
    std::string text = std::to_string(bits.getSExtValue());
    return bits.getBitWidth() == 32 ? text : castTo(getRegisterType(element), text + (bits.getBitWidth() == 64 ? "ll" : ""));
  }
  APFloat exact = cast<FloatAttr>(value).getValue();
  bool losesInfo;
  exact.convert(isDouble(element) ? APFloat::IEEEdouble() : APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
  if (!exact.isFinite()) {
    std::string bits = "0x" + llvm::utohexstr(exact.bitcastToAPInt().getZExtValue(), /*LowerCase=*/true);
    return isDouble(element) ? "asDouble(" + bits + "ull)" : "asFloat(" + bits + "u)";
  }
  // As many digits as tell every number from its neighbours.
  std::string text;
  llvm::raw_string_ostream os(text);
  if (isDouble(element))
    os << llvm::format("%.17g", exact.convertToDouble());
  else
    os << llvm::format("%.9g", static_cast<double>(exact.convertToFloat()));
  if (StringRef(text).find_first_of(".e") == StringRef::npos)
    text += ".0";
  return isDouble(element) ? text : text + "f";
}

//===----------------------------------------------------------------------===//
// Casts and powers
//===----------------------------------------------------------------------===//

/// Of floats of 16 bits: a float that is still to be rounded to them.
static std::string makeCast(const std::string &x, Type from, Type to) {
  if (from == to)
    return x;
  const bool fromFloat = isFloat(from);
  if (to.isInteger(1))
    return x + " != " + (fromFloat ? number(from, 0.0) : "0");
  if (!isFloat(to))
    return fromFloat ? "saturatingCast<" + getRegisterType(to) + ">(" + x + ")" : castTo(getRegisterType(to), x);
  if (!isNarrowFloat(to))
    return getRegisterType(from) == getRegisterType(to) ? x : castTo(getRegisterType(to), x);
  // Rounded once: through a type that holds the number, or one in which what is lost shows.
  if (fromFloat)
    return isDouble(from) ? "narrowToOdd(" + x + ")" : x;
  switch (from.getIntOrFloatBitWidth()) {
  case 64:
    return "narrowToOdd(widenToOdd(" + x + "))";
  case 32:
    return "narrowToOdd(" + castTo("double", x) + ")";
  default:
    return castTo("float", x);
  }
}

/// x^c for the exponents that models use, as the operations that they stand for; empty for others.
static std::string makePowerOf(const std::string &x, double exponent, Type element) {
  if (exponent == 1.0)
    return x;
  if (exponent == 2.0)
    return x + " * " + x;
  if (exponent == 3.0)
    return x + " * " + x + " * " + x;
  if (exponent == -1.0)
    return number(element, 1.0) + " / " + x;
  if (exponent == 0.5)
    return callMath("sqrt", element, {x});
  if (exponent == -0.5)
    return number(element, 1.0) + " / " + callMath("sqrt", element, {x});
  return {};
}

static std::string makePower(nn::PowOp op, const std::string &x, const std::string &y, Type element) {
  if (!isFloat(element))
    return call("integerPower", {x, y});
  Operation *source = op.getRhs().getDefiningOp();
  while (source && isa<nn::BroadcastOp, nn::ReshapeOp>(source))
    source = source->getOperand(0).getDefiningOp();
  if (auto constant = dyn_cast_or_null<nn::ConstantOp>(source))
    if (constant.getValue().isSplat())
      if (std::string text = makePowerOf(x, constant.getValue().getSplatValue<APFloat>().convertToDouble(), element); !text.empty())
        return text;
  return callMath("pow", element, {x, y});
}

static StringRef getOperator(nn::ComparePredicate predicate) {
  switch (predicate) {
  case nn::ComparePredicate::eq:
    return "==";
  case nn::ComparePredicate::ne:
    return "!=";
  case nn::ComparePredicate::lt:
    return "<";
  case nn::ComparePredicate::le:
    return "<=";
  case nn::ComparePredicate::gt:
    return ">";
  case nn::ComparePredicate::ge:
    return ">=";
  }
  llvm_unreachable("every predicate is listed");
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

/// Integers of one bit, whose arithmetic is modulo 2.
static std::string makeBoolean(Operation *op, const std::string &x, const std::string &y) {
  return TypeSwitch<Operation *, std::string>(op)
      .Case<nn::AddOp, nn::SubOp, nn::XorOp>([&](auto) { return x + " != " + y; })
      .Case<nn::MulOp, nn::MinOp, nn::AndOp, nn::DivOp>([&](auto) { return x + " && " + y; })
      .Case<nn::MaxOp, nn::OrOp>([&](auto) { return x + " || " + y; })
      .Case<nn::ShiftLeftOp, nn::ShiftRightOp>([&](auto) { return x + " && !" + y; })
      .Case([&](nn::PowOp) { return x + " || !" + y; })
      .Case([&](nn::RemOp) { return std::string("false"); })
      .Case([&](nn::NotOp) { return "!" + x; })
      .Case<nn::NegOp, nn::AbsOp, nn::ReluOp, nn::SignOp>([&](auto) { return x; })
      .Default([](Operation *) { return std::string(); });
}

static std::string makeInteger(Operation *op, Type element, const std::string &x, const std::string &y) {
  const std::string type = getRegisterType(element);
  auto cut = [&](const std::string &text) { return element.getIntOrFloatBitWidth() < 32 ? castTo(type, text) : text; };
  return TypeSwitch<Operation *, std::string>(op)
      .Case([&](nn::NegOp) { return call("wrappingSubtract<" + type + ">", {"0", x}); })
      .Case([&](nn::AbsOp) { return isUnsignedElement(element) ? x : x + " < 0 ? wrappingSubtract<" + type + ">(0, " + x + ") : " + x; })
      .Case([&](nn::ReluOp) { return call("maximum<" + type + ">", {x, "0"}); })
      .Case([&](nn::SignOp) { return call("signOf", {x}); })
      .Case([&](nn::NotOp) { return castTo(type, "~" + x); })
      .Case([&](nn::AddOp) { return call("wrappingAdd", {x, y}); })
      .Case([&](nn::SubOp) { return call("wrappingSubtract", {x, y}); })
      .Case([&](nn::MulOp) { return call("wrappingMultiply", {x, y}); })
      .Case([&](nn::DivOp) { return call("integerQuotient", {x, y}); })
      .Case([&](nn::RemOp) { return call("integerRemainder", {x, y}); })
      .Case([&](nn::MaxOp) { return call("maximum", {x, y}); })
      .Case([&](nn::MinOp) { return call("minimum", {x, y}); })
      .Case([&](nn::ShiftLeftOp) { return call("shiftLeft", {x, y}); })
      .Case([&](nn::ShiftRightOp) { return call("shiftRight", {x, y}); })
      .Case([&](nn::AndOp) { return cut(x + " & " + y); })
      .Case([&](nn::OrOp) { return cut(x + " | " + y); })
      .Case([&](nn::XorOp) { return cut(x + " ^ " + y); })
      .Default([](Operation *) { return std::string(); });
}

static std::string makeFloat(Operation *op, Type element, const std::string &x, const std::string &y) {
  auto math = [&](StringRef function) { return callMath(function, element, {x}); };
  const std::string zero = number(element, 0.0), one = number(element, 1.0);
  return TypeSwitch<Operation *, std::string>(op)
      .Case([&](nn::NegOp) { return negate(x); })
      .Case([&](nn::AbsOp) { return math("fabs"); })
      .Case([&](nn::ExpOp) { return math("exp"); })
      .Case([&](nn::Expm1Op) { return math("expm1"); })
      .Case([&](nn::LogOp) { return math("log"); })
      .Case([&](nn::Log1pOp) { return math("log1p"); })
      .Case([&](nn::SqrtOp) { return math("sqrt"); })
      .Case([&](nn::RsqrtOp) { return one + " / " + math("sqrt"); })
      .Case([&](nn::ReciprocalOp) { return one + " / " + x; })
      .Case([&](nn::TanhOp) { return math("tanh"); })
      .Case([&](nn::SigmoidOp) { return call("sigmoid", {x}); })
      .Case([&](nn::ErfOp) { return math("erf"); })
      .Case([&](nn::SinOp) { return math("sin"); })
      .Case([&](nn::CosOp) { return math("cos"); })
      .Case([&](nn::AtanOp) { return math("atan"); })
      .Case([&](nn::ReluOp) { return call("maximum", {x, zero}); })
      .Case([&](nn::SignOp) { return call("signOf", {x}); })
      .Case([&](nn::FloorOp) { return math("floor"); })
      .Case([&](nn::CeilOp) { return math("ceil"); })
      .Case([&](nn::RoundOp) { return math("rint"); })
      .Case([&](nn::AddOp) { return x + " + " + y; })
      .Case([&](nn::SubOp) { return x + " - " + y; })
      .Case([&](nn::MulOp) { return x + " * " + y; })
      .Case([&](nn::DivOp) { return x + " / " + y; })
      .Case([&](nn::MaxOp) { return call("maximum", {x, y}); })
      .Case([&](nn::MinOp) { return call("minimum", {x, y}); })
      .Case([&](nn::RemOp) { return callMath("fmod", element, {x, y}); })
      .Default([](Operation *) { return std::string(); });
}

std::string makeElementwise(Operation *op, ArrayRef<std::string> operands) {
  Type element = getElement(op->getOperand(0));
  const std::string &x = operands[0];
  const std::string y = operands.size() > 1 ? operands[1] : "";
  if (auto compare = dyn_cast<nn::CompareOp>(op))
    return x + " " + getOperator(compare.getPredicate()).str() + " " + y;
  if (isa<nn::SelectOp>(op))
    return x + " ? " + y + " : " + operands[2];
  if (isa<nn::CastOp>(op))
    return makeCast(x, element, getElement(op->getResult(0)));
  if (element.isInteger(1))
    return makeBoolean(op, x, y);
  if (auto power = dyn_cast<nn::PowOp>(op))
    return makePower(power, x, y, element);
  return isFloat(element) ? makeFloat(op, element, x, y) : makeInteger(op, element, x, y);
}

bool needsRounding(Operation *op) {
  Type element = getElement(op->getResult(0));
  if (!isNarrowFloat(element))
    return false;
  if (isa<nn::CastOp>(op))
    return getElement(op->getOperand(0)) != element;
  return !isa<nn::NegOp, nn::AbsOp, nn::ReluOp, nn::SignOp, nn::FloorOp, nn::CeilOp, nn::RoundOp, nn::MaxOp, nn::MinOp, nn::SelectOp>(op);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::string makeCombined(nn::ReduceKind kind, const std::string &a, const std::string &b, Type element) {
  const bool isBoolean = element.isInteger(1), plain = isFloat(element);
  switch (kind) {
  case nn::ReduceKind::sum:
    return isBoolean ? a + " != " + b : plain ? a + " + " + b : call("wrappingAdd", {a, b});
  case nn::ReduceKind::prod:
    return isBoolean ? a + " && " + b : plain ? a + " * " + b : call("wrappingMultiply", {a, b});
  case nn::ReduceKind::max:
    return isBoolean ? a + " || " + b : call("maximum", {a, b});
  case nn::ReduceKind::min:
    return isBoolean ? a + " && " + b : call("minimum", {a, b});
  }
  llvm_unreachable("every kind is listed");
}

std::string makeCombined(nn::ReduceKind kind, ArrayRef<std::string> values, Type element) {
  if (values.size() == 1)
    return values.front();
  const size_t half = values.size() / 2;
  auto part = [&](ArrayRef<std::string> some) {
    std::string text = makeCombined(kind, some, element);
    return some.size() > 1 ? "(" + text + ")" : text;
  };
  return makeCombined(kind, part(values.take_front(half)), part(values.drop_front(half)), element);
}

std::string makeNeutral(nn::ReduceKind kind, Type element) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::string type = getRegisterType(element);
  if (isFloat(element)) {
    switch (kind) {
    case nn::ReduceKind::sum:
      return number(element, 0.0);
    case nn::ReduceKind::prod:
      return number(element, 1.0);
    case nn::ReduceKind::max:
      return number(element, -infinity);
    case nn::ReduceKind::min:
      return number(element, infinity);
    }
  }
  switch (kind) {
  case nn::ReduceKind::sum:
    return element.isInteger(1) ? "false" : "0";
  case nn::ReduceKind::prod:
    return element.isInteger(1) ? "true" : "1";
  case nn::ReduceKind::max:
    return element.isInteger(1) ? "false" : "smallestInteger<" + type + ">";
  case nn::ReduceKind::min:
    return element.isInteger(1) ? "true" : "largestInteger<" + type + ">";
  }
  llvm_unreachable("every kind is listed");
}

} // namespace zero
