#include "train/model_step.h"

#include <algorithm>
#include <array>

namespace headwater {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"clm",
                                                    "mlm",
                                                    "mlm+nsp",
                                                    "mlm+sop",
                                                    "rtd",
                                                    "classification",
                                                    "token-classification",
                                                    "question-answering"};

bool has_objective(Architecture architecture, Objective objective) {
  switch (objective) {
    case Objective::kClm: return architecture == Architecture::kGpt2LMHeadModel;
    case Objective::kMlm:
      return architecture == Architecture::kBertForMaskedLM ||
             architecture == Architecture::kBertForPreTraining ||
             architecture == Architecture::kElectraForMaskedLM;
    case Objective::kMlmNsp:
    case Objective::kMlmSop: return architecture == Architecture::kBertForPreTraining;
    case Objective::kRtd: return architecture == Architecture::kElectraForPreTraining;
    case Objective::kTokenClassification:
      return architecture == Architecture::kElectraForTokenClassification ||
             architecture == Architecture::kBertForTokenClassification;
    case Objective::kQuestionAnswering:
      return architecture == Architecture::kElectraForQuestionAnswering ||
             architecture == Architecture::kBertForQuestionAnswering;
    case Objective::kClassification: break;
  }
  return is_classifier(architecture);
}

constexpr std::array kArchitectures = {Architecture::kElectraForPreTraining,
                                       Architecture::kElectraForMaskedLM,
                                       Architecture::kElectraForSequenceClassification,
                                       Architecture::kElectraForTokenClassification,
                                       Architecture::kElectraForQuestionAnswering,
                                       Architecture::kBertModel,
                                       Architecture::kBertForMaskedLM,
                                       Architecture::kBertForPreTraining,
                                       Architecture::kBertForSequenceClassification,
                                       Architecture::kBertForTokenClassification,
                                       Architecture::kBertForQuestionAnswering,
                                       Architecture::kGpt2LMHeadModel};

Type label_type(const ModelStepOptions& options, const ModelBatchShape& shape) {
  const int64_t b = shape.batch_size;
  if (options.objective == Objective::kQuestionAnswering) return {DType::kI32, {b, 2}};
  if (options.objective != Objective::kClassification)
    return {DType::kI32, {b, shape.label_positions > 0 ? shape.label_positions : shape.seq_length}};
  const ClassifierConfig& classifier = options.model.classifier;
  if (classifier.problem == ClassifierConfig::Problem::kSingleLabel) return {DType::kI32, {b}};
  return {DType::kF32, {b, classifier.num_labels}};
}

ModelInputs add_inputs(const ModelStepOptions& options, const ModelBatchShape& shape,
                       bool given_totals, Graph& graph) {
  const Type tokens{DType::kI32, {shape.batch_size, shape.seq_length}}, scalar{DType::kF32, {}};
  ModelInputs in;
  in.tokens.input_ids = graph.input("input_ids", tokens);
  if (shape.attention_mask) in.tokens.attention_mask = graph.input("attention_mask", tokens);
  if (shape.token_type_ids) in.tokens.token_type_ids = graph.input("token_type_ids", tokens);
  if (shape.position_ids) in.tokens.position_ids = graph.input("position_ids", tokens);
  if (shape.document_ids) in.tokens.document_ids = graph.input("document_ids", tokens);
  const Type labels = label_type(options, shape);
  in.labels = shape.labels ? graph.input("labels", labels) : in.tokens.input_ids;
  if (shape.label_positions > 0) in.label_positions = graph.input("label_positions", labels);
  if (predicts_sentences(options.objective))
    in.next_sentence_label = graph.input("next_sentence_label", {DType::kI32, {shape.batch_size}});
  if (shape.label_weights)
    in.label_weights = graph.input("label_weights", {DType::kF32, labels.shape});
  if (given_totals) {
    in.label_total = graph.input("label_total", scalar);
    if (predicts_sentences(options.objective))
      in.next_sentence_total = graph.input("next_sentence_total", scalar);
  }
  in.label_smoothing = options.label_smoothing;
  return in;
}

void add_sums(const TaskOutputs& task, const std::string& name, ForwardPass& pass) {
  if (!task.row_loss.valid()) return;
  const auto sum = [&](Value rows) { return sum_all(mul(rows, task.row_weight)); };
  pass.outputs.emplace_back(name + "_loss", sum(task.row_loss));
  if (task.row_correct.valid()) pass.outputs.emplace_back(name + "_correct", sum(task.row_correct));
  pass.outputs.emplace_back(name + "_count", sum_all(task.row_weight));
}

ForwardPass add_forward(const ModelStepOptions& options, const ModelBatchShape& shape,
                        bool given_totals, ParameterTree& tree, bool training) {
  Graph& graph = tree.graph();
  ForwardContext context;
  context.key = graph.input("key", {DType::kU32, {2}});
  context.training = training;
  context.batch_size = shape.batch_size;
  context.seq_length = shape.seq_length;
  const ModelInputs inputs = add_inputs(options, shape, given_totals, graph);
  const ModelOutputs out = build_model(tree, options.model, inputs, context);
  if (!out.loss.valid()) throw GraphError("the model has no loss");
  ForwardPass pass{.loss = out.loss, .losses = {{"loss", out.loss}}, .outputs = {}};
  add_sums(out.task, "label", pass);
  add_sums(out.next_sentence, "sentence", pass);
  if (asks_classes(options.objective)) pass.outputs.emplace_back("logits", out.logits);
  return pass;
}

}  // namespace

std::string_view objective_name(Objective objective) {
  return kNames[static_cast<size_t>(objective)];
}

std::optional<Objective> find_objective(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Objective>(found - kNames.begin());
}

std::optional<Objective> default_objective(Architecture architecture) {
  for (const Objective objective :
       {Objective::kMlmNsp, Objective::kClm, Objective::kMlm, Objective::kRtd,
        Objective::kClassification, Objective::kTokenClassification,
        Objective::kQuestionAnswering}) {
    if (has_objective(architecture, objective)) return objective;
  }
  return std::nullopt;
}

Result<> check_objective(const Model& model, Objective objective) {
  if (has_objective(model.architecture, objective)) return {};
  std::string have;
  for (const Architecture architecture : kArchitectures) {
    if (!has_objective(architecture, objective)) continue;
    have.append(have.empty() ? "" : ", ").append(architecture_name(architecture));
  }
  return fail_hint(Code::kInvalidArgument, fmt::format("models with it: {}", have),
                   "{} has no head for the objective {}", architecture_name(model.architecture),
                   objective_name(objective));
}

bool asks_classes(Objective objective) {
  return objective == Objective::kClassification || objective == Objective::kTokenClassification ||
         objective == Objective::kQuestionAnswering;
}

bool predicts_sentences(Objective objective) {
  return objective == Objective::kMlmNsp || objective == Objective::kMlmSop;
}

StepParts model_step(const ModelStepOptions& options, const ModelBatchShape& shape,
                     bool given_totals) {
  StepParts parts;
  parts.forward = [options, shape, given_totals](ParameterTree& tree, bool training) {
    return add_forward(options, shape, given_totals, tree, training);
  };
  if (!options.frozen.empty()) {
    parts.is_trained = [frozen = options.frozen](std::string_view parameter) {
      return std::ranges::none_of(
          frozen, [&](const std::string& prefix) { return parameter.starts_with(prefix); });
    };
  }
  return parts;
}

}  // namespace headwater
