//===- ZeroDialect.cpp - Registration of the zero dialect -----------------===//
#include "dialects/Zero/ZeroOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zero::sharding;

//===----------------------------------------------------------------------===//
// custom<SameOrBoth> of zero.accumulate
//===----------------------------------------------------------------------===//

/// One type, or the accumulator's and the value's.
static ParseResult parseSameOrBoth(OpAsmParser &parser, Type &accumulator, Type &value) {
  if (parser.parseType(accumulator))
    return failure();
  value = accumulator;
  return succeeded(parser.parseOptionalComma()) ? parser.parseType(value) : success();
}

static void printSameOrBoth(OpAsmPrinter &printer, Operation *, Type accumulator, Type value) {
  printer << accumulator;
  if (value != accumulator)
    printer << ", " << value;
}

#include "dialects/Zero/ZeroDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Zero/ZeroAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Zero/ZeroTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Zero/ZeroOps.cpp.inc"

void ZeroDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Zero/ZeroAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Zero/ZeroTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Zero/ZeroOps.cpp.inc"
      >();
}
