// Statistics, differences and averages of weights, and the conversions of elements under them.
#include "checkpoints/weights_report.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "checkpoints/element_values.h"
#include "checkpoints/safetensors.h"
#include "weights_testing.h"

namespace headwater {
namespace {

std::span<const uint8_t> bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
}

double decoded(ElementType type, uint16_t bits) {
  double value = 0;
  decode_values(type, {reinterpret_cast<const uint8_t*>(&bits), 2}, {&value, 1});
  return value;
}

uint16_t encoded(ElementType type, double value) {
  uint16_t bits = 0;
  encode_values(type, {&value, 1}, {reinterpret_cast<uint8_t*>(&bits), 2});
  return bits;
}

TEST(ElementValues, EveryHalfAndBfloatComesBack) {
  for (const ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = decoded(type, static_cast<uint16_t>(bits));
      ASSERT_TRUE(std::isnan(value) || encoded(type, value) == bits) << bits;
    }
  }
  EXPECT_EQ(decoded(ElementType::kF16, 0x3c00), 1.0);
  EXPECT_EQ(decoded(ElementType::kF16, 0x0001), 0x1p-24);
  EXPECT_EQ(decoded(ElementType::kF16, 0x7bff), 65504.0);
  EXPECT_EQ(decoded(ElementType::kBF16, 0xc020), -2.5);
}

// Between two neighbours the nearer one, and the even one from the middle.
TEST(ElementValues, RoundsToTheNearestEven) {
  for (const ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    for (uint16_t bits = 1; bits < 0x7b00; bits = static_cast<uint16_t>(bits + 7)) {
      const double low = decoded(type, bits), high = decoded(type, bits + 1);
      const uint16_t even = bits % 2 == 0 ? bits : bits + 1;
      ASSERT_EQ(encoded(type, (low + high) / 2), even) << bits;
      ASSERT_EQ(encoded(type, low + (high - low) * 0.499), bits);
      ASSERT_EQ(encoded(type, low + (high - low) * 0.501), bits + 1);
      // A hair off the middle, which a rounding to float on the way would lose.
      ASSERT_EQ(encoded(type, std::nextafter((low + high) / 2, high)), bits + 1) << bits;
      ASSERT_EQ(encoded(type, std::nextafter((low + high) / 2, low)), bits) << bits;
    }
  }
  EXPECT_EQ(encoded(ElementType::kF16, 65519.9), 0x7bff);
  EXPECT_EQ(encoded(ElementType::kF16, 65520), 0x7c00);
  EXPECT_EQ(encoded(ElementType::kBF16, -INFINITY), 0xff80);
}

RC_GTEST_PROP(ValueStats, AreThoseOfTheDefinition, ()) {
  const auto few = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-50, 50));
  std::vector<float> values;
  const auto repeats = *rc::gen::element(1, 700);  // over the size of a chunk
  for (int r = 0; r < repeats; ++r)
    for (const int v : few) values.push_back(static_cast<float>(v) + 100);
  const ValueStats stats = value_stats(ElementType::kF32, bytes_of(values));
  double sum = 0, around = 0, norm = 0;
  for (const float v : values) sum += v, norm += double{v} * v;
  const double n = static_cast<double>(values.size()), mean = values.empty() ? 0 : sum / n;
  for (const float v : values) around += (v - mean) * (v - mean);
  RC_ASSERT(stats.count == static_cast<int64_t>(values.size()));
  RC_ASSERT(std::fabs(stats.mean - mean) < 1e-9);
  RC_ASSERT(std::fabs(stats.norm - std::sqrt(norm)) < 1e-6);
  if (values.empty()) return;
  RC_ASSERT(std::fabs(stats.deviation - std::sqrt(around / n)) < 1e-9);
  RC_ASSERT(stats.minimum == *std::min_element(values.begin(), values.end()));
  RC_ASSERT(stats.maximum == *std::max_element(values.begin(), values.end()));
}

TEST(ValueStats, CountsWhatIsNoNumber) {
  const std::vector<float> values = {NAN, 1, -INFINITY, 0, 3, NAN};
  const ValueStats stats = value_stats(ElementType::kF32, bytes_of(values));
  EXPECT_EQ(stats.not_a_number, 2);
  EXPECT_EQ(stats.infinite, 1);
  EXPECT_EQ(stats.zeros, 1);
  EXPECT_EQ(stats.minimum, 0);
  EXPECT_EQ(stats.maximum, 3);
  EXPECT_NEAR(stats.mean, 4.0 / 3, 1e-12);
}

class Reports : public testing::Test {
 protected:
  using Tensors = std::vector<std::pair<std::string, Tensor>>;

  std::unique_ptr<WeightsSource> put(const std::string& path, const Tensors& tensors) {
    std::vector<TensorView> views;
    for (const auto& [name, tensor] : tensors) views.push_back(TensorView::of(name, tensor));
    EXPECT_TRUE(fs_.make_directories(directory_name(path)));
    EXPECT_TRUE(write_safetensors_file(fs_, path, views));
    auto source = open_weights(fs_, path);
    EXPECT_TRUE(source) << source.error().to_string();
    return source ? *std::move(source) : nullptr;
  }
  static Tensor f32(const std::vector<float>& values, Shape shape = {}) {
    if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
    return Tensor::f32(std::move(shape), values);
  }

  MemoryFileSystem fs_;
};

