//===- Calibration.cpp - Rates of a machine, measured ---------------------===//
#include "zero/Analysis/Calibration.h"
#include "zero/Runtime/Base/JsonDepth.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Host.h"
#include <cmath>
#include <map>

using namespace llvm;

namespace zero {

//===----------------------------------------------------------------------===//
// Fit
//===----------------------------------------------------------------------===//

static double median(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

static bool isGenerated(const CommandSample &sample) { return sample.kind == "fused" || sample.kind == "update"; }
static int64_t movedBytes(const CommandSample &sample) { return sample.cost.bytesMoved; }
static int64_t wireBytes(const CommandSample &sample) { return sample.cost.wireBytes; }

/// Of what less than this moves, the command itself is what was measured.
constexpr int64_t kLittle = 1 << 16;

static void fitProducts(ArrayRef<CommandSample> samples, TargetRates &rates) {
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t, bool, bool>, std::vector<double>> shapes;
  std::vector<double> all;
  for (const CommandSample &sample : samples) {
    const ProductShape &s = sample.cost.product;
    if (sample.kind != "matmul" || sample.cost.flops == 0)
      continue;
    double rate = static_cast<double>(sample.cost.flops) / sample.seconds;
    shapes[{s.element, s.m, s.n, s.k, s.transposeLhs, s.transposeRhs}].push_back(rate);
    if (s.element == 0)
      all.push_back(rate);
  }
  for (auto &[key, found] : shapes) {
    auto [element, m, n, k, lhs, rhs] = key;
    rates.products.push_back({{element, m, n, k, lhs, rhs}, median(found)});
  }
  if (!all.empty())
    rates.productFlopsPerSecond = median(all);
}

/// A line through the samples that have least and most `bytes` (medians); through those that have most alone where that would begin below 0.
static void fitBytes(ArrayRef<const CommandSample *> found, llvm::function_ref<int64_t(const CommandSample &)> bytes, KernelRate &rate) {
  auto byBytes = [&](const CommandSample *a, const CommandSample *b) { return bytes(*a) < bytes(*b); };
  int64_t most = bytes(**llvm::max_element(found, byBytes)), least = bytes(**llvm::min_element(found, byBytes));
  auto secondsOf = [&](int64_t size) {
    std::vector<double> seconds;
    for (const CommandSample *sample : found)
      if (bytes(*sample) == size)
        seconds.push_back(sample->seconds);
    return median(std::move(seconds));
  };
  const double longest = secondsOf(most), shortest = secondsOf(least);
  rate.bytesPerSecond = static_cast<double>(most) / longest;
  if (least == most || longest <= shortest)
    return;
  const double slope = static_cast<double>(most - least) / (longest - shortest), begin = shortest - static_cast<double>(least) / slope;
  if (begin < 0)
    return;
  rate.bytesPerSecond = slope;
  rate.seconds = begin;
}

static void fitKernels(ArrayRef<CommandSample> samples, TargetRates &rates) {
  // Attention by its length; of the others the sample that moves most says what a large one reaches.
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const CommandSample *>> kernels;
  for (const CommandSample &sample : samples)
    if (!isGenerated(sample) && sample.kind != "matmul" && !sample.cost.wireBytes && movedBytes(sample) > 0)
      kernels[{sample.kind, sample.cost.element, sample.cost.length}].push_back(&sample);
  std::vector<double> attention;
  for (auto &[key, found] : kernels) {
    KernelRate rate;
    std::tie(rate.kind, rate.element, rate.length) = key;
    fitBytes(found, movedBytes, rate);
    int64_t most = 0;
    for (const CommandSample *sample : found)
      most = std::max(most, movedBytes(*sample));
    if (rate.length != 0 || StringRef(rate.kind).starts_with("conv")) { // computes
      std::vector<double> large;
      for (const CommandSample *sample : found)
        if (movedBytes(*sample) == most)
          large.push_back(static_cast<double>(sample->cost.flops) / sample->seconds);
      rate.flopsPerSecond = median(large);
      rate.bytesPerSecond = rate.seconds = 0;
      if (rate.length && rate.element == 0)
        attention.push_back(rate.flopsPerSecond);
    } else if (most <= kLittle) {
      continue;
    }
    rates.kernels.push_back(rate);
  }
  if (!attention.empty())
    rates.attentionFlopsPerSecond = median(attention);
}

/// Kernels that go down columns reach less of the memory, the longer the rows the less.
static void fitRowReductions(ArrayRef<CommandSample> samples, TargetRates &rates) {
  std::map<int64_t, std::vector<double>> byRow;
  for (const CommandSample &sample : samples)
    if (sample.kind == "fused" && sample.cost.length && movedBytes(sample) > kLittle)
      byRow[sample.cost.length].push_back(static_cast<double>(movedBytes(sample)) / sample.seconds);
  for (auto &[length, found] : byRow) {
    KernelRate rate;
    rate.kind = kRowReductions.str();
    rate.length = length;
    rate.bytesPerSecond = median(found);
    rates.kernels.push_back(rate);
  }
}

static void fitGenerated(ArrayRef<CommandSample> samples, TargetRates &rates) {
  int64_t most = 0;
  for (const CommandSample &sample : samples)
    if (sample.kind == "update")
      most = std::max(most, movedBytes(sample));
  std::vector<double> streams, least;
  std::array<std::vector<double>, kArithmeticKinds> seconds;
  auto share = [](const CommandSample &sample, unsigned kind) {
    return static_cast<double>(sample.cost.arithmetic[kind]) / std::max<double>(sum_of(sample.cost.arithmetic), 1);
  };
  constexpr double kMost = 0.22; // about one of four operations
  constexpr unsigned kPlain = static_cast<unsigned>(Arithmetic::Plain);
  for (const CommandSample &sample : samples) {
    if (sample.kind == "update" && movedBytes(sample) == most)
      streams.push_back(static_cast<double>(most) / sample.seconds);
    if (isGenerated(sample) && movedBytes(sample) < 1024)
      least.push_back(sample.seconds);
  }
  if (!streams.empty())
    rates.memoryBytesPerSecond = median(streams);
  if (!least.empty())
    rates.commandSeconds = median(least);
  // Little memory and much arithmetic: an element of what is read goes through many operations.
  auto computes = [](const CommandSample &sample) {
    return sample.kind == "fused" && !sample.cost.length && sum_of(sample.cost.arithmetic) >= 2 * movedBytes(sample) &&
           sample.cost.arithmetic[kPlain] >= (1 << 14);
  };
  for (const CommandSample &sample : samples)
    if (computes(sample) && share(sample, kPlain) > 0.9)
      seconds[kPlain].push_back(sample.seconds / static_cast<double>(sum_of(sample.cost.arithmetic)));
  double plain = seconds[kPlain].empty() ? 1 / rates.otherFlopsPerSecond : median(seconds[kPlain]);
  rates.elementSeconds.fill(plain);
  for (const CommandSample &sample : samples)
    for (unsigned kind = kPlain + 1; kind < kArithmeticKinds; ++kind)
      if (computes(sample) && share(sample, kind) > kMost)
        seconds[kind].push_back((sample.seconds - plain * static_cast<double>(sample.cost.arithmetic[kPlain])) /
                                static_cast<double>(sample.cost.arithmetic[kind]));
  for (unsigned kind = kPlain + 1; kind < kArithmeticKinds; ++kind)
    if (!seconds[kind].empty())
      rates.elementSeconds[kind] = std::max(median(seconds[kind]), plain);
}

/// A line over the bytes that are sent: of all collectives, and of each kind and element.
static void fitCollectives(ArrayRef<CommandSample> samples, TargetRates &rates) {
  std::map<std::pair<std::string, int64_t>, std::vector<const CommandSample *>> kinds;
  std::vector<const CommandSample *> all;
  for (const CommandSample &sample : samples)
    if (sample.cost.wireBytes) {
      kinds[{sample.kind, sample.cost.element}].push_back(&sample);
      if (sample.kind != kMessages)
        all.push_back(&sample);
    }
  for (auto &[key, found] : kinds) {
    KernelRate rate;
    std::tie(rate.kind, rate.element) = key;
    fitBytes(found, wireBytes, rate);
    if (llvm::any_of(found, [](const CommandSample *sample) { return wireBytes(*sample) > kLittle; }))
      rates.kernels.push_back(rate);
  }
  if (all.empty())
    return;
  rates.collectivesUseCore = true;
  KernelRate any;
  fitBytes(all, wireBytes, any);
  rates.collectiveSeconds = any.seconds;
  rates.wireBytesPerSecond = any.bytesPerSecond;
}

static void fitSlowdowns(ArrayRef<CommandSample> samples, int64_t sharedRanks, TargetRates &rates) {
  std::map<std::string, std::pair<double, double>> sums; // alone, beside other ranks
  for (const CommandSample &sample : samples)
    if (sample.sharedSeconds > 0) {
      sums[sample.kind].first += sample.seconds;
      sums[sample.kind].second += sample.sharedSeconds;
    }
  // What is measured less than 1 is chance.
  for (auto &[kind, seconds] : sums)
    rates.slowdowns[kind] = std::max(seconds.second / seconds.first, 1.0);
  rates.sharedRanks = sharedRanks;
}

TargetRates fitRates(ArrayRef<CommandSample> samples, StringRef machine, int64_t sharedRanks) {
  TargetRates rates = getTargetRates();
  rates.machine = machine.str();
  fitProducts(samples, rates);
  fitKernels(samples, rates);
  fitRowReductions(samples, rates);
  fitGenerated(samples, rates);
  fitCollectives(samples, rates);
  fitSlowdowns(samples, sharedRanks, rates);
  return rates;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static constexpr int64_t kFormatVersion = 2;

void writeRates(const TargetRates &rates, raw_ostream &os) {
  json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "zero-calibration");
    json.attribute("format_version", kFormatVersion);
    json.attribute("target", rates.target);
    json.attribute("machine", rates.machine);
    json.attribute("product_flops_per_second", rates.productFlopsPerSecond);
    json.attribute("attention_flops_per_second", rates.attentionFlopsPerSecond);
    json.attribute("memory_bytes_per_second", rates.memoryBytesPerSecond);
    json.attribute("wire_bytes_per_second", rates.wireBytesPerSecond);
    json.attribute("command_ns", rates.commandSeconds * 1e9);
    json.attribute("collective_ns", rates.collectiveSeconds * 1e9);
    json.attribute("collectives_use_core", rates.collectivesUseCore);
    json.attribute("shared_ranks", rates.sharedRanks);
    json.attributeObject("slowdowns", [&] {
      for (auto &[kind, factor] : rates.slowdowns)
        json.attribute(kind, factor);
    });
    json.attributeArray("products", [&] {
      for (const ProductRate &rate : rates.products)
        json.object([&] {
          json.attribute("element", rate.shape.element);
          json.attribute("m", rate.shape.m);
          json.attribute("n", rate.shape.n);
          json.attribute("k", rate.shape.k);
          json.attribute("transpose_lhs", rate.shape.transposeLhs);
          json.attribute("transpose_rhs", rate.shape.transposeRhs);
          json.attribute("flops_per_second", rate.flopsPerSecond);
        });
    });
    json.attributeArray("kernels", [&] {
      for (const KernelRate &rate : rates.kernels)
        json.object([&] {
          json.attribute("kind", rate.kind);
          json.attribute("element", rate.element);
          json.attribute("length", rate.length);
          if (rate.flopsPerSecond > 0)
            json.attribute("flops_per_second", rate.flopsPerSecond);
          else
            json.attribute("bytes_per_second", rate.bytesPerSecond);
          json.attribute("ns", rate.seconds * 1e9);
        });
    });
    json.attributeObject("elements_per_second", [&] {
      for (unsigned kind = 0; kind < kArithmeticKinds; ++kind)
        json.attribute(getArithmeticName(static_cast<Arithmetic>(kind)), 1 / rates.elementSeconds[kind]);
    });
  });
  os << "\n";
}

