// Shapes, sizes with overflow, host tensors.
#include "base/tensor.h"

#include <gtest/gtest.h>

#include <limits>

namespace headwater {
namespace {

TEST(Tensor, ShapesAndSizes) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(shape_text(Shape{32, 128}), "[32, 128]");
  EXPECT_EQ(dtype_size(DType::kF32), 4);
  EXPECT_EQ(dtype_name(DType::kI32), "i32");
}

TEST(Tensor, SizesFromFilesAreChecked) {
  EXPECT_EQ(checked_element_count(Shape{2, 0, 5}).value(), 0);
  EXPECT_FALSE(checked_element_count(Shape{2, -1}));
  EXPECT_FALSE(checked_element_count(Shape{int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(checked_element_count(Shape{std::numeric_limits<int64_t>::max(), 2}));
}

TEST(Tensor, ValuesAreZeroAlignedAndCopied) {
  Tensor zeros(DType::kF32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(zeros.data()) % 64, 0u);
  for (const float value : zeros.as<float>()) EXPECT_EQ(value, 0);
  const std::vector<float> values = {1, 2, 3, 4};
  Tensor tensor = Tensor::f32({2, 2}, values);
  Tensor copy = tensor;
  copy.as<float>()[0] = 9;
  EXPECT_EQ(tensor.as<float>()[0], 1);
  const Tensor moved = std::move(copy);
  EXPECT_EQ(moved.as<float>()[0], 9);
  EXPECT_EQ(moved.byte_size(), 16);
  tensor = moved;
  EXPECT_EQ(tensor.as<float>()[0], 9);
  EXPECT_EQ(Tensor::scalar(2.5f).as<float>()[0], 2.5f);
  EXPECT_EQ(Tensor::scalar(2.5f).size(), 1);
  EXPECT_EQ(Tensor().size(), 0);
}

TEST(Tensor, EmptyTensors) {
  const Tensor empty(DType::kI32, {0, 7});
  EXPECT_EQ(empty.size(), 0);
  EXPECT_TRUE(empty.bytes().empty());
  const Tensor copy = empty;
  EXPECT_EQ(copy.shape(), (Shape{0, 7}));
}

}  // namespace
}  // namespace headwater
