//===- Flags.cpp - The command line of zero-run ---------------------------===//
#include "tools/zero-run/Flags.h"
#include "zero/Runtime/Base/NearestName.h"
#include <CLI/CLI.hpp>
#include <filesystem>

namespace zero {
namespace {

/// "unknown flag '--step'; the nearest known one is '--steps'".
Status unknownArgument(const CLI::App &app) {
  std::vector<std::string> known;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back("--" + name);
  std::string argument = app.remaining().front();
  if (!argument.starts_with("-"))
    return Status::wrongUsage("unexpected argument '" + argument + "'; one program is run at a time");
  argument = argument.substr(0, argument.find('='));
  return Status::wrongUsage("unknown flag '" + argument + "'; the nearest known one is '" + nearestName(argument, known) + "'");
}

Status usageError(const CLI::App &app, const CLI::ParseError &error) {
  // Of a flag that is given twice CLI says how many words it takes.
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 1 && option->get_items_expected_max() == 1) {
      std::string values;
      for (const std::string &value : option->results())
        values += (values.empty() ? "'" : ", '") + value + "'";
      return Status::wrongUsage(option->get_name() + " is given " + std::to_string(option->count()) + " times, " + values +
                                ", but taken once");
    }
  std::string message = error.what();
  if (!message.empty() && message[0] != '-')
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  while (!message.empty() && (message.back() == '\n' || message.back() == '.'))
    message.pop_back();
  return Status::wrongUsage(message);
}

/// Whether both name one file (or folder), by whatever path. Devices take what several write.
bool isSamePlace(const std::string &one, const std::string &other) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  if (fs::status(one, unknown).type() == fs::file_type::character)
    return false;
  fs::path first = fs::weakly_canonical(fs::absolute(one, unknown), unknown), second = fs::weakly_canonical(fs::absolute(other, unknown), unknown);
  return first == second || fs::equivalent(one, other, unknown);
}

/// What is written goes to places of its own, and over nothing that is read.
Status checkPlaces(const RunFlags &flags) {
  const TrainingOptions &training = flags.training;
  const std::pair<const char *, const std::string *> written[] = {{"--metrics", &training.metricsPath}, {"--trace", &training.tracePath},
                                                                   {"--export", &training.exportPath}, {"--predict", &training.predictPath},
                                                                   {"--flight-recorder", &flags.flightRecorder}},
                                                      read[] = {{"the program", &training.program}, {"--data", &training.data.path}};
  for (size_t i = 0; i < std::size(written); ++i) {
    auto [name, path] = written[i];
    if (path->empty())
      continue;
    for (size_t j = i + 1; j < std::size(written); ++j)
      if (auto [other, otherPath] = written[j]; !otherPath->empty() && isSamePlace(*path, *otherPath))
        return Status::wrongUsage(std::string(name) + " and " + other + " both name '" + *path + "'");
    for (auto [other, otherPath] : read)
      if (!otherPath->empty() && isSamePlace(*path, *otherPath))
        return Status::wrongUsage(std::string(name) + " would overwrite " + other + ", '" + *path + "'");
  }
  return {};
}

/// Flags that do not fit together are bad input, named by both sides.
Status checkTogether(const CLI::App &app, const RunFlags &flags) {
  if (flags.traces) {
    for (const CLI::Option *option : app.get_options()) {
      std::string name = option->get_name();
      if (option->count() && name != "--device" && name != "--steps" && name != "program")
        return Status::wrongUsage("--device=trace runs nothing: of the other flags it takes --steps alone, but " + name + " is given");
    }
    return {};
  }
  bool tokens = flags.training.data.format != DataFormat::Npz, length = flags.training.data.sequenceLength != 0;
  if (length && !tokens)
    return Status::badInput("--sequence-length is for token files (--data-format=bytes or u16), an .npz has its own shapes");
  if (tokens && !length)
    return Status::badInput("--data-format=" + app.get_option("--data-format")->results().front() +
                            " needs --sequence-length");
  if (flags.training.data.path.empty() && flags.training.predictPath.empty())
    return Status::wrongUsage("--data is required");
  if (!flags.training.metricsPath.empty() && !flags.training.trains())
    return Status::badInput("--metrics is of training steps; give --steps or --epochs beside --predict");
  if (flags.training.trains() && flags.training.data.path.empty())
    return Status::wrongUsage("--data is required to train");
  if (flags.ranks && flags.comm != CommKind::Loopback)
    return Status::badInput("--ranks is for --comm=loopback; of an MPI job mpirun -n says the number of ranks");
  if (flags.linkBytesPerSecond && flags.comm != CommKind::Loopback)
    return Status::badInput("--link-bytes-per-second is for --comm=loopback; the links of an MPI job are what they are");
  if (app.count("--shared-memory") && flags.comm == CommKind::Loopback)
    return Status::badInput("--shared-memory is for MPI jobs; the ranks of a loopback job are threads of one process");
  return checkPlaces(flags);
}

} // namespace

