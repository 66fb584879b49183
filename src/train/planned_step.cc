#include "train/planned_step.h"

#include "graph/op.h"
#include "tokens/vocabulary.h"
#include "train/model_inputs.h"
#include "train/run_inputs.h"
#include "train/trainer.h"

namespace headwater {
namespace {

int64_t count_of(const ParameterTypes& types) {
  int64_t count = 0;
  for (const ParameterType& parameter : types.parameters) count += parameter.type.size();
  return count;
}

std::string sizes(const ElectraConfig& config) {
  return fmt::format("{} x {}", config.num_hidden_layers, config.hidden_size);
}

}  // namespace

Result<int64_t> planned_vocabulary_size(FileSystem& fs, const PretrainOptions& options) {
  constexpr int64_t kGoogleVocabulary = 30522;
  if (options.vocab_size || options.vocab_file.empty())
    return options.vocab_size.value_or(kGoogleVocabulary);
  HW_ASSIGN_OR_RETURN(const Vocabulary vocabulary, Vocabulary::load(fs, options.vocab_file));
  return vocabulary.size();
}

Result<> PlannedStep::build(int64_t rows, int64_t replicas, Graph& graph) const {
  StepParts step = parts(rows);
  step.replicas = replicas;
  step.sync = sync;
  HW_RETURN_IF_ERROR(build_train_graph(step, optimizer, graph));
  return {};
}

Result<double> PlannedStep::flops(int64_t rows) const {
  Graph graph;
  HW_RETURN_IF_ERROR(build(rows, 1, graph));
  double sum = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->cost == nullptr) continue;
    std::vector<const Type*> types;
    types.reserve(node.inputs.size());
    for (const Value& input : node.inputs) types.push_back(&input.type());
    sum += node.op->cost(node, types).flops;
  }
  return sum;
}

Result<int64_t> PlannedStep::state_bytes() const {
  Graph graph;
  HW_RETURN_IF_ERROR(build(1, 1, graph));
  int64_t bytes = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (input.is_state) bytes += input.value.type().byte_size();
  }
  return bytes;
}

Result<PlannedStep> plan_electra(FileSystem& fs, const PretrainOptions& options) {
  HW_ASSIGN_OR_RETURN(const int64_t vocabulary, planned_vocabulary_size(fs, options));
  HW_ASSIGN_OR_RETURN(const ElectraConfigs configs, options.model_configs(vocabulary));
  const TrainerOptions trainer = trainer_options(options, configs);
  const ElectraTask task(trainer);
  HW_ASSIGN_OR_RETURN(const ParameterTypes types, task.parameters());
  PlannedStep step;
  step.name = options.electra_objective
                  ? fmt::format("ELECTRA pair: discriminator {}, generator {}, vocabulary {}",
                                sizes(configs.discriminator), sizes(configs.generator),
                                configs.discriminator.vocab_size)
                  : fmt::format("masked language model {}", sizes(configs.discriminator));
  step.parameters = count_of(types);
  step.seq_length = options.max_seq_length;
  step.optimizer = trainer.optimizer;
  step.sync = trainer.gradient_sync;
  const bool given_totals = step.sync == GradientSync::kMeanThenGlobalClip;
  step.parts = [task, given_totals](int64_t rows) {
    return task.train_step(ElectraTask::Phase::kPair, {rows}, given_totals);
  };
  return step;
}

Result<PlannedStep> plan_model(FileSystem& fs, const std::string& model,
                               const std::string& objective, const PretrainOptions& options) {
  TrainOptions train;
  const bool is_file = model.ends_with(".json");
  train.model = is_file ? model : join_path(model, "config.json");
  if (!objective.empty()) train.objective = objective;
  HW_ASSIGN_OR_RETURN(const ModelSource source, read_model_source(fs, train));
  if (options.max_seq_length > source.model.max_positions()) {
    return fail(Code::kInvalidArgument, "--max-seq-length {} is over the {} positions of {}",
                options.max_seq_length, source.model.max_positions(), train.model);
  }
  HW_ASSIGN_OR_RETURN(const ParameterTypes types, parameter_types(source.model));
  PlannedStep step;
  step.name = fmt::format("{}, objective {}", architecture_name(source.model.architecture),
                          objective_name(source.objective));
  step.parameters = count_of(types);
  step.seq_length = options.max_seq_length;
  step.optimizer = train.optimizer_options();
  step.sync = gradient_sync_of(options.gradient_sync);
  ModelBatchShape shape{.seq_length = options.max_seq_length, .attention_mask = true};
  shape.token_type_ids = source.model.has_token_types();
  shape.labels = source.objective != Objective::kClm;
  const bool draws_masks =
      source.objective == Objective::kMlm || predicts_sentences(source.objective);
  if (draws_masks) shape.label_positions = options.max_predictions_per_seq.value_or(1);
  const ModelStepOptions parts{.model = source.model, .objective = source.objective};
  const bool given_totals = step.sync == GradientSync::kMeanThenGlobalClip;
  step.parts = [parts, shape, given_totals](int64_t rows) {
    ModelBatchShape sized = shape;
    sized.batch_size = rows;
    return model_step(parts, sized, given_totals);
  };
  return step;
}

}  // namespace headwater
