//===- zero-import.cpp - model.onnx to model.mlir -------------------------===//
#include "zero/Import/Diagnostics.h"
#include "zero/Import/ImportFlags.h"
#include "zero/Import/ONNX.h"

#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

namespace cl = llvm::cl;

namespace {
enum ExitCode { kOk = 0, kUsage = 2, kBadInput = 3 };

/// Writes a file whole or not at all; standard output and devices, which no file may replace, as they are.
llvm::Error write(mlir::ModuleOp module, llvm::StringRef output) {
  auto print = [&](llvm::raw_ostream &os) {
    module->print(os, mlir::OpPrintingFlags().enableDebugInfo());
    return llvm::Error::success();
  };
  if (output != "-" && (!llvm::sys::fs::exists(output) || llvm::sys::fs::is_regular_file(output)))
    return llvm::writeToOutput(output, print);
  std::error_code code;
  llvm::raw_fd_ostream os(output, code);
  if (code)
    return llvm::errorCodeToError(code);
  llvm::cantFail(print(os));
  os.flush();
  code = os.error();
  os.clear_error();
  return llvm::errorCodeToError(code);
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
  llvm::Error error = write(*module, output);
  if (error) {
    llvm::errs() << "zero-import: error: cannot write '" << output
                 << "': " << llvm::toString(std::move(error)) << '\n';
    return kBadInput;
  }
  return kOk;
}
