// A model by name: what config.json's "architectures" and "model_type" mean, and the one place that
// turns them into a graph.
//
// A model's parameters are found by building it (models/scope.h): parameter_types() is how
// conversion and checks learn what a checkpoint must hold. A new family is a configuration, a
// build function and a row of the table in model.cc.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "models/bert_config.h"
#include "models/electra_config.h"
#include "models/gpt2_config.h"
#include "models/model_io.h"

namespace headwater {

enum class Architecture {
  kElectraForPreTraining,
  kElectraForMaskedLM,
  kElectraForSequenceClassification,
  kElectraForTokenClassification,
  kElectraForQuestionAnswering,
  kBertModel,
  kBertForMaskedLM,
  kBertForPreTraining,
  kBertForSequenceClassification,
  kBertForTokenClassification,
  kBertForQuestionAnswering,
  kGpt2LMHeadModel,
};
std::string_view architecture_name(Architecture architecture);  // of transformers
std::optional<Architecture> find_architecture(std::string_view name);
std::string_view model_type(Architecture architecture);  // "electra", "bert", "gpt2"
bool is_classifier(Architecture architecture);           // of sequences
bool has_labels(Architecture architecture);  // of sequences or tokens: Model::classifier counts

using ModelConfig = std::variant<ElectraConfig, BertConfig, Gpt2Config>;

struct Model {
  Architecture architecture = Architecture::kBertForMaskedLM;
  ModelConfig config = BertConfig{};  // of the architecture's family
  ClassifierConfig classifier;        // where has_labels()

  // "architectures" decides; where it is missing, model_type with the family's pre-training class.
  // `where` (a file) goes into errors.
  static Result<Model> from_hf_json(const Json& object, std::string_view where);
  Json to_hf_json() const;

  int64_t max_positions() const;
  int64_t vocab_size() const;
  // Whether the model reads token types of its own table (BERT, ELECTRA).
  bool has_token_types() const;

  friend bool operator==(const Model&, const Model&) = default;
};

// Adds the model to a graph. Throws GraphError.
ModelOutputs build_model(ParameterTree& tree, const Model& model, const ModelInputs& inputs,
                         const ForwardContext& context);

// Every parameter with its type and first value, in the order of building, and further names of
// tied ones.
struct ParameterType {
  std::string name;
  Type type;
  Initializer init;
};
struct ParameterTypes {
  std::vector<ParameterType> parameters;
  std::map<std::string, std::string> aliases;  // further name -> name
};
Result<ParameterTypes> parameter_types(const Model& model);

}  // namespace headwater
