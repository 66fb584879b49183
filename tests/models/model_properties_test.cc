// What must hold of every model, whatever its weights: padding on either side changes nothing, a
// causal model does not see what comes later, gradients are those of the loss, a batch in parts
// sums up, dropout is a function of the key.
#include <functional>

#include "models/model_run.h"

namespace headwater {
namespace {

constexpr int64_t kVocabulary = 29;

Model small_model(Architecture architecture) {
  Model model;
  model.architecture = architecture;
  if (model_type(architecture) == "gpt2") {
    Gpt2Config c;
    c.vocab_size = kVocabulary;
    c.n_positions = 16;
    c.n_embd = 12;
    c.n_layer = 2;
    c.n_head = 3;
    model.config = c;
  } else if (model_type(architecture) == "bert") {
    BertConfig c;
    c.vocab_size = kVocabulary;
    c.hidden_size = 12;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 3;
    c.intermediate_size = 20;
    c.max_position_embeddings = 16;
    c.hidden_act = "gelu_new";
    model.config = c;
  } else {
    ElectraConfig c;
    c.vocab_size = kVocabulary;
    c.embedding_size = 8;
    c.hidden_size = 12;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 3;
    c.intermediate_size = 20;
    c.max_position_embeddings = 16;
    model.config = c;
  }
  model.classifier.num_labels = 3;
  return model;
}

// Two sequences of 7 and 5 tokens, [CLS]-like first, in rows of `time` tokens with their padding on
// either side.
struct Batch {
  int64_t time;
  std::vector<int32_t> ids, mask, types, positions, labels;
};
constexpr int64_t kLengths[] = {7, 5};
constexpr int64_t kRows = 2;

Batch make_batch(const Model& model, int64_t time, bool left) {
  Batch batch{time, {}, {}, {}, {}, {}};
  const bool discriminator = model.architecture == Architecture::kElectraForPreTraining;
  for (int32_t row = 0; row < kRows; ++row) {
    const auto length = static_cast<int32_t>(kLengths[row]);
    const auto padding = static_cast<int32_t>(time) - length;
    for (int32_t t = 0; t < time; ++t) {
      const int32_t i = left ? t - padding : t;  // index in the sequence
      const bool real = i >= 0 && i < length;
      const int32_t id = 1 + (row * 11 + i * 5) % (kVocabulary - 1);
      batch.ids.push_back(real ? id : 0);
      batch.mask.push_back(real ? 1 : 0);
      batch.types.push_back(real && i > 3 ? 1 : 0);
      batch.positions.push_back(real ? i : 0);
      // Padding is labelled as well: it must not count.
      batch.labels.push_back(discriminator ? i & 1 : (i % 2 == 0 || !real ? id : -100));
    }
  }
  return batch;
}

void feed_batch(ModelRun& run, const Model& model, const Batch& batch) {
  run.feed("input_ids", batch.ids);
  if (run.has_input("attention_mask")) run.feed("attention_mask", batch.mask);
  if (run.has_input("token_type_ids")) run.feed("token_type_ids", batch.types);
  if (run.has_input("position_ids")) run.feed("position_ids", batch.positions);
  if (run.has_input("next_sentence_label"))
    run.feed("next_sentence_label", std::vector<int32_t>{1, 0});
  if (!is_classifier(model.architecture)) return run.feed("labels", batch.labels);
  if (model.classifier.problem == ClassifierConfig::Problem::kSingleLabel)
    return run.feed("labels", std::vector<int32_t>{2, 0});
  run.feed("labels", Tensor::f32({2, 3}, std::vector<float>{1, 0, 1, 0, 0, 1}));
}

class EveryModel : public testing::TestWithParam<Architecture> {
 protected:
  Model model_ = small_model(GetParam());

