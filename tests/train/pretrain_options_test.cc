// Pre-training options: google's defaults, presets, precedence, derived values, model sizes.
#include "train/pretrain_options.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace headwater {
namespace {

using Setting = std::pair<std::string, std::string>;

struct Run {
  PretrainOptions options;
  Fields fields;
  Result<> result;
  std::string origin(std::string_view name) { return fields.find(name)->origin; }
};

std::unique_ptr<Run> resolve(const std::vector<Setting>& flags, std::string_view json = "{}") {
  auto run = std::make_unique<Run>();
  run->options.describe(run->fields);
  run->result = run->fields.set_json_text(json, "--hparams run.json");
  for (const auto& [name, value] : flags) {
    if (run->result) run->result = run->fields.set_text(name, value, "--" + name);
  }
  if (run->result) run->result = run->options.resolve(run->fields);
  return run;
}

std::string error_of(const std::vector<Setting>& flags, std::string_view json = "{}") {
  const auto run = resolve(flags, json);
  return run->result ? "no error" : run->result.error().to_string();
}

TEST(PretrainOptions, DefaultsAreGoogles) {
  const auto run = resolve({});
  ASSERT_TRUE(run->result) << run->result.error().to_string();
  const PretrainOptions& o = run->options;
  EXPECT_EQ(o.learning_rate, 5e-4);
  EXPECT_EQ(o.lr_decay_power, 1);
  EXPECT_EQ(o.weight_decay_rate, 0.01);
  EXPECT_EQ(o.num_warmup_steps, 10000);
  EXPECT_EQ(o.num_train_steps, 1000000);
  EXPECT_EQ(o.iterations_per_loop, 200);
  EXPECT_EQ(o.save_checkpoints_steps, 1000);
  EXPECT_EQ(o.num_eval_steps, 100);
  EXPECT_EQ(o.keep_checkpoint_max, 5);
  EXPECT_EQ(o.max_seq_length, 128);
  EXPECT_EQ(o.train_batch_size, 128);
  EXPECT_EQ(o.eval_batch_size, 128);
  EXPECT_EQ(o.max_predictions_per_seq, 19);
  EXPECT_EQ(o.embedding_size, 128);
  EXPECT_EQ(o.disc_weight, 50);
  EXPECT_EQ(o.generator_hidden_size, 0.25);
  EXPECT_EQ(o.generator_warmup_steps, 0);
  EXPECT_EQ(run->origin("max_predictions_per_seq"), "derived");
  EXPECT_EQ(run->origin("learning_rate"), "default");
}

// electra.md 2.1: the names google's file has.
TEST(PretrainOptions, KnowsEveryNameOfTheGoogleFile) {
  PretrainOptions options;
  Fields fields;
  options.describe(fields);
  for (const char* name : {"debug",
                           "do_train",
                           "do_eval",
                           "electra_objective",
                           "electric_objective",
                           "gen_weight",
                           "disc_weight",
                           "mask_prob",
                           "learning_rate",
                           "lr_decay_power",
                           "weight_decay_rate",
                           "num_warmup_steps",
                           "iterations_per_loop",
                           "save_checkpoints_steps",
                           "num_train_steps",
                           "num_eval_steps",
                           "keep_checkpoint_max",
                           "model_size",
                           "model_hparam_overrides",
                           "embedding_size",
                           "vocab_size",
                           "do_lower_case",
                           "uniform_generator",
                           "two_tower_generator",
                           "untied_generator_embeddings",
                           "untied_generator",
                           "generator_layers",
                           "generator_hidden_size",
                           "disallow_correct",
                           "temperature",
                           "max_seq_length",
                           "train_batch_size",
                           "eval_batch_size",
                           "use_tpu",
                           "num_tpu_cores",
                           "tpu_job_name",
                           "tpu_name",
                           "tpu_zone",
                           "gcp_project",
                           "pretrain_tfrecords",
                           "vocab_file",
                           "model_dir",
                           "model_name",
                           "max_predictions_per_seq"}) {
    EXPECT_NE(fields.find(name), nullptr) << name;
  }
  // Hugging Face spellings lead to the same fields.
  for (const auto& [alias, name] :
       std::vector<Setting>{{"max_steps", "num_train_steps"},
                            {"warmup_steps", "num_warmup_steps"},
                            {"weight_decay", "weight_decay_rate"},
                            {"per_device_train_batch_size", "train_batch_size"},
                            {"save_steps", "save_checkpoints_steps"},
                            {"save_total_limit", "keep_checkpoint_max"},
                            {"mlm_probability", "mask_prob"},
                            {"output_dir", "output_dir"},
                            {"gradient_accumulation_steps", "gradient_accumulation_steps"}}) {
    ASSERT_NE(fields.find(alias), nullptr) << alias;
    EXPECT_EQ(fields.find(alias)->name, name);
  }
}

TEST(PretrainOptions, EveryNameAndAliasIsUnique) {
  PretrainOptions options;
  Fields fields;
  options.describe(fields);
  std::vector<std::string> names = fields.names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(PretrainOptions, PresetsCompileInAndResolve) {
  for (const std::string& name : preset_names()) {
    const auto run = resolve({{"preset", name}});
    ASSERT_TRUE(run->result) << name << ": " << run->result.error().to_string();
    EXPECT_TRUE(run->options.model_configs(3000)) << name;
  }
  EXPECT_EQ(resolve({{"preset", "tiny"}})->options.generator_warmup_steps, 1600);
}

TEST(PretrainOptions, BaseAndLargeBringThePapersValues) {
  const auto base = resolve({{"model-size", "base"}});
  EXPECT_EQ(base->options.max_seq_length, 512);
  EXPECT_EQ(base->options.learning_rate, 2e-4);
  EXPECT_EQ(base->options.train_batch_size, 256);
  EXPECT_EQ(base->options.max_predictions_per_seq, 79);  // not 19: derived after the length
  EXPECT_EQ(base->origin("max_seq_length"), "model size base");
  EXPECT_EQ(base->options.model_configs(30522)->generator.hidden_size, 256);
  const auto large = resolve({{"model-size", "large"}});
  EXPECT_EQ(large->options.max_predictions_per_seq, 130);
  EXPECT_EQ(large->options.train_batch_size, 2048);

  const auto google = resolve({{"model_size", "base"}, {"google_defaults", "true"}});
  EXPECT_EQ(google->options.max_seq_length, 128);
  EXPECT_EQ(google->options.learning_rate, 5e-4);
  EXPECT_EQ(google->options.train_batch_size, 128);
  EXPECT_EQ(google->options.vocab_size, 30522);
  const auto configs = google->options.model_configs(30522);
  EXPECT_EQ(configs->generator.hidden_size, 192);
  EXPECT_EQ(configs->generator.num_attention_heads, 3);
  ASSERT_EQ(google->options.notes(google->fields).size(), 1u);
  EXPECT_NE(google->options.notes(google->fields)[0].find("0.33333"), std::string::npos);
}

TEST(PretrainOptions, PrecedenceAndOrigins) {
  const auto run = resolve({{"preset", "koelectra-base-v3"}, {"max_steps", "10"}},
                           R"({"learning_rate": 1e-4, "max_steps": 20, "debug": true})");
  ASSERT_TRUE(run->result) << run->result.error().to_string();
  EXPECT_EQ(run->options.num_train_steps, 10);
  EXPECT_EQ(run->origin("num_train_steps"), "--max_steps");
  EXPECT_EQ(run->options.learning_rate, 1e-4);
  EXPECT_EQ(run->origin("learning_rate"), "--hparams run.json");
  EXPECT_EQ(run->options.train_batch_size, 8);  // debug outranks the preset
  EXPECT_EQ(run->origin("train_batch_size"), "debug");
  EXPECT_EQ(run->options.max_seq_length, 512);
  EXPECT_EQ(run->origin("max_seq_length"), "preset koelectra-base-v3");
  EXPECT_EQ(run->origin("disc_weight"), "default");
}

TEST(PretrainOptions, DebugModel) {
  const auto run = resolve({{"debug", "true"}});
  EXPECT_EQ(run->options.num_train_steps, 20);
  EXPECT_EQ(run->options.eval_batch_size, 4);
  EXPECT_EQ(run->options.num_eval_steps, 2);
  const auto configs = run->options.model_configs(100);
  ASSERT_TRUE(configs);
  EXPECT_EQ(configs->discriminator.num_hidden_layers, 3);
  EXPECT_EQ(configs->discriminator.hidden_size, 144);
  EXPECT_EQ(configs->discriminator.num_attention_heads, 4);
  EXPECT_EQ(configs->discriminator.intermediate_size, 576);
  EXPECT_EQ(configs->discriminator.embedding_size, 128);
  EXPECT_EQ(configs->generator.hidden_size, 36);
  EXPECT_EQ(configs->generator.num_attention_heads, 1);
}

TEST(PretrainOptions, ModelSizes) {
  const auto small = resolve({})->options.model_configs(35000);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->discriminator.num_hidden_layers, 12);
  EXPECT_EQ(small->discriminator.hidden_size, 256);
  EXPECT_EQ(small->discriminator.num_attention_heads, 4);
  EXPECT_EQ(small->discriminator.intermediate_size, 1024);
  EXPECT_EQ(small->discriminator.embedding_size, 128);
  EXPECT_EQ(small->generator.hidden_size, 64);
  EXPECT_EQ(small->generator.num_attention_heads, 1);
  EXPECT_EQ(small->generator.intermediate_size, 256);
  EXPECT_EQ(small->generator.embedding_size, 128);
  EXPECT_EQ(small->generator.vocab_size, 35000);

  // The generator takes other overrides over, but not heads and inner width.
  const auto over = resolve({}, R"({"model_hparam_overrides":
      {"hidden_size": 512, "num_attention_heads": 16, "hidden_dropout_prob": 0.2},
      "generator_hidden_size": 0.5, "generator_layers": 0.375})");
  ASSERT_TRUE(over->result) << over->result.error().to_string();
  const auto configs = over->options.model_configs(1000);
  ASSERT_TRUE(configs) << configs.error().to_string();
  EXPECT_EQ(configs->discriminator.num_attention_heads, 16);
  EXPECT_EQ(configs->discriminator.intermediate_size, 2048);
  EXPECT_EQ(configs->discriminator.embedding_size, 128);  // model size small forces it
  EXPECT_EQ(configs->generator.hidden_size, 256);
  EXPECT_EQ(configs->generator.num_hidden_layers, 4);  // 4.5 rounds to even
  EXPECT_EQ(configs->generator.num_attention_heads, 4);
  EXPECT_EQ(configs->generator.intermediate_size, 1024);
  EXPECT_EQ(configs->generator.hidden_dropout_prob, 0.2);

