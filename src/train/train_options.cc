#include "train/train_options.h"

#include "train/model_step.h"

namespace headwater {
namespace {

constexpr double kMostSteps = 1e12;

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerPreset& preset : optimizer_presets()) names.emplace_back(preset.name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// The name that is meant, for people who write another one.
Result<> check_name(std::string_view what, const std::string& given,
                    const std::vector<std::string>& names, bool known) {
  if (known) return {};
  const std::string nearest = nearest_name(given, names);
  return fail_hint(Code::kInvalidArgument,
                   nearest.empty() ? joined(names) : fmt::format("did you mean {}?", nearest),
                   "there is no {} {}", what, given);
}

BatchOrder batch_order(const std::string& name) {
  if (name == "tf") return BatchOrder::kTf;
  return name == "sequential" ? BatchOrder::kSequential : BatchOrder::kShuffled;
}

Remainder remainder_of(const std::string& name) {
  if (name == "span") return Remainder::kSpan;
  return name == "drop" ? Remainder::kDrop : Remainder::kKeep;
}

DecayForm decay_form(const std::string& name) {
  if (name == "linear") return DecayForm::kLinear;
  return name == "one-minus-sqrt" ? DecayForm::kOneMinusSqrt : DecayForm::kCosine;
}

}  // namespace

void TrainOptions::describe_model(Fields& f) {
  f.group("Model and output");
  f("model", model,
    "a model to go on from (a Hugging Face directory, a checkpoint of any format), or a "
    "config.json "
    "for fresh weights")
      .value_name("DIR|config.json")
      .alias("model_name_or_path")
      .required();
  f("init_checkpoint", init_checkpoint,
    "weights for the model, where they are not beside its config.json")
      .value_name("PATH");
  f("objective", objective, "what is trained; auto: what the architecture is for")
      .one_of({"clm", "mlm", "mlm+nsp", "mlm+sop", "rtd", "classification", "token-classification",
               "question-answering"})
      .value_name("NAME");
  f("tokenizer", tokenizer,
    "folder or file of the tokenizer, for masks, texts and samples; default: the model's folder")
      .value_name("PATH")
      .alias("tokenizer_name")
      .alias("vocab_file");
  f("output_dir", output_dir, "checkpoints, metrics and event files of the run")
      .value_name("DIR")
      .required();
  f("resume", resume, "continue the run in the output directory as if it had not stopped");
  f("freeze", freeze, "parameters that are not trained: all whose name begins so")
      .value_name("PREFIX");
  f("threads", threads, "CPU threads; 0: one per core").range(0, 4096);
  device.describe(f);
}

void TrainOptions::describe_records(Fields& f) {
  f.group("Records");
  f("records", records, "files, folders or shell patterns, comma-separated")
      .value_name("GLOB")
      .alias("train_file")
      .required();
  f("dataset", dataset, "what the files are; txt: a text a line, tokenised as it is read")
      .one_of({"tfrecord", "jsonl", "txt"});
  f("features", features,
    "what a record holds: 'input_ids:int64[], attention_mask:int64[]?', or a JSON file; default: "
    "as the first record has it")
      .value_name("TEXT|FILE");
  f("on_damage", on_damage, "at a damaged record: stop, or pass over the record or the file's rest")
      .one_of({"stop", "skip", "skip-file"});
  f("eval_records", eval_records, "a second set, for evaluation")
      .value_name("GLOB")
      .alias("validation_file");
  f("eval_fraction", eval_fraction, "or a share of the records that is held out from training")
      .range(0, 0.5)
      .alias("validation_split");

  f.group("Batches");
  f("batch_size", batch_size, "rows of a batch")
      .range(1, 1 << 20)
      .alias("train_batch_size")
      .alias("per_device_train_batch_size");
  f("eval_batch_size", eval_batch_size, "rows of a batch of an evaluation; 0: batch_size")
      .range(0, 1 << 20)
      .alias("per_device_eval_batch_size");
  f("gradient_accumulation_steps", gradient_accumulation_steps,
    "batches whose gradients one step adds up, weighted by their labels")
      .range(1, 1 << 20);
  f("max_seq_length", max_seq_length, "longest row; 0: the model's positions")
      .range(0, 1 << 24)
      .alias("block_size");
  f("truncate", truncate, "cut longer records; without it they are an error");
  f("pad_to", pad_to, "width of a batch: longest, multiple:64, 128, or buckets: 64,128,512")
      .value_name("RULE");
  f("padding_values", padding_values, "other than by name: 'labels=-1'").value_name("LIST");
  f("pack", pack, "several records in a row, none of which sees another");
  f("remainder", remainder,
    "of an epoch that does not fill a batch: keep it short, drop it, or let it span into the next")
      .one_of({"keep", "drop", "span"});
}

void TrainOptions::describe_order(Fields& f) {
  f.group("Order");
  f("order", order, "shuffled: anew in each epoch, resumes anywhere; tf: as tf.data, bit for bit")
      .one_of({"shuffled", "sequential", "tf"});
  f("seed", seed, "order, masks, dropout and fresh weights follow from it").non_negative();
  f("shuffle_buffer_size", shuffle_buffer_size, "records among which one is drawn")
      .range(1, 1e9)
      .alias("buffer_size");
  f("shuffle_buffer_mb", shuffle_buffer_mb, "the same in megabytes, whichever is less")
      .range(1, 1 << 20);
  f("shards", shards, "train on one part of so many").range(1, 1 << 20);
  f("shard", shard, "which of them, from 0").non_negative();
  f("shard_by", shard_by, "parts are made of files, or of records").one_of({"file", "record"});
  f("cycle_length", cycle_length, "order tf: files that are interleaved").range(1, 1 << 20);
  f("block_length", block_length, "order tf: records of each in turn").range(1, 1 << 20);
  f("shuffle_files", shuffle_files, "order tf: list_files(shuffle=True)");
  f("reshuffle_each_iteration", reshuffle_each_iteration, "order tf: another order in each epoch");
  f("repeat_before_shuffle", repeat_before_shuffle, "order tf: repeat().shuffle()");
  f("tf_seed", tf_seed, "order tf: the seed of shuffle(); auto: --seed").non_negative();
  f("tf_global_seed", tf_global_seed, "order tf: of tf.random.set_seed").non_negative();
  f("prefetch", prefetch, "batches made ahead").range(1, 1 << 16);
}

void TrainOptions::describe_optimizer(Fields& f) {
  f.group("Steps");
  f("num_train_epochs", num_train_epochs, "passes over the records")
      .range(1, kMostSteps)
      .alias("epochs");
  f("max_steps", max_steps, "or the step at which the run ends")
      .range(1, kMostSteps)
      .alias("num_train_steps");

  f.group("Optimiser");
  f("optimizer", optimizer, "with the defaults of its home: " + joined(optimizer_names()))
      .value_name("NAME")
      .alias("optim");
  f("learning_rate", learning_rate, "peak learning rate; auto: the optimizer's")
      .positive()
      .alias("lr");
  f("lr_scheduler_type", lr_scheduler_type,
    "how the rate falls after the warm-up: " + joined(schedule_names()))
      .value_name("NAME")
      .alias("schedule");
  f("warmup_steps", warmup_steps, "steps over which the rate rises from 0")
      .non_negative()
      .alias("num_warmup_steps");
  f("warmup_ratio", warmup_ratio, "the same as a share of all steps").range(0, 1);
  f("lr_decay_power", lr_decay_power, "of google and polynomial").non_negative();
  f("lr_end_ratio", lr_end_ratio, "share of the peak at the end, of polynomial and wsd")
      .range(0, 1);
  f("lr_decay_steps", lr_decay_steps, "of wsd; 0: a tenth of the run").non_negative();
  f("lr_decay_form", lr_decay_form, "of wsd").one_of({"cosine", "linear", "one-minus-sqrt"});
  f("lr_timescale", lr_timescale, "of inverse_sqrt; 0: the warm-up").non_negative();
  f("weight_decay", weight_decay, "not for biases and layer norms; auto: the optimizer's")
      .non_negative();
  f("adam_beta1", adam_beta1, "decay of the first moment; auto: the optimizer's").range(0, 1);
  f("adam_beta2", adam_beta2, "decay of the second moment; auto: the optimizer's").range(0, 1);
  f("adam_epsilon", adam_epsilon, "added to the root of the second moment; auto: the optimizer's")
      .positive();
  f("momentum", momentum, "of sgd; auto: 0.9").range(0, 1);
  f("max_grad_norm", max_grad_norm, "gradients are scaled down to this global norm; 0: not")
      .non_negative();
  f("gradient_sync", gradient_sync,
    "of several replicas: as on one device, or as google's code does on a TPU, which clips each "
    "replica's gradient by its own norm and adds them")
      .one_of({kGradientSyncNames.begin(), kGradientSyncNames.end()});
  f("ema_decay", ema_decay,
    "of a moving average of the weights, which is then what is evaluated and exported; 0: none")
      .range(0, 1);
  f("label_smoothing", label_smoothing, "share of the target spread over all classes")
      .range(0, 0.999)
      .alias("label_smoothing_factor");
}

void TrainOptions::describe_objective(Fields& f) {
  f.group("Masked language models");
  f("mlm_probability", mlm_probability,
    "share of the tokens to predict, drawn anew for every batch where the records have no labels")
      .range(0.001, 0.9)
      .alias("mask_prob");
  f("max_predictions_per_seq", max_predictions_per_seq,
    "places for predictions per row; 0: int((mlm_probability + 0.005) * length)")
      .range(0, 1 << 20);
  f("whole_word_masking", whole_word_masking, "words, with all their ## pieces, instead of tokens")
      .alias("do_whole_word_mask");
  f("word_list", word_list,
    "words, a line each, that stand by themselves inside what blanks enclose: nouns before their "
    "particles")
      .value_name("FILE");
}

void TrainOptions::describe_reports(Fields& f) {
  f.group("Reports, evaluation and checkpoints");
  f("log_steps", log_steps, "a line of metrics every so many steps")
      .positive()
      .alias("logging_steps");
  f("eval_steps", eval_steps, "evaluate every so many steps; 0: after every epoch").non_negative();
  f("num_eval_steps", num_eval_steps, "batches of an evaluation, at most; 0: all").non_negative();
  f("sample_prompt", sample_prompts,
    "clm: a text that the model continues after each evaluation; default: an empty one")
      .value_name("TEXT");
  f("sample_tokens", sample_tokens, "clm: length of these samples; 0: none").range(0, 1 << 20);
  f("sample_temperature", sample_temperature, "clm: of these samples; 0: the most likely tokens")
      .non_negative();
  f("early_stopping_patience", early_stopping_patience,
    "end after so many evaluations without a better loss, the best being kept in "
    "OUTPUT_DIR/best; 0: never")
      .non_negative();
  f("early_stopping_threshold", early_stopping_threshold, "by how much a loss must be better")
      .non_negative();
  f("save_steps", save_steps, "a checkpoint every so many steps")
      .positive()
      .alias("save_checkpoints_steps");
  f("keep_checkpoint_max", keep_checkpoint_max, "checkpoints that are kept; 0 or none: all")
      .non_negative()
      .alias("save_total_limit");
}

void TrainOptions::describe(Fields& f) {
  describe_model(f);
  describe_records(f);
  describe_order(f);
  describe_optimizer(f);
  describe_objective(f);
  describe_reports(f);
}

Result<> TrainOptions::check_steps() const {
  if (!num_train_epochs && !max_steps) {
    return fail_hint(Code::kInvalidArgument, "--epochs N or --max-steps N",
                     "say how long to train");
  }
  if (early_stopping_patience > 0 && !evaluates()) {
    return fail_hint(Code::kInvalidArgument, "give --eval-records or --eval-fraction",
                     "early stopping needs an evaluation");
  }
  if (!eval_records.empty() && eval_fraction > 0) {
    return fail(Code::kInvalidArgument,
                "--eval-records names another set, --eval-fraction holds out a part of this one: "
                "give one of the two");
  }
  if (shard >= shards) {
    return fail(Code::kInvalidArgument, "shard {} is none of 0 to {}", shard, shards - 1);
  }
  if (!word_list.empty() && !whole_word_masking) {
    return fail_hint(Code::kInvalidArgument, "give --whole-word-masking too",
                     "--word-list says where words end, for whole-word masking");
  }
  return {};
}

Result<> TrainOptions::resolve(Fields&) {
  HW_RETURN_IF_ERROR(check_steps());
  const OptimizerPreset* const preset = find_optimizer(optimizer);
  HW_RETURN_IF_ERROR(check_name("optimizer", optimizer, optimizer_names(), preset != nullptr));
  HW_RETURN_IF_ERROR(check_name("schedule", lr_scheduler_type, schedule_names(),
                                find_schedule(lr_scheduler_type).has_value()));
  const bool sets_own_rate =
      preset->options.kind == OptimizerKind::kAdafactor && preset->options.adafactor.relative_step;
  if (!learning_rate && preset->learning_rate == 0 && !sets_own_rate) {
    return fail_hint(Code::kInvalidArgument, "--learning-rate X", "{} has no rate of its own",
                     optimizer);
  }
  return {};
}

OptimizerOptions TrainOptions::optimizer_options() const {
  const OptimizerPreset* const preset = find_optimizer(optimizer);
  OptimizerOptions options = preset == nullptr ? OptimizerOptions{} : preset->options;
  options.max_grad_norm = max_grad_norm;
  options.ema_decay = ema_decay;
  AdamOptions& adam = options.adam;
  adam.beta1 = adam_beta1.value_or(adam.beta1);
  adam.beta2 = adam_beta2.value_or(adam.beta2);
  adam.epsilon = adam_epsilon.value_or(adam.epsilon);
  adam.weight_decay = weight_decay.value_or(adam.weight_decay);
  options.sgd.weight_decay = weight_decay.value_or(options.sgd.weight_decay);
  options.sgd.momentum = momentum.value_or(options.sgd.momentum);
  options.adafactor.weight_decay = weight_decay.value_or(options.adafactor.weight_decay);
  // A rate that somebody gives is meant.
  if (learning_rate) options.adafactor.relative_step = false;
  return options;
}

Schedule TrainOptions::schedule(int64_t total_steps) const {
  const OptimizerPreset* const preset = find_optimizer(optimizer);
  const double own = preset == nullptr ? 0 : preset->learning_rate;
  Schedule schedule;
  schedule.kind = find_schedule(lr_scheduler_type).value_or(ScheduleKind::kLinear);
  schedule.peak =
      learning_rate.value_or(own > 0 ? own : 1);  // an optimizer of its own rate: unused
  schedule.total_steps = total_steps;
  schedule.warmup_steps =
      warmup_ratio ? static_cast<int64_t>(*warmup_ratio * static_cast<double>(total_steps))
                   : warmup_steps;
  schedule.power = lr_decay_power;
  schedule.end_ratio = lr_end_ratio;
  schedule.timescale = lr_timescale;
  schedule.decay_steps = lr_decay_steps;
  schedule.decay_form = decay_form(lr_decay_form);
  return schedule;
}

Result<BatchPipelineOptions> TrainOptions::pipeline() const {
  BatchPipelineOptions data;
  data.records = records;
  HW_ASSIGN_OR_RETURN(data.format, parse_record_format(dataset));
  HW_ASSIGN_OR_RETURN(data.damage_policy, parse_damage_policy(on_damage));
  data.truncate = truncate;
  data.shards = shards;
  data.shard = shard;
  data.shard_by_record = shard_by == "record";
  data.order = batch_order(order);
  data.seed = static_cast<uint64_t>(seed);
  data.shuffle_buffer_records = shuffle_buffer_size;
  data.shuffle_buffer_bytes = shuffle_buffer_mb << 20;
  data.tf = {.cycle_length = cycle_length,
             .block_length = block_length,
             .shuffle_files = shuffle_files,
             .shuffle_buffer = shuffle_buffer_size,
             .seed = tf_seed,
             .global_seed = tf_global_seed,
             .reshuffle_each_iteration = reshuffle_each_iteration,
             .repeat_before_shuffle = repeat_before_shuffle};
  if (!tf_seed && !tf_global_seed) data.tf.seed = seed;
  data.epochs = num_train_epochs.value_or(0);
  data.batch_size = batch_size;
  data.remainder = remainder_of(remainder);
  HW_ASSIGN_OR_RETURN(data.pad_to, parse_pad_to(pad_to));
  HW_ASSIGN_OR_RETURN(data.padding, parse_padding_values(padding_values));
  data.pack = pack;
  data.prefetch_batches = prefetch;
  return data;
}

}  // namespace headwater
