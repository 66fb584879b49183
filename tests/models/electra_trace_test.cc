// Replays training traces of google-research/electra (dropout off; masks and samples recorded):
// corruption and labels exactly, losses and gradients within 1e-5 relative, parameters and moments
// after the recorded steps within 1e-6.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoints/safetensors.h"
#include "executors/executor.h"
#include "io/file.h"
#include "models/name_rules.h"
#include "train/schedule.h"
#include "train/train_step.h"

namespace headwater {
namespace {

struct Trace {
  std::string folder;
  int64_t steps;
  bool recorded_norm = false;  // see OptimizerSteps
};

class ElectraTrace : public testing::TestWithParam<Trace> {
 protected:
  void SetUp() override {
    const std::string folder = std::string(HW_TESTS_DIR) + "/golden/electra/" + GetParam().folder;
    auto trace = read_safetensors_map(local_files(), folder + "/trace.safetensors");
    auto after = read_safetensors_map(local_files(), folder + "/after.safetensors");
    ASSERT_TRUE(trace) << trace.error().to_string();
    ASSERT_TRUE(after) << after.error().to_string();
    trace_ = std::move(*trace);
    after_ = std::move(*after);
    std::ifstream file(folder + "/meta.json");
    meta_ = Json::parse(file);
    read_options();
    auto executor = Executor::open("cpu");
    ASSERT_TRUE(executor);
    executor_ = std::move(*executor);
    store_ = executor_->make_store();
    set_initial_parameters();
  }

  static ElectraConfig config_of(const Json& json, int64_t embedding_size) {
    ElectraConfig c;
    c.vocab_size = json.at("vocab_size");
    c.hidden_size = json.at("hidden_size");
    c.embedding_size = embedding_size > 0 ? embedding_size : c.hidden_size;
    c.num_hidden_layers = json.at("num_hidden_layers");
    c.num_attention_heads = json.at("num_attention_heads");
    c.intermediate_size = json.at("intermediate_size");
    c.max_position_embeddings = json.at("max_position_embeddings");
    c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
    return c;
  }

  void read_options() {
    const Json& hparams = meta_.at("hparams");
    ElectraObjective& o = options_.objective;
    o.electra_objective = hparams.value("electra_objective", true);
    o.untied_generator = hparams.value("untied_generator", true);
    o.untied_generator_embeddings = hparams.value("untied_generator_embeddings", false);
    o.disallow_correct = hparams.value("disallow_correct", false);
    const int64_t given =
        meta_.at("embedding_size").is_null() ? 0 : meta_.at("embedding_size").get<int64_t>();
    options_.discriminator = config_of(meta_.at("discriminator_config"), given);
    options_.generator =
        config_of(meta_.at("generator_config"),
                  o.untied_generator_embeddings ? 0 : options_.discriminator.embedding_size);
    if (!o.electra_objective || !o.untied_generator) options_.generator = options_.discriminator;
    options_.sizes = {meta_.at("batch"), meta_.at("max_seq_length"),
                      meta_.at("max_predictions_per_seq")};
    options_.given_samples = o.electra_objective;
    optimizer_.adam.weight_decay = meta_.at("optimizer").at("weight_decay_rate");
  }

  void set_initial_parameters() {
    for (const auto& [name, tensor] : trace_) {
      if (!name.starts_with("init/")) continue;
      const auto mapping = canonical_from_tf(name.substr(5));
      ASSERT_TRUE(mapping) << name;
      ASSERT_TRUE(store_->set(mapping->name, mapping->transpose ? transposed(tensor) : tensor));
    }
  }

  const Tensor& recorded(int64_t step, std::string_view name) {
    const auto it = trace_.find(fmt::format("step{}/{}", step, name));
    EXPECT_NE(it, trace_.end()) << step << name;
    return it->second;
  }

