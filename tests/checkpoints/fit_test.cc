// Whether a checkpoint fits: names, shapes, types and aliases, and messages of bounded length.
#include "checkpoints/fit.h"

#include <gtest/gtest.h>

namespace headwater {
namespace {

TrainState state_of(std::vector<NamedTensor> parameters) {
  TrainState state;
  state.parameters = std::move(parameters);
  return state;
}

TEST(Fit, AcceptsAModelOfTheSameTensors) {
  TrainState state = state_of({{"a", Tensor(DType::kF32, {2})}, {"b", Tensor(DType::kF32, {3})}});
  state.aliases["tied"] = "a";
  const std::vector<TensorSpec> model = {{"a", DType::kF32, {2}}, {"tied", DType::kF32, {2}}};
  const FitReport report = check_fit(model, state);
  EXPECT_TRUE(report.fits());
  EXPECT_EQ(report.matched, 2);
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"b"});
  EXPECT_TRUE(require_fit(model, state, "checkpoint-1"));
}

TEST(Fit, NamesTensorAndShapes) {
  const TrainState state = state_of({{"words", Tensor(DType::kF32, {96, 16})},
                                     {"bias", Tensor(DType::kF64, {4})},
                                     {"extra", Tensor(DType::kF32, {1})}});
  const std::vector<TensorSpec> model = {
      {"words", DType::kF32, {128, 16}}, {"bias", DType::kF32, {4}}, {"head", DType::kF32, {2}}};
  const auto fit = require_fit(model, state, "run/checkpoint-1");
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().to_string(),
            "run/checkpoint-1 does not fit the model: 2 of another shape: words [96, 16] in the "
            "checkpoint, [128, 16] in the model, bias f64 [4] in the checkpoint, f32 [4] in the "
            "model; 1 missing from the checkpoint: head; 1 not in the model: extra; give the sizes "
            "with which the checkpoint was trained, or another checkpoint");
}

TEST(Fit, BoundsItsMessage) {
  std::vector<TensorSpec> model;
  for (int i = 0; i < 1000; ++i) model.push_back({fmt::format("p{}", i), DType::kF32, {1}});
  const FitReport report = check_fit(model, TrainState{});
  EXPECT_EQ(report.missing.size(), 1000u);
  EXPECT_EQ(report.to_string(),
            "1000 missing from the checkpoint: p0, p1, p2, p3, p4 and 995 more");
}

}  // namespace
}  // namespace headwater
