//===- ParseCost.cpp - What a file would take when parsed -----------------===//
#include "ParseCost.h"
#include "WireReader.h"

#include "onnx-ml.pb.h"

using llvm::StringRef;
using namespace zero::onnx_import;

namespace {

enum class Kind {
  Bytes,
  Text,
  Varints,
  Narrow,
  Other,
  Model,
  Graph,
  Node,
  Attribute,
  Tensor,
  Value,
  Function
};

/// What a length-delimited field of a message is.
Kind kindOf(Kind message, uint32_t number) {
  switch (message) {
  case Kind::Model:
    return number == 7    ? Kind::Graph
           : number == 25 ? Kind::Function
           : number == 20 ? Kind::Other
                          : Kind::Text;
  case Kind::Graph:
    return number == 1                                    ? Kind::Node
           : number == 5                                  ? Kind::Tensor
           : number == 11 || number == 12 || number == 13 ? Kind::Value
           : number == 2 || number == 10                  ? Kind::Text
                                                          : Kind::Other;
  case Kind::Node:
    return number == 5 ? Kind::Attribute : number == 9 || number == 10 ? Kind::Other : Kind::Text;
  case Kind::Attribute:
    return number == 5 || number == 10                                    ? Kind::Tensor
           : number == 6 || number == 11                                  ? Kind::Graph
           : number == 7                                                  ? Kind::Bytes
           : number == 8                                                  ? Kind::Varints
           : number == 14 || number == 15 || number == 22 || number == 23 ? Kind::Other
                                                                          : Kind::Text;
  case Kind::Tensor:
    return number == 1 || number == 7 || number == 11    ? Kind::Varints
           : number == 5                                 ? Kind::Narrow
           : number == 3 || number == 13 || number == 16 ? Kind::Other
           : number == 6 || number == 8 || number == 12  ? Kind::Text
                                                         : Kind::Bytes;
  case Kind::Function:
    return number == 7                   ? Kind::Node
           : number == 11                ? Kind::Attribute
           : number == 12                ? Kind::Value
           : number == 9 || number == 14 ? Kind::Other
                                         : Kind::Text;
  case Kind::Value:
    return number == 1 || number == 3 ? Kind::Text : Kind::Other;
  default:
    return Kind::Other;
  }
}

uint64_t sizeOf(Kind kind) {
  constexpr uint64_t kAllocated = 16, kSlot = 16; // by the allocator, and in the list that holds it
  switch (kind) {
  case Kind::Graph:
    return sizeof(onnx::GraphProto) + kAllocated;
  case Kind::Node:
    return sizeof(onnx::NodeProto) + kAllocated + kSlot;
  case Kind::Attribute:
    return sizeof(onnx::AttributeProto) + kAllocated + kSlot;
  case Kind::Tensor:
    return sizeof(onnx::TensorProto) + kAllocated + kSlot;
  case Kind::Value:
    return sizeof(onnx::ValueInfoProto) + kAllocated + kSlot;
  case Kind::Function:
    return sizeof(onnx::FunctionProto) + kAllocated + kSlot;
  case Kind::Text:
    return sizeof(std::string) + kAllocated + kSlot;
  default:
    return sizeof(onnx::TypeProto) + kAllocated + kSlot;
  }
}

uint64_t costOf(Kind kind, StringRef bytes, unsigned depth) {
  constexpr unsigned kDeepest = 100; // where the parser stops
  if (depth > kDeepest)
    return 0;
  switch (kind) {
  case Kind::Bytes:
    return bytes.size();
  case Kind::Text:
    return sizeOf(kind) + (bytes.size() > 15 ? bytes.size() + 17 : 0);
  case Kind::Varints:
    return bytes.size() * 8;
  case Kind::Narrow:
    return bytes.size() * 4;
  default:
    break;
  }
  uint64_t cost = sizeOf(kind);
  WireReader reader(bytes);
  Field field;
  while (reader.next(field))
    cost += field.isDelimited ? costOf(kindOf(kind, field.number), field.payload, depth + 1) : 8;
  return cost;
}

} // namespace

uint64_t zero::onnx_import::parseCost(StringRef file) { return costOf(Kind::Model, file, 0); }
