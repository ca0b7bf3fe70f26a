//===- zero-opt.cpp - mlir-opt with zero's dialects, passes and pipelines -===//
#include "zero/Pipelines/PipelineFlags.h"
#include "zero/Runtime/Base/OutputFile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

static int fail(const Twine &message) {
  llvm::errs() << "zero-opt: error: " << message << "\n";
  return EXIT_FAILURE;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  zero::registerDialects(registry);
  zero::nameRemarks(registry, "zero-opt");
  zero::registerPasses();
  zero::PipelineFlags flags(zero::Phase::Schedule);
  auto [inputFile, outputFile] = registerAndParseCLIOptions(
      argc, argv, "zero-opt: mlir-opt with zero's dialects, passes and pipelines\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();

  if (flags.anyGiven()) {
    MLIRContext scratch(registry, MLIRContext::Threading::DISABLED);
    PassManager given(&scratch);
    if (failed(config.setupPassPipeline(given)))
      return EXIT_FAILURE;
    if (given.size() != 0)
      return fail("pass flags together with pipeline flags (--zero-stage, --prefetch, --world-size, --compile-to, --dump-phases, "
                  "--config, --remarks); give one kind");
    llvm::Expected<zero::PipelineRequest> request = flags.getRequest();
    if (!request)
      return fail(llvm::toString(request.takeError()));
    request->weightsFolder = llvm::sys::path::parent_path(inputFile).str();
    if (outputFile != "-")
      request->outputFolder = llvm::sys::path::has_parent_path(outputFile) ? llvm::sys::path::parent_path(outputFile).str() : ".";
    config.setPassPipelineSetupFn([request = *request](PassManager &passes) {
      passes.addPass(zero::createRunPhasesPass(request));
      return success();
    });
  }

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputFile, &message);
  if (!input)
    return fail(message);
  if (outputFile == "-")
    return failed(MlirOptMain(llvm::outs(), std::move(input), registry, config)) ? EXIT_FAILURE : EXIT_SUCCESS;
  std::string text;
  llvm::raw_string_ostream output(text);
  if (failed(MlirOptMain(output, std::move(input), registry, config)))
    return EXIT_FAILURE;
  zero::Status written = zero::writeWholeFile(outputFile, text);
  return written.ok() ? EXIT_SUCCESS : fail(written.message());
}
