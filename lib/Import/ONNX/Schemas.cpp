//===- Schemas.cpp - Checks nodes against their operators' versions -------===//
#include "Schemas.h"

#include "llvm/ADT/StringSet.h"

#include <climits>
#include <cmath>

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

constexpr int kAny = INT_MAX;

struct Schema {
  const char *name;
  int64_t since;
  int leastInputs, mostInputs, leastOutputs, mostOutputs;
  const char *attributes;
};
constexpr Schema kSchemas[] = {
#include "OperatorSchemas.inc"
};

/// The row in force: the newest that is not newer than the node's operator set.
const Schema *findSchema(StringRef name, int64_t opset) {
  static const llvm::StringMap<SmallVector<const Schema *, 4>> table = [] {
    llvm::StringMap<SmallVector<const Schema *, 4>> rows;
    for (const Schema &schema : kSchemas)
      rows[schema.name].push_back(&schema);
    return rows;
  }();
  auto found = table.find(name);
  if (found == table.end())
    return nullptr;
  const Schema *result = nullptr;
  for (const Schema *schema : found->second)
    if (schema->since <= opset || !result)
      result = schema;
  return result;
}

/// Attribute types by the letters of the table.
onnx::AttributeProto::AttributeType typeOf(char letter) {
  switch (letter) {
  case 'f':
    return onnx::AttributeProto::FLOAT;
  case 'i':
    return onnx::AttributeProto::INT;
  case 's':
    return onnx::AttributeProto::STRING;
  case 't':
    return onnx::AttributeProto::TENSOR;
  case 'g':
    return onnx::AttributeProto::GRAPH;
  case 'F':
    return onnx::AttributeProto::FLOATS;
  case 'I':
    return onnx::AttributeProto::INTS;
  case 'S':
    return onnx::AttributeProto::STRINGS;
  case 'T':
    return onnx::AttributeProto::TENSORS;
  case 'G':
    return onnx::AttributeProto::GRAPHS;
  case 'x':
    return onnx::AttributeProto::SPARSE_TENSOR;
  case 'X':
    return onnx::AttributeProto::SPARSE_TENSORS;
  case 'p':
    return onnx::AttributeProto::TYPE_PROTO;
  default:
    return onnx::AttributeProto::TYPE_PROTOS;
  }
}

/// What is set in an attribute that does not say its type (the first file formats did not have to).
onnx::AttributeProto::AttributeType guessType(const onnx::AttributeProto &attribute) {
  if (attribute.has_f())
    return onnx::AttributeProto::FLOAT;
  if (attribute.has_i())
    return onnx::AttributeProto::INT;
  if (attribute.has_s())
    return onnx::AttributeProto::STRING;
  if (attribute.has_t())
    return onnx::AttributeProto::TENSOR;
  if (attribute.has_g())
    return onnx::AttributeProto::GRAPH;
  if (attribute.floats_size())
    return onnx::AttributeProto::FLOATS;
  if (attribute.ints_size())
    return onnx::AttributeProto::INTS;
  if (attribute.strings_size())
    return onnx::AttributeProto::STRINGS;
  return onnx::AttributeProto::UNDEFINED;
}

LogicalResult checkCount(NodeContext &node, int have, int least, int most, StringRef what) {
  if (have >= least && have <= most)
    return success();
  bool few = have < least;
  return node.error() << "has " << have << " " << what << "; the operator has at "
                      << (few ? "least " : "most ") << (few ? least : most);
}

LogicalResult checkAttribute(NodeContext &node, const onnx::AttributeProto &attribute,
                             const llvm::StringMap<char> &known) {
  StringRef name = attribute.name();
  if (!attribute.ref_attr_name().empty())
    return node.error() << "attribute '" << name << "' refers to the attribute '" << attribute.ref_attr_name()
                        << "' of a function, and the node is in none";
  auto found = known.find(name);
  if (found == known.end())
    return node.error() << "has an attribute '" << name << "', which the operator does not have";
  auto type = attribute.type() == onnx::AttributeProto::UNDEFINED ? guessType(attribute) : attribute.type();
  onnx::AttributeProto::AttributeType wanted = typeOf(found->getValue());
  if (type != wanted && type != onnx::AttributeProto::UNDEFINED)
    return node.error() << "attribute '" << name << "' has type "
                        << onnx::AttributeProto::AttributeType_Name(type) << ", not "
                        << onnx::AttributeProto::AttributeType_Name(wanted);
  // A constant may be NaN; a factor, an epsilon or a bound that is one is a mistake.
  bool isNaN = std::isnan(attribute.f()) ||
               llvm::any_of(attribute.floats(), [](float number) { return std::isnan(number); });
  if (isNaN && node.node->op_type() != "Constant")
    return node.error() << "attribute '" << name << "' is not a number";
  return success();
}

} // namespace

LogicalResult zero::onnx_import::checkSchema(NodeContext &node) {
  const onnx::NodeProto &proto = *node.node;
  StringRef domain = proto.domain() == "ai.onnx" ? "" : StringRef(proto.domain());
  std::string name = (domain.empty() ? "" : domain.str() + ".") + proto.op_type();
  const Schema *schema = findSchema(name, domain.empty() ? node.opset : 1);
  if (!schema)
    return success();
  if (failed(checkCount(node, proto.input_size(), schema->leastInputs, schema->mostInputs, "inputs")) ||
      failed(checkCount(node, proto.output_size(), schema->leastOutputs, schema->mostOutputs, "outputs")))
    return failure();
  llvm::StringMap<char> known;
  SmallVector<StringRef> entries;
  StringRef(schema->attributes).split(entries, ' ', -1, /*KeepEmpty=*/false);
  llvm::StringSet<> given;
  for (StringRef entry : entries)
    known[entry.split(':').first.rtrim('!')] = entry.back();
  for (const onnx::AttributeProto &attribute : proto.attribute()) {
    if (!given.insert(attribute.name()).second)
      return node.error() << "has the attribute '" << attribute.name() << "' twice";
    if (failed(checkAttribute(node, attribute, known)))
      return failure();
  }
  for (StringRef entry : entries) {
    StringRef required = entry.split(':').first;
    if (required.consume_back("!") && !given.contains(required))
      return node.error() << "has no attribute '" << required << "', which the operator needs";
  }
  return success();
}
