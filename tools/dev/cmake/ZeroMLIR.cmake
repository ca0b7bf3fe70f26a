# Finds MLIR 22 and prepares everything that targets which include MLIR need.
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "zero needs MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}; apt-get install libmlir-22-dev")
endif()
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(zero_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${zero_llvm_definitions})
# libMLIR.so and libLLVM.so stand outside the loader's path.
set(CMAKE_INSTALL_RPATH ${LLVM_LIBRARY_DIR})
set(CMAKE_BUILD_RPATH ${LLVM_LIBRARY_DIR})

# One precompiled header for every compiler library.
add_library(zero_pch STATIC ${CMAKE_SOURCE_DIR}/tools/dev/cmake/pch.cpp)
# System headers only: a change of ours never rebuilds it.
target_precompile_headers(zero_pch PRIVATE
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/IR/Attributes.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinAttributes.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/BuiltinTypes.h>
  <mlir/IR/Dialect.h>
  <mlir/IR/DialectImplementation.h>
  <mlir/IR/IRMapping.h>
  <mlir/IR/Matchers.h>
  <mlir/IR/OpDefinition.h>
  <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h>
  <mlir/IR/SymbolTable.h>
  <mlir/Interfaces/InferTypeOpInterface.h>
  <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h>
  <llvm/ADT/DenseMap.h>
  <llvm/ADT/MapVector.h>
  <llvm/ADT/SetVector.h>
  <llvm/ADT/SmallVector.h>
  <llvm/ADT/StringMap.h>
  <llvm/ADT/TypeSwitch.h>
  <llvm/Support/FormatVariadic.h>
  <llvm/Support/JSON.h>
  <llvm/Support/raw_ostream.h>)
