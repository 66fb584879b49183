#include "batches/record_set_cache.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace headwater {
namespace {

constexpr int64_t kCacheLimit = int64_t{256} << 20;
constexpr int64_t kVersion = 1;

// Everything that decides on what a scan finds.
std::string key_of(const RecordSetOptions& options) {
  return fmt::format("{} {} {} {}", static_cast<int>(options.policy), options.max_record_bytes,
                     options.keep_sizes, options.check_name);
}

Json to_json(const ScannedShard& scanned) {
  Json blocks = Json::array(), sizes = Json::array();
  for (const RecordBlock& b : scanned.blocks)
    for (const int64_t value : {int64_t{b.records}, b.offset, b.bytes, b.first_record, b.tokens})
      blocks.push_back(value);
  for (const RecordSize& size : scanned.sizes) {
    sizes.push_back(size.bytes);
    sizes.push_back(size.tokens);
  }
  const RecordShard& shard = scanned.shard;
  return {{"path", shard.path},          {"bytes", shard.bytes},       {"modified", shard.modified},
          {"records", shard.records},    {"checksum", shard.checksum}, {"tokens", shard.tokens},
          {"blocks", std::move(blocks)}, {"sizes", std::move(sizes)}};
}

// Blocks lie one behind the other in the file, and hold its records; sizes fill their blocks.
bool is_sound(const ScannedShard& scanned, bool keep_sizes) {
  int64_t records = 0, end = 0;
  const auto sizes = static_cast<int64_t>(scanned.sizes.size());
  for (const RecordBlock& b : scanned.blocks) {
    const bool sound = b.records >= 1 && b.records <= RecordSet::kBlockRecords && b.offset >= end &&
                       b.bytes >= 1 && b.bytes <= scanned.shard.bytes - b.offset &&
                       b.first_record >= 0 && b.tokens >= 0;
    if (!sound || (keep_sizes && records + b.records > sizes)) return false;
    int64_t filled = 0;
    for (int64_t i = records; keep_sizes && i < records + b.records; ++i)
      filled += int64_t{scanned.sizes[static_cast<size_t>(i)].bytes} + kRecordOverheadBytes;
    if (keep_sizes && filled != b.bytes) return false;
    end = b.offset + b.bytes;
    records += b.records;
  }
  return records == scanned.shard.records && sizes == (keep_sizes ? records : 0);
}

// Throws what nlohmann's library throws where something is missing or of another type.
ScannedShard shard_of(const Json& json) {
  ScannedShard scanned;
  scanned.shard.path = json.at("path").get<std::string>();
  scanned.shard.bytes = json.at("bytes").get<int64_t>();
  scanned.shard.modified = json.at("modified").get<int64_t>();
  scanned.shard.records = json.at("records").get<int64_t>();
  scanned.shard.checksum = json.at("checksum").get<uint32_t>();
  scanned.shard.tokens = json.at("tokens").get<int64_t>();
  const Json &blocks = json.at("blocks"), &sizes = json.at("sizes");
  constexpr size_t kBlockValues = 5;
  for (size_t i = 0; i + kBlockValues <= blocks.size(); i += kBlockValues)
    scanned.blocks.push_back({0, blocks.at(i).get<int32_t>(), blocks.at(i + 1).get<int64_t>(),
                              blocks.at(i + 2).get<int64_t>(), blocks.at(i + 3).get<int64_t>(),
                              blocks.at(i + 4).get<int64_t>()});
  for (size_t i = 0; i + 2 <= sizes.size(); i += 2)
    scanned.sizes.push_back({sizes.at(i).get<uint32_t>(), sizes.at(i + 1).get<uint32_t>()});
  return scanned;
}

}  // namespace

RecordSetCache RecordSetCache::read(FileSystem& fs, const RecordSetOptions& options) {
  RecordSetCache cache;
  if (options.cache_file.empty() || options.line_to_record || !fs.exists(options.cache_file))
    return cache;
  const auto text = read_file(fs, options.cache_file, kCacheLimit);
  const auto json = text ? parse_json(*text, options.cache_file)
                         : Result<Json>(tl::unexpected<Error>(text.error()));
  if (!json) return cache;
  try {
    if (json->at("headwater_record_cache") != kVersion || json->at("key") != key_of(options))
      return cache;
    for (const Json& entry : json->at("shards")) {
      ScannedShard scanned = shard_of(entry);
      if (!is_sound(scanned, options.keep_sizes)) continue;
      std::string path = scanned.shard.path;
      cache.entries_[std::move(path)] = std::move(scanned);
    }
  } catch (const nlohmann::detail::exception&) {
    cache.entries_.clear();
  }
  return cache;
}

const ScannedShard* RecordSetCache::find(const FileInfo& file) const {
  const auto found = entries_.find(file.path);
  if (found == entries_.end() || file.modified == 0) return nullptr;
  const RecordShard& shard = found->second.shard;
  const bool unchanged = shard.modified == file.modified && shard.bytes == file.size;
  return unchanged ? &found->second : nullptr;
}

void RecordSetCache::add(ScannedShard scanned) {
  const RecordShard& shard = scanned.shard;
  if (shard.modified == 0 || !shard.unpacked.empty() || shard.damaged > 0) return;
  std::string path = shard.path;
  entries_[std::move(path)] = std::move(scanned);
}

Result<> RecordSetCache::write(FileSystem& fs, const RecordSetOptions& options) const {
  if (entries_.empty() || !fs.exists(directory_name(options.cache_file))) return {};
  Json shards = Json::array();
  for (const auto& [path, scanned] : entries_) shards.push_back(to_json(scanned));
  const Json json = {{"headwater_record_cache", kVersion},
                     {"key", key_of(options)},
                     {"shards", std::move(shards)}};
  return write_file_atomic(fs, options.cache_file, dump_json(json));
}

}  // namespace headwater
