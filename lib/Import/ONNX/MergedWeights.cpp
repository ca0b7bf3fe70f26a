//===- MergedWeights.cpp - Warns of parameters that an exporter changed ---===//
//
// An exporter's optimizer may replace equal initial constants (all zero biases, all ones of norms) by one
// initializer. Training it ties what was never tied. The model tells by three signs together: every element
// of the parameter has the same value, it is read by nodes of several modules, and one of them is not the
// module that its name belongs to. A weight that is tied on purpose has learned or random values; one shared
// by a module that runs several times is read in the scope of that one module. Where nodes have no scope, two
// layers that share the one and have different other weights tell.
//
// It may also compute with weights: a transposed copy of a parameter is trained apart from it; what the exporter did
// not mark, where it marks all that it knows, was computed, and is trained where it stands for parameters that are gone.
// The TorchScript-based exporter marks nothing; it names what it computed after the operator that reads it.
//
//===----------------------------------------------------------------------===//
#include "Graph.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

/// The module that the node belongs to: the exporter's name scope without the node itself, or the path in the
/// node's name.
static std::string moduleOf(const onnx::NodeProto &node) {
  for (const onnx::StringStringEntryProto &property : node.metadata_props()) {
    if (property.key() != "pkg.torch.onnx.name_scopes")
      continue;
    // "['', 'm', 'm.h.0', 'm.h.0.ln_1', 'layer_norm']"
    SmallVector<StringRef> parts;
    StringRef(property.value()).split(parts, '\'');
    SmallVector<StringRef> scopes;
    for (size_t i = 1; i < parts.size(); i += 2)
      scopes.push_back(parts[i]);
    return scopes.size() < 2 ? "" : scopes[scopes.size() - 2].str();
  }
  // "/m/h.0/ln_1/LayerNormalization"
  StringRef path = StringRef(node.name()).rsplit('/').first;
  if (!StringRef(node.name()).starts_with("/"))
    return "";
  std::string scope = path.drop_front(path.empty() ? 0 : 1).str();
  std::replace(scope.begin(), scope.end(), '/', '.');
  return scope;
}

