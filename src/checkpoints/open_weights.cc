// Which format a path is: by content where there is a file, by the files in it where there is a
// directory. The formats themselves are elsewhere.
#include <algorithm>
#include <array>

#include "checkpoints/foreign_file.h"
#include "checkpoints/native.h"
#include "checkpoints/tf_bundle.h"
#include "checkpoints/tf_state.h"
#include "checkpoints/tf_table.h"
#include "checkpoints/weights_formats.h"

namespace headwater {
namespace {

constexpr std::string_view kIndexSuffix = ".index";
constexpr std::string_view kManifestFile = "checkpoint.json";

// What transformers looks for in a directory, in its order of preference.
constexpr std::array<std::string_view, 5> kModelFiles = {
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "pytorch_model.bin.index.json", "tf_model.h5"};

OpenedWeights with_notes(OpenedWeights opened, const std::vector<std::string>& notes) {
  if (opened) {
    for (const std::string& note : notes) (*opened)->add_note(note);
  }
  return opened;
}

OpenedWeights open_tf_directory(FileSystem& fs, const std::string& directory) {
  HW_ASSIGN_OR_RETURN(const TfPlace place, find_tf_checkpoint(fs, directory));
  return with_notes(open_tf_bundle(fs, place.prefix), place.notes);
}

// "<name>.data-00000-of-00001" -> "<name>"; empty for other names. Data files have no magic number.
std::string prefix_of_data_file(const std::string& path) {
  const size_t data = path.rfind(".data-");
  return data == std::string::npos ? "" : path.substr(0, data);
}

OpenedWeights open_sorted_table(FileSystem& fs, const std::string& path) {
  if (!path.ends_with(kIndexSuffix)) {
    return fail_hint(Code::kUnimplemented, "save it again with a TensorFlow of after 2016",
                     "{} is a sorted table, but no <prefix>.index: a TensorFlow checkpoint of the "
                     "first version?",
                     path);
  }
  return open_tf_bundle(fs, path.substr(0, path.size() - kIndexSuffix.size()));
}

OpenedWeights open_file(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const FileBytes file, fs.map(path));
  HW_RETURN_IF_ERROR(refuse_pointer_file(file.bytes(), path));
  const std::string_view start = file.text().substr(0, 4096);
  const auto starts = [&](std::string_view magic) { return start.starts_with(magic); };
  if (is_sorted_table(file.bytes())) return open_sorted_table(fs, path);
  if (starts("\x89HDF\r\n\x1a\n")) return open_keras_weights(fs, path);
  if (is_torch_file(file.bytes())) return open_torch_weights(fs, path);
  if (starts("{")) {
    if (base_name(path) == kManifestFile && start.find("headwater checkpoint") != std::string::npos)
      return open_native_weights(fs, directory_name(path));
    return open_sharded_weights(fs, path);
  }
  if (start.find("model_checkpoint_path:") != std::string::npos && base_name(path) == "checkpoint")
    return open_tf_directory(fs, directory_name(path));
  const std::string prefix = prefix_of_data_file(path);
  if (!prefix.empty() && fs.exists(tf_index_path(prefix))) return open_tf_bundle(fs, prefix);
  return open_safetensors_weights(fs, path);
}

// Whether a directory below holds weights: what to say where the one named does not.
std::string subdirectories_with_weights(FileSystem& fs, const std::vector<FileInfo>& files) {
  std::string found;
  for (const FileInfo& file : files) {
    const bool has_model =
        file.is_directory && std::any_of(kModelFiles.begin(), kModelFiles.end(), [&](auto name) {
          return fs.exists(join_path(file.path, name));
        });
    if (has_model) found += (found.empty() ? "" : ", ") + file.path;
  }
  return found;
}

OpenedWeights open_directory(FileSystem& fs, const std::string& path) {
  if (fs.exists(join_path(path, kManifestFile))) return open_native_weights(fs, path);
  HW_ASSIGN_OR_RETURN(const auto checkpoints, list_checkpoints(fs, path));
  if (!checkpoints.empty()) return open_native_weights(fs, checkpoints.back().path);

  std::vector<std::string> present;
  for (const std::string_view name : kModelFiles) {
    if (fs.exists(join_path(path, name))) present.emplace_back(name);
  }
  if (!present.empty()) {
    auto opened = open_file(fs, join_path(path, present.front()));
    for (size_t i = 1; opened && i < present.size(); ++i)
      (*opened)->add_note(fmt::format("{} holds {} too, which is not read", path, present[i]));
    return opened;
  }
  auto tensorflow = find_tf_checkpoint(fs, path);
  if (tensorflow) return with_notes(open_tf_bundle(fs, tensorflow->prefix), tensorflow->notes);
  if (tensorflow.error().code != Code::kNotFound || fs.exists(join_path(path, "checkpoint")))
    return tl::unexpected<Error>(std::move(tensorflow).error());
  const std::string saved_model = join_path(path, "variables/variables");
  if (fs.exists(tf_index_path(saved_model))) return open_tf_bundle(fs, saved_model);

  HW_ASSIGN_OR_RETURN(const auto files, fs.list(path));
  const std::string below = subdirectories_with_weights(fs, files);
  return fail_hint(Code::kNotFound,
                   below.empty() ? "it should hold model.safetensors, pytorch_model.bin, "
                                   "tf_model.h5, checkpoint-<step>/ or <prefix>.index"
                                 : "there are weights in " + below,
                   "there are no weights in {}", path);
}

OpenedWeights explain_missing(FileSystem& fs, const std::string& path, Error error) {
  const std::string name = base_name(path);
  const auto siblings = fs.list(directory_name(path));
  for (const FileInfo& file : siblings.value_or(std::vector<FileInfo>{})) {
    if (!base_name(file.path).starts_with(name + ".data-")) continue;
    return fail_hint(Code::kNotFound, "the save was interrupted; use the checkpoint before it",
                     "{} has data but no {}", path, tf_index_path(path));
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

Result<std::unique_ptr<WeightsSource>> open_weights(FileSystem& fs, const std::string& path) {
  const auto info = fs.info(path);
  if (info && info->is_directory) return open_directory(fs, path);
  // A prefix wins over a file of its name, which TensorFlow 1 wrote beside it at times.
  if (const auto index = fs.info(tf_index_path(path)); index && !index->is_directory)
    return open_tf_bundle(fs, path);
  if (info) return open_file(fs, path);
  return explain_missing(fs, path, info.error());
}

}  // namespace headwater
