//===- Optional.cpp - Optional values, resolved at import -----------------===//
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

LogicalResult buildOptional(NodeContext &node) {
  if (node.has(0))
    node.results.front() = *node.inputs[0];
  else
    node.results.front().isNone = true;
  return success();
}

/// Since opset 18 also of a value that is not optional, and of no value.
LogicalResult buildOptionalHasElement(NodeContext &node) {
  if (node.opset < 18 && !node.has(0))
    return node.error() << "input 0 is missing";
  return node.set(node.splat(node.has(0) && !node.inputs[0]->isNone, node.builder.getI1Type()));
}

LogicalResult buildOptionalGetElement(NodeContext &node) {
  if (!node.has(0))
    return node.error() << "input 0 is missing";
  if (node.inputs[0]->isNone)
    return node.error() << "takes the element of an optional that has none";
  node.results.front() = *node.inputs[0];
  return success();
}

constexpr OperatorRow rows[] = {
    {"Optional", 15, kNewestOpset, buildOptional},
    {"OptionalGetElement", 15, kNewestOpset, buildOptionalGetElement},
    {"OptionalHasElement", 15, kNewestOpset, buildOptionalHasElement},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::optionalOperators() { return rows; }