Expected<std::optional<RunFlags>> parseFlags(int argc, char **argv, std::string &output) {
  RunFlags flags;
  TrainingOptions &training = flags.training;
  CLI::App app("Trains a compiled program, or predicts with it: mpirun -n 2 zero-run compiled.bin --data train.npz", "zero-run");
  app.set_version_flag("--version", "zero-run " ZERO_VERSION);
  app.set_help_flag("--help,-h", "Print this and exit");
  app.allow_extras();

  const std::map<std::string, DataFormat> formats = {{"npz", DataFormat::Npz}, {"bytes", DataFormat::Bytes}, {"u16", DataFormat::U16}};
  const std::map<std::string, CommKind> comms = {{"nccl", CommKind::Nccl}, {"mpi", CommKind::Mpi}, {"loopback", CommKind::Loopback}};
  const std::map<std::string, OnNan> onNans = {{"stop", OnNan::Stop}, {"skip", OnNan::Skip}, {"ignore", OnNan::Ignore}};
  const std::map<std::string, std::optional<KernelOptions>> sets = {{"auto", {}},
                                                                    {"x86-64-v3", KernelOptions{CpuVariant::X86_64_V3, false}},
                                                                    {"x86-64-v4", KernelOptions{CpuVariant::X86_64_V4, false}},
                                                                    {"x86-64-v4-bf16", KernelOptions{CpuVariant::X86_64_V4, true}}};
  std::string isa = "auto", format = "npz", device, comm = "auto", onNan, sharedMemory = "auto", flightRecorder = "zero-flight-recorder";
  constexpr uint64_t kMost = uint64_t(1) << 62;

  app.add_option("program", training.program, "compiled.bin, as zero-compile writes it")
      ->type_name("FILE")->required();
  app.add_option("--data", training.data.path, "What to train on or predict from: an .npz with one array per input, or a file of tokens (required to train)")
      ->type_name("FILE");
  app.add_option("--data-format", format, "npz (default), or a file of tokens: bytes, u16 (little-endian)")
      ->type_name("npz|bytes|u16")->check(CLI::IsMember(formats).description(""));
  app.add_option("--sequence-length", training.data.sequenceLength, "Tokens of a sample of a token file (required there)")
      ->type_name("T")->check(CLI::Range(uint64_t(1), kMost).description(""));
  app.add_option("--steps", training.steps, "Steps to run (default: as long as the data last; none with --predict alone)")
      ->type_name("N")->check(CLI::Range(uint64_t(1), kMost).description(""));
  app.add_option("--epochs", training.epochs, "Passes over the data (default: 1); with --steps those that they need")
      ->type_name("N")->check(CLI::Range(uint64_t(1), kMost).description(""));
  CLI::Option *seed = app.add_option("--seed", training.data.seed, "Decides the order of a token file's samples (default: 0)")
      ->type_name("N");
  app.add_option("--on-nan", onNan,
                 "What a loss or gradient norm that is NaN or infinite does, on all ranks before the update: stop (exit 1, nothing is "
                 "updated; with fp16 only where the loss scale is at its least), skip (parameters and optimizer states keep their bits, "
                 "their step count does not advance, as with PyTorch's GradScaler; the data do; skipped_steps counts), ignore (update "
                 "with it; not with fp16) (default: skip where parameters are bf16 or fp16, else stop)")
      ->type_name("stop|skip|ignore")->check(CLI::IsMember(onNans).description(""));
  app.add_option("--metrics", training.metricsPath, "Write one JSON object a step (default: none)")->type_name("FILE.jsonl");
  app.add_option("--trace", training.tracePath, "Write what every queue did, for Perfetto or chrome://tracing (default: none)")
      ->type_name("FILE.json");
  app.add_option("--export", training.exportPath,
                 "Write the trained parameters by their ONNX names, or the model that was compiled with them in it (default: none)")
      ->type_name("FILE.safetensors|FILE.onnx");
  app.add_option("--predict", training.predictPath,
                 "Write the model's outputs for all samples of --data, by their ONNX names: of the weights as compiled, or with "
                 "--steps or --epochs after training (default: none)")
      ->type_name("OUT.npz");
  app.add_option("--device", device,
                 "cpu or cuda (default: what the program is compiled for), or trace: print what rank 0 would submit to its queues in "
                 "--steps steps (default: 1), without data, memory or other ranks. Of several GPUs a rank takes the one of its number "
                 "among the ranks of its machine; ZERO_CUDA_LIBRARY_PATH=DIR names where the driver, cuBLASLt and NCCL are loaded from "
                 "(default: where the system looks)")
      ->type_name("cpu|cuda|trace")->check(CLI::IsMember({"cpu", "cuda", "trace"}).description(""));
  app.add_option("--comm", comm,
                 "How ranks exchange: auto (default): nccl for programs of GPUs, else mpi; nccl: between GPUs, one for each rank, which mpirun "
                 "starts; mpi: between hosts, of GPUs through the host's memory, so that ranks may share one; loopback: the same with all "
                 "ranks as threads of this process")
      ->type_name("auto|nccl|mpi|loopback")->check(CLI::IsMember({"auto", "nccl", "mpi", "loopback"}).description(""));
  app.add_option("--ranks", flags.ranks, "Ranks of a loopback job (default: the program's world size)")
      ->type_name("N")->check(CLI::Range(1u, 4096u).description(""));
  app.add_option("--link-bytes-per-second", flags.linkBytesPerSecond,
                 "Lets the ranks of a loopback job wait as if each had a network link of that rate, in each direction, with a burst of "
                 "256 KiB: the same numbers, later (default: no link)")
      ->type_name("N")->check(CLI::Range(uint64_t(1), kMost).description(""));
  app.add_option("--shared-memory", sharedMemory,
                 "auto (default): MPI ranks of one machine read each other's memory in place; off: they exchange messages as over a "
                 "network, to the same numbers")
      ->type_name("auto|off")->check(CLI::IsMember({"auto", "off"}).description(""));
  app.add_option("--isa", isa,
                 "The instruction set that kernels use, which last bits depend on: auto (default), the most that the CPUs of all ranks "
                 "have; or exactly x86-64-v3 (AVX2), x86-64-v4 (AVX-512) or x86-64-v4-bf16 (with AVX512_BF16), so that other machines "
                 "compute the same. The first line printed and the metrics say which it is")
      ->type_name("auto|x86-64-v3|x86-64-v4|x86-64-v4-bf16")->check(CLI::IsMember(sets).description(""));
  app.add_option("--threads", training.threads, "Threads that share the kernels of a rank (default: 1)")
      ->type_name("N")->check(CLI::Range(1u, 1024u).description(""));
  CLI::Option *recorder = app.add_option("--flight-recorder", flightRecorder,
                 "Where DIR/rank-R.json is written for each rank when one is lost or stuck: its last 64 collectives with step, "
                 "parameter, bytes, times (default: zero-flight-recorder; none: nothing is written)")
      ->type_name("DIR");
  app.add_option("--timeout-seconds", flags.timeoutSeconds, "Longest wait for another rank (default: 60)")
      ->type_name("S")->check([](const std::string &text) {
        const double seconds = std::strtod(text.c_str(), nullptr);
        return seconds >= 0.001 && seconds <= 1e9 ? std::string() : "Value " + text + " not in range 0.001 to 1000000000"; // NaN is not
      }, "");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    output = app.help();
    return std::optional<RunFlags>();
  } catch (const CLI::CallForVersion &) {
    output = "zero-run " ZERO_VERSION "\n";
    return std::optional<RunFlags>();
  } catch (const CLI::ParseError &error) {
    return app.remaining_size() ? unknownArgument(app) : usageError(app, error);
  }
  if (app.remaining_size())
    return unknownArgument(app);
  training.data.format = formats.at(format);
  flags.traces = device == "trace";
  if (device == "cpu" || device == "cuda")
    training.device = device == "cuda" ? DeviceKind::Cuda : DeviceKind::Cpu;
  training.instructionSet = sets.at(isa);
  if (!onNan.empty())
    training.onNan = onNans.at(onNan);
  flags.sharedMemory = sharedMemory == "auto";
  flags.flightRecorder = flightRecorder == "none" ? "" : flightRecorder;
  flags.flightRecorderGiven = recorder->count() != 0 && !flags.flightRecorder.empty();
  if (comm != "auto")
    flags.comm = comms.at(comm);
  training.nccl = flags.comm == CommKind::Nccl;
  training.stagedChannels = flags.comm && !training.nccl;
  training.sharedMemoryGiven = app.count("--shared-memory") != 0;
  if (const std::string &path = training.exportPath;
      !path.empty() && !path.ends_with(".safetensors") && !path.ends_with(".onnx"))
    return Status::wrongUsage("--export=" + path + " ends neither in .safetensors nor in .onnx, which say what is written");
  ZERO_RETURN_IF_ERROR(checkTogether(app, flags));
  training.seedGiven = seed->count() != 0;
  return std::optional<RunFlags>(std::move(flags));
}

} // namespace zero
