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
#include <span>
#include <string>
#include <vector>

namespace zero::test {

using reference::HostTensor;

/// Where kernels run: as objects on this machine's CPU (CpuRunner.cpp), or as CUDA on a device (test/CUDA/Generated/CudaRunner.cpp).
/// A binary is linked to one of them.
class KernelRunner {
public:
  virtual ~KernelRunner() = default;
  /// Runs a kernel on `memory`, which lies at a multiple of 64 bytes: `offsets` say where its operands and results are. Its items
  /// are cut into pieces of `piece`, where the target cuts them.
  virtual void run(const std::string &name, int64_t items, int64_t piece, std::span<char> memory, const std::vector<int64_t> &offsets) = 0;
};

/// The variants that this target runs.
std::vector<CpuVariant> getVariants();
/// Ways to run a kernel that must not change a bit: pieces of items, and bytes that tensors lie beyond a multiple of 64.
std::vector<std::pair<int64_t, int64_t>> getWays();
/// Compiles the kernels of the module, whose tensors will lie `shift` bytes beyond a multiple of 64. A failure of the test, and null, where
/// that fails.
std::unique_ptr<KernelRunner> makeRunner(mlir::ModuleOp kernels, CpuVariant variant, int64_t shift);

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
  int64_t getItems(int kernel) const { return items[kernel]; } ///< that threads of a CPU split
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
                                    KernelRunner &runner, int64_t piece, int64_t shift);
  /// Runs the kernel once more for each result that may have the memory of an operand.
  void checkInPlace(const std::string &name, int64_t items, const std::vector<HostTensor> &operands,
                    const std::vector<HostTensor> &results, KernelRunner &runner, int64_t shift);
  mlir::OwningOpRef<mlir::ModuleOp> original, grouped, kernels;
  std::vector<int64_t> items;
  std::map<std::pair<CpuVariant, int64_t>, std::unique_ptr<KernelRunner>> runners; ///< by variant and shift
};

} // namespace zero::test

#endif
