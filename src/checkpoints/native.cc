#include "checkpoints/native.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/log.h"
#include "checkpoints/checksum.h"
#include "checkpoints/safetensors.h"
#include "io/buffered_sink.h"

namespace headwater {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kPartial = ".partial";    // being written, or being removed
constexpr std::string_view kReplaced = ".replaced";  // gives way to a new one of its step
constexpr std::string_view kStateFile = "state.safetensors";
constexpr std::string_view kManifestFile = "checkpoint.json";
constexpr std::string_view kFormat = "headwater checkpoint";
constexpr int64_t kVersion = 1;
constexpr int64_t kManifestLimit = int64_t{64} << 20;  // bytes

// "checkpoint-120.partial" -> step 120, suffix ".partial".
struct CheckpointName {
  int64_t step = 0;
  std::string suffix;
};
std::optional<CheckpointName> parse_name(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* first = name.data() + kPrefix.size();
  const char* last = name.data() + name.size();
  CheckpointName parsed;
  const auto [end, error] = std::from_chars(first, last, parsed.step);
  if (error != std::errc() || parsed.step < 0) return std::nullopt;
  parsed.suffix.assign(end, last);
  const bool known =
      parsed.suffix.empty() || parsed.suffix == kPartial || parsed.suffix == kReplaced;
  const bool canonical = *first != '-' && (*first != '0' || end == first + 1);
  return known && canonical ? std::optional(parsed) : std::nullopt;
}

std::string place_of(const std::string& run_directory, int64_t step, std::string_view suffix = "") {
  return join_path(run_directory, fmt::format("{}{}{}", kPrefix, step, suffix));
}

bool has_manifest(FileSystem& fs, const std::string& directory) {
  return fs.exists(join_path(directory, kManifestFile));
}

// The files of a directory if all of them have names that we give; then it may be removed.
std::optional<std::vector<std::string>> own_files(FileSystem& fs, const std::string& directory) {
  const auto entries = fs.list(directory);
  if (!entries) return std::nullopt;
  std::vector<std::string> paths;
  for (const FileInfo& entry : *entries) {
    const std::string name = base_name(entry.path);
    const bool temporary = name.starts_with(fmt::format(".{}.tmp-", kManifestFile));
    if (entry.is_directory || (name != kStateFile && name != kManifestFile && !temporary))
      return std::nullopt;
    paths.push_back(entry.path);
  }
  return paths;
}

Result<> remove_own_directory(FileSystem& fs, const std::string& directory) {
  const auto files = own_files(fs, directory);
  if (!files) {
    return fail(Code::kFailedPrecondition, "{} holds files that headwater did not write",
                directory);
  }
  for (const std::string& file : *files) HW_RETURN_IF_ERROR(fs.remove(file));
  return fs.remove(directory);
}

// Takes a complete checkpoint away: first its name, so that a crash half way leaves no half one.
Result<> retire(FileSystem& fs, const std::string& run_directory, const CheckpointPlace& place) {
  if (!own_files(fs, place.path)) {
    return fail(Code::kFailedPrecondition, "{} holds files that headwater did not write",
                place.path);
  }
  const std::string partial = place_of(run_directory, place.step, kPartial);
  HW_RETURN_IF_ERROR(fs.rename(place.path, partial));
  return remove_own_directory(fs, partial);
}

// Directories of the run that are named as checkpoints are.
Result<std::vector<std::pair<CheckpointName, std::string>>> named_directories(
    FileSystem& fs, const std::string& run_directory) {
  HW_ASSIGN_OR_RETURN(const auto entries, fs.list(run_directory));
  std::vector<std::pair<CheckpointName, std::string>> found;
  for (const FileInfo& entry : entries) {
    const auto name = parse_name(base_name(entry.path));
    if (entry.is_directory && name) found.emplace_back(*name, entry.path);
  }
  return found;
}

// Removes what a crash left: partial directories, and replaced ones whose successor stands. A
// replaced one without successor takes its place again.
Result<> clean_up(FileSystem& fs, const std::string& run_directory) {
  HW_ASSIGN_OR_RETURN(const auto directories, named_directories(fs, run_directory));
  for (const auto& [name, path] : directories) {
    if (name.suffix.empty() || !own_files(fs, path)) continue;
    const std::string place = place_of(run_directory, name.step);
    if (name.suffix == kReplaced && !fs.exists(place) && has_manifest(fs, path)) {
      HW_RETURN_IF_ERROR(fs.rename(path, place));
    } else {
      HW_RETURN_IF_ERROR(remove_own_directory(fs, path));
    }
  }
  return {};
}

Result<std::string> format_manifest(const TrainState& state, const Checksum& checksum) {
  HW_ASSIGN_OR_RETURN(Json meta, parse_json(state.meta, "meta"));
  if (!meta.is_object()) return fail(Code::kInternal, "the meta of a checkpoint is no JSON object");
  Json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["headwater"] = HW_VERSION;
  json["step"] = state.step;
  json["parameters"] = state.parameters.size();
  json["slots"] = state.slots.size();
  json["files"][std::string(kStateFile)] = {{"bytes", checksum.bytes},
                                            {"crc32c", fmt::format("{:08x}", checksum.crc)}};
  json["aliases"] = Json::object();
  for (const auto& [alias, name] : state.aliases) json["aliases"][alias] = name;
  json["meta"] = std::move(meta);
  return dump_json(json, 1) + "\n";
}

// Both files into an existing directory. The manifest comes last, and its rename syncs the
// directory.
Result<> write_files(FileSystem& fs, const std::string& directory, const TrainState& state) {
  std::vector<TensorView> views = tensor_views(state.parameters);
  for (TensorView& view : tensor_views(state.slots)) views.push_back(std::move(view));
  HW_ASSIGN_OR_RETURN(auto file, fs.open_write(join_path(directory, kStateFile)));
  BufferedSink buffered(std::move(file));
  ChecksumSink sink(buffered);
  HW_RETURN_IF_ERROR(write_safetensors(sink, std::move(views)));
  HW_RETURN_IF_ERROR(sink.close());
  HW_ASSIGN_OR_RETURN(const std::string manifest, format_manifest(state, sink.checksum()));
  return write_file_atomic(fs, join_path(directory, kManifestFile), manifest);
}

// Moves a complete partial directory into its place; a checkpoint already there steps aside first.
Result<> put_in_place(FileSystem& fs, const std::string& run_directory, int64_t step) {
  const std::string place = place_of(run_directory, step);
  const std::string replaced = place_of(run_directory, step, kReplaced);
  const bool occupied = fs.exists(place);
  if (occupied) HW_RETURN_IF_ERROR(fs.rename(place, replaced));
  auto renamed = fs.rename(place_of(run_directory, step, kPartial), place);
  if (!renamed && occupied && !fs.exists(place)) (void)fs.rename(replaced, place);
  return renamed;
}

Result<> prune(FileSystem& fs, const std::string& run_directory, int64_t step, int64_t keep) {
  HW_RETURN_IF_ERROR(clean_up(fs, run_directory));
  if (keep <= 0) return {};
  HW_ASSIGN_OR_RETURN(auto places, list_checkpoints(fs, run_directory));
  // Later steps are of a run that was taken up again further back; they are not older.
  std::erase_if(places, [&](const CheckpointPlace& place) {
    return place.step >= step || !own_files(fs, place.path) ||
           !read_checkpoint_manifest(fs, place.path);
  });
  while (static_cast<int64_t>(places.size()) > keep - 1) {
    HW_RETURN_IF_ERROR(retire(fs, run_directory, places.front()));
    places.erase(places.begin());
  }
  return {};
}

std::optional<CheckpointPlace> previous_checkpoint(FileSystem& fs, const std::string& path) {
  const auto name = parse_name(base_name(path));
  const auto places = list_checkpoints(fs, directory_name(path));
  if (!name || !places) return std::nullopt;
  std::optional<CheckpointPlace> previous;
  for (const CheckpointPlace& place : *places) {
    if (place.step < name->step) previous = place;
  }
  return previous;
}

tl::unexpected<Error> damaged(FileSystem& fs, const std::string& path, Error error) {
  if (const auto previous = previous_checkpoint(fs, path)) {
    error.hint = fmt::format("the checkpoint before it is {}: move {} away to go on from there",
                             previous->path, path);
  }
  return tl::unexpected<Error>(std::move(error));
}

// A member of the manifest, checked for its type.
template <class T>
Result<T> member(const Json& json, const char* key, bool (Json::*is)() const noexcept) {
  const auto found = json.find(key);
  if (found == json.end() || !((*found).*is)()) {
    return fail(Code::kDataLoss, "'{}' is missing or not of its type", key);
  }
  return found->template get<T>();
}

Result<CheckpointManifest> parse_manifest(const std::string& text) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, "the manifest"));
  const auto format = json.is_object() ? json.find("format") : json.end();
  if (!json.is_object() || format == json.end() || *format != kFormat) {
    return fail(Code::kInvalidArgument, "it is not the manifest of a headwater checkpoint");
  }
  HW_ASSIGN_OR_RETURN(const auto version,
                      member<int64_t>(json, "version", &Json::is_number_integer));
  if (version > kVersion) {
    return fail_hint(Code::kUnimplemented, "use a newer headwater",
                     "its format version is {}, this program reads up to {}", version, kVersion);
  }
  CheckpointManifest manifest;
  HW_ASSIGN_OR_RETURN(manifest.step, member<int64_t>(json, "step", &Json::is_number_integer));
  HW_ASSIGN_OR_RETURN(manifest.version, member<std::string>(json, "headwater", &Json::is_string));
  HW_ASSIGN_OR_RETURN(const Json files, member<Json>(json, "files", &Json::is_object));
  const auto entry = files.find(kStateFile);
  if (manifest.step < 0 || entry == files.end() || !entry->is_object()) {
    return fail(Code::kDataLoss, "'step' or 'files' is damaged");
  }
  HW_ASSIGN_OR_RETURN(manifest.bytes, member<int64_t>(*entry, "bytes", &Json::is_number_integer));
  HW_ASSIGN_OR_RETURN(const auto crc, member<std::string>(*entry, "crc32c", &Json::is_string));
  const auto parsed = std::from_chars(crc.data(), crc.data() + crc.size(), manifest.crc, 16);
  if (parsed.ec != std::errc() || crc.size() != 8) {
    return fail(Code::kDataLoss, "'crc32c' is damaged");
  }
  HW_ASSIGN_OR_RETURN(const Json aliases, member<Json>(json, "aliases", &Json::is_object));
  for (const auto& [alias, name] : aliases.items()) {
    if (!name.is_string()) return fail(Code::kDataLoss, "'aliases' is damaged");
    manifest.aliases[alias] = name.get<std::string>();
  }
  HW_ASSIGN_OR_RETURN(const Json meta, member<Json>(json, "meta", &Json::is_object));
  manifest.meta = dump_json(meta);
  return manifest;
}

