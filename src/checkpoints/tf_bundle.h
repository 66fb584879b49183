// TensorFlow checkpoints ("V2", a tensor bundle): `<prefix>.index`, a sorted table of tensors, and
// `<prefix>.data-00000-of-00001` with their bytes (docs/formats/tensorflow-checkpoint.md). Names of
// TensorFlow 1 and object-based ones, partitioned variables, several data files, either byte order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "checkpoints/element_type.h"
#include "checkpoints/weights_source.h"
#include "io/file.h"

namespace headwater {

// Checks the index and that every tensor lies within its data file; checksums of tensors when they
// are read.
Result<std::unique_ptr<WeightsSource>> open_tf_bundle(FileSystem& fs, const std::string& prefix);

std::string tf_index_path(std::string_view prefix);
std::string tf_data_path(std::string_view prefix, int64_t shard, int64_t shards);

// TensorFlow's number of an element type; empty for what checkpoints of models do not hold
// (quantised types, references, resources) and, the other way, for what TensorFlow does not have.
std::optional<ElementType> element_type_from_tf(int32_t dtype);
std::optional<int32_t> tf_dtype(ElementType type);

// Tensors of texts are stored as lengths, a checksum of the lengths, and the texts.
struct TfTexts {
  std::vector<std::string_view> texts;  // borrowed from the bytes
  uint32_t crc = 0;                     // of the tensor, unmasked: not the CRC of its bytes
};
Result<TfTexts> decode_tf_texts(std::span<const uint8_t> bytes, int64_t count);

// The key of one slice of a partitioned tensor: a slice is named by its extents, `length` -1 being
// the whole dimension.
struct TfExtent {
  int64_t start = 0, length = -1;
};
std::string tf_slice_key(std::string_view name, std::span<const TfExtent> extents);

}  // namespace headwater