  const auto untied = resolve({{"untied_generator_embeddings", "true"}})->options.model_configs(9);
  EXPECT_EQ(untied->generator.embedding_size, 64);
  const auto shared = resolve({{"untied_generator", "false"}})->options.model_configs(9);
  EXPECT_EQ(shared->generator, shared->discriminator);
  const auto mlm = resolve({{"electra_objective", "false"}})->options.model_configs(9);
  EXPECT_EQ(mlm->generator, mlm->discriminator);
}

// KoELECTRA-base v3: 122,830,009 trainable parameters in all (electra.md 2.3).
TEST(PretrainOptions, ParameterCountsOfKoElectra) {
  const auto run = resolve({{"preset", "koelectra-base-v3"}});
  const auto configs = run->options.model_configs(35000);
  ASSERT_TRUE(configs);
  EXPECT_EQ(configs->generator.hidden_size, 256);
  const ParameterCounts counts = count_parameters(run->options, *configs);
  EXPECT_EQ(counts.discriminator, 112330752 + 591361);
  EXPECT_EQ(counts.generator, 9673984 + 233912);
}

TEST(PretrainOptions, GooglesFolders) {
  const auto run = resolve({{"data-dir", "gd"}, {"model-name", "m1"}, {"vocab-file", "v.txt"}});
  EXPECT_EQ(run->options.records, "gd/pretrain_tfrecords/pretrain_data.tfrecord*");
  EXPECT_EQ(run->options.vocab_file, "v.txt");
  EXPECT_EQ(run->options.output_dir, "gd/models/m1");
}

