// Builds a model's graph with loss and gradients, runs it on an executor, and gives its outputs by
// name: what the tests of model families share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/threads.h"
#include "base/threefry.h"
#include "checkpoints/safetensors.h"
#include "executors/executor.h"
#include "models/model.h"
#include "ops/gradient.h"

namespace headwater {

// Which of a model's inputs are fed; the others are left out of the graph.
struct FedInputs {
  bool attention_mask = true, token_type_ids = false, position_ids = false, document_ids = false;
  bool next_sentence_label = false, totals = false;
  int64_t label_positions = 0;  // N, or 0 for labels of every token
  bool training = false;        // dropout on, key fed
};

class ModelRun {
 public:
  ModelRun(const Model& model, int64_t batch, int64_t time, const FedInputs& fed = {},
           const std::string& device = "cpu")
      : model_(model), tree_(graph_) {
    set_num_threads(1);  // tests run beside each other, and these models are tiny
    ForwardContext context;
    context.key = graph_.input("key", {DType::kU32, {2}});
    context.training = fed.training;
    context.batch_size = batch;
    context.seq_length = time;
    const ModelOutputs out = build_model(tree_, model, make_inputs(batch, time, fed), context);
    add_outputs(out);
    auto executor = Executor::open(device);
    if (!executor) throw std::runtime_error(executor.error().to_string());
    executor_ = std::move(*executor);
    store_ = executor_->make_store();
    auto program = executor_->compile(graph_, *store_);
    if (!program) throw std::runtime_error(program.error().to_string());
    program_ = std::move(*program);
  }

  const Graph& graph() const { return graph_; }
  const std::vector<Parameter>& parameters() const { return tree_.parameters(); }
  const std::map<std::string, std::string>& aliases() const { return tree_.aliases(); }

  void set(const std::string& name, const Tensor& tensor) {
    const auto done = store_->set(name, tensor);
    if (!done) throw std::runtime_error(done.error().to_string());
  }
  Tensor get(const std::string& name) const { return *store_->get(name); }
  // Values that no parameter starts with, so that every gradient is tested: uniform within `width`,
  // around 1 for gains.
  void set_random(float width = 0.3f) {
    for (const Parameter& p : parameters()) {
      Tensor tensor(DType::kF32, p.value.shape());
      const Key key = Key::from_seed(7).fold_in(p.name);
      const float centre = p.init.kind == Initializer::Kind::kOnes ? 1.0f : 0.0f;
      for (size_t i = 0; i < tensor.as<float>().size(); ++i)
        tensor.as<float>()[i] = centre + width * (2 * key.uniform(i) - 1);
      set(p.name, tensor);
    }
  }

  void feed(const std::string& name, const Tensor& tensor) {
    const auto done = program_->feed(name, tensor);
    if (!done) throw std::runtime_error(done.error().to_string());
  }
  // Integers of any input; its shape is the graph's.
  void feed(const std::string& name, const std::vector<int32_t>& values) {
    const GraphInput* input = graph_.find_input(name);
    if (input == nullptr) throw std::runtime_error("no input " + name);
    feed(name, Tensor::i32(input->value.shape(), values));
  }
  void run() {
    const auto done = program_->run();
    if (!done) throw std::runtime_error(done.error().to_string());
  }
  Tensor fetch(const std::string& name) const {
    auto tensor = program_->fetch(name);
    if (!tensor) throw std::runtime_error(tensor.error().to_string());
    return *std::move(tensor);
  }
  float scalar(const std::string& name) const { return fetch(name).as<float>()[0]; }
  bool has_input(const std::string& name) const { return graph_.find_input(name) != nullptr; }

 private:
  ModelInputs make_inputs(int64_t batch, int64_t time, const FedInputs& fed) {
    const Type tokens{DType::kI32, {batch, time}};
    ModelInputs in;
    in.tokens.input_ids = graph_.input("input_ids", tokens);
    if (fed.attention_mask) in.tokens.attention_mask = graph_.input("attention_mask", tokens);
    if (fed.token_type_ids) in.tokens.token_type_ids = graph_.input("token_type_ids", tokens);
    if (fed.position_ids) in.tokens.position_ids = graph_.input("position_ids", tokens);
    if (fed.document_ids) in.tokens.document_ids = graph_.input("document_ids", tokens);
    in.labels = graph_.input("labels", label_type(batch, time, fed));
    if (fed.label_positions > 0)
      in.label_positions = graph_.input("label_positions", in.labels.type());
    if (fed.next_sentence_label)
      in.next_sentence_label = graph_.input("next_sentence_label", {DType::kI32, {batch}});
    if (fed.totals) {
      in.label_total = graph_.input("label_total", {DType::kF32, {}});
      in.next_sentence_total = graph_.input("next_sentence_total", {DType::kF32, {}});
    }
    return in;
  }

  Type label_type(int64_t batch, int64_t time, const FedInputs& fed) const {
    if (model_.architecture == Architecture::kElectraForQuestionAnswering ||
        model_.architecture == Architecture::kBertForQuestionAnswering)
      return {DType::kI32, {batch, 2}};
    if (!is_classifier(model_.architecture))
      return {DType::kI32, {batch, fed.label_positions > 0 ? fed.label_positions : time}};
    if (model_.classifier.problem == ClassifierConfig::Problem::kSingleLabel)
      return {DType::kI32, {batch}};
    return {DType::kF32, {batch, model_.classifier.num_labels}};
  }

  void add_outputs(const ModelOutputs& out) {
    const auto output = [&](std::string name, Value value) {
      if (value.valid()) graph_.output(std::move(name), value);
    };
    output("hidden", out.hidden);
    output("pooled", out.pooled);
    output("logits", out.logits);
    output("seq_relationship_logits", out.next_sentence_logits);
    output("accuracy", out.task.accuracy);
    output("row_weight", out.task.row_weight);
    output("predictions", out.task.predictions);
    output("next_sentence_accuracy", out.next_sentence.accuracy);
    output("loss", out.loss);
    if (!out.loss.valid()) return;
    std::vector<Value> values;
    for (const Parameter& p : tree_.parameters()) values.push_back(p.value);
    const std::vector<Value> grads = gradients(out.loss, values);
    for (size_t i = 0; i < grads.size(); ++i)
      output("grad/" + tree_.parameters()[i].name, grads[i]);
  }

  Model model_;
  Graph graph_;
  ParameterTree tree_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Program> program_;
};

// Norm of the difference over the norm of the expected values.
inline double relative_error(std::span<const float> found, std::span<const float> expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(double{found[i]} - expected[i], 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(difference / std::max(norm, 1e-12));
}

}  // namespace headwater
