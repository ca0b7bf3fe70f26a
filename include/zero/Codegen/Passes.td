//===- Passes.td - Passes that show generated code ------------------------===//
#ifndef ZERO_CODEGEN_PASSES_TD
#define ZERO_CODEGEN_PASSES_TD
include "mlir/Pass/PassBase.td"

def PlanEmitKernels : Pass<"plan-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Shows the loops that generated kernels are before they become LLVM IR.";
  let description = [{
    Adds a module @generated with one function of scf, arith, math, vector and llvm ops for each `plan.kernel`: what
    the compiler optimises and writes as an ELF object for each instruction set. For reading; no other pass takes it.

    Input:  `plan.kernel @k {body_function = @body, items = 4 : i64}`
    Output: `module @generated { func.func @k(%pointers, %begin, %end) { scf.for ... } }`
    (* example: test/Codegen/emit-kernels.mlir *)
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def PlanEmitCudaKernels : Pass<"plan-emit-cuda-kernels", "::mlir::ModuleOp"> {
  let summary = "Prints the CUDA C++ of generated kernels.";
  let description = [{
    Prints one `__global__` function for each `plan.kernel` to standard output and changes nothing: what `zero-compile --target=cuda` hands to NVRTC
    behind lib/Codegen/CUDA/Prelude.cuh. Dispatches say how pointers are aligned and which may overlap.

    Input:  `plan.kernel @k {body_function = @body, items = 4 : i64}`
    Output: `extern "C" __global__ void __launch_bounds__(256) k(const float *__restrict__ p0, ..) { .. }`
    (* example: test/Codegen/emit-cuda-kernels.mlir *)
  }];
}
#endif
