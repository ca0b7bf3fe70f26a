//===- CudnnEngines.cpp - Which of cuDNN's engines runs a graph -----------===//
#include "lib/Runtime/Kernels/CUDA/CudnnEngines.h"
#include <algorithm>
#include <map>

using namespace zero;
using namespace zero::kernels;

namespace {

/// Why an engine with this note is not taken; null where it may be.
const char *refusalOf(cudnnBackendNumericalNote_t note, const CudnnPermissions &permissions) {
  switch (note) {
  case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    return permissions.isFloat32 && !permissions.tf32 ? "round float32 to TF32" : nullptr;
  case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: // to types that are narrower than TF32
    return "round their operands to a narrower type";
  case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    return permissions.fast ? nullptr : "round partial sums";
  case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
    return permissions.fast ? nullptr : "add in any order";
  case CUDNN_NUMERICAL_NOTE_FFT:
    return permissions.fast ? nullptr : "transform by FFT";
  case CUDNN_NUMERICAL_NOTE_WINOGRAD:
  case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
  case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
  case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
    return permissions.fast ? nullptr : "transform by Winograd's method";
  case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
    return nullptr;
  default:
    return "have a note on their numbers that this build does not know";
  }
}

/// The same of what it does besides; those of later versions change no numbers.
const char *refusalOf(cudnnBackendBehaviorNote_t note) {
  return note == CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER || note == CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER
             ? "take their operands in another order"
             : nullptr;
}

class Search {
public:
  Search(const CudnnTable &table, const CudnnDescriptor &graph, const CudnnTarget &target, const CudnnPermissions &permissions)
      : table(table), graph(graph), target(target), permissions(permissions) {}

  Expected<CudnnChoice> run() {
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      CudnnDescriptor heuristics(table, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
      if (!target.handle)
        heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties);
      if (!heuristics.finalize()) {
        if (!heuristics.isUnsupported())
          return heuristics.status();
        lastWords = heuristics.words();
        continue;
      }
      std::vector<CudnnDescriptor> configurations = heuristics.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      ZERO_RETURN_IF_ERROR(heuristics.status());
      count += configurations.size();
      std::vector<CudnnDescriptor *> compiled; // when they are built
      for (CudnnDescriptor &configuration : configurations) {
        ZERO_ASSIGN_OR_RETURN(Verdict verdict, judge(configuration));
        if (verdict == Verdict::Compiles)
          compiled.push_back(&configuration);
        if (verdict == Verdict::Allowed && build(configuration))
          return std::move(choice);
      }
      for (CudnnDescriptor *configuration : compiled) {
        ZERO_RETURN_IF_ERROR(judge(*configuration).status());
        if (build(*configuration))
          return std::move(choice);
      }
    }
    choice.refusal = refusal();
    return std::move(choice);
  }

private:
  enum class Verdict { Refused, Compiles, Allowed };

  /// Reads what its engine says of itself.
  Expected<Verdict> judge(CudnnDescriptor &configuration) {
    CudnnDescriptor engine(table, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    configuration.fill(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    ZERO_RETURN_IF_ERROR(configuration.status());
    // As many as this build knows, and some of later versions.
    constexpr int64_t kMostNotes = 64;
    choice.engine = engine.number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    choice.notes = engine.list<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, kMostNotes);
    const auto behaviors = engine.list<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, kMostNotes);
    ZERO_RETURN_IF_ERROR(engine.status());
    for (cudnnBackendNumericalNote_t note : choice.notes)
      if (const char *why = refusalOf(note, permissions)) {
        ++refused[why];
        return Verdict::Refused;
      }
    for (cudnnBackendBehaviorNote_t note : behaviors)
      if (const char *why = refusalOf(note)) {
        ++refused[why];
        return Verdict::Refused;
      }
    const bool compiles = std::find(behaviors.begin(), behaviors.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != behaviors.end();
    return compiles ? Verdict::Compiles : Verdict::Allowed;
  }

  /// Whether it builds, within the workspace; what heuristics rank need not.
  bool build(CudnnDescriptor &configuration) {
    CudnnDescriptor plan(table, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (target.handle) // before 9.8 plans had to be told
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
    else
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (!plan.finalize()) {
      ++refused["do not build"];
      lastWords = plan.words();
      return false;
    }
    choice.workspaceBytes = static_cast<uint64_t>(plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
    if (choice.workspaceBytes > permissions.workspaceBytes) {
      ++tooLarge;
      least = std::min(least, choice.workspaceBytes);
      return false;
    }
    choice.beforeBytes = tooLarge ? least : 0;
    choice.plan.emplace(std::move(plan));
    choice.configuration.emplace(std::move(configuration));
    return true;
  }

  std::string refusal() const {
    std::string text;
    auto add = [&](const std::string &words) { text += (text.empty() ? "of " + std::to_string(count) + " engine configurations " : ", ") + words; };
    for (const auto &[why, times] : refused)
      add(std::to_string(times) + " " + why);
    if (tooLarge)
      add(std::to_string(tooLarge) + " take more than " + std::to_string(permissions.workspaceBytes) + " bytes of workspace (at least " + std::to_string(least) + ")");
    if (text.empty())
      text = "there is none of any kind";
    return lastWords.empty() ? text : text + ": " + lastWords;
  }

  const CudnnTable &table;
  const CudnnDescriptor &graph;
  const CudnnTarget &target;
  const CudnnPermissions &permissions;
  CudnnChoice choice;
  std::map<std::string, size_t> refused;
  size_t count = 0, tooLarge = 0;
  uint64_t least = ~uint64_t{0};
  std::string lastWords;
};

} // namespace

std::string CudnnChoice::text() const {
  std::string text = "cudnn engine " + std::to_string(engine);
  constexpr std::pair<cudnnBackendNumericalNote_t, const char *> words[] = {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, " on tensor cores"},
                                                                            {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, " adding in any order"}};
  for (auto [note, word] : words)
    if (std::find(notes.begin(), notes.end(), note) != notes.end())
      text += word;
  text += ", " + std::to_string(workspaceBytes) + " bytes of workspace";
  return beforeBytes ? text + " (those ranked before it: at least " + std::to_string(beforeBytes) + ")" : text;
}

Expected<CudnnChoice> kernels::chooseCudnnEngine(const CudnnTable &table, const CudnnDescriptor &graph, const CudnnTarget &target,
                                                 const CudnnPermissions &permissions) {
  return Search(table, graph, target, permissions).run();
}
