//===- MergedWeights.cpp - Warns of parameters that an exporter merged ----===//
//
// An exporter's optimizer may replace equal initial constants (all zero biases, all ones of norms) by one
// initializer. Training it ties what was never tied. The model tells by three signs together: every element
// of the parameter has the same value, it is read by nodes of several modules, and one of them is not the
// module that its name belongs to. A weight that is tied on purpose has learned or random values; one shared
// by a module that runs several times is read in the scope of that one module.
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

void zero::onnx_import::warnOfMergedWeights(const Model &model, Weights &weights,
                                            ArrayRef<Stored *> parameters, Location location) {
  struct Merged {
    Stored *weight;
    std::string uses;
    size_t modules;
  };
  SmallVector<Merged> merged;
  for (Stored *weight : parameters) {
    llvm::StringSet<> modules;
    std::string uses;
    bool foreign = false, known = true;
    StringRef owner = StringRef(weight->name).rsplit('.').first;
    for (const onnx::NodeProto &node : model.graph().node())
      for (auto [index, input] : llvm::enumerate(node.input())) {
        if (input != weight->name)
          continue;
        std::string scope = moduleOf(node);
        known &= !scope.empty();
        foreign |= !StringRef(scope).ends_with(owner);
        modules.insert(scope);
        uses += (uses.empty() ? "" : ", ") + ("input " + Twine(index) + " of '" + node.name() + "'").str();
      }
    if (!known || !foreign || modules.size() < 2)
      continue;
    FailureOr<ArrayRef<char>> bytes = weights.bytes(*weight->tensor, weight->type, location);
    if (succeeded(bytes) && isOneValue(*bytes, weight->type.getNumElements()))
      merged.push_back({weight, uses, modules.size()});
  }
  if (merged.empty())
    return;
  InFlightDiagnostic warning = emitWarning(location);
  auto say = [](auto &diagnostic, const Merged &entry) {
    diagnostic << "initializer '" << entry.weight->name << "' (all elements equal) is read by "
               << entry.modules << " modules: " << entry.uses;
  };
  say(warning, merged.front());
  warning << "; the exporter's optimizer merges equal initial constants, so training ties parameters that "
             "were separate: "
             "export without optimization";
  for (const Merged &entry : ArrayRef(merged).drop_front())
    say(warning.attachNote(NameLoc::get(StringAttr::get(location.getContext(), entry.weight->name))), entry);
}
