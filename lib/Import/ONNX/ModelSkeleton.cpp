//===- ModelSkeleton.cpp - The imported model as a frame for trained weights ---===//
//
// Walks the bytes of the model's file, not a parsed copy: all that is not a weight of the program stays as the exporter
// wrote it, in its order, unknown fields too. A tensor whose values lie in the file is found by their place, in whatever
// graph or function it is; others by name: initializers by their own, inside nodes by what they became when they were moved out
// (MovedInitializers.h), Constant and ConstantOfShape nodes by their output's, in functions with the names of the calls in front.
//
//   initializer w: dims, type, raw_data   =>   message 5 { bytes: dims, type;  data: parameter 'w' }
//
//===----------------------------------------------------------------------===//
#include "zero/Import/ModelSkeleton.h"
#include "ExternalData.h"
#include "MovedInitializers.h"
#include "WireReader.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace zero;
using namespace zero::onnx_import;
using llvm::StringRef;

namespace {

/// Smaller values are copied with what stands around them.
constexpr uint64_t kLeastData = 1024;
/// Names of functions' calls are made up to this number; a model of more has its constants elsewhere.
constexpr size_t kMostCalls = 1 << 16;

std::optional<FloatElement> elementOf(uint64_t onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return FloatElement::F32;
  case onnx::TensorProto::DOUBLE:
    return FloatElement::F64;
  case onnx::TensorProto::FLOAT16:
    return FloatElement::F16;
  case onnx::TensorProto::BFLOAT16:
    return FloatElement::BF16;
  default:
    return std::nullopt;
  }
}

int onnxTypeOf(FloatElement element) {
  switch (element) {
  case FloatElement::F32:
    return onnx::TensorProto::FLOAT;
  case FloatElement::F64:
    return onnx::TensorProto::DOUBLE;
  case FloatElement::F16:
    return onnx::TensorProto::FLOAT16;
  case FloatElement::BF16:
    return onnx::TensorProto::BFLOAT16;
  }
  return onnx::TensorProto::UNDEFINED;
}

/// The fields of a message, one after another.
class WireFields {
public:
  explicit WireFields(StringRef message) : reader(message) {}
  bool next() { return reader.next(field); }
  bool ok() const { return reader.ok(); }
  uint32_t number() const { return field.number; }
  /// Whether the field is the length-delimited one of that number.
  bool is(uint32_t number) const { return field.isDelimited && field.number == number; }
  StringRef payload() const { return field.payload; }
  uint64_t value() const { return field.value; }
  StringRef bytes() const { return field.bytes; }

private:
  WireReader reader;
  Field field;
};

/// One message's name fields, read before it is rewritten.
struct NodeHead {
  std::string name, type, domain, overload, output;
};

NodeHead headOf(StringRef node) {
  NodeHead head;
  WireFields fields(node);
  bool hasOutput = false;
  while (fields.next()) {
    if (fields.is(onnx::NodeProto::kNameFieldNumber))
      head.name = fields.payload().str();
    else if (fields.is(onnx::NodeProto::kOpTypeFieldNumber))
      head.type = fields.payload().str();
    else if (fields.is(onnx::NodeProto::kDomainFieldNumber))
      head.domain = fields.payload().str();
    else if (fields.is(onnx::NodeProto::kOverloadFieldNumber))
      head.overload = fields.payload().str();
    else if (fields.is(onnx::NodeProto::kOutputFieldNumber) && !std::exchange(hasOutput, true))
      head.output = fields.payload().str();
  }
  if (head.domain == "ai.onnx")
    head.domain.clear();
  return head;
}

