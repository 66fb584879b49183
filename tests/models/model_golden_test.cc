// Models of all families against transformers on recorded inputs: logits, losses and gradients
// within 1e-5 relative (tests/golden/models/make_models.py).
#include "models/golden_model.h"

namespace headwater {
namespace {

class ModelGolden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    reference_ = read_reference(GetParam());
    run_ = run_golden_model(GetParam(), reference_);
  }

  // Elements per token of a tensor [B, T, ..], 0 for one that is not of tokens.
  int64_t per_token(const Tensor& tensor) const {
    const Shape& tokens = reference_.at("input/input_ids").shape();
    const Shape& shape = tensor.shape();
    const bool is_per_token = shape.size() >= 2 && shape[0] == tokens[0] && shape[1] == tokens[1];
    return is_per_token ? tensor.size() / (tokens[0] * tokens[1]) : 0;
  }

  // Padded positions carry no meaning; the reference itself differs by 3.2e-6 between single and
  // double precision.
  void expect_logits(const std::string& ours, const Tensor& expected) {
    const Tensor found = run_->fetch(ours);
    ASSERT_EQ(found.shape(), expected.shape());
    const auto mask = reference_.at("input/attention_mask").as<int64_t>();
    const int64_t group = per_token(expected);
    for (int64_t i = 0; i < expected.size(); ++i) {
      if (group > 0 && mask[static_cast<size_t>(i / group)] == 0) continue;
      const auto at = static_cast<size_t>(i);
      EXPECT_NEAR(found.as<float>()[at], expected.as<float>()[at], 1e-5) << ours << " " << i;
    }
  }

  TensorMap reference_;
  std::unique_ptr<ModelRun> run_;
};

TEST_P(ModelGolden, ParametersAreThoseOfTheFile) {
  std::map<std::string, Shape> ours, theirs;
  for (const Parameter& p : run_->parameters()) ours.emplace(p.name, p.value.shape());
  for (const auto& [name, tensor] : reference_) {
    if (name.starts_with("model/")) theirs.emplace(name.substr(6), tensor.shape());
  }
  EXPECT_EQ(ours, theirs);
  for (const auto& [alias, name] : run_->aliases()) {
    EXPECT_TRUE(ours.contains(name)) << name;
    EXPECT_FALSE(ours.contains(alias)) << alias;
  }
}

TEST_P(ModelGolden, LogitsAndLoss) {
  const float loss = reference_.at("output/loss").as<float>()[0];
  EXPECT_NEAR(run_->scalar("loss"), loss, 1e-5 * loss);
  for (const char* name : {"logits", "prediction_logits", "seq_relationship_logits"}) {
    const auto expected = reference_.find(std::string("output/") + name);
    if (expected == reference_.end()) continue;
    const std::string ours = std::string(name) == "prediction_logits" ? "logits" : name;
    expect_logits(ours, expected->second);
  }
}

TEST_P(ModelGolden, Gradients) {
  double norm = 0;
  size_t compared = 0;
  for (const auto& [name, expected] : reference_) {
    if (!name.starts_with("grad/")) continue;
    for (const float x : expected.as<float>()) norm += double{x} * x;
  }
  norm = std::sqrt(norm);
  for (const auto& [name, expected] : reference_) {
    if (!name.starts_with("grad/")) continue;
    ++compared;
    const Tensor found = run_->fetch(name);
    ASSERT_EQ(found.shape(), expected.shape()) << name;
    // A bias of the keys moves all scores of a row alike: its gradient is zero but for rounding. So
    // do the last biases before the scores of answers, which are compared along a row.
    const bool answers = std::string_view(GetParam()).ends_with("_questions");
    const bool is_zero =
        name.ends_with("key.bias") || (answers && (name.ends_with("qa_outputs.bias") ||
                                                   name.ends_with("0.output.LayerNorm.bias")));
    if (is_zero) {
      for (const float x : found.as<float>()) EXPECT_LT(std::fabs(x), 1e-6 * norm) << name;
    } else {
      EXPECT_LT(relative_error(found.as<float>(), expected.as<float>()), 1e-5) << name;
    }
  }
  EXPECT_EQ(compared, run_->parameters().size());
}

INSTANTIATE_TEST_SUITE_P(Recorded, ModelGolden, testing::ValuesIn(kGoldenModels),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace headwater
