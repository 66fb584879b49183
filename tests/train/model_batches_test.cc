// From records to batches of a model: parts by name, labels of objectives, masks, and features seen
// in the first record.
#include "train/model_batches.h"

#include <gtest/gtest.h>

#include "batches/batch_pipeline.h"
#include "batches/shards.h"

namespace headwater {
namespace {

using Ints = std::vector<int64_t>;

class ModelBatchesTest : public testing::Test {
 protected:
  void put(const std::vector<Example>& examples) {
    std::vector<std::string> payloads;
    for (const Example& example : examples) payloads.push_back(serialize_example(example));
    fs_.put("r/a", framed(payloads));
  }

  std::vector<FeatureSpec> features() {
    auto found = find_features(fs_, "r/a", RecordFormat::kTfRecord);
    EXPECT_TRUE(found) << found.error().to_string();
    return found ? *found : std::vector<FeatureSpec>();
  }

  // The first batch of all records in `rows` rows.
  Result<ModelBatch> make(int64_t rows, const ModelBatchRules& rules, bool pack = false) {
    BatchPipelineOptions options;
    options.records = "r/a";
    options.features = features();
    options.order = BatchOrder::kSequential;
    options.remainder = Remainder::kKeep;
    options.epochs = 1;
    options.batch_size = rows;
    options.pack = pack;
    if (pack) options.pad_to = *parse_pad_to("8");
    HW_ASSIGN_OR_RETURN(const auto pipeline, BatchPipeline::open(fs_, options));
    HW_ASSIGN_OR_RETURN(const auto batch, pipeline->next());
    HW_ASSIGN_OR_RETURN(const auto maker, ModelBatchMaker::create(options.features, pack, rules));
    return maker.make(*batch);
  }

