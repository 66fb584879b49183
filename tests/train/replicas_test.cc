// Data-parallel training: the number of replicas changes nothing but who does the work. XLA on the
// CPU makes the replicas.
#include <gtest/gtest.h>

#include <cmath>

#include "executors/plugins.h"
#include "generate/generator.h"
#include "train/model_trainer.h"
#include "train/trainer.h"

namespace headwater {
namespace {

constexpr double kLearningRate = 1e-3;  // a higher one makes chaos, which magnifies rounding
constexpr int64_t kRows = 8, kLength = 12, kVocabulary = 40, kSlots = 2;

class Replicas : public testing::Test {
 protected:
  void SetUp() override {
    const pjrt::PluginSearch plugins = pjrt::test_plugins();
    const pjrt::FoundPlugin* const cpu = plugins.first("cpu");
    if (cpu == nullptr)
      GTEST_SKIP()
          << "no XLA plugin for the CPU in $HEADWATER_PLUGINS; ./test --with-xla fetches it";
    device_ = "pjrt:" + cpu->path;
  }

  // `replicas` 0: the native executor.
  std::unique_ptr<Executor> executor(int64_t replicas) const {
    return value_or_throw(replicas == 0 ? Executor::open("cpu")
                                        : Executor::open(device_, {.num_replicas = replicas}));
  }

  std::string device_;
};

// --- batches of made-up tokens, of unequal lengths

std::vector<int32_t> random_ids(Key key, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>(5 + key.bits(static_cast<uint64_t>(i)) % (kVocabulary - 5)));
  return ids;
}

std::vector<int32_t> random_mask(Key key) {
  std::vector<int32_t> mask(kRows * kLength, 0);
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t length = 6 + key.bits(static_cast<uint64_t>(row)) % (kLength - 5);
    std::fill_n(mask.begin() + row * kLength, length, 1);
  }
  return mask;
}

PretrainBatch electra_batch(int64_t step) {
  const Key key = Key::from_seed(7).fold_in(static_cast<uint32_t>(step));
  PretrainBatch batch;
  batch.step = step;
  batch.batch_size = batch.real_rows = kRows;
  batch.seq_length = kLength;
  batch.max_predictions = kSlots;
  batch.input_ids = batch.masked_input_ids = random_ids(key, kRows * kLength);
  batch.input_mask = random_mask(key);
  batch.segment_ids.assign(kRows * kLength, 0);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int32_t slot = 0; slot < kSlots; ++slot) {
      const int32_t position = 1 + 3 * slot;
      const auto at = static_cast<size_t>(row * kLength + position);
      batch.masked_lm_positions.push_back(position);
      batch.masked_lm_ids.push_back(batch.input_ids[at]);
      batch.masked_lm_weights.push_back(row % 3 == 0 && slot == 1 ? 0.0f : 1.0f);
      batch.masked_input_ids[at] = 4;
    }
  }
  return batch;
}

ModelBatch model_batch(int64_t step, int64_t first = 0, int64_t rows = kRows) {
  const Key key = Key::from_seed(8).fold_in(static_cast<uint32_t>(step));
  const auto part = [&](const std::vector<int32_t>& all) {
    return std::vector<int32_t>(all.begin() + first * kLength,
                                all.begin() + (first + rows) * kLength);
  };
  ModelBatch batch;
  batch.step = step;
  batch.batch_size = rows;
  batch.seq_length = kLength;
  batch.input_ids = part(random_ids(key, kRows * kLength));
  batch.attention_mask = part(random_mask(key));
  return batch;
}

// --- models

TrainerOptions electra_options() {
  TrainerOptions o;
  ElectraConfig& d = o.model.discriminator;
  d.vocab_size = kVocabulary;
  d.embedding_size = 16;
  d.hidden_size = 16;
  d.num_hidden_layers = 1;
  d.num_attention_heads = 2;
  d.intermediate_size = 32;
  d.max_position_embeddings = kLength;
  o.model.generator = d;
  o.model.generator.hidden_size = 8;
  o.model.sizes = {kRows, kLength, kSlots};
  o.seed = 3;
  return o;
}

ModelTrainerOptions gpt2_options() {
  Gpt2Config config;
  config.vocab_size = kVocabulary;
  config.n_positions = kLength;
  config.n_embd = 16;
  config.n_layer = 1;
  config.n_head = 2;
  ModelTrainerOptions o;
  o.model.model = {.architecture = Architecture::kGpt2LMHeadModel, .config = config};
  o.optimizer.kind = OptimizerKind::kAdamWHf;
  o.seed = 3;
  return o;
}

