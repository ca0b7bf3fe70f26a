//===- cuda_device.cpp - A GPU and how fast it copies its own memory ------===//
//
// zero-bench-cuda [--bytes N]: prints one JSON object: name, architecture, gpus, copy_bytes_per_second (read and written bytes of copies
// of N bytes, each timed by the device; the median of nine), other_device_bytes. N is 1 GiB unless said.
//
//===----------------------------------------------------------------------===//
#include "zero/Runtime/HAL/Stream.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace zero;

static Status measure(uint64_t bytes) {
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> gpus, findCudaDevices());
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<StreamDevice> device, createCudaDevice(0));
  ZERO_RETURN_IF_ERROR(device->bindThread());
  ZERO_ASSIGN_OR_RETURN(uint64_t otherBytes, device->usedBytes());
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<Arena> arena, device->allocate("device", 2 * bytes));
  Failure failure;
  std::unique_ptr<Queue> queue = device->createQueue({"compute", 16, /*onCallingThread=*/true, 0}, failure);
  std::vector<double> seconds;
  for (int round = 0; round < 10; ++round) {
    std::unique_ptr<TimeMark> begin = device->createTimeMark(), end = device->createTimeMark();
    ZERO_RETURN_IF_ERROR(begin->record(queue->stream()));
    ZERO_RETURN_IF_ERROR(device->copyAsync(arena->data() + bytes, arena->data(), bytes, queue->stream()));
    ZERO_RETURN_IF_ERROR(end->record(queue->stream()));
    if (!device->synchronize(queue->stream(), failure))
      return failure.status();
    ZERO_ASSIGN_OR_RETURN(double taken, end->secondsSince(*begin));
    if (round) // the first one warms up
      seconds.push_back(taken);
  }
  std::nth_element(seconds.begin(), seconds.begin() + 4, seconds.end());
  std::printf("{\"name\": \"%s\", \"architecture\": \"%s\", \"gpus\": %zu, \"copy_bytes_per_second\": %.0f, \"other_device_bytes\": %llu}\n",
              device->name().c_str(), device->architecture().c_str(), gpus.size(), 2.0 * static_cast<double>(bytes) / seconds[4],
              static_cast<unsigned long long>(otherBytes));
  return {};
}

int main(int argc, char **argv) {
  uint64_t bytes = uint64_t(1) << 30;
  if (argc == 3 && std::string(argv[1]) == "--bytes")
    bytes = std::strtoull(argv[2], nullptr, 10);
  else if (argc != 1) {
    std::fprintf(stderr, "usage: zero-bench-cuda [--bytes N]\n");
    return 2;
  }
  Status status = measure(bytes);
  if (!status.ok())
    std::fprintf(stderr, "zero-bench-cuda: %s\n", status.message().c_str());
  return status.exitCode();
}
