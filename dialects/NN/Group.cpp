//===- Group.cpp - Syntax and verifier of nn.group ------------------------===//
//
//   %r:2 = nn.group(%a = %x : tensor<8xf32>, %b = %y : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
//     %0 = nn.add %a, %b : tensor<8xf32>
//     nn.yield %0, %a : tensor<8xf32>, tensor<8xf32>
//   }
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/NNOps.h"

using namespace mlir;
using namespace zero::nn;

ParseResult GroupOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parseBinding = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) || parser.parseColonType(argument.type) ||
        parser.parseOptionalLocationSpecifier(argument.sourceLoc))
      return failure();
    return success();
  };
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseBinding) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseArrow())
    return failure();
  auto parseResultType = [&] { return parser.parseType(result.types.emplace_back()); };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseResultType))
    return failure();
  SmallVector<Type> types =
      llvm::map_to_vector(arguments, [](const auto &argument) { return argument.type; });
  return failure(parser.resolveOperands(operands, types, start, result.operands) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void GroupOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getOperands()), printer, [&](auto pair) {
    auto [argument, operand] = pair;
    printer << argument << " = " << operand << " : " << argument.getType();
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " -> (";
  llvm::interleaveComma(getResultTypes(), printer);
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult GroupOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getNumOperands())
    return emitOpError() << "body takes " << block.getNumArguments() << " arguments but there are "
                         << getNumOperands() << " operands";
  for (auto [i, argument, operand] : llvm::enumerate(block.getArguments(), getOperands()))
    if (argument.getType() != operand.getType())
      return emitOpError() << "body argument #" << i << " has type " << argument.getType() << " but operand #"
                           << i << " has " << operand.getType();
  for (Operation &op : block.without_terminator())
    if (op.getDialect() != (*this)->getDialect() || isa<GroupOp>(op))
      return op.emitOpError("does not belong in an nn.group").attachNote(getLoc()) << "group is here";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield)
    return emitOpError() << "body ends in '" << block.back().getName() << "' but must end in 'nn.yield'";
  if (yield.getNumOperands() != getNumResults())
    return yield.emitOpError() << "yields " << yield.getNumOperands() << " values but the group has "
                               << getNumResults() << " results";
  for (auto [i, value, result] : llvm::enumerate(yield.getOperands(), getResults()))
    if (value.getType() != result.getType())
      return yield.emitOpError() << "value #" << i << " has type " << value.getType()
                                 << " but the group's result #" << i << " has " << result.getType();
  return success();
}
