#include "checkpoints/tf_bundle.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/checked.h"
#include "base/crc32c.h"
#include "checkpoints/byte_cursor.h"
#include "checkpoints/foreign_file.h"
#include "checkpoints/tf_bundle.pb.h"
#include "checkpoints/tf_slices.h"
#include "checkpoints/tf_table.h"

namespace headwater {
namespace {

constexpr int kMaxRank = 254;  // TensorFlow's own limit
constexpr int32_t kReaderVersion = 1;
constexpr std::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

using enum ElementType;
constexpr std::array<std::pair<int32_t, ElementType>, 18> kDTypes = {{
    {1, kF32},
    {2, kF64},
    {3, kI32},
    {4, kU8},
    {5, kI16},
    {6, kI8},
    {7, kString},
    {8, kC64},
    {9, kI64},
    {10, kBool},
    {14, kBF16},
    {17, kU16},
    {18, kC128},
    {19, kF16},
    {22, kU32},
    {23, kU64},
    {24, kF8E5M2},
    {25, kF8E4M3},
}};

struct Bundle {
  std::string prefix;
  std::map<std::string, tf::BundleEntry, std::less<>> tensors, slices;  // by name, by slice key
  int64_t shard_count = 1;
  bool big_endian = false;
  std::map<int64_t, FileBytes> shards;  // those that hold something
  int64_t data_bytes = 0;               // of all of them
};

Result<> read_header(std::string_view value, Bundle& bundle) {
  tf::BundleHeader header;
  if (!header.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return fail(Code::kDataLoss, "the header entry is damaged");
  }
  if (header.version().min_consumer() > kReaderVersion) {
    return fail(Code::kUnimplemented, "it asks for a reader of version {}, this one has {}",
                header.version().min_consumer(), kReaderVersion);
  }
  // A reader of TensorFlow takes a header without a number for one data file; so does this.
  bundle.shard_count = std::max(header.num_shards(), 1);
  bundle.big_endian = header.endianness() == tf::BundleHeader::BIG;
  return {};
}

Result<> read_entry(std::string_view key, std::string_view value, Bundle& bundle) {
  if (key.empty()) return read_header(value, bundle);
  tf::BundleEntry entry;
  if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return fail(Code::kDataLoss, "the entry of '{}' is damaged", key);
  }
  auto& entries = key.front() == '\0' ? bundle.slices : bundle.tensors;
  entries.emplace(std::string(key), std::move(entry));
  return {};
}

Result<Shape> shape_of(const tf::BundleEntry& entry) {
  if (entry.shape().unknown_rank() || entry.shape().dim_size() > kMaxRank) {
    return fail(Code::kDataLoss, "its shape is unknown or has over {} dimensions", kMaxRank);
  }
  Shape shape;
  for (const auto& dim : entry.shape().dim()) shape.push_back(dim.size());
  return shape;
}

// Bytes of a shape in memory; texts have none.
Result<int64_t> byte_size(const Shape& shape, ElementType type) {
  HW_ASSIGN_OR_RETURN(const int64_t count, checked_element_count(shape));
  const auto bytes = checked_mul(count, element_bytes(type));
  if (!bytes) return fail(Code::kDataLoss, "its shape {} is too large", shape_text(shape));
  return *bytes;
}

// Maps the data file of an entry and checks that it holds what the entry says.
Result<> check_place(FileSystem& fs, const tf::BundleEntry& entry, int64_t expected,
                     ElementType type, Bundle& bundle) {
  if (entry.shard_id() < 0 || entry.shard_id() >= bundle.shard_count) {
    return fail(Code::kDataLoss, "it is in data file {} of {}", entry.shard_id(),
                bundle.shard_count);
  }
  if (type != kString && entry.size() != expected) {
    return fail(Code::kDataLoss, "its entry says {} bytes, its shape and type take {}",
                entry.size(), expected);
  }
  const std::string path = tf_data_path(bundle.prefix, entry.shard_id(), bundle.shard_count);
  auto found = bundle.shards.find(entry.shard_id());
  if (found == bundle.shards.end()) {
    HW_ASSIGN_OR_RETURN(FileBytes file, fs.map(path));
    bundle.data_bytes += file.size();
    found = bundle.shards.emplace(entry.shard_id(), std::move(file)).first;
  }
  const auto bytes = slice_of(found->second.bytes(), static_cast<uint64_t>(entry.offset()),
                              static_cast<uint64_t>(entry.size()));
  if (!bytes) {
    HW_RETURN_IF_ERROR(refuse_pointer_file(found->second.bytes(), path));
    return fail_hint(Code::kDataLoss, "copy or download it again",
                     "it should take {} bytes from byte {} on, {} has only {}", entry.size(),
                     entry.offset(), path, found->second.size());
  }
  return {};
}

Result<WeightEntry> check_tensor(FileSystem& fs, const std::string& name,
                                 const tf::BundleEntry& entry, Bundle& bundle) {
  const auto type = element_type_from_tf(entry.dtype());
  if (!type) {
    return fail(Code::kUnimplemented,
                "its element type has TensorFlow's number {}, which is not "
                "supported",
                entry.dtype());
  }
  WeightEntry weight;
  weight.name = name;
  weight.type = *type;
  HW_ASSIGN_OR_RETURN(weight.shape, shape_of(entry));
  HW_ASSIGN_OR_RETURN(weight.bytes, byte_size(weight.shape, *type));
  if (entry.slices().empty()) {
    HW_RETURN_IF_ERROR(check_place(fs, entry, weight.bytes, *type, bundle));
    if (*type == kString) weight.bytes = entry.size();
    return weight;
  }
  if (*type == kString) return fail(Code::kUnimplemented, "it is a partitioned tensor of texts");
  for (const auto& slice : entry.slices()) {
    HW_ASSIGN_OR_RETURN(const TfSlice place, resolve_slice(slice, weight.shape));
    const auto found = bundle.slices.find(tf_slice_key(name, place.extents));
    if (found == bundle.slices.end()) {
      return fail(Code::kDataLoss, "its slice at {} is not in the index", shape_text(place.start));
    }
    HW_ASSIGN_OR_RETURN(const Shape stored, shape_of(found->second));
    if (found->second.dtype() != entry.dtype() || stored != place.length) {
      return fail(Code::kDataLoss, "its slice at {} has another shape or type than it should",
                  shape_text(place.start));
    }
    HW_ASSIGN_OR_RETURN(const int64_t expected, byte_size(place.length, *type));
    HW_RETURN_IF_ERROR(check_place(fs, found->second, expected, *type, bundle));
  }
  if (weight.bytes > bundle.data_bytes) {
    return fail(Code::kDataLoss, "its shape {} takes more bytes than all data files have",
                shape_text(weight.shape));
  }
  return weight;
}

// Bytes of a number in the other byte order; a complex number is two.
void swap_bytes(std::span<uint8_t> bytes, ElementType type) {
  const bool complex = type == kC64 || type == kC128;
  const auto size = static_cast<size_t>(element_bytes(type) / (complex ? 2 : 1));
  for (size_t i = 0; size > 1 && i + size <= bytes.size(); i += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
}

class TfBundleSource : public WeightsSource {
 public:
  TfBundleSource(WeightsIndex index, Bundle bundle)
      : WeightsSource(std::move(index)), bundle_(std::move(bundle)) {}

 private:
  Result<WeightBytes> load(size_t index) const override;
  Result<std::span<const uint8_t>> stored(const tf::BundleEntry& entry, ElementType type) const;
  Result<WeightBytes> assemble(const WeightEntry& weight, const tf::BundleEntry& entry) const;

  Bundle bundle_;
};

// The bytes of an entry in its data file, checked.
Result<std::span<const uint8_t>> TfBundleSource::stored(const tf::BundleEntry& entry,
                                                        ElementType type) const {
  const FileBytes& file = bundle_.shards.at(entry.shard_id());
  const auto bytes = *slice_of(file.bytes(), static_cast<uint64_t>(entry.offset()),
                               static_cast<uint64_t>(entry.size()));
  uint32_t crc = 0;
  if (type == kString) {
    HW_ASSIGN_OR_RETURN(const Shape shape, shape_of(entry));
    HW_ASSIGN_OR_RETURN(const int64_t count, checked_element_count(shape));
    HW_ASSIGN_OR_RETURN(const TfTexts texts, decode_tf_texts(bytes, count));
    crc = texts.crc;
  } else {
    crc = crc32c(bytes);
  }
  if (mask_crc(crc) == entry.crc32c()) return bytes;
  return fail_hint(Code::kDataLoss, "copy or download it again",
                   "{} is damaged between its bytes {} and {}: the checksum is {:08x}, the index "
                   "says {:08x}",
                   tf_data_path(bundle_.prefix, entry.shard_id(), bundle_.shard_count),
                   entry.offset(), entry.offset() + entry.size(), mask_crc(crc), entry.crc32c());
}

Result<WeightBytes> TfBundleSource::assemble(const WeightEntry& weight,
                                             const tf::BundleEntry& entry) const {
  std::vector<TfSlice> slices;
  for (const auto& slice : entry.slices()) {
    HW_ASSIGN_OR_RETURN(TfSlice place, resolve_slice(slice, weight.shape));
    slices.push_back(std::move(place));
  }
  HW_RETURN_IF_ERROR(check_cover(slices, weight.shape));
  AlignedBuffer whole(weight.bytes);
  for (const TfSlice& slice : slices) {
    const tf::BundleEntry& part =
        bundle_.slices.find(tf_slice_key(weight.name, slice.extents))->second;
    HW_ASSIGN_OR_RETURN(const auto bytes, stored(part, weight.type));
    copy_slice(bytes, slice, weight.shape, element_bytes(weight.type), whole.data());
  }
  return WeightBytes(std::move(whole));
}

Result<WeightBytes> TfBundleSource::load(size_t index) const {
  const WeightEntry& weight = entries()[index];
  const tf::BundleEntry& entry = bundle_.tensors.find(weight.name)->second;
  if (entry.slices().empty() && !bundle_.big_endian) {
    HW_ASSIGN_OR_RETURN(const auto bytes, stored(entry, weight.type));
    return WeightBytes(bytes);
  }
  AlignedBuffer own;
  if (entry.slices().empty()) {
    HW_ASSIGN_OR_RETURN(const auto bytes, stored(entry, weight.type));
    own = AlignedBuffer(static_cast<int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), own.data());
  } else {
    HW_ASSIGN_OR_RETURN(WeightBytes whole, assemble(weight, entry));
    if (!bundle_.big_endian) return whole;
    own = AlignedBuffer(weight.bytes);
    std::copy(whole.bytes().begin(), whole.bytes().end(), own.data());
  }
  swap_bytes({own.data(), static_cast<size_t>(own.size())}, weight.type);
  return WeightBytes(std::move(own));
}

// The variables' own names, from the description of the objects. A description that cannot be read
// costs the names and nothing else.
void name_variables(const Bundle& bundle, WeightsIndex& index) {
  const auto found = bundle.tensors.find(kObjectGraph);
  if (found == bundle.tensors.end() || !found->second.slices().empty()) return;
  const tf::BundleEntry& entry = found->second;
  const auto bytes =
      slice_of(bundle.shards.at(entry.shard_id()).bytes(), static_cast<uint64_t>(entry.offset()),
               static_cast<uint64_t>(entry.size()));
  const auto texts = decode_tf_texts(*bytes, 1);
  tf::ObjectGraph graph;
  if (!texts || mask_crc(texts->crc) != entry.crc32c() ||
      !graph.ParseFromArray(texts->texts[0].data(), static_cast<int>(texts->texts[0].size()))) {
    index.notes.push_back(
        fmt::format("{} is damaged: variables are shown by path only", kObjectGraph));
    return;
  }
  std::map<std::string, std::string, std::less<>> names;
  for (const auto& node : graph.nodes()) {
    for (const auto& attribute : node.attributes())
      names.emplace(attribute.checkpoint_key(), attribute.full_name());
  }
  for (WeightEntry& weight : index.entries) {
    const auto name = names.find(weight.name);
    if (name != names.end()) weight.variable_name = name->second;
  }
}

Result<Bundle> read_index(FileSystem& fs, const std::string& prefix) {
  HW_ASSIGN_OR_RETURN(const FileBytes file, fs.map(tf_index_path(prefix)));
  HW_RETURN_IF_ERROR(refuse_pointer_file(file.bytes(), tf_index_path(prefix)));
  Bundle bundle;
  bundle.prefix = prefix;
  const auto read = read_sorted_table(
      file.bytes(), [&](std::string_view key, std::string_view value) -> Result<> {
        return read_entry(key, value, bundle);
      });
  if (!read) return in_context(read.error(), tf_index_path(prefix));
  return bundle;
}

}  // namespace

