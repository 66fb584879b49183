#include "train/evaluate_run.h"

#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/stop_signal.h"
#include "base/threads.h"
#include "checkpoints/native.h"
#include "train/run_inputs.h"

namespace headwater {
namespace {

// The options of the run that saved the checkpoint.
Result<PretrainOptions> saved_options(const std::string& meta, const std::string& where) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(meta, where));
  if (!json.is_object() || !json.contains("options")) {
    return fail(Code::kInvalidArgument, "{} does not say with which options it was trained", where);
  }
  PretrainOptions options;
  Fields fields;
  options.describe(fields);
  HW_RETURN_IF_ERROR(fields.set_json(json.at("options"), where + ", options"));
  return options;
}

std::string vocabulary_path(const EvaluateOptions& options, const std::string& checkpoint) {
  if (!options.vocab_file.empty()) return options.vocab_file;
  return join_path(directory_name(checkpoint), "vocab.txt");
}

}  // namespace

void EvaluateOptions::describe(Fields& f) {
  f("checkpoint", checkpoint, "directory of a run (its latest checkpoint) or of a checkpoint")
      .value_name("DIR");
  f("records", records, "TFRecord shards; default: what the run held out of its own records")
      .value_name("GLOB");
  f("vocab_file", vocab_file, "default: vocab.txt in the run's directory").value_name("FILE");
  f("eval_batch_size", eval_batch_size, "sequences per batch; auto: as the run")
      .range(1, 1 << 20)
      .alias("per_device_eval_batch_size");
  f("num_eval_steps", num_eval_steps, "batches, at most; auto: all records").positive();
  f("seed", seed, "of masks and samples; auto: as the run").non_negative();
  f("threads", threads, "CPU threads; 0: one per core").range(0, 4096);
  device.describe(f);
  f("google_compatible", google_compatible,
    "disc_auc as google's code has it: 200 thresholds, padding counted as true negatives");
  f("json", json, "one JSON object instead of a table");
}

Result<EvaluateResult> evaluate_checkpoint(const EvaluateOptions& options) {
  set_num_threads(static_cast<int>(options.threads));
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const std::string path, find_checkpoint(fs, options.checkpoint));
  HW_ASSIGN_OR_RETURN(const TrainState state, load_checkpoint(fs, path, LoadSlots::kNo));
  HW_ASSIGN_OR_RETURN(PretrainOptions run, saved_options(state.meta, path));
  run.vocab_file = vocabulary_path(options, path);
  if (!options.records.empty()) run.records = options.records;
  run.eval_batch_size = options.eval_batch_size.value_or(run.eval_batch_size);
  run.seed = options.seed.value_or(run.seed);

  HW_ASSIGN_OR_RETURN(const RunInputs inputs, RunInputs::open(fs, run));
  HW_ASSIGN_OR_RETURN(auto executor, options.device.open());
  HW_ASSIGN_OR_RETURN(const auto trainer,
                      Trainer::create(trainer_options(run, inputs.configs), std::move(executor)));
  HW_RETURN_IF_ERROR(trainer->load(state, /*with_slots=*/false, path));

  PipelineOptions pipeline = pipeline_options(run, inputs.configs);
  pipeline.mode = PipelineMode::kEvaluate;
  pipeline.batch_size = run.eval_batch_size;
  if (!options.records.empty()) {
    pipeline.eval_records = options.records;
    pipeline.eval_fraction = 0;
  } else if (run.eval_fraction == 0) {
    return fail_hint(Code::kInvalidArgument, "name records with --records",
                     "the run of {} held no records out", path);
  }
  HW_ASSIGN_OR_RETURN(const auto data, PretrainPipeline::open(fs, pipeline, inputs.specials));

  EvaluateResult result{
      path, state.step, data->stats().examples, data->stats().steps_per_epoch, {}};
  if (options.num_eval_steps) result.batches = std::min(result.batches, *options.num_eval_steps);
  ElectraMetrics metrics(options.google_compatible);
  Progress progress("evaluate", result.batches, "batches");
  const StopSignal signals;
  for (int64_t i = 0; i < result.batches; ++i) {
    if (StopSignal::requested()) return fail(Code::kCancelled, "stopped");
    HW_ASSIGN_OR_RETURN(const PretrainBatch batch, data->next());
    HW_RETURN_IF_ERROR(trainer->evaluate(batch, metrics));
    progress.update(i + 1);
  }
  progress.finish();
  result.values = metrics.values();
  return result;
}

}  // namespace headwater
