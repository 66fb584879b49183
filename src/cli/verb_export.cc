// `export`: a checkpoint as Hugging Face directories.
#include <cstdio>

#include "base/log.h"
#include "checkpoints/export_run.h"
#include "cli/verb.h"

namespace headwater {
namespace {

struct ExportVerbOptions {
  ExportRunOptions run;

  void describe(Fields& f) {
    f("checkpoint", run.checkpoint, "directory of a run (its latest checkpoint) or of a checkpoint")
        .value_name("DIR")
        .required();
    f("output_dir", run.output_dir,
      "where the model, or discriminator/ and generator/ of a pair, are made")
        .value_name("DIR")
        .required();
    f("vocab_file", run.vocab_file,
      "the run's vocabulary; default: vocab.txt in the run's directory")
        .value_name("FILE");
    f("do_lower_case", run.do_lower_case, "the tokenizer folds case; default: as the run says")
        .negation("no_lower_case");
    f("strip_accents", run.strip_accents,
      "the tokenizer deletes accents; default: as the run says");
    f("average", run.average, "of a run with --ema-decay, export the averaged weights");
    f("overwrite", run.overwrite, "replace files of an earlier export");
  }
};

void print_network(const ExportedNetwork& network, int64_t step, std::string_view note) {
  const std::string line =
      fmt::format("{}: step {}, {} tensors, {:.1f}M parameters, {:.1f} MB{}\n", network.directory,
                  step, network.tensors, static_cast<double>(network.parameters) / 1e6,
                  static_cast<double>(network.bytes) / 1e6, note);
  std::fputs(line.c_str(), stdout);
}

Result<int> run_export(const ExportVerbOptions& options) {
  HW_ASSIGN_OR_RETURN(const ExportRunReport report, export_run(local_files(), options.run));
  for (const std::string& warning : report.warnings) log_warning("{}", warning);
  for (const ExportedNetwork& network : report.networks)
    print_network(network, report.step, report.averaged ? ", averaged weights" : "");
  return 0;
}

}  // namespace

Verb make_export_verb() {
  return make_verb<ExportVerbOptions>(
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
