//===- KernelHarness.h - Runs generated kernels against the reference -----===//
#ifndef ZERO_TEST_UNIT_CODEGEN_KERNELHARNESS_H
#define ZERO_TEST_UNIT_CODEGEN_KERNELHARNESS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "zero/Codegen/Codegen.h"
#include "zero/Reference/Interpreter.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zero::test {

using reference::HostTensor;
using KernelFunction = void (*)(void *const *pointers, int64_t begin, int64_t end);

/// A shared object in memory.
class LoadedObject {
public:
  explicit LoadedObject(const std::string &bytes);
  ~LoadedObject();
  LoadedObject(const LoadedObject &) = delete;
  KernelFunction get(const std::string &name) const;

private:
  int file = -1;
  void *handle = nullptr;
};

/// The variants that this machine runs.
std::vector<CpuVariant> getVariants();

struct Options {
  double low = -2.0, high = 2.0;    ///< range of random floats
  int64_t lowInt = 0, highInt = 10; ///< range of random integers
  double relative = 1e-5, absolute = 1e-6;
  std::map<unsigned, std::vector<double>> values = {}; ///< of an argument, instead of random ones
};

/// A function @f of nn ops: decomposed, grouped, compiled. `kernels` are the groups in order.
class Program {
public:
  explicit Program(const std::string &text, bool addGradients = false);

  int countKernels() const { return items.size(); }
  int64_t getItems(int kernel) const { return items[kernel]; }
  mlir::func::FuncOp getBody(int kernel);
  std::vector<HostTensor> makeArguments(const Options &options);
  /// What the function returns when the reference computes it, composites whole.
  std::vector<HostTensor> evaluate(const std::vector<HostTensor> &arguments);
  /// What it returns when generated kernels compute the groups. Each kernel runs over its items in pieces of
  /// `piece`, its tensors `shift` bytes beyond an alignment of 64; a write beside a result is a failure.
  std::vector<HostTensor> run(const std::vector<HostTensor> &arguments, CpuVariant variant, int64_t piece,
                              int64_t shift);
  /// Random arguments; the reference's results within the tolerance; the same bits for every variant, piece
  /// and shift.
  void check(const Options &options = {});

  mlir::MLIRContext context;

private:
  std::vector<HostTensor> runKernel(const std::string &name, int64_t items,
                                    const std::vector<HostTensor> &operands, mlir::TypeRange results,
                                    const LoadedObject &object, int64_t piece, int64_t shift);
  /// Runs the kernel once more for each result that may have the memory of an operand.
  void checkInPlace(const std::string &name, int64_t items, const std::vector<HostTensor> &operands,
                    const std::vector<HostTensor> &results, const LoadedObject &object);
  mlir::OwningOpRef<mlir::ModuleOp> original, grouped, kernels;
  std::vector<int64_t> items;
  std::map<CpuVariant, std::unique_ptr<LoadedObject>> objects;
};

} // namespace zero::test

#endif
