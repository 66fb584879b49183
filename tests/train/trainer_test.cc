// The trainer on its own: a step over several batches equals the undivided one.
#include "train/trainer.h"

#include <cmath>

#include "train/schedule.h"
#include "train/small_run.h"

namespace headwater {
namespace {

class TrainerTest : public SmallRun {
 protected:
  TrainerOptions options(int64_t batch_size, int64_t accumulation_steps) const {
    TrainerOptions o;
    ElectraConfig& d = o.model.discriminator;
    d.vocab_size = kVocabulary;
    d.embedding_size = 16;
    d.hidden_size = 32;
    d.num_hidden_layers = 2;
    d.num_attention_heads = 4;
    d.intermediate_size = 64;
    d.max_position_embeddings = 24;
    d.hidden_dropout_prob = d.attention_probs_dropout_prob = 0;
    o.model.generator = d;
    o.model.generator.hidden_size = 16;
    // The samples hang on the place of a row in its batch; with temperature near 0 they are the
    // best guess.
    o.model.objective.temperature = 1e-6;
    o.model.sizes = {batch_size, kLength, 2};
    o.accumulation_steps = accumulation_steps;
    o.seed = 3;
    return o;
  }

  std::vector<PretrainBatch> batches(int64_t batch_size, int64_t count) {
    PipelineOptions p;
    p.records = path("data.tfrecord");
    p.batch_size = batch_size;
    p.max_seq_length = kLength;
    p.max_predictions = 2;
    p.vocab_size = kVocabulary;
    auto pipeline = PretrainPipeline::open(local_files(), p, SpecialIds{0, 1, 2, 3, 4});
    EXPECT_TRUE(pipeline) << pipeline.error().to_string();
    std::vector<PretrainBatch> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(*(*pipeline)->next());
    return all;
  }

  // Rows [first, first + rows) of a batch.
  static PretrainBatch part(const PretrainBatch& whole, int64_t first, int64_t rows) {
    PretrainBatch p = whole;
    p.batch_size = p.real_rows = rows;
    const auto cut = [&](auto& values, int64_t width) {
      const auto begin = values.begin() + first * width;
      values = {begin, begin + rows * width};
    };
    for (auto* tokens : {&p.input_ids, &p.input_mask, &p.segment_ids, &p.masked_input_ids}) {
      cut(*tokens, whole.seq_length);
    }
    cut(p.masked_lm_positions, whole.max_predictions);
    cut(p.masked_lm_ids, whole.max_predictions);
    cut(p.masked_lm_weights, whole.max_predictions);
    return p;
  }

