//===- Subgraphs.h - Graphs inside the attributes of nodes ----------------===//
#ifndef ZERO_LIB_IMPORT_ONNX_SUBGRAPHS_H
#define ZERO_LIB_IMPORT_ONNX_SUBGRAPHS_H

#include "Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace zero::onnx_import {

/// The graphs that a node holds.
void forEachSubgraph(const onnx::NodeProto &node, llvm::function_ref<void(const onnx::GraphProto &)> visit);
void forEachSubgraph(onnx::NodeProto &node, llvm::function_ref<void(onnx::GraphProto &)> visit);

/// All nodes of a graph and of the graphs inside it, each before those inside it.
void forEachNode(const onnx::GraphProto &graph, llvm::function_ref<void(const onnx::NodeProto &)> visit);

/// Every name that a node may read: its inputs and what the graphs inside it read and return (names of their
/// own among them).
void forEachRead(const onnx::NodeProto &node, llvm::function_ref<void(const std::string &)> visit);

/// Moves the initializers of all subgraphs to the model's graph: a constant is the same everywhere. One whose
/// name the model uses already gets the name of its node in front.
void hoistInitializers(Model &model);

} // namespace zero::onnx_import

#endif
