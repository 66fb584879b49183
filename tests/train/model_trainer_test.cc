// Training of models by their architecture: three AdamW steps of transformers' models, padding,
// accumulation, label smoothing, averages, and what is refused.
#include "train/model_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/model_run.h"
#include "train/golden.h"

namespace headwater {
namespace {

std::string folder_of(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/models/" + name;
}

Model read_model(const std::string& name) {
  const auto config = load_golden("models/" + name + "/config.json");
  return *Model::from_hf_json(config, name);
}

TensorMap read_tensors(const std::string& name, const std::string& file) {
  auto tensors = read_safetensors_map(local_files(), folder_of(name) + "/" + file);
  EXPECT_TRUE(tensors) << tensors.error().to_string();
  return *std::move(tensors);
}

std::vector<int32_t> ints(const TensorMap& tensors, const std::string& name) {
  std::vector<int32_t> values;
  const auto found = tensors.find("input/" + name);
  if (found == tensors.end() || found->second.dtype() != DType::kI64) return values;
  for (const int64_t v : found->second.as<int64_t>()) values.push_back(static_cast<int32_t>(v));
  return values;
}

// The batch that a model's reference was recorded on.
ModelBatch recorded_batch(const TensorMap& reference) {
  ModelBatch batch;
  const Shape& shape = reference.at("input/input_ids").shape();
  batch.batch_size = shape[0];
  batch.seq_length = shape[1];
  batch.input_ids = ints(reference, "input_ids");
  batch.attention_mask = ints(reference, "attention_mask");
  batch.token_type_ids = ints(reference, "token_type_ids");
  batch.labels = ints(reference, "labels");
  batch.next_sentence_labels = ints(reference, "next_sentence_label");
  const Tensor& labels = reference.at("input/labels");
  if (labels.dtype() == DType::kF32)
    batch.label_values.assign(labels.as<float>().begin(), labels.as<float>().end());
  return batch;
}

TrainState recorded_weights(const TensorMap& reference) {
  TrainState state;
  for (const auto& [name, tensor] : reference) {
    if (name.starts_with("model/")) state.parameters.push_back({name.substr(6), tensor});
  }
  return state;
}

void remove_dropout(Model& model) {
  if (auto* bert = std::get_if<BertConfig>(&model.config))
    bert->hidden_dropout_prob = bert->attention_probs_dropout_prob = 0;
  if (auto* electra = std::get_if<ElectraConfig>(&model.config))
    electra->hidden_dropout_prob = electra->attention_probs_dropout_prob = 0;
  if (auto* gpt2 = std::get_if<Gpt2Config>(&model.config))
    gpt2->embd_pdrop = gpt2->attn_pdrop = gpt2->resid_pdrop = 0;
  model.classifier.dropout = 0;
}

// A trainer of a recorded model, dropout off, with the recorded optimizer.
class Recorded {
 public:
  explicit Recorded(const std::string& name)
      : reference(read_tensors(name, "reference.safetensors")) {
    set_num_threads(1);
    options.model.model = read_model(name);
    remove_dropout(options.model.model);
    options.model.objective = *default_objective(options.model.model.architecture);
    options.optimizer = find_optimizer("adamw-hf")->options;
    options.optimizer.adam.weight_decay = 0.01;
    options.optimizer.max_grad_norm = 0;
    batch = recorded_batch(reference);
  }

  std::unique_ptr<ModelTrainer> make() const {
    auto trainer = ModelTrainer::create(options, *Executor::open("cpu"));
    EXPECT_TRUE(trainer) << trainer.error().to_string();
    EXPECT_TRUE((*trainer)->load(recorded_weights(reference), false, "reference"));
    return *std::move(trainer);
  }

