#include "checkpoints/tf_bundle_writer.h"

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/tensor.h"
#include "checkpoints/tf_bundle.h"
#include "checkpoints/tf_bundle.pb.h"
#include "checkpoints/tf_state.h"
#include "checkpoints/tf_table.h"

namespace headwater {
namespace {

std::string header() {
  tf::BundleHeader header;
  header.set_num_shards(1);
  header.mutable_version()->set_producer(1);
  return header.SerializeAsString();
}

}  // namespace

Result<TfBundleWriter> TfBundleWriter::create(FileSystem& fs, const std::string& prefix) {
  HW_ASSIGN_OR_RETURN(AtomicFile data, AtomicFile::create(fs, tf_data_path(prefix, 0, 1)));
  return TfBundleWriter(fs, prefix, std::move(data));
}

Result<> TfBundleWriter::add(const std::string& name, ElementType type,
                             std::span<const int64_t> shape, std::span<const uint8_t> bytes) {
  const auto dtype = tf_dtype(type);
  HW_ASSIGN_OR_RETURN(const int64_t count, checked_element_count(shape));
  const auto size = static_cast<int64_t>(bytes.size());
  const bool texts = type == ElementType::kString;
  if (!dtype || name.empty() || name.front() == '\0' || entries_.contains(name) ||
      (!texts && checked_mul(count, element_bytes(type)) != size)) {
    return fail(Code::kInvalidArgument,
                "tensor '{}' ({} {}, {} bytes) cannot be written to a TensorFlow checkpoint{}",
                name, element_name(type), shape_text(shape), size,
                entries_.contains(name) ? ": the name is there already" : "");
  }
  uint32_t crc = 0;
  if (texts) {
    HW_ASSIGN_OR_RETURN(const TfTexts decoded, decode_tf_texts(bytes, count));
    crc = decoded.crc;
  } else {
    crc = crc32c(bytes);
  }
  tf::BundleEntry entry;
  entry.set_dtype(*dtype);
  for (const int64_t extent : shape) entry.mutable_shape()->add_dim()->set_size(extent);
  if (shape.empty()) entry.mutable_shape();
  entry.set_offset(offset_);
  entry.set_size(size);
  entry.set_crc32c(mask_crc(crc));
  HW_RETURN_IF_ERROR(data_.sink().write(bytes));
  offset_ += size;
  entries_.emplace(name, entry.SerializeAsString());
  return {};
}

Result<> TfBundleWriter::commit() {
  SortedTableBuilder table;
  table.add("", header());
  for (const auto& [name, entry] : entries_) table.add(name, entry);
  HW_RETURN_IF_ERROR(data_.commit());
  return write_file_atomic(*fs_, tf_index_path(prefix_), std::move(table).finish());
}

Result<> write_tf_state(FileSystem& fs, const std::string& prefix) {
  return write_file_atomic(fs, join_path(directory_name(prefix), "checkpoint"),
                           format_tf_state(base_name(prefix)));
}

}  // namespace headwater