  MemoryFileSystem fs_;
};

TEST_F(ModelBatchesTest, AMaskIsMadeOfLengths) {
  put({{{"input_ids", Ints{5, 6, 7}}}, {{"input_ids", Ints{8}}}});
  const ModelBatch batch = *make(3, {.objective = Objective::kClm});
  EXPECT_EQ(batch.batch_size, 3);
  EXPECT_EQ(batch.seq_length, 3);
  EXPECT_EQ(batch.input_ids, (std::vector<int32_t>{5, 6, 7, 8, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.attention_mask, (std::vector<int32_t>{1, 1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(batch.labels.empty());
  EXPECT_EQ(batch.tokens(), 4);
}

TEST_F(ModelBatchesTest, GooglesNamesAreKnown) {
  put({{{"input_ids", Ints{2, 5, 3, 0}},
        {"input_mask", Ints{1, 1, 1, 0}},
        {"segment_ids", Ints{0, 0, 1, 0}},
        {"masked_lm_positions", Ints{1, 0}},
        {"masked_lm_ids", Ints{9, 0}},
        {"masked_lm_weights", std::vector<float>{1, 0}},
        {"next_sentence_labels", Ints{1}}}});
  EXPECT_EQ(feature_specs_text(features()),
            "input_ids:int64[], input_mask:int64[]?, segment_ids:int64[]?, masked_lm_ids:int64[2], "
            "masked_lm_weights:float[2], masked_lm_positions:int64[2], next_sentence_labels:int64");
  const ModelBatch batch = *make(2, {.objective = Objective::kMlmNsp});
  EXPECT_EQ(batch.attention_mask, (std::vector<int32_t>{1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.token_type_ids, (std::vector<int32_t>{0, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.label_positions, (std::vector<int32_t>{1, 0, 0, 0}));
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{9, -100, -100, -100}));
  EXPECT_EQ(batch.next_sentence_labels, (std::vector<int32_t>{1, -100}));
  EXPECT_EQ(batch.input_ids, (std::vector<int32_t>{2, 5, 3, 0, 0, 0, 0, 0}));
}

TEST_F(ModelBatchesTest, LabelsOfTokensKeepTheirMark) {
  put({{{"input_ids", Ints{5, 6, 7}}, {"labels", Ints{-100, 6, -100}}},
       {{"input_ids", Ints{8}}, {"labels", Ints{8}}}});
  for (const Objective objective : {Objective::kMlm, Objective::kClm, Objective::kRtd}) {
    const ModelBatch batch = *make(2, {.objective = objective});
    EXPECT_EQ(batch.labels, (std::vector<int32_t>{-100, 6, -100, 8, -100, -100}));
    EXPECT_TRUE(batch.label_positions.empty());
  }
}

TEST_F(ModelBatchesTest, MasksAreDrawnAnewForEveryBatchAndTheSameForEvaluation) {
  Example example;
  Ints ids = {2};
  for (int64_t i = 0; i < 62; ++i) ids.push_back(10 + i);
  ids.push_back(3);
  example["input_ids"] = ids;
  put({example, example});
  ModelBatchRules rules{.objective = Objective::kMlm};
  rules.masking = {.max_predictions = 0, .vocab_size = 80, .never = {2, 3}};
  rules.seed = 5;
  const ModelBatch first = *make(1, rules), again = *make(1, rules);
  EXPECT_EQ(first.input_ids, again.input_ids);
  EXPECT_EQ(first.label_positions.size(), 9u);  // int(0.155 x 64)
  EXPECT_EQ(first.labels, again.labels);
  rules.seed = 6;
  EXPECT_NE(make(1, rules)->label_positions, first.label_positions);
  rules.seed = 5, rules.evaluates = true;
  EXPECT_NE(make(1, rules)->label_positions, first.label_positions);
  const ModelBatch both = *make(2, rules);
  EXPECT_NE(std::vector(both.label_positions.begin(), both.label_positions.begin() + 9),
            std::vector(both.label_positions.begin() + 9, both.label_positions.end()));
}

TEST_F(ModelBatchesTest, ClassesOfSequences) {
  put({{{"input_ids", Ints{5, 6}}, {"label", Ints{2}}},
       {{"input_ids", Ints{7}}, {"label", Ints{0}}}});
  ModelBatchRules rules{.objective = Objective::kClassification};
  EXPECT_EQ(make(3, rules)->labels, (std::vector<int32_t>{2, 0, -100}));
  put({{{"input_ids", Ints{5, 6}}, {"labels", std::vector<float>{1, 0, 1}}}});
  rules.classifier = {.num_labels = 3, .problem = ClassifierConfig::Problem::kMultiLabel};
  EXPECT_EQ(make(1, rules)->label_values, (std::vector<float>{1, 0, 1}));
}

TEST_F(ModelBatchesTest, WhatIsMissingIsSaid) {
  put({{{"input_ids", Ints{5, 6}}}});
  const auto error = [&](Objective objective) {
    return ModelBatchMaker::create(features(), false, {.objective = objective}).error().to_string();
  };
  EXPECT_EQ(error(Objective::kRtd),
            "the objective rtd needs labels in the records; describe the records with --features");
  EXPECT_EQ(error(Objective::kMlmSop),
            "the objective mlm+sop needs next_sentence_label, or sentence_order_label in the "
            "records; describe the records with --features");
  const auto twice =
      *parse_feature_specs("input_ids:int64[], input_mask:int64[], attention_mask:int64[]");
  EXPECT_EQ(ModelBatchMaker::create(twice, false, {}).error().to_string(),
            "the features input_mask and attention_mask are the same to a model; name one of them "
            "in --features");
  put({{{"tokens", Ints{5, 6}}}});
  EXPECT_EQ(find_features(fs_, "r/a", RecordFormat::kTfRecord).error().to_string(),
            "r/a: the first record has no input_ids; name the features with --features");
  put({});
  EXPECT_EQ(find_features(fs_, "r/a", RecordFormat::kTfRecord).error().to_string(),
            "r/a holds no record");
}

TEST_F(ModelBatchesTest, SegmentsMeanNothingToGpt2) {
  put({{{"input_ids", Ints{5, 6}}, {"segment_ids", Ints{0, 0}}, {"extra", Ints{1}}}});
  const auto maker = *ModelBatchMaker::create(
      *parse_feature_specs("input_ids:int64[], segment_ids:int64[], extra:int64"), false,
      {.objective = Objective::kClm, .has_token_types = false});
  EXPECT_EQ(maker.unused(), (std::vector<std::string>{"segment_ids", "extra"}));
  EXPECT_TRUE(
      make(1, {.objective = Objective::kClm, .has_token_types = false})->token_type_ids.empty());
}

TEST_F(ModelBatchesTest, JsonLinesAreSeenTheSameWay) {
  fs_.put("a.jsonl",
          "{\"input_ids\": [5, 6], \"attention_mask\": [1, 1], \"label\": 1, \"text\": \"x\"}\n");
  EXPECT_EQ(feature_specs_text(*find_features(fs_, "a.jsonl", RecordFormat::kJsonLines)),
            "input_ids:int64[], attention_mask:int64[]?, label:int64");
  EXPECT_EQ(feature_specs_text(*find_features(fs_, "a.txt", RecordFormat::kText)),
            "input_ids:int64[]");
}

}  // namespace
}  // namespace headwater