  TensorMap reference;
  ModelTrainerOptions options;
  ModelBatch batch;
  ModelMetrics metrics;
};

double step_loss(ModelTrainer& trainer, const ModelBatch& batch, int64_t step, double rate = 1e-3) {
  ModelMetrics metrics;
  const auto result = trainer.step(std::span(&batch, 1), step, rate, metrics);
  EXPECT_TRUE(result) << result.error().to_string();
  return result ? result->loss : 0;
}

// A bias of the keys moves all scores of a row alike: its gradient is rounding, and Adam makes
// steps of its sign.
bool has_no_gradient(const std::string& name) { return name.ends_with("key.bias"); }

// In GPT-2 that is the middle third of one bias.
Tensor without_key_bias(const std::string& name, const Tensor& tensor) {
  Tensor copy = tensor;
  if (!name.ends_with("c_attn.bias")) return copy;
  const auto third = copy.as<float>().size() / 3;
  for (size_t i = third; i < 2 * third; ++i) copy.as<float>()[i] = 0;
  return copy;
}

class ThreeSteps : public testing::TestWithParam<const char*> {};

TEST_P(ThreeSteps, EqualPyTorch) {
  const Recorded recorded(GetParam());
  const TensorMap after = read_tensors(GetParam(), "adamw3.safetensors");
  const auto losses = after.at("adamw_losses").as<double>();
  const auto trainer = recorded.make();
  for (int64_t step = 0; step < 3; ++step) {
    const double expected = losses[static_cast<size_t>(step)];
    EXPECT_NEAR(step_loss(*trainer, recorded.batch, step), expected, 1e-5 * expected);
  }
  ModelMetrics metrics(recorded.options.model.objective);
  ASSERT_TRUE(trainer->evaluate(recorded.batch, metrics));
  const auto values = metrics.values();
  double last = 0;
  for (const auto& [name, value] : values) last += name.ends_with("loss") ? value : 0;
  EXPECT_NEAR(last, losses[3], 1e-5 * losses[3]);
  const TrainState state = *trainer->state(3);
  for (const NamedTensor& parameter : state.parameters) {
    if (has_no_gradient(parameter.name)) continue;
    const Tensor expected = without_key_bias(parameter.name, after.at("adamw3/" + parameter.name));
    const Tensor found = without_key_bias(parameter.name, parameter.tensor);
    EXPECT_LT(relative_error(found.as<float>(), expected.as<float>()), 1e-5) << parameter.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, ThreeSteps,
                         testing::Values("bert_mlm", "bert_pretraining", "gpt2_lm",
                                         "electra_small_disc", "electra_base_disc",
                                         "electra_small_gen", "electra_base_gen",
                                         "electra_seqcls_multilabel"),
                         [](const auto& test) { return std::string(test.param); });

// The batch with `columns` more places of padding and `rows` more rows of it, which hold anything.
ModelBatch padded(const ModelBatch& batch, int64_t columns, int64_t rows) {
  ModelBatch wide = batch;
  wide.batch_size += rows;
  wide.seq_length += columns;
  const auto b = static_cast<size_t>(batch.batch_size), t = static_cast<size_t>(batch.seq_length);
  const auto widen = [&](std::vector<int32_t>& values, int32_t fill) {
    if (values.size() != b * t) return;
    std::vector<int32_t> result(static_cast<size_t>(wide.batch_size * wide.seq_length), fill);
    for (size_t row = 0; row < b; ++row) {
      std::copy_n(values.begin() + static_cast<int64_t>(row * t), t,
                  result.begin() + static_cast<int64_t>(row) * wide.seq_length);
    }
    values = result;
  };
  widen(wide.input_ids, 7);
  widen(wide.attention_mask, 0);
  widen(wide.token_type_ids, 1);
  widen(wide.labels, 1);  // not even labels of padding count
  const auto more = static_cast<size_t>(rows);
  if (!wide.next_sentence_labels.empty()) wide.next_sentence_labels.resize(b + more, -100);
  if (wide.label_values.size() > 0)
    wide.label_values.resize(wide.label_values.size() / b * (b + more), 1.0f);
  return wide;
}

struct Gradients {
  double loss = 0;
  std::map<std::string, Tensor> by_name;
};

Gradients gradients_on(const Recorded& recorded, const ModelBatch& batch) {
  const ModelTask task(recorded.options);
  EXPECT_TRUE(task.check(batch)) << task.check(batch).error().to_string();
  Graph graph;
  const auto built =
      build_gradient_graph(model_step(recorded.options.model, task.shape(batch)), graph);
  EXPECT_TRUE(built) << built.error().to_string();
  const auto executor = *Executor::open("cpu");
  const auto store = executor->make_store();
  for (const auto& [name, tensor] : recorded.reference) {
    if (!name.starts_with("model/")) continue;
    EXPECT_TRUE(store->set(name.substr(6), tensor));
  }
  const auto program = *executor->compile(graph, *store);
  EXPECT_TRUE(task.feed(*program, batch));
  EXPECT_TRUE(program->run());
  Gradients result{*fetch_scalar(*program, "loss"), {}};
  for (const Parameter& p : built->parameters)
    result.by_name.emplace(p.name, *program->fetch("grad/" + p.name));
  return result;
}

TEST(ModelStep, MorePaddingChangesNothing) {
  for (const char* name : {"gpt2_lm", "bert_mlm", "bert_pretraining", "electra_small_disc",
                           "electra_seqcls_multilabel"}) {
    const Recorded recorded(name);
    const Gradients narrow = gradients_on(recorded, recorded.batch);
    double norm = 0;
    for (const auto& [parameter, g] : narrow.by_name)
      for (const float x : g.as<float>()) norm += double{x} * x;
    norm = std::sqrt(norm);
    for (const auto& [columns, rows] : {std::pair(1, 0), std::pair(8, 0), std::pair(5, 2)}) {
      const Gradients wide = gradients_on(recorded, padded(recorded.batch, columns, rows));
      EXPECT_NEAR(wide.loss, narrow.loss, 1e-6 * narrow.loss) << name;
      for (const auto& [parameter, g] : narrow.by_name) {
        const auto found = wide.by_name.at(parameter).as<float>();
        for (size_t i = 0; i < found.size(); ++i)
          ASSERT_NEAR(found[i], g.as<float>()[i], 2e-6 * norm) << name << " " << parameter;
      }
    }
  }
}

// The rows of 16, 11 and 7 tokens as two of 20: the first, and the others one behind the other.
ModelBatch packed(const ModelBatch& batch) {
  constexpr int64_t kWidth = 20;
  const auto t = batch.seq_length;
  ModelBatch result;
  result.batch_size = 2;
  result.seq_length = kWidth;
  const auto place = [&](const std::vector<int32_t>& from, std::vector<int32_t>& to, int32_t fill) {
    if (from.empty()) return;
    to.assign(2 * kWidth, fill);
    std::copy_n(from.begin(), 16, to.begin());
    std::copy_n(from.begin() + t, 11, to.begin() + kWidth);
    std::copy_n(from.begin() + 2 * t, 7, to.begin() + kWidth + 11);
  };
  place(batch.input_ids, result.input_ids, 7);
  place(batch.token_type_ids, result.token_type_ids, 1);
  place(batch.labels, result.labels, 1);  // not even labels of padding count
  const auto rows = static_cast<size_t>(batch.batch_size);
  std::vector<int32_t> documents(rows * static_cast<size_t>(t), 1);
  std::fill(documents.begin() + 2 * t, documents.end(), 2);
  place(documents, result.document_ids, 0);
  return result;
}

TEST(ModelStep, PackedRowsAreTheirDocuments) {
  for (const char* name : {"gpt2_lm", "bert_mlm", "electra_small_disc", "electra_small_gen"}) {
    const Recorded recorded(name);
    const ModelBatch row = packed(recorded.batch);
    EXPECT_EQ(row.tokens(), 16 + 11 + 7);
    const Gradients apart = gradients_on(recorded, recorded.batch),
                    together = gradients_on(recorded, row);
    EXPECT_NEAR(together.loss, apart.loss, 1e-5 * apart.loss) << name;
    double norm = 0;
    for (const auto& [parameter, g] : apart.by_name)
      for (const float x : g.as<float>()) norm += double{x} * x;
    norm = std::sqrt(norm);
    for (const auto& [parameter, g] : apart.by_name) {
      const auto found = together.by_name.at(parameter).as<float>();
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], g.as<float>()[i], 2e-6 * norm) << name << " " << parameter;
    }
  }
}

ModelBatch row_of(const ModelBatch& batch, int64_t row, int64_t length) {
  ModelBatch part = batch;
  part.batch_size = 1;
  part.seq_length = length;
  const auto cut = [&](auto& values, int64_t width, int64_t kept) {
    if (values.empty()) return;
    const auto begin = values.begin() + row * width;
    values = {begin, begin + kept};
  };
  for (auto* values : {&part.input_ids, &part.attention_mask, &part.token_type_ids,
                       &part.document_ids, &part.labels})
    cut(*values, batch.seq_length, length);
  cut(part.next_sentence_labels, 1, 1);
  return part;
}

// What the losses are divided by counts no target of another document.
TEST(ModelStep, AccumulationOfPackedRowsEqualsTheUndividedBatch) {
  Recorded recorded("gpt2_lm");
  const auto whole = recorded.make();
  recorded.options.accumulation_steps = 2;
  const auto divided = recorded.make();
  const ModelBatch both = packed(recorded.batch);
  const std::vector<ModelBatch> parts = {row_of(both, 0, 18), row_of(both, 1, 20)};
  ModelMetrics a, b;
  const auto x = whole->step(std::span(&recorded.batch, 1), 0, 1e-3, a);
  const auto y = divided->step(parts, 0, 1e-3, b);
  ASSERT_TRUE(x && y);
  EXPECT_NEAR(x->loss, y->loss, 2e-6 * x->loss);
  EXPECT_NEAR(x->grad_norm, y->grad_norm, 1e-5 * x->grad_norm);
  EXPECT_EQ(a.label_count(), b.label_count());
}

TEST(ModelStep, DocumentsAreChecked) {
  const Recorded recorded("gpt2_lm"), sentences("bert_pretraining");
  const auto error_of = [&](std::vector<int32_t> documents) {
    ModelBatch batch = recorded.batch;
    documents.resize(batch.input_ids.size(), 0);
    batch.document_ids = documents;
    const auto checked = ModelTask(recorded.options).check(batch);
    return checked ? std::string() : checked.error().to_string();
  };
  EXPECT_EQ(error_of({1, 1, 2, 0, 3, 3}), "");
  EXPECT_NE(error_of({1, 1, 2, 1}).find("document_ids has 1 at 3"), std::string::npos);
  EXPECT_NE(error_of({1, 0, 1}).find("document_ids has 1 at 2"), std::string::npos);
  EXPECT_NE(error_of({-1}).find("document_ids has -1 at 0"), std::string::npos);
  ModelBatch batch = recorded.batch;
  batch.document_ids = {1};
  EXPECT_FALSE(ModelTask(recorded.options).check(batch));
  batch = sentences.batch;
  batch.document_ids.assign(batch.input_ids.size(), 1);
  const auto checked = ModelTask(sentences.options).check(batch);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().to_string().find("one thing per row"), std::string::npos);
}

