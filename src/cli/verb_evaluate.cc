// `evaluate`: metrics of a checkpoint on records, or of a fine-tuned model on a task.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/verb.h"
#include "finetune/apply_run.h"
#include "train/evaluate_run.h"

namespace headwater {
namespace {

struct EvaluateVerbOptions {
  EvaluateOptions records;
  ApplyOptions task;

  void describe(Fields& f) {
    f.group("A checkpoint of pre-training, on records");
    records.describe(f);
    f.group("Or a fine-tuned model, on a task");
    f("model", task.model,
      "a run of `headwater finetune`, or a Hugging Face directory with a task's head")
        .value_name("DIR")
        .alias("model_name_or_path");
    f("file", task.file, "examples with their labels").value_name("FILE").alias("test");
    f("tokenizer", task.tokenizer, "folder or file of the tokenizer; default: the model's folder")
        .value_name("PATH");
    task.task.describe(f);
  }

  Result<> resolve(Fields&) const {
    if (!task.model.empty() && !task.file.empty()) return {};
    if (!records.checkpoint.empty()) return {};
    return fail_hint(Code::kInvalidArgument, "or a fine-tuned one with --model and --file",
                     "name a checkpoint of pre-training with --checkpoint");
  }
};

Result<int> evaluate_records(const EvaluateOptions& options) {
  HW_ASSIGN_OR_RETURN(const EvaluateResult result, evaluate_checkpoint(options));
  if (options.json) {
    Json json = {{"checkpoint", result.checkpoint},
                 {"step", result.step},
                 {"examples", result.examples},
                 {"batches", result.batches}};
    for (const auto& [name, value] : result.values) json[name] = value;
    std::puts(dump_json(json).c_str());
    return 0;
  }
  fmt::print("{}, step {}: {} examples, {} batches\n", result.checkpoint, result.step,
             result.examples, result.batches);
  for (const auto& [name, value] : result.values) fmt::print("  {:<28} {:.5g}\n", name, value);
  return 0;
}

Result<int> evaluate_model(EvaluateVerbOptions& options) {
  ApplyOptions& task = options.task;
  task.eval_batch_size = options.records.eval_batch_size.value_or(task.eval_batch_size);
  task.threads = options.records.threads;
  task.device = options.records.device;
  task.device.num_replicas = 1;
  HW_ASSIGN_OR_RETURN(const Evaluation evaluation, evaluate_task(task));
  if (options.records.json) {
    std::puts(dump_json(evaluation.to_json()).c_str());
    return 0;
  }
  fmt::print("{}, {}: {} examples\n", evaluation.model, evaluation.task, evaluation.examples);
  for (const auto& [name, value] : evaluation.judgement.values)
    fmt::print("  {:<28} {:.5g}\n", name, value);
  TextTable table("lrrrr");
  const std::vector<Counts>& counts = evaluation.judgement.counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i == 0) table.add({"label", "precision", "recall", "f1", "support"});
    const auto share = [](double value) { return fmt::format("{:.4f}", value); };
    table.add({evaluation.judgement.counted[i], share(counts[i].precision()),
               share(counts[i].recall()), share(counts[i].f1()), grouped(counts[i].support())});
  }
  if (!table.empty()) fmt::print("\n{}", table.text("  "));
  for (const std::string& note : evaluation.judgement.notes) fmt::print("{}\n", note);
  return 0;
}

Result<int> run_evaluate(EvaluateVerbOptions& options) {
  return options.task.model.empty() ? evaluate_records(options.records) : evaluate_model(options);
}

}  // namespace

Verb make_evaluate_verb() {
  return make_verb<EvaluateVerbOptions>(
      {.name = "evaluate",
       .summary = "metrics of a checkpoint on records, or of a fine-tuned model on a task",
       .description =
           "Of a checkpoint: masked-language-model and replaced-token-detection metrics, dropout "
           "off. Without --records, the part of the run's records that training never saw.\n\n"
           "masked_lm_accuracy is the share of the masked tokens that the generator's best guess "
           "hits, disc_auc the chance that a replaced token is ranked above an original one, "
           "disc_base_entropy the loss of a discriminator that knows nothing but the share of "
           "replaced tokens.\n\n"
           "Of a fine-tuned model: the metrics of its task on labelled examples, as a table or as "
           "JSON. f1_macro counts a label that is neither true nor predicted as 0, "
           "f1_macro_present leaves it out.",
       .examples = {{"headwater evaluate --checkpoint run", "the latest checkpoint of a run"},
                    {"headwater evaluate --checkpoint run --records 'chat/*.tfrecord*' --json",
                     "on other text"},
                    {"headwater evaluate --model kote-run --file test.tsv",
                     "a fine-tuned model on its task"},
                    {"headwater evaluate --model classifier --task single-label --file test.csv "
                     "--text-column review --label-column stars --json",
                     "any classifier in a Hugging Face directory"}}},
      run_evaluate);
}

}  // namespace headwater