  FedInputs fed() const {
    FedInputs fed;
    fed.token_type_ids = fed.position_ids = true;
    fed.next_sentence_label = GetParam() == Architecture::kBertForPreTraining;
    return fed;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Small, EveryModel,
    testing::Values(Architecture::kElectraForPreTraining, Architecture::kElectraForMaskedLM,
                    Architecture::kElectraForSequenceClassification, Architecture::kBertForMaskedLM,
                    Architecture::kBertForPreTraining, Architecture::kBertForSequenceClassification,
                    Architecture::kGpt2LMHeadModel),
    [](const auto& test) { return std::string(architecture_name(test.param)); });

void expect_same_gradients(const ModelRun& a, const ModelRun& b) {
  for (const Parameter& p : a.parameters()) {
    const Tensor x = a.fetch("grad/" + p.name), y = b.fetch("grad/" + p.name);
    for (size_t i = 0; i < x.as<float>().size(); ++i)
      ASSERT_NEAR(x.as<float>()[i], y.as<float>()[i], 2e-6) << p.name << " " << i;
  }
}

TEST_P(EveryModel, PaddingChangesNothing) {
  const auto run_batch = [&](int64_t time, bool left) {
    auto run = std::make_unique<ModelRun>(model_, kRows, time, fed());
    run->set_random();
    feed_batch(*run, model_, make_batch(model_, time, left));
    run->run();
    return run;
  };
  const auto tight = run_batch(7, false);
  // The first token of a classifier is the first of the row: it cannot be padded before.
  const bool first_token =
      is_classifier(GetParam()) || GetParam() == Architecture::kBertForPreTraining;
  for (const bool left : {false, true}) {
    if (left && first_token) continue;
    SCOPED_TRACE(left ? "on the left" : "on the right");
    const auto padded = run_batch(12, left);
    EXPECT_NEAR(padded->scalar("loss"), tight->scalar("loss"), 1e-6);
    EXPECT_EQ(padded->scalar("accuracy"), tight->scalar("accuracy"));
    expect_same_gradients(*padded, *tight);
    const Tensor a = padded->fetch("hidden"), b = tight->fetch("hidden");
    const int64_t width = a.shape()[1];
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t from = row * 12 + (left ? 12 - kLengths[row] : 0);
      for (int64_t i = 0; i < kLengths[row] * width; ++i)
        ASSERT_NEAR(a.as<float>()[static_cast<size_t>(from * width + i)],
                    b.as<float>()[static_cast<size_t>(row * 7 * width + i)], 2e-6);
    }
  }
}

// Documents of some lengths, each in a row of its own, or one behind the other.
struct Packing {
  std::vector<int64_t> lengths;
  bool apart;
  int64_t rows() const { return apart ? static_cast<int64_t>(lengths.size()) : 1; }
};
constexpr int64_t kPackedWidth = 16;

Batch pack(const Model& model, const Packing& packing, std::vector<int32_t>& documents) {
  const bool discriminator = model.architecture == Architecture::kElectraForPreTraining;
  const auto size = static_cast<size_t>(packing.rows() * kPackedWidth);
  Batch batch{kPackedWidth, {}, {}, {}, {}, {}};
  for (auto* values : {&batch.ids, &batch.mask, &batch.types, &batch.positions, &documents})
    values->assign(size, 0);
  batch.labels.assign(size, discriminator ? 1 : 3);  // what is no document does not count
  size_t next = 0;
  for (size_t d = 0; d < packing.lengths.size(); ++d) {
    if (packing.apart) next = d * static_cast<size_t>(kPackedWidth);
    for (int32_t i = 0; i < packing.lengths[d]; ++i, ++next) {
      const auto id = static_cast<int32_t>(1 + (d * 11 + static_cast<size_t>(i) * 5) % 28);
      batch.ids[next] = id;
      batch.mask[next] = 1;
      batch.types[next] = i > 1 ? 1 : 0;
      batch.positions[next] = i;
      documents[next] = static_cast<int32_t>(d + 1);
      batch.labels[next] = discriminator ? i & 1 : (i % 3 != 1 ? id : -100);
    }
  }
  return batch;
}

std::unique_ptr<ModelRun> run_packed(const Model& model, const Packing& packing, bool positions,
                                     bool mask) {
  FedInputs fed;
  fed.attention_mask = mask || packing.apart;
  fed.token_type_ids = true;
  fed.position_ids = positions;
  fed.document_ids = !packing.apart;
  std::vector<int32_t> documents;
  const Batch batch = pack(model, packing, documents);
  auto run = std::make_unique<ModelRun>(model, packing.rows(), kPackedWidth, fed);
  run->set_random();
  feed_batch(*run, model, batch);
  if (fed.document_ids) run->feed("document_ids", documents);
  run->run();
  return run;
}

// Each in its row or all in one, with documents or the mask saying what is padding, with positions
// given or not: the same loss, gradients and states.
TEST_P(EveryModel, PackedDocumentsAreThemselves) {
  if (is_classifier(GetParam()) || GetParam() == Architecture::kBertForPreTraining)
    GTEST_SKIP() << "predicts one thing per row";
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>{5, 1, 7}, {16}, {3, 13}, {1, 1, 2}, {4, 4, 4, 4}}) {
    const auto apart = run_packed(model_, {lengths, true}, false, true);
    for (const auto& [positions, mask] :
         {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
      const auto packed = run_packed(model_, {lengths, false}, positions, mask);
      EXPECT_NEAR(packed->scalar("loss"), apart->scalar("loss"), 1e-6);
      EXPECT_EQ(packed->scalar("accuracy"), apart->scalar("accuracy"));
      expect_same_gradients(*packed, *apart);
      const Tensor a = packed->fetch("hidden"), b = apart->fetch("hidden");
      const int64_t width = a.shape()[1];
      int64_t from = 0;
      for (size_t d = 0; d < lengths.size(); from += lengths[d], ++d) {
        for (int64_t i = 0; i < lengths[d] * width; ++i)
          ASSERT_NEAR(a.as<float>()[static_cast<size_t>(from * width + i)],
                      b.as<float>()[static_cast<size_t>(
                          static_cast<int64_t>(d) * kPackedWidth * width + i)],
                      2e-6);
      }
    }
  }
}

// The derivative along a random direction of all parameters, numerically.
TEST_P(EveryModel, GradientIsThatOfTheLoss) {
  ModelRun run(model_, kRows, 7, fed());
  run.set_random();
  feed_batch(run, model_, make_batch(model_, 7, false));
  run.run();
  double expected = 0;
  std::map<std::string, Tensor> start, direction;
  for (const Parameter& p : run.parameters()) {
    start[p.name] = run.get(p.name);
    Tensor d(DType::kF32, p.value.shape());
    const Tensor gradient = run.fetch("grad/" + p.name);
    const Key key = Key::from_seed(3).fold_in(p.name);
    for (size_t i = 0; i < d.as<float>().size(); ++i) {
      d.as<float>()[i] = 2 * key.uniform(i) - 1;
      expected += double{d.as<float>()[i]} * gradient.as<float>()[i];
    }
    direction[p.name] = std::move(d);
  }
  const auto loss_at = [&](float h) {
    for (const auto& [name, value] : start) {
      Tensor moved = value;
      for (size_t i = 0; i < moved.as<float>().size(); ++i)
        moved.as<float>()[i] += h * direction[name].as<float>()[i];
      run.set(name, moved);
    }
    run.run();
    return double{run.scalar("loss")};
  };
  const auto central = [&](float h) { return (loss_at(h) - loss_at(-h)) / (2 * double{h}); };
  const double numeric = (4 * central(2e-3f) - central(4e-3f)) / 3;
  EXPECT_NEAR(expected, numeric, 2e-3 * std::max(1.0, std::fabs(numeric)));
}

TEST_P(EveryModel, DropoutIsAFunctionOfTheKey) {
  FedInputs training = fed();
  training.training = true;
  ModelRun run(model_, kRows, 7, training);
  run.set_random();
  feed_batch(run, model_, make_batch(model_, 7, false));
  const auto loss_of = [&](uint32_t key) {
    Tensor tensor(DType::kU32, {2});
    tensor.as<uint32_t>()[0] = key;
    run.feed("key", tensor);
    run.run();
    return run.scalar("loss");
  };
  const float first = loss_of(1);
  EXPECT_NE(loss_of(2), first);
  EXPECT_EQ(loss_of(1), first);
}

// Halves of a batch whose losses are divided by the whole's totals.
TEST_P(EveryModel, BatchInPartsSumsUp) {
  FedInputs with_totals = fed();
  with_totals.totals = true;
  ModelRun whole(model_, kRows, 7, fed());
  ModelRun part(model_, kRows, 7, with_totals);
  const Batch batch = make_batch(model_, 7, false);
  for (ModelRun* run : {&whole, &part}) {
    run->set_random();
    feed_batch(*run, model_, batch);
  }
  whole.run();
  float count = 0;
  const Tensor weights = whole.fetch("row_weight");
  for (const float w : weights.as<float>()) count += w;
  part.feed("label_total", Tensor::scalar(2 * count));
  part.feed("next_sentence_total", Tensor::scalar(2 * static_cast<float>(kRows)));
  part.run();
  EXPECT_NEAR(2 * part.scalar("loss"), whole.scalar("loss"), 1e-6);
}

TEST(Models, TokenTypesAndPositionsAreHonoured) {
  for (const Architecture architecture :
       {Architecture::kBertForMaskedLM, Architecture::kGpt2LMHeadModel}) {
    const Model model = small_model(architecture);
    FedInputs all;
    all.token_type_ids = all.position_ids = true;
    ModelRun given(model, kRows, 7, all), plain(model, kRows, 7);
    Batch batch = make_batch(model, 7, false);
    for (ModelRun* run : {&given, &plain}) {
      run->set_random();
      feed_batch(*run, model, batch);
    }
    const auto loss_with = [&](int32_t type, int32_t offset) {
      for (size_t i = 0; i < batch.ids.size(); ++i) {
        batch.types[i] = type;
        batch.positions[i] = static_cast<int32_t>(i % 7) + offset;
      }
      feed_batch(given, model, batch);
      given.run();
      return given.scalar("loss");
    };
    plain.run();
    // GPT-2 has no row for "no type": any type adds one of the word table.
    if (model.has_token_types()) {
      EXPECT_EQ(loss_with(0, 0), plain.scalar("loss"));
    }
    const float loss = loss_with(0, 0);
    EXPECT_NE(loss_with(1, 0), loss);
    EXPECT_NE(loss_with(0, 1), loss);
  }
}

TEST(Models, LaterTokensChangeNothingEarlierInACausalModel) {
  const Model model = small_model(Architecture::kGpt2LMHeadModel);
  ModelRun run(model, kRows, 12);
  run.set_random();
  Batch batch = make_batch(model, 12, false);
  batch.mask.assign(batch.mask.size(), 1);
  feed_batch(run, model, batch);
  run.run();
  const Tensor before = run.fetch("logits");
  for (const size_t changed : {11u, 6u, 1u}) {
    Batch other = batch;
    other.ids[changed] = (other.ids[changed] + 1) % kVocabulary;
    feed_batch(run, model, other);
    run.run();
    const Tensor after = run.fetch("logits");
    bool later_differs = false;
    for (size_t i = 0; i < before.as<float>().size(); ++i) {
      const size_t token = i / kVocabulary;
      if (token < changed || token >= 12) {
        ASSERT_EQ(before.as<float>()[i], after.as<float>()[i]) << "token " << token;
      } else {
        later_differs |= before.as<float>()[i] != after.as<float>()[i];
      }
    }
    EXPECT_TRUE(later_differs);
  }
}

TEST(Models, CausalLossIsOfTheNextToken) {
  const Model model = small_model(Architecture::kGpt2LMHeadModel);
  ModelRun run(model, kRows, 7);
  run.set_random();
  Batch batch = make_batch(model, 7, false);
  for (size_t i = 0; i < batch.ids.size(); ++i)
    batch.labels[i] = batch.mask[i] ? batch.ids[i] : -100;
  feed_batch(run, model, batch);
  run.run();
  const Tensor logits = run.fetch("logits");
  double sum = 0;
  int64_t count = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t t = 0; t + 1 < kLengths[row]; ++t) {
      const auto at = logits.as<float>().subspan(static_cast<size_t>((row * 7 + t) * kVocabulary),
                                                 static_cast<size_t>(kVocabulary));
      double total = 0;
      for (const float x : at) total += std::exp(double{x});
      sum += std::log(total) -
             at[static_cast<size_t>(batch.ids[static_cast<size_t>(row * 7 + t + 1)])];
      ++count;
    }
  }
  EXPECT_NEAR(run.scalar("loss"), sum / static_cast<double>(count), 1e-5);
}