static bool fromJSON(const json::Value &value, ProductRate &rate, json::Path path) {
  json::ObjectMapper map(value, path);
  ProductShape &shape = rate.shape;
  return map && map.map("element", shape.element) && map.map("m", shape.m) && map.map("n", shape.n) && map.map("k", shape.k) &&
         map.map("transpose_lhs", shape.transposeLhs) && map.map("transpose_rhs", shape.transposeRhs) &&
         map.map("flops_per_second", rate.flopsPerSecond);
}

static bool fromJSON(const json::Value &value, KernelRate &rate, json::Path path) {
  json::ObjectMapper map(value, path);
  double nanoseconds = 0;
  bool read = map && map.map("kind", rate.kind) && map.map("element", rate.element) && map.map("length", rate.length) && map.map("ns", nanoseconds) &&
              map.mapOptional("flops_per_second", rate.flopsPerSecond) && map.mapOptional("bytes_per_second", rate.bytesPerSecond);
  rate.seconds = nanoseconds * 1e-9;
  return read;
}

Expected<TargetRates> parseRates(StringRef text) {
  if (isNestedTooDeeply(text))
    return createStringError(inconvertibleErrorCode(), "objects and arrays lie in each other more than " + Twine(kMostJsonLevels) + " deep");
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  json::Path::Root root("calibration");
  json::ObjectMapper map(*value, root);
  TargetRates rates = getTargetRates();
  std::string format;
  int64_t version = 0;
  double command = 0, collective = 0;
  std::map<std::string, double> elements;
  auto fail = [](const Twine &message) { return createStringError(inconvertibleErrorCode(), message); };
  if (!map || !map.map("format", format) || !map.map("format_version", version))
    return root.getError();
  if (format != "zero-calibration" || version != kFormatVersion)
    return fail("its format is '" + format + "' version " + Twine(version) + ", not 'zero-calibration' version " + Twine(kFormatVersion) +
                "; measure again with zero-compile --calibrate");
  if (!map.map("target", rates.target) || !map.map("machine", rates.machine) || !map.map("product_flops_per_second", rates.productFlopsPerSecond) ||
      !map.map("attention_flops_per_second", rates.attentionFlopsPerSecond) || !map.map("memory_bytes_per_second", rates.memoryBytesPerSecond) ||
      !map.map("wire_bytes_per_second", rates.wireBytesPerSecond) || !map.map("command_ns", command) || !map.map("collective_ns", collective) ||
      !map.map("collectives_use_core", rates.collectivesUseCore) || !map.map("shared_ranks", rates.sharedRanks) ||
      !map.map("slowdowns", rates.slowdowns) || !map.map("products", rates.products) || !map.map("kernels", rates.kernels) ||
      !map.map("elements_per_second", elements))
    return root.getError();
  if (rates.target != getTargetRates().target)
    return fail("it is of target '" + rates.target + "', not '" + getTargetRates().target + "'");
  if (rates.machine.empty())
    return fail("it names no machine");
  rates.commandSeconds = command * 1e-9;
  rates.collectiveSeconds = collective * 1e-9;
  auto positive = [](double rate) { return std::isfinite(rate) && rate > 0; };
  bool allPositive = positive(rates.productFlopsPerSecond) && positive(rates.attentionFlopsPerSecond) && positive(rates.memoryBytesPerSecond) &&
                     positive(rates.wireBytesPerSecond) && command >= 0 && collective >= 0;
  for (const ProductRate &rate : rates.products)
    allPositive &= positive(rate.flopsPerSecond);
  for (const KernelRate &rate : rates.kernels)
    allPositive &= positive(rate.flopsPerSecond) != positive(rate.bytesPerSecond) && rate.seconds >= 0;
  allPositive &= rates.sharedRanks > 0;
  for (auto &[kind, factor] : rates.slowdowns)
    allPositive &= positive(factor);
  for (unsigned kind = 0; kind < kArithmeticKinds; ++kind) {
    StringRef name = getArithmeticName(static_cast<Arithmetic>(kind));
    auto found = elements.find(name.str());
    if (found == elements.end())
      return fail("elements_per_second has no '" + name + "'");
    allPositive &= positive(found->second);
    rates.elementSeconds[kind] = 1 / found->second;
  }
  if (!allPositive)
    return fail("a rate is not above 0");
  return rates;
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

std::string describeMachine() {
  std::string name = "unknown CPU";
  // Of a file of /proc the size is not known before it is read.
  if (auto text = MemoryBuffer::getFileAsStream("/proc/cpuinfo"))
    for (line_iterator line(**text); !line.is_at_end(); ++line)
      if (line->starts_with("model name")) {
        name = line->split(':').second.trim().str();
        break;
      }
  StringMap<bool> features = sys::getHostCPUFeatures();
  bool wide = features.lookup("avx512f") && features.lookup("avx512bw") && features.lookup("avx512dq") && features.lookup("avx512vl");
  return name + (wide ? ", x86-64-v4" : ", x86-64-v3");
}

std::string getCalibrationPath() {
  SmallString<128> path;
  if (std::optional<std::string> cache = sys::Process::GetEnv("XDG_CACHE_HOME"); cache && !cache->empty())
    path = *cache;
  else if (!sys::path::home_directory(path))
    return "";
  else
    sys::path::append(path, ".cache");
  std::string name;
  for (char each : describeMachine())
    name += isAlnum(each) ? static_cast<char>(toLower(each)) : '-';
  sys::path::append(path, "zero", "calibration-" + name + ".json");
  return std::string(path);
}

} // namespace zero