// Rows of 16, 11 and 7 tokens, each in a batch of its own width.
TEST(ModelStep, AccumulationOverWidthsEqualsTheUndividedBatch) {
  for (const char* name : {"gpt2_lm", "bert_pretraining"}) {
    Recorded recorded(name);
    recorded.options.optimizer.max_grad_norm = 0.5;
    const auto whole = recorded.make();
    recorded.options.accumulation_steps = 3;
    const auto divided = recorded.make();
    const ModelBatch& batch = recorded.batch;
    const std::vector<ModelBatch> parts = {row_of(batch, 0, 16), row_of(batch, 1, 11),
                                           row_of(batch, 2, 7)};
    for (int64_t step = 0; step < 2; ++step) {
      ModelMetrics a, b;
      const auto x = whole->step(std::span(&batch, 1), step, 1e-3, a);
      const auto y = divided->step(parts, step, 1e-3, b);
      ASSERT_TRUE(x && y) << name;
      EXPECT_NEAR(x->loss, y->loss, 2e-6 * x->loss);
      EXPECT_NEAR(x->grad_norm, y->grad_norm, 2e-5 * x->grad_norm);
      EXPECT_EQ(a.label_count(), b.label_count());
      EXPECT_NEAR(a.values()[0].second, b.values()[0].second, 1e-5);
    }
    const TrainState x = *whole->state(2), y = *divided->state(2);
    for (size_t i = 0; i < x.parameters.size(); ++i) {
      const std::string& parameter = x.parameters[i].name;
      if (has_no_gradient(parameter)) continue;
      const Tensor p = without_key_bias(parameter, x.parameters[i].tensor);
      const Tensor q = without_key_bias(parameter, y.parameters[i].tensor);
      EXPECT_LT(relative_error(p.as<float>(), q.as<float>()), 2e-5) << parameter;
    }
  }
}

