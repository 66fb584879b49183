// Training of a model on a device, whatever it is that is trained: parameters, optimizer slots, and
// the compiled programs that train and evaluate them.
//
// A task says what a batch is, how it is fed, which graphs it needs and what is measured
// (trainer.h: the ELECTRA pair, model_trainer.h: a model by its architecture). What a run does
// around it (data, schedule, reports, checkpoints) is not here.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <span>

#include "base/threefry.h"
#include "train/device_state.h"
#include "train/step_graph.h"

namespace headwater {

// f32 scalars by the name of their feed.
using Scalars = std::vector<std::pair<std::string, double>>;

Tensor key_tensor(Key key);
Result<> feed_scalars(Program& program, const Scalars& scalars);
Result<double> fetch_scalar(const Program& program, std::string_view name);

// Options have `optimizer`, `accumulation_steps`, `gradient_sync` and `seed`. A phase is a stretch
// of steps that train the same parameters; a shape is what batches of one program have in common,
// their number of rows `batch_size` among it.
template <class T>
concept TrainTask = requires(const T& task, typename T::Phase phase,
                             const typename T::BatchShape& shape, const typename T::Batch& batch,
                             std::span<const typename T::Batch> batches, Program& program,
                             typename T::Metrics& metrics, typename T::StepResult& result) {
  T(typename T::Options());
  { task.parameters() } -> std::same_as<Result<ParameterTypes>>;
  { task.phase(int64_t()) } -> std::same_as<typename T::Phase>;
  { T::kEvaluatedPhase } -> std::convertible_to<typename T::Phase>;
  // How many programs of different shapes are kept at once.
  { task.max_programs() } -> std::same_as<size_t>;
  { task.shape(batch) } -> std::equality_comparable;
  { shape.batch_size } -> std::convertible_to<int64_t>;
  // Whether a batch can be fed; what program.feed() does not find out itself.
  { task.check(batch) } -> std::same_as<Result<>>;
  { task.train_step(phase, shape, /*given_totals=*/bool()) } -> std::same_as<StepParts>;
  { task.evaluation(shape, /*given_totals=*/bool()) } -> std::same_as<StepParts>;
  { task.feed(program, batch) } -> std::same_as<Result<>>;
  // What the losses of a step over several batches are divided by.
  { task.totals(batches) } -> std::same_as<Scalars>;
  // After a run: adds to the metrics, and gives the losses.
  { task.collect(program, phase, batch, metrics) } -> std::same_as<Result<typename T::StepResult>>;
  result.add(result);  // the losses of a further batch of the step
  { result.grad_norm } -> std::convertible_to<double>;
};

template <TrainTask Task>
class TaskTrainer {
 public:
  using Options = typename Task::Options;
  using Batch = typename Task::Batch;
  using Metrics = typename Task::Metrics;
  using StepResult = typename Task::StepResult;

  // Compiles nothing yet, but builds the model once: sizes that do not fit are an error here.
  static Result<std::unique_ptr<TaskTrainer>> create(const Options& options,
                                                     std::unique_ptr<Executor> executor) {
    if (options.accumulation_steps > 1 && options.gradient_sync == GradientSync::kSumOfLocalClip) {
      return fail(
          Code::kInvalidArgument,
          "gradients that are clipped by every replica cannot be accumulated: google's code, "
          "whose way it is, does not");
    }
    Task task(options);
    HW_ASSIGN_OR_RETURN(const ParameterTypes types, task.parameters());
    return std::unique_ptr<TaskTrainer>(
        new TaskTrainer(options, std::move(task), types, std::move(executor)));
  }

  const std::vector<TensorSpec>& parameters() const { return state_.parameters(); }
  int64_t parameter_count() const { return state_.parameter_count(); }

  // For other programs on the same weights.
  const Executor& executor() const { return *executor_; }
  StateStore& store() { return state_.store(); }

  // See DeviceState.
  Result<> initialize() { return state_.initialize(); }
  Result<> load(const TrainState& state, bool with_slots, std::string_view where) {
    return state_.load(state, with_slots, where);
  }
  Result<FitReport> load_fitting(const TrainState& state, bool with_slots) {
    return state_.load_fitting(state, with_slots);
  }
  Result<> copy_parameters(std::string_view from, std::string_view to) {
    return state_.copy_parameters(from, to);
  }
  Result<TrainState> state(int64_t step) const { return state_.copy(step); }
  Result<TrainState> averaged_state(int64_t step) const { return state_.copy_averages(step); }

  // The step before which the optimizer's slots were zero, 0 unless it is set: what corrections of
  // their bias count from.
  void set_first_update(int64_t step) { first_update_ = step; }

