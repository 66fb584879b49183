// safetensors files: named tensors behind a JSON header (docs/formats/safetensors.md).
//
// Reading checks everything the format promises before a tensor is allocated: the header's length
// and JSON, element types, sizes against shapes, and that the tensors cover the data without hole
// or overlap. Both directions stream: nothing but the header and the tensors wanted is in memory.
// What tensors are called and what they mean is not this file's business.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "checkpoints/element_type.h"
#include "io/file.h"

namespace headwater {

using TensorMap = std::map<std::string, Tensor, std::less<>>;
using SafetensorsMetadata = std::map<std::string, std::string>;

// One tensor of the header. The format knows more element types than a graph computes with:
// `dtype` is empty for those, and reading such a tensor is an error.
struct TensorEntry {
  std::string name;
  std::string_view type;  // the format's spelling: "F32", "BF16", ...
  std::optional<DType> dtype;
  Shape shape;
  int64_t begin = 0, end = 0;  // bytes, counted from the start of the data
};

// Reads a header at once and the tensors behind it in the order of the file.
class SafetensorsReader {
 public:
  static Result<SafetensorsReader> open(FileSystem& fs, const std::string& path);
  // The same over any source of `size` bytes; `name` stands in messages.
  static Result<SafetensorsReader> open(std::unique_ptr<ByteSource> source, int64_t size,
                                        std::string name);

  const std::vector<TensorEntry>& entries() const { return entries_; }  // in file order
  const SafetensorsMetadata& metadata() const { return metadata_; }
  // The tensor of entries()[index]; indices must rise from call to call, others are read over.
  Result<Tensor> read(size_t index);
  // Reads over what is left, so that a source that counts or checks has seen the whole file.
  Result<> finish();

 private:
  SafetensorsReader() = default;
  Result<> skip_to(int64_t position);

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<TensorEntry> entries_;
  SafetensorsMetadata metadata_;
  int64_t position_ = 0, data_size_ = 0;  // within the data
};

// All tensors of a file, or those whose name `wanted` accepts, in the order of the file.
using TensorFilter = std::function<bool(std::string_view name)>;
Result<std::vector<NamedTensor>> read_safetensors(FileSystem& fs, const std::string& path,
                                                  const TensorFilter& wanted = nullptr);
Result<TensorMap> read_safetensors_map(FileSystem& fs, const std::string& path,
                                       const TensorFilter& wanted = nullptr);

// A tensor to be written: a name and borrowed bytes.
struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const uint8_t> bytes;

  static TensorView of(std::string name, const Tensor& tensor) {
    return {std::move(name), tensor.dtype(), tensor.shape(), tensor.bytes()};
  }
};

// What is to be written of a tensor that is not in memory yet.
struct TensorPlan {
  std::string name;
  ElementType type = ElementType::kF32;
  Shape shape;
};
// Writes the bytes of one tensor, all of them, to the sink.
using TensorProducer = std::function<Result<>(const TensorPlan& tensor, ByteSink& sink)>;

// Writes header and data to `sink` (and does not close it): tensors by falling alignment of their
// element type, then by name, the header padded to 8 bytes, so that every tensor is aligned. A name
// twice is an error. The default metadata is what transformers asks for.
Result<> write_safetensors(ByteSink& sink, std::vector<TensorView> tensors,
                           const SafetensorsMetadata& metadata = {{"format", "pt"}});
// The same for tensors that are made one after the other while they are written; `produce` is asked
// for them in the order of the file.
Result<> write_safetensors(ByteSink& sink, std::vector<TensorPlan> tensors,
                           const TensorProducer& produce,
                           const SafetensorsMetadata& metadata = {{"format", "pt"}});
// Into a file that appears under its name only when complete.
Result<> write_safetensors_file(FileSystem& fs, const std::string& path,
                                std::vector<TensorView> tensors,
                                const SafetensorsMetadata& metadata = {{"format", "pt"}});

std::vector<TensorView> tensor_views(std::span<const NamedTensor> tensors);

}  // namespace headwater
