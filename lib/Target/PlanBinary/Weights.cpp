//===- Weights.cpp - The bytes that states start from ---------------------===//
#include "Weights.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "dialects/Zero/ZeroOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "zero/Analysis/ElementTypes.h"
#include "zero/Analysis/PlanMemory.h"
#include "zero/Target/PlanBinary.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;

namespace zero::planbinary {

/// Bytes that are in memory at once, of a file or of padding.
static constexpr size_t kBlockBytes = 1 << 20;
/// Frozen tensors start at multiples of this many bytes.
static constexpr uint64_t kFrozenAlignment = 64;

bool isLone(plan::StateOp state) {
  std::optional<nn::RoleKind> role = nn::symbolizeRoleKind(state.getRole());
  return role && (*role == nn::RoleKind::Frozen || nn::isStateScalarRole(*role));
}

/// Where the data fit neither the state's type nor one that is rounded to it, openTensor says so.
static Type getWeightsElement(Attribute data, RankedTensorType type) {
  Type element = nn::getDataElement(data, type);
  return element ? element : type.getElementType();
}

/// A frozen tensor's data lie in the file as the model has them.
static Expected<WeightTensor> makeLone(plan::StateOp state) {
  WeightTensor tensor{state.getName().empty() ? state.getRole().str() : state.getName().str(), state.getDataAttr(), 0, 0, {}};
  if (!tensor.data)
    return Status::programFailed("frozen tensor '" + tensor.name + "' has no data");
  tensor.bytes = state.getSlice().getSize();
  if (std::optional<Type> element = state.getElement()) {
    const int64_t elements = state.getSlice().getSize() / getElementBytes(*element);
    tensor.element = getWeightsElement(tensor.data, RankedTensorType::get({elements}, *element));
    tensor.bytes = elements * getElementBytes(tensor.element);
  }
  return tensor;
}

Expected<WeightsLayout> computeWeightsLayout(ModuleOp module) {
  WeightsLayout layout;
  layout.worldSize = getWorldSize(module);
  llvm::StringMap<plan::StateOp> parameters;
  for (auto state : module.getOps<plan::StateOp>()) {
    if (state.getRole() == "parameter") {
      parameters[state.getName()] = state;
    } else if (isLone(state)) {
      ZERO_ASSIGN_OR_RETURN(WeightTensor tensor, makeLone(state));
      layout.frozenBytes = (layout.frozenBytes + kFrozenAlignment - 1) / kFrozenAlignment * kFrozenAlignment;
      tensor.offset = layout.frozenBytes;
      layout.frozenBytes += tensor.bytes;
      layout.frozen.push_back(std::move(tensor));
    }
  }
  for (auto op : module.getOps<sharding::BucketOp>()) {
    WeightBucket bucket;
    bucket.name = op.getSymName().str();
    plan::StateOp state = parameters.lookup(op.getSymName());
    auto data = state ? dyn_cast_or_null<ArrayAttr>(state.getDataAttr()) : ArrayAttr();
    if (!data || data.size() != op.getSlots().size())
      return Status::programFailed("bucket '" + bucket.name + "' has " +
                                   std::to_string(op.getSlots().size()) + " parameters and data of " +
                                   std::to_string(data ? data.size() : 0));
    for (auto [slot, from] : llvm::zip(op.getSlots().getAsRange<sharding::SlotAttr>(), data)) {
      Type element = getWeightsElement(from, RankedTensorType::get(slot.getShape(), op.getElement()));
      if (bucket.element && element != bucket.element)
        return Status::programFailed("bucket '" + bucket.name + "' has parameters whose data differ in type: '" +
                                     bucket.tensors.front().name + "' " + llvm::formatv("{0}", bucket.element).str() + " and '" +
                                     slot.getName().str() + "' " + llvm::formatv("{0}", element).str());
      bucket.element = element;
      uint64_t elementBytes = getElementBytes(element);
      bucket.tensors.push_back({slot.getName().str(), from, slot.getOffset() * elementBytes,
                                slot.getNumElements() * elementBytes, element});
    }
    if (!bucket.element)
      bucket.element = op.getElement();
    bucket.bytes = op.getElements() * getElementBytes(bucket.element);
    bucket.chunkOffset = layout.rankPartBytes;
    layout.rankPartBytes += bucket.bytes / layout.worldSize;
    llvm::sort(bucket.tensors,
               [](const WeightTensor &a, const WeightTensor &b) { return a.offset < b.offset; });
    layout.buckets.push_back(std::move(bucket));
  }
  return layout;
}

static std::optional<FloatElement> getFloatElement(Type type) {
  if (type.isF32())
    return FloatElement::F32;
  if (type.isF64())
    return FloatElement::F64;
  if (type.isF16())
    return FloatElement::F16;
  if (type.isBF16())
    return FloatElement::BF16;
  return std::nullopt;
}

} // namespace zero::planbinary

