//===- UnsupportedOperators.cpp - What cannot be imported, and why --------===//
//
// Every operator that the loss needs and nobody builds is refused before anything is imported, all at once. What
// only an output needs that nobody trains by is left out with its reason instead.
//
//===----------------------------------------------------------------------===//
#include "Graph.h"
#include "OperatorTable.h"
#include "Subgraphs.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

/// The operator's name as messages spell it.
static std::string spellOperator(const onnx::NodeProto &proto) {
  bool isDefault = proto.domain().empty() || proto.domain() == "ai.onnx";
  return (isDefault ? "" : proto.domain() + ".") + proto.op_type();
}

/// Why the node's operator cannot be imported, in the words of a message: "(opset 3) is supported from .."; none if it can.
std::optional<std::string> Importer::whyUnsupported(const onnx::NodeProto &proto) const {
  StringRef domain = proto.domain() == "ai.onnx" ? "" : StringRef(proto.domain());
  int64_t version = model.opset(proto);
  for (const onnx::OperatorSetIdProto &opset : model.proto().opset_import())
    if (!domain.empty() && opset.domain() == proto.domain())
      version = opset.version();
  const OperatorRow *row = findOperator(domain, proto.op_type());
  int64_t first = row ? std::max(row->first, domain.empty() ? kOldestOpset : 1) : 0;
  if (row && version >= first && version <= row->last)
    return std::nullopt;
  std::string text = "(opset " + std::to_string(version) + ") is ";
  if (row)
    return text + "supported from opset " + std::to_string(first) + " to " + std::to_string(row->last);
  const char *reason = reasonAgainst(spellOperator(proto));
  return text + "not supported" + (reason ? std::string(" (") + reason + ")" : "");
}

/// Refuses every operator that is not supported, all at once.
LogicalResult Importer::checkOperators(const onnx::GraphProto &graph, const Needed &needed) {
  struct Refusal {
    SmallVector<std::string> nodes;
    std::string reason;
  };
  llvm::MapVector<StringRef, Refusal, std::map<StringRef, unsigned>> refusals;
  std::map<std::string, std::string> names; // keeps the keys alive
  auto check = [&](const onnx::NodeProto &proto) {
    std::optional<std::string> reason = whyUnsupported(proto);
    if (!reason)
      return;
    std::string full = spellOperator(proto);
    auto key = names.try_emplace(full, full).first;
    Refusal &refusal = refusals[key->second];
    refusal.reason = *reason;
    refusal.nodes.push_back("'" + node.scope + nodeName(proto) + "'");
  };
  for (const onnx::NodeProto &proto : graph.node()) {
    if (!needed.nodes.contains(&proto))
      continue;
    check(proto);
    // Of two branches one is imported, and checked then; the body of a loop is imported in any case.
    if (proto.op_type() != "If")
      forEachSubgraph(proto, [&](const onnx::GraphProto &inner) { forEachNode(inner, check); });
  }
  if (refusals.empty())
    return success();
  InFlightDiagnostic diagnostic = emitError(location) << "the model has " << refusals.size()
                                                      << (refusals.size() == 1 ? " operator" : " operators")
                                                      << " that cannot be imported";
  for (auto &[name, refusal] : refusals) {
    Diagnostic &note = diagnostic.attachNote();
    note << "operator '" << name << "' " << refusal.reason;
    constexpr size_t kListed = 8;
    note << ", used by " << refusal.nodes.size() << (refusal.nodes.size() == 1 ? " node: " : " nodes: ")
         << llvm::join(ArrayRef(refusal.nodes).take_front(kListed), ", ");
    if (refusal.nodes.size() > kListed)
      note << " and " << (refusal.nodes.size() - kListed) << " more";
  }
  return diagnostic;
}

void Importer::importOptionalNode(const onnx::NodeProto &proto) {
  std::string reason;
  forEachRead(proto, [&](const std::string &name) {
    if (auto found = missing.find(name); found != missing.end() && reason.empty())
      reason = found->second;
  });
  if (std::optional<std::string> why = whyUnsupported(proto); why && reason.empty())
    reason = "node '" + nodeName(proto) + "': operator '" + spellOperator(proto) + "' " + *why;
  if (reason.empty()) {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (reason.empty())
        reason = diagnostic.str();
      return success();
    });
    if (succeeded(importNode(proto, optional)))
      return;
  }
  for (const std::string &name : proto.output())
    missing[name] = reason;
}
