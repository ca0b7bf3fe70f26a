//===- FinishModule.cpp - From imported nodes to a verified @forward ------===//
//
// Which weights are parameters shows only now: those that the loss depends on.
//
//===----------------------------------------------------------------------===//
#include "Graph.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

llvm::DenseSet<Value> Importer::findTrainable() {
  llvm::DenseSet<Value> reached;
  if (!hasLoss())
    return reached;
  SmallVector<Value> work{results.front()};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!reached.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(work, op->getOperands());
  }
  return reached;
}

/// Drops what nothing reaches, orders the arguments and says what became of each weight.
LogicalResult Importer::finish() {
  func::ReturnOp::create(node.builder, node.location, results);
  Block &body = function.getBody().front();
  // Backwards, so that a chain of unused ops goes in one walk.
  for (Operation *op = body.getTerminator()->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }

  llvm::DenseSet<Value> trainable = findTrainable();
  SmallVector<Stored *> parameters;
  std::map<std::string, Stored *> byName;
  for (auto &entry : storedTensors) {
    byName[entry->name] = entry.get();
    if (entry->argument && !trainable.contains(entry->argument) && entry->whyNotTrained.empty())
      entry->whyNotTrained = "the loss does not depend on it";
    else if (entry->whyNotTrained.empty())
      parameters.push_back(entry.get());
  }
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    auto found = byName.find(tensor.name());
    FailureOr<Type> element = node.elementType(tensor.data_type());
    if (failed(element))
      return failure();
    if (!isa<FloatType>(*element) || model.isAdded(tensor) || !hasLoss())
      continue;
    std::string reason =
        found == byName.end() ? "the loss does not depend on it" : found->second->whyNotTrained;
    if (!reason.empty())
      emitRemark(NameLoc::get(StringAttr::get(context, tensor.name())))
          << "weight '" << tensor.name() << "' is not trained: " << reason;
  }
  if (parameters.empty() && hasLoss())
    return explainNoParameter(byName);
  if (failed(checkPaddingRows()))
    return failure();
  SmallVector<Stored *> others;
  for (auto &entry : storedTensors)
    if (!entry->whyNotTrained.empty() && entry->isInitializer)
      others.push_back(entry.get());
  warnOfMergedWeights(model, rules, weights, parameters, others, location);

  // Inputs and labels keep their places; then parameters, then frozen weights, each in the order of the file.
  std::map<const onnx::TensorProto *, int> position;
  for (auto [index, tensor] : llvm::enumerate(model.graph().initializer()))
    position[&tensor] = static_cast<int>(index);
  SmallVector<Stored *> ordered;
  for (auto &entry : storedTensors)
    if (entry->argument)
      ordered.push_back(entry.get());
  llvm::sort(ordered, [&](Stored *a, Stored *b) {
    auto rank = [&](Stored *entry) {
      auto found = position.find(entry->tensor);
      return std::tuple(!entry->whyNotTrained.empty(), found == position.end() ? INT_MAX : found->second,
                        entry->argument.getArgNumber());
    };
    return rank(a) < rank(b);
  });
  llvm::DenseSet<Value> storedArguments;
  for (Stored *entry : ordered)
    storedArguments.insert(entry->argument);
  SmallVector<DictionaryAttr> attributes;
  for (auto [argument, attribute] : llvm::zip_equal(body.getArguments(), argumentAttributes))
    if (!storedArguments.contains(argument))
      attributes.push_back(attribute);
  llvm::BitVector obsolete(body.getNumArguments());
  for (Stored *entry : ordered) {
    obsolete.set(entry->argument.getArgNumber());
    if (entry->argument.use_empty()) {
      entry->argument = nullptr;
      continue;
    }
    FailureOr<Attribute> data = dataOf(*entry);
    if (failed(data))
      return failure();
    nn::RoleKind role = entry->whyNotTrained.empty() ? nn::RoleKind::Parameter : nn::RoleKind::Frozen;
    attributes.push_back(node.builder.getDictionaryAttr(
        {node.builder.getNamedAttr(nn::kRoleAttrName, nn::RoleAttr::get(context, role, entry->name)),
         node.builder.getNamedAttr(nn::kDataAttrName, *data)}));
    BlockArgument moved = body.addArgument(entry->type, entry->argument.getLoc());
    obsolete.push_back(false);
    entry->argument.replaceAllUsesWith(moved);
    entry->argument = moved;
  }
  body.eraseArguments(obsolete);
  function.setFunctionType(
      node.builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  function.setAllArgAttrs(attributes);
  function.setAllResultAttrs(resultAttributes);
  if (failed(verify(*module)) || failed(startingValues.checkUsed(location)))
    return failure();
  warnOfMissingValues();
  return weights.writeSideFile(location);
}