Result<TrainState> read_state(FileSystem& fs, const std::string& path,
                              const CheckpointManifest& manifest, LoadSlots slots) {
  const std::string file = join_path(path, kStateFile);
  HW_ASSIGN_OR_RETURN(const FileInfo info, fs.info(file));
  if (info.size != manifest.bytes) {
    return fail(Code::kDataLoss, "{} should have {} bytes, it has {}", file, manifest.bytes,
                info.size);
  }
  HW_ASSIGN_OR_RETURN(auto source, fs.open_read(file));
  Checksum checksum;
  HW_ASSIGN_OR_RETURN(
      SafetensorsReader reader,
      SafetensorsReader::open(std::make_unique<ChecksumSource>(std::move(source), checksum),
                              info.size, file));
  TrainState state{manifest.step, {}, {}, manifest.aliases, manifest.meta};
  for (size_t i = 0; i < reader.entries().size(); ++i) {
    const std::string& name = reader.entries()[i].name;
    const bool is_slot = name.find('#') != std::string::npos;
    if (is_slot && slots == LoadSlots::kNo) continue;
    HW_ASSIGN_OR_RETURN(Tensor tensor, reader.read(i));
    (is_slot ? state.slots : state.parameters).push_back({name, std::move(tensor)});
  }
  HW_RETURN_IF_ERROR(reader.finish());
  if (checksum.crc != manifest.crc) {
    return fail(Code::kDataLoss, "{} is damaged: its CRC-32C is {:08x}, {} says {:08x}", file,
                checksum.crc, kManifestFile, manifest.crc);
  }
  return state;
}

}  // namespace

