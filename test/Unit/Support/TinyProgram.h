//===- TinyProgram.h - TinyPlan.h as a compiled.bin, and its data ---------===//
#ifndef ZERO_TEST_UNIT_SUPPORT_TINYPROGRAM_H
#define ZERO_TEST_UNIT_SUPPORT_TINYPROGRAM_H

#include "test/Unit/Support/TinyPlan.h"
#include "zero/Container/ModelSkeleton.h"
#include <cmath>

namespace zero::test {

inline float tinyWeight(uint64_t i) { return 0.25f * static_cast<float>(i % 7) - 0.5f; }
inline float tinySample(uint64_t sample, uint64_t i) { return std::sin(static_cast<float>(sample * 31 + i)); }

/// Writes the program for that many ranks; `damage` may change the plan first. `model`: what it is exported as.
inline Status writeTinyProgram(const std::string &path, uint32_t ranks, const std::string &kernelObject,
                               const std::function<void(schema::PlanT &)> &damage = {},
                               const ModelSkeleton *model = nullptr) {
  TinyPlan tiny = makeTinyPlan(ranks);
  if (damage)
    damage(tiny.plan);
  std::string weights(tiny.elements * 4, '\0');
  for (uint64_t i = 0; i < tiny.elements; ++i) {
    float value = tinyWeight(i);
    std::memcpy(weights.data() + 4 * i, &value, 4);
  }
  ContainerWriter writer;
  writer.addSection(SectionKind::Plan, "", serialize(tiny.plan));
  writer.addSection(SectionKind::Weights, "", weights);
  if (model)
    model->addTo(writer);
  writer.addSection(SectionKind::KernelObject, "x86-64-v3", readFile(kernelObject));
  writer.addSection(SectionKind::Config, "", "{\"steps_per_print\": 2}");
  return writer.write(path);
}

/// The bytes of an .npy file.
inline std::string npy(const std::string &type, const std::string &shape, const std::string &data) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

} // namespace zero::test

#endif