  void feed_step(Program& program, int64_t step) {
    for (const char* name : {"input_ids", "input_mask", "segment_ids"}) {
      ASSERT_TRUE(program.feed(name, recorded(step, std::string("in/") + name)));
    }
    for (const char* name :
         {"masked_input_ids", "masked_lm_positions", "masked_lm_ids", "masked_lm_weights"}) {
      const auto fed = program.feed(name, recorded(step, name));
      ASSERT_TRUE(fed) << fed.error().to_string();
    }
    if (options_.given_samples) {
      const Tensor& samples = recorded(step, "sampled_tokids");
      ASSERT_TRUE(
          program.feed("sampled_ids", Tensor::i32({samples.size()}, samples.as<int32_t>())));
    }
  }

  double learning_rate(int64_t step) const {
    const Json& o = meta_.at("optimizer");
    return Schedule{o.at("learning_rate"), o.at("warmup_steps"), o.at("num_train_steps"),
                    o.at("lr_decay_power")}
        .rate(step);
  }

  static void expect_close(float found, float expected, const std::string& what) {
    EXPECT_NEAR(found, expected, 1e-5 * std::max(1e-3f, std::fabs(expected))) << what;
  }

  // Norm of the difference over the norm of the expected values.
  static double relative_error(std::span<const float> found, std::span<const float> expected) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(static_cast<double>(found[i]) - expected[i], 2);
      norm += std::pow(static_cast<double>(expected[i]), 2);
    }
    return std::sqrt(difference / std::max(norm, 1e-12));
  }

  static double norm_of(const Tensor& tensor) {
    double sum = 0;
    for (const float x : tensor.as<float>()) sum += static_cast<double>(x) * x;
    return std::sqrt(sum);
  }

  void expect_outputs(const Program& program, int64_t step) {
    const auto scalar = [&](const char* name) { return program.fetch(name)->as<float>()[0]; };
    expect_close(scalar("mlm_loss"), recorded(step, "mlm_loss").as<float>()[0], "mlm_loss");
    expect_close(scalar("total_loss"), recorded(step, "total_loss").as<float>()[0], "total_loss");
    if (!options_.objective.electra_objective) return;
    expect_close(scalar("disc_loss"), recorded(step, "disc_loss").as<float>()[0], "disc_loss");
    const auto expect_ids = [&](const char* ours, const char* theirs) {
      const auto found = program.fetch(ours);
      const Tensor& expected = recorded(step, theirs);
      EXPECT_TRUE(std::ranges::equal(found->as<int32_t>(), expected.as<int32_t>())) << ours;
    };
    expect_ids("fake_ids", "fake_input_ids");
    expect_ids("is_fake", "is_fake");
    const auto logits = program.fetch("disc_logits");
    const Tensor& probabilities = recorded(step, "disc_probs");
    for (size_t i = 0; i < probabilities.as<float>().size(); ++i) {
      // The reference's own logits differ by 3e-6 between single and double precision.
      EXPECT_NEAR(1 / (1 + std::exp(-logits->as<float>()[i])), probabilities.as<float>()[i], 4e-6);
    }
  }

  void expect_state_after_steps() {
    int64_t compared = 0;
    for (const auto& [name, expected] : after_) {
      if (name == "global_step") continue;
      const auto mapping = canonical_from_tf(name);
      ASSERT_TRUE(mapping) << name;
      const auto found = store_->get(mapping->name);
      ASSERT_TRUE(found) << mapping->name;
      const Tensor ours = mapping->transpose ? transposed(*found) : *found;
      ASSERT_EQ(ours.shape(), expected.shape()) << name;
      for (size_t i = 0; i < expected.as<float>().size(); ++i) {
        ASSERT_NEAR(ours.as<float>()[i], expected.as<float>()[i], 1e-6) << name << " " << i;
      }
      ++compared;
    }
    EXPECT_EQ(compared, static_cast<int64_t>(store_->names().size()));
  }

  TensorMap trace_, after_;
  Json meta_;
  ElectraGraphOptions options_;
  OptimizerOptions optimizer_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StateStore> store_;
};

