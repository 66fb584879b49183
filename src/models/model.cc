#include "models/model.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/bert.h"
#include "models/electra_networks.h"
#include "models/gpt2.h"

namespace headwater {
namespace {

enum class Head { kOther, kSequence, kTokens };

struct Row {
  Architecture architecture;
  std::string_view name, model_type;
  Head head;
  ModelOutputs (*build)(ParameterTree&, const Model&, const ModelInputs&, const ForwardContext&);
};

// Build functions with the model's configuration taken out.
template <class Config, auto kBuild>
ModelOutputs build_as(ParameterTree& tree, const Model& model, const ModelInputs& inputs,
                      const ForwardContext& context) {
  return kBuild(tree, std::get<Config>(model.config), inputs, context);
}
template <class Config, auto kBuild>
ModelOutputs build_classifier_as(ParameterTree& tree, const Model& model, const ModelInputs& inputs,
                                 const ForwardContext& context) {
  return kBuild(tree, std::get<Config>(model.config), model.classifier, inputs, context);
}

// In the order of the enumeration; the first of a family is what a config.json without
// "architectures" means.
constexpr std::array kRows = {
    Row{Architecture::kElectraForPreTraining, "ElectraForPreTraining", "electra", Head::kOther,
        build_as<ElectraConfig, build_electra_discriminator>},
    Row{Architecture::kElectraForMaskedLM, "ElectraForMaskedLM", "electra", Head::kOther,
        build_as<ElectraConfig, build_electra_generator>},
    Row{Architecture::kElectraForSequenceClassification, "ElectraForSequenceClassification",
        "electra", Head::kSequence, build_classifier_as<ElectraConfig, build_electra_classifier>},
    Row{Architecture::kElectraForTokenClassification, "ElectraForTokenClassification", "electra",
        Head::kTokens, build_classifier_as<ElectraConfig, build_electra_token_classifier>},
    Row{Architecture::kElectraForQuestionAnswering, "ElectraForQuestionAnswering", "electra",
        Head::kOther, build_as<ElectraConfig, build_electra_question_answering>},
    Row{Architecture::kBertModel, "BertModel", "bert", Head::kOther,
        build_as<BertConfig, build_bert_model>},
    Row{Architecture::kBertForMaskedLM, "BertForMaskedLM", "bert", Head::kOther,
        build_as<BertConfig, build_bert_masked_lm>},
    Row{Architecture::kBertForPreTraining, "BertForPreTraining", "bert", Head::kOther,
        build_as<BertConfig, build_bert_pretraining>},
    Row{Architecture::kBertForSequenceClassification, "BertForSequenceClassification", "bert",
        Head::kSequence, build_classifier_as<BertConfig, build_bert_classifier>},
    Row{Architecture::kBertForTokenClassification, "BertForTokenClassification", "bert",
        Head::kTokens, build_classifier_as<BertConfig, build_bert_token_classifier>},
    Row{Architecture::kBertForQuestionAnswering, "BertForQuestionAnswering", "bert", Head::kOther,
        build_as<BertConfig, build_bert_question_answering>},
    Row{Architecture::kGpt2LMHeadModel, "GPT2LMHeadModel", "gpt2", Head::kOther,
        build_as<Gpt2Config, build_gpt2_lm>},
};

const Row& row_of(Architecture architecture) { return kRows[static_cast<size_t>(architecture)]; }

// What a family's config.json means when it names no architecture.
std::optional<Architecture> default_architecture(std::string_view model_type) {
  if (model_type == "electra") return Architecture::kElectraForPreTraining;
  if (model_type == "bert") return Architecture::kBertForMaskedLM;
  if (model_type == "gpt2") return Architecture::kGpt2LMHeadModel;
  return std::nullopt;
}

std::string known_names() {
  std::string names;
  for (const Row& row : kRows) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

Result<Architecture> read_architecture(const Json& object, std::string_view where) {
  if (!object.is_object()) return fail(Code::kInvalidArgument, "{} is not a JSON object", where);
  const auto named = object.find("architectures");
  if (named != object.end() && named->is_array() && !named->empty()) {
    const Json& first = named->front();
    const auto found =
        first.is_string() ? find_architecture(first.get_ref<const std::string&>()) : std::nullopt;
    if (found) return *found;
    return fail_hint(Code::kUnimplemented, fmt::format("known are {}", known_names()),
                     "{}: the architecture {} is not supported", where, dump_json(first));
  }
  const auto type = object.find("model_type");
  const bool is_text = type != object.end() && type->is_string();
  const auto found =
      is_text ? default_architecture(type->get_ref<const std::string&>()) : std::nullopt;
  if (found) return *found;
  return fail_hint(Code::kInvalidArgument, fmt::format("known are {}", known_names()),
                   "{} names no architecture", where);
}

}  // namespace

std::string_view architecture_name(Architecture architecture) { return row_of(architecture).name; }

std::string_view model_type(Architecture architecture) { return row_of(architecture).model_type; }

bool is_classifier(Architecture architecture) {
  return row_of(architecture).head == Head::kSequence;
}

bool has_labels(Architecture architecture) { return row_of(architecture).head != Head::kOther; }

std::optional<Architecture> find_architecture(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &Row::name);
  return found == kRows.end() ? std::nullopt : std::optional(found->architecture);
}

Result<Model> Model::from_hf_json(const Json& object, std::string_view where) {
  Model model;
  HW_ASSIGN_OR_RETURN(model.architecture, read_architecture(object, where));
  const std::string_view type = model_type(model.architecture);
  if (type == "electra") {
    HW_ASSIGN_OR_RETURN(model.config, ElectraConfig::from_hf_json(object, where));
  } else if (type == "bert") {
    HW_ASSIGN_OR_RETURN(model.config, BertConfig::from_hf_json(object, where));
  } else {
    HW_ASSIGN_OR_RETURN(model.config, Gpt2Config::from_hf_json(object, where));
  }
  if (has_labels(model.architecture)) {
    HW_ASSIGN_OR_RETURN(model.classifier, ClassifierConfig::from_hf_json(object, where));
  }
  if (!is_classifier(model.architecture))
    model.classifier.problem = ClassifierConfig::Problem::kSingleLabel;
  return model;
}

Json Model::to_hf_json() const {
  const std::string_view name = architecture_name(architecture);
  Json object = std::visit([&](const auto& c) { return c.to_hf_json(name); }, config);
  if (has_labels(architecture)) classifier.write_to(object);
  if (!is_classifier(architecture)) object.erase("problem_type");
  return object;
}

int64_t Model::max_positions() const {
  if (const auto* gpt2 = std::get_if<Gpt2Config>(&config)) return gpt2->n_positions;
  if (const auto* bert = std::get_if<BertConfig>(&config)) return bert->max_position_embeddings;
  return std::get<ElectraConfig>(config).max_position_embeddings;
}

int64_t Model::vocab_size() const {
  return std::visit([](const auto& c) { return c.vocab_size; }, config);
}

bool Model::has_token_types() const { return !std::holds_alternative<Gpt2Config>(config); }

ModelOutputs build_model(ParameterTree& tree, const Model& model, const ModelInputs& inputs,
                         const ForwardContext& context) {
  return row_of(model.architecture).build(tree, model, inputs, context);
}

Result<ParameterTypes> parameter_types(const Model& model) {
  try {
    Graph graph;
    ParameterTree tree(graph);
    ModelInputs inputs;
    inputs.tokens.input_ids = graph.input("input_ids", {DType::kI32, {1, 1}});
    ForwardContext context;
    context.key = graph.input("key", {DType::kU32, {2}});
    context.training = false;
    context.batch_size = context.seq_length = 1;
    build_model(tree, model, inputs, context);
    ParameterTypes types{{}, tree.aliases()};
    for (const Parameter& p : tree.parameters())
      types.parameters.push_back({p.name, p.value.type(), p.init});
    return types;
  } catch (const GraphError& e) {
    return fail(Code::kInvalidArgument, "the model cannot be built: {}", e.what());
  }
}

}  // namespace headwater
