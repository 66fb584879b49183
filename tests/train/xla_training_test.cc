// Twenty steps of training on XLA, through a CPU plugin, beside the native executor: the ELECTRA
// pair, BERT and GPT-2, with dropout, samples and optimizer.
#include <gtest/gtest.h>

#include <cmath>

#include "base/threads.h"
#include "base/threefry.h"
#include "executors/plugins.h"
#include "train/model_step.h"
#include "train/optimizer.h"
#include "train/train_step.h"

namespace headwater {
namespace {

constexpr int64_t kBatch = 4, kTime = 12, kVocabulary = 50, kSteps = 20;

// Ids, of which the last row is half padding; positions of slots; labels of some tokens.
int32_t index_for(const std::string& name, size_t i, RandomStream& random) {
  const bool is_padding = i >= static_cast<size_t>((kBatch - 1) * kTime + kTime / 2);
  const auto id = static_cast<int32_t>(5 + random.below(kVocabulary - 5));
  if (name.ends_with("mask")) return is_padding ? 0 : 1;
  if (name == "segment_ids" || name == "token_type_ids") return static_cast<int32_t>(i / 5 % 2);
  if (name == "masked_lm_positions") return static_cast<int32_t>(1 + random.below(kTime / 2 - 1));
  if (name == "labels") return random.below(4) == 0 && !is_padding ? id : -100;
  if (name == "next_sentence_label") return static_cast<int32_t>(random.below(2));
  return id;
}

Tensor feed_for(const GraphInput& input, int64_t step) {
  RandomStream random(Key::from_seed(static_cast<uint64_t>(step)).fold_in(input.name));
  Tensor tensor(input.value.dtype(), input.value.shape());
  switch (tensor.dtype()) {
    case DType::kI32:
      for (size_t i = 0; i < tensor.as<int32_t>().size(); ++i)
        tensor.as<int32_t>()[i] = index_for(input.name, i, random);
      break;
    case DType::kU32:
      tensor.as<uint32_t>()[0] = 3, tensor.as<uint32_t>()[1] = static_cast<uint32_t>(step);
      break;
    default:  // weights of slots, the learning rate
      for (float& x : tensor.as<float>()) x = input.name == "learning_rate" ? 1e-3f : 1;
  }
  return tensor;
}

// Starting values: small weights, gains around 1; slots of the optimizer are zeros.
Tensor first_value(const Parameter& parameter) {
  Tensor tensor(DType::kF32, parameter.value.shape());
  const Key key = Key::from_seed(7).fold_in(parameter.name);
  const float centre = parameter.init.kind == Initializer::Kind::kOnes ? 1.0f : 0.0f;
  for (size_t i = 0; i < tensor.as<float>().size(); ++i)
    tensor.as<float>()[i] = centre + 0.1f * (2 * key.uniform(i) - 1);
  return tensor;
}

struct Trace {
  std::vector<float> losses;
  std::map<std::string, Tensor> state;
};

Trace train(const StepParts& parts, const std::string& loss, const std::string& device) {
  Graph graph;
  const BuiltGraph built = value_or_throw(build_train_graph(parts, OptimizerOptions{}, graph));
  const auto executor = value_or_throw(Executor::open(device));
  const auto store = executor->make_store();
  for (const Parameter& p : built.parameters) ok_or_throw(store->set(p.name, first_value(p)));
  const auto program = value_or_throw(executor->compile(graph, *store));
  Trace trace;
  for (int64_t step = 0; step < kSteps; ++step) {
    for (const GraphInput& input : graph.inputs()) {
      if (!input.is_state) ok_or_throw(program->feed(input.name, feed_for(input, step)));
    }
    ok_or_throw(program->run());
    trace.losses.push_back(value_or_throw(program->fetch(loss)).as<float>()[0]);
  }
  for (const Parameter& p : built.parameters)
    trace.state.emplace(p.name, value_or_throw(store->get(p.name)));
  return trace;
}

class TrainingOnXla : public testing::Test {
 protected:
  void SetUp() override {
    HW_SKIP_WITHOUT_WHEEL(pjrt::kCpuWheels[0]);
    set_num_threads(1);
  }
  void TearDown() override { set_num_threads(0); }

  static void expect_same_training(const StepParts& parts, const std::string& loss) {
    const pjrt::OwnProgramCache cache;
    const Trace native = train(parts, loss, "cpu");
    const Trace on_xla = train(parts, loss, "pjrt:" + pjrt::wheel_path(pjrt::kCpuWheels[0]));
    for (size_t i = 0; i < native.losses.size(); ++i) {
      EXPECT_NEAR(on_xla.losses[i], native.losses[i], 1e-4 * native.losses[i]) << "step " << i;
    }
    EXPECT_LT(native.losses.back(), native.losses.front() + 0.5f);
    for (const auto& [name, expected] : native.state) {
      // Adam turns a gradient that is nothing but rounding, as that of a key's bias, into whole
      // steps.
      if (name.ends_with("key.bias") || name.ends_with("c_attn.bias")) continue;
      const auto found = on_xla.state.at(name).as<float>();
      double difference = 0, size = 0;
      for (size_t i = 0; i < found.size(); ++i) {
        difference += std::pow(double{found[i]} - expected.as<float>()[i], 2);
        size += std::pow(double{expected.as<float>()[i]}, 2);
      }
      EXPECT_LT(std::sqrt(difference), 1e-3 * std::sqrt(size)) << name;
    }
  }
};

TEST_F(TrainingOnXla, ElectraPair) {
  ElectraGraphOptions options;
  ElectraConfig& config = options.discriminator;
  config.vocab_size = kVocabulary;
  config.embedding_size = 16;
  config.hidden_size = 32;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.intermediate_size = 64;
  config.max_position_embeddings = kTime;
  options.generator = config;
  options.generator.hidden_size = 16;
  options.sizes = {kBatch, kTime, 3};
  expect_same_training(electra_step(options), "total_loss");
}

TEST_F(TrainingOnXla, Bert) {
  BertConfig config;
  config.vocab_size = kVocabulary;
  config.hidden_size = 32;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.intermediate_size = 64;
  config.max_position_embeddings = kTime;
  const Model model{Architecture::kBertForPreTraining, config, {}};
  const ModelBatchShape shape{
      .batch_size = kBatch, .seq_length = kTime, .attention_mask = true, .token_type_ids = true};
  expect_same_training(model_step({.model = model, .objective = Objective::kMlmNsp}, shape),
                       "loss");
}

TEST_F(TrainingOnXla, Gpt2) {
  Gpt2Config config;
  config.vocab_size = kVocabulary;
  config.n_embd = 32;
  config.n_layer = 2;
  config.n_head = 4;
  config.n_positions = kTime;
  const Model model{Architecture::kGpt2LMHeadModel, config, {}};
  const ModelBatchShape shape{.batch_size = kBatch, .seq_length = kTime, .labels = false};
  expect_same_training(model_step({.model = model, .objective = Objective::kClm}, shape), "loss");
}

}  // namespace
}  // namespace headwater
