// Element types, shapes and host tensors: what graphs, executors and checkpoints have in common.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headwater {

// Element types that a graph computes with. Files may hold more; checkpoints/ converts them.
enum class DType : uint8_t { kF32, kI32, kU32, kPred, kI64, kBF16, kF16, kF64, kU8 };

int64_t dtype_size(DType dtype);           // bytes per element
std::string_view dtype_name(DType dtype);  // "f32", "i32", "u32", "pred", ...

// Row-major extents; a scalar has rank 0.
using Shape = std::vector<int64_t>;
int64_t element_count(std::span<const int64_t> shape);
// The same for shapes read from files: negative extents and overflow are errors.
Result<int64_t> checked_element_count(std::span<const int64_t> shape);
std::string shape_text(std::span<const int64_t> shape);  // "[32, 128]"

// 64-byte aligned memory, zero-initialised on allocation.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t bytes);
  AlignedBuffer(const AlignedBuffer& other);
  AlignedBuffer& operator=(const AlignedBuffer& other);
  AlignedBuffer(AlignedBuffer&&) noexcept = default;
  AlignedBuffer& operator=(AlignedBuffer&&) noexcept = default;
  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* p) const;
  };
  std::unique_ptr<uint8_t, Free> data_;
  int64_t size_ = 0;
};

// A dense row-major tensor in host memory.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape);  // zeros
  static Tensor f32(Shape shape, std::span<const float> values);
  static Tensor i32(Shape shape, std::span<const int32_t> values);
  static Tensor scalar(float value) { return f32({}, std::span(&value, 1)); }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  int64_t byte_size() const { return size_ * dtype_size(dtype_); }
  uint8_t* data() { return buffer_.data(); }
  const uint8_t* data() const { return buffer_.data(); }
  std::span<const uint8_t> bytes() const { return {data(), static_cast<size_t>(byte_size())}; }
  // Typed views; the type must be the tensor's own.
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data()), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data()), static_cast<size_t>(size_)};
  }

 private:
  DType dtype_ = DType::kF32;
  Shape shape_;
  int64_t size_ = 0;
  AlignedBuffer buffer_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace headwater
