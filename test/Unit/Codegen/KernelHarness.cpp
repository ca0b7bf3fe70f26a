//===- KernelHarness.cpp - Runs generated kernels against the reference ---===//
#include "KernelHarness.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "zero/Transforms/NN/Passes.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mlir;

namespace zero::test {

/// Replaces what @f returns by the gradients of the operands of its only composite, given those of its float
/// results.
static void differentiate(func::FuncOp function) {
  Block &block = function.getBody().front();
  nn::DifferentiableOpInterface composite;
  for (Operation &op : block)
    if (isa<nn::DecomposableOpInterface>(op))
      composite = cast<nn::DifferentiableOpInterface>(&op);
  SmallVector<Value> resultGradients;
  for (Value result : composite->getResults()) {
    bool isFloat = isa<FloatType>(cast<RankedTensorType>(result.getType()).getElementType());
    bool isReturned = llvm::is_contained(block.getTerminator()->getOperands(), result);
    resultGradients.push_back(isFloat && isReturned ? block.addArgument(result.getType(), result.getLoc())
                                                    : Value());
  }
  OpBuilder builder(block.getTerminator());
  SmallVector<bool> needed(composite->getNumOperands(), true);
  SmallVector<Value> gradients;
  for (Value gradient : composite.buildGradient(builder, resultGradients, needed))
    if (gradient)
      gradients.push_back(gradient);
  block.getTerminator()->setOperands(gradients);
  function.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), ValueRange(gradients).getTypes()));
}

Program::Program(const std::string &text, bool addGradients) : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<func::FuncDialect, nn::NNDialect, plan::PlanDialect>();
  original = parseSourceString<ModuleOp>(text, &context);
  if (!original) {
    ADD_FAILURE() << "does not parse: " << text;
    return;
  }
  if (addGradients)
    differentiate(original->lookupSymbol<func::FuncOp>("f"));
  grouped = original->clone();
  PassManager passes(&context);
  passes.addPass(createNNDecomposeComposites(NNDecomposeCompositesOptions{{"nn.adam", "nn.sgd"}}));
  passes.addPass(createNNFormGroups());
  if (failed(passes.run(*grouped))) {
    ADD_FAILURE() << "groups could not be formed";
    return;
  }
  // Each group's body, and each optimizer that stands alone, as a private function.
  kernels = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  grouped->lookupSymbol<func::FuncOp>("f").walk([&](Operation *op) {
    if (!isa<nn::GroupOp, nn::AdamOp, nn::SgdOp>(op))
      return;
    std::string name = "k" + std::to_string(items.size());
    auto function =
        func::FuncOp::create(builder, op->getLoc(), name + "_body",
                             builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
    function.setPrivate();
    Block *block = function.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(block);
    IRMapping mapping;
    SmallVector<Value> results;
    if (auto group = dyn_cast<nn::GroupOp>(op)) {
      std::string why;
      EXPECT_TRUE(isCodegenSupported(group, &why)) << why;
      mapping.map(group.getBody().getArguments(), block->getArguments());
      for (Operation &inner : group.getBody().front().without_terminator())
        inside.clone(inner, mapping);
      for (Value value : group.getBody().front().getTerminator()->getOperands())
        results.push_back(mapping.lookup(value));
    } else {
      mapping.map(op->getOperands(), block->getArguments());
      llvm::append_range(results, inside.clone(*op, mapping)->getResults());
    }
    func::ReturnOp::create(inside, op->getLoc(), results);
    std::string why;
    EXPECT_TRUE(isCodegenSupported(function, &why)) << why;
    items.push_back(getKernelItems(function));
    plan::KernelOp::create(builder, op->getLoc(), name, name + "_body", items.back(), plan::LaunchAttr());
    op->setAttr("kernel", builder.getStringAttr(name));
  });
}

std::vector<HostTensor> Program::makeArguments(const Options &options) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> floats(options.low, options.high);
  std::uniform_int_distribution<int64_t> integers(options.lowInt, options.highInt - 1);
  std::vector<HostTensor> arguments;
  for (Type type : original->lookupSymbol<func::FuncOp>("f").getArgumentTypes()) {
    HostTensor tensor(cast<RankedTensorType>(type));
    auto given = options.values.find(arguments.size());
    for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
      bool use = given != options.values.end();
      double value = use ? given->second[i % given->second.size()] : 0;
      if (tensor.isFloat())
        tensor.setFloat(i, use ? value : floats(random));
      else
        tensor.setInt(i, use ? static_cast<int64_t>(value) : integers(random));
    }
    arguments.push_back(tensor);
  }
  return arguments;
}