// transformers' LabelSmoother: (1 - e) loss of the label + e mean loss of all classes.
TEST(ModelStep, LabelSmoothingIsThatOfTransformers) {
  Recorded recorded("bert_mlm");
  const double plain = gradients_on(recorded, recorded.batch).loss;
  recorded.options.model.label_smoothing = 0.1;
  const double smoothed = gradients_on(recorded, recorded.batch).loss;
  const auto logits = recorded.reference.at("output/logits").as<float>();
  const auto classes = static_cast<size_t>(recorded.options.model.model.vocab_size());
  double sum = 0, count = 0;
  for (size_t i = 0; i < recorded.batch.labels.size(); ++i) {
    if (recorded.batch.labels[i] < 0) continue;
    const auto row = logits.subspan(i * classes, classes);
    double total = 0, mean = 0;
    for (const float x : row) total += std::exp(double{x}), mean += double{x} / classes;
    sum += std::log(total) - mean;
    ++count;
  }
  EXPECT_NEAR(smoothed, 0.9 * plain + 0.1 * sum / count, 1e-5 * plain);
  // It is trained, not reported.
  ModelMetrics metrics(Objective::kMlm);
  ASSERT_TRUE(recorded.make()->evaluate(recorded.batch, metrics));
  EXPECT_NEAR(metrics.values()[0].second, plain, 1e-5 * plain);
}

