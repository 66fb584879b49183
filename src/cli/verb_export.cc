// `export`: a checkpoint as Hugging Face directories.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "checkpoints/export_meta.h"
#include "checkpoints/hf_export.h"
#include "checkpoints/hf_tokenizer.h"
#include "checkpoints/native.h"
#include "base/json.h"
#include "cli/verb.h"
#include "io/file.h"

namespace headwater {
namespace {

struct ExportOptions {
  std::string checkpoint, output_dir, vocab_file;
  std::optional<bool> do_lower_case, strip_accents;
  bool overwrite = false, average = true;

  void describe(Fields& f) {
    f("checkpoint", checkpoint, "directory of a run (its latest checkpoint) or of a checkpoint")
        .value_name("DIR")
        .required();
    f("output_dir", output_dir,
      "where the model, or discriminator/ and generator/ of a pair, are made")
        .value_name("DIR")
        .required();
    f("vocab_file", vocab_file, "the run's vocabulary; default: vocab.txt in the run's directory")
        .value_name("FILE");
    f("do_lower_case", do_lower_case, "the tokenizer folds case; default: as the run says")
        .negation("no_lower_case");
    f("strip_accents", strip_accents, "the tokenizer deletes accents; default: as the run says");
    f("average", average, "of a run with --ema-decay, export the averaged weights");
    f("overwrite", overwrite, "replace files of an earlier export");
  }
};

Result<Vocabulary> load_vocabulary(FileSystem& fs, const ExportOptions& options,
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

TokenizerOptions tokenizer_options(const ExportOptions& options, const ExportMeta& meta) {
  TokenizerOptions tokenizer = meta.tokenizer.value_or(TokenizerOptions{});
  if (options.do_lower_case) tokenizer.do_lower_case = *options.do_lower_case;
  if (options.strip_accents) tokenizer.strip_accents = options.strip_accents;
  if (!meta.tokenizer && !options.do_lower_case) {
    log_warning(
        "the checkpoint does not say how its text was tokenised: the export says cased "
        "(--do-lower-case changes that)");
  }
  return tokenizer;
}

void print_network(const ExportedNetwork& network, int64_t step, std::string_view note) {
  const std::string line =
      fmt::format("{}: step {}, {} tensors, {:.1f}M parameters, {:.1f} MB{}\n", network.directory,
                  step, network.tensors, static_cast<double>(network.parameters) / 1e6,
                  static_cast<double>(network.bytes) / 1e6, note);
  std::fputs(line.c_str(), stdout);
}

// A run of `headwater train`: one model, with the tokenizer files that the run took along.
Result<int> export_one(FileSystem& fs, const ExportOptions& options, const std::string& checkpoint,
                       const Json& config) {
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
    log_warning("{} has no tokenizer files: the export goes without them", run);
  HW_ASSIGN_OR_RETURN(const ExportedNetwork network, export_model(fs, request, options.output_dir));
  print_network(network, state.step, request.averaged ? ", averaged weights" : "");
  return 0;
}

Result<int> run_export(const ExportOptions& options) {
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const std::string checkpoint, find_checkpoint(fs, options.checkpoint));
  HW_ASSIGN_OR_RETURN(const CheckpointManifest manifest, read_checkpoint_manifest(fs, checkpoint));
  HW_ASSIGN_OR_RETURN(const Json saved, parse_json(manifest.meta, checkpoint));
  if (saved.is_object() && saved.contains("model"))
    return export_one(fs, options, checkpoint, saved.at("model"));
  HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs, checkpoint, LoadSlots::kNo));
  HW_ASSIGN_OR_RETURN(ExportMeta meta, get_export_meta(state.meta, checkpoint));
  HW_ASSIGN_OR_RETURN(const Vocabulary vocabulary, load_vocabulary(fs, options, checkpoint, meta));
  HfExport request;
  request.state = &state;
  request.vocabulary = &vocabulary;
  request.discriminator = std::move(meta.discriminator);
  request.generator = std::move(meta.generator);
  request.tokenizer = tokenizer_options(options, meta);
  request.overwrite = options.overwrite;
  HW_ASSIGN_OR_RETURN(const HfExportReport report, export_electra(fs, request, options.output_dir));
  for (const std::string& note : report.notes) log_warning("{}", note);
  for (const ExportedNetwork& network : report.networks) print_network(network, state.step, "");
  return 0;
}

}  // namespace

Verb make_export_verb() {
  return make_verb<ExportOptions>(
      {.name = "export",
       .summary = "write a checkpoint as Hugging Face directories",
       .description =
           "Of a run of `headwater pretrain`, makes DIR/discriminator and DIR/generator, each with "
           "model.safetensors, config.json, "
           "vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json; "
           "transformers loads them as ElectraForPreTraining and ElectraForMaskedLM. A run that "
           "trained one network gives one directory. A run of `headwater train` gives one model in "
           "DIR, with the tokenizer files that it was trained with. Every tensor is checked "
           "against the network's "
           "sizes before anything is written.",
       .examples = {{"headwater export --checkpoint runs/ko --output-dir hf",
                     "the latest checkpoint of a run"},
                    {"headwater export --checkpoint runs/ko/checkpoint-5000 --output-dir hf",
                     "one checkpoint"}}},
      run_export);
}

}  // namespace headwater
