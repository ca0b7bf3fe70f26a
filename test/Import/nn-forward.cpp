//===- nn-forward.cpp - Runs @forward by the reference interpreter --------===//
//
// A test tool: `nn-forward MODULE.mlir [--function=NAME] [NAME=FILE]... [@NODE]...` reads inputs and labels from raw files
// (row-major, little-endian), weights from where `nn.data` says, and prints the loss and the gradients by their roles (of a
// module without a loss: the outputs by their names), then the results of every op whose location is NODE, one tensor a line
// with all digits.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/NNOps.h"
#include "zero/Reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using zero::reference::HostTensor;

static void print(StringRef name, const HostTensor &tensor) {
  llvm::outs() << name << ": " << tensor.getType() << " [";
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    llvm::outs() << (i ? ", " : "");
    if (tensor.isFloat())
      llvm::outs() << llvm::format("%.17g", tensor.getFloat(i));
    else if (tensor.isUnsigned())
      llvm::outs() << static_cast<uint64_t>(tensor.getInt(i));
    else
      llvm::outs() << tensor.getInt(i);
  }
  llvm::outs() << "]\n";
}

static FailureOr<HostTensor> read(StringRef path, uint64_t offset, RankedTensorType type) {
  HostTensor tensor(type);
  auto buffer = llvm::MemoryBuffer::getFileSlice(path, tensor.getBytes().size(), offset);
  if (!buffer || (*buffer)->getBufferSize() != tensor.getBytes().size()) {
    llvm::errs() << "nn-forward: cannot read " << tensor.getBytes().size() << " bytes at " << offset
                 << " of '" << path << "' for " << type << '\n';
    return failure();
  }
  memcpy(tensor.getBytes().data(), (*buffer)->getBufferStart(), tensor.getBytes().size());
  return tensor;
}

static FailureOr<HostTensor> argument(func::FuncOp forward, unsigned index, StringRef folder,
                                      const llvm::StringMap<std::string> &files) {
  auto type = cast<RankedTensorType>(forward.getArgumentTypes()[index]);
  auto role = forward.getArgAttrOfType<zero::nn::RoleAttr>(index, zero::nn::kRoleAttrName);
  Attribute data = forward.getArgAttr(index, zero::nn::kDataAttrName);
  if (auto external = dyn_cast_or_null<zero::nn::ExternalAttr>(data)) {
    SmallString<256> path(folder);
    llvm::sys::path::append(path, external.getFile());
    return read(path, external.getOffset(), type);
  }
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(data)) {
    HostTensor tensor(type);
    ArrayRef<char> bytes = resource.getRawHandle().getBlob()->getData();
    if (bytes.size() != tensor.getBytes().size())
      return failure();
    memcpy(tensor.getBytes().data(), bytes.data(), bytes.size());
    return tensor;
  }
  if (auto elements = dyn_cast_or_null<ElementsAttr>(data))
    return HostTensor::fromAttribute(elements);
  auto file = files.find(role.getName());
  if (file == files.end()) {
    llvm::errs() << "nn-forward: no data for '" << role.getName() << "'\n";
    return failure();
  }
  return read(file->getValue(), 0, type);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "usage: nn-forward MODULE.mlir [--function=NAME] [NAME=FILE]... [@NODE]...\n";
    return 2;
  }
  llvm::StringMap<std::string> files;
  SmallVector<StringRef> nodes;
  StringRef function = "forward";
  for (StringRef arg : ArrayRef(argv, argc).drop_front(2)) {
    if (arg.consume_front("@"))
      nodes.push_back(arg);
    else if (arg.consume_front("--function="))
      function = arg;
    else
      files[arg.split('=').first] = arg.split('=').second.str();
  }
  DialectRegistry registry;
  registry.insert<func::FuncDialect, zero::nn::NNDialect>();
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = parseSourceFile<ModuleOp>(argv[1], sources, &context);
  auto forward = module ? module->lookupSymbol<func::FuncOp>(function) : nullptr;
  if (!forward)
    return 1;
  // Nodes to print become results.
  Block &body = forward.getBody().front();
  SmallVector<std::string> names;
  SmallVector<Value> results;
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    auto role = forward.getResultAttrOfType<zero::nn::RoleAttr>(index, zero::nn::kRoleAttrName);
    bool isOutput = role.getKind() == zero::nn::RoleKind::Output;
    if (isOutput && !names.empty() && names.front() == "loss_sum")
      continue;
    std::string kind = zero::nn::stringifyRoleKind(role.getKind()).str(), name = role.getName().str();
    names.push_back(isOutput ? name : name.empty() ? kind : kind + " " + name);
    results.push_back(value);
  }
  for (StringRef node : nodes)
    for (Operation &op : body)
      if (auto name = dyn_cast<NameLoc>(op.getLoc()); name && name.getName() == node)
        for (Value result : op.getResults()) {
          results.push_back(result);
          names.push_back(node.str());
        }
  body.getTerminator()->setOperands(results);

  SmallVector<HostTensor> arguments;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    FailureOr<HostTensor> tensor = argument(forward, i, llvm::sys::path::parent_path(argv[1]), files);
    if (failed(tensor))
      return 1;
    arguments.push_back(std::move(*tensor));
  }
  auto values = zero::reference::evaluateFunction(forward, arguments);
  if (failed(values))
    return 1;
  for (auto [name, value] : llvm::zip_equal(names, *values))
    print(name, value);
  return 0;
}