  // One optimizer step, number `step` from 0, on accumulation_steps batches, or fewer where the
  // data end. Values of the batches are added to `metrics`.
  Result<StepResult> step(std::span<const Batch> batches, int64_t step, double learning_rate,
                          Metrics& metrics);
  // Adds one batch to `metrics`, dropout off; random numbers depend on seed and batch number only.
  // The moving averages are evaluated where they are kept.
  Result<> evaluate(const Batch& batch, Metrics& metrics);

  // Of intermediate values, over the programs that are compiled.
  int64_t program_bytes() const;

 private:
  struct Entry {
    typename Task::BatchShape shape;
    std::unique_ptr<Program> program;
  };
  using Programs = std::vector<Entry>;                            // the last one was used last
  static constexpr int64_t kMostProgramBytes = int64_t{2} << 30;  // beside a new one

  TaskTrainer(const Options& options, Task task, const ParameterTypes& types,
              std::unique_ptr<Executor> executor)
      : options_(options),
        task_(std::move(task)),
        executor_(std::move(executor)),
        state_(executor_->make_store(), types, options.optimizer, options.seed) {}

  Key key(std::string_view use, int64_t number) const {
    return Key::from_seed(options_.seed).fold_in(use).fold_in(static_cast<uint32_t>(number));
  }
  bool accumulates() const { return options_.accumulation_steps > 1; }
  int64_t replicas() const { return executor_->num_replicas(); }
  // Whether losses are divided by totals over more than a replica's own rows.
  bool gives_totals() const {
    return accumulates() ||
           (replicas() > 1 && options_.gradient_sync == GradientSync::kMeanThenGlobalClip);
  }
  Result<> check_batches(std::span<const Batch> batches) const;
  StepParts for_replicas(StepParts parts) const {
    parts.replicas = replicas();
    parts.sync = options_.gradient_sync;
    return parts;
  }

  template <class Build>
  Result<Program*> program_for(Programs& programs, const Batch& batch, Build build);
  Result<> enter_phase(int64_t step);
  Result<Program*> training_program(const Batch& batch);
  Result<StepResult> run_batch(Program& program, const Batch& batch, Key key, Metrics& metrics);
  Result<StepResult> accumulate(std::span<const Batch> batches, Key key, const Scalars& feeds,
                                Metrics& metrics);

