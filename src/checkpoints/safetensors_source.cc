// Weights of safetensors files and of native checkpoints, which hold one: mapped and borrowed.
#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/crc32c.h"
#include "base/json.h"
#include "checkpoints/native.h"
#include "checkpoints/safetensors.h"
#include "checkpoints/weights_formats.h"

namespace headwater {
namespace {

// Gives the reader of streams the bytes of a mapping.
class MappedSource : public ByteSource {
 public:
  explicit MappedSource(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    const size_t n = std::min(out.size(), bytes_.size());
    std::copy_n(bytes_.begin(), n, out.begin());
    bytes_ = bytes_.subspan(n);
    return n;
  }

 private:
  std::span<const uint8_t> bytes_;
};

struct Layout {
  std::vector<TensorEntry> entries;
  SafetensorsMetadata metadata;
  size_t data_start = 0;
};

Result<Layout> read_layout(const FileBytes& file, const std::string& path) {
  HW_ASSIGN_OR_RETURN(
      const SafetensorsReader reader,
      SafetensorsReader::open(std::make_unique<MappedSource>(file.bytes()), file.size(), path));
  Layout layout{reader.entries(), reader.metadata(), 0};
  const int64_t data_size = layout.entries.empty() ? 0 : layout.entries.back().end;
  layout.data_start = static_cast<size_t>(file.size() - data_size);
  return layout;
}

WeightEntry weight_entry(const TensorEntry& entry) {
  WeightEntry weight;
  weight.name = entry.name;
  weight.type = *element_type(entry.type);  // the reader knows no other names
  weight.shape = entry.shape;
  weight.bytes = entry.end - entry.begin;
  return weight;
}

class SafetensorsSource : public WeightsSource {
 public:
  // `places` are the tensors' bytes, beside the entries; `crc` is that of the whole file.
  SafetensorsSource(WeightsIndex index, FileBytes file,
                    std::vector<std::span<const uint8_t>> places, std::optional<uint32_t> crc)
      : WeightsSource(std::move(index)),
        file_(std::move(file)),
        places_(std::move(places)),
        expected_crc_(crc) {}

 private:
  Result<WeightBytes> load(size_t index) const override {
    std::call_once(checked_, [&] { crc_ = expected_crc_ ? crc32c(file_.bytes()) : 0; });
    if (expected_crc_ && crc_ != *expected_crc_) {
      return fail(Code::kDataLoss, "{} is damaged: its CRC-32C is {:08x}, its manifest says {:08x}",
                  path(), crc_, *expected_crc_);
    }
    return WeightBytes(places_[index]);
  }

  FileBytes file_;
  std::vector<std::span<const uint8_t>> places_;
  std::optional<uint32_t> expected_crc_;
  mutable std::once_flag checked_;
  mutable uint32_t crc_ = 0;
};

std::span<const uint8_t> place_of(const FileBytes& file, const Layout& layout,
                                  const TensorEntry& entry) {
  return file.bytes().subspan(layout.data_start + static_cast<size_t>(entry.begin),
                              static_cast<size_t>(entry.end - entry.begin));
}

void add_manifest_facts(const CheckpointManifest& manifest, WeightsIndex& index) {
  index.metadata.emplace_back("step", fmt::format("{}", manifest.step));
  index.metadata.emplace_back("headwater", manifest.version);
  const auto meta = parse_json(manifest.meta, "meta");
  if (!meta || !meta->is_object()) return;
  for (const auto& [key, value] : meta->items()) {
    if (value.is_string()) index.metadata.emplace_back(key, value.get<std::string>());
    else if (!value.is_structured()) index.metadata.emplace_back(key, value.dump());
  }
}

}  // namespace

OpenedWeights open_safetensors_weights(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(FileBytes file, fs.map(path));
  HW_ASSIGN_OR_RETURN(const Layout layout, read_layout(file, path));
  WeightsIndex index{"safetensors", path, {}, {}, {}};
  std::vector<std::span<const uint8_t>> places;
  for (const TensorEntry& entry : layout.entries) {
    index.entries.push_back(weight_entry(entry));
    places.push_back(place_of(file, layout, entry));
  }
  index.metadata.assign(layout.metadata.begin(), layout.metadata.end());
  return std::make_unique<SafetensorsSource>(std::move(index), std::move(file), std::move(places),
                                             std::nullopt);
}

OpenedWeights open_native_weights(FileSystem& fs, const std::string& directory) {
  HW_ASSIGN_OR_RETURN(const CheckpointManifest manifest, read_checkpoint_manifest(fs, directory));
  const std::string path = join_path(directory, "state.safetensors");
  HW_ASSIGN_OR_RETURN(FileBytes file, fs.map(path));
  if (file.size() != manifest.bytes) {
    return fail(Code::kDataLoss, "{} should have {} bytes, it has {}", path, manifest.bytes,
                file.size());
  }
  HW_ASSIGN_OR_RETURN(const Layout layout, read_layout(file, path));
  WeightsIndex index{"headwater checkpoint", path, {}, {}, {}};
  std::vector<std::span<const uint8_t>> places;
  std::map<std::string_view, size_t> by_name;
  for (const TensorEntry& entry : layout.entries) {
    by_name.emplace(entry.name, index.entries.size());
    index.entries.push_back(weight_entry(entry));
    places.push_back(place_of(file, layout, entry));
  }
  for (const auto& [alias, name] : manifest.aliases) {
    const auto target = by_name.find(name);
    if (target == by_name.end() || by_name.contains(alias)) {
      return fail(Code::kDataLoss, "{}: the alias '{}' of '{}' is not of this checkpoint",
                  directory, alias, name);
    }
    WeightEntry tied = index.entries[target->second];
    tied.name = alias;
    tied.tied_to = name;
    places.push_back(places[target->second]);
    index.entries.push_back(std::move(tied));
  }
  add_manifest_facts(manifest, index);
  return std::make_unique<SafetensorsSource>(std::move(index), std::move(file), std::move(places),
                                             manifest.crc);
}

}  // namespace headwater
