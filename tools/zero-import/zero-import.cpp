//===- zero-import.cpp - model.onnx to model.mlir -------------------------===//
#include "zero/Import/Diagnostics.h"
#include "zero/Import/ImportFlags.h"
#include "zero/Import/ONNX.h"
#include "zero/Runtime/Base/OutputFile.h"

#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

namespace cl = llvm::cl;

namespace {
enum ExitCode { kOk = 0, kUsage = 2, kBadInput = 3 };

/// Writes a file whole or not at all, and to standard output what "-" asks for.
zero::Status write(mlir::ModuleOp module, const std::string &output) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, mlir::OpPrintingFlags().enableDebugInfo());
  return zero::writeOutput(output, text);
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("zero-import");
  cl::opt<std::string> input(cl::Positional, cl::desc("MODEL.onnx"), cl::cat(category));
  cl::opt<std::string> output("o", cl::value_desc("MODEL.mlir"), cl::init("-"),
                              cl::desc("Where the module goes (default -, standard output)"), cl::cat(category));
  zero::ImportFlags flags(category);
  cl::HideUnrelatedOptions(category);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "reads an ONNX model and writes it as nn, with its training loss\n", &problems)) {
    llvm::errs() << problem;
    return kUsage;
  }
  if (input.empty()) {
    llvm::errs() << "zero-import: error: no model given: zero-import MODEL.onnx -o MODEL.mlir\n";
    return kUsage;
  }
  std::optional<zero::ImportOptions> options = flags.parse("zero-import");
  if (!options)
    return kUsage;
  if (output != "-") {
    options->baseFolder = llvm::sys::path::parent_path(output);
    llvm::SmallString<256> side(llvm::StringRef{output});
    llvm::sys::path::replace_extension(side, "weights");
    options->sideFile = std::string(side);
  }

  mlir::MLIRContext context;
  zero::printDiagnosticsAs("zero-import", context);
  if (flags.listsParameters())
    return mlir::succeeded(zero::listParameters(input, *options, &context, llvm::outs())) ? kOk : kBadInput;
  mlir::OwningOpRef<mlir::ModuleOp> module = zero::importONNX(input, *options, &context);
  if (!module)
    return kBadInput;
  if (zero::Status status = write(*module, output); !status.ok()) {
    llvm::errs() << "zero-import: error: " << status.message() << '\n';
    return kBadInput;
  }
  return kOk;
}
