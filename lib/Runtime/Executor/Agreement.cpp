//===- Agreement.cpp - Ranks that were started alike ----------------------===//
#include "lib/Runtime/Executor/Agreement.h"
#include "zero/Runtime/Executor/Executor.h"
#include <algorithm>
#include <filesystem>

namespace zero {
namespace {

/// Something that must be the same on all ranks, and how a message says what this rank has.
struct Claim {
  std::string value, words;
};

std::string pack(const std::vector<Claim> &claims) {
  std::string bytes;
  for (const Claim &claim : claims)
    bytes += claim.value + '\0' + claim.words + '\0';
  return bytes;
}

std::vector<Claim> unpack(const std::string &bytes) {
  std::vector<Claim> claims;
  for (size_t at = 0; at < bytes.size();) {
    Claim &claim = claims.emplace_back();
    for (std::string *part : {&claim.value, &claim.words}) {
      *part = bytes.c_str() + at;
      at += part->size() + 1;
    }
  }
  return claims;
}

/// The first claim in which a rank differs from rank 0 becomes the error of all ranks: "rank 0 has A, rank 2 has B" + `advice`.
Status agreeOn(const std::vector<Claim> &mine, Bootstrap &bootstrap, const std::string &advice) {
  ZERO_ASSIGN_OR_RETURN(std::vector<std::string> all, bootstrap.allGather(pack(mine)));
  std::vector<Claim> first = unpack(all.front());
  for (size_t rank = 1; rank < all.size(); ++rank) {
    std::vector<Claim> other = unpack(all[rank]);
    for (size_t i = 0; i < std::min(first.size(), other.size()); ++i)
      if (first[i].value != other[i].value)
        return bootstrap.agree(Status::badInput("rank 0 has " + first[i].words + ", rank " + std::to_string(rank) + " has " +
                                                other[i].words + advice));
  }
  return {};
}

Claim number(const std::string &flag, uint64_t value) {
  std::string text = std::to_string(value);
  return {text, value ? flag + "=" + text : "no " + flag};
}

/// Which file it is may differ from machine to machine; that there is one may not.
Claim given(const std::string &flag, const std::string &path) {
  return {path.empty() ? "0" : "1", path.empty() ? "no " + flag : flag};
}

std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace

Status agreeOnFlags(const TrainingOptions &options, Bootstrap &bootstrap) {
  const DataOptions &data = options.data;
  std::string format = data.format == DataFormat::Npz ? "npz" : data.format == DataFormat::Bytes ? "bytes" : "u16";
  const std::string onNan = !options.onNan                    ? ""
                            : *options.onNan == OnNan::Stop ? "stop"
                            : *options.onNan == OnNan::Skip ? "skip"
                                                            : "ignore";
  const std::string device = !options.device ? "" : *options.device == DeviceKind::Cuda ? "cuda" : "cpu";
  const std::string comm = options.nccl ? "nccl" : options.stagedChannels ? "mpi" : ""; // loopback ranks share their flags
  const std::string isa = options.instructionSet ? instructionSetName(*options.instructionSet) : "auto";
  return agreeOn({given("--data", data.path),
                  {device, device.empty() ? "no --device" : "--device=" + device},
                  {comm, comm.empty() ? "no --comm" : "--comm=" + comm},
                  {format, "--data-format=" + format},
                  number("--sequence-length", data.sequenceLength),
                  {std::to_string(data.seed), "--seed=" + std::to_string(data.seed)},
                  {onNan, onNan.empty() ? "no --on-nan" : "--on-nan=" + onNan},
                  {isa, "--isa=" + isa},
                  number("--steps", options.steps),
                  number("--epochs", options.epochs),
                  given("--predict", options.predictPath),
                  given("--export", options.exportPath),
                  given("--metrics", options.metricsPath),
                  given("--trace", options.tracePath)},
                 bootstrap, "; start all ranks with the same flags");
}

Status agreeOnProgram(const Container &container, Bootstrap &bootstrap) {
  std::string fingerprint = hexadecimal(container.fingerprint());
  return agreeOn({{fingerprint, "'" + container.path() + "' with fingerprint " + fingerprint}}, bootstrap,
                 "; start all ranks with the same program");
}

Status agreeOnData(const DataOptions &options, const DataSet &data, uint64_t fingerprint, Bootstrap &bootstrap) {
  std::error_code failure; // a size that cannot be found out says nothing
  uint64_t bytes = std::filesystem::file_size(options.path, failure);
  std::string size = std::to_string(data.samples()) + " samples in " + (failure ? "?" : std::to_string(bytes)) + " bytes";
  const std::string checksum = hexadecimal(fingerprint), path = "'" + options.path + "' with ";
  return agreeOn({{size, path + size}, {checksum, path + "checksum " + checksum}}, bootstrap, "; start all ranks with the same data");
}

} // namespace zero
