//===- WriteTinyProgram.cpp - A program and data for tests of zero-run ----===//
//
// WriteTinyProgram DIR RANKS SAMPLES [uncounted | nan | nan-no-skip]: writes DIR/tiny.bin and DIR/tiny.npz. `uncounted`: no label counts;
// `nan`: the last sample holds a NaN; `nan-no-skip`: the program moreover does not say whether it held an update back.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Support/Archive.h"
#include "test/Unit/Support/TinyProgram.h"
#include <cstdlib>

using namespace zero;

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5)
    return 2;
  std::string folder = argv[1];
  uint32_t ranks = static_cast<uint32_t>(std::atoi(argv[2]));
  uint64_t samples = static_cast<uint64_t>(std::atoi(argv[3])), elements = 64 * ranks;
  std::string mode = argc == 5 ? argv[4] : "", x, y;
  for (uint64_t sample = 0; sample < samples; ++sample) {
    test::append<int64_t>(y, static_cast<int64_t>(sample % 10));
    for (uint64_t i = 0; i < elements; ++i)
      test::append(x, mode.starts_with("nan") && sample == samples - 1 ? std::nanf("") : test::tinySample(sample, i));
  }
  std::string count = std::to_string(samples);
  test::writeFile(folder + "/tiny.npz",
                  test::zip({{"x.npy", test::npy("<f4", count + ", " + std::to_string(elements), x)},
                             {"y.npy", test::npy("<i8", count + ",", y)}}));
  auto uncount = [&](schema::PlanT &plan) {
    if (mode == "uncounted")
      plan.sections[0]->commands[4]->action.AsDispatch()->integers.back() = 0;
    if (mode == "nan-no-skip")
      std::erase_if(plan.step_results, [](const auto &result) { return result->kind == "skipped"; });
  };
  return test::writeTinyProgram(folder + "/tiny.bin", ranks, ZERO_TINY_KERNELS, uncount).exitCode();
}