TEST(ModelStep, HeadsWithoutALossAndFrozenLayersStay) {
  Recorded recorded("bert_pretraining");
  recorded.options.model.objective = Objective::kMlm;
  recorded.options.model.frozen = {"bert.encoder.layer.0."};
  recorded.batch.next_sentence_labels.clear();
  const auto trainer = recorded.make();
  step_loss(*trainer, recorded.batch, 0);
  int64_t moved = 0;
  const TrainState state = *trainer->state(1);
  for (const NamedTensor& parameter : state.parameters) {
    const Tensor& before = recorded.reference.at("model/" + parameter.name);
    const bool same = std::ranges::equal(parameter.tensor.bytes(), before.bytes());
    const bool stays = parameter.name.starts_with("bert.encoder.layer.0.") ||
                       parameter.name.starts_with("bert.pooler") ||
                       parameter.name.starts_with("cls.seq_relationship");
    EXPECT_EQ(same, stays) << parameter.name;
    moved += same ? 0 : 1;
  }
  EXPECT_GT(moved, 10);
}

TEST(ModelStep, MovingAveragesAreEvaluated) {
  Recorded recorded("gpt2_lm");
  recorded.options.optimizer.ema_decay = 0.9;
  const auto averaged = recorded.make();
  const double first = step_loss(*averaged, recorded.batch, 0);
  const double second = step_loss(*averaged, recorded.batch, 1);
  ModelMetrics metrics;
  ASSERT_TRUE(averaged->evaluate(recorded.batch, metrics));
  const double loss = metrics.values()[0].second;
  EXPECT_LT(loss, first);  // the averages have moved a part of the way
  EXPECT_GT(loss, second);
  // They are what another trainer goes on from, and what it evaluates without averages.
  const TrainState state = *averaged->averaged_state(2);
  recorded.options.optimizer.ema_decay = 0;
  const auto plain = recorded.make();
  ASSERT_TRUE(plain->load(state, false, "averages"));
  ModelMetrics again;
  ASSERT_TRUE(plain->evaluate(recorded.batch, again));
  EXPECT_EQ(again.values()[0].second, loss);
  EXPECT_FALSE(plain->averaged_state(2));
}

TEST(ModelStep, LoadedStateGoesOnBitEqual) {
  for (const char* optimizer : {"adamw-hf", "lamb", "adafactor", "sgd"}) {
    Recorded recorded("bert_mlm");
    recorded.options.optimizer = find_optimizer(optimizer)->options;
    recorded.options.optimizer.ema_decay = 0.5;
    const auto unbroken = recorded.make();
    for (int64_t step = 0; step < 2; ++step) step_loss(*unbroken, recorded.batch, step);
    const auto resumed = recorded.make();
    ASSERT_TRUE(resumed->load(*unbroken->state(2), true, "state"));
    step_loss(*unbroken, recorded.batch, 2);
    step_loss(*resumed, recorded.batch, 2);
    const TrainState a = *unbroken->state(3), b = *resumed->state(3);
    for (size_t i = 0; i < a.parameters.size(); ++i) {
      EXPECT_TRUE(
          std::ranges::equal(a.parameters[i].tensor.bytes(), b.parameters[i].tensor.bytes()));
    }
    for (size_t i = 0; i < a.slots.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(a.slots[i].tensor.bytes(), b.slots[i].tensor.bytes()));
    TrainState incomplete = a;
    std::erase_if(incomplete.slots, [](const auto& slot) { return !slot.name.ends_with("#ema"); });
    EXPECT_FALSE(resumed->load(incomplete, true, "state")) << optimizer;
  }
}

