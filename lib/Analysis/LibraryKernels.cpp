//===- LibraryKernels.cpp - What the runtime's library can compute --------===//
//
// The factories in lib/Runtime/Kernels refuse the same; here it is known at compile time, with the op at
// hand.
//
//===----------------------------------------------------------------------===//
#include "zero/Analysis/LibraryKernels.h"
#include "dialects/NN/NNOps.h"
#include "dialects/Plan/PlanOps.h"
#include "zero/Analysis/FusedProduct.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace zero {
namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

std::string check(Operation *op, StringRef what, Value value, ArrayRef<StringRef> known) {
  std::string name = llvm::formatv("{0}", elementOf(value)).str();
  if (llvm::is_contained(known, name))
    return {};
  std::string list = known.front().str();
  for (auto [i, type] : llvm::enumerate(known.drop_front()))
    list += (i + 2 == known.size() ? " or " : ", ") + type.str();
  return llvm::formatv("{0}: no kernel for {1} of type {2}, only for {3}", op->getName().getStringRef(), what,
                       name, list)
      .str();
}

} // namespace

std::string whyNoLibraryKernel(Operation *op) {
  constexpr StringRef indices[] = {"i64", "i32"}, sums[] = {"f32", "f64", "f16", "bf16", "i64", "i32"},
                      heads[] = {"f32", "f16", "bf16"};
  return TypeSwitch<Operation *, std::string>(op)
      .Case<nn::AttentionOp, nn::AttentionGradOp>(
          [&](auto attention) { return check(op, "elements", attention.getQuery(), heads); })
      .Case([&](nn::GatherOp gather) { return check(op, "indices", gather.getIndices(), indices); })
      .Case([&](nn::ScatterAddOp scatter) {
        std::string why = check(op, "indices", scatter.getIndices(), indices);
        return why.empty() ? check(op, "elements", scatter.getUpdates(), sums) : why;
      })
      .Case([&](nn::GroupOp group) -> std::string {
        std::string why;
        if (!holdsProduct(group))
          return why;
        auto module = op->getParentOfType<ModuleOp>();
        if (!module || !plan::isForCuda(module))
          return "nn.group: holds a product, which programs for GPUs alone compute with what follows";
        return getFusedProduct(group, &why) ? std::string() : "nn.group: no kernel for its product: " + why;
      })
      .Default([](Operation *) { return std::string(); });
}

} // namespace zero