Result<std::unique_ptr<WeightsSource>> open_tf_bundle(FileSystem& fs, const std::string& prefix) {
  HW_ASSIGN_OR_RETURN(Bundle bundle, read_index(fs, prefix));
  WeightsIndex index{"TensorFlow checkpoint", prefix, {}, {}, {}};
  for (const auto& [name, entry] : bundle.tensors) {
    auto weight = check_tensor(fs, name, entry, bundle);
    if (!weight) {
      return in_context(std::move(weight).error(),
                        fmt::format("{}: tensor '{}'", tf_index_path(prefix), name));
    }
    index.entries.push_back(*std::move(weight));
  }
  name_variables(bundle, index);
  return std::make_unique<TfBundleSource>(std::move(index), std::move(bundle));
}

std::string tf_index_path(std::string_view prefix) { return fmt::format("{}.index", prefix); }

std::string tf_data_path(std::string_view prefix, int64_t shard, int64_t shards) {
  return fmt::format("{}.data-{:05d}-of-{:05d}", prefix, shard, shards);
}

std::optional<ElementType> element_type_from_tf(int32_t dtype) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                  [&](const auto& pair) { return pair.first == dtype; });
  return found == kDTypes.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int32_t> tf_dtype(ElementType type) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                  [&](const auto& pair) { return pair.second == type; });
  return found == kDTypes.end() ? std::nullopt : std::optional(found->first);
}

