#include "adapt/adapt_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/paired_runs.h"

namespace headwater {
namespace {

constexpr double kHeldOutExamples = 1024, kLeastHeldOut = 0.01, kMostHeldOut = 0.1;
constexpr int64_t kWarmupShare = 10, kLogShare = 50, kEvalShare = 8;  // of the steps

}  // namespace

void AdaptOptions::describe(Fields& f) {
  f.group("Model and text");
  f("model", model,
    "what is adapted: a Hugging Face folder, an exported pair, or a run of `headwater pretrain`")
      .value_name("DIR")
      .alias("model_name_or_path")
      .required();
  f("corpus_dir", corpus_dir, "text to continue its pre-training on").value_name("DIR").required();
  f("control_corpus_dir", control_corpus_dir,
    "text of the old kind: a third model is trained on it for as many steps, as a fair comparison")
      .value_name("DIR");
  f("output_dir", output_dir, "everything that is made; the same folder again goes on")
      .value_name("DIR")
      .required();
  f("dry_run", dry_run, "print the plan with estimated time, memory and disk, and do nothing");
  f.group("Continued pre-training");
  f("steps", steps, "of pre-training; auto: three passes over the corpus, at least 100")
      .range(1, 1e12)
      .alias("extra_steps");
  f("pretrain_batch_size", pretrain_batch_size, "sequences per step; auto: by the model's size")
      .range(1, 1 << 20);
  f("pretrain_seq_length", pretrain_seq_length, "tokens per sequence; auto: by the model's size")
      .range(8, 1 << 20);
  f("pretrain_learning_rate", pretrain_learning_rate, "peak rate; auto: by the model's size")
      .positive();
  f("pretrain_options", pretrain_options,
    "further options of `headwater pretrain` by name: '{\"mask_prob\": 0.2, \"seed\": 7}'")
      .json()
      .value_name("JSON");
  f.group("What is claimed");
  f("seeds", seeds, "fine-tuning runs on each side, with the same seeds on all of them")
      .range(1, 1000);
  f("first_seed", first_seed, "the others follow it").non_negative();
  f("metric", comparison.metrics, "metric that a claim is made of [default: by the task]")
      .alias("metrics");
  f("confidence", comparison.confidence, "of intervals").range(0.5, 0.9999);
  f("resamples", comparison.resamples, "of the bootstrap").range(100, 100'000);
  f("title", title, "heading of the report");
  describe_run_options(finetune, f);
}

Result<> AdaptOptions::resolve(Fields& f) {
  if (f.find("train")->is_default() || finetune.task.task.empty())
    return fail(Code::kInvalidArgument, "fine-tuning needs --task, --train and --test or --dev");
  if (finetune.test.empty() && !finetune.has_dev())
    return fail(Code::kInvalidArgument, "--test or --dev names what is compared");
  FinetuneOptions runs;  // a wrong option costs no pre-training
  Fields fields;
  runs.describe(fields);
  HW_RETURN_IF_ERROR(fields.set_json_text(given_run_options(f), "adapt"));
  return runs.resolve(fields);
}

Result<std::unique_ptr<PretrainStage>> pretrain_stage(const AdaptOptions& options,
                                                      const Json& sizes, int64_t examples) {
  auto stage = std::make_unique<PretrainStage>();
  PretrainOptions& o = stage->options;
  Fields& f = stage->fields;
  o.describe(f);
  HW_RETURN_IF_ERROR(f.set_json_text(options.pretrain_options, "--pretrain-options"));
  Json own = Json::object();
  if (options.pretrain_batch_size) own["train_batch_size"] = *options.pretrain_batch_size;
  if (options.pretrain_seq_length) own["max_seq_length"] = *options.pretrain_seq_length;
  if (options.pretrain_learning_rate) own["learning_rate"] = *options.pretrain_learning_rate;
  HW_RETURN_IF_ERROR(f.set_json(own, "adapt"));
  HW_RETURN_IF_ERROR(f.set_defaults(sizes, "the model"));
  HW_RETURN_IF_ERROR(f.set_defaults(
      Json{{"init_checkpoint", options.model}, {"generator_warmup_steps", 0}}, "adapt"));
  PretrainOptions recipe = o;  // what the size's recipe says of batch and length
  Fields recipe_fields;
  recipe.describe(recipe_fields);
  for (const Field& field : f.all()) recipe_fields.find(field.name)->origin = field.origin;
  HW_RETURN_IF_ERROR(recipe.resolve(recipe_fields));
  const int64_t rows = recipe.train_batch_size * recipe.gradient_accumulation_steps;
  const int64_t steps = options.steps.value_or(
      std::max(AdaptOptions::kFewestSteps, AdaptOptions::kPasses * examples / rows));
  const double held_out =
      std::clamp(kHeldOutExamples / static_cast<double>(std::max<int64_t>(1, examples)),
                 kLeastHeldOut, kMostHeldOut);
  HW_RETURN_IF_ERROR(
      f.set_defaults(Json{{"num_train_steps", steps},
                          {"num_warmup_steps", std::max<int64_t>(1, steps / kWarmupShare)},
                          {"eval_fraction", held_out},
                          {"eval_batch_size", std::min<int64_t>(recipe.train_batch_size, 64)},
                          {"log_steps", std::max<int64_t>(1, steps / kLogShare)},
                          {"eval_steps", std::max<int64_t>(1, steps / kEvalShare)},
                          {"save_checkpoints_steps", std::clamp<int64_t>(steps / 4, 1, 1000)},
                          {"keep_checkpoint_max", 2}},
                     "adapt"));
  HW_RETURN_IF_ERROR(o.resolve(f));
  return stage;
}

}  // namespace headwater