namespace zero {

Expected<std::vector<ProgramTensor>> listProgramTensors(ModuleOp module, StringRef modelFile) {
  ZERO_ASSIGN_OR_RETURN(planbinary::WeightsLayout layout, planbinary::computeWeightsLayout(module));
  std::vector<ProgramTensor> tensors;
  auto add = [&](const planbinary::WeightTensor &from) -> ProgramTensor & {
    ProgramTensor &tensor = tensors.emplace_back();
    tensor.name = from.name;
    tensor.bytes = from.bytes;
    if (auto external = dyn_cast<nn::ExternalAttr>(from.data); external && external.getFile() == modelFile) {
      tensor.inModel = true;
      tensor.modelOffset = external.getOffset();
    }
    return tensor;
  };
  llvm::StringMap<const planbinary::WeightTensor *> trained;
  for (const planbinary::WeightBucket &bucket : layout.buckets)
    for (const planbinary::WeightTensor &from : bucket.tensors)
      trained[from.name] = &from;
  for (auto bucket : module.getOps<sharding::BucketOp>())
    for (auto slot : bucket.getSlots().getAsRange<sharding::SlotAttr>()) {
      ProgramTensor &tensor = add(*trained.lookup(slot.getName()));
      tensor.trained = true;
      std::optional<FloatElement> element = planbinary::getFloatElement(trained.lookup(slot.getName())->element);
      if (!element)
        return Status::programFailed("parameter '" + tensor.name + "' is not made of floats");
      tensor.element = *element;
      llvm::append_range(tensor.shape, slot.getShape());
    }
  for (const planbinary::WeightTensor &from : layout.frozen)
    add(from).frozenOffset = from.offset;
  return tensors;
}

} // namespace zero

namespace zero::planbinary {

namespace {

/// A tensor's bytes, read once from front to back.
class TensorReader {
public:
  virtual ~TensorReader() = default;
  virtual Status read(void *target, size_t size) = 0;
};

class ElementsReader : public TensorReader {
public:
  explicit ElementsReader(std::string bytes) : bytes(std::move(bytes)) {}
  Status read(void *target, size_t size) override {
    std::memcpy(target, bytes.data() + next, size);
    next += size;
    return {};
  }

private:
  std::string bytes;
  size_t next = 0;
};

class FileReader : public TensorReader {
public:
  FileReader(const WeightTensor &tensor, nn::ExternalAttr from, const std::string &folder)
      : tensor(tensor), from(from) {
    llvm::SmallString<128> file(folder);
    llvm::sys::path::append(file, from.getFile());
    path = file.str().str();
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    error = fd < 0 ? errno : 0;
    XXH3_64bits_reset(&state);
  }
  ~FileReader() override {
    if (fd >= 0)
      ::close(fd);
  }

  Status read(void *target, size_t size) override {
    if (fd < 0)
      return Status::badInput("cannot open '" + path + "', which holds '" + tensor.name +
                              "': " + std::strerror(error));
    char *bytes = static_cast<char *>(target);
    for (size_t done = 0; done < size;) {
      ssize_t got =
          ::pread(fd, bytes + done, size - done, static_cast<off_t>(from.getOffset() + next + done));
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return Status::badInput("cannot read '" + tensor.name + "' from '" + path +
                                "': " + std::strerror(errno));
      if (got == 0)
        return Status::badInput("'" + path + "' ends at byte " +
                                std::to_string(from.getOffset() + next + done) + ", '" + tensor.name +
                                "' at byte " + std::to_string(from.getOffset() + from.getLength()));
      done += static_cast<size_t>(got);
    }
    XXH3_64bits_update(&state, target, size);
    next += size;
    if (next == from.getLength() && XXH3_64bits_digest(&state) != from.getChecksum())
      return Status::badInput("'" + path + "' has changed since it was imported: '" + tensor.name +
                              "' has checksum " + std::to_string(XXH3_64bits_digest(&state)) + ", not " +
                              std::to_string(from.getChecksum()));
    return {};
  }

private:
  const WeightTensor &tensor;
  nn::ExternalAttr from;
  std::string path;
  int fd = -1, error = 0;
  uint64_t next = 0;
  XXH3_state_t state;
};

/// Starting values, made as they are written.
class InitialReader : public TensorReader {
public:
  explicit InitialReader(nn::InitialAttr initial) : initial(initial) {}
  Status read(void *target, size_t size) override {
    // Blocks are whole elements: their size and that of every tensor are multiples of an element's.
    initial.fill(next / getElementBytes(initial.getElement()), {static_cast<char *>(target), size});
    next += size;
    return {};
  }

private:
  nn::InitialAttr initial;
  uint64_t next = 0;
};

/// The bytes of elements as the runtime holds them: one for each i1.
std::optional<std::string> getElementsBytes(ElementsAttr elements) {
  Type type = elements.getElementType();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return std::string(blob->getData().begin(), blob->getData().end());
    return std::nullopt;
  }
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense)
    return std::nullopt;
  std::string bytes;
  if (type.isInteger(1)) {
    for (bool value : dense.getValues<bool>())
      bytes.push_back(value);
    return bytes;
  }
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat())
    return std::string(raw.begin(), raw.end());
  bytes.reserve(raw.size() * dense.getNumElements());
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    bytes.append(raw.data(), raw.size());
  return bytes;
}

