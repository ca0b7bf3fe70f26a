//===- zero-compile.cpp - model.onnx or model.mlir -> compiled.bin --------===//
#include "tools/zero-compile/Calibrate.h"
#include "zero/Analysis/Calibration.h"
#include "zero/Analysis/ForwardOnly.h"
#include "zero/Analysis/MemoryReport.h"
#include "zero/Analysis/PlanReport.h"
#include "zero/Codegen/Codegen.h"
#include "zero/Codegen/CudaCodegen.h"
#include "zero/Import/Diagnostics.h"
#include "zero/Import/ImportFlags.h"
#include "zero/Import/ModelSkeleton.h"
#include "zero/Pipelines/MemoryBudget.h"
#include "zero/Pipelines/PipelineFlags.h"
#include "zero/Runtime/Base/OutputFile.h"
#include "zero/Runtime/Base/ShellText.h"
#include "zero/Target/PlanBinary.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace {
constexpr int kFailed = 1, kUsage = 2, kBadInput = 3;

int fail(int code, const Twine &message) {
  llvm::errs() << "zero-compile: error: " << message << "\n";
  return code;
}

struct Flags {
  llvm::cl::OptionCategory category{"Input and output"};
  llvm::cl::opt<std::string> input{llvm::cl::Positional, llvm::cl::desc("MODEL.onnx|MODEL.mlir"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> output{"o", llvm::cl::desc("The file to write (default compiled.bin; of --compile-to an earlier phase: standard output)"),
                                    llvm::cl::value_desc("FILE"), llvm::cl::init("compiled.bin"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> helpConfig{"help-config", llvm::cl::desc("Print every key of the configuration file and exit (default off)"),
                                 llvm::cl::cat(category)};
  llvm::cl::opt<bool> planOnly{"plan-only", llvm::cl::desc("Print the report and write nothing: for models without values of their weights (default off)"),
                               llvm::cl::cat(category)};
  llvm::cl::list<std::string> reports{"report", llvm::cl::desc("Write what the plan takes, sends and computes, and when; may be given several times "
                                                               "(default none)"),
                                      llvm::cl::value_desc("FILE.json|FILE.html"), llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> memoryBudget{"memory-budget-bytes",
                                      llvm::cl::desc("Fail where a rank takes more device memory, say what takes it, and try other stages, micro-batches, "
                                                     "world sizes and bf16 (default none)"),
                                      llvm::cl::value_desc("N"), llvm::cl::cat(category)};
  llvm::cl::opt<bool> calibrate{"calibrate",
                                llvm::cl::desc("Measure this machine's products, arithmetic, memory and collectives, which takes a minute, keep the rates for "
                                               "predicted times, and exit (default off)"),
                                llvm::cl::cat(category)};
  llvm::cl::opt<std::string> calibration{
      "calibration",
      llvm::cl::desc("The rates that times are predicted from, as --calibrate writes them; 'none': those of the table, which are marked uncalibrated (default: those that "
                     "--calibrate kept for this kind of machine in ~/.cache/zero, or none)"),
      llvm::cl::value_desc("FILE"), llvm::cl::cat(category)};
  llvm::cl::opt<int64_t> linkRate{"link-bytes-per-second",
                                  llvm::cl::desc("What the network between ranks sends, for predicted times (default: all ranks are on one machine)"),
                                  llvm::cl::value_desc("N"), llvm::cl::cat(category)};
  llvm::cl::OptionCategory cuda{"CUDA (with --target=cuda)"};
  llvm::cl::list<std::string> architectures{"cuda-architectures",
                                            llvm::cl::desc("GPUs that the kernels are compiled for, the last also as PTX for later ones (default sm_80,sm_90,sm_100)"),
                                            llvm::cl::value_desc("sm_N,..."), llvm::cl::CommaSeparated, llvm::cl::cat(cuda)};
  llvm::cl::opt<std::string> emitCuda{"emit-cuda", llvm::cl::desc("Write the CUDA C++ of all kernels, too (default none; -: standard output)"),
                                      llvm::cl::value_desc("FILE.cu"), llvm::cl::cat(cuda)};
  llvm::cl::opt<std::string> cudaReport{"cuda-report",
                                        llvm::cl::desc("Write registers, spilled, local and shared bytes of each kernel and architecture (default none)"),
                                        llvm::cl::value_desc("FILE.json"), llvm::cl::cat(cuda)};
  zero::ImportFlags import{category};
  zero::PipelineFlags pipeline{zero::Phase::Plan};
};

/// Writes a text file whole ("-": to standard output), or says why not.
int writeFile(const std::string &path, llvm::function_ref<void(raw_ostream &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  zero::Status status = zero::writeOutput(path, text);
  return status.ok() ? 0 : fail(kBadInput, status.message());
}

/// The rates that the flags ask for; says why not.
std::optional<zero::TargetRates> readRates(const Flags &flags, bool isCuda) {
  zero::TargetRates rates = zero::getTargetRates(isCuda ? "cuda" : "cpu");
  bool given = flags.calibration.getNumOccurrences() != 0;
  // What was measured is a CPU.
  std::string path = given ? flags.calibration.getValue() : isCuda ? "" : zero::getCalibrationPath();
  if (!(given && path == "none") && !path.empty()) {
    auto file = llvm::MemoryBuffer::getFile(path);
    if (!file && (given || file.getError() != std::errc::no_such_file_or_directory)) {
      fail(kBadInput, "cannot read the calibration '" + path + "': " + file.getError().message());
      return {};
    }
    if (file) {
      llvm::Expected<zero::TargetRates> found = zero::parseRates((*file)->getBuffer());
      if (!found) {
        fail(kBadInput, "the calibration '" + path + "' cannot be used: " + llvm::toString(found.takeError()));
        return {};
      }
      rates = std::move(*found);
    }
  }
  rates.linkBytesPerSecond = flags.linkRate.getNumOccurrences() ? static_cast<double>(flags.linkRate) : 0;
  return rates;
}

int calibrateMachine(const Flags &flags, const char *program) {
  std::string path = flags.calibration.getNumOccurrences() ? flags.calibration.getValue() : zero::getCalibrationPath();
  if (path == "none")
    return fail(kUsage, "--calibrate writes what it measures, but --calibration=none names no file");
  if (path.empty())
    return fail(kUsage, "--calibrate needs --calibration=FILE here: there is no folder for it");
  SmallString<128> runtime(llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&calibrateMachine))));
  llvm::sys::path::append(runtime, "zero-run");
  if (!llvm::sys::fs::can_execute(runtime))
    return fail(kFailed, "--calibrate runs '" + runtime + "', which is not there");
  // A folder that the user names must be there: a slip of the finger makes none. What cannot be written is better known a minute earlier.
  if (StringRef folder = llvm::sys::path::parent_path(path); !folder.empty()) {
    bool given = flags.calibration.getNumOccurrences();
    if (std::error_code code = given ? std::error_code() : llvm::sys::fs::create_directories(folder))
      return fail(kBadInput, "cannot make the folder '" + folder + "': " + code.message());
    if (!llvm::sys::fs::is_directory(folder))
      return fail(kBadInput, "cannot write '" + path + "': " +
                                 (llvm::sys::fs::exists(folder) ? "'" + folder + "' is no folder" : "there is no folder '" + folder + "'"));
  }
  llvm::Expected<zero::TargetRates> rates = zero::calibrate(runtime, llvm::outs());
  if (!rates)
    return fail(kFailed, "cannot calibrate: " + llvm::toString(rates.takeError()));
  if (int code = writeFile(path, [&](raw_ostream &os) { zero::writeRates(*rates, os); }))
    return code;
  llvm::outs() << "wrote " << path << "\n";
  return 0;
}

int writeReports(ModuleOp module, const Flags &flags, const zero::TargetRates &rates) {
  if (flags.reports.empty())
    return 0;
  zero::PlanReport report(module, rates);
  for (const std::string &path : flags.reports) {
    auto write = StringRef(path).ends_with(".json") ? zero::writeReportJson : zero::writeReportPage;
    if (int code = writeFile(path, [&](raw_ostream &os) { write(report, os); }))
      return code;
    llvm::outs() << "wrote " << path << "\n";
  }
  return 0;
}

/// The folder that relative paths of weights start from.
std::string folderOf(StringRef file) {
  StringRef parent = llvm::sys::path::parent_path(file);
  return parent.empty() ? "." : parent.str();
}

/// The model that the module was imported from, for `zero-run --export=FILE.onnx`.
zero::Expected<zero::ModelSkeleton> makeSkeleton(ModuleOp module, const std::string &weightsFolder) {
  auto model = module->getAttrOfType<zero::nn::ExternalAttr>(zero::nn::kModelAttrName);
  zero::ModelSkeleton skeleton = zero::noModelSkeleton("its module named no ONNX file");
  if (model) {
    auto tensors = zero::listProgramTensors(module, model.getFile());
    if (!tensors.ok())
      return tensors.status();
    SmallString<128> path(weightsFolder);
    llvm::sys::path::append(path, model.getFile());
    llvm::sys::path::remove_dots(path); // as messages name it
    skeleton = zero::buildModelSkeleton(path, model.getLength(), model.getChecksum(), *tensors);
  }
  if (!skeleton.missing.empty())
    emitRemark(module.getLoc()) << "zero-run --export=FILE.onnx will not be possible: " << skeleton.missing;
  return skeleton;
}

/// What is wrong with the flags of target cuda; empty: nothing.
std::string checkCudaFlags(const Flags &flags, const zero::PipelineRequest &request, bool isCuda) {
  auto given = [](const llvm::cl::Option &flag) { return flag.getNumOccurrences() != 0; };
  for (const llvm::cl::Option *flag : std::initializer_list<const llvm::cl::Option *>{std::addressof(flags.architectures), std::addressof(flags.emitCuda), std::addressof(flags.cudaReport)}) {
    if (!given(*flag))
      continue;
    const std::string name = "--" + flag->ArgStr.str();
    if (!isCuda)
      return name + " is of target cuda, but the program is for cpu";
    if (flags.planOnly)
      return "--plan-only compiles no kernels, but " + name + " is given";
    if (request.stopAfter != zero::Phase::Plan)
      return name + " is of the whole program, but --compile-to=" + zero::getPhaseName(request.stopAfter).str() + " stops before";
  }
  for (const std::string &name : flags.architectures) {
    StringRef number = name;
    unsigned version;
    if (!number.consume_front("sm_") || number.getAsInteger(10, version) || version < 80)
      return "--cuda-architectures has '" + name + "' but takes sm_N, sm_80 at least";
  }
  if (isCuda && given(flags.calibration) && flags.calibration != "none")
    return "--calibration=" + flags.calibration + " holds rates of a CPU, but the program is for cuda";
  return "";
}

/// A program's kernels: objects for CPUs, or code for GPUs.
struct Kernels {
  std::vector<zero::KernelObject> objects;
  std::optional<zero::CudaCode> cuda;
};

/// Both instruction-set variants; the runtime picks one that all ranks have.
int compileForCpu(ModuleOp module, Kernels &kernels) {
  for (zero::CpuVariant variant : {zero::CpuVariant::X86_64_V3, zero::CpuVariant::X86_64_V4}) {
    zero::Expected<std::string> bytes = zero::compileKernels(module, variant);
    if (!bytes.ok())
      return fail(bytes.status().exitCode(), bytes.status().message());
    kernels.objects.push_back({variant, std::move(*bytes)});
  }
  return 0;
}

/// One source, and what NVRTC makes of it.
int compileForCuda(ModuleOp module, const Flags &flags, Kernels &kernels) {
  zero::Expected<std::string> source = zero::makeCudaSource(module);
  if (!source.ok())
    return fail(source.status().exitCode(), source.status().message());
  // First: it is there to be read where NVRTC refuses it.
  if (flags.emitCuda.getNumOccurrences())
    if (int code = writeFile(flags.emitCuda, [&](raw_ostream &os) { os << *source; }))
      return code;
  std::vector<std::string> architectures(flags.architectures.begin(), flags.architectures.end());
  if (architectures.empty())
    architectures.assign(std::begin(zero::kCudaArchitectures), std::end(zero::kCudaArchitectures));
  zero::Expected<zero::CudaCode> compiled = zero::compileCuda(std::move(*source), architectures);
  if (!compiled.ok())
    return fail(compiled.status().exitCode(), compiled.status().message());
  kernels.cuda = std::move(*compiled);
  if (!flags.cudaReport.getNumOccurrences())
    return 0;
  return writeFile(flags.cudaReport, [&](raw_ostream &os) { zero::writeCudaReport(*kernels.cuda, os); });
}

int writeBinary(ModuleOp module, const Flags &flags, const std::string &weightsFolder, const std::string &command, const zero::TargetRates &rates) {
  Kernels kernels;
  if (int code = zero::plan::isForCuda(module) ? compileForCuda(module, flags, kernels) : compileForCpu(module, kernels))
    return code;
  zero::Expected<zero::ModelSkeleton> skeleton = makeSkeleton(module, weightsFolder);
  if (!skeleton.ok())
    return fail(skeleton.status().exitCode(), skeleton.status().message());
  zero::Status written = zero::writePlanBinary(module, kernels.objects, weightsFolder, flags.output, command, &*skeleton, rates, kernels.cuda ? &*kernels.cuda : nullptr);
  return written.ok() ? 0 : fail(written.exitCode(), written.message());
}

/// The command line without what a recompilation for another number of ranks changes, or only reads.
std::string commandWithoutWorldSize(ArrayRef<const char *> arguments) {
  std::string command = "zero-compile";
  for (size_t i = 1; i < arguments.size(); ++i) {
    StringRef argument = arguments[i], name = argument.ltrim('-').split('=').first;
    if (argument.starts_with("-") && (name == "world-size" || name == "o" || name == "report" || name == "emit-cuda" || name == "cuda-report")) {
      i += !argument.contains('=');
      continue;
    }
    command += " " + zero::quoteForShell(std::string_view(argument.data(), argument.size()));
  }
  return command;
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Flags flags;
  llvm::cl::HideUnrelatedOptions({&flags.category, &flags.pipeline.getCategory(), &flags.cuda});
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, "zero-compile: compiles a model into one training program for all ranks\n", &llvm::errs()))
    return kUsage;
  if (flags.helpConfig) {
    zero::printConfigKeys(llvm::outs());
    return 0;
  }
  if (flags.linkRate.getNumOccurrences() && flags.linkRate < 1)
    return fail(kUsage, "--link-bytes-per-second is " + Twine(flags.linkRate) + " but must be at least 1");
  if (flags.calibrate && !flags.input.empty())
    return fail(kUsage, "--calibrate compiles nothing, but '" + flags.input + "' is given");
  if (flags.calibrate)
    return calibrateMachine(flags, argv[0]);
  if (flags.input.empty())
    return fail(kUsage, "no model given; usage: zero-compile MODEL.onnx --loss=... --labels=NAME --world-size=N -o compiled.bin");
  bool isONNX = StringRef(flags.input).ends_with(".onnx");
  if (!isONNX && !StringRef(flags.input).ends_with(".mlir"))
    return fail(kUsage, "'" + flags.input + "' ends neither in .onnx nor in .mlir");
  if (StringRef given = flags.import.firstGiven(); !isONNX && !given.empty())
    return fail(kUsage, "--" + given + " is a flag of the import of an .onnx file, but '" + flags.input + "' is a .mlir");
  std::optional<zero::ImportOptions> importOptions;
  if (isONNX && !(importOptions = flags.import.parse("zero-compile")))
    return kUsage;
  if (flags.import.listsParameters()) {
    MLIRContext context;
    zero::printDiagnosticsAs("zero-compile", context);
    return succeeded(zero::listParameters(flags.input, *importOptions, &context, llvm::outs())) ? 0 : kBadInput;
  }
  llvm::Expected<zero::PipelineRequest> request = flags.pipeline.getRequest();
  if (!request) {
    int code = kBadInput;
    std::string message;
    llvm::handleAllErrors(request.takeError(), [&](const llvm::ErrorInfoBase &error) {
      message = error.message();
      if (error.convertToErrorCode() == std::errc::invalid_argument)
        code = kUsage;
    });
    return fail(code, message);
  }

  if (flags.planOnly && flags.output.getNumOccurrences())
    return fail(kUsage, "--plan-only writes nothing, but -o " + flags.output + " is given");
  if (flags.planOnly && request->stopAfter != zero::Phase::Plan)
    return fail(kUsage, "--plan-only reports on the whole plan, but --compile-to=" + zero::getPhaseName(request->stopAfter) + " stops before");
  const bool hasBudget = flags.memoryBudget.getNumOccurrences();
  if (hasBudget && flags.memoryBudget < 1)
    return fail(kUsage, "--memory-budget-bytes is " + Twine(flags.memoryBudget) + " but must be at least 1");
  if (hasBudget && request->stopAfter != zero::Phase::Plan)
    return fail(kUsage, "--memory-budget-bytes is of the whole plan, but --compile-to=" + zero::getPhaseName(request->stopAfter) + " stops before");
  for (const std::string &path : flags.reports) {
    if (!StringRef(path).ends_with(".json") && !StringRef(path).ends_with(".html"))
      return fail(kUsage, "--report=" + path + " ends neither in .json nor in .html, which say what is written");
    if (request->stopAfter != zero::Phase::Plan)
      return fail(kUsage, "--report=" + path + " is of the whole plan, but --compile-to=" + zero::getPhaseName(request->stopAfter) + " stops before");
  }

  DialectRegistry registry;
  zero::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  zero::printDiagnosticsAs("zero-compile", context);
  OwningOpRef<ModuleOp> module;
  std::string weightsFolder = folderOf(flags.input);
  if (isONNX) {
    importOptions->baseFolder = weightsFolder;
    module = zero::importONNX(flags.input, *importOptions, &context);
  } else {
    module = parseSourceFile<ModuleOp>(flags.input, &context);
  }
  if (!module)
    return kBadInput;
  // Nothing here assumes a size: a plan for the wrong number of ranks would be found out only at launch.
  if (!flags.pipeline.isWorldSizeGiven() && !(*module)->hasAttr(zero::kConfigAttrName) && !zero::isForwardOnly(*module))
    return fail(kUsage, "--world-size is required");

  const bool isCuda = request->target.target == zero::Target::Cuda || zero::plan::isForCuda(*module);
  if (std::string wrong = checkCudaFlags(flags, *request, isCuda); !wrong.empty())
    return fail(kUsage, wrong);

  std::optional<zero::TargetRates> rates = readRates(flags, isCuda);
  if (!rates)
    return kBadInput;

  int failureExitCode = kFailed;
  request->failureExitCode = &failureExitCode;
  request->weightsFolder = weightsFolder;
  if (request->stopAfter != zero::Phase::Plan && flags.output.getNumOccurrences() && flags.output != "-")
    request->outputFolder = folderOf(flags.output);
  OwningOpRef<ModuleOp> source; // to compile it otherwise
  if (hasBudget && !(*module)->hasAttr(zero::kPhaseAttrName))
    source = module->clone();
  PassManager passes(&context);
  passes.addPass(zero::createRunPhasesPass(*request));
  if (failed(passes.run(*module)))
    return failureExitCode;
  if (request->stopAfter != zero::Phase::Plan) {
    return writeFile(flags.output.getNumOccurrences() ? flags.output.getValue() : "-", [&](raw_ostream &os) { module->print(os); });
  }
  if (hasBudget && failed(zero::checkMemoryBudget(*module, source ? *source : ModuleOp(), *request, flags.memoryBudget, llvm::errs())))
    return kFailed;
  if (flags.planOnly) {
    zero::printReport(*module, llvm::outs());
    return writeReports(*module, flags, *rates);
  }
  // Reports first: who finds a program has found all that was asked for.
  if (int code = writeReports(*module, flags, *rates))
    return code;
  if (int code = writeBinary(*module, flags, weightsFolder, commandWithoutWorldSize(ArrayRef<const char *>(argv, argc)), *rates))
    return code;
  zero::printReport(*module, llvm::outs());
  llvm::outs() << "wrote " << flags.output << "\n";
  return 0;
}
