//===- Calibrate.cpp - Measures this machine for the predicted times ------===//
#include "Calibrate.h"
#include "CalibrationPrograms.h"
#include "zero/Analysis/Calibration.h"
#include "zero/Analysis/PlanMemory.h"
#include "zero/Codegen/Codegen.h"
#include "zero/Pipelines/Pipelines.h"
#include "zero/Target/PlanBinary.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <map>
#include <thread>
#include <unistd.h>

using namespace llvm;
using mlir::ModuleOp;
using mlir::OwningOpRef;

namespace zero {
namespace {

constexpr int kSteps = 5; ///< of a program; the first is not counted

Error makeError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

class Calibrator {
public:
  Calibrator(StringRef zeroRun, raw_ostream &os) : zeroRun(zeroRun.str()), machine(describeMachine()), os(os) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    // What is assumed of a configuration concerns nobody here; errors are the result of run().
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        lastError = diagnostic.str();
      return mlir::success();
    });
  }

  llvm::Expected<TargetRates> run(bool small) {
    if (std::error_code code = sys::fs::createUniqueDirectory("zero-calibrate", folder))
      return makeError("cannot make a folder for the programs: " + code.message());
    llvm::scope_exit remove([&] { sys::fs::remove_directories(folder); });
    for (const CalibrationProgram &program : makeCalibrationPrograms(small)) {
      os << "measuring " << program.name << "\n";
      os.flush();
      if (Error error = measure(program))
        return makeError(program.name + ": " + toString(std::move(error)));
    }
    return fitRates(samples, machine, cores);
  }

