// `export`: a checkpoint as Hugging Face directories.
#include <cstdio>

#include "base/log.h"
#include "checkpoints/export_meta.h"
#include "checkpoints/hf_export.h"
#include "checkpoints/native.h"
#include "cli/verb.h"
#include "io/file.h"

namespace headwater {
namespace {

struct ExportOptions {
  std::string checkpoint, output_dir, vocab_file;
  std::optional<bool> do_lower_case, strip_accents;
  bool overwrite = false;

  void describe(Fields& f) {
    f("checkpoint", checkpoint, "directory of a run (its latest checkpoint) or of a checkpoint")
        .value_name("DIR")
        .required();
    f("output_dir", output_dir, "where discriminator/ and generator/ are made")
        .value_name("DIR")
        .required();
    f("vocab_file", vocab_file, "the run's vocabulary; default: vocab.txt in the run's directory")
        .value_name("FILE");
    f("do_lower_case", do_lower_case, "the tokenizer folds case; default: as the run says")
        .negation("no_lower_case");
    f("strip_accents", strip_accents, "the tokenizer deletes accents; default: as the run says");
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

Result<int> run_export(const ExportOptions& options) {
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const std::string checkpoint, find_checkpoint(fs, options.checkpoint));
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
  for (const ExportedNetwork& network : report.networks) {
    const std::string line =
        fmt::format("{}: step {}, {} tensors, {:.1f}M parameters, {:.1f} MB\n", network.directory,
                    state.step, network.tensors, static_cast<double>(network.parameters) / 1e6,
                    static_cast<double>(network.bytes) / 1e6);
    std::fputs(line.c_str(), stdout);
  }
  return 0;
}

}  // namespace

Verb make_export_verb() {
  return make_verb<ExportOptions>(
      {.name = "export",
       .summary = "write a checkpoint as Hugging Face directories",
       .description =
           "Makes DIR/discriminator and DIR/generator, each with model.safetensors, config.json, "
           "vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json; "
           "transformers loads them as ElectraForPreTraining and ElectraForMaskedLM. A run that "
           "trained one network gives one directory. Every tensor is checked against the network's "
           "sizes before anything is written.",
       .examples = {{"headwater export --checkpoint runs/ko --output-dir hf",
                     "the latest checkpoint of a run"},
                    {"headwater export --checkpoint runs/ko/checkpoint-5000 --output-dir hf",
                     "one checkpoint"}}},
      run_export);
}

}  // namespace headwater