  static std::unique_ptr<Trainer> make(const TrainerOptions& o) {
    auto trainer = Trainer::create(o, std::move(*Executor::open("cpu")));
    EXPECT_TRUE(trainer) << trainer.error().to_string();
    EXPECT_TRUE((*trainer)->initialize());
    return std::move(*trainer);
  }
};

// Parts of unequal weight: the records differ in length (cases: gradient accumulation with unequal
// lengths).
TEST_F(TrainerTest, AccumulatedStepEqualsUndividedOne) {
  const auto whole = make(options(12, 1));
  const auto divided = make(options(4, 3));
  ElectraMetrics metrics;
  int64_t step = 0;
  for (const PretrainBatch& batch : batches(12, 3)) {
    const std::vector<PretrainBatch> parts = {part(batch, 0, 4), part(batch, 4, 4),
                                              part(batch, 8, 4)};
    const auto a = whole->step(std::span(&batch, 1), step, 1e-3, metrics);
    const auto b = divided->step(parts, step, 1e-3, metrics);
    ASSERT_TRUE(a && b);
    EXPECT_NEAR(a->mlm_loss, b->mlm_loss, 1e-5 * a->mlm_loss);
    EXPECT_NEAR(*a->disc_loss, *b->disc_loss, 1e-5 * *a->disc_loss);
    EXPECT_NEAR(a->grad_norm, b->grad_norm, 1e-4 * a->grad_norm);
    ++step;
  }
  const TrainState x = *whole->state(step), y = *divided->state(step);
  for (size_t i = 0; i < x.parameters.size(); ++i) {
    for (int64_t k = 0; k < x.parameters[i].tensor.size(); ++k) {
      const auto at = static_cast<size_t>(k);
      // Adam divides a gradient by its own size: where that is rounding only (biases of the keys),
      // the update is too.
      if (x.parameters[i].name.find("key.bias") != std::string::npos) continue;
      ASSERT_NEAR(x.parameters[i].tensor.as<float>()[at], y.parameters[i].tensor.as<float>()[at],
                  2e-4)
          << x.parameters[i].name;
    }
  }
}

// The largest root mean square of an update over the rate that the plain schedule has at its step,
// in the first 50 steps after a start late in a schedule, without moments.
double largest_update(Trainer& trainer, const std::vector<PretrainBatch>& batches,
                      const Schedule& schedule, int64_t begin) {
  Schedule plain = schedule;
  plain.restart.kind = Restart::Kind::kNone;
  ElectraMetrics metrics;
  double largest = 0;
  TrainState before = *trainer.state(begin);
  for (int64_t t = 0; t < 50; ++t) {
    const std::span batch(&batches[static_cast<size_t>(t) % batches.size()], 1);
    EXPECT_TRUE(trainer.step(batch, begin + t, schedule.rate(begin + t), metrics));
    TrainState after = *trainer.state(begin + t + 1);
    double sum = 0, count = 0;
    for (size_t i = 0; i < after.parameters.size(); ++i) {
      const auto a = before.parameters[i].tensor.as<float>();
      const auto b = after.parameters[i].tensor.as<float>();
      for (size_t k = 0; k < a.size(); ++k) {
        sum += std::pow(static_cast<double>(b[k]) - static_cast<double>(a[k]), 2);
      }
      count += static_cast<double>(a.size());
    }
    largest = std::max(largest, std::sqrt(sum / count) / plain.rate(begin + t));
    before = std::move(after);
  }
  return largest;
}

TEST_F(TrainerTest, FirstUpdatesWithoutMomentsStayBounded) {
  const auto data = batches(8, 7);
  const auto first = make(options(8, 1));
  ElectraMetrics metrics;
  for (int64_t step = 0; step < 60; ++step) {
    ASSERT_TRUE(
        first->step(std::span(&data[static_cast<size_t>(step) % 7], 1), step, 2e-3, metrics));
  }
  const TrainState weights = *first->state(60);
  const auto largest = [&](Restart::Kind kind) {
    const auto trainer = make(options(8, 1));
    EXPECT_TRUE(trainer->load(weights, /*with_slots=*/false, "test"));
    Schedule schedule{.peak = 1e-4, .warmup_steps = 10, .total_steps = 10000};
    schedule.restart = {.kind = kind, .from_step = 1000, .rewarm_steps = 1000};
    return largest_update(*trainer, data, schedule, 1000);
  };
  EXPECT_LT(largest(Restart::Kind::kRewarm), 1.5);
  EXPECT_LT(largest(Restart::Kind::kBiasCorrect), 1.5);
  EXPECT_GT(largest(Restart::Kind::kNone), 1.5);  // what they are for
}

TEST_F(TrainerTest, WeightsFollowFromTheSeed) {
  TrainerOptions o = options(4, 1);
  const TrainState a = *make(o)->state(0), b = *make(o)->state(0);
  o.seed = 4;
  const TrainState c = *make(o)->state(0);
  expect_same_tensors(a.parameters, b.parameters);
  EXPECT_FALSE(std::ranges::equal(a.parameters[0].tensor.bytes(), c.parameters[0].tensor.bytes()));
  // Truncated normal: nothing beyond two standard deviations of 0.02; the spread is that of the cut
  // distribution, 0.0176.
  double sum = 0;
  for (const float x : a.parameters[0].tensor.as<float>()) {
    EXPECT_LE(std::fabs(x), 0.04f);
    sum += static_cast<double>(x) * x;
  }
  EXPECT_NEAR(std::sqrt(sum / static_cast<double>(a.parameters[0].tensor.size())), 0.0176, 0.0015);
}

TEST_F(TrainerTest, EvaluationDoesNotTrain) {
  const auto trainer = make(options(4, 1));
  const TrainState before = *trainer->state(0);
  ElectraMetrics metrics;
  ASSERT_TRUE(trainer->evaluate(batches(4, 1)[0], metrics));
  ASSERT_TRUE(trainer->evaluate(batches(2, 1)[0], metrics));  // batches of any size
  expect_same_tensors(before.parameters, trainer->state(0)->parameters);
}

}  // namespace
}  // namespace headwater