TEST(PretrainOptions, MistakesSayWhatToDo) {
  EXPECT_EQ(error_of({}, R"({"lerning_rate": 1})"),
            "--hparams run.json: unknown key \"lerning_rate\"; did you mean \"learning_rate\"?");
  EXPECT_EQ(error_of({{"do_eval", "true"}}).substr(0, 70),
            "exactly one of do_train and do_eval must be true, both are true; train");
  EXPECT_EQ(error_of({{"electric_objective", "true"}}), "electric_objective is not supported");
  EXPECT_EQ(error_of({{"mask_prob", "0.002"}}),
            "derived: \"max_predictions_per_seq\" must be at least 1 and at most 1048576, got 0");
  EXPECT_EQ(error_of({{"start_step", "5"}}), "--start-step goes with --init-checkpoint only");
  const auto model_error = [](const std::vector<Setting>& flags, int64_t vocabulary) {
    const auto configs = resolve(flags)->options.model_configs(vocabulary);
    return configs ? "no error" : configs.error().to_string();
  };
  EXPECT_EQ(model_error({{"vocab_size", "100"}}, 3000),
            "vocab_size 100 is less than the 3000 tokens of the vocabulary file; leave vocab_size "
            "out to take the file's");
  EXPECT_EQ(model_error({{"max_seq_length", "1024"}}, 9),
            "max_seq_length 1024 is over max_position_embeddings 512; --model-hparam-overrides "
            "'{\"max_position_embeddings\": 1024}'");
  EXPECT_EQ(model_error({{"model_hparam_overrides", R"({"hidden_sise": 3})"}}, 9),
            "model_hparam_overrides: unknown key \"hidden_sise\"; did you mean \"hidden_size\"?");
  EXPECT_EQ(model_error({{"generator_hidden_size", "0.001"}}, 9),
            "the generator would have 12 layers of width 0: raise generator_layers or "
            "generator_hidden_size");
}

