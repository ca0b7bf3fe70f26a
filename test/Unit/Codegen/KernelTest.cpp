//===- KernelTest.cpp - What is said of kernels, and the object they are in ---===//
#include "KernelHarness.h"
#include "dialects/Plan/PlanOps.h"
#include "lib/Codegen/ObjectCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/resource.h>

using namespace mlir;
using namespace zero;
using namespace zero::test;

namespace {

OwningOpRef<ModuleOp> parse(MLIRContext &context, const std::string &text) {
  context.loadDialect<func::FuncDialect, nn::NNDialect, plan::PlanDialect>();
  return parseSourceString<ModuleOp>(text, &context);
}

const char *const kSoftmax = R"(
  func.func private @body(%x: tensor<4x100xf32>) -> tensor<4x100xf32> {
    %0 = nn.softmax %x axis 1 : tensor<4x100xf32>
    return %0 : tensor<4x100xf32>
  }
  plan.kernel @softmax {body_function = @body, items = 4 : i64}
)";

TEST(Kernels, InPlace) {
  Program softmax(
      R"(func.func @f(%x: tensor<4x100xf32>, %y: tensor<4xf32>) -> (tensor<4x100xf32>, tensor<4xf32>) {
    %0 = nn.softmax %x axis 1 : tensor<4x100xf32>
    %1 = nn.reduce sum %0 axes [1] : tensor<4x100xf32> to tensor<4xf32>
    %2 = nn.add %1, %y : tensor<4xf32>
    return %0, %2 : tensor<4x100xf32>, tensor<4xf32>
  })");
  ASSERT_EQ(softmax.countKernels(), 1);
  EXPECT_TRUE(canComputeInPlace(softmax.getBody(0), 0, 0));
  EXPECT_TRUE(canComputeInPlace(softmax.getBody(0), 1, 1));
  EXPECT_FALSE(canComputeInPlace(softmax.getBody(0), 0, 1));
  EXPECT_FALSE(canComputeInPlace(softmax.getBody(0), 1, 0));

  // The exponentials are written before the last pass reads the operand again.
  Program early(R"(func.func @f(%x: tensor<4x100xf32>) -> (tensor<4x100xf32>, tensor<4x100xf32>) {
    %0 = nn.exp %x : tensor<4x100xf32>
    %1 = nn.reduce sum %0 axes [1] : tensor<4x100xf32> to tensor<4xf32>
    %2 = nn.broadcast %1 dims [0] : tensor<4xf32> to tensor<4x100xf32>
    %3 = nn.mul %x, %2 : tensor<4x100xf32>
    return %0, %3 : tensor<4x100xf32>, tensor<4x100xf32>
  })");
  ASSERT_EQ(early.countKernels(), 1);
  EXPECT_FALSE(canComputeInPlace(early.getBody(0), 0, 0));
  EXPECT_TRUE(canComputeInPlace(early.getBody(0), 0, 1));

  // An element of the bias is read for every row; widths differ; a sum of columns is written while rows are
  // read.
  Program broadcast(R"(func.func @f(%x: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
    %0 = nn.broadcast %b dims [1] : tensor<4xf32> to tensor<4x4xf32>
    %1 = nn.add %x, %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  })");
  unsigned bias =
      broadcast.getBody(0).getArgument(0).getType() != broadcast.getBody(0).getResultTypes()[0] ? 0 : 1;
  EXPECT_FALSE(canComputeInPlace(broadcast.getBody(0), bias, 0));
  EXPECT_TRUE(canComputeInPlace(broadcast.getBody(0), 1 - bias, 0));
  Program widths("func.func @f(%x: tensor<4xf32>) -> tensor<4xi64> {\n  %0 = nn.cast %x : tensor<4xf32> to "
                 "tensor<4xi64>\n"
                 "  return %0 : tensor<4xi64>\n}");
  EXPECT_FALSE(canComputeInPlace(widths.getBody(0), 0, 0));
  Program columns(R"(func.func @f(%x: tensor<8x4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = nn.reduce sum %x axes [0] : tensor<8x4xf32> to tensor<4xf32>
    %1 = nn.add %0, %y : tensor<4xf32>
    return %1 : tensor<4xf32>
  })");
  ASSERT_EQ(columns.countKernels(), 1);
  EXPECT_FALSE(canComputeInPlace(columns.getBody(0), 1, 0));
}

TEST(Kernels, Fingerprint) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parse(context, R"(
    func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.exp %x : tensor<4xf32> loc("one")
      return %0 : tensor<4xf32>
    }
    func.func private @b(%y: tensor<4xf32> {nn.role = #nn.role<parameter "y">}) -> tensor<4xf32> attributes {label = "b"} {
      %other = nn.exp %y : tensor<4xf32> loc("another")
      return %other : tensor<4xf32>
    }
    func.func private @c(%x: tensor<5xf32>) -> tensor<5xf32> {
      %0 = nn.exp %x : tensor<5xf32>
      return %0 : tensor<5xf32>
    })");
  auto fingerprint = [&](StringRef name) {
    return getKernelFingerprint(module->lookupSymbol<func::FuncOp>(name));
  };
  EXPECT_EQ(fingerprint("a"), fingerprint("b"));
  EXPECT_NE(fingerprint("a"), fingerprint("c"));
}