std::vector<HostTensor> Program::evaluate(const std::vector<HostTensor> &arguments) {
  auto results = reference::evaluateFunction(original->lookupSymbol<func::FuncOp>("f"), arguments);
  EXPECT_TRUE(succeeded(results));
  return std::vector<HostTensor>(results->begin(), results->end());
}

namespace {
/// Tensors in one piece of memory, each between two guards.
class TensorMemory {
public:
  explicit TensorMemory(int64_t shift) : shift(shift) {}

  int64_t add(const HostTensor &tensor) {
    const int64_t begin = (size + kGuard + 63) / 64 * 64 + shift;
    size = begin + static_cast<int64_t>(tensor.getBytes().size()) + kGuard;
    return begin;
  }
  /// The memory, once everything has its place.
  std::span<char> get() {
    storage.assign(size + 64, char(kUntouched));
    const auto address = reinterpret_cast<uintptr_t>(storage.data());
    return {storage.data() + ((address + 63) / 64 * 64 - address), static_cast<size_t>(size)};
  }
  static constexpr char kUntouched = 0x5a;

private:
  static constexpr int64_t kGuard = 256;
  int64_t shift, size = 0;
  std::vector<char> storage;
};

void write(std::span<char> memory, int64_t offset, const HostTensor &tensor) {
  llvm::copy(tensor.getBytes(), memory.begin() + offset);
}
bool holds(std::span<char> memory, int64_t offset, const HostTensor &tensor) {
  return std::equal(tensor.getBytes().begin(), tensor.getBytes().end(), memory.begin() + offset);
}
} // namespace

