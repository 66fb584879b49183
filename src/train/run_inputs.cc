#include "train/run_inputs.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "records/record_files.h"
#include "records/records_manifest.h"

namespace headwater {
namespace {

// Options that say how long a run goes on and what it tells: free to change when it is resumed.
constexpr std::array kFreeOptions = {"resume",
                                     "num_train_steps",
                                     "extra_steps",
                                     "log_steps",
                                     "eval_steps",
                                     "output_dir",
                                     "save_checkpoints_steps",
                                     "keep_checkpoint_max",
                                     "threads",
                                     "device",
                                     "num_replicas",
                                     "records",
                                     "vocab_file",
                                     "num_eval_steps",
                                     "eval_batch_size",
                                     "data_dir",
                                     "hparams",
                                     "init_checkpoint",
                                     "max_steps",
                                     "num_train_epochs",
                                     "save_steps",
                                     "prefetch",
                                     "model",
                                     "tokenizer",
                                     "eval_records",
                                     "word_list",
                                     "early_stopping_patience"};

// What of the tokenizer an export has to know.
TokenizerOptions tokenizer_of(const RecordsManifest& manifest) {
  TokenizerOptions tokenizer;
  tokenizer.do_lower_case = manifest.tokenizer.do_lower_case;
  tokenizer.strip_accents = manifest.tokenizer.strip_accents.value_or(false);
  tokenizer.normalize = manifest.tokenizer.normalize;
  return tokenizer;
}

}  // namespace

Result<RunInputs> RunInputs::open(FileSystem& fs, const PretrainOptions& options) {
  HW_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::load(fs, options.vocab_file));
  HW_ASSIGN_OR_RETURN(const SpecialIds specials, vocabulary.special_ids());
  HW_ASSIGN_OR_RETURN(ElectraConfigs configs, options.model_configs(vocabulary.size()));
  std::optional<TokenizerOptions> tokenizer;
  HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                      list_record_files(fs, split_patterns(options.records)));
  HW_ASSIGN_OR_RETURN(const std::vector<RecordsManifest> manifests,
                      RecordsManifest::beside(fs, files));
  for (const RecordsManifest& manifest : manifests) {
    HW_RETURN_IF_ERROR(manifest.check_vocabulary(vocabulary.name(), vocabulary.digest()));
    if (!tokenizer) tokenizer = tokenizer_of(manifest);
  }
  if (options.do_lower_case) {
    if (!tokenizer) tokenizer.emplace();
    tokenizer->do_lower_case = *options.do_lower_case;
  }
  return RunInputs{std::move(vocabulary), specials, std::move(configs), std::move(tokenizer)};
}

TrainerOptions trainer_options(const PretrainOptions& options, const ElectraConfigs& configs) {
  TrainerOptions trainer;
  trainer.model.discriminator = configs.discriminator;
  trainer.model.generator = configs.generator;
  trainer.model.objective = {.electra_objective = options.electra_objective,
                             .untied_generator = options.untied_generator,
                             .untied_generator_embeddings = options.untied_generator_embeddings,
                             .disallow_correct = options.disallow_correct,
                             .temperature = options.temperature,
                             .gen_weight = options.gen_weight,
                             .disc_weight = options.disc_weight};
  trainer.model.sizes = {options.train_batch_size, options.max_seq_length,
                         options.max_predictions_per_seq.value_or(1)};
  trainer.optimizer.adam = {.beta1 = options.adam_beta1,
                            .beta2 = options.adam_beta2,
                            .epsilon = options.adam_epsilon,
                            .weight_decay = options.weight_decay_rate};
  trainer.optimizer.max_grad_norm = options.max_grad_norm;
  trainer.gradient_sync = gradient_sync_of(options.gradient_sync);
  trainer.accumulation_steps = options.gradient_accumulation_steps;
  trainer.generator_warmup_steps = options.generator_warmup_steps;
  trainer.seed = static_cast<uint64_t>(options.seed);
  return trainer;
}

PipelineOptions pipeline_options(const PretrainOptions& options, const ElectraConfigs& configs) {
  PipelineOptions pipeline;
  pipeline.records = options.records;
  pipeline.eval_fraction = options.eval_fraction;
  pipeline.batch_size = options.train_batch_size;
  pipeline.max_seq_length = options.max_seq_length;
  pipeline.vocab_size = configs.generator.vocab_size;
  pipeline.mask_prob = options.mask_prob;
  pipeline.max_predictions = options.max_predictions_per_seq.value_or(1);
  pipeline.seed = static_cast<uint64_t>(options.seed);
  return pipeline;
}

int64_t saved_number(const Json& saved_meta, std::string_view key) {
  const auto number = saved_meta.find(key);
  const bool valid = number != saved_meta.end() && number->is_number_integer();
  return valid ? std::max<int64_t>(0, number->get<int64_t>()) : 0;
}

bool saved_flag(const Json& saved_meta, std::string_view key) {
  const auto flag = saved_meta.find(key);
  return flag != saved_meta.end() && flag->is_boolean() && flag->get<bool>();
}

std::string saved_text(const Json& saved_meta, std::string_view key) {
  const auto text = saved_meta.find(key);
  return text != saved_meta.end() && text->is_string() ? text->get<std::string>() : std::string();
}

std::vector<std::string> changed_options(const Json& saved_meta, const Fields& fields) {
  std::vector<std::string> lines;
  const auto saved = saved_meta.find("options");
  if (saved == saved_meta.end() || !saved->is_object()) return lines;
  const Json present = fields.to_json();
  for (const auto& [name, value] : present.items()) {
    if (std::find(kFreeOptions.begin(), kFreeOptions.end(), name) != kFreeOptions.end()) continue;
    const auto before = saved->find(name);
    if (before == saved->end() || *before == value) continue;
    lines.push_back(fmt::format("{} was {} when this run was started and is {} now", name,
                                dump_json(*before), dump_json(value)));
  }
  return lines;
}

}  // namespace headwater
