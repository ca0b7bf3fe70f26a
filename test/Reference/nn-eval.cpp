//===- nn-eval.cpp - Prints what the functions of an .mlir file compute ---===//
//
// A test tool: `nn-eval FILE [MAX-ELEMENTS]` evaluates every function without arguments by the reference
// interpreter and prints `@name: type [elements]`, one line a result. A function that fails leaves its
// diagnostic; exit status 1.
//
//===----------------------------------------------------------------------===//
#include "dialects/NN/NNOps.h"
#include "zero/Reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"

#include <cstdlib>

using namespace zero::reference;

static void print(llvm::StringRef name, const HostTensor &tensor) {
  llvm::outs() << '@' << name << ": " << tensor.getType() << " [";
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    llvm::outs() << (i ? ", " : "");
    if (tensor.isFloat())
      llvm::outs() << llvm::format("%.6g", tensor.getFloat(i));
    else if (tensor.isUnsigned())
      llvm::outs() << static_cast<uint64_t>(tensor.getInt(i));
    else
      llvm::outs() << tensor.getInt(i);
  }
  llvm::outs() << "]\n";
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    llvm::errs() << "usage: nn-eval FILE [MAX-ELEMENTS]\n";
    return 2;
  }
  int64_t maxElements = argc == 3 ? std::atoll(argv[2]) : kDefaultMaxElements;
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, zero::nn::NNDialect>();
  mlir::MLIRContext context(registry);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], sources, &context);
  if (!module)
    return 1;
  bool isOk = true;
  for (auto function : module->getOps<mlir::func::FuncOp>()) {
    auto results = evaluateFunction(function, {}, maxElements);
    isOk &= mlir::succeeded(results);
    if (mlir::succeeded(results))
      for (const HostTensor &result : *results)
        print(function.getName(), result);
  }
  return isOk ? 0 : 1;
}
