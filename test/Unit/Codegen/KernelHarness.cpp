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
#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace zero::test {

LoadedObject::LoadedObject(const std::string &bytes) {
  file = memfd_create("kernels", MFD_CLOEXEC);
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    ADD_FAILURE() << dlerror();
}
LoadedObject::~LoadedObject() {
  if (handle)
    dlclose(handle);
  close(file);
}
KernelFunction LoadedObject::get(const std::string &name) const {
  void *symbol = dlsym(handle, name.c_str());
  EXPECT_NE(symbol, nullptr) << name;
  return reinterpret_cast<KernelFunction>(symbol);
}

std::vector<CpuVariant> getVariants() {
  std::vector<CpuVariant> variants = {CpuVariant::X86_64_V3};
  if (__builtin_cpu_supports("x86-64-v4"))
    variants.push_back(CpuVariant::X86_64_V4);
  return variants;
}

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
    plan::KernelOp::create(builder, op->getLoc(), name, name + "_body", items.back());
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

std::vector<HostTensor> Program::runKernel(const std::string &name, int64_t count,
                                           const std::vector<HostTensor> &operands, TypeRange resultTypes,
                                           const LoadedObject &object, int64_t piece, int64_t shift) {
  // Each tensor between two guards.
  constexpr int64_t guard = 256;
  std::vector<std::vector<char>> memory;
  std::vector<void *> pointers;
  auto place = [&](const HostTensor &tensor) {
    std::vector<char> &bytes =
        memory.emplace_back(tensor.getBytes().size() + 2 * guard + 64 + shift, char(0x5a));
    auto address = reinterpret_cast<uintptr_t>(bytes.data()) + guard;
    char *start = reinterpret_cast<char *>((address + 63) / 64 * 64 + shift);
    if (!tensor.getBytes().empty())
      std::memcpy(start, tensor.getBytes().data(), tensor.getBytes().size());
    pointers.push_back(start);
  };
  memory.reserve(operands.size() + resultTypes.size());
  std::vector<HostTensor> results;
  for (Type type : resultTypes)
    results.emplace_back(cast<RankedTensorType>(type));
  for (const HostTensor &tensor : operands)
    place(tensor);
  for (HostTensor &tensor : results) {
    std::memset(tensor.getBytes().data(), 0x77, tensor.getBytes().size());
    place(tensor);
  }
  KernelFunction kernel = object.get(name);
  if (!kernel)
    return results;
  for (int64_t begin = 0; begin < count; begin += piece)
    kernel(pointers.data(), begin, std::min(begin + piece, count));
  for (size_t i = 0; i < memory.size(); ++i) {
    bool isResult = i >= operands.size();
    const HostTensor &tensor = isResult ? results[i - operands.size()] : operands[i];
    char *start = static_cast<char *>(pointers[i]);
    int64_t size = tensor.getBytes().size();
    for (const char *byte = memory[i].data(); byte < memory[i].data() + memory[i].size(); ++byte)
      if ((byte < start || byte >= start + size) && *byte != 0x5a) {
        ADD_FAILURE() << name << " writes " << byte - start << " bytes from the start of tensor " << i;
        break;
      }
    if (!isResult)
      EXPECT_TRUE(std::equal(start, start + size, tensor.getBytes().begin()))
          << name << " writes operand " << i;
    else if (size)
      std::memcpy(results[i - operands.size()].getBytes().data(), start, size);
  }
  return results;
}

func::FuncOp Program::getBody(int kernel) {
  return kernels->lookupSymbol<func::FuncOp>("k" + std::to_string(kernel) + "_body");
}

void Program::checkInPlace(const std::string &name, int64_t count, const std::vector<HostTensor> &operands,
                           const std::vector<HostTensor> &results, const LoadedObject &object) {
  func::FuncOp body = kernels->lookupSymbol<func::FuncOp>(name + "_body");
  for (size_t result = 0; result < results.size(); ++result)
    for (size_t operand = 0; operand < operands.size(); ++operand) {
      if (!canComputeInPlace(body, operand, result))
        continue;
      std::vector<HostTensor> tensors = operands;
      tensors.insert(tensors.end(), results.begin(), results.end());
      std::vector<void *> pointers;
      for (HostTensor &tensor : tensors)
        pointers.push_back(tensor.getBytes().data());
      pointers[operands.size() + result] = pointers[operand];
      object.get(name)(pointers.data(), 0, count);
      for (size_t i = 0; i < results.size(); ++i)
        EXPECT_TRUE(tensors[i == result ? operand : operands.size() + i].getBytes() == results[i].getBytes())
            << name << ": result " << result << " in the memory of operand " << operand << " changes result "
            << i;
    }
}

std::vector<HostTensor> Program::run(const std::vector<HostTensor> &arguments, CpuVariant variant,
                                     int64_t piece, int64_t shift) {
  std::unique_ptr<LoadedObject> &object = objects[variant];
  if (!object) {
    Expected<std::string> bytes = compileKernels(*kernels, variant);
    if (!bytes.ok()) {
      ADD_FAILURE() << bytes.status().message();
      return {};
    }
    object = std::make_unique<LoadedObject>(*bytes);
  }
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
      results = runKernel(kernel.getValue().str(), items[index], operands, op.getResultTypes(), *object,
                          piece, shift);
      checkInPlace(kernel.getValue().str(), items[index], operands, results, *object);
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
    for (auto [piece, shift] : {std::pair<int64_t, int64_t>{int64_t(1) << 40, 0}, {1, 8}, {3, 24}}) {
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