struct Trace {
  std::vector<double> losses, norms;
  TrainState state;
};

template <class Trainer, class MakeBatch>
Trace train(Trainer& trainer, MakeBatch make_batch, int64_t first, int64_t steps) {
  Trace trace;
  typename Trainer::Metrics metrics;
  for (int64_t step = first; step < first + steps; ++step) {
    const auto batches = make_batch(step);
    const auto result = value_or_throw(trainer.step(batches, step, kLearningRate, metrics));
    if constexpr (requires { result.total_loss; }) trace.losses.push_back(result.total_loss);
    else trace.losses.push_back(result.loss);
    trace.norms.push_back(result.grad_norm);
  }
  trace.state = value_or_throw(trainer.state(first + steps));
  return trace;
}

std::vector<PretrainBatch> one_electra(int64_t step) { return {electra_batch(step)}; }
std::vector<ModelBatch> one_model(int64_t step) { return {model_batch(step)}; }

template <class Trainer, class Options>
std::unique_ptr<Trainer> fresh(const Options& options, std::unique_ptr<Executor> executor) {
  auto trainer = value_or_throw(Trainer::create(options, std::move(executor)));
  ok_or_throw(trainer->initialize());
  return trainer;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::fabs(b[i]))) << "step " << i;
}

// --- tests

constexpr int64_t kSteps = 20;

TEST_F(Replicas, ElectraLosesTheSameOnAnyNumberOfThem) {
  const auto run = [&](int64_t replicas) {
    const auto trainer = fresh<Trainer>(electra_options(), executor(replicas));
    return train(*trainer, one_electra, 0, kSteps);
  };
  const Trace one = run(1);
  expect_near(one.losses, run(0).losses, 1e-4);  // the native executor
  for (const int64_t replicas : {2, 4, 8}) {
    SCOPED_TRACE(replicas);
    const Trace many = run(replicas);
    expect_near(many.losses, one.losses, 1e-5);
    expect_near(many.norms, one.norms, 1e-4);
  }
}

TEST_F(Replicas, Gpt2LosesTheSameOnAnyNumberOfThem) {
  const auto run = [&](int64_t replicas) {
    const auto trainer = fresh<ModelTrainer>(gpt2_options(), executor(replicas));
    return train(*trainer, one_model, 0, kSteps);
  };
  const Trace one = run(1);
  expect_near(one.losses, run(0).losses, 1e-4);
  expect_near(run(2).losses, one.losses, 1e-5);
}

TEST_F(Replicas, ARunOfEightGoesOnWithOne) {
  const auto eight = fresh<Trainer>(electra_options(), executor(8));
  const Trace before = train(*eight, one_electra, 0, kSteps / 2);
  const Trace whole = train(*eight, one_electra, kSteps / 2, kSteps / 2);
  for (const int64_t replicas : {0, 1}) {
    SCOPED_TRACE(replicas);
    const auto other = fresh<Trainer>(electra_options(), executor(replicas));
    ok_or_throw(other->load(before.state, /*with_slots=*/true, "a run of eight"));
    const Trace after = train(*other, one_electra, kSteps / 2, kSteps / 2);
    expect_near(after.losses, whole.losses, 1e-4);
  }
}

TEST_F(Replicas, AccumulateWhatTheUndividedBatchGives) {
  ModelTrainerOptions options = gpt2_options();
  std::get<Gpt2Config>(options.model.model.config).embd_pdrop = 0;
  std::get<Gpt2Config>(options.model.model.config).attn_pdrop = 0;
  std::get<Gpt2Config>(options.model.model.config).resid_pdrop = 0;
  const Trace whole = train(*fresh<ModelTrainer>(options, executor(0)), one_model, 0, 4);
  options.accumulation_steps = 2;
  const auto halves = [](int64_t step) {
    return std::vector{model_batch(step, 0, 4), model_batch(step, 4, 4)};
  };
  const Trace parts = train(*fresh<ModelTrainer>(options, executor(2)), halves, 0, 4);
  expect_near(parts.losses, whole.losses, 1e-5);
  expect_near(parts.norms, whole.norms, 1e-4);
}