TEST(Kernels, Unsupported) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto whyOf = [&](const std::string &body) {
    OwningOpRef<ModuleOp> module = parse(context, body);
    std::string why;
    EXPECT_FALSE(isCodegenSupported(module->lookupSymbol<func::FuncOp>("f"), &why));
    return why;
  };
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = nn.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  })"),
            "nn.matmul: is not elementwise, a broadcast or a reduction");
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = nn.exp %x : tensor<?xf32>
    return %0 : tensor<?xf32>
  })"),
            "nn.exp: type tensor<?xf32> has no static shape");
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = nn.add %x, %0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  })"),
            "nn.constant: only a splat may be inside a kernel");
  // One tensor along two dimensions, both directions at once, and a result that every row would write.
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<4xf32>) -> tensor<4x4xf32> {
    %0 = nn.broadcast %x dims [0] : tensor<4xf32> to tensor<4x4xf32>
    %1 = nn.broadcast %x dims [1] : tensor<4xf32> to tensor<4x4xf32>
    %2 = nn.add %0, %1 : tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  })"),
            "a value of type tensor<4xf32> is read along two different dimensions");
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
    %0 = nn.reduce sum %x axes [1] : tensor<4x5xf32> to tensor<4xf32>
    %1 = nn.reduce sum %x axes [0] : tensor<4x5xf32> to tensor<5xf32>
    return %0, %1 : tensor<4xf32>, tensor<5xf32>
  })"),
            "a value of type tensor<4x5xf32> is reduced along other dimensions than another value");
  EXPECT_EQ(
      whyOf(
          R"(func.func private @f(%x: tensor<4x5xf32>, %y: tensor<5xf32>) -> (tensor<4x5xf32>, tensor<5xf32>) {
    %0 = nn.exp %y : tensor<5xf32>
    %1 = nn.broadcast %0 dims [1] : tensor<5xf32> to tensor<4x5xf32>
    %2 = nn.add %x, %1 : tensor<4x5xf32>
    return %2, %0 : tensor<4x5xf32>, tensor<5xf32>
  })"),
      "a value of type tensor<5xf32> is a result that more than one item would write");
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<4x5x6xf32>) -> tensor<5xf32> {
    %0 = nn.reduce sum %x axes [0, 2] : tensor<4x5x6xf32> to tensor<5xf32>
    return %0 : tensor<5xf32>
  })"),
            "a value of type tensor<4x5x6xf32> is reduced along dimensions that are not neighbours");
  EXPECT_EQ(
      whyOf(
          R"(func.func private @f(%x: tensor<4x5xf32>, %y: tensor<7xf32>) -> (tensor<4x5xf32>, tensor<7xf32>) {
    %0 = nn.exp %x : tensor<4x5xf32>
    %1 = nn.exp %y : tensor<7xf32>
    return %0, %1 : tensor<4x5xf32>, tensor<7xf32>
  })"),
      "a value of type tensor<7xf32> has no place in the iteration space of the others");
  // Rows cannot be reduced beside columns, nor what columns give be repeated over them.
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<4x5xf32>, %y: tensor<4xf32>) -> tensor<5xf32> {
    %0 = nn.broadcast %y dims [0] : tensor<4xf32> to tensor<4x5xf32>
    %1 = nn.mul %x, %0 : tensor<4x5xf32>
    %2 = nn.reduce sum %1 axes [0] : tensor<4x5xf32> to tensor<5xf32>
    %3 = nn.reduce sum %y axes [0] : tensor<4xf32> to tensor<f32>
    %4 = nn.broadcast %3 dims [] : tensor<f32> to tensor<5xf32>
    %5 = nn.mul %2, %4 : tensor<5xf32>
    return %5 : tensor<5xf32>
  })"),
            "a value of type tensor<4xf32> is reduced and has no columns");
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
    %0 = nn.reduce sum %x axes [0] : tensor<4x5xf32> to tensor<5xf32>
    %1 = nn.broadcast %0 dims [1] : tensor<5xf32> to tensor<4x5xf32>
    %2 = nn.mul %x, %1 : tensor<4x5xf32>
    return %2 : tensor<4x5xf32>
  })"),
            "a value of type tensor<4x5xf32> repeats a column reduction over the rows");
  EXPECT_EQ(whyOf(R"(func.func private @f() -> tensor<f32> {
    %0 = nn.constant dense<1.0> : tensor<4xf32>
    %1 = nn.reduce sum %0 axes [0] : tensor<4xf32> to tensor<f32>
    return %1 : tensor<f32>
  })"),
            "a value of type tensor<4xf32> is a constant that is reduced");
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<4x0xf32>) -> tensor<4xf32> {
    %0 = nn.reduce sum %x axes [1] : tensor<4x0xf32> to tensor<4xf32>
    %1 = nn.neg %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  })"),
            "a value of type tensor<4xf32> is computed beside a tensor without elements");
  // Ten elements, of which five follow each other, as five by two.
  EXPECT_EQ(whyOf(R"(func.func private @f(%x: tensor<2x5xf32>, %y: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
    %0 = nn.reshape %x : tensor<2x5xf32> to tensor<5x2xf32>
    %1 = nn.reduce sum %0 axes [1] : tensor<5x2xf32> to tensor<5xf32>
    %2 = nn.broadcast %1 dims [2] : tensor<5xf32> to tensor<2x3x5xf32>
    %3 = nn.broadcast %x dims [0, 2] : tensor<2x5xf32> to tensor<2x3x5xf32>
    %4 = nn.add %2, %3 : tensor<2x3x5xf32>
    %5 = nn.add %4, %y : tensor<2x3x5xf32>
    return %5 : tensor<2x3x5xf32>
  })"),
            "a value of type tensor<5x2xf32> has dimensions that cross those of the kernel");
}

