//===- Writer.cpp - Writes a container, sections streamed -----------------===//
#include "lib/Container/Format.h"
#include "zero/Runtime/Base/OutputFile.h"

namespace zero {
namespace {

/// Writes the bytes of one section and checksums them block by block.
class SectionStream {
public:
  SectionStream(OutputFile &file, uint64_t offset, uint64_t *blocks) : file(file), offset(offset), blocks(blocks) {
    XXH3_64bits_reset(&state);
  }

  Status append(const void *data, size_t size, uint64_t expected) {
    if (size > expected - written)
      return Status::programFailed("the section gives more than its " + std::to_string(expected) + " bytes");
    ZERO_RETURN_IF_ERROR(file.writeAt(offset + written, data, size));
    const char *bytes = static_cast<const char *>(data);
    while (size) {
      uint64_t room = kChecksumBlock - written % kChecksumBlock;
      size_t part = static_cast<size_t>(std::min<uint64_t>(room, size));
      XXH3_64bits_update(&state, bytes, part);
      bytes += part, size -= part, written += part;
      if (written % kChecksumBlock == 0)
        closeBlock();
    }
    return {};
  }

  Status finish(uint64_t expected) {
    if (written != expected)
      return Status::programFailed("the section gave " + std::to_string(written) + " of its " +
                                   std::to_string(expected) + " bytes");
    if (written % kChecksumBlock != 0)
      closeBlock();
    return {};
  }

private:
  void closeBlock() {
    *blocks++ = XXH3_64bits_digest(&state);
    XXH3_64bits_reset(&state);
  }

  OutputFile &file;
  uint64_t offset;
  uint64_t *blocks;
  uint64_t written = 0;
  XXH3_state_t state;
};

} // namespace

void ContainerWriter::addSection(SectionKind kind, std::string label, std::string bytes) {
  uint64_t size = bytes.size();
  addSection(kind, std::move(label), size, [bytes = std::move(bytes)](const Sink &sink) {
    sink(bytes.data(), bytes.size());
    return Status();
  });
}

void ContainerWriter::addSection(SectionKind kind, std::string label, uint64_t size, Producer producer) {
  sections.push_back({kind, std::move(label), size, std::move(producer)});
}

Status ContainerWriter::write(const std::string &path) {
  if (sections.size() > format::kMaxSections)
    return Status::programFailed("a container holds at most " + std::to_string(format::kMaxSections) +
                                 " sections, not " + std::to_string(sections.size()));
  ZERO_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::create(path));

  uint64_t blockCount = 0;
  for (const Pending &section : sections)
    blockCount += format::blocksOf(section.size);
  std::vector<uint64_t> blocks(blockCount);
  std::vector<format::Entry> table(sections.size());
  uint64_t end = sizeof(format::Header) + table.size() * sizeof(format::Entry) + blocks.size() * sizeof(uint64_t);

  uint64_t *nextBlock = blocks.data();
  for (size_t i = 0; i < sections.size(); ++i) {
    const Pending &section = sections[i];
    if (section.label.size() >= format::kLabelBytes)
      return Status::programFailed("section label '" + section.label + "' is longer than " +
                                   std::to_string(format::kLabelBytes - 1) + " bytes");
    format::Entry &entry = table[i];
    entry = {};
    entry.kind = static_cast<uint32_t>(section.kind);
    entry.alignment = static_cast<uint32_t>(kSectionAlignment);
    entry.offset = format::alignUp(end);
    entry.size = section.size;
    // The file reaches to where its last section begins, though that be empty.
    if (section.size == 0 && entry.offset > end)
      ZERO_RETURN_IF_ERROR(file->writeAt(entry.offset - 1, "", 1));
    std::memcpy(entry.label, section.label.data(), section.label.size());

    SectionStream stream(*file, entry.offset, nextBlock);
    Status streamed;
    Status produced = section.producer([&](const void *data, size_t size) {
      if (streamed.ok())
        streamed = stream.append(data, size, section.size);
    });
    ZERO_RETURN_IF_ERROR(produced);
    if (streamed.ok())
      streamed = stream.finish(section.size);
    if (!streamed.ok())
      return streamed.code() == ErrorCode::BadInput ? streamed : streamed.annotate("section '" + section.label + "'");
    uint64_t count = format::blocksOf(section.size);
    entry.checksum = format::checksum(nextBlock, count * sizeof(uint64_t));
    nextBlock += count;
    end = entry.offset + entry.size;
  }

  format::Header header = {};
  std::memcpy(header.magic, format::kMagic, sizeof(header.magic));
  header.version = kContainerVersion;
  header.sectionCount = static_cast<uint32_t>(sections.size());
  header.fileSize = end;
  std::string index(sizeof(header), '\0');
  std::memcpy(index.data(), &header, sizeof(header));
  index.append(reinterpret_cast<const char *>(table.data()), table.size() * sizeof(format::Entry));
  index.append(reinterpret_cast<const char *>(blocks.data()), blocks.size() * sizeof(uint64_t));
  header.indexChecksum = format::checksum(index.data(), index.size());
  std::memcpy(index.data(), &header, sizeof(header));
  ZERO_RETURN_IF_ERROR(file->writeAt(0, index.data(), index.size()));
  return file->commit();
}

} // namespace zero