private:
  std::string path(StringRef name) const {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    return std::string(path);
  }

  Error measure(const CalibrationProgram &program) {
    llvm::Expected<OwningOpRef<ModuleOp>> module = compile(program);
    if (!module)
      return module.takeError();
    if (Error error = writeTokens(program))
      return error;
    if (Error error = runProgram(program, /*processes=*/1))
      return program.sendsMessages ? leaveOutMessages(std::move(error)) : std::move(error);
    llvm::Expected<Times> times = readTrace();
    if (!times)
      return times.takeError();
    Times shared;
    if (program.isShared && cores > 1) {
      if (Error error = runProgram(program, cores))
        return error;
      llvm::Expected<Times> beside = readTrace();
      if (!beside)
        return beside.takeError();
      shared = std::move(*beside);
    }
    addSamples(**module, program, *times, shared);
    return Error::success();
  }

  /// Where ranks cannot speak over TCP here, nobody asks for what it takes.
  Error leaveOutMessages(Error error) {
    os << "messages are not measured: " << toString(std::move(error)) << "\n";
    return Error::success();
  }

  llvm::Expected<OwningOpRef<ModuleOp>> compile(const CalibrationProgram &program) {
    llvm::Expected<TrainingConfig> config = TrainingConfig::parse(program.config);
    if (!config)
      return config.takeError();
    OwningOpRef<ModuleOp> module = mlir::parseSourceString<ModuleOp>(program.text, &context, program.name);
    if (!module)
      return makeError(lastError);
    PipelineRequest request;
    request.config = std::move(*config);
    request.worldSize = program.ranks;
    request.stopAfter = Phase::Plan;
    mlir::PassManager passes(&context);
    passes.addPass(createRunPhasesPass(request));
    if (failed(passes.run(*module)))
      return makeError(lastError);
    // Every rank here is on this machine.
    bool wide = StringRef(machine).ends_with("v4");
    CpuVariant variant = wide ? CpuVariant::X86_64_V4 : CpuVariant::X86_64_V3;
    zero::Expected<std::string> kernels = compileKernels(*module, variant);
    if (!kernels.ok())
      return makeError(kernels.status().message());
    Status written = writePlanBinary(*module, {{variant, *kernels}}, folder, path("compiled.bin"));
    if (!written.ok())
      return makeError(written.message());
    return std::move(module);
  }

  /// Bytes that look like nothing: what they are changes no time.
  Error writeTokens(const CalibrationProgram &program) {
    std::error_code code;
    raw_fd_ostream file(path("tokens"), code);
    if (code)
      return makeError("cannot write '" + path("tokens") + "': " + code.message());
    uint32_t state = 1;
    int64_t count = program.samples * kSteps * (program.sequence + 1) + 1;
    for (int64_t i = 0; i < count; ++i)
      file << static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    file.close();
    code = file.error();
    file.clear_error();
    return code ? makeError("cannot write '" + path("tokens") + "': " + code.message()) : Error::success();
  }

  /// Runs the program in so many processes at once, each with all its ranks; the first one's trace is read afterwards.
  Error runProgram(const CalibrationProgram &program, unsigned processes) {
    std::vector<std::string> command = {zeroRun,           path("compiled.bin"), "--data=" + path("tokens"), "--data-format=bytes",
                                        "--sequence-length=" + std::to_string(program.sequence), "--flight-recorder=none"};
    if (program.trains)
      command.push_back("--steps=" + std::to_string(kSteps));
    std::string executable = zeroRun;
    if (program.ranks > 1) {
      // As a job on one machine is started; where there is no mpirun, ranks are threads.
      if (auto mpirun = sys::findProgramByName("mpirun")) {
        executable = *mpirun;
        std::vector<std::string> launch = {*mpirun, "--oversubscribe", "-n", std::to_string(program.ranks)};
        if (::geteuid() == 0)
          launch.push_back("--allow-run-as-root");
        if (program.sendsMessages) {
          launch.insert(launch.end(), {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"});
          command.push_back("--shared-memory=off");
        }
        command.insert(command.begin(), launch.begin(), launch.end());
      } else if (program.sendsMessages) {
        return makeError("no mpirun in PATH");
      } else {
        os << "no mpirun in PATH: collectives are those of threads\n";
        command.push_back("--comm=loopback");
      }
    }
    std::vector<sys::ProcessInfo> running;
    std::string log = path("log"), nowhere = "/dev/null", message;
    for (unsigned process = 0; process < processes; ++process) {
      std::string number = process ? std::to_string(process) : "";
      std::vector<std::string> own = command;
      own.push_back("--trace=" + path("trace" + number + ".json"));
      if (!program.trains)
        own.push_back("--predict=" + path("predictions" + number + ".npz"));
      std::vector<StringRef> arguments(own.begin(), own.end());
      StringRef output = process ? nowhere : log;
      std::optional<StringRef> redirects[] = {StringRef(), output, output};
      running.push_back(sys::ExecuteNoWait(executable, arguments, std::nullopt, redirects, 0, &message));
    }
    constexpr unsigned kLongest = 300;
    int code = 0;
    for (const sys::ProcessInfo &process : running)
      if (int ended = process.Pid == sys::ProcessInfo::InvalidPid ? -1 : sys::Wait(process, kLongest, &message).ReturnCode; code == 0)
        code = ended;
    if (code == 0)
      return Error::success();
    auto text = MemoryBuffer::getFile(log);
    return makeError(executable + " ended with exit code " + Twine(code) + (message.empty() ? "" : " (" + message + ")") + ": " +
                     (text ? (*text)->getBuffer().trim() : ""));
  }

  struct Duration {
    std::vector<double> wall, computed;
  };
  /// By section and index.
  using Times = std::map<std::pair<std::string, int64_t>, Duration>;

  /// What the commands of rank 0 took.
  llvm::Expected<Times> readTrace() {
    auto text = MemoryBuffer::getFile(path("trace.json"));
    if (!text)
      return makeError("zero-run wrote no trace");
    llvm::Expected<json::Value> trace = json::parse((*text)->getBuffer());
    if (!trace)
      return trace.takeError();
    const json::Array *events = trace->getAsObject() ? trace->getAsObject()->getArray("traceEvents") : nullptr;
    if (!events)
      return makeError("zero-run's trace has no traceEvents");
    Times times;
    for (const json::Value &value : *events) {
      const json::Object *event = value.getAsObject();
      const json::Object *place = event ? event->getObject("args") : nullptr;
      if (!place || event->getString("ph") != "X" || event->getInteger("pid") != 0)
        continue;
      auto section = place->getString("section");
      auto command = place->getInteger("command");
      auto computed = place->getNumber("cpu_us"), wall = event->getNumber("dur");
      if (!section || !command || !computed || !wall)
        return makeError("an event of zero-run's trace lacks section, command, cpu_us or dur");
      Duration &found = times[{section->str(), *command}];
      found.wall.push_back(*wall * 1e-6);
      found.computed.push_back(*computed * 1e-6);
    }
    return times;
  }

  /// A sample for each command: of computing its time on the core, of a collective its time, of messages what they take of the core.
  void addSamples(ModuleOp module, const CalibrationProgram &program, const Times &times, const Times &shared) {
    CommandCosts costs(module);
    for (auto section : module.getOps<plan::SectionOp>())
      for (auto [index, op] : enumerate(section.getBody().front())) {
        auto find = [&](const Times &all, bool onCore) {
          auto found = all.find({section.getSymName().str(), static_cast<int64_t>(index)});
          return found == all.end() ? 0 : getTypical(onCore ? found->second.computed : found->second.wall);
        };
        CommandSample sample{costs.getKind(&op).str(), costs.get(&op)};
        const bool isCollective = sample.cost.wireBytes != 0;
        // Of messages the rest is as elsewhere, but beside a thread that sends.
        if (program.sendsMessages && (!isCollective || sample.kind == "control_sum"))
          continue;
        sample.seconds = find(times, !isCollective || program.sendsMessages);
        sample.sharedSeconds = find(shared, true);
        if (program.sendsMessages) {
          sample.kind = kMessages.str();
          sample.cost.element = 0;
          sample.cost.wireBytes -= sample.cost.omittedBytes;
        }
        if (sample.seconds > 0)
          samples.push_back(std::move(sample));
      }
  }

  /// The lower quartile without the first: what a run that nothing disturbs repeats.
  static double getTypical(std::vector<double> times) {
    if (times.size() > 1)
      times.erase(times.begin());
    llvm::sort(times);
    return times.empty() ? 0 : times[times.size() / 4];
  }

  std::string zeroRun, machine, lastError;
  /// Processes that compute at once; more than a few of them show nothing new.
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  raw_ostream &os;
  mlir::MLIRContext context;
  SmallString<128> folder;
  std::vector<CommandSample> samples;
};

} // namespace

llvm::Expected<TargetRates> calibrate(StringRef zeroRun, raw_ostream &os) {
  // For tests: programs whose rates mean nothing, in a second.
  std::optional<std::string> sizes = sys::Process::GetEnv("ZERO_TEST_CALIBRATION");
  if (sizes && *sizes != "small")
    return makeError("ZERO_TEST_CALIBRATION is '" + *sizes + "' but must be 'small'");
  return Calibrator(zeroRun, os).run(/*small=*/sizes.has_value());
}

} // namespace zero