class SkeletonBuilder {
public:
  SkeletonBuilder(StringRef whole, StringRef path, llvm::ArrayRef<ProgramTensor> tensors)
      : whole(whole), external(path), tensors(tensors), found(tensors.size(), false) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      byName[tensors[i].name] = i;
      if (tensors[i].inModel && tensors[i].bytes)
        byOffset[tensors[i].modelOffset] = i;
    }
  }

  ModelSkeleton run(std::string &missing) {
    findCalls();
    moved = movedInitializers(whole);
    Pieces pieces;
    bool changed = false;
    if (!rewrite(whole, pieces, changed, [&](WireFields &field, auto &out, bool &changes) {
          if (field.is(onnx::ModelProto::kGraphFieldNumber))
            return message(field, out, changes, [&](StringRef graph, auto &inner, bool &inside) {
              return rewriteGraph(graph, {""}, inner, inside, 0) && addInputWeights(graph, inner, inside);
            });
          if (field.is(onnx::ModelProto::kFunctionsFieldNumber))
            return message(field, out, changes,
                           [&](StringRef function, auto &inner, bool &inside) { return rewriteFunction(function, inner, inside); });
          return literal(field.bytes(), out);
        }))
      problem = "it is not an ONNX model";
    for (auto [tensor, isFound] : llvm::zip(tensors, found))
      if (tensor.trained && !isFound && problem.empty())
        problem = "parameter '" + tensor.name + "' was not found in it";
    if (!problem.empty()) {
      missing = problem;
      return {};
    }
    ModelSkeleton skeleton;
    skeleton.pieces = std::move(pieces.list);
    skeleton.bytes = std::move(parts);
    skeleton.keptAlive = external.files();
    skeleton.keptAlive.push_back(own);
    return skeleton;
  }