Result<TfTexts> decode_tf_texts(std::span<const uint8_t> bytes, int64_t count) {
  const auto damaged = [](std::string_view what) {
    return fail(Code::kDataLoss, "a tensor of texts is damaged: {}", what);
  };
  if (count < 0 || static_cast<uint64_t>(count) > bytes.size())
    return damaged("it has fewer bytes than texts");
  ByteCursor in(bytes);
  std::vector<uint64_t> lengths(static_cast<size_t>(count));
  TfTexts texts;
  for (uint64_t& length : lengths) {
    const auto stored = in.varint();
    if (!stored) return damaged("a length is cut");
    length = *stored;
    // The checksum runs over lengths as fixed numbers, of 8 bytes where 4 are too few.
    std::array<uint8_t, 8> fixed;
    for (size_t i = 0; i < 8; ++i) fixed[i] = static_cast<uint8_t>(length >> (8 * i));
    const size_t width = length > 0xffffffffu ? 8 : 4;
    texts.crc = crc32c(std::span<const uint8_t>(fixed).first(width), texts.crc);
  }
  const auto checksum = in.take(4);
  if (!checksum) return damaged("the checksum of its lengths is cut");
  if (*ByteCursor(*checksum).number<uint32_t>() != mask_crc(texts.crc))
    return damaged("the checksum of its lengths is wrong");
  texts.crc = crc32c(*checksum, texts.crc);
  for (const uint64_t length : lengths) {
    const auto text = in.take(length);
    if (!text) return damaged("a text is cut");
    texts.crc = crc32c(*text, texts.crc);
    texts.texts.push_back(as_text(*text));
  }
  if (!in.at_end()) return damaged("bytes are left over");
  return texts;
}

}  // namespace headwater
