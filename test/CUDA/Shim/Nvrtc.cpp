//===- Nvrtc.cpp - A simulated NVRTC --------------------------------------===//
//
// Compiles the very text of kernels for the host, into a shared object that the simulated driver loads: both as "cubin" and as "PTX".
// Objects are kept by what they are made of, since tests compile the same kernels often.
//
//===----------------------------------------------------------------------===//
#include "test/CUDA/Shim/KernelText.h"
#include "test/CUDA/Shim/Report.h"
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nvrtc.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

struct _nvrtcProgram {
  std::string source, name;
  std::string object, log;
  bool isText = false; ///< compiled for a virtual architecture: there is no cubin
};

namespace zero::shim {
namespace {

namespace fs = std::filesystem;

/// The headers that stand before every text.
constexpr const char *kHeaders[] = {"Emulation.h", "EmulationMath.h", "EmulationThreads.h", "EmulationTypes.h", "KernelObject.h"};
constexpr const char *kArchitectures[] = {"75", "80", "86", "87", "88", "89", "90", "100", "103", "110", "120", "121"};

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const fs::path &path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// Held by one thread of all processes at a time.
class FileLock {
public:
  explicit FileLock(const fs::path &path) : file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file >= 0)
      flock(file, LOCK_EX);
  }
  ~FileLock() {
    if (file >= 0)
      close(file);
  }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

private:
  int file;
};

/// FNV-1a: told apart by content, not secured against anybody.
std::string hashOf(std::initializer_list<std::string_view> parts) {
  uint64_t hashes[2] = {0xCBF29CE484222325, 0x84222325CBF29CE4};
  for (std::string_view part : parts) {
    for (char c : part)
      for (uint64_t &hash : hashes)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3 + (hash >> 61);
    for (uint64_t &hash : hashes)
      hash = (hash ^ 0x1FF) * 0x100000001B3;
  }
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hashes[0]), static_cast<unsigned long long>(hashes[1]));
  return text;
}

/// Runs a program; what it says goes to `log`.
bool runProgram(const std::vector<std::string> &words, const fs::path &log) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  pid_t child = 0;
  int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    writeFile(log, text(words[0], ": ", std::strerror(error)));
    return false;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// For tests of what finds missing barriers: ZERO_SHIM_DROP_BARRIER=N leaves out the Nth of a text.
bool dropBarrier(std::string &source, std::string &log) {
  constexpr std::string_view kBarrier = "__syncthreads();";
  const uint64_t wanted = numberSetting("ZERO_SHIM_DROP_BARRIER", 0);
  uint64_t count = 0;
  for (size_t at = 0; wanted && (at = source.find(kBarrier, at)) != std::string::npos; at += kBarrier.size())
    if (++count == wanted) {
      source.replace(at, kBarrier.size(), kBarrier.size(), ' ');
      source[at] = ';';
      return true;
    }
  log = text("ZERO_SHIM_DROP_BARRIER: the text has ", count, " barriers, not ", wanted);
  return !wanted;
}

struct Options {
  std::string architecture = "compute_75", standard = "c++17", contraction = "fast";
  std::vector<std::string> definitions;
  std::string unknown;
};

/// NVRTC's options, those that our compiler might pass.
Options parse(int count, const char *const *texts) {
  Options options;
  for (int i = 0; i < count; ++i) {
    std::string option = texts[i];
    auto value = [&](std::initializer_list<std::string_view> names) -> const char * {
      for (std::string_view name : names) {
        if (option.starts_with(std::string(name) + "="))
          return texts[i] + name.size() + 1;
        if (option == name && i + 1 < count)
          return texts[++i];
      }
      return nullptr;
    };
    if (const char *architecture = value({"--gpu-architecture", "-arch"}))
      options.architecture = architecture;
    else if (const char *standard = value({"--std", "-std"}))
      options.standard = standard;
    else if (const char *fused = value({"--fmad", "-fmad"}))
      options.contraction = std::string_view(fused) == "false" ? "off" : "fast";
    else if (option.starts_with("-D"))
      options.definitions.push_back(option);
    else if (const char *definition = value({"--define-macro"}))
      options.definitions.push_back(std::string("-D") + definition);
    else if (!value({"--ptxas-options", "-Xptxas"}) && option != "--device-int128" && option != "-device-int128" && option != "--generate-line-info" &&
             option != "-lineinfo" && option != "-default-device" && option != "--device-as-default-execution-space")
      options.unknown = option;
  }
  return options;
}