// Case B051: a checkpoint at step 1,500,000 and num_train_steps 300,000.
TEST(PretrainOptions, StepsAlreadyDone) {
  const auto run = resolve({}, R"({"model_size": "base", "num_train_steps": 300000,
                                   "learning_rate": 0.0002, "num_warmup_steps": 10000})");
  const auto end = run->options.schedule(1500000);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().to_string(),
            "num_train_steps is 300000, but the run starts at step 1500000: nothing is left to "
            "train; to train N more give --extra-steps N or --num-train-steps 1500000 + N; the "
            "rate then starts at 0.0002 * N / (1500000 + N), so for a start at X give "
            "--start-learning-rate X --extra-steps N");
  EXPECT_EQ(run->options.schedule(200000)->total_steps, 300000);
  const auto more = resolve({{"extra_steps", "300000"}});
  EXPECT_EQ(more->options.schedule(1500000)->total_steps, 1800000);
}

TEST(PretrainOptions, WaysToGoOn) {
  const Setting from{"init_checkpoint", "run"};
  const auto fresh = resolve({from});
  EXPECT_EQ(fresh->options.first_step(1000), 0);
  EXPECT_EQ(fresh->options.restart(0).kind, Restart::Kind::kNone);  // its own warm-up does
  const auto exact = resolve({from, {"continue_schedule", "exact"}});
  EXPECT_EQ(exact->options.first_step(700000), 700000);
  EXPECT_EQ(exact->options.schedule(700000)->decay_from, 0);
  EXPECT_EQ(exact->options.restart(700000).kind, Restart::Kind::kRewarm);
  EXPECT_EQ(exact->options.restart(700000).rewarm_steps, 1000);
  const auto from_rate = resolve({from,
                                  {"start_learning_rate", "1e-4"},
                                  {"extra_steps", "300"},
                                  {"start_step", "50"},
                                  {"missing_slots", "bias-correct"}});
  EXPECT_EQ(from_rate->options.first_step(700000), 50);
  EXPECT_EQ(from_rate->options.schedule(50)->rate(50), 1e-4);
  EXPECT_EQ(from_rate->options.schedule(50)->rate(350), 0);
  EXPECT_EQ(from_rate->options.restart(50).kind, Restart::Kind::kBiasCorrect);
  EXPECT_EQ(error_of({from, {"start_learning_rate", "1e-4"}}),
            "--start-learning-rate falls to 0 over the extra steps, but there are none; add "
            "--extra-steps N");
  EXPECT_EQ(error_of({{"continue_schedule", "exact"}}),
            "--continue-schedule goes with --init-checkpoint only");
}

TEST(PretrainOptions, NotesOnOptionsOfAnotherMachine) {
  const auto run = resolve({{"tpu_name", "node-1"}, {"preset", "koelectra-small-v3"}},
                           R"({"use_tpu": true, "num_tpu_cores": 8})");
  const auto notes = run->options.notes(run->fields);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0], "use_tpu has no effect on a CPU");
}

}  // namespace
}  // namespace headwater
