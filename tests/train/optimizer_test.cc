// Optimizers against PyTorch, transformers and Keras on recorded gradients
// (tests/golden/optimizers/make.py).
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/threads.h"
#include "checkpoints/safetensors.h"
#include "executors/executor.h"
#include "golden.h"

namespace headwater {
namespace {

constexpr const char* kParameters[] = {"layer.weight", "table.weight", "layer.bias"};

OptimizerOptions options_of(const Json& golden) {
  OptimizerOptions options = find_optimizer(golden.at("optimizer").get<std::string>())->options;
  options.max_grad_norm = 0;
  const double decay = golden.value("weight_decay", options.adam.weight_decay);
  options.adam.weight_decay = options.sgd.weight_decay = decay;
  if (options.kind == OptimizerKind::kAdafactor) options.adafactor.weight_decay = decay;
  options.sgd.momentum = golden.value("momentum", options.sgd.momentum);
  options.sgd.nesterov = golden.value("nesterov", false);
  AdafactorOptions& a = options.adafactor;
  a.beta1 = golden.value("beta1", a.beta1);
  a.scale_parameter = golden.value("scale_parameter", a.scale_parameter);
  a.relative_step = golden.value("relative_step", a.relative_step);
  a.warmup_init = golden.value("warmup_init", a.warmup_init);
  return options;
}

// A program that updates the recorded parameters by fed gradients.
class Updater {
 public:
  Updater(const OptimizerOptions& options, const TensorMap& golden) : options_(options) {
    set_num_threads(1);
    executor_ = std::move(*Executor::open("cpu"));
    store_ = executor_->make_store();
    Graph graph;
    ParameterTree tree(graph);
    std::vector<Value> gradients;
    for (const char* name : kParameters) {
      const Tensor& start = golden.at(std::string("start/") + name);
      const Value value = tree.add(name, start.shape(), Initializer::zeros());
      gradients.push_back(graph.input(std::string("grad/") + name, value.type()));
      EXPECT_TRUE(store_->set(name, start));
      if (options.ema_decay > 0) {
        EXPECT_TRUE(store_->set(ema_name(name), start));
      }
    }
    apply_optimizer(tree.parameters(), gradients, global_norm(gradients),
                    graph.input("learning_rate", {DType::kF32, {}}), options);
    program_ = *executor_->compile(graph, *store_);
  }

  void step(int64_t t, double rate, const TensorMap& golden) {
    for (const auto& [name, value] : optimizer_feeds(options_, t, rate)) {
      ASSERT_TRUE(program_->feed(name, Tensor::scalar(static_cast<float>(value)))) << name;
    }
    for (const char* name : kParameters) {
      const std::string recorded = fmt::format("grad{}/{}", t - 1, name);
      ASSERT_TRUE(program_->feed(std::string("grad/") + name, golden.at(recorded)));
    }
    ASSERT_TRUE(program_->run());
  }

  const StateStore& store() const { return *store_; }

 private:
  OptimizerOptions options_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Program> program_;
};

TensorMap recorded() {
  return *read_safetensors_map(
      local_files(), std::string(HW_TESTS_DIR) + "/golden/optimizers/optimizers.safetensors");
}

TEST(Optimizer, EqualsItsReference) {
  const TensorMap golden = recorded();
  const auto cases = load_golden("optimizers/optimizers.json");
  for (const auto& [name, options] : cases["cases"].items()) {
    Updater updater(options_of(options), golden);
    int64_t t = 0;
    for (const double rate : cases["rates"]) updater.step(++t, rate, golden);
    for (const char* parameter : kParameters) {
      const Tensor found = *updater.store().get(parameter);
      const Tensor& expected = golden.at(fmt::format("{}/{}", name, parameter));
      for (int64_t i = 0; i < found.size(); ++i) {
        const auto at = static_cast<size_t>(i);
        EXPECT_NEAR(found.as<float>()[at], expected.as<float>()[at], 3e-6)
            << name << ": " << parameter << " " << i;
      }
    }
  }
}

// The slots that a checkpoint holds are those that the graph has.
TEST(Optimizer, SlotsAreTheStateOfTheGraph) {
  const TensorMap golden = recorded();
  for (const OptimizerPreset& preset : optimizer_presets()) {
    for (const double ema : {0.0, 0.9}) {
      OptimizerOptions options = preset.options;
      options.ema_decay = ema;
      options.adafactor.beta1 = ema;
      const Updater updater(options, golden);
      std::vector<std::string> expected;
      for (const char* name : kParameters) {
        expected.emplace_back(name);
        const Shape& shape = golden.at(std::string("start/") + name).shape();
        for (const TensorSpec& slot : optimizer_slots(options, {name, DType::kF32, shape})) {
          expected.push_back(slot.name);
          EXPECT_EQ(updater.store().get(slot.name)->shape(), slot.shape) << slot.name;
        }
      }
      std::ranges::sort(expected);
      EXPECT_EQ(updater.store().names(), expected) << preset.name;
    }
  }
}

TEST(Optimizer, AverageFollowsTheParameters) {
  const TensorMap golden = recorded();
  OptimizerOptions options = find_optimizer("adamw")->options;
  options.ema_decay = 0.75;
  Updater updater(options, golden);
  Tensor average = golden.at("start/layer.bias");
  for (int64_t t = 1; t <= 4; ++t) {
    updater.step(t, 1e-2, golden);
    const Tensor now = *updater.store().get("layer.bias");
    const Tensor kept = *updater.store().get(ema_name("layer.bias"));
    for (size_t i = 0; i < now.as<float>().size(); ++i) {
      float& a = average.as<float>()[i];
      a = 0.75f * a + 0.25f * now.as<float>()[i];
      EXPECT_NEAR(kept.as<float>()[i], a, 1e-6);
    }
  }
}

TEST(Optimizer, ClipsByTheNormOfAllGradients) {
  const TensorMap golden = recorded();
  OptimizerOptions options = find_optimizer("sgd")->options;
  options.sgd.momentum = 0;
  options.max_grad_norm = 0.01;
  Updater updater(options, golden);
  updater.step(1, 1, golden);
  double moved = 0;
  for (const char* name : kParameters) {
    const Tensor now = *updater.store().get(name);
    const Tensor& before = golden.at(std::string("start/") + name);
    for (size_t i = 0; i < now.as<float>().size(); ++i)
      moved += std::pow(double{now.as<float>()[i]} - before.as<float>()[i], 2);
  }
  EXPECT_NEAR(std::sqrt(moved), 0.01, 1e-6);
}

TEST(Optimizer, DecaysWhatTransformersDecays) {
  const auto golden = load_golden("optimizers/decayed.json");
  for (const auto& [name, decayed] : golden.items()) EXPECT_EQ(is_decayed(name), decayed) << name;
  EXPECT_FALSE(is_decayed("discriminator.electra.embeddings.LayerNorm.weight"));
}

TEST(Optimizer, FoundByItsNames) {
  EXPECT_EQ(find_optimizer("adamw_torch")->name, "adamw-hf");
  EXPECT_EQ(find_optimizer("adamw-keras")->options.adam.epsilon, 1e-7);
  EXPECT_EQ(find_optimizer("adagrad"), nullptr);
}

}  // namespace
}  // namespace headwater
