//===- HostTensorTests.cpp - Storage, rounding, attributes ----------------===//
#include "zero/Reference/HostTensor.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zero::reference;

namespace {

class HostTensorTest : public ::testing::Test {
protected:
  RankedTensorType typeOf(Type element, ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  }
  MLIRContext context;
  Builder builder{&context};
};

TEST_F(HostTensorTest, StartsAtZeroWithOneByteForABool) {
  EXPECT_EQ(HostTensor(typeOf(builder.getI1Type(), {9})).getBytes().size(), 9u);
  EXPECT_EQ(HostTensor(typeOf(builder.getBF16Type(), {3})).getBytes().size(), 6u);
  EXPECT_EQ(HostTensor(typeOf(builder.getF32Type(), {0, 5})).getBytes().size(), 0u);
  EXPECT_EQ(HostTensor(typeOf(builder.getF32Type(), {})).getFloat(0), 0.0);
}

TEST_F(HostTensorTest, FloatsRoundToNearestEvenOnce) {
  HostTensor narrow(typeOf(builder.getBF16Type(), {5}));
  double values[] = {257.0, 259.0, -0.0, 1e40, std::ldexp(1.0, -133)};
  for (int64_t i = 0; i < 5; ++i)
    narrow.setFloat(i, values[i]);
  EXPECT_EQ(narrow.getFloat(0), 256.0);
  EXPECT_EQ(narrow.getFloat(1), 260.0);
  EXPECT_TRUE(std::signbit(narrow.getFloat(2)));
  EXPECT_EQ(narrow.getFloat(3), std::numeric_limits<double>::infinity());
  EXPECT_EQ(narrow.getFloat(4), std::ldexp(1.0, -133)); // the smallest subnormal
  // 1 + 2^-8 + 2^-30 lies above the middle of two neighbours; by way of an f32 it would be the middle and go
  // down.
  narrow.setFloat(0, 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -30));
  EXPECT_EQ(narrow.getFloat(0), 1.0 + std::ldexp(1.0, -7));

  HostTensor half(typeOf(builder.getF16Type(), {2}));
  half.setFloat(0, 65504.0);
  half.setFloat(1, 65520.0);
  EXPECT_EQ(half.getFloat(0), 65504.0);
  EXPECT_TRUE(std::isinf(half.getFloat(1)));
}

TEST_F(HostTensorTest, IntegersKeepTheLowBits) {
  HostTensor tensor(typeOf(builder.getI8Type(), {1}));
  tensor.setInt(0, 0x1FF);
  EXPECT_EQ(tensor.getInt(0), -1);
  HostTensor byte(typeOf(builder.getIntegerType(8, /*isSigned=*/false), {1}));
  byte.setInt(0, 0x1FF);
  EXPECT_EQ(byte.getInt(0), 255);
  HostTensor flag(typeOf(builder.getI1Type(), {1}));
  flag.setInt(0, 3);
  EXPECT_EQ(flag.getInt(0), 1);
  HostTensor wide(typeOf(builder.getI64Type(), {1}));
  wide.setInt(0, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(wide.getInt(0), std::numeric_limits<int64_t>::min());
  HostTensor unsignedWide(typeOf(builder.getIntegerType(64, /*isSigned=*/false), {1}));
  unsignedWide.setInt(0, -1);
  EXPECT_EQ(static_cast<uint64_t>(unsignedWide.getInt(0)), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(unsignedWide.isUnsigned());
  EXPECT_FALSE(wide.isUnsigned());
}

TEST_F(HostTensorTest, AttributesComeBack) {
  auto floats = HostTensor::get<float>(typeOf(builder.getF32Type(), {2, 2}), {1.0f, -0.0f, 3.5f, 4.0f});
  DenseElementsAttr attribute = floats.toAttribute();
  EXPECT_FALSE(attribute.isSplat());
  auto again = HostTensor::fromAttribute(attribute);
  ASSERT_TRUE(succeeded(again));
  EXPECT_EQ(again->getBytes(), floats.getBytes());

  // -0.0 and 0.0 are other bits: no splat.
  EXPECT_FALSE(
      HostTensor::get<float>(typeOf(builder.getF32Type(), {2}), {0.0f, -0.0f}).toAttribute().isSplat());

  auto splat = HostTensor::get<int64_t>(typeOf(builder.getI64Type(), {3}), {7, 7, 7});
  EXPECT_TRUE(splat.toAttribute().isSplat());
  EXPECT_EQ(HostTensor::fromAttribute(splat.toAttribute())->getValues<int64_t>(),
            ArrayRef<int64_t>({7, 7, 7}));

  auto flags = HostTensor::get<bool>(typeOf(builder.getI1Type(), {9}), {1, 0, 1, 1, 0, 0, 0, 1, 1});
  EXPECT_EQ(HostTensor::fromAttribute(flags.toAttribute())->getBytes(), flags.getBytes());

  HostTensor empty(typeOf(builder.getF32Type(), {0, 3}));
  EXPECT_EQ(HostTensor::fromAttribute(empty.toAttribute())->getType(), empty.getType());
}

TEST_F(HostTensorTest, ResourcesAreRead) {
  auto type = typeOf(builder.getF32Type(), {2});
  float values[] = {1.0f, 2.0f};
  auto resource = DenseResourceElementsAttr::get(
      type, "weights",
      HeapAsmResourceBlob::allocateAndCopyWithAlign(ArrayRef<char>((const char *)values, 8), 4));
  auto tensor = HostTensor::fromAttribute(resource);
  ASSERT_TRUE(succeeded(tensor));
  EXPECT_EQ(tensor->getFloat(1), 2.0);

  auto shortOne = DenseResourceElementsAttr::get(
      type, "short",
      HeapAsmResourceBlob::allocateAndCopyWithAlign(ArrayRef<char>((const char *)values, 4), 4));
  EXPECT_TRUE(failed(HostTensor::fromAttribute(shortOne)));
}

} // namespace