// Every optimizer brings the loss of one batch down.
TEST(ModelStep, EveryOptimizerLearns) {
  for (const OptimizerPreset& preset : optimizer_presets()) {
    Recorded recorded("gpt2_lm");
    recorded.options.optimizer = preset.options;
    recorded.batch.labels.clear();  // the tokens themselves
    const auto trainer = recorded.make();
    const double rate = preset.options.kind == OptimizerKind::kSgd ? 0.05 : 0.01;
    const double first = step_loss(*trainer, recorded.batch, 0, rate);
    for (int64_t step = 1; step < 15; ++step) step_loss(*trainer, recorded.batch, step, rate);
    EXPECT_LT(step_loss(*trainer, recorded.batch, 15, rate), 0.9 * first) << preset.name;
  }
}

// Few programs are kept, and coming back to a shape changes nothing.
TEST(ModelStep, ProgramsOfManyShapesAreBounded) {
  Recorded recorded("gpt2_lm");
  recorded.options.max_programs = 2;
  const auto trainer = recorded.make();
  ModelMetrics metrics;
  std::vector<double> losses;
  int64_t most = 0;
  for (int round = 0; round < 2; ++round) {
    for (int64_t columns = 0; columns < 4; ++columns) {
      metrics.reset();
      ASSERT_TRUE(trainer->evaluate(padded(recorded.batch, columns, 0), metrics));
      losses.push_back(metrics.values()[0].second);
      if (columns == 3) most = std::max(most, trainer->program_bytes());
    }
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(losses[i], losses[i + 4]);
  EXPECT_EQ(most, trainer->program_bytes());
}

TEST(ModelStep, RefusesWhatDoesNotFit) {
  const Recorded recorded("bert_pretraining");
  const auto trainer = recorded.make();
  const auto refused = [&](auto change) {
    ModelBatch batch = recorded.batch;
    change(batch);
    ModelMetrics metrics;
    return !trainer->step(std::span(&batch, 1), 0, 1e-3, metrics) &&
           !trainer->evaluate(batch, metrics);
  };
  EXPECT_TRUE(refused([](ModelBatch& b) { b.input_ids[5] = 96; }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.input_ids[5] = -1; }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.input_ids.pop_back(); }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.token_type_ids[0] = 2; }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.attention_mask[0] = 3; }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.position_ids.assign(48, 24); }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.labels[3] = 96; }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.labels.clear(); }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.next_sentence_labels = {0, 1, 2}; }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.next_sentence_labels.clear(); }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.label_positions.assign(4, 0); }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b.batch_size = 0; }));
  EXPECT_TRUE(refused([](ModelBatch& b) { b = padded(b, 9, 0); }));  // 24 positions
  EXPECT_FALSE(refused([](ModelBatch& b) { b = padded(b, 8, 0); }));
  ModelTrainerOptions options = recorded.options;
  options.model.objective = Objective::kClm;
  EXPECT_FALSE(ModelTrainer::create(options, *Executor::open("cpu")));
  options.model.objective = Objective::kMlmSop;
  EXPECT_TRUE(ModelTrainer::create(options, *Executor::open("cpu")));
  options.model.label_smoothing = 1;
  EXPECT_FALSE(ModelTrainer::create(options, *Executor::open("cpu")));
}

TEST(ModelStep, ObjectivesAreFoundByName) {
  for (const char* name : {"clm", "mlm", "mlm+nsp", "mlm+sop", "rtd", "classification"})
    EXPECT_EQ(objective_name(*find_objective(name)), name);
  EXPECT_FALSE(find_objective("nsp"));
  EXPECT_FALSE(default_objective(Architecture::kBertModel));
}

}  // namespace
}  // namespace headwater
