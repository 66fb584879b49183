// `evaluate`: metrics of a checkpoint.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "train/evaluate_run.h"

namespace headwater {
namespace {

Result<int> run_evaluate(const EvaluateOptions& options) {
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

}  // namespace

Verb make_evaluate_verb() {
  return make_verb<EvaluateOptions>(
      {.name = "evaluate",
       .summary = "metrics of a checkpoint on records",
       .description =
           "Masked-language-model and replaced-token-detection metrics, dropout off. Without "
           "--records, the part of the run's records that training never saw.\n\n"
           "masked_lm_accuracy is the share of the masked tokens that the generator's best guess "
           "hits, disc_auc the chance that a replaced token is ranked above an original one, "
           "disc_base_entropy the loss of a discriminator that knows nothing but the share of "
           "replaced tokens.",
       .examples = {{"headwater evaluate --checkpoint run", "the latest checkpoint of a run"},
                    {"headwater evaluate --checkpoint run --records 'chat/*.tfrecord*' --json",
                     "on other text"}}},
      run_evaluate);
}

}  // namespace headwater
