//===- Container.cpp - Opens and reads a container ------------------------===//
#include "lib/Container/Format.h"
#include "lib/Container/Verifier.h"
#include "lib/Container/skeleton_generated.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zero {

struct Container::Impl {
  std::string path;
  int fd = -1;
  std::vector<Section> sections;
  std::vector<uint64_t> blocks;      ///< checksums of all blocks, section after section
  std::vector<uint64_t> firstBlocks; ///< of each section, into `blocks`
  std::string planBytes, skeletonBytes;

  ~Impl() {
    if (fd >= 0)
      ::close(fd);
  }
  Status corrupt(const std::string &what) const { return Status::badInput("'" + path + "' is damaged: " + what); }
  Status readAt(uint64_t offset, void *target, uint64_t size) const;
  Status readIndex();
  Status checkGaps(uint64_t indexEnd, uint64_t fileSize) const;
};

Status Container::Impl::readAt(uint64_t offset, void *target, uint64_t size) const {
  char *bytes = static_cast<char *>(target);
  while (size) {
    ssize_t count = ::pread(fd, bytes, std::min<uint64_t>(size, 1u << 30), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return Status::badInput("cannot read '" + path + "': " + std::strerror(errno));
    if (count == 0)
      return corrupt("it ends " + std::to_string(size) + " bytes early");
    bytes += count, offset += count, size -= count;
  }
  return {};
}

/// Reads header, table and block checksums; nothing in them is believed before their checksum fits.
Status Container::Impl::readIndex() {
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return Status::badInput("cannot read '" + path + "': " + std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return Status::badInput("'" + path + "' is not a file");
  uint64_t fileSize = static_cast<uint64_t>(info.st_size);
  format::Header header;
  if (fileSize < sizeof(header))
    return Status::badInput("'" + path + "' is not a compiled program: it has " + std::to_string(fileSize) +
                            " bytes, its header alone needs " + std::to_string(sizeof(header)));
  ZERO_RETURN_IF_ERROR(readAt(0, &header, sizeof(header)));
  if (std::memcmp(header.magic, format::kMagic, sizeof(header.magic)) != 0)
    return Status::badInput("'" + path + "' is not a compiled program (zero-compile writes them)");
  if (header.version != kContainerVersion)
    return Status::badInput("'" + path + "' has format version " + std::to_string(header.version) +
                            ", this program reads version " + std::to_string(kContainerVersion) +
                            ": compile it again");
  if (header.fileSize != fileSize)
    return corrupt("it has " + std::to_string(fileSize) + " bytes, its header says " +
                   std::to_string(header.fileSize));
  if (header.sectionCount > format::kMaxSections)
    return corrupt("its header says " + std::to_string(header.sectionCount) + " sections, at most " +
                   std::to_string(format::kMaxSections) + " are possible");
  uint64_t tableEnd = sizeof(header) + header.sectionCount * sizeof(format::Entry);
  if (tableEnd > fileSize)
    return corrupt("its section table is cut off");
  std::vector<format::Entry> table(header.sectionCount);
  ZERO_RETURN_IF_ERROR(readAt(sizeof(header), table.data(), table.size() * sizeof(format::Entry)));

  // Sizes decide how many block checksums there are; each is bounded by the file, so the sum cannot overflow.
  uint64_t blockCount = 0;
  for (const format::Entry &entry : table) {
    if (entry.size > fileSize)
      return corrupt("a section is larger than the file");
    blockCount += format::blocksOf(entry.size);
  }
  if (blockCount > (fileSize - tableEnd) / sizeof(uint64_t))
    return corrupt("its block checksums are cut off");
  blocks.resize(blockCount);
  ZERO_RETURN_IF_ERROR(readAt(tableEnd, blocks.data(), blockCount * sizeof(uint64_t)));

  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  uint64_t expected = header.indexChecksum;
  header.indexChecksum = 0;
  XXH3_64bits_update(&state, &header, sizeof(header));
  XXH3_64bits_update(&state, table.data(), table.size() * sizeof(format::Entry));
  XXH3_64bits_update(&state, blocks.data(), blockCount * sizeof(uint64_t));
  if (XXH3_64bits_digest(&state) != expected)
    return corrupt("the checksum of its section table does not fit");

  uint64_t indexEnd = tableEnd + blockCount * sizeof(uint64_t), end = indexEnd, block = 0;
  for (const format::Entry &entry : table) {
    if (entry.kind < static_cast<uint32_t>(SectionKind::Plan) || entry.kind > static_cast<uint32_t>(SectionKind::CudaSource))
      return corrupt("section kind " + std::to_string(entry.kind) + " is unknown");
    if (entry.alignment != kSectionAlignment || entry.offset != format::alignUp(end) || entry.offset > fileSize ||
        entry.size > fileSize - entry.offset)
      return corrupt("a section lies outside its place");
    if (entry.label[format::kLabelBytes - 1] != '\0')
      return corrupt("a section label has no end");
    sections.push_back({static_cast<SectionKind>(entry.kind), entry.label, entry.offset, entry.size, entry.checksum});
    uint64_t count = format::blocksOf(entry.size);
    if (format::checksum(blocks.data() + block, count * sizeof(uint64_t)) != entry.checksum)
      return corrupt("the checksum of section '" + sections.back().label + "' does not fit");
    firstBlocks.push_back(block);
    block += count;
    end = entry.offset + entry.size;
  }
  if (end != fileSize)
    return corrupt("its sections end at " + std::to_string(end) + ", the file at " + std::to_string(fileSize));
  return checkGaps(indexEnd, fileSize);
}

Status Container::Impl::checkGaps(uint64_t indexEnd, uint64_t fileSize) const {
  uint64_t end = indexEnd;
  char gap[kSectionAlignment];
  for (const Section &section : sections) {
    uint64_t size = section.offset - end;
    ZERO_RETURN_IF_ERROR(readAt(end, gap, size));
    if (std::any_of(gap, gap + size, [](char c) { return c != 0; }))
      return corrupt("bytes between sections are not zero");
    end = section.offset + section.size;
  }
  return {};
}

Container::Container(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Container::Container(Container &&) noexcept = default;
Container &Container::operator=(Container &&) noexcept = default;
Container::~Container() = default;

Expected<Container> Container::open(const std::string &path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // of a pipe nobody may ever open the other end
  if (impl->fd < 0)
    return Status::badInput("cannot open '" + path + "': " + std::strerror(errno));
  ZERO_RETURN_IF_ERROR(impl->readIndex());

  Container container(std::move(impl));
  ContainerSizes sizes;
  for (const Section &section : container.sections()) {
    if (container.find(section.kind, section.label) != &section)
      return container.impl->corrupt("it has two sections of kind " + std::to_string(static_cast<uint32_t>(section.kind)) +
                                     " labelled '" + section.label + "'");
    if (!section.label.empty())
      continue;
    if (section.kind == SectionKind::Weights)
      sizes.weights = section.size;
    if (section.kind == SectionKind::Frozen)
      sizes.frozen = section.size;
  }
  // Ranks read their own weights, which may be large, when they need them; of all else no byte is taken on trust, whoever reads it, and when.
  // The plan is read whole below.
  for (const Section &section : container.sections())
    if (section.kind != SectionKind::Weights && section.kind != SectionKind::Frozen && section.kind != SectionKind::Plan)
      ZERO_RETURN_IF_ERROR(container.check(section));
  const Section *plan = container.find(SectionKind::Plan);
  if (!plan)
    return container.impl->corrupt("it has no plan");
  ZERO_ASSIGN_OR_RETURN(container.impl->planBytes, container.read(*plan));
  if (Status status = verifyPlan(container.impl->planBytes, sizes); !status.ok())
    return status.annotate("'" + path + "' holds a plan that cannot run");
  if (const Section *skeleton = container.find(SectionKind::Model, "skeleton")) {
    const Section *bytes = container.find(SectionKind::Model, "bytes");
    sizes.modelBytes = bytes ? bytes->size : 0;
    ZERO_ASSIGN_OR_RETURN(container.impl->skeletonBytes, container.read(*skeleton));
    if (Status status = verifySkeleton(container.impl->skeletonBytes, container.plan(), sizes); !status.ok())
      return status.annotate("'" + path + "' holds a model that cannot be exported");
  }
  return container;
}

const schema::Plan &Container::plan() const { return *schema::GetPlan(impl->planBytes.data()); }
const schema::ModelSkeleton *Container::skeleton() const {
  return impl->skeletonBytes.empty() ? nullptr : schema::GetModelSkeleton(impl->skeletonBytes.data());
}
const std::vector<Container::Section> &Container::sections() const { return impl->sections; }
const std::string &Container::path() const { return impl->path; }

const Container::Section *Container::find(SectionKind kind, std::string_view label) const {
  for (const Section &section : impl->sections)
    if (section.kind == kind && section.label == label)
      return &section;
  return nullptr;
}

Status Container::check(const Section &section) const {
  std::string block;
  for (uint64_t offset = 0; offset < section.size; offset += block.size()) {
    block.resize(std::min(kChecksumBlock, section.size - offset));
    ZERO_RETURN_IF_ERROR(read(section, offset, block.data(), block.size()));
  }
  return {};
}

Expected<std::string> Container::read(const Section &section) const {
  std::string bytes(section.size, '\0');
  ZERO_RETURN_IF_ERROR(read(section, 0, bytes.data(), section.size));
  return bytes;
}

Status Container::read(const Section &section, uint64_t offset, void *target, uint64_t size) const {
  if (offset > section.size || size > section.size - offset)
    return Status::badInput("bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) +
                            " are not in section '" + section.label + "' of " + std::to_string(section.size) + " bytes");
  size_t index = 0;
  while (index < impl->sections.size() && impl->sections[index].offset != section.offset)
    ++index;
  if (index == impl->sections.size())
    return Status::badInput("'" + impl->path + "' has no section '" + section.label + "' at " +
                            std::to_string(section.offset));
  const uint64_t *checksums = impl->blocks.data() + impl->firstBlocks[index];
  char *bytes = static_cast<char *>(target);
  std::string scratch; // for blocks of which only a part was asked for
  for (uint64_t end = offset + size; offset < end;) {
    uint64_t block = offset / kChecksumBlock, blockStart = block * kChecksumBlock;
    uint64_t blockSize = std::min(kChecksumBlock, section.size - blockStart);
    uint64_t part = std::min(end, blockStart + blockSize) - offset;
    char *place = bytes;
    if (part != blockSize) {
      scratch.resize(blockSize);
      place = scratch.data();
    }
    ZERO_RETURN_IF_ERROR(impl->readAt(section.offset + blockStart, place, blockSize));
    if (format::checksum(place, blockSize) != checksums[block])
      return impl->corrupt("the checksum of bytes " + std::to_string(blockStart) + " to " +
                           std::to_string(blockStart + blockSize) + " of section '" + section.label + "' does not fit");
    if (place != bytes)
      std::memcpy(bytes, place + (offset - blockStart), part);
    bytes += part, offset += part;
  }
  return {};
}

uint64_t Container::fingerprint() const {
  std::vector<uint64_t> checksums;
  for (const Section &section : impl->sections)
    checksums.push_back(section.checksum);
  return format::checksum(checksums.data(), checksums.size() * sizeof(uint64_t));
}

} // namespace zero