TEST(Models, NothingLabelledIsNoLoss) {
  const Model model = small_model(Architecture::kBertForMaskedLM);
  ModelRun run(model, kRows, 7);
  run.set_random();
  Batch batch = make_batch(model, 7, false);
  batch.labels.assign(batch.labels.size(), -100);
  feed_batch(run, model, batch);
  run.run();
  EXPECT_EQ(run.scalar("loss"), 0);
  for (const Parameter& p : run.parameters()) {
    const Tensor gradient = run.fetch("grad/" + p.name);
    for (const float x : gradient.as<float>()) ASSERT_EQ(x, 0) << p.name;
  }
}

// Labels at positions are the same as labels of all tokens.
TEST(Models, LabelsAtPositions) {
  for (const Architecture architecture :
       {Architecture::kBertForMaskedLM, Architecture::kElectraForMaskedLM}) {
    const Model model = small_model(architecture);
    FedInputs fed;
    fed.label_positions = 3;
    ModelRun sparse(model, kRows, 7, fed), dense(model, kRows, 7);
    const Batch batch = make_batch(model, 7, false);
    for (ModelRun* run : {&sparse, &dense}) {
      run->set_random();
      run->feed("input_ids", batch.ids);
      run->feed("attention_mask", batch.mask);
    }
    std::vector<int32_t> labels(14, -100);
    labels[2] = 5, labels[4] = 7, labels[7 + 1] = 9;
    dense.feed("labels", labels);
    sparse.feed("label_positions", std::vector<int32_t>{2, 4, 0, 1, 0, 0});
    sparse.feed("labels", std::vector<int32_t>{5, 7, -100, 9, -100, -100});
    dense.run();
    sparse.run();
    EXPECT_NEAR(sparse.scalar("loss"), dense.scalar("loss"), 1e-6);
    expect_same_gradients(sparse, dense);
  }
}

