// Options of an ELECTRA pre-training run: every hyper-parameter of google's configure_pretraining
// by its name, Hugging Face spellings as aliases, and a few of our own; and the two model configs
// that follow from them.
//
// Precedence, weakest first: default, sizes of model_size, preset, debug, file (--config,
// --hparams), flag. The base and large sizes bring the values of the paper with them (length 512,
// rate 2e-4, its batch, masking and generator), which the google file only holds as a comment;
// --google-defaults leaves them out. Nothing here reads a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/error.h"
#include "executors/device_options.h"
#include "models/electra_config.h"
#include "train/schedule.h"

namespace headwater {

struct ElectraConfigs {
  ElectraConfig discriminator;  // or the one encoder, when electra_objective is off
  ElectraConfig generator;      // has the discriminator's sizes when it is not a network of its own
};

struct PretrainOptions {
  // Data and output.
  std::string records, vocab_file, output_dir, data_dir, init_checkpoint;
  std::string model_name = "electra";
  bool resume = false;
  // How a run from init_checkpoint goes on.
  std::optional<int64_t> start_step;
  std::optional<std::string> continue_schedule;  // "exact"
  std::optional<double> start_learning_rate;
  std::string missing_slots = "rewarm";
  int64_t rewarm_steps = 1000;
  std::string missing_generator = "train";  // or "random", or a checkpoint that has one
  std::optional<int64_t> generator_steps;   // of that training
  // Recipe.
  std::optional<std::string> preset;
  std::string hparams;
  bool google_defaults = false, debug = false, do_train = true, do_eval = false;
  int64_t seed = 42;
  // Length and batch.
  int64_t max_seq_length = 128, train_batch_size = 128, eval_batch_size = 128;
  int64_t gradient_accumulation_steps = 1;
  // Steps.
  int64_t num_train_steps = 1000000;
  std::optional<int64_t> extra_steps;
  int64_t num_warmup_steps = 10000, generator_warmup_steps = 0;
  bool discriminator_from_generator = false;
  std::optional<double> warmup_ratio;
  // Optimiser.
  double learning_rate = 5e-4, lr_decay_power = 1, weight_decay_rate = 0.01;
  double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_epsilon = 1e-6, max_grad_norm = 1;
  std::string gradient_sync = "mean-then-global-clip";
  // Objective.
  bool electra_objective = true, electric_objective = false;
  double gen_weight = 1, disc_weight = 50, mask_prob = 0.15;
  std::optional<int64_t> max_predictions_per_seq;  // set by resolve()
  // Model.
  std::string model_size = "small", model_hparam_overrides = "{}";
  std::optional<int64_t> embedding_size, vocab_size;
  std::optional<bool> do_lower_case;
  // Generator.
  bool untied_generator = true, untied_generator_embeddings = false;
  bool uniform_generator = false, two_tower_generator = false, disallow_correct = false;
  double generator_layers = 1, generator_hidden_size = 0.25, temperature = 1;
  // Reports, evaluation, checkpoints.
  int64_t log_steps = 100, eval_steps = 1000, num_eval_steps = 100, save_checkpoints_steps = 1000;
  double eval_fraction = 0.01;
  std::optional<int64_t> keep_checkpoint_max = 5;  // 0 or none keeps all
  int64_t threads = 0;                             // 0: one per core
  DeviceOptions device;
  // Of another machine.
  int64_t iterations_per_loop = 200, num_tpu_cores = 1;
  bool use_tpu = false;
  std::optional<std::string> tpu_job_name, tpu_name, tpu_zone, gcp_project;

  void describe(Fields& f);
  // Presets, sizes, debug values and derived values, in their precedence; then the checks of
  // values against each other.
  Result<> resolve(Fields& f);

  // What a person should know about the values: options without effect here, odd combinations.
  std::vector<std::string> notes(const Fields& f) const;

  // Both model configs. `vocabulary_size` is that of the vocabulary file, at most vocab_size.
  Result<ElectraConfigs> model_configs(int64_t vocabulary_size) const;

  // The step at which a new run begins, from weights that had reached `checkpoint_step`.
  int64_t first_step(int64_t checkpoint_step) const;
  // The rates of a run that began at step `begin`; its total_steps is where the run ends:
  // num_train_steps, or extra_steps more. An end that is not after the start is an error that does
  // the arithmetic.
  Result<Schedule> schedule(int64_t begin) const;
  // The options of the training of a generator that init_checkpoint lacks, before a run over
  // `schedule`: the generator alone, under <output_dir>/generator.
  PretrainOptions generator_phase(const Schedule& schedule, int64_t begin) const;
  // What bounds the first updates of a run that begins at `begin` without moments: nothing where
  // the schedule's own warm-up does.
  Restart restart(int64_t begin) const;
  // Whether a fresh discriminator takes the generator's encoder over when it joins the training
  // after generator_warmup_steps, which takes layers alike, and what bounds its first updates then.
  bool discriminator_joins(const ElectraConfigs& configs) const;
  Restart restart_at_join() const;

 private:
  void describe_data(Fields& f);
  void describe_recipe(Fields& f);
  void describe_optimizer(Fields& f);
  void describe_model(Fields& f);
  void describe_reports(Fields& f);
  void describe_elsewhere(Fields& f);
  Result<> check() const;

  static constexpr const char* kElsewhereGroup = "Accepted, without effect on a CPU";
};

// Names for --preset.
std::vector<std::string> preset_names();

// Parameters of a pair as they are trained: the discriminator with its head, and what the generator
// adds, shared tables counted once.
struct ParameterCounts {
  int64_t discriminator = 0, generator = 0;
};
ParameterCounts count_parameters(const PretrainOptions& options, const ElectraConfigs& configs);

}  // namespace headwater
