//===- VerifyInputs.cpp - The part of plan-verify about values at the door ---===//
//
// `limit` and `ignore_index` of a plan.input are for the reader; what they must be stands in the kernels that read the input:
// library kernels have the size of the axis that they index, generated ones compare it with an iota as long as there are classes and
// with the number that does not count.
//
//===----------------------------------------------------------------------===//
#include "VerifyInputs.h"
#include "dialects/NN/NNOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "zero/Analysis/PlanMemory.h"

using namespace mlir;

namespace zero {
namespace {

/// The value behind casts, reshapes and broadcasts.
Value getSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<nn::CastOp, nn::ReshapeOp, nn::BroadcastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What an argument of a kernel's function is compared with.
struct Compared {
  int64_t classes = 0; // of the smallest iota; 0: none
  SmallVector<int64_t> ignored;
};

Compared findCompared(func::FuncOp body, unsigned argument) {
  Compared compared;
  if (body.empty())
    return compared;
  for (auto compare : body.front().getOps<nn::CompareOp>())
    for (auto [one, other] : {std::pair(compare.getLhs(), compare.getRhs()), std::pair(compare.getRhs(), compare.getLhs())}) {
      if (getSource(one) != body.getArgument(argument))
        continue;
      Value source = getSource(other);
      if (auto iota = source.getDefiningOp<nn::IotaOp>(); iota && compare.getPredicate() == nn::ComparePredicate::eq) {
        int64_t size = iota.getType().getDimSize(iota.getAxis());
        compared.classes = compared.classes == 0 ? size : std::min(compared.classes, size);
      }
      DenseIntElementsAttr constant;
      if (matchPattern(source, m_Constant(&constant)) && constant.isSplat())
        compared.ignored.push_back(constant.getSplatValue<APInt>().getSExtValue());
    }
  return compared;
}

/// The size of the axis that a kernel of the library indexes by its second read; 0 where it indexes none.
int64_t getIndexedAxis(plan::DispatchOp dispatch) {
  // KernelTable.inc: where axis_size stands.
  const size_t place = llvm::StringSwitch<size_t>(dispatch.getKernel()).Case("gather", 3).Case("scatter_add", 3).Case("scatter", 4).Default(0);
  return place != 0 && dispatch.getIntegers().size() > place ? dispatch.getIntegers()[place] : 0;
}

class InputsVerifier {
public:
  explicit InputsVerifier(ModuleOp module) : module(module), symbols(module) {
    for (auto input : module.getOps<plan::InputOp>())
      if (auto type = dyn_cast<RankedTensorType>(input.getType()); type && type.getElementType().isInteger())
        inputOf[input.getSlice().getBuffer()] = input;
  }

  LogicalResult run() {
    for (auto input : module.getOps<plan::InputOp>())
      if ((input.getLimit() != 0 || input.getIgnoreIndex()) && inputOf.lookup(input.getSlice().getBuffer()) != input)
        return input.emitError() << "input '" << input.getName() << "' is " << input.getType() << ", but limit and ignore_index are for integers";
    DenseMap<Operation *, SmallVector<int64_t>> ignored; // by input: what kernels compare it with
    for (auto section : module.getOps<plan::SectionOp>())
      for (auto dispatch : section.getBody().front().getOps<plan::DispatchOp>()) {
        auto kernel = symbols.lookup<plan::KernelOp>(dispatch.getKernel());
        auto body = kernel ? symbols.lookup<func::FuncOp>(kernel.getBodyFunction()) : func::FuncOp();
        for (auto [index, slice] : llvm::enumerate(dispatch.getReads().getAsRange<plan::SliceAttr>())) {
          plan::InputOp input = inputOf.lookup(slice.getBuffer());
          if (!input || input.getSlice() != slice)
            continue;
          Compared compared = body ? findCompared(body, index) : Compared();
          const bool indexes = !kernel && index == (dispatch.getKernel() == "scatter" ? 2 : 1);
          // Values that are no label may be compared with positions for any reason.
          const int64_t classes = input.getLabel() ? compared.classes : 0;
          if (failed(checkLimit(input, dispatch, indexes ? getIndexedAxis(dispatch) : classes)))
            return failure();
          llvm::append_range(ignored[input], compared.ignored);
        }
      }
    for (auto input : module.getOps<plan::InputOp>()) {
      std::optional<uint64_t> index = input.getIgnoreIndex();
      const SmallVector<int64_t> &numbers = ignored[input];
      if (index && !numbers.empty() && !llvm::is_contained(numbers, static_cast<int64_t>(*index)))
        return input.emitError() << "input '" << input.getName() << "' has ignore_index " << static_cast<int64_t>(*index)
                                 << ", but its kernels leave out " << numbers.front();
    }
    return success();
  }

private:
  LogicalResult checkLimit(plan::InputOp input, plan::DispatchOp dispatch, int64_t size) {
    const int64_t limit = input.getLimit();
    if (size == 0 || (limit > 0 && limit <= size))
      return success();
    auto error = input.emitError() << "input '" << input.getName() << "' lets " << (limit > 0 ? "values below " + Twine(limit) : Twine("any value"))
                                   << " in, but kernel '" << dispatch.getKernel() << "' has " << size
                                   << " places for them; zero-to-plan takes the smallest";
    error.attachNote(dispatch.getLoc()) << "they are read here";
    return error;
  }

  ModuleOp module;
  SymbolTable symbols;
  DenseMap<Attribute, plan::InputOp> inputOf; // of integers, by buffer
};

} // namespace

LogicalResult verifyInputs(ModuleOp module) { return InputsVerifier(module).run(); }

} // namespace zero