TEST(Kernels, ObjectStandsAlone) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parse(context, kSoftmax);
  for (CpuVariant variant : {CpuVariant::X86_64_V3, CpuVariant::X86_64_V4}) {
    Expected<std::string> bytes = compileKernels(*module, variant);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(*bytes, "kernels"));
    ASSERT_TRUE(bool(object));
    auto &elf = llvm::cast<llvm::object::ELF64LEObjectFile>(**object);
    std::vector<std::string> symbols;
    for (const llvm::object::SymbolRef &symbol : elf.getDynamicSymbolIterators()) {
      EXPECT_FALSE(*symbol.getFlags() & llvm::object::SymbolRef::SF_Undefined);
      symbols.push_back(symbol.getName()->str());
    }
    llvm::sort(symbols);
    EXPECT_EQ(symbols, (std::vector<std::string>{"softmax", "softmax_takes"}));
    auto entries = elf.getELFFile().dynamicEntries();
    ASSERT_TRUE(bool(entries));
    for (const auto &entry : *entries)
      EXPECT_NE(entry.getTag(), llvm::ELF::DT_NEEDED);
  }
}

TEST(Kernels, SameInputSameBytes) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parse(context, kSoftmax);
  EXPECT_EQ(*compileKernels(*module, CpuVariant::X86_64_V3), *compileKernels(*module, CpuVariant::X86_64_V3));
}

TEST(Kernels, Errors) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto messageOf = [&](const std::string &text) {
    OwningOpRef<ModuleOp> module = parse(context, text);
    Expected<std::string> bytes = compileKernels(*module, CpuVariant::X86_64_V3);
    EXPECT_FALSE(bytes.ok());
    return bytes.status().message();
  };
  EXPECT_EQ(messageOf("plan.kernel @k {body_function = @missing, items = 1 : i64}"),
            "kernel k: there is no body function missing");
  EXPECT_EQ(messageOf(R"(
    func.func private @body(%x: tensor<?xbf16>) -> tensor<?xbf16> {
      %0 = nn.neg %x : tensor<?xbf16>
      return %0 : tensor<?xbf16>
    }
    plan.kernel @k {body_function = @body, items = 1 : i64})"),
            "kernel k: nn.neg: type tensor<?xbf16> has no static shape");
}

TEST(Kernels, LinkerErrors) {
  auto messageOf = [](const std::string &object) { return linkSharedObject(object).status().message(); };
  auto with = [](const char *variable, const char *value, llvm::function_ref<void()> body) {
    const char *old = getenv(variable);
    std::string saved = old ? old : "";
    setenv(variable, value, 1);
    body();
    old ? setenv(variable, saved.c_str(), 1) : unsetenv(variable);
  };
  EXPECT_THAT(messageOf("no object"), testing::HasSubstr("ld.bfd failed: "));
  with("PATH", "/nonexistent", [&] {
    EXPECT_EQ(messageOf(""),
              "generated kernels are linked by ld.bfd or ld.lld, neither of which is on the PATH; apt-get install binutils");
  });
  with("TMPDIR", "/nonexistent",
       [&] { EXPECT_EQ(messageOf(""), "no temporary file for generated kernels could be made"); });
  // A full disk.
  auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit saved, none = {0, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &saved);
  none.rlim_max = saved.rlim_max;
  setrlimit(RLIMIT_FSIZE, &none);
  std::string message = messageOf("some bytes");
  setrlimit(RLIMIT_FSIZE, &saved);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, testing::MatchesRegex("writing .*zero-kernels.*[.]o failed: File too large"));
}

TEST(Kernels, LoweringErrors) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, LLVM::LLVMDialect>();
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto messageOf = [&](const std::string &text) {
    OwningOpRef<ModuleOp> module = parse(context, text);
    return compileObject(*module, CpuVariant::X86_64_V3).status().message();
  };
  EXPECT_EQ(messageOf("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}"),
            "generated kernels could not be lowered to LLVM IR");
}

} // namespace