/// "900" of sm_90 and compute_90; empty for what is no architecture.
std::string architectureNumber(const std::string &architecture) {
  for (const char *number : kArchitectures)
    for (std::string kind : {"sm_", "compute_"})
      for (std::string suffix : {"", "a", "f"})
        if (architecture == kind + number + suffix)
          return std::string(number) + "0";
  return "";
}

fs::path cacheFolder() {
  if (std::string folder = setting("ZERO_SHIM_CACHE"); !folder.empty())
    return folder;
  return fs::temp_directory_path() / "zero-shim-cache";
}

/// Where this library and, beside it, the simulated driver lie.
fs::path ownFolder() {
  Dl_info info = {};
  dladdr(reinterpret_cast<const void *>(&ownFolder), &info);
  return fs::absolute(info.dli_fname).parent_path();
}

nvrtcResult compile(_nvrtcProgram &program, const Options &options) {
  if (!dropBarrier(program.source, program.log))
    return NVRTC_ERROR_INVALID_INPUT;
  std::string check = setting("ZERO_SHIM_CHECK");
  if (check.empty())
    check = ZERO_SHIM_DEFAULT_CHECK;
  if (check != "none" && check != "shared" && check != "thread")
    endProcess("ZERO_SHIM_CHECK", text("'", check, "' is neither none, shared nor thread"));

  std::vector<std::string> preprocess = {ZERO_SHIM_COMPILER, "-x", "c++", "-E", "-nostdinc", "-nostdinc++", "-std=" + options.standard, "-include", ZERO_SHIM_HEADERS "/Emulation.h"};
  // A text that does not ask is the same for all architectures, and compiled once; the headers do not.
  if (program.source.find("__CUDA_ARCH__") != std::string::npos)
    preprocess.push_back("-D__CUDA_ARCH__=" + architectureNumber(options.architecture));
  preprocess.insert(preprocess.end(), options.definitions.begin(), options.definitions.end());

  // AVX2 and FMA, as the host's own kernels need; fmaf is then one instruction.
  std::vector<std::string> build = {ZERO_SHIM_COMPILER, "-x", "c++-cpp-output", "-std=" + options.standard, "-march=x86-64-v3", "-fPIC", "-shared",
                                    "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-strict-aliasing", "-fno-stack-protector", "-fcf-protection=none",
                                    "-ffp-contract=" + options.contraction, "-fvisibility=hidden", "-fuse-ld=lld", "-w",
                                    // Vector types that are not aligned, and arrays of known size.
                                    "-fsanitize=alignment,array-bounds,integer-divide-by-zero", "-fsanitize-trap=all"};
  if (check == "shared")
    // As ThreadSanitizer sees accesses; EmulationChecks.h says what is done with them. Vectors would hide some.
    for (const char *option : {"-O1", "-fsanitize=thread", "-fno-vectorize", "-fno-slp-vectorize", "-fno-sanitize-link-runtime"})
      build.push_back(option);
  else if (check == "thread")
    for (const char *option : {"-O1", "-gline-tables-only", "-fsanitize=thread", "-fno-sanitize-link-runtime"})
      build.push_back(option);
  else
    build.push_back("-O2");
  if (check == "shared")
    preprocess.insert(preprocess.end(), {"-include", ZERO_SHIM_HEADERS "/EmulationChecks.h"});

  std::string flags, headers = contentOf(ZERO_SHIM_HEADERS "/EmulationChecks.h");
  for (const auto *words : {&preprocess, &build})
    for (const std::string &word : *words)
      flags += word + "\n";
  for (const char *header : kHeaders)
    headers += contentOf(fs::path(ZERO_SHIM_HEADERS) / header);
  std::error_code error;
  const fs::path cache = cacheFolder(), object = cache / (hashOf({flags, headers, program.source, ZERO_SHIM_VERSION}) + ".so");
  auto find = [&] {
    program.object = contentOf(object);
    if (program.object.empty())
      return false;
    setArchitecture(program.object, options.architecture);
    return true;
  };
  if (find())
    return NVRTC_SUCCESS;
  fs::create_directories(cache, error);
  // The threads of a compiler ask for all architectures at once: one of them compiles.
  FileLock lock(fs::path(object).replace_extension(".lock"));
  if (find())
    return NVRTC_SUCCESS;
  std::string temporary = (cache / "compile-XXXXXX").string();
  if (!mkdtemp(temporary.data())) {
    program.log = text("cannot write into ", cache.string(), ": ", std::strerror(errno));
    return NVRTC_ERROR_COMPILATION;
  }
  const fs::path folder = temporary, log = folder / "log", source = folder / program.name, plain = folder / "plain.ii", rewritten = folder / "host.ii",
                 made = folder / "kernels.so";
  writeFile(source, program.source);
  preprocess.insert(preprocess.end(), {source.string(), "-o", plain.string()});
  bool done = runProgram(preprocess, log);
  if (done) {
    writeFile(rewritten, hostText(contentOf(plain), check == "shared"));
    build.insert(build.end(), {rewritten.string(), "-o", made.string(), "-x", "none", (ownFolder() / "libcuda.so.1").string(), "-lm"});
    done = runProgram(build, log);
  }
  program.log = contentOf(log);
  if (done) {
    // Nobody sees half a file.
    fs::rename(made, object, error);
    done = find();
  }
  if (setting("ZERO_SHIM_KEEP").empty())
    fs::remove_all(folder, error);
  return done ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

} // namespace
} // namespace zero::shim