Expected<std::unique_ptr<TensorReader>> openTensor(const WeightTensor &tensor, const std::string &folder) {
  uint64_t bytes = 0;
  std::unique_ptr<TensorReader> reader;
  if (auto external = dyn_cast<nn::ExternalAttr>(tensor.data)) {
    bytes = external.getLength();
    reader = std::make_unique<FileReader>(tensor, external, folder);
  } else if (auto missing = dyn_cast<nn::MissingAttr>(tensor.data)) {
    return Status::badInput("the model has no values of '" + tensor.name + "': " + missing.getReason().str() +
                            "; import it with --init, or plan without writing a program (--plan-only)");
  } else if (auto initial = dyn_cast<nn::InitialAttr>(tensor.data)) {
    bytes = tensor.bytes;
    reader = std::make_unique<InitialReader>(initial);
  } else {
    auto elements = dyn_cast<ElementsAttr>(tensor.data);
    std::optional<std::string> raw = elements ? getElementsBytes(elements) : std::nullopt;
    if (!raw)
      return Status::programFailed("the data of '" + tensor.name +
                                   "' are neither in a file nor in the module");
    bytes = raw->size();
    reader = std::make_unique<ElementsReader>(std::move(*raw));
  }
  if (bytes != tensor.bytes)
    return Status::badInput("'" + tensor.name + "' has " + std::to_string(tensor.bytes) +
                            " bytes, its data have " + std::to_string(bytes));
  return reader;
}

/// Copies through one block.
class BlockPump {
public:
  explicit BlockPump(const ContainerWriter::Sink &sink) : sink(sink), block(kBlockBytes) {}
  void zeros(uint64_t size) {
    if (size)
      std::fill(block.begin(), block.end(), 0);
    for (; size; size -= std::min<uint64_t>(size, kBlockBytes))
      sink(block.data(), std::min<uint64_t>(size, kBlockBytes));
  }
  Status tensor(TensorReader &reader, uint64_t size) {
    while (size) {
      size_t part = std::min<uint64_t>(size, kBlockBytes);
      ZERO_RETURN_IF_ERROR(reader.read(block.data(), part));
      sink(block.data(), part);
      size -= part;
    }
    return {};
  }

private:
  const ContainerWriter::Sink &sink;
  std::vector<char> block;
};

/// A bucket's bytes from front to back, chunk by chunk; one tensor is open at a time.
class BucketStream {
public:
  BucketStream(const WeightBucket &bucket, const std::string &folder) : bucket(bucket), folder(folder) {}
  Status produce(uint64_t size, BlockPump &pump) {
    const uint64_t end = position + size;
    while (position < end) {
      if (index == bucket.tensors.size()) {
        pump.zeros(end - position);
        position = end;
        continue;
      }
      const WeightTensor &tensor = bucket.tensors[index];
      if (position < tensor.offset) {
        uint64_t gap = std::min(tensor.offset, end) - position;
        pump.zeros(gap);
        position += gap;
        continue;
      }
      if (!reader) {
        ZERO_ASSIGN_OR_RETURN(reader, openTensor(tensor, folder));
      }
      uint64_t part = std::min(tensor.offset + tensor.bytes, end) - position;
      ZERO_RETURN_IF_ERROR(pump.tensor(*reader, part));
      position += part;
      if (position == tensor.offset + tensor.bytes) {
        reader.reset();
        ++index;
      }
    }
    return {};
  }

private:
  const WeightBucket &bucket;
  const std::string &folder;
  uint64_t position = 0;
  size_t index = 0;
  std::unique_ptr<TensorReader> reader;
};

} // namespace

Status produceWeights(const WeightsLayout &layout, const std::string &folder,
                      const ContainerWriter::Sink &sink) {
  BlockPump pump(sink);
  std::vector<BucketStream> streams;
  for (const WeightBucket &bucket : layout.buckets)
    streams.emplace_back(bucket, folder);
  for (uint64_t rank = 0; rank < layout.worldSize; ++rank)
    for (auto [bucket, stream] : llvm::zip(layout.buckets, streams))
      ZERO_RETURN_IF_ERROR(stream.produce(bucket.bytes / layout.worldSize, pump));
  return {};
}

Status produceFrozen(const WeightsLayout &layout, const std::string &folder,
                     const ContainerWriter::Sink &sink) {
  BlockPump pump(sink);
  uint64_t position = 0;
  for (const WeightTensor &tensor : layout.frozen) {
    pump.zeros(tensor.offset - position);
    ZERO_ASSIGN_OR_RETURN(std::unique_ptr<TensorReader> reader, openTensor(tensor, folder));
    ZERO_RETURN_IF_ERROR(pump.tensor(*reader, tensor.bytes));
    position = tensor.offset + tensor.bytes;
  }
  return {};
}

} // namespace zero::planbinary