// One step of plain gradient descent at rate 1 takes the gradient off the weights.
std::vector<std::vector<float>> taken_off(const ModelTrainerOptions& options,
                                          std::unique_ptr<Executor> executor,
                                          const ModelBatch& batch) {
  const auto trainer = fresh<ModelTrainer>(options, std::move(executor));
  const TrainState before = value_or_throw(trainer->state(0));
  ModelMetrics metrics;
  value_or_throw(trainer->step(std::span(&batch, 1), 0, 1.0, metrics));
  const TrainState after = value_or_throw(trainer->state(1));
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < before.parameters.size(); ++i) {
    const auto a = before.parameters[i].tensor.as<float>();
    const auto b = after.parameters[i].tensor.as<float>();
    all.emplace_back();
    for (size_t k = 0; k < a.size(); ++k) all.back().push_back(a[k] - b[k]);
  }
  return all;
}

TEST_F(Replicas, SumOfLocalClipAddsClippedGradientsOfMeans) {
  ModelTrainerOptions options = gpt2_options();
  auto& config = std::get<Gpt2Config>(options.model.model.config);
  config.embd_pdrop = config.attn_pdrop = config.resid_pdrop = 0;
  options.optimizer.kind = OptimizerKind::kSgd;
  options.optimizer.sgd = {.momentum = 0, .nesterov = false, .weight_decay = 0};
  options.optimizer.max_grad_norm = 0.1;  // under the norm of every part
  std::vector<std::vector<float>> sum;
  for (int64_t part = 0; part < 2; ++part) {
    const auto local = taken_off(options, executor(0), model_batch(0, 4 * part, 4));
    if (part == 0) sum = local;
    else
      for (size_t i = 0; i < sum.size(); ++i)
        for (size_t k = 0; k < sum[i].size(); ++k) sum[i][k] += local[i][k];
  }
  options.gradient_sync = GradientSync::kSumOfLocalClip;
  const auto both = taken_off(options, executor(2), model_batch(0));
  double off = 0, size = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    for (size_t k = 0; k < sum[i].size(); ++k) {
      off = std::max(off, std::fabs(static_cast<double>(both[i][k]) - sum[i][k]));
      size += static_cast<double>(sum[i][k]) * sum[i][k];
    }
  }
  EXPECT_LT(off, 1e-6);
  EXPECT_GT(std::sqrt(size), 0.1);  // more than one clipped gradient
}

// The samples of a training run are made by one replica's rows.
TEST_F(Replicas, GenerateWhatOneGenerates) {
  const std::vector<int32_t> prompt = {7, 9, 11};
  const auto logits = [&](int64_t replicas) {
    const auto trainer = fresh<ModelTrainer>(gpt2_options(), executor(replicas));
    const auto generator = value_or_throw(Generator::create(
        gpt2_options().model.model, trainer->executor(), trainer->store(), {.batch_size = 2}));
    value_or_throw(generator->start(prompt));
    return value_or_throw(generator->extend(std::vector<int32_t>{5, 6}));
  };
  const Tensor one = logits(0), four = logits(4);
  ASSERT_EQ(four.shape(), (Shape{2, kVocabulary}));
  for (size_t i = 0; i < one.as<float>().size(); ++i)
    EXPECT_NEAR(four.as<float>()[i], one.as<float>()[i], 1e-5) << i;
}

TEST_F(Replicas, ABatchThatCannotBeDealtIsAnError) {
  const auto trainer = fresh<ModelTrainer>(gpt2_options(), executor(4));
  ModelMetrics metrics;
  const ModelBatch six = model_batch(0, 0, 6);
  const auto step = trainer->step(std::span(&six, 1), 0, 0.01, metrics);
  ASSERT_FALSE(step);
  EXPECT_NE(step.error().to_string().find("6 rows cannot be dealt to 4"), std::string::npos);
  EXPECT_FALSE(trainer->evaluate(six, metrics));
}

TEST(GradientSync, LocalClipDoesNotAccumulate) {
  ModelTrainerOptions options = gpt2_options();
  options.gradient_sync = GradientSync::kSumOfLocalClip;
  options.accumulation_steps = 2;
  EXPECT_FALSE(ModelTrainer::create(options, value_or_throw(Executor::open("cpu"))));
  for (const std::string_view name : kGradientSyncNames)
    EXPECT_EQ(kGradientSyncNames[static_cast<size_t>(gradient_sync_of(name))], name);
}

}  // namespace
}  // namespace headwater