/// Whether all elements have the same bits.
static bool isOneValue(ArrayRef<char> bytes, int64_t elements) {
  if (elements < 2 || bytes.size() % elements != 0)
    return false;
  size_t width = bytes.size() / elements;
  return memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

/// Whether `b`, of columns x rows elements, is the transpose of `a`, of rows x columns.
static bool isTranspose(ArrayRef<char> a, ArrayRef<char> b, int64_t rows, int64_t columns) {
  size_t width = a.size() / (rows * columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (memcmp(a.data() + (row * columns + column) * width, b.data() + (column * rows + row) * width, width) != 0)
        return false;
  return true;
}

namespace {

class MergedWeights {
public:
  MergedWeights(const Model &model, const ParameterRules &rules, Weights &weights, ArrayRef<Stored *> parameters,
                ArrayRef<Stored *> others, Location location)
      : rules(rules), weights(weights), parameters(parameters), others(others), location(location) {
    for (Stored *weight : parameters)
      trained.insert(weight->name);
    for (const onnx::NodeProto &node : model.graph().node())
      for (const std::string &output : node.output())
        producers[output] = &node;
  }

  void warn() {
    findMerged();
    findTransposed();
    findReplacing();
    findComputed();
    if (findings.empty())
      return;
    InFlightDiagnostic warning = emitWarning(location);
    warning << findings.front().text << cause;
    for (const Finding &finding : ArrayRef(findings).drop_front())
      warning.attachNote(NameLoc::get(StringAttr::get(location.getContext(), finding.weight->name)))
          << finding.text;
  }

private:
  struct Finding {
    Stored *weight;
    std::string text;
  };
  struct Use {
    const onnx::NodeProto *node;
    int index;
  };

  void found(Stored *weight, const Twine &text, StringRef why) {
    if (findings.empty())
      cause = ("; the exporter's optimizer " + why +
               ": export without optimization (torch.onnx.export(..., optimize=False); of the TorchScript-based "
               "exporter, training=TrainingMode.TRAINING, do_constant_folding=False)")
                  .str();
    findings.push_back({weight, text.str()});
  }

  ArrayRef<char> bytesOf(Stored *weight) {
    if (!weight->tensor || !weight->missing.empty())
      return {};
    FailureOr<ArrayRef<char>> bytes = weights.bytes(*weight->tensor, weight->type, location);
    return succeeded(bytes) ? *bytes : ArrayRef<char>();
  }

  /// The nodes that read the weight, also through the Identity nodes that the TorchScript-based exporter puts in the
  /// place of what it merged.
  void collectUses(StringRef name, SmallVectorImpl<Use> &uses, int depth = 0) const {
    constexpr int kDeepest = 8;
    for (const onnx::NodeProto *node : rules.consumersOf(name)) {
      if (node->op_type() == "Identity" && node->output_size() == 1 && depth < kDeepest) {
        collectUses(node->output(0), uses, depth + 1);
        continue;
      }
      for (auto [index, input] : llvm::enumerate(node->input()))
        if (input == name && llvm::none_of(uses, [&](const Use &use) {
              return use.node == node && use.index == static_cast<int>(index);
            }))
          uses.push_back({node, static_cast<int>(index)});
    }
  }

  /// The other trained weights of the layer that reads this one: inputs of the node, or of the product before a sum.
  SmallVector<StringRef> partners(const Use &use, StringRef self) const {
    SmallVector<StringRef> names;
    auto add = [&](const onnx::NodeProto &node) {
      for (const std::string &input : node.input())
        if (input != self && trained.contains(input))
          names.push_back(input);
    };
    add(*use.node);
    for (const std::string &input : use.node->input())
      if (auto producer = producers.find(input); names.empty() && use.node->op_type() == "Add" &&
                                                 producer != producers.end())
        add(*producer->second);
    return names;
  }

  void findMerged() {
    for (Stored *weight : parameters) {
      SmallVector<Use> uses;
      collectUses(weight->name, uses);
      if (uses.size() < 2)
        continue;
      llvm::StringSet<> modules;
      std::string text;
      bool foreign = false, known = true;
      StringRef owner = StringRef(weight->name).rsplit('.').first;
      for (const Use &use : uses) {
        std::string scope = moduleOf(*use.node);
        known &= !scope.empty();
        foreign |= !StringRef(scope).ends_with(owner);
        modules.insert(scope);
        text += (text.empty() ? "" : ", ") + ("input " + Twine(use.index) + " of '" + use.node->name() + "'").str();
      }
      bool merged = foreign && modules.size() > 1;
      if (!known) {
        SmallVector<StringRef> first = partners(uses.front(), weight->name);
        merged = llvm::any_of(ArrayRef(uses).drop_front(), [&](const Use &use) {
          SmallVector<StringRef> others = partners(use, weight->name);
          return !first.empty() && !others.empty() &&
                 llvm::none_of(others, [&](StringRef name) { return llvm::is_contained(first, name); });
        });
      }
      if (!merged || !isOneValue(bytesOf(weight), weight->type.getNumElements()))
        continue;
      size_t layers = known ? modules.size() : uses.size();
      found(weight,
            "initializer '" + weight->name + "' (all elements equal) is read by " + Twine(layers) +
                (known ? " modules: " : " layers: ") + text,
            "merges equal initial constants, so training ties parameters that were separate");
    }
  }

  void findTransposed() {
    SmallVector<Stored *> all(parameters);
    llvm::append_range(all, others);
    for (auto [index, weight] : llvm::enumerate(parameters)) {
      if (weight->type.getRank() != 2 || weight->type.getNumElements() < 2)
        continue;
      int64_t rows = weight->type.getDimSize(0), columns = weight->type.getDimSize(1);
      ArrayRef<char> bytes = bytesOf(weight);
      if (bytes.empty() || isOneValue(bytes, rows * columns) ||
          (rows == columns && isTranspose(bytes, bytes, rows, columns)))
        continue;
      for (Stored *other : ArrayRef(all).drop_front(index + 1)) {
        if (other->type.getRank() != 2 || other->type.getDimSize(0) != columns ||
            other->type.getDimSize(1) != rows ||
            other->type.getElementType() != weight->type.getElementType())
          continue;
        ArrayRef<char> copy = bytesOf(other);
        if (copy.size() != bytes.size() || !isTranspose(bytes, copy, rows, columns))
          continue;
        computed.insert(other->name);
        found(other,
              "initializer '" + other->name + "' is a transposed copy of '" + weight->name + "' and " +
                  (other->whyNotTrained.empty() ? "is trained apart from it" : "is not trained") + usesText(other),
              "computes with weights, so training parts copies that were one parameter");
      }
    }
  }

  /// Trained initializers that the exporter computed: their new names, and what they were made of.
  void findReplacing() {
    std::string folded;
    int64_t more = 0;
    Stored *first = nullptr;
    for (Stored *weight : parameters) {
      if (computed.contains(weight->name) || llvm::is_contained(llvm::map_range(findings, [](const Finding &finding) {
                                                                  return finding.weight;
                                                                }), weight))
        continue;
      if (rules.hasMarks()) {
        if (std::string replaced = rules.parametersReplacedBy(weight->name);
            !rules.isMarked(weight->name) && !replaced.empty())
          found(weight,
                "initializer '" + weight->name + "' was computed from " + replaced + " and is trained as it stands" +
                    usesText(weight),
                "computes with weights, so training changes the results of these computations");
        continue;
      }
      if (!isFolded(weight))
        continue;
      constexpr int64_t kListed = 8;
      first = first ? first : weight;
      if (more++ < kListed)
        folded += (folded.empty() ? "'" : ", '") + weight->name + "'";
      if (more == kListed + 1)
        folded += " ...";
    }
    if (first)
      found(first,
            Twine(more) + (more == 1 ? " initializer was" : " initializers were") +
                " computed by the exporter (a batch normalization merged into a convolution, say) and " +
                (more == 1 ? "is trained as it stands: " : "are trained as they stand: ") + folded,
            "computes with weights, so training changes the results of these computations");
  }

  /// "onnx::Conv_123": the TorchScript-based exporter's name of a computed tensor. The transposed weight of a linear layer
  /// and the reordered gates of a recurrent one are no more than that.
  bool isFolded(Stored *weight) const {
    StringRef op = StringRef(weight->name).rsplit('_').first;
    if (!op.consume_front("onnx::"))
      return false;
    return !(op == "MatMul" && weight->type.getRank() == 2) && op != "LSTM" && op != "GRU" && op != "RNN";
  }

  /// Initializers without the exporter's mark, where it marks parameters, buffers and constants.
  void findComputed() {
    if (!rules.hasMarks())
      return;
    for (Stored *weight : others)
      if (weight->argument && !weight->argument.use_empty() && isa<FloatType>(weight->type.getElementType()) &&
          weight->type.getNumElements() > 1 && !rules.isMarked(weight->name) && !computed.contains(weight->name))
        found(weight,
              "initializer '" + weight->name + "' of " + Twine(weight->type.getNumElements()) +
                  " elements has no mark of the exporter: it was computed, perhaps from weights, which are not trained "
                  "then unless --train=REGEX names it" + usesText(weight),
              "computes with weights, so training leaves out those that went into it");
  }

  std::string usesText(Stored *weight) const {
    SmallVector<Use> uses;
    collectUses(weight->name, uses);
    std::string text;
    for (const Use &use : uses)
      text += (text.empty() ? "; it is read as " : ", ") +
              ("input " + Twine(use.index) + " of '" + use.node->name() + "'").str();
    return text;
  }

  const ParameterRules &rules;
  Weights &weights;
  ArrayRef<Stored *> parameters, others;
  Location location;
  llvm::StringSet<> trained, computed;
  llvm::StringMap<const onnx::NodeProto *> producers;
  SmallVector<Finding> findings;
  std::string cause;
};

} // namespace

void zero::onnx_import::warnOfMergedWeights(const Model &model, const ParameterRules &rules, Weights &weights,
                                            ArrayRef<Stored *> parameters, ArrayRef<Stored *> others,
                                            Location location) {
  MergedWeights(model, rules, weights, parameters, others, location).warn();
}