/// "no parameter" with the reasons of the largest weights.
LogicalResult Importer::explainNoParameter(const std::map<std::string, Stored *> &byName) {
  struct Candidate {
    std::string name, why;
    SmallVector<int64_t> dims;
    int64_t elements;
  };
  SmallVector<Candidate> candidates;
  auto add = [&](StringRef name, SmallVector<int64_t> dims, std::string why) {
    int64_t elements = 1;
    for (int64_t dim : dims)
      if (dim < 0 || llvm::MulOverflow(elements, dim, elements))
        return;
    candidates.push_back({name.str(), std::move(why), std::move(dims), elements});
  };
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    if (!isFloatType(tensor.data_type()))
      continue;
    auto found = byName.find(tensor.name());
    add(tensor.name(), SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
        found == byName.end() ? "the loss does not depend on it" : found->second->whyNotTrained);
  }
  for (const onnx::NodeProto &proto : model.graph().node())
    if (std::optional<FloatConstant> constant = floatConstantOf(proto)) {
      std::string why = rules.whyConstantNotTrained(proto.output(0));
      add(proto.output(0), constant->dims, why.empty() ? "the loss does not depend on it" : why);
    }
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::tuple(-a.elements, StringRef(a.name)) < std::tuple(-b.elements, StringRef(b.name));
  });
  InFlightDiagnostic error = emitError(location) << "the model has no parameter to train";
  if (candidates.empty())
    error << ": it holds no float weight";
  constexpr size_t kListed = 5;
  for (const Candidate &candidate : ArrayRef(candidates).take_front(kListed)) {
    Diagnostic &note = error.attachNote(NameLoc::get(StringAttr::get(context, candidate.name)));
    note << "weight '" << candidate.name << "' of " << candidate.elements
         << (candidate.elements == 1 ? " element" : " elements") << " is not trained: " << candidate.why;
  }
  return error;
}

/// Where the values of a weight come from: the user's rule, a file, or nowhere.
FailureOr<Attribute> Importer::dataOf(Stored &entry) {
  bool isStored = entry.missing.empty();
  if (isa<FloatType>(entry.type.getElementType()) && (entry.whyNotTrained.empty() || !isStored)) {
    FailureOr<Attribute> initial =
        startingValues.find(entry.name, entry.type, isStored, entry.argument.getLoc());
    if (failed(initial))
      return failure();
    if (*initial) {
      entry.missing.clear();
      return initial;
    }
  }
  if (!isStored)
    return Attribute(nn::MissingAttr::get(context, entry.missing));
  return weights.stored(*entry.tensor, entry.name, entry.type, entry.argument.getLoc());
}

/// One warning for all weights without values.
void Importer::warnOfMissingValues() const {
  SmallVector<const Stored *> missing;
  for (auto &entry : storedTensors)
    if (entry->argument && !entry->missing.empty())
      missing.push_back(entry.get());
  if (missing.empty())
    return;
  constexpr size_t kListed = 8;
  InFlightDiagnostic warning = emitWarning(location);
  warning << missing.size() << (missing.size() == 1 ? " weight has" : " weights have")
          << " no values, so this is for planning only (zero-compile --plan-only); --init=normal:STD gives values: ";
  for (auto [index, entry] : llvm::enumerate(ArrayRef(missing).take_front(kListed)))
    warning << (index ? ", '" : "'") << entry->name << "' (" << entry->missing << ")";
  if (missing.size() > kListed)
    warning << " and " << (missing.size() - kListed) << " more";
}
