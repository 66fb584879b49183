#include "adapt/adapt_source.h"

#include "checkpoints/native.h"
#include "finetune/task_model.h"

namespace headwater {

std::string network_to_tune(FileSystem& fs, const std::string& exported) {
  const std::string inner = join_path(exported, "discriminator");
  return fs.exists(join_path(inner, "config.json")) ? inner : exported;
}

Result<AdaptSource> AdaptSource::find(FileSystem& fs, const std::string& path) {
  AdaptSource source;
  source.checkpoint = path;
  if (!fs.exists(path)) return fail(Code::kNotFound, "--model: there is no {}", path);
  if (const auto checkpoint = find_checkpoint(fs, path)) {
    HW_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                        read_checkpoint_manifest(fs, *checkpoint));
    source.is_run = true;
    source.digest = fmt::format("{}-{:08x}", manifest.step, manifest.crc);
    return source;
  }
  source.model = network_to_tune(fs, path);
  if (!fs.exists(join_path(source.model, "config.json")))
    return fail_hint(
        Code::kInvalidArgument,
        fmt::format("headwater convert --from {} --to hf --output-dir DIR --vocab-file "
                    "vocab.txt makes one",
                    path),
        "{} is no Hugging Face folder: it has no config.json", path);
  HW_ASSIGN_OR_RETURN(source.digest, model_digest(fs, source.model));
  const std::string generator = join_path(path, "generator");
  if (fs.exists(join_path(generator, "config.json"))) {
    HW_ASSIGN_OR_RETURN(const std::string second, model_digest(fs, generator));
    source.digest += second;
  }
  return source;
}

Result<std::string> vocabulary_of(FileSystem& fs, const std::string& model) {
  const std::string path = join_path(model, "vocab.txt");
  if (fs.exists(path)) return path;
  return fail_hint(Code::kNotFound, "put the model's vocabulary there", "there is no {}", path);
}

}  // namespace headwater