std::vector<HostTensor> Program::runKernel(const std::string &name, int64_t count,
                                           const std::vector<HostTensor> &operands, TypeRange resultTypes,
                                           KernelRunner &runner, int64_t piece, int64_t shift) {
  std::vector<HostTensor> results;
  for (Type type : resultTypes) {
    HostTensor &result = results.emplace_back(cast<RankedTensorType>(type));
    llvm::fill(result.getBytes(), 0x77);
  }
  TensorMemory tensors(shift);
  std::vector<int64_t> offsets;
  for (const HostTensor &tensor : llvm::concat<const HostTensor>(operands, results))
    offsets.push_back(tensors.add(tensor));
  std::span<char> memory = tensors.get();
  auto tensorAt = [&](size_t i) -> const HostTensor & { return i < operands.size() ? operands[i] : results[i - operands.size()]; };
  for (size_t i = 0; i < offsets.size(); ++i)
    write(memory, offsets[i], tensorAt(i));
  runner.run(name, count, piece, memory, offsets);
  // What lies between tensors is as it was.
  int64_t end = 0;
  for (size_t i = 0; i <= offsets.size(); ++i) {
    const int64_t begin = i < offsets.size() ? offsets[i] : static_cast<int64_t>(memory.size());
    for (int64_t byte = end; byte < begin; ++byte)
      if (memory[byte] != TensorMemory::kUntouched) {
        ADD_FAILURE() << name << " writes " << byte - begin << " bytes from the start of tensor " << i;
        break;
      }
    if (i < offsets.size())
      end = begin + static_cast<int64_t>(tensorAt(i).getBytes().size());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    EXPECT_TRUE(holds(memory, offsets[i], operands[i])) << name << " writes operand " << i;
  for (size_t i = 0; i < results.size(); ++i)
    std::copy_n(memory.begin() + offsets[operands.size() + i], results[i].getBytes().size(), results[i].getBytes().begin());
  return results;
}

func::FuncOp Program::getBody(int kernel) {
  return kernels->lookupSymbol<func::FuncOp>("k" + std::to_string(kernel) + "_body");
}

void Program::checkInPlace(const std::string &name, int64_t count, const std::vector<HostTensor> &operands,
                           const std::vector<HostTensor> &results, KernelRunner &runner, int64_t shift) {
  func::FuncOp body = kernels->lookupSymbol<func::FuncOp>(name + "_body");
  for (size_t result = 0; result < results.size(); ++result)
    for (size_t operand = 0; operand < operands.size(); ++operand) {
      if (!canComputeInPlace(body, operand, result))
        continue;
      TensorMemory tensors(shift);
      std::vector<int64_t> offsets;
      for (const HostTensor &tensor : operands)
        offsets.push_back(tensors.add(tensor));
      for (size_t i = 0; i < results.size(); ++i)
        offsets.push_back(i == result ? offsets[operand] : tensors.add(results[i]));
      std::span<char> memory = tensors.get();
      for (size_t i = 0; i < operands.size(); ++i)
        write(memory, offsets[i], operands[i]);
      runner.run(name, count, count, memory, offsets);
      for (size_t i = 0; i < results.size(); ++i)
        EXPECT_TRUE(holds(memory, offsets[operands.size() + i], results[i]))
            << name << ": result " << result << " in the memory of operand " << operand << " changes result "
            << i;
    }
}

std::vector<HostTensor> Program::run(const std::vector<HostTensor> &arguments, CpuVariant variant,
                                     int64_t piece, int64_t shift) {
  std::unique_ptr<KernelRunner> &runner = runners[{variant, shift}];
  if (!runner)
    runner = makeRunner(*kernels, variant, shift);
  if (!runner)
    return {};
  auto function = grouped->lookupSymbol<func::FuncOp>("f");
  DenseMap<Value, HostTensor *> values;
  std::vector<std::unique_ptr<HostTensor>> tensors;
  auto define = [&](Value value, const HostTensor &tensor) {
    values[value] = tensors.emplace_back(std::make_unique<HostTensor>(tensor)).get();
  };
  for (auto [argument, tensor] : llvm::zip_equal(function.getArguments(), arguments))
    define(argument, tensor);
  auto lookup = [&](ValueRange range) {
    std::vector<HostTensor> found;
    for (Value value : range)
      found.push_back(*values.lookup(value));
    return found;
  };
  for (Operation &op : function.getBody().front().without_terminator()) {
    std::vector<HostTensor> operands = lookup(op.getOperands()), results;
    if (auto kernel = op.getAttrOfType<StringAttr>("kernel")) {
      int64_t index = std::stoll(kernel.getValue().drop_front().str());
      results = runKernel(kernel.getValue().str(), items[index], operands, op.getResultTypes(), *runner,
                          piece, shift);
      checkInPlace(kernel.getValue().str(), items[index], operands, results, *runner, shift);
    } else {
      auto evaluated = reference::evaluate(&op, operands);
      EXPECT_TRUE(succeeded(evaluated));
      results.assign(evaluated->begin(), evaluated->end());
    }
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), results))
      define(value, tensor);
  }
  return lookup(function.getBody().front().getTerminator()->getOperands());
}

static void compare(const HostTensor &actual, const HostTensor &expected, const Options &options,
                    size_t result) {
  ASSERT_EQ(actual.getType(), expected.getType());
  int failures = 0;
  for (int64_t i = 0; i < expected.getNumElements() && failures < 5; ++i) {
    if (!expected.isFloat()) {
      EXPECT_EQ(actual.getInt(i), expected.getInt(i)) << "result " << result << " element " << i,
          failures += actual.getInt(i) != expected.getInt(i);
      continue;
    }
    double a = actual.getFloat(i), e = expected.getFloat(i);
    bool equal = std::isnan(e)
                     ? std::isnan(a)
                     : a == e || std::abs(a - e) <= options.absolute + options.relative * std::abs(e);
    EXPECT_TRUE(equal) << "result " << result << " element " << i << ": " << a << " but the reference has "
                       << e;
    failures += !equal;
  }
}

void Program::check(const Options &options) {
  if (testing::Test::HasFailure())
    return;
  std::vector<HostTensor> arguments = makeArguments(options), expected = evaluate(arguments), first;
  for (CpuVariant variant : getVariants())
    for (auto [piece, shift] : getWays()) {
      std::vector<HostTensor> actual = run(arguments, variant, piece, shift);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        compare(actual[i], expected[i], options, i);
        if (!first.empty())
          EXPECT_TRUE(actual[i].getBytes() == first[i].getBytes())
              << "result " << i << " has other bits with variant " << int(variant) << ", pieces of " << piece;
      }
      if (first.empty())
        first = actual;
    }
}

} // namespace zero::test
