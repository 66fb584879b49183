#include "train/pretrain_options.h"

#include "train/step_graph.h"

namespace headwater {
namespace {
constexpr double kMostSteps = 1e12;
}  // namespace

void PretrainOptions::describe_data(Fields& f) {
  f.group("Data and output");
  f("records", records, "TFRecord shards: a folder, or a comma list of shell patterns")
      .value_name("GLOB")
      .alias("pretrain_tfrecords")
      .required();
  f("vocab_file", vocab_file, "WordPiece vocabulary, a token a line").value_name("FILE").required();
  f("output_dir", output_dir, "checkpoints, metrics and event files of the run")
      .value_name("DIR")
      .alias("model_dir")
      .required();
  f("data_dir", data_dir,
    "stands for the three above in google's layout: DIR/pretrain_tfrecords, DIR/vocab.txt, "
    "DIR/models/MODEL_NAME")
      .value_name("DIR");
  f("model_name", model_name, "the run's folder under --data-dir").value_name("NAME");
  f("resume", resume, "continue the run in the output directory as if it had not stopped");
  f("init_checkpoint", init_checkpoint, "start a new run from the weights of this checkpoint")
      .value_name("DIR")
      .alias("model_name_or_path");
  f("start_step", start_step,
    "the step at which a run from --init-checkpoint begins, which places it in the schedule; auto: "
    "0, or the checkpoint's with either of the next two")
      .range(0, kMostSteps);
  f("continue_schedule", continue_schedule,
    "exact: go on in the schedule of --learning-rate and --num-train-steps, at the checkpoint's "
    "step")
      .one_of({"exact"});
  f("start_learning_rate", start_learning_rate,
    "begin at this rate, without warm-up, and fall to 0 over the --extra-steps")
      .positive();
  f("missing_slots", missing_slots,
    "when a run that goes on finds no Adam moments: a second warm-up, or bias-corrected steps")
      .one_of({"rewarm", "bias-correct"});
  f("rewarm_steps", rewarm_steps, "length of that warm-up").range(1, kMostSteps);
  f("missing_generator", missing_generator,
    "when --init-checkpoint has a discriminator only: train a generator first, with the shared "
    "embeddings frozen, until its held-out loss is flat; begin with a random one; or take that of "
    "another checkpoint")
      .value_name("train|random|PATH");
  f("generator_steps", generator_steps,
    "longest training of a missing generator; auto: a tenth of the run, at least 1000")
      .range(1, kMostSteps);
}

void PretrainOptions::describe_recipe(Fields& f) {
  f.group("Recipe");
  f("preset", preset,
    "a whole recipe: the values that made a known model; headwater config explain shows them")
      .one_of(preset_names())
      .value_name("NAME");
  f("hparams", hparams, "hyper-parameters, as google's --hparams: a JSON object or a .json file")
      .value_name("JSON|FILE")
      .layer();
  f("google_defaults", google_defaults,
    "keep the defaults of the google file for model sizes base and large, instead of the paper's");
  f("debug", debug, "a tiny model and 20 steps, to try a set-up");
  f("do_train", do_train, "train");
  f("do_eval", do_eval, "evaluate instead of training");
  f("seed", seed, "order, masks, dropout and fresh weights follow from it").non_negative();
  f("threads", threads, "CPU threads; 0: one per core").range(0, 4096);
  device.describe(f);

  f.group("Length, batch and steps");
  f("max_seq_length", max_seq_length, "tokens per sequence, as the records have them")
      .range(8, 1 << 20);
  f("train_batch_size", train_batch_size, "sequences per step")
      .range(1, 1 << 20)
      .alias("per_device_train_batch_size");
  f("eval_batch_size", eval_batch_size, "sequences per step of an evaluation")
      .range(1, 1 << 20)
      .alias("per_device_eval_batch_size");
  f("gradient_accumulation_steps", gradient_accumulation_steps,
    "batches whose gradients one step adds up: its batch is this times train_batch_size")
      .range(1, 1 << 20);
  f("num_train_steps", num_train_steps, "the step at which the run ends")
      .range(1, kMostSteps)
      .alias("max_steps");
  f("extra_steps", extra_steps, "end this many steps after the start instead")
      .range(1, kMostSteps)
      .alias("additional_steps");
  f("num_warmup_steps", num_warmup_steps, "steps over which the learning rate rises from 0")
      .non_negative()
      .alias("warmup_steps");
  f("warmup_ratio", warmup_ratio, "the same as a share of num_train_steps")
      .range(0, 1)
      .alias("warmup_proportion");
  f("generator_warmup_steps", generator_warmup_steps,
    "first steps in which the generator learns alone, the discriminator's loss being left out")
      .non_negative();
  f("discriminator_from_generator", discriminator_from_generator,
    "after those steps a fresh discriminator starts from the generator's encoder, where their "
    "layers are alike");
}

void PretrainOptions::describe_optimizer(Fields& f) {
  f.group("Optimiser");
  f("learning_rate", learning_rate, "peak learning rate").positive().alias("lr");
  f("lr_decay_power", lr_decay_power, "power of the decay to 0; 1 is linear").non_negative();
  f("weight_decay_rate", weight_decay_rate, "decoupled weight decay; not for biases and LayerNorm")
      .non_negative()
      .alias("weight_decay");
  f("adam_beta1", adam_beta1, "decay of the first moment").range(0, 1);
  f("adam_beta2", adam_beta2, "decay of the second moment").range(0, 1);
  f("adam_epsilon", adam_epsilon, "added to the root of the second moment").positive();
  f("max_grad_norm", max_grad_norm, "gradients are scaled down to this global norm").positive();
  f("gradient_sync", gradient_sync,
    "of several replicas: as on one device, or as google's code does on a TPU, which clips each "
    "replica's gradient by its own norm and adds them")
      .one_of({kGradientSyncNames.begin(), kGradientSyncNames.end()});

  f.group("Objective");
  f("electra_objective", electra_objective,
    "replaced-token detection; off: masked language model, like BERT");
  f("electric_objective", electric_objective, "Electric (not supported)");
  f("gen_weight", gen_weight, "weight of the generator's loss").non_negative();
  f("disc_weight", disc_weight, "weight of the discriminator's loss").non_negative();
  f("mask_prob", mask_prob, "share of the tokens to predict")
      .range(0.001, 0.9)
      .alias("mlm_probability");
  f("max_predictions_per_seq", max_predictions_per_seq,
    "places for predictions per sequence; auto: int((mask_prob + 0.005) * max_seq_length)")
      .range(1, 1 << 20);
}

void PretrainOptions::describe_model(Fields& f) {
  f.group("Model");
  f("model_size", model_size, "layers x hidden size: 4 x 128, 12 x 256, 12 x 768, 24 x 1024")
      .one_of({"tiny", "small", "base", "large"});
  f("model_hparam_overrides", model_hparam_overrides,
    "sizes that differ, by their names in config.json: '{\"num_hidden_layers\": 6}'")
      .json();
  f("embedding_size", embedding_size,
    "width of the embedding tables; auto: hidden size, small: 128")
      .range(1, 1 << 16);
  f("vocab_size", vocab_size, "rows of the word table; auto: the vocabulary file's lines")
      .range(1, 1 << 24);
  f("do_lower_case", do_lower_case,
    "the texts of the records were lower-cased, noted for the export; auto: as their manifest says")
      .negation("no_lower_case");

  f.group("Generator");
  f("generator_hidden_size", generator_hidden_size, "hidden size as a share of the discriminator's")
      .range(0.001, 16);
  f("generator_layers", generator_layers, "layers as a share of the discriminator's")
      .range(0.001, 16);
  f("untied_generator", untied_generator, "the generator is a network of its own");
  f("untied_generator_embeddings", untied_generator_embeddings,
    "the generator has tables of its own, of its own width");
  f("uniform_generator", uniform_generator, "replacements are drawn at random (not supported)");
  f("two_tower_generator", two_tower_generator, "Electric's generator (not supported)");
  f("disallow_correct", disallow_correct, "the generator never samples the original token");
  f("temperature", temperature, "of the generator's samples").positive();
}

void PretrainOptions::describe_reports(Fields& f) {
  f.group("Reports, evaluation and checkpoints");
  f("log_steps", log_steps, "a line of metrics every so many steps")
      .positive()
      .alias("logging_steps");
  f("eval_fraction", eval_fraction, "share of the examples held out from training").range(0, 0.5);
  f("eval_steps", eval_steps, "evaluate on them every so many steps; 0: never").non_negative();
  f("num_eval_steps", num_eval_steps, "batches of an evaluation, at most").positive();
  f("save_checkpoints_steps", save_checkpoints_steps, "a checkpoint every so many steps")
      .positive()
      .alias("save_steps");
  f("keep_checkpoint_max", keep_checkpoint_max, "checkpoints that are kept; 0 or none: all")
      .non_negative()
      .alias("save_total_limit");
}

void PretrainOptions::describe_elsewhere(Fields& f) {
  f.group(kElsewhereGroup);
  f("iterations_per_loop", iterations_per_loop, "steps per TPU call").positive();
  f("use_tpu", use_tpu, "run on a TPU");
  f("num_tpu_cores", num_tpu_cores, "TPU cores").positive();
  f("tpu_job_name", tpu_job_name, "TPU worker job");
  f("tpu_name", tpu_name, "TPU node");
  f("tpu_zone", tpu_zone, "zone of the TPU node");
  f("gcp_project", gcp_project, "project of the TPU node");
}

void PretrainOptions::describe(Fields& f) {
  describe_data(f);
  describe_recipe(f);
  describe_optimizer(f);
  describe_model(f);
  describe_reports(f);
  describe_elsewhere(f);
}

}  // namespace headwater
