#include "checkpoints/export_run.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/export_meta.h"
#include "checkpoints/hf_tokenizer.h"
#include "checkpoints/native.h"

namespace headwater {
namespace {

Result<Vocabulary> run_vocabulary(FileSystem& fs, const ExportRunOptions& options,
                                  const std::string& checkpoint, const ExportMeta& meta) {
  std::string path = options.vocab_file;
  if (path.empty()) {
    const std::string run = checkpoint == "." ? ".." : directory_name(checkpoint);
    path = join_path(fs.exists(join_path(checkpoint, "vocab.txt")) ? checkpoint : run, "vocab.txt");
    if (!fs.exists(path)) {
      return fail_hint(Code::kNotFound, "name it with --vocab-file",
                       "the vocabulary is not with the checkpoint: there is no {}", path);
    }
  }
  HW_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::load(fs, path));
  if (!meta.vocabulary_digest.empty() && meta.vocabulary_digest != vocabulary.digest()) {
    return fail_hint(Code::kInvalidArgument, "name the right file with --vocab-file",
                     "{} is not the vocabulary with which {} was trained", path, checkpoint);
  }
  return vocabulary;
}

TokenizerOptions run_tokenizer(const ExportRunOptions& options, const ExportMeta& meta,
                               std::vector<std::string>& warnings) {
  TokenizerOptions tokenizer = meta.tokenizer.value_or(TokenizerOptions{});
  if (options.do_lower_case) tokenizer.do_lower_case = *options.do_lower_case;
  if (options.strip_accents) tokenizer.strip_accents = options.strip_accents;
  if (!meta.tokenizer && !options.do_lower_case) {
    warnings.emplace_back(
        "the checkpoint does not say how its text was tokenised: the export says cased "
        "(--do-lower-case changes that)");
  }
  return tokenizer;
}

// A run of `headwater train`: one model, with the tokenizer files that the run took along.
Result<ExportRunReport> export_one(FileSystem& fs, const ExportRunOptions& options,
                                   const std::string& checkpoint, const Json& config) {
  ExportRunReport report;
  HfModelExport request;
  HW_ASSIGN_OR_RETURN(request.model,
                      Model::from_hf_json(config, fmt::format("{}, model", checkpoint)));
  HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs, checkpoint));
  request.state = &state;
  request.averaged = options.average && has_averages(state);
  request.overwrite = options.overwrite;
  std::string run = checkpoint == "." ? ".." : directory_name(checkpoint);
  if (base_name(run) == kBestDirectory) run = directory_name(run);
  HW_ASSIGN_OR_RETURN(request.files, read_tokenizer_folder(fs, run));
  if (request.files.empty())
    report.warnings.push_back(
        fmt::format("{} has no tokenizer files: the export goes without them", run));
  HW_ASSIGN_OR_RETURN(const ExportedNetwork network, export_model(fs, request, options.output_dir));
  report.step = state.step;
  report.averaged = request.averaged;
  report.networks.push_back(network);
  return report;
}

}  // namespace

Result<ExportRunReport> export_run(FileSystem& fs, const ExportRunOptions& options) {
  HW_ASSIGN_OR_RETURN(const std::string checkpoint, find_checkpoint(fs, options.checkpoint));
  HW_ASSIGN_OR_RETURN(const CheckpointManifest manifest, read_checkpoint_manifest(fs, checkpoint));
  HW_ASSIGN_OR_RETURN(const Json saved, parse_json(manifest.meta, checkpoint));
  if (saved.is_object() && saved.contains("model"))
    return export_one(fs, options, checkpoint, saved.at("model"));
  HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs, checkpoint, LoadSlots::kNo));
  HW_ASSIGN_OR_RETURN(ExportMeta meta, get_export_meta(state.meta, checkpoint));
  HW_ASSIGN_OR_RETURN(const Vocabulary vocabulary, run_vocabulary(fs, options, checkpoint, meta));
  ExportRunReport report;
  HfExport request;
  request.state = &state;
  request.vocabulary = &vocabulary;
  request.discriminator = std::move(meta.discriminator);
  request.generator = std::move(meta.generator);
  request.tokenizer = run_tokenizer(options, meta, report.warnings);
  request.overwrite = options.overwrite;
  HW_ASSIGN_OR_RETURN(const HfExportReport written,
                      export_electra(fs, request, options.output_dir));
  report.step = state.step;
  report.networks = written.networks;
  report.warnings.insert(report.warnings.end(), written.notes.begin(), written.notes.end());
  return report;
}

}  // namespace headwater