Result<std::vector<CheckpointPlace>> list_checkpoints(FileSystem& fs,
                                                      const std::string& run_directory) {
  HW_ASSIGN_OR_RETURN(const auto directories, named_directories(fs, run_directory));
  std::vector<CheckpointPlace> places;
  for (const auto& [name, path] : directories) {
    const bool stands_in =
        name.suffix == kReplaced && !fs.exists(place_of(run_directory, name.step));
    if ((name.suffix.empty() || stands_in) && has_manifest(fs, path))
      places.push_back({path, name.step});
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return places;
}

Result<CheckpointPlace> latest_checkpoint(FileSystem& fs, const std::string& run_directory) {
  HW_ASSIGN_OR_RETURN(const auto places, list_checkpoints(fs, run_directory));
  if (places.empty()) {
    return fail(Code::kNotFound, "there is no checkpoint in {} (no {}<step>/{})", run_directory,
                kPrefix, kManifestFile);
  }
  return places.back();
}

Result<std::string> find_checkpoint(FileSystem& fs, const std::string& path) {
  if (has_manifest(fs, path)) return path;
  HW_ASSIGN_OR_RETURN(CheckpointPlace place, latest_checkpoint(fs, path));
  return std::move(place.path);
}

Result<std::string> save_checkpoint(FileSystem& fs, const std::string& run_directory,
                                    const TrainState& state, int64_t keep) {
  const std::string place = place_of(run_directory, state.step);
  const std::string partial = place_of(run_directory, state.step, kPartial);
  const auto explain = [&](Error error) {
    const auto latest = latest_checkpoint(fs, run_directory);
    const std::string good = latest ? "the latest good checkpoint is " + latest->path : "";
    error.hint += error.hint.empty() || good.empty() ? good : "; " + good;
    return in_context(std::move(error), fmt::format("cannot save {}", place));
  };
  const auto write = [&]() -> Result<> {
    HW_RETURN_IF_ERROR(fs.make_directories(run_directory));
    HW_RETURN_IF_ERROR(clean_up(fs, run_directory));
    if (fs.exists(partial) || (fs.exists(place) && !own_files(fs, place))) {
      return fail_hint(Code::kAlreadyExists, "move it away",
                       "{} is in the way: headwater did not write all that it holds",
                       fs.exists(partial) ? partial : place);
    }
    HW_RETURN_IF_ERROR(fs.make_directories(partial));
    HW_RETURN_IF_ERROR(write_files(fs, partial, state));
    return put_in_place(fs, run_directory, state.step);
  };
  if (auto written = write(); !written) {
    if (own_files(fs, partial)) (void)remove_own_directory(fs, partial);  // room on a full disk
    return explain(std::move(written).error());
  }
  if (auto pruned = prune(fs, run_directory, state.step, keep); !pruned) {
    log_warning("cannot remove an old checkpoint: {}", pruned.error().to_string());
  }
  return place;
}

Result<CheckpointManifest> read_checkpoint_manifest(FileSystem& fs, const std::string& path) {
  const std::string file = join_path(path, kManifestFile);
  auto text = read_file(fs, file, kManifestLimit);
  if (!text && text.error().code == Code::kNotFound) {
    return fail(Code::kNotFound, "{} is no checkpoint: there is no {}", path, file);
  }
  if (!text) return tl::unexpected<Error>(std::move(text).error());
  auto manifest = parse_manifest(*text);
  if (!manifest) return in_context(std::move(manifest).error(), file);
  return manifest;
}

Result<TrainState> load_checkpoint(FileSystem& fs, const std::string& path, LoadSlots slots) {
  auto manifest = read_checkpoint_manifest(fs, path);
  if (!manifest && manifest.error().code == Code::kNotFound)
    return tl::unexpected<Error>(std::move(manifest).error());
  if (!manifest) return damaged(fs, path, std::move(manifest).error());
  auto state = read_state(fs, path, *manifest, slots);
  if (!state) return damaged(fs, path, std::move(state).error());
  return state;
}

}  // namespace headwater
