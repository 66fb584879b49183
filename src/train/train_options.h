// Options of `headwater train`: a model by its architecture, any records, an objective.
//
// Names are Hugging Face's where it has one. Nothing here reads a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/error.h"
#include "batches/batch_pipeline.h"
#include "executors/device_options.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace headwater {

struct TrainOptions {
  // Model and output.
  std::string model, init_checkpoint, tokenizer, output_dir;
  std::optional<std::string> objective;  // none: what the architecture is for
  bool resume = false;
  std::vector<std::string> freeze;
  // Records.
  std::string records, dataset = "tfrecord", features, eval_records, on_damage = "stop";
  double eval_fraction = 0;
  // Batches.
  int64_t batch_size = 32, eval_batch_size = 0;  // 0: batch_size
  int64_t gradient_accumulation_steps = 1;
  int64_t max_seq_length = 0;  // 0: the model's positions
  bool truncate = false, pack = false;
  std::string pad_to = "longest", padding_values, remainder = "keep";
  // Order.
  std::string order = "shuffled", shard_by = "file";
  int64_t seed = 42, shuffle_buffer_size = 16384, shuffle_buffer_mb = 256;
  int64_t shards = 1, shard = 0, cycle_length = 1, block_length = 1;
  bool shuffle_files = false, reshuffle_each_iteration = true, repeat_before_shuffle = false;
  std::optional<int64_t> tf_seed, tf_global_seed;
  int64_t prefetch = 4;
  // Steps.
  std::optional<int64_t> num_train_epochs, max_steps;
  // Optimizer.
  std::string optimizer = "adamw-hf", lr_scheduler_type = "linear";
  std::string gradient_sync = "mean-then-global-clip";
  std::optional<double> learning_rate, weight_decay;  // none: the optimizer's own
  std::optional<double> adam_beta1, adam_beta2, adam_epsilon, momentum, warmup_ratio;
  double max_grad_norm = 1, lr_decay_power = 1, lr_end_ratio = 0;
  int64_t warmup_steps = 0, lr_decay_steps = 0, lr_timescale = 0;
  std::string lr_decay_form = "cosine";
  double ema_decay = 0, label_smoothing = 0;
  // Masks.
  double mlm_probability = 0.15;
  int64_t max_predictions_per_seq = 0;  // 0: int((mlm_probability + 0.005) * length)
  bool whole_word_masking = false;
  std::string word_list;
  // Reports, evaluation, checkpoints.
  int64_t log_steps = 100, eval_steps = 0, num_eval_steps = 0, save_steps = 1000;
  std::vector<std::string> sample_prompts;  // none: the beginning of a text
  int64_t sample_tokens = 40;               // 0: no samples
  double sample_temperature = 0.8;
  int64_t early_stopping_patience = 0;
  double early_stopping_threshold = 0;
  std::optional<int64_t> keep_checkpoint_max = 5;  // 0 or none keeps all
  int64_t threads = 0;
  DeviceOptions device;

  void describe(Fields& f);
  Result<> resolve(Fields& f);

  // Values are checked by resolve().
  OptimizerOptions optimizer_options() const;
  Schedule schedule(int64_t total_steps) const;
  // Files, order and batches of training; features and sizes of the model are the caller's.
  Result<BatchPipelineOptions> pipeline() const;
  void describe_optimizer(Fields& f);  // steps and optimizer only: for other runs of the loop
  bool evaluates() const { return !eval_records.empty() || eval_fraction > 0; }

 private:
  void describe_model(Fields& f);
  void describe_records(Fields& f);
  void describe_order(Fields& f);
  void describe_objective(Fields& f);
  void describe_reports(Fields& f);
  Result<> check_steps() const;
};

}  // namespace headwater
