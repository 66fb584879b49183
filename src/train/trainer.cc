#include "train/trainer.h"

#include <cmath>
#include <numeric>

#include "base/threefry.h"

namespace headwater {
namespace {

Tensor key_tensor(Key key) {
  Tensor tensor(DType::kU32, {2});
  tensor.as<uint32_t>()[0] = key.k0;
  tensor.as<uint32_t>()[1] = key.k1;
  return tensor;
}

Result<> feed_batch(Program& program, const PretrainBatch& batch) {
  const Shape tokens{batch.batch_size, batch.seq_length};
  const Shape slots{batch.batch_size, batch.max_predictions};
  HW_RETURN_IF_ERROR(program.feed("input_ids", Tensor::i32(tokens, batch.input_ids)));
  HW_RETURN_IF_ERROR(program.feed("input_mask", Tensor::i32(tokens, batch.input_mask)));
  HW_RETURN_IF_ERROR(program.feed("segment_ids", Tensor::i32(tokens, batch.segment_ids)));
  HW_RETURN_IF_ERROR(program.feed("masked_input_ids", Tensor::i32(tokens, batch.masked_input_ids)));
  HW_RETURN_IF_ERROR(
      program.feed("masked_lm_positions", Tensor::i32(slots, batch.masked_lm_positions)));
  HW_RETURN_IF_ERROR(program.feed("masked_lm_ids", Tensor::i32(slots, batch.masked_lm_ids)));
  return program.feed("masked_lm_weights", Tensor::f32(slots, batch.masked_lm_weights));
}

Result<double> fetch_scalar(const Program& program, std::string_view name) {
  HW_ASSIGN_OR_RETURN(const Tensor tensor, program.fetch(name));
  return static_cast<double>(tensor.as<float>()[0]);
}

// Adds what a program gave for a batch. Rows that only fill up the last batch of a pass have no
// weight.
Result<> add_metrics(const Program& program, const PretrainBatch& batch, bool electra,
                     bool with_discriminator, ElectraMetrics& metrics) {
  HW_ASSIGN_OR_RETURN(const Tensor predictions, program.fetch("mlm_predictions"));
  HW_ASSIGN_OR_RETURN(const Tensor samples, program.fetch("samples"));
  HW_ASSIGN_OR_RETURN(const Tensor losses, program.fetch("mlm_slot_loss"));
  metrics.add(GeneratorOutputs{batch.masked_lm_ids, predictions.as<int32_t>(),
                               electra ? samples.as<int32_t>() : std::span<const int32_t>(),
                               losses.as<float>(), batch.masked_lm_weights});
  if (!with_discriminator) return {};
  HW_ASSIGN_OR_RETURN(const Tensor logits, program.fetch("disc_logits"));
  HW_ASSIGN_OR_RETURN(const Tensor labels, program.fetch("is_fake"));
  const auto real = static_cast<size_t>(batch.real_rows * batch.seq_length);
  metrics.add(DiscriminatorOutputs{batch.seq_length, logits.as<float>().first(real),
                                   labels.as<int32_t>().first(real),
                                   std::span(batch.input_mask).first(real)});
  return {};
}

}  // namespace

bool StepResult::finite() const { return std::isfinite(total_loss) && std::isfinite(grad_norm); }

Trainer::Trainer(const TrainerOptions& options, std::unique_ptr<Executor> executor)
    : options_(options), executor_(std::move(executor)), store_(executor_->make_store()) {}

Result<std::unique_ptr<Trainer>> Trainer::create(const TrainerOptions& options,
                                                 std::unique_ptr<Executor> executor) {
  std::unique_ptr<Trainer> trainer(new Trainer(options, std::move(executor)));
  Graph graph;
  HW_ASSIGN_OR_RETURN(const BuiltGraph built, build_eval_graph(options.model, graph));
  for (const Parameter& parameter : built.parameters) {
    trainer->specs_.push_back({parameter.name, DType::kF32, parameter.value.shape()});
    trainer->initializers_.push_back(parameter.init);
  }
  trainer->aliases_ = built.aliases;
  return trainer;
}

int64_t Trainer::parameter_count() const {
  return std::accumulate(
      specs_.begin(), specs_.end(), int64_t{0},
      [](int64_t sum, const TensorSpec& spec) { return sum + element_count(spec.shape); });
}

Result<> Trainer::initialize() {
  for (size_t i = 0; i < specs_.size(); ++i) {
    const TensorSpec& spec = specs_[i];
    const Tensor first = initial_value(spec.name, spec.shape, initializers_[i], options_.seed);
    HW_RETURN_IF_ERROR(store_->set(spec.name, first));
    const Tensor zeros(DType::kF32, spec.shape);
    HW_RETURN_IF_ERROR(store_->set(adam_m_name(spec.name), zeros));
    HW_RETURN_IF_ERROR(store_->set(adam_v_name(spec.name), zeros));
  }
  return {};
}

Result<> Trainer::load(const TrainState& state, bool with_slots, std::string_view where) {
  HW_RETURN_IF_ERROR(require_fit(specs_, state, where));
  HW_RETURN_IF_ERROR(initialize());
  std::map<std::string_view, const Tensor*> found;
  for (const NamedTensor& parameter : state.parameters) found[parameter.name] = &parameter.tensor;
  for (const auto& [alias, name] : state.aliases) {
    if (const auto it = found.find(name); it != found.end()) found.emplace(alias, it->second);
  }
  for (const TensorSpec& spec : specs_) {
    HW_RETURN_IF_ERROR(store_->set(spec.name, *found.at(spec.name)));
  }
  if (!with_slots) return {};
  std::map<std::string_view, const Tensor*> slots;
  for (const NamedTensor& slot : state.slots) slots[slot.name] = &slot.tensor;
  for (const TensorSpec& spec : specs_) {
    for (const std::string& name : {adam_m_name(spec.name), adam_v_name(spec.name)}) {
      const auto it = slots.find(name);
      if (it == slots.end()) {
        return fail_hint(Code::kFailedPrecondition,
                         "start a new run from its weights with --init-checkpoint",
                         "{} lacks the optimizer slot {}", where, name);
      }
      HW_RETURN_IF_ERROR(store_->set(name, *it->second));
    }
  }
  return {};
}

Result<FitReport> Trainer::load_fitting(const TrainState& state, bool with_slots) {
  HW_RETURN_IF_ERROR(initialize());
  const auto by_name = parameters_by_name(state);
  std::map<std::string_view, const Tensor*> slots;
  if (with_slots) {
    for (const NamedTensor& slot : state.slots) slots[slot.name] = &slot.tensor;
  }
  for (const TensorSpec& spec : specs_) {
    const auto found = by_name.find(spec.name);
    if (found == by_name.end() || found->second->shape() != spec.shape) continue;
    HW_RETURN_IF_ERROR(store_->set(spec.name, *found->second));
    for (const std::string& name : {adam_m_name(spec.name), adam_v_name(spec.name)}) {
      const auto slot = slots.find(name);
      if (slot == slots.end() || slot->second->shape() != spec.shape) continue;
      HW_RETURN_IF_ERROR(store_->set(name, *slot->second));
    }
  }
  return check_fit(specs_, state);
}

Result<> Trainer::start_discriminator_from_generator() {
  constexpr std::string_view kGenerator = "generator.";
  std::map<std::string_view, const Shape*> shapes;
  for (const TensorSpec& spec : specs_) shapes.emplace(spec.name, &spec.shape);
  for (const TensorSpec& spec : specs_) {
    if (!spec.name.starts_with(kGenerator)) continue;
    const std::string name = "discriminator." + spec.name.substr(kGenerator.size());
    const auto own = shapes.find(name);
    if (own == shapes.end() || *own->second != spec.shape) continue;
    HW_ASSIGN_OR_RETURN(const Tensor weights, store_->get(spec.name));
    HW_RETURN_IF_ERROR(store_->set(name, weights));
  }
  return {};
}

Result<TrainState> Trainer::state(int64_t step) const {
  TrainState state;
  state.step = step;
  state.aliases = aliases_;
  for (const TensorSpec& spec : specs_) {
    HW_ASSIGN_OR_RETURN(Tensor parameter, store_->get(spec.name));
    state.parameters.push_back({spec.name, std::move(parameter)});
    for (const std::string& name : {adam_m_name(spec.name), adam_v_name(spec.name)}) {
      HW_ASSIGN_OR_RETURN(Tensor slot, store_->get(name));
      state.slots.push_back({name, std::move(slot)});
    }
  }
  return state;
}

Result<> Trainer::prepare(bool with_discriminator) {
  if (train_ != nullptr && compiled_with_discriminator_ == with_discriminator) return {};
  train_.reset();  // its memory first
  update_.reset();
  ElectraGraphOptions model = options_.model;
  model.with_discriminator = with_discriminator;
  model.freeze_tables = options_.freeze_tables;
  Graph graph;
  if (options_.accumulation_steps == 1) {
    HW_RETURN_IF_ERROR(build_train_graph(model, options_.optimizer, graph));
  } else {
    model.given_totals = true;
    HW_RETURN_IF_ERROR(build_accumulate_graph(model, graph));
    Graph update;
    HW_RETURN_IF_ERROR(build_update_graph(model, options_.optimizer, update));
    HW_ASSIGN_OR_RETURN(update_, executor_->compile(update, *store_));
  }
  HW_ASSIGN_OR_RETURN(train_, executor_->compile(graph, *store_));
  compiled_with_discriminator_ = with_discriminator;
  return {};
}

Result<StepResult> Trainer::run_batch(Program& program, const PretrainBatch& batch, Key key,
                                      ElectraMetrics& metrics) {
  const bool electra = options_.model.objective.electra_objective;
  const bool with_discriminator = electra && compiled_with_discriminator_;
  HW_RETURN_IF_ERROR(feed_batch(program, batch));
  HW_RETURN_IF_ERROR(program.feed("key", key_tensor(key)));
  HW_RETURN_IF_ERROR(program.run());
  HW_RETURN_IF_ERROR(add_metrics(program, batch, electra, with_discriminator, metrics));
  StepResult result;
  HW_ASSIGN_OR_RETURN(result.mlm_loss, fetch_scalar(program, "mlm_loss"));
  HW_ASSIGN_OR_RETURN(result.total_loss, fetch_scalar(program, "total_loss"));
  if (with_discriminator) {
    HW_ASSIGN_OR_RETURN(result.disc_loss, fetch_scalar(program, "disc_loss"));
  }
  return result;
}

Result<StepResult> Trainer::accumulate(std::span<const PretrainBatch> batches, Key key,
                                       double learning_rate, ElectraMetrics& metrics) {
  double mlm_total = 0, disc_total = 0;
  for (const PretrainBatch& batch : batches) {
    for (const float weight : batch.masked_lm_weights) mlm_total += static_cast<double>(weight);
    for (const int32_t mask : batch.input_mask) disc_total += mask;
  }
  const auto scalar = [](double value) { return Tensor::scalar(static_cast<float>(value)); };
  HW_RETURN_IF_ERROR(train_->feed("mlm_weight_total", scalar(mlm_total)));
  HW_RETURN_IF_ERROR(train_->feed("disc_weight_total", scalar(disc_total)));
  StepResult sum;
  for (size_t i = 0; i < batches.size(); ++i) {
    HW_RETURN_IF_ERROR(train_->feed("keep", scalar(i == 0 ? 0 : 1)));
    const Key batch_key = key.fold_in(static_cast<uint32_t>(i));
    HW_ASSIGN_OR_RETURN(const StepResult part, run_batch(*train_, batches[i], batch_key, metrics));
    sum.mlm_loss += part.mlm_loss;
    sum.total_loss += part.total_loss;
    if (part.disc_loss) sum.disc_loss = sum.disc_loss.value_or(0) + *part.disc_loss;
  }
  HW_RETURN_IF_ERROR(update_->feed("learning_rate", scalar(learning_rate)));
  HW_RETURN_IF_ERROR(update_->run());
  HW_ASSIGN_OR_RETURN(sum.grad_norm, fetch_scalar(*update_, "grad_norm"));
  return sum;
}

Result<StepResult> Trainer::step(std::span<const PretrainBatch> batches, int64_t step,
                                 double learning_rate, ElectraMetrics& metrics) {
  HW_RETURN_IF_ERROR(prepare(step >= options_.generator_warmup_steps));
  const Key key =
      Key::from_seed(options_.seed).fold_in("train").fold_in(static_cast<uint32_t>(step));
  if (options_.accumulation_steps > 1) return accumulate(batches, key, learning_rate, metrics);
  HW_RETURN_IF_ERROR(
      train_->feed("learning_rate", Tensor::scalar(static_cast<float>(learning_rate))));
  HW_ASSIGN_OR_RETURN(StepResult result, run_batch(*train_, batches[0], key, metrics));
  HW_ASSIGN_OR_RETURN(result.grad_norm, fetch_scalar(*train_, "grad_norm"));
  return result;
}

Result<> Trainer::evaluate(const PretrainBatch& batch, ElectraMetrics& metrics) {
  const bool electra = options_.model.objective.electra_objective;
  if (eval_ == nullptr) {
    ElectraGraphOptions model = options_.model;
    model.sizes.batch_size = options_.eval_batch_size;
    Graph graph;
    HW_RETURN_IF_ERROR(build_eval_graph(model, graph));
    HW_ASSIGN_OR_RETURN(eval_, executor_->compile(graph, *store_));
  }
  const Key key =
      Key::from_seed(options_.seed).fold_in("evaluate").fold_in(static_cast<uint32_t>(batch.step));
  HW_RETURN_IF_ERROR(feed_batch(*eval_, batch));
  HW_RETURN_IF_ERROR(eval_->feed("key", key_tensor(key)));
  HW_RETURN_IF_ERROR(eval_->run());
  return add_metrics(*eval_, batch, electra, electra, metrics);
}

int64_t Trainer::program_bytes() const {
  int64_t bytes = 0;
  for (const Program* program : {train_.get(), update_.get(), eval_.get()}) {
    if (program != nullptr) bytes += program->memory_bytes();
  }
  return bytes;
}

}  // namespace headwater