using namespace zero::shim;

nvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = CUDA_VERSION / 1000;
  *minor = CUDA_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  *count = static_cast<int>(std::size(kArchitectures));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *architectures) {
  for (size_t i = 0; i < std::size(kArchitectures); ++i)
    architectures[i] = std::atoi(kArchitectures[i]);
  return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
  case NVRTC_SUCCESS:
    return "NVRTC_SUCCESS";
  case NVRTC_ERROR_OUT_OF_MEMORY:
    return "NVRTC_ERROR_OUT_OF_MEMORY";
  case NVRTC_ERROR_INVALID_INPUT:
    return "NVRTC_ERROR_INVALID_INPUT";
  case NVRTC_ERROR_INVALID_PROGRAM:
    return "NVRTC_ERROR_INVALID_PROGRAM";
  case NVRTC_ERROR_INVALID_OPTION:
    return "NVRTC_ERROR_INVALID_OPTION";
  case NVRTC_ERROR_COMPILATION:
    return "NVRTC_ERROR_COMPILATION";
  default:
    return "NVRTC_ERROR_INTERNAL_ERROR";
  }
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headerCount, const char *const *, const char *const *) {
  if (injectedFailure("nvrtcCreateProgram"))
    return NVRTC_ERROR_OUT_OF_MEMORY;
  if (!program || !source || headerCount)
    return NVRTC_ERROR_INVALID_INPUT;
  std::string file = name && *name ? std::filesystem::path(name).filename().string() : "default_program";
  *program = new _nvrtcProgram{source, file, "", "", false};
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  if (!program || !*program)
    return NVRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *texts) {
  if (!program)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (injectedFailure("nvrtcCompileProgram"))
    return NVRTC_ERROR_INTERNAL_ERROR;
  Options options = parse(count, texts);
  if (!options.unknown.empty() || architectureNumber(options.architecture).empty()) {
    program->log = options.unknown.empty() ? text("unknown architecture '", options.architecture, "'") : text("unknown option '", options.unknown, "'");
    return NVRTC_ERROR_INVALID_OPTION;
  }
  program->isText = options.architecture.starts_with("compute_");
  return compile(*program, options);
}

static nvrtcResult give(const std::string &bytes, char *to) {
  std::memcpy(to, bytes.data(), bytes.size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
  if (!program)
    return NVRTC_ERROR_INVALID_PROGRAM;
  *size = program->isText ? 0 : program->object.size();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
  if (!program || program->isText || program->object.empty())
    return NVRTC_ERROR_INVALID_PROGRAM;
  return give(program->object, cubin);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
  if (!program || program->object.empty())
    return NVRTC_ERROR_INVALID_PROGRAM;
  *size = program->object.size();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
  return program && !program->object.empty() ? give(program->object, ptx) : NVRTC_ERROR_INVALID_PROGRAM;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
  if (!program)
    return NVRTC_ERROR_INVALID_PROGRAM;
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
  if (!program)
    return NVRTC_ERROR_INVALID_PROGRAM;
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}
