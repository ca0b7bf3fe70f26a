//===- CudaKernels.h - The library's kernels on CUDA devices --------------===//
//
// Standard library only: the compiler asks here which CUDA C++ a library kernel of a plan needs, the runtime which
// launches it is made of. Shapes are constants of the text, so both come from the same function of name and numbers,
// and the symbol names both.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_RUNTIME_KERNELS_CUDAKERNELS_H
#define ZERO_RUNTIME_KERNELS_CUDAKERNELS_H

#include "zero/Runtime/Base/Status.h"
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

class DeviceModule;
class StreamDevice;

/// What kernels may depend on besides their numbers; the file records it.
struct CudaOptions {
  uint64_t workspaceBytes = uint64_t{32} << 20; ///< scratch of each product and convolution of a library, the same at every stage
  bool tf32 = false;                            ///< products and convolutions of f32 may round their operands to TF32
  bool fast = false;                            ///< sums may be added in any order, another in each run
  bool cudnnConvolutions = false;               ///< convolutions are cuDNN's, where it has an engine
};

/// One parameter of a launch.
struct CudaArgument {
  enum class Kind {
    Pointer, ///< the dispatch's pointer of that index, reads before writes (8 bytes)
    Status,  ///< the device's CudaStatus (8 bytes)
    Command, ///< the number that the executor gives the command (4 bytes)
  };
  Kind kind = Kind::Pointer;
  uint32_t index = 0;
};

/// One launch of a kernel of our own.
struct CudaLaunch {
  std::string symbol;
  /// A definition of `symbol` as extern "C" __global__, in CUDA C++ that stands behind `sources`. Equal symbols have equal texts.
  std::string instantiation;
  /// Names for cudaLibrarySource, each behind those that it needs; each is to stand in a program once.
  std::vector<std::string_view> sources;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t sharedBytes = 0; ///< dynamic ones
  std::vector<CudaArgument> arguments;
};

/// The launches of the library kernel `name` (KernelTable.inc), in order. None where there is nothing to do, and for a matmul that
/// isCudaLibraryProduct names. Numbers that do not fit are BadInput, with the words of prepareKernel.
Expected<std::vector<CudaLaunch>> planCudaLaunches(std::string_view name, std::span<const int64_t> integers,
                                                   std::span<const double> reals, const CudaOptions &options);

/// Whether this is a product that cuBLASLt computes (not one that is empty, or over nothing).
bool isCudaLibraryProduct(std::string_view name, std::span<const int64_t> integers);

/// Whether this is a convolution that cuDNN computes, where there is one (not one that is empty, or over nothing). planCudaLaunches has
/// launches for it all the same.
bool isCudaLibraryConvolution(std::string_view name, std::span<const int64_t> integers, const CudaOptions &options);

/// Bytes of the workspace that a dispatch has as one more write, the last; where 0, there is no such write.
uint64_t cudaWorkspaceBytes(std::string_view name, std::span<const int64_t> integers, const CudaOptions &options);

/// The text of a file of lib/Runtime/Kernels/CUDA ("Gather.cuh"), which stands behind lib/Codegen/CUDA/Prelude.cuh; empty where
/// there is none of that name.
std::string_view cudaLibrarySource(std::string_view file);

/// What kernels tell the host in device memory: an index outside its axis, of the first launch that met any. Which one of that launch is
/// kept, is left to the device. All zeros: none. The executor reads it with the results of a step.
struct CudaStatus {
  uint32_t raised;
  uint32_t kernel; ///< 1 gather, 2 scatter_add, 3 scatter
  uint64_t command;
  int64_t position, index, size; ///< of the axis
};

/// Success, or BadInput as the CPU's kernels say it: "gather: index 7 at position 3 is outside [0, 5)".
Status toStatus(const CudaStatus &status);

/// A library kernel with its parameters bound, launched any number of times.
class CudaKernel {
public:
  virtual ~CudaKernel() = default;
  /// Puts the work on `stream` (a CUstream). `pointers`: device addresses, reads, then writes with the workspace, where
  /// cudaWorkspaceBytes is not 0. May be called while the stream is captured. What was given to prepareCudaKernel is aligned alike.
  virtual Status enqueue(void *stream, void *const *pointers) = 0;
  /// Which algorithm a library was told to use, for people: "cublaslt 66 tile 20 stages 35 split_k 1"; empty for kernels of our own.
  virtual std::string algorithmText() const { return ""; }
  /// Bytes of workspace that a library would take for what it ranks first; 0 where that is what it does.
  virtual uint64_t wantedWorkspaceBytes() const { return 0; }
  /// Why it is a kernel of our own although the program asks for a library's; else empty.
  virtual std::string insteadOfLibrary() const { return ""; }
};

/// Where a prepared kernel runs.
struct CudaKernelPlace {
  StreamDevice &device;
  DeviceModule &module; ///< of the program: holds the symbols of planCudaLaunches
  void *status;         ///< device address of a CudaStatus
  uint32_t command;     ///< the number that errors name
  std::string withoutCudnn = ""; ///< why convolutions are not cuDNN's whatever the program asks for; empty: they are
};

/// The version of cuDNN, "9.19.0", which the first call loads; BadInput that says why there is none.
Expected<std::string> findCudnn();

/// Prepares the kernel of that name. `pointers` as `enqueue` takes them: of products and convolutions the algorithm may depend on what they
/// are multiples of, and on the device.
Expected<std::unique_ptr<CudaKernel>> prepareCudaKernel(std::string_view name, std::span<const int64_t> integers,
                                                        std::span<const double> reals, std::span<void *const> pointers,
                                                        const CudaOptions &options, const CudaKernelPlace &place);

} // namespace zero

#endif