TEST(Models, ClassifierLosses) {
  for (const Architecture architecture : {Architecture::kBertForSequenceClassification,
                                          Architecture::kElectraForSequenceClassification}) {
    Model model = small_model(architecture);
    const auto run_problem = [&](ClassifierConfig::Problem problem, auto loss_of) {
      model.classifier.problem = problem;
      ModelRun run(model, kRows, 7);
      run.set_random();
      feed_batch(run, model, make_batch(model, 7, false));
      run.run();
      const Tensor logits = run.fetch("logits");
      ASSERT_EQ(logits.shape(), (Shape{2, 3}));
      EXPECT_NEAR(run.scalar("loss"), loss_of(logits.as<float>()), 1e-5);
    };
    const float labels[] = {1, 0, 1, 0, 0, 1};
    run_problem(ClassifierConfig::Problem::kSingleLabel, [](std::span<const float> x) {
      const auto row = [&](size_t r, size_t label) {
        double total = 0;
        for (size_t i = 0; i < 3; ++i) total += std::exp(double{x[r * 3 + i]});
        return std::log(total) - x[r * 3 + label];
      };
      return (row(0, 2) + row(1, 0)) / 2;
    });
    run_problem(ClassifierConfig::Problem::kMultiLabel, [&](std::span<const float> x) {
      double sum = 0;
      for (size_t i = 0; i < 6; ++i)
        sum += std::log1p(std::exp(labels[i] > 0 ? -double{x[i]} : double{x[i]}));
      return sum / 6;
    });
    run_problem(ClassifierConfig::Problem::kRegression, [&](std::span<const float> x) {
      double sum = 0;
      for (size_t i = 0; i < 6; ++i) sum += std::pow(double{x[i]} - labels[i], 2);
      return sum / 6;
    });
  }
}

TEST(Models, SequencesThatDoNotFitAreErrors) {
  for (const Architecture architecture :
       {Architecture::kBertForMaskedLM, Architecture::kGpt2LMHeadModel}) {
    try {
      ModelRun run(small_model(architecture), 1, 17);
      FAIL() << "17 tokens fit 16 positions";
    } catch (const GraphError& e) {
      EXPECT_NE(std::string(e.what()).find("17 tokens do not fit"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace headwater
