// Weights in several files behind a JSON index, as Hugging Face writes models of many gigabytes.
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/weights_formats.h"

namespace headwater {
namespace {

constexpr int64_t kIndexLimit = int64_t{64} << 20;  // bytes

struct Place {
  size_t source = 0, index = 0;
};

class ShardedSource : public WeightsSource {
 public:
  ShardedSource(WeightsIndex index, std::vector<std::unique_ptr<WeightsSource>> sources,
                std::vector<Place> places)
      : WeightsSource(std::move(index)), sources_(std::move(sources)), places_(std::move(places)) {}

 private:
  Result<WeightBytes> load(size_t index) const override {
    const Place& place = places_[index];
    auto bytes = sources_[place.source]->read_bytes(place.index);
    if (!bytes) return in_context(std::move(bytes).error(), sources_[place.source]->path());
    return bytes;
  }

  std::vector<std::unique_ptr<WeightsSource>> sources_;
  std::vector<Place> places_;
};

using WeightMap = std::map<std::string, std::string>;  // tensor -> file

Result<WeightMap> read_weight_map(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kIndexLimit));
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, path));
  const auto found = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_object() || found->empty()) {
    return fail(Code::kInvalidArgument, "{} is no index of weights: it has no weight_map", path);
  }
  WeightMap map;
  for (const auto& [name, file] : found->items()) {
    if (!file.is_string() || file.get<std::string>().empty() ||
        file.get<std::string>().find('/') != std::string::npos) {
      return fail(Code::kDataLoss, "{}: '{}' is not in a file beside the index", path,
                  name.substr(0, 200));
    }
    map[name] = file.get<std::string>();
  }
  return map;
}

// A file of the map: safetensors or PyTorch's, but no further index.
OpenedWeights open_shard(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const FileBytes file, fs.map(path));
  if (is_torch_file(file.bytes())) return open_torch_weights(fs, path);
  return open_safetensors_weights(fs, path);
}

}  // namespace

OpenedWeights open_sharded_weights(FileSystem& fs, const std::string& index_path) {
  HW_ASSIGN_OR_RETURN(const WeightMap map, read_weight_map(fs, index_path));
  WeightsIndex index{"", index_path, {}, {}, {}};
  std::vector<std::unique_ptr<WeightsSource>> sources;
  std::map<std::string, size_t> by_file;
  for (const auto& [name, file] : map) by_file.emplace(file, 0);
  for (auto& [file, position] : by_file) {
    const std::string path = join_path(directory_name(index_path), file);
    HW_ASSIGN_OR_RETURN(auto source, open_shard(fs, path));
    position = sources.size();
    sources.push_back(std::move(source));
  }
  std::vector<Place> places;
  int64_t unlisted = 0;
  for (const auto& [file, position] : by_file) {
    const auto& entries = sources[position]->entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto listed = map.find(entries[i].name);
      if (listed == map.end() || listed->second != file) {
        ++unlisted;
        continue;
      }
      index.entries.push_back(entries[i]);
      places.push_back({position, i});
    }
  }
  for (const auto& [name, file] : map) {
    if (sources[by_file[file]]->find(name)) continue;
    return fail(Code::kDataLoss, "{} says that '{}' is in {}, which does not have it", index_path,
                name, file);
  }
  if (unlisted > 0) {
    index.notes.push_back(
        fmt::format("{} tensors of the files are not in {} and left out", unlisted, index_path));
  }
  index.format = fmt::format("{} in {} files", sources.front()->format(), sources.size());
  return std::make_unique<ShardedSource>(std::move(index), std::move(sources), std::move(places));
}

}  // namespace headwater
