#include "records/record_verify.h"

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace headwater {
namespace {

FileCheck check_file(FileSystem& fs, const FileInfo& file, const RecordReaderOptions& options,
                     const ByteMeter& meter) {
  FileCheck check;
  check.file = file;
  auto reader = RecordReader::open(fs, file.path, options);
  if (!reader) {
    check.failure = reader.error();
    return check;
  }
  check.compression = reader->compression();
  while (true) {
    const auto payload = reader->next_view();
    meter(reader->byte_offset());
    if (payload && !*payload) break;
    if (payload) {
      ++check.records;
      continue;
    }
    if (!reader->damage()) {
      check.failure = payload.error();
      break;
    }
    ++check.damages;
    if (check.listed.size() < FileCheck::kListedDamages) {
      check.listed.push_back({*reader->damage(), payload.error().message});
    }
    const auto more = reader->recover();
    if (!more) check.failure = more.error();
    if (!more || !*more) break;
  }
  check.checksum = reader->checksum();
  return check;
}

struct ManifestShard {
  int64_t records = -1, bytes = -1;  // -1: not said
  std::string checksum;
};

// Shards by name; empty when the folder holds no manifest of ours.
std::map<std::string, ManifestShard> read_manifest(FileSystem& fs, const std::string& directory) {
  std::map<std::string, ManifestShard> shards;
  const std::string path = join_path(directory, kRecordsManifest);
  if (!fs.exists(path)) return shards;
  const auto text = read_file(fs, path, kRecordsManifestLimit);
  const auto manifest = text ? parse_json(*text, path) : Result<Json>(fail(Code::kDataLoss, ""));
  if (!manifest || !manifest->is_object() || !manifest->contains("headwater_records"))
    return shards;
  const auto listed = manifest->find("shards");
  if (listed == manifest->end() || !listed->is_array()) return shards;
  for (const Json& entry : *listed) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
    ManifestShard& shard = shards[entry["name"].get<std::string>()];
    const auto number = [&](const char* key) {
      return entry.contains(key) && entry[key].is_number_integer() ? entry[key].get<int64_t>() : -1;
    };
    shard.records = number("records");
    shard.bytes = number("bytes");
    if (entry.contains("checksum") && entry["checksum"].is_string())
      shard.checksum = entry["checksum"].get<std::string>();
  }
  return shards;
}

std::string compare(const FileCheck& check, const ManifestShard& shard) {
  if (shard.records >= 0 && shard.records != check.records) {
    return fmt::format("it has {} records where the manifest says {}", check.records,
                       shard.records);
  }
  if (shard.bytes >= 0 && check.compression == Compression::kNone &&
      shard.bytes != check.file.size) {
    return fmt::format("it has {} bytes where the manifest says {}", check.file.size, shard.bytes);
  }
  if (!shard.checksum.empty() && shard.checksum != fmt::format("{:08x}", check.checksum)) {
    return "its records are not those of the manifest (checksums differ)";
  }
  return {};
}

void compare_with_manifests(FileSystem& fs, VerifyReport& report) {
  std::map<std::string, std::map<std::string, ManifestShard>> manifests;
  for (FileCheck& check : report.files) {
    const std::string directory = directory_name(check.file.path);
    if (!manifests.contains(directory)) manifests[directory] = read_manifest(fs, directory);
    const auto& shards = manifests[directory];
    const auto shard = shards.find(base_name(check.file.path));
    if (shard != shards.end() && check.good()) {
      check.manifest_conflict = compare(check, shard->second);
    }
  }
  for (const auto& [directory, shards] : manifests) {
    report.manifests += shards.empty() ? 0 : 1;
    for (const auto& [name, shard] : shards) {
      const std::string path = join_path(directory, name);
      if (!fs.exists(path)) report.missing.push_back(path);
    }
  }
}

template <class Count>
int64_t sum(const std::vector<FileCheck>& files, Count count) {
  return std::accumulate(
      files.begin(), files.end(), int64_t{0},
      [&](int64_t total, const FileCheck& check) { return total + count(check); });
}

}  // namespace

int64_t VerifyReport::records() const {
  return sum(files, [](const FileCheck& check) { return check.records; });
}
int64_t VerifyReport::bytes() const {
  return sum(files, [](const FileCheck& check) { return check.file.size; });
}
int64_t VerifyReport::damages() const {
  return sum(files, [](const FileCheck& check) { return check.damages; });
}
int64_t VerifyReport::bad_files() const {
  return sum(files, [](const FileCheck& check) { return check.good() ? 0 : 1; });
}

VerifyReport verify_records(FileSystem& fs, const std::vector<FileInfo>& files,
                            RecordReaderOptions options) {
  options.policy = DamagePolicy::kStop;  // every damage is seen here
  VerifyReport report;
  report.files.resize(files.size());
  for_each_record_file(files, "verifying", [&](size_t i, const ByteMeter& meter) {
    report.files[i] = check_file(fs, files[i], options, meter);
  });
  compare_with_manifests(fs, report);
  return report;
}

std::vector<std::string> describe_damage(const VerifyReport& report) {
  std::vector<std::string> lines;
  for (const FileCheck& check : report.files) {
    for (const FoundDamage& found : check.listed) {
      lines.push_back(fmt::format("{}: record {} (counted from 0) at byte {}{}: {}",
                                  check.file.path, found.damage.record, found.damage.byte_offset,
                                  check.compression == Compression::kNone ? "" : " unpacked",
                                  found.message));
    }
    if (const auto rest = check.damages - static_cast<int64_t>(check.listed.size()); rest > 0) {
      lines.push_back(fmt::format("{}: {} more damages", check.file.path, rest));
    }
    if (check.failure) lines.push_back(check.failure->to_string());
    if (!check.manifest_conflict.empty()) {
      lines.push_back(fmt::format("{}: {}", check.file.path, check.manifest_conflict));
    }
  }
  for (const std::string& path : report.missing) {
    lines.push_back(fmt::format("{}: missing, but named in the manifest", path));
  }
  return lines;
}

Json to_json(const VerifyReport& report) {
  Json files = Json::array();
  for (const FileCheck& check : report.files) {
    Json damages = Json::array();
    for (const auto& [damage, message] : check.listed) {
      damages.push_back({{"record", damage.record},
                         {"byte_offset", damage.byte_offset},
                         {"kind", damage_name(damage.kind)},
                         {"missing_bytes", damage.missing_bytes},
                         {"message", message}});
    }
    Json file = {{"file", check.file.path},
                 {"bytes", check.file.size},
                 {"compression", compression_name(check.compression)},
                 {"records", check.records},
                 {"checksum", fmt::format("{:08x}", check.checksum)},
                 {"damages", check.damages},
                 {"damaged_records", std::move(damages)}};
    if (check.failure) file["error"] = check.failure->to_string();
    if (!check.manifest_conflict.empty()) file["manifest"] = check.manifest_conflict;
    files.push_back(std::move(file));
  }
  return {{"good", report.good()},           {"files", report.files.size()},
          {"bad_files", report.bad_files()}, {"records", report.records()},
          {"bytes", report.bytes()},         {"damages", report.damages()},
          {"missing", report.missing},       {"manifests", report.manifests},
          {"list", std::move(files)}};
}

}  // namespace headwater
