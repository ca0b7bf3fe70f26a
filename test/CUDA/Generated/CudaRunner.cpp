//===- CudaRunner.cpp - Kernels as CUDA on a device -----------------------===//
//
// On the simulated device of test/CUDA/Shim, where ZERO_CUDA_LIBRARY_PATH leads to it, or on the machine's GPU.
//
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanOps.h"
#include "test/Unit/Codegen/KernelHarness.h"
#include "zero/Analysis/CudaSchedule.h"
#include "zero/Codegen/CudaCodegen.h"
#include "zero/Runtime/Base/Env.h"
#include "zero/Runtime/HAL/Failure.h"
#include "zero/Runtime/HAL/Stream.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace zero::test {
namespace {

/// One device for all tests, with memory for the largest.
class CudaPlace {
public:
  static constexpr uint64_t kBytes = uint64_t(64) << 20;

  static CudaPlace &get() {
    static CudaPlace place;
    return place;
  }
  std::string why; ///< there is no device
  std::unique_ptr<StreamDevice> device;
  std::unique_ptr<Arena> arena;
  Failure failure;
  std::unique_ptr<Queue> queue;

private:
  CudaPlace() {
    Status status = open();
    if (!status.ok())
      why = status.message();
  }
  Status open() {
    ZERO_ASSIGN_OR_RETURN(device, createCudaDevice(0));
    ZERO_RETURN_IF_ERROR(device->bindThread());
    ZERO_ASSIGN_OR_RETURN(arena, device->allocate("tensors", kBytes));
    queue = device->createQueue({.name = "kernels", .capacity = 16}, failure);
    return {};
  }
};

/// A machine without a GPU runs none of the tests, but on the simulated device, which is always there.
class NeedsDevice : public testing::Environment {
  void SetUp() override {
    if (const std::string &why = CudaPlace::get().why; !why.empty() && env::cudaLibraryPath().empty())
      GTEST_SKIP() << why;
  }
};
[[maybe_unused]] testing::Environment *const needsDevice = testing::AddGlobalTestEnvironment(new NeedsDevice);

class CudaRunner : public KernelRunner {
public:
  CudaRunner(std::unique_ptr<DeviceModule> code, llvm::StringMap<LaunchShape> shapes) : code(std::move(code)), shapes(std::move(shapes)) {}

  void run(const std::string &name, int64_t, int64_t, std::span<char> memory, const std::vector<int64_t> &offsets) override {
    CudaPlace &place = CudaPlace::get();
    ASSERT_LE(memory.size(), CudaPlace::kBytes);
    auto function = code->find(name);
    ASSERT_TRUE(function.ok()) << function.status().message();
    ASSERT_TRUE(place.device->upload(place.arena->data(), memory.data(), memory.size()).ok());
    std::vector<void *> pointers, arguments;
    for (int64_t offset : offsets)
      pointers.push_back(place.arena->data() + offset);
    for (void *&pointer : pointers)
      arguments.push_back(&pointer);
    void *stream = place.queue->stream();
    Status launched = place.device->launch(**function, shapes.lookup(name), arguments.data(), stream);
    ASSERT_TRUE(launched.ok()) << launched.message();
    ASSERT_TRUE(place.device->synchronize(stream, place.failure));
    ASSERT_TRUE(place.device->download(memory.data(), place.arena->data(), memory.size()).ok());
  }

private:
  std::unique_ptr<DeviceModule> code;
  llvm::StringMap<LaunchShape> shapes;
};

/// Dispatches of a kernel, all tensors `shift` bytes into a buffer: each in one of its own, and each result that may be where an operand
/// is there.
void addDispatches(OpBuilder &builder, plan::KernelOp kernel, func::FuncOp body, int64_t shift) {
  auto slice = [&](const Twine &buffer, Type type) -> Attribute {
    const int64_t bytes = cast<RankedTensorType>(type).getNumElements() * 8;
    return plan::SliceAttr::get(builder.getContext(), FlatSymbolRefAttr::get(builder.getContext(), buffer.str()), shift, bytes, 0);
  };
  auto dispatch = [&](std::optional<std::pair<unsigned, unsigned>> inPlace) {
    SmallVector<Attribute> reads, writes;
    for (auto [i, type] : llvm::enumerate(body.getArgumentTypes()))
      reads.push_back(slice("operand" + Twine(i), type));
    for (auto [i, type] : llvm::enumerate(body.getResultTypes()))
      writes.push_back(inPlace && inPlace->second == i ? reads[inPlace->first] : slice("result" + Twine(i), type));
    plan::DispatchOp::create(builder, kernel.getLoc(), plan::QueueKind::compute, ArrayRef<int64_t>(), IntegerAttr(), kernel.getSymName(),
                             builder.getArrayAttr(reads), builder.getArrayAttr(writes), ArrayRef<int64_t>(), ArrayRef<double>());
  };
  dispatch(std::nullopt);
  for (unsigned operand = 0; operand < body.getNumArguments(); ++operand)
    for (unsigned result = 0; result < body.getNumResults(); ++result)
      if (canComputeInPlace(body, operand, result))
        dispatch(std::pair(operand, result));
}

} // namespace

std::vector<CpuVariant> getVariants() { return {CpuVariant::X86_64_V3}; }

/// Pointers that are no multiples of 16 are other code, which takes as long to compile: for the tests of many shapes alone.
std::vector<std::pair<int64_t, int64_t>> getWays() {
  constexpr int64_t kWhole = int64_t(1) << 40;
  const std::string suite = testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  if (suite.find("OnShapes") != std::string::npos)
    return {{kWhole, 0}, {kWhole, 8}};
  return {{kWhole, 0}};
}

std::unique_ptr<KernelRunner> makeRunner(ModuleOp kernels, CpuVariant, int64_t shift) {
  CudaPlace &place = CudaPlace::get();
  EXPECT_TRUE(place.why.empty()) << place.why;
  if (!place.why.empty())
    return nullptr;
  OwningOpRef<ModuleOp> plan(kernels.clone());
  OpBuilder builder(plan->getContext());
  (*plan)->setAttr(plan::kTargetAttrName, builder.getStringAttr("cuda"));
  builder.setInsertionPointToEnd(plan->getBody());
  auto section = plan::SectionOp::create(builder, plan->getLoc(), "predict");
  builder.setInsertionPointToStart(&section.getBody().emplaceBlock());
  llvm::StringMap<LaunchShape> shapes;
  for (auto kernel : plan->getOps<plan::KernelOp>()) {
    auto body = plan->lookupSymbol<func::FuncOp>(kernel.getBodyFunction());
    addDispatches(builder, kernel, body, shift);
    plan::LaunchAttr launch = getCudaLaunch(body);
    kernel.setLaunchAttr(launch);
    LaunchShape &shape = shapes[kernel.getSymName()];
    shape.grid[0] = static_cast<uint32_t>(launch.getBlocks());
    shape.block[0] = static_cast<uint32_t>(launch.getThreads());
    shape.sharedBytes = static_cast<uint32_t>(launch.getShared());
  }
  auto load = [&]() -> Expected<std::unique_ptr<DeviceModule>> {
    ZERO_ASSIGN_OR_RETURN(std::string source, makeCudaSource(*plan));
    ZERO_ASSIGN_OR_RETURN(CudaCode code, compileCuda(std::move(source), {place.device->architecture()}));
    return place.device->loadModule(code.images.front().bytes);
  };
  Expected<std::unique_ptr<DeviceModule>> module = load();
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? std::make_unique<CudaRunner>(std::move(*module), std::move(shapes)) : nullptr;
}

} // namespace zero::test
