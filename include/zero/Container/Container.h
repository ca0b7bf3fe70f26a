//===- Container.h - The file compiled.bin: sections, checksums -----------===//
//
// Layout, little-endian: a 64-byte header (magic "ZEROBIN\0", format version, section count, file size, checksum of all
// that stands before the first section), the section table (kind, alignment, offset, size, checksum, label), the checksums
// of all sections' blocks, then the sections, each at a multiple of 4096 bytes; gaps hold zeroes.
//
// Sections are checksummed (XXH3-64) in blocks of 256 KiB, so that a rank checks what it reads and reads no more; the
// checksum of a section is that of its block checksums.
//
// Weights are rank-major: rank r's part is `rank_part_bytes` long and holds, bucket after bucket, the chunk of
// elements / world_size elements that rank r owns. A rank that holds all reads all parts.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_CONTAINER_CONTAINER_H
#define ZERO_CONTAINER_CONTAINER_H

#include "zero/Runtime/Base/Status.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero::schema {
struct Plan;
struct ModelSkeleton;
}

namespace zero {

/// What a section holds.
enum class SectionKind : uint32_t {
  Plan = 1,          ///< FlatBuffers, lib/Container/plan.fbs
  Weights = 2,       ///< parameters in rank-major order
  Frozen = 3,        ///< frozen tensors and constants, replicated
  KernelObject = 4,  ///< an ELF shared object; the label is the instruction-set variant ("x86-64-v3", "x86-64-v4")
  Config = 5,        ///< the effective configuration, JSON text
  Model = 6,         ///< the model without its weights: "skeleton" (FlatBuffers, lib/Container/skeleton.fbs) and "bytes"
  CudaBinary = 7,    ///< machine code of all CUDA kernels; the label is the architecture ("sm_90")
  CudaPtx = 8,       ///< the same as PTX, for later architectures ("compute_100")
  CudaSource = 9,    ///< the CUDA C++ that both were compiled from ("kernels.cu")
};

inline constexpr uint32_t kContainerVersion = 3;
inline constexpr uint64_t kSectionAlignment = 4096;
/// A checksum guards this many bytes of a section.
inline constexpr uint64_t kChecksumBlock = 256 * 1024;

/// What Container::open checks of the records of a plan: whoever writes them finds out before anything is written.
/// `weightsBytes` and `frozenBytes` are the sizes of the sections beside them.
Status verifyPlanRecords(std::string_view records, uint64_t weightsBytes, uint64_t frozenBytes);

/// Writes a container. Section bytes are produced while the file is written, so weights never lie whole in memory.
class ContainerWriter {
public:
  /// Receives the next bytes of a section.
  using Sink = std::function<void(const void *data, size_t size)>;
  /// Gives all bytes of a section, in order, to the sink.
  using Producer = std::function<Status(const Sink &)>;

  void addSection(SectionKind kind, std::string label, std::string bytes);
  void addSection(SectionKind kind, std::string label, uint64_t size, Producer producer);
  /// Writes to a temporary beside `path`, then renames. Fails with BadInput where the file cannot be written.
  Status write(const std::string &path);

private:
  struct Pending {
    SectionKind kind;
    std::string label;
    uint64_t size;
    Producer producer;
  };
  std::vector<Pending> sections;
};

/// A verified, open container. The plan is checked whole once (FlatBuffers structure, checksums, every id and range), and so are the
/// checksums of all sections but weights and frozen tensors, which are checked as they are read. Reads may come from several threads.
class Container {
public:
  struct Section {
    SectionKind kind;
    std::string label;
    uint64_t offset;
    uint64_t size;
    uint64_t checksum;
  };
  static Expected<Container> open(const std::string &path);
  Container(Container &&) noexcept;
  Container &operator=(Container &&) noexcept;
  ~Container();

  const schema::Plan &plan() const;
  /// The model without its weights, or null where the file has none.
  const schema::ModelSkeleton *skeleton() const;
  const std::vector<Section> &sections() const;
  /// The section of that kind and label, or null.
  const Section *find(SectionKind kind, std::string_view label = "") const;
  const std::string &path() const;
  /// The whole section, read and checked.
  Expected<std::string> read(const Section &section) const;
  /// `size` bytes at `offset` of the section, into `target`.
  Status read(const Section &section, uint64_t offset, void *target, uint64_t size) const;
  /// Reads the whole section and holds it against its checksums.
  Status check(const Section &section) const;
  /// XXH3-64 over all section checksums: equal files have equal fingerprints.
  uint64_t fingerprint() const;

private:
  struct Impl;
  explicit Container(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace zero

#endif