TEST_F(Reports, DiffTellsEveryKind) {
  const auto a = put("a", {{"same", f32({1, NAN})},
                           {"lost", f32({1})},
                           {"moved", f32({1, 2, 3, 4}, {2, 2})},
                           {"small", f32({1, 2})},
                           {"shape", f32({1, 2})},
                           {"same#adam_m", f32({0, 1})}});
  const auto b = put("b", {{"same", f32({1, NAN})},
                           {"new", f32({1})},
                           {"moved", f32({1, 2, 3, 9}, {2, 2})},
                           {"small", f32({1, 2.5f})},
                           {"shape", f32({1, 2, 3})}});
  const auto report = diff_weights(*a, *b, {});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->same());
  EXPECT_EQ(report->equal, 1);
  ASSERT_EQ(report->only_a.size(), 1u);
  EXPECT_EQ(report->only_a[0].name, "lost");
  ASSERT_EQ(report->only_b.size(), 1u);
  EXPECT_EQ(report->only_b[0].name, "new");
  ASSERT_EQ(report->reshaped.size(), 1u);
  EXPECT_EQ(report->reshaped[0].name, "shape");
  ASSERT_EQ(report->changed.size(), 2u);
  EXPECT_EQ(report->changed[0].name, "moved");
  EXPECT_EQ(report->changed[0].largest, 5);
  EXPECT_EQ(report->changed[0].where, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(report->changed[1].differing, 1);
  EXPECT_EQ(report->slots_a, 1);
  EXPECT_EQ(diff_weights(*a, *b, {.tolerance = 0.5})->changed.size(), 1u);
  EXPECT_EQ(diff_weights(*a, *b, {.slots = true})->only_a.size(), 2u);
  EXPECT_TRUE(diff_weights(*a, *a, {.slots = true})->same());
}

TEST_F(Reports, DiffComparesFormatsAndTypes) {
  const auto torch = open_weights(local_files(), golden_path("torch/pytorch_model.bin"));
  const auto old = open_weights(local_files(), golden_path("torch/legacy_model.bin"));
  const auto safe = open_weights(local_files(), golden_path("torch/model.safetensors"));
  EXPECT_TRUE(diff_weights(**torch, **old, {})->same());
  const auto report = diff_weights(**torch, **safe, {});
  EXPECT_TRUE(report->same());
  EXPECT_EQ(report->tied_names, 1);  // safetensors stores tied tensors once
  EXPECT_EQ(diff_weights(**safe, **torch, {})->tied_names, 1);

  Tensor bf16(DType::kBF16, {2});
  const uint16_t bits[] = {0x3f80, 0xc020};  // 1, -2.5
  std::memcpy(bf16.data(), bits, 4);
  const auto a = put("a", {{"x", bf16}}), b = put("b", {{"x", f32({1, -2.5f})}});
  EXPECT_TRUE(diff_weights(*a, *b, {})->same());
  const auto c = put("c", {{"x", f32({1, NAN})}});
  EXPECT_TRUE(std::isinf(diff_weights(*a, *c, {})->changed.at(0).largest));
}

TEST_F(Reports, AveragesFloatsAndTakesTheRestFromTheLast) {
  std::vector<std::unique_ptr<WeightsSource>> sources;
  const int32_t one[] = {1}, two[] = {2};
  Tensor half_a(DType::kF16, {1}), half_b(DType::kF16, {1});
  half_a.as<uint16_t>()[0] = 0x3c00, half_b.as<uint16_t>()[0] = 0x4000;  // 1, 2
  sources.push_back(put("a", {{"w", f32({1, 2})},
                              {"h", half_a},
                              {"n", Tensor::i32({1}, one)},
                              {"w#adam_m", f32({1, 2})}}));
  sources.push_back(put("b", {{"w", f32({2, 4})}, {"h", half_b}, {"n", Tensor::i32({1}, two)}}));
  const auto plan = plan_average(sources);
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->averaged, 2);
  EXPECT_EQ(plan->taken_from_last, 1);
  EXPECT_EQ(plan->slots_left_out, 1);
  ASSERT_TRUE(write_average(fs_, sources, *plan, "mean"));
  const auto mean = read_safetensors_map(fs_, "mean");
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->size(), 3u);
  EXPECT_EQ(mean->at("w").as<float>()[1], 3.0f);
  EXPECT_EQ(mean->at("h").as<uint16_t>()[0], 0x3e00);  // 1.5
  EXPECT_EQ(mean->at("n").as<int32_t>()[0], 2);
}

TEST_F(Reports, AveragesOfDifferentModelsAreRefused) {
  std::vector<std::unique_ptr<WeightsSource>> sources;
  const auto error = [&](const Tensors& a, const Tensors& b) {
    sources.clear();
    sources.push_back(put("a", a));
    sources.push_back(put("b", b));
    const auto plan = plan_average(sources);
    return plan ? "no error" : plan.error().to_string();
  };
  EXPECT_EQ(error({{"w", f32({1})}}, {{"w", f32({1, 2})}}),
            "'w' is f32 [1] in a, and f32 [2] in b");
  EXPECT_EQ(error({{"w", f32({1})}, {"v", f32({1})}}, {{"w", f32({1})}}),
            "'v' is in a, but not in b");
  EXPECT_EQ(error({{"w", f32({1})}}, {{"w", f32({1})}, {"v", f32({1})}}),
            "'v' is in b, but not in a");
}

// The mean of copies is the copy, bit for bit, for any bytes that are numbers.
RC_GTEST_FIXTURE_PROP(Reports, TheMeanOfCopiesIsTheCopy, (const std::vector<float>& values)) {
  std::vector<std::unique_ptr<WeightsSource>> sources;
  for (const char* path : {"a", "b", "c", "d"}) sources.push_back(put(path, {{"w", f32(values)}}));
  const auto plan = plan_average(sources);
  RC_ASSERT(plan.has_value());
  const auto mean = average_tensor(sources, plan->entries.at(0));
  RC_ASSERT(mean.has_value());
  RC_ASSERT(text_of(mean->bytes()) == text_of(bytes_of(values)));
}

}  // namespace
}  // namespace headwater