  Options options_;
  Task task_;
  std::unique_ptr<Executor> executor_;
  DeviceState state_;
  int64_t first_update_ = 0;
  typename Task::Phase phase_ = Task::kEvaluatedPhase;  // of the programs in train_
  Programs train_, eval_;
  std::unique_ptr<Program> update_;
};

// The program of the batch's shape, for one replica's rows of it. Before one is compiled, those
// that were not used for longest go while there are too many, or together too large: what compiling
// takes is little beside that.
template <TrainTask Task>
template <class Build>
Result<Program*> TaskTrainer<Task>::program_for(Programs& programs, const Batch& batch,
                                                Build build) {
  const auto shape = task_.shape(batch);
  const auto found = std::ranges::find(programs, shape, &Entry::shape);
  if (found != programs.end()) {
    std::rotate(found, found + 1, programs.end());
    return programs.back().program.get();
  }
  const auto are_too_many = [&] {
    int64_t bytes = 0;
    for (const Entry& entry : programs) bytes += entry.program->memory_bytes();
    return programs.size() >= task_.max_programs() || bytes > kMostProgramBytes;
  };
  while (!programs.empty() && are_too_many()) programs.erase(programs.begin());
  auto part = shape;
  part.batch_size /= replicas();
  Graph graph;
  HW_RETURN_IF_ERROR(build(part, graph));
  HW_ASSIGN_OR_RETURN(auto program, executor_->compile(graph, state_.store()));
  programs.push_back({shape, std::move(program)});
  return programs.back().program.get();
}

template <TrainTask Task>
Result<> TaskTrainer<Task>::enter_phase(int64_t step) {
  const auto phase = task_.phase(step);
  if (phase == phase_) return {};
  train_.clear();
  update_.reset();
  phase_ = phase;
  return {};
}

template <TrainTask Task>
Result<Program*> TaskTrainer<Task>::training_program(const Batch& batch) {
  return program_for(train_, batch, [&](const auto& shape, Graph& graph) -> Result<> {
    const StepParts parts = for_replicas(task_.train_step(phase_, shape, gives_totals()));
    if (!accumulates()) {
      HW_RETURN_IF_ERROR(build_train_graph(parts, options_.optimizer, graph));
      return {};
    }
    if (update_ == nullptr) {
      Graph update;
      HW_RETURN_IF_ERROR(build_update_graph(parts, options_.optimizer, update));
      HW_ASSIGN_OR_RETURN(update_, executor_->compile(update, state_.store()));
    }
    HW_RETURN_IF_ERROR(build_accumulate_graph(parts, graph));
    return {};
  });
}

template <TrainTask Task>
Result<> TaskTrainer<Task>::check_batches(std::span<const Batch> batches) const {
  for (const Batch& batch : batches) {
    HW_RETURN_IF_ERROR(task_.check(batch));
    const int64_t rows = task_.shape(batch).batch_size;
    if (rows % replicas() == 0) continue;
    return fail_hint(Code::kInvalidArgument, "choose a batch size that is a multiple of it",
                     "a batch of {} rows cannot be dealt to {} replicas", rows, replicas());
  }
  return {};
}

template <TrainTask Task>
auto TaskTrainer<Task>::run_batch(Program& program, const Batch& batch, Key key, Metrics& metrics)
    -> Result<StepResult> {
  HW_RETURN_IF_ERROR(task_.feed(program, batch));
  HW_RETURN_IF_ERROR(program.feed("key", key_tensor(key)));
  HW_RETURN_IF_ERROR(program.run());
  return task_.collect(program, phase_, batch, metrics);
}

template <TrainTask Task>
auto TaskTrainer<Task>::accumulate(std::span<const Batch> batches, Key key, const Scalars& feeds,
                                   Metrics& metrics) -> Result<StepResult> {
  const Scalars totals = task_.totals(batches);
  StepResult sum;
  for (size_t i = 0; i < batches.size(); ++i) {
    HW_ASSIGN_OR_RETURN(Program* const program, training_program(batches[i]));
    HW_RETURN_IF_ERROR(feed_scalars(*program, totals));
    HW_RETURN_IF_ERROR(feed_scalars(*program, {{"keep", i == 0 ? 0 : 1}}));
    HW_ASSIGN_OR_RETURN(
        const StepResult part,
        run_batch(*program, batches[i], key.fold_in(static_cast<uint32_t>(i)), metrics));
    if (i == 0) sum = part;
    else sum.add(part);
  }
  HW_RETURN_IF_ERROR(feed_scalars(*update_, feeds));
  HW_RETURN_IF_ERROR(update_->run());
  HW_ASSIGN_OR_RETURN(sum.grad_norm, fetch_scalar(*update_, "grad_norm"));
  return sum;
}

template <TrainTask Task>
auto TaskTrainer<Task>::step(std::span<const Batch> batches, int64_t step, double learning_rate,
                             Metrics& metrics) -> Result<StepResult> {
  if (batches.empty() || static_cast<int64_t>(batches.size()) > options_.accumulation_steps) {
    return fail(Code::kInvalidArgument, "a step takes 1 to {} batches, not {}",
                options_.accumulation_steps, batches.size());
  }
  HW_RETURN_IF_ERROR(check_batches(batches));
  HW_RETURN_IF_ERROR(enter_phase(step));
  const Scalars feeds =
      optimizer_feeds(options_.optimizer, step - first_update_ + 1, learning_rate);
  if (accumulates()) return accumulate(batches, key("train", step), feeds, metrics);
  HW_ASSIGN_OR_RETURN(Program* const program, training_program(batches[0]));
  HW_RETURN_IF_ERROR(feed_scalars(*program, feeds));
  if (gives_totals()) HW_RETURN_IF_ERROR(feed_scalars(*program, task_.totals(batches)));
  HW_ASSIGN_OR_RETURN(StepResult result,
                      run_batch(*program, batches[0], key("train", step), metrics));
  HW_ASSIGN_OR_RETURN(result.grad_norm, fetch_scalar(*program, "grad_norm"));
  return result;
}

template <TrainTask Task>
Result<> TaskTrainer<Task>::evaluate(const Batch& batch, Metrics& metrics) {
  HW_RETURN_IF_ERROR(check_batches(std::span(&batch, 1)));
  HW_ASSIGN_OR_RETURN(Program* const program,
                      program_for(eval_, batch, [&](const auto& shape, Graph& graph) -> Result<> {
                        const bool averaged = options_.optimizer.ema_decay > 0;
                        const StepParts parts =
                            for_replicas(task_.evaluation(shape, gives_totals()));
                        HW_RETURN_IF_ERROR(build_eval_graph(parts, graph, averaged));
                        return {};
                      }));
  if (gives_totals())
    HW_RETURN_IF_ERROR(feed_scalars(*program, task_.totals(std::span(&batch, 1))));
  HW_RETURN_IF_ERROR(task_.feed(*program, batch));
  HW_RETURN_IF_ERROR(program->feed("key", key_tensor(key("evaluate", batch.step))));
  HW_RETURN_IF_ERROR(program->run());
  HW_RETURN_IF_ERROR(task_.collect(*program, Task::kEvaluatedPhase, batch, metrics));
  return {};
}

template <TrainTask Task>
int64_t TaskTrainer<Task>::program_bytes() const {
  int64_t bytes = update_ == nullptr ? 0 : update_->memory_bytes();
  for (const Programs* programs : {&train_, &eval_}) {
    for (const Entry& entry : *programs) bytes += entry.program->memory_bytes();
  }
  return bytes;
}

}  // namespace headwater