TEST_P(ElectraTrace, LossesCorruptionAndGradients) {
  Graph graph;
  const auto built = build_gradient_graph(electra_step(options_), graph);
  ASSERT_TRUE(built) << built.error().to_string();
  auto program = executor_->compile(graph, *store_);
  ASSERT_TRUE(program) << program.error().to_string();
  feed_step(**program, 0);
  ASSERT_TRUE((*program)->run());
  expect_outputs(**program, 0);
  const double norm = recorded(0, "grad_global_norm").as<float>()[0];
  int64_t compared = 0;
  for (const auto& [name, expected] : trace_) {
    constexpr std::string_view kPrefix = "step0/grad/";
    if (!name.starts_with(kPrefix)) continue;
    const auto mapping = canonical_from_tf(name.substr(kPrefix.size()));
    ASSERT_TRUE(mapping) << name;
    const auto found = (*program)->fetch("grad/" + mapping->name);
    ASSERT_TRUE(found) << found.error().to_string();
    const Tensor ours = mapping->transpose ? transposed(*found) : *found;
    // A bias of the keys moves all scores of a row alike, so its gradient is zero but for rounding:
    // what is left is compared with the norm of all gradients.
    const bool is_zero = name.find("/key/bias") != std::string::npos;
    if (is_zero) {
      EXPECT_LT(norm_of(ours), 1e-6 * norm) << name;
      EXPECT_LT(norm_of(expected), 1e-6 * norm) << name;
    } else {
      EXPECT_LT(relative_error(ours.as<float>(), expected.as<float>()), 1e-5) << name;
    }
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int64_t>(built->parameters.size()));
}

// The reference clips by a norm over un-merged sparse slices when tables are untied and looked up
// (its gradient is otherwise the same); that trace is replayed with the recorded norm.
TEST_P(ElectraTrace, OptimizerSteps) {
  Graph graph;
  const auto built = GetParam().recorded_norm
                         ? build_gradient_graph(electra_step(options_), graph)
                         : build_train_graph(electra_step(options_), optimizer_, graph);
  ASSERT_TRUE(built) << built.error().to_string();
  auto program = executor_->compile(graph, *store_);
  ASSERT_TRUE(program) << program.error().to_string();
  Graph update_graph;
  std::unique_ptr<Program> update;
  if (GetParam().recorded_norm) {
    std::vector<Parameter> parameters;
    std::vector<Value> gradients;
    for (const Parameter& p : built->parameters) {
      const Type type = p.value.type();
      parameters.push_back({p.name, update_graph.input(p.name, type, true), p.init});
      gradients.push_back(update_graph.input("grad/" + p.name, type));
    }
    apply_optimizer(parameters, gradients, update_graph.input("norm", {DType::kF32, {}}),
                    update_graph.input("learning_rate", {DType::kF32, {}}), optimizer_);
    auto compiled = executor_->compile(update_graph, *store_);
    ASSERT_TRUE(compiled) << compiled.error().to_string();
    update = std::move(*compiled);
  }
  for (int64_t step = 0; step < GetParam().steps; ++step) {
    const Tensor rate = Tensor::scalar(static_cast<float>(learning_rate(step)));
    feed_step(**program, step);
    if (!update) {
      ASSERT_TRUE((*program)->feed("learning_rate", rate));
    }
    ASSERT_TRUE((*program)->run());
    expect_outputs(**program, step);
    const float norm = recorded(step, "grad_global_norm").as<float>()[0];
    if (!update) {
      expect_close((*program)->fetch("grad_norm")->as<float>()[0], norm, "grad_norm");
      continue;
    }
    for (const Parameter& p : built->parameters) {
      ASSERT_TRUE(update->feed("grad/" + p.name, *(*program)->fetch("grad/" + p.name)));
    }
    ASSERT_TRUE(update->feed("norm", Tensor::scalar(norm)));
    ASSERT_TRUE(update->feed("learning_rate", rate));
    ASSERT_TRUE(update->run());
  }
  expect_state_after_steps();
}

INSTANTIATE_TEST_SUITE_P(Recorded, ElectraTrace,
                         testing::Values(Trace{"tf1_electra_small", 3},
                                         Trace{"tf1_electra_base", 3}, Trace{"trace_tied_all", 2},
                                         Trace{"trace_untied_emb", 2, true},
                                         Trace{"trace_disallow", 2}, Trace{"trace_bert", 2}),
                         [](const auto& test) { return test.param.folder; });

}  // namespace
}  // namespace headwater
