#include "base/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/checked.h"

namespace headwater {

int64_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kPred:
    case DType::kU8: return 1;
    case DType::kI64:
    case DType::kF64: return 8;
    case DType::kBF16:
    case DType::kF16: return 2;
  }
  return 0;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "f32";
    case DType::kI32: return "i32";
    case DType::kU32: return "u32";
    case DType::kPred: return "pred";
    case DType::kI64: return "i64";
    case DType::kBF16: return "bf16";
    case DType::kF16: return "f16";
    case DType::kF64: return "f64";
    case DType::kU8: return "u8";
  }
  return "?";
}

int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

Result<int64_t> checked_element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0)
      return fail(Code::kInvalidArgument, "negative extent in shape {}", shape_text(shape));
    const auto product = checked_mul(count, extent);
    if (!product) return fail(Code::kInvalidArgument, "shape {} is too large", shape_text(shape));
    count = *product;
  }
  return count;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + "]";
}

void AlignedBuffer::Free::operator()(uint8_t* p) const { std::free(p); }

AlignedBuffer::AlignedBuffer(int64_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  // Not std::aligned_alloc(): that wants a multiple of 64 bytes, behind which the address sanitizer
  // would not see the first bytes of an overrun.
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, static_cast<size_t>(bytes)) != 0) throw std::bad_alloc();
  std::memset(memory, 0, static_cast<size_t>(bytes));
  data_.reset(static_cast<uint8_t*>(memory));
}

AlignedBuffer::AlignedBuffer(const AlignedBuffer& other) : AlignedBuffer(other.size_) {
  if (size_ > 0) std::memcpy(data(), other.data(), static_cast<size_t>(size_));
}

AlignedBuffer& AlignedBuffer::operator=(const AlignedBuffer& other) {
  if (this != &other) *this = AlignedBuffer(other);
  return *this;
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      size_(element_count(shape_)),
      buffer_(size_ * dtype_size(dtype)) {}

Tensor Tensor::f32(Shape shape, std::span<const float> values) {
  Tensor tensor(DType::kF32, std::move(shape));
  HW_CHECK(tensor.size() == static_cast<int64_t>(values.size()));
  if (!values.empty()) std::memcpy(tensor.data(), values.data(), values.size_bytes());
  return tensor;
}

Tensor Tensor::i32(Shape shape, std::span<const int32_t> values) {
  Tensor tensor(DType::kI32, std::move(shape));
  HW_CHECK(tensor.size() == static_cast<int64_t>(values.size()));
  if (!values.empty()) std::memcpy(tensor.data(), values.data(), values.size_bytes());
  return tensor;
}

}  // namespace headwater
