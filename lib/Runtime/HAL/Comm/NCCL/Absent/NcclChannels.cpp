//===- NcclChannels.cpp - What a build without CUDA says of NCCL ----------===//
#include "zero/Runtime/HAL/StreamChannel.h"

namespace zero {

Expected<std::unique_ptr<StreamChannels>> createNcclChannels(Bootstrap &, StreamDevice &, DeviceModule &, const StreamChannelOptions &) {
  return Status::badInput("this zero-run was built without CUDA, and so without NCCL");
}

} // namespace zero