private:
  /// The pieces of one message. Bytes that follow bytes of the same message make one piece.
  struct Pieces {
    std::vector<ModelPiece> list;
    bool endsInBytes = false;
  };
  using Prefixes = std::vector<std::string>;

  //===--------------------------------------------------------------------===//
  // Pieces
  //===--------------------------------------------------------------------===//

  uint64_t append(StringRef bytes) {
    if (!parts.empty() && parts.back().data() + parts.back().size() == bytes.data())
      parts.back() = std::string_view(parts.back().data(), parts.back().size() + bytes.size());
    else if (!bytes.empty())
      parts.push_back(std::string_view(bytes.data(), bytes.size()));
    uint64_t offset = bytesEnd;
    bytesEnd += bytes.size();
    return offset;
  }

  /// Bytes as they are.
  bool literal(StringRef bytes, Pieces &out) {
    uint64_t offset = append(bytes);
    if (std::exchange(out.endsInBytes, true) && out.list.back().offset + out.list.back().size == offset) {
      out.list.back().size += bytes.size();
      return true;
    }
    ModelPiece piece;
    piece.kind = ModelPiece::Kind::Bytes;
    piece.offset = offset;
    piece.size = bytes.size();
    out.list.push_back(std::move(piece));
    return true;
  }

  /// Bytes of no place in the file.
  bool made(std::string bytes, Pieces &out) {
    own->push_back(std::move(bytes));
    return literal(own->back(), out);
  }

  void data(ModelPiece::Source source, uint64_t offset, uint64_t size, Pieces &out, FloatElement element = FloatElement::F32,
            StringRef name = "") {
    ModelPiece piece;
    piece.kind = ModelPiece::Kind::Data;
    piece.source = source;
    piece.offset = offset;
    piece.size = size;
    piece.element = element;
    piece.name = name.str();
    out.list.push_back(std::move(piece));
    out.endsInBytes = false;
  }

  static std::string varint(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7)
      bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
    return bytes;
  }
  static std::string delimited(uint32_t field, StringRef payload) {
    return varint(uint64_t(field) << 3 | 2) + varint(payload.size()) + payload.str();
  }

  /// Gives each field to `visit`; false at malformed bytes.
  template <typename Visit> bool rewrite(StringRef bytes, Pieces &out, bool &changed, Visit visit) {
    WireFields fields(bytes);
    while (fields.next())
      if (!visit(fields, out, changed))
        return false;
    return fields.ok();
  }

  /// A field that is a message: pieces inside a message where something in it changes, else its bytes.
  template <typename Inner> bool message(WireFields &field, Pieces &out, bool &changed, Inner inner) {
    // What was noted for an unchanged message is taken back.
    size_t partsBefore = parts.size();
    std::string_view lastPart = parts.empty() ? std::string_view() : parts.back();
    uint64_t endBefore = bytesEnd;
    Pieces content;
    bool inside = false;
    if (!inner(field.payload(), content, inside))
      return false;
    if (!inside) {
      parts.resize(partsBefore);
      if (partsBefore)
        parts.back() = lastPart;
      bytesEnd = endBefore;
      return literal(field.bytes(), out);
    }
    changed = true;
    place(field.number(), std::move(content), out);
    return true;
  }

  void place(uint32_t field, Pieces content, Pieces &out) {
    ModelPiece piece;
    piece.kind = ModelPiece::Kind::Message;
    piece.field = field;
    piece.pieces = static_cast<uint32_t>(content.list.size());
    out.list.push_back(std::move(piece));
    std::move(content.list.begin(), content.list.end(), std::back_inserter(out.list));
    out.endsInBytes = false;
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  bool rewriteGraph(StringRef graph, const Prefixes &prefixes, Pieces &out, bool &changed, int depth) {
    constexpr int kDeepest = 100; // as protobuf
    if (depth > kDeepest)
      return false;
    return rewrite(graph, out, changed, [&](WireFields &field, Pieces &pieces, bool &changes) {
      if (field.is(onnx::GraphProto::kInitializerFieldNumber))
        return message(field, pieces, changes, [&](StringRef tensor, Pieces &inner, bool &inside) {
          auto at = moved.find(tensor.data());
          return rewriteTensor(tensor, at == moved.end() ? find(nameOf(tensor), prefixes) : find(at->second, {""}), inner, inside);
        });
      if (field.is(onnx::GraphProto::kNodeFieldNumber))
        return message(field, pieces, changes, [&](StringRef node, Pieces &inner, bool &inside) {
          return rewriteNode(node, prefixes, inner, inside, depth);
        });
      return literal(field.bytes(), pieces);
    });
  }

  /// Weights that are inputs of the graph become their initializers: the inputs' values where none are given.
  bool addInputWeights(StringRef graph, Pieces &out, bool &changed) {
    WireFields fields(graph);
    while (fields.next()) {
      if (!fields.is(onnx::GraphProto::kInputFieldNumber))
        continue;
      auto at = byName.find(stringField(fields.payload(), onnx::ValueInfoProto::kNameFieldNumber));
      if (at == byName.end() || found[at->second] || !tensors[at->second].trained)
        continue;
      changed = true;
      const ProgramTensor &tensor = tensors[at->second];
      Pieces content;
      int type = onnxTypeOf(tensor.element);
      std::string head;
      for (uint64_t size : tensor.shape)
        head += varint(onnx::TensorProto::kDimsFieldNumber << 3) + varint(size);
      head += varint(onnx::TensorProto::kDataTypeFieldNumber << 3) + varint(type);
      head += delimited(onnx::TensorProto::kNameFieldNumber, tensor.name);
      made(std::move(head), content);
      if (tensor.bytes)
        hole(at->second, type, content);
      found[at->second] = true;
      place(onnx::GraphProto::kInitializerFieldNumber, std::move(content), out);
    }
    return fields.ok();
  }

  bool rewriteFunction(StringRef function, Pieces &out, bool &changed) {
    const Prefixes &prefixes = calls[keyOfFunction(function)];
    return rewrite(function, out, changed, [&](WireFields &field, Pieces &pieces, bool &changes) {
      if (!field.is(onnx::FunctionProto::kNodeFieldNumber))
        return literal(field.bytes(), pieces);
      return message(field, pieces, changes, [&](StringRef node, Pieces &inner, bool &inside) {
        return rewriteNode(node, prefixes, inner, inside, 0);
      });
    });
  }

  bool rewriteNode(StringRef node, const Prefixes &prefixes, Pieces &out, bool &changed, int depth) {
    NodeHead head = headOf(node);
    bool isConstant = head.type == "Constant" && head.domain.empty();
    std::optional<size_t> tensor = find(head.output, prefixes);
    if (head.type == "ConstantOfShape" && head.domain.empty() && tensor && tensors[*tensor].trained)
      return replaceConstantOfShape(node, *tensor, out, changed);
    return rewrite(node, out, changed, [&](WireFields &field, Pieces &pieces, bool &changes) {
      if (!field.is(onnx::NodeProto::kAttributeFieldNumber))
        return literal(field.bytes(), pieces);
      return message(field, pieces, changes, [&](StringRef attribute, Pieces &inner, bool &inside) {
        return rewriteAttribute(attribute, isConstant ? tensor : std::nullopt, prefixes, inner, inside, depth);
      });
    });
  }

  bool rewriteAttribute(StringRef attribute, std::optional<size_t> tensor, const Prefixes &prefixes, Pieces &out, bool &changed,
                        int depth) {
    if (tensor && tensors[*tensor].trained) {
      // Numbers in the attribute itself become a tensor.
      StringRef name = nameOfAttribute(attribute);
      if (name == "value_float" || name == "value_floats") {
        changed = true;
        valueAttribute(*tensor, name == "value_float" ? 0 : 1, out);
        return true;
      }
    }
    return rewrite(attribute, out, changed, [&](WireFields &field, Pieces &pieces, bool &changes) {
      if (field.is(onnx::AttributeProto::kTFieldNumber))
        return message(field, pieces, changes, [&](StringRef bytes, Pieces &inner, bool &inside) {
          return rewriteTensor(bytes, tensor, inner, inside);
        });
      if (field.is(onnx::AttributeProto::kGFieldNumber) || field.is(onnx::AttributeProto::kGraphsFieldNumber))
        return message(field, pieces, changes, [&](StringRef graph, Pieces &inner, bool &inside) {
          return rewriteGraph(graph, prefixes, inner, inside, depth + 1);
        });
      return literal(field.bytes(), pieces);
    });
  }

  /// The content of an attribute `value` that holds a trained f32 tensor of rank 0 or 1.
  void valueAttribute(size_t index, int rank, Pieces &out) {
    Pieces content;
    std::string head;
    if (rank)
      head += varint(onnx::TensorProto::kDimsFieldNumber << 3) + varint(tensors[index].bytes / sizeof(float));
    head += varint(onnx::TensorProto::kDataTypeFieldNumber << 3) + varint(onnx::TensorProto::FLOAT);
    made(std::move(head), content);
    hole(index, onnx::TensorProto::FLOAT, content);
    made(delimited(onnx::AttributeProto::kNameFieldNumber, "value"), out);
    place(onnx::AttributeProto::kTFieldNumber, std::move(content), out);
    made(varint(onnx::AttributeProto::kTypeFieldNumber << 3) + varint(onnx::AttributeProto::TENSOR), out);
  }

  /// A Constant node of the same name and output: what is filled at run time holds no trained values.
  bool replaceConstantOfShape(StringRef node, size_t index, Pieces &out, bool &changed) {
    changed = true;
    int type = onnx::TensorProto::FLOAT;
    WireFields fields(node);
    while (fields.next()) {
      if (fields.is(onnx::NodeProto::kInputFieldNumber))
        continue;
      if (fields.is(onnx::NodeProto::kOpTypeFieldNumber)) {
        made(delimited(onnx::NodeProto::kOpTypeFieldNumber, "Constant"), out);
      } else if (fields.is(onnx::NodeProto::kAttributeFieldNumber)) {
        onnx::AttributeProto attribute;
        if (!attribute.ParseFromArray(fields.payload().data(), static_cast<int>(fields.payload().size())))
          return false;
        if (attribute.name() == "value")
          type = attribute.t().data_type();
      } else {
        literal(fields.bytes(), out);
      }
    }
    Pieces tensor, attribute;
    std::string head;
    for (uint64_t size : tensors[index].shape)
      head += varint(onnx::TensorProto::kDimsFieldNumber << 3) + varint(size);
    head += varint(onnx::TensorProto::kDataTypeFieldNumber << 3) + varint(type);
    made(std::move(head), tensor);
    hole(index, type, tensor);
    made(delimited(onnx::AttributeProto::kNameFieldNumber, "value"), attribute);
    place(onnx::AttributeProto::kTFieldNumber, std::move(tensor), attribute);
    made(varint(onnx::AttributeProto::kTypeFieldNumber << 3) + varint(onnx::AttributeProto::TENSOR), attribute);
    place(onnx::NodeProto::kAttributeFieldNumber, std::move(attribute), out);
    return fields.ok();
  }

  /// A tensor without its values, then these: trained, frozen, or from the model or a file beside it.
  bool rewriteTensor(StringRef tensor, std::optional<size_t> named, Pieces &out, bool &changed) {
    StringRef raw;
    bool isExternal = false, hasRaw = false;
    uint64_t type = 0;
    WireFields fields(tensor);
    while (fields.next()) {
      if (fields.is(onnx::TensorProto::kRawDataFieldNumber))
        raw = fields.payload(), hasRaw = true;
      if (fields.number() == onnx::TensorProto::kDataLocationFieldNumber)
        isExternal = fields.value() == onnx::TensorProto::EXTERNAL;
      if (fields.number() == onnx::TensorProto::kDataTypeFieldNumber)
        type = fields.value();
    }
    if (!fields.ok())
      return false;
    // Values that lie elsewhere in the file are not those of a tensor that only has the same name.
    std::optional<size_t> index = named;
    if (named && tensors[*named].inModel && tensors[*named].bytes)
      index = std::nullopt;
    if (auto at = byOffset.find(static_cast<uint64_t>(raw.data() - whole.data())); hasRaw && !raw.empty() && at != byOffset.end())
      index = at->second;
    bool trained = index && tensors[*index].trained;
    if (trained && tensors[*index].bytes == 0) {
      found[*index] = true; // nothing to train, and readers refuse an empty `raw_data`
      return literal(tensor, out);
    }
    onnx::TensorProto proto;
    FileBytes outside;
    if (!trained && isExternal) {
      // Without its file there is nothing to take in; the reference stays.
      if (!proto.ParseFromArray(tensor.data(), static_cast<int>(tensor.size())))
        return false;
      if (!external.whyMissing(proto).empty() && !index)
        return literal(tensor, out);
      if (!index) {
        Expected<FileBytes> bytes = external.find(proto);
        if (!bytes.ok()) {
          problem = bytes.status().message();
          return literal(tensor, out);
        }
        outside = *bytes;
      }
    }
    bool frozen = index && !trained && (isExternal || tensors[*index].bytes >= kLeastData) &&
                  (!hasRaw || raw.size() == tensors[*index].bytes);
    bool large = !trained && hasRaw && raw.size() >= kLeastData;
    if (trained && hasRaw && raw.size() != tensors[*index].bytes && problem.empty())
      problem = "parameter '" + tensors[*index].name + "' has " + std::to_string(raw.size()) + " bytes in it and " +
                std::to_string(tensors[*index].bytes) + " in the program";
    if (!trained && !frozen && !isExternal && !large)
      return literal(tensor, out);

    changed = true;
    bool placed = false;
    auto put = [&] {
      if (std::exchange(placed, true))
        return;
      if (trained)
        hole(*index, type, out);
      else if (frozen)
        data(ModelPiece::Source::Frozen, tensors[*index].frozenOffset, tensors[*index].bytes, out);
      else
        data(ModelPiece::Source::Bytes, append(isExternal ? StringRef(outside.bytes.data(), outside.bytes.size()) : raw),
             isExternal ? outside.bytes.size() : raw.size(), out);
    };
    WireFields again(tensor);
    while (again.next())
      switch (again.number()) {
      case onnx::TensorProto::kRawDataFieldNumber:
        put(); // where it stood
        break;
      case onnx::TensorProto::kFloatDataFieldNumber:
      case onnx::TensorProto::kInt32DataFieldNumber:
      case onnx::TensorProto::kInt64DataFieldNumber:
      case onnx::TensorProto::kDoubleDataFieldNumber:
      case onnx::TensorProto::kUint64DataFieldNumber:
      case onnx::TensorProto::kExternalDataFieldNumber:
      case onnx::TensorProto::kDataLocationFieldNumber:
        break;
      default:
        literal(again.bytes(), out);
      }
    put();
    return true;
  }

  void hole(size_t index, uint64_t onnxType, Pieces &out) {
    const ProgramTensor &tensor = tensors[index];
    found[index] = true;
    if (elementOf(onnxType) != tensor.element && problem.empty())
      problem = "parameter '" + tensor.name + "' has another element type in it than in the program";
    data(ModelPiece::Source::Parameter, 0, tensor.bytes, out, tensor.element, tensor.name);
  }

  //===--------------------------------------------------------------------===//
  // Names
  //===--------------------------------------------------------------------===//

  std::optional<size_t> find(StringRef name, const Prefixes &prefixes) const {
    for (const std::string &prefix : prefixes)
      if (auto at = byName.find(prefix + name.str()); at != byName.end())
        return at->second;
    return std::nullopt;
  }

  static StringRef nameOf(StringRef tensor) { return stringField(tensor, onnx::TensorProto::kNameFieldNumber); }
  static StringRef nameOfAttribute(StringRef attribute) {
    return stringField(attribute, onnx::AttributeProto::kNameFieldNumber);
  }
  static StringRef stringField(StringRef message, uint32_t number) {
    StringRef text;
    WireFields fields(message);
    while (fields.next())
      if (fields.is(number))
        text = fields.payload();
    return text;
  }

  static std::string keyOf(StringRef domain, StringRef name, StringRef overload) {
    return ((domain == "ai.onnx" ? StringRef() : domain) + llvm::Twine('\0') + name + llvm::Twine('\0') + overload).str();
  }
  static std::string keyOfFunction(StringRef function) {
    return keyOf(stringField(function, onnx::FunctionProto::kDomainFieldNumber),
                 stringField(function, onnx::FunctionProto::kNameFieldNumber),
                 stringField(function, onnx::FunctionProto::kOverloadFieldNumber));
  }

  /// What stands in front of names in each function, at each of its calls.
  void findCalls() {
    llvm::StringMap<StringRef> bodies;
    StringRef graph;
    WireFields fields(whole);
    while (fields.next()) {
      if (fields.is(onnx::ModelProto::kFunctionsFieldNumber))
        bodies[keyOfFunction(fields.payload())] = fields.payload();
      if (fields.is(onnx::ModelProto::kGraphFieldNumber))
        graph = fields.payload();
    }
    if (!bodies.empty())
      findCallsIn(graph, onnx::GraphProto::kNodeFieldNumber, "", bodies, 0);
  }

  void findCallsIn(StringRef nodes, uint32_t nodeField, const std::string &prefix, const llvm::StringMap<StringRef> &bodies,
                   int depth) {
    constexpr int kDeepest = 128;
    if (depth > kDeepest)
      return;
    WireFields fields(nodes);
    while (fields.next() && callCount < kMostCalls) {
      if (!fields.is(nodeField))
        continue;
      NodeHead head = headOf(fields.payload());
      std::string key = keyOf(head.domain, head.type, head.overload);
      auto body = bodies.find(key);
      if (body == bodies.end())
        continue;
      std::string inner = prefix + (head.name.empty() ? head.type : head.name) + "/";
      calls[key].push_back(inner);
      ++callCount;
      findCallsIn(body->getValue(), onnx::FunctionProto::kNodeFieldNumber, inner, bodies, depth + 1);
    }
  }

  StringRef whole;
  ExternalData external;
  llvm::ArrayRef<ProgramTensor> tensors;
  std::vector<bool> found;
  llvm::StringMap<size_t> byName;
  llvm::DenseMap<uint64_t, size_t> byOffset;
  llvm::StringMap<Prefixes> calls;
  MovedInitializers moved;
  size_t callCount = 0;
  std::vector<std::string_view> parts;
  uint64_t bytesEnd = 0;
  std::shared_ptr<std::deque<std::string>> own = std::make_shared<std::deque<std::string>>();
  std::string problem;
};

} // namespace

ModelSkeleton zero::noModelSkeleton(const std::string &missing) {
  ModelSkeleton skeleton;
  skeleton.missing = missing;
  return skeleton;
}

ModelSkeleton zero::buildModelSkeleton(StringRef path, uint64_t size, uint64_t checksum,
                                       llvm::ArrayRef<ProgramTensor> tensors) {
  std::string name = "the model '" + path.str() + "' ";
  Expected<std::unique_ptr<MappedFile>> opened = MappedFile::open(path.str());
  if (!opened.ok())
    return noModelSkeleton(name + "was not there: " + opened.status().message());
  std::shared_ptr<MappedFile> file = std::move(*opened);
  StringRef whole(file->bytes().data(), file->bytes().size());
  if (whole.size() != size || XXH3_64bits(whole.data(), whole.size()) != checksum)
    return noModelSkeleton(name + "was not the one that was imported");
  std::string problem;
  ModelSkeleton skeleton = SkeletonBuilder(whole, path, tensors).run(problem);
  if (!problem.empty())
    return noModelSkeleton(name + "cannot hold the trained weights: " + problem);
  skeleton.keptAlive.push_back(file);
  return skeleton;
}
