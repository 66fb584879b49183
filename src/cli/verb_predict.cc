// `predict`: labels of new texts by a fine-tuned model.
#include "cli/verb.h"
#include "finetune/apply_run.h"
#include "io/standard_streams.h"

namespace headwater {
namespace {

struct PredictOptions {
  ApplyOptions apply;

  void describe(Fields& f) {
    f.group("Model and data");
    f("model", apply.model,
      "a fine-tuned model: a run of `headwater finetune`, or a Hugging Face "
      "directory")
        .value_name("DIR")
        .alias("model_name_or_path")
        .required();
    f("tokenizer", apply.tokenizer, "folder or file of the tokenizer; default: the model's folder")
        .value_name("PATH");
    f("file", apply.file, "examples, with or without labels; '-' or none: standard input")
        .value_name("FILE")
        .positional();
    f("eval_batch_size", apply.eval_batch_size, "examples of a batch")
        .range(1, 1 << 20)
        .alias("batch_size");
    f("threads", apply.threads, "CPU threads; 0: one per core").range(0, 4096);
    apply.device.describe(f);
    apply.task.describe(f);
  }
};

Result<int> run_predict(PredictOptions& options) {
  if (options.apply.file.empty()) options.apply.file = "-";
  const auto sink = standard_output();
  HW_RETURN_IF_ERROR(
      predict_task(options.apply, [&](const std::string& line) { return sink->write(line); }));
  return 0;
}

}  // namespace

Verb make_predict_verb() {
  return make_verb<PredictOptions>(
      {.name = "predict",
       .summary = "labels of new texts by a fine-tuned model",
       .description =
           "Reads examples as `headwater finetune` does, labels being optional, and writes a JSON "
           "line for each: the label or labels by name with the probabilities of all, the tags of "
           "words, or the answer. Task, columns and thresholds are those that the model was "
           "fine-tuned with, unless others are given.",
       .examples = {{"headwater predict --model kote-run new.tsv", "a table with texts"},
                    {"jq -c '{text: .body}' posts.jsonl | headwater predict --model kote-run "
                     "--format jsonl",
                     "in a pipe"}}},
      run_predict);
}

}  // namespace headwater
