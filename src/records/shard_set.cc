#include "records/shard_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace headwater {
namespace {

bool take_number(std::string_view& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

// "<stem>-<i>-of-<n>"
bool is_shard_name(std::string_view name) {
  const auto take = [&](std::string_view part) {
    if (!name.starts_with(part)) return false;
    name.remove_prefix(part.size());
    return true;
  };
  return take(ShardSet::kStem) && take("-") && take_number(name) && take("-of-") &&
         take_number(name) && name.empty();
}

// What AtomicFile leaves when the process is killed: ".<name>.tmp-<process>-<n>".
bool is_leftover(std::string_view name) {
  if (!name.starts_with('.')) return false;
  const size_t end = name.rfind(".tmp-");
  if (end == std::string_view::npos || end == 0) return false;
  const auto target = name.substr(1, end - 1);
  return is_shard_name(target) || target == kRecordsManifest;
}

}  // namespace

Result<ShardSet> ShardSet::create(FileSystem& fs, std::string directory, int64_t shards,
                                  bool overwrite) {
  ShardSet set(fs, std::move(directory));
  HW_RETURN_IF_ERROR(set.check_directory(overwrite));
  for (int64_t i = 0; i < shards; ++i) {
    std::string name = fmt::format("{}-{}-of-{}", kStem, i, shards);
    auto file = AtomicFile::create(fs, set.path_of(name));
    if (!file) {
      Error error = std::move(file).error();
      if (i > 100 && error.hint.empty())
        error.hint = "a shard is an open file: use fewer (--num-out-files), or raise ulimit -n";
      return tl::unexpected<Error>(std::move(error));
    }
    set.shards_.emplace_back(std::move(name), *std::move(file));
  }
  return set;
}

ShardSet::ShardSet(ShardSet&& other) noexcept
    : fs_(other.fs_),
      directory_(std::move(other.directory_)),
      shards_(std::move(other.shards_)),
      earlier_(std::move(other.earlier_)),
      records_(other.records_),
      made_directory_(std::exchange(other.made_directory_, false)),
      committed_(other.committed_) {}

ShardSet::~ShardSet() {
  shards_.clear();
  if (made_directory_ && !committed_) (void)fs_->remove(directory_);  // fails when it is not empty
}

Result<> ShardSet::check_directory(bool overwrite) {
  const auto info = fs_->info(directory_);
  if (!info && info.error().code != Code::kNotFound) return tl::unexpected<Error>(info.error());
  if (!info) {
    HW_RETURN_IF_ERROR(fs_->make_directories(directory_));
    made_directory_ = true;
    return {};
  }
  if (!info->is_directory)
    return fail(Code::kAlreadyExists, "{} is a file, not a folder", directory_);
  HW_ASSIGN_OR_RETURN(const auto entries, fs_->list(directory_));
  if (!entries.empty() && !overwrite)
    return fail_hint(Code::kAlreadyExists,
                     "choose another folder, or --overwrite, which replaces the shards of an "
                     "earlier build and touches nothing else",
                     "output folder {} is not empty: it holds {}{}", directory_,
                     base_name(entries[0].path),
                     entries.size() > 1 ? fmt::format(" and {} more", entries.size() - 1) : "");
  for (const FileInfo& entry : entries) {
    const std::string name = base_name(entry.path);
    if (entry.is_directory) continue;
    if (is_shard_name(name) || is_leftover(name)) earlier_.push_back(entry.path);
    if (name != kRecordsManifest) continue;
    HW_ASSIGN_OR_RETURN(const std::string text, read_file(*fs_, entry.path, kRecordsManifestLimit));
    const auto manifest = parse_json(text, entry.path);
    if (!manifest || !manifest->is_object() || !manifest->contains("headwater_records"))
      return fail_hint(Code::kAlreadyExists, "choose another output folder",
                       "{} is not the manifest of an earlier build", entry.path);
    earlier_.insert(earlier_.begin(), entry.path);  // goes first: without it a set is not whole
  }
  return {};
}

Result<> ShardSet::write(std::string_view payload) {
  auto& shard = shards_[static_cast<size_t>(records_) % shards_.size()];
  HW_RETURN_IF_ERROR(shard.writer.write(payload));
  ++records_;
  return {};
}

Result<> ShardSet::close() {
  for (Shard& shard : shards_) HW_RETURN_IF_ERROR(shard.file.sink().close());
  return {};
}

std::vector<ShardInfo> ShardSet::shards() const {
  std::vector<ShardInfo> infos;
  for (const Shard& shard : shards_)
    infos.push_back(
        {shard.name, shard.writer.records(), shard.writer.bytes(), shard.writer.checksum()});
  return infos;
}

Result<> ShardSet::remove_earlier() {
  for (const std::string& path : earlier_) HW_RETURN_IF_ERROR(fs_->remove(path));
  earlier_.clear();
  return {};
}

Result<> ShardSet::commit(const Json& manifest) {
  HW_RETURN_IF_ERROR(remove_earlier());
  size_t named = 0;
  Result<> done;
  while (done && named < shards_.size()) {
    done = shards_[named].file.commit();
    if (done) ++named;
  }
  if (done)
    done = write_file_atomic(*fs_, path_of(kRecordsManifest), dump_json(manifest, 2) + "\n");
  if (!done) {
    for (size_t i = 0; i < named; ++i) (void)fs_->remove(path_of(shards_[i].name));
    return done;
  }
  committed_ = true;
  return {};
}

}  // namespace headwater
