// What `records build` writes is what the general pipeline reads, for every task.
#include <gtest/gtest.h>

#include <algorithm>

#include "batches/batch_pipeline.h"
#include "records/build_fixture.h"

namespace headwater {
namespace {

class BuiltRecordsTest : public BuildTest {
 protected:
  void build_task(const std::string& task, const std::string& vocabulary) {
    options_.task = task;
    options_.vocab_file = vocabulary;
    summary_ = must_build();
  }
  // All batches of an epoch, in the order of the files.
  std::vector<Batch> batches(const std::string& features, const std::string& pad_to) {
    BatchPipelineOptions options;
    options.records = "out/*.tfrecord*";
    options.features = *parse_feature_specs(features);
    options.order = BatchOrder::kSequential;
    options.remainder = Remainder::kKeep;
    options.batch_size = 4;
    options.epochs = 1;
    options.pad_to = *parse_pad_to(pad_to);
    options.vocab_size = open_tokenizer().size();
    auto pipeline = BatchPipeline::open(fs_, options);
    EXPECT_TRUE(pipeline.has_value()) << pipeline.error().to_string();
    EXPECT_EQ((*pipeline)->stats().examples, summary_.counts.examples);
    std::vector<Batch> all;
    while (auto batch = *(*pipeline)->next()) all.push_back(*std::move(batch));
    return all;
  }

  RecordsBuildSummary summary_;
};

TEST_F(BuiltRecordsTest, BlocksOfText) {
  build_task("gpt", "bpe");
  int64_t tokens = 0;
  for (const Batch& batch : batches("input_ids:int64[]", "longest"))
    for (const int64_t length : batch.lengths) tokens += length;
  EXPECT_EQ(tokens, summary_.counts.tokens + summary_.counts.documents);
}

TEST_F(BuiltRecordsTest, PairsWithStaticMasks) {
  options_.bert.masking = "static";
  build_task("bert", "vocab.txt");
  const auto all = batches(
      "input_ids:int64[], input_mask:int64[], segment_ids:int64[], next_sentence_labels:int64, "
      "masked_lm_positions:int64[5], masked_lm_ids:int64[5], masked_lm_weights:float[5]",
      "32");
  int64_t random = 0;
  for (const Batch& batch : all) {
    EXPECT_EQ(batch.find("input_ids")->ints.size(), 4u * 32u);
    EXPECT_EQ(batch.find("masked_lm_weights")->floats.size(), 4u * 5u);
    const auto& labels = batch.find("next_sentence_labels")->ints;
    random += std::count(labels.begin(), labels.end(), 1);
  }
  EXPECT_EQ(random, summary_.counts.positive_pairs);
}

TEST_F(BuiltRecordsTest, PairsAsLongAsTheirText) {
  options_.bert.pad = false;
  build_task("bert", "vocab.txt");
  for (const Batch& batch :
       batches("input_ids:int64[], segment_ids:int64[], attention_mask:int64[]?", "16,32")) {
    const auto& mask = batch.find("attention_mask")->ints;
    int64_t real = 0;
    for (const int64_t length : batch.lengths) real += length;
    EXPECT_EQ(std::count(mask.begin(), mask.end(), 1), real);
  }
}

TEST_F(BuiltRecordsTest, LinesByThemselves) {
  build_task("raw", "vocab.txt");
  int64_t rows = 0;
  for (const Batch& batch : batches("input_ids:int64[]", "multiple:8")) rows += batch.real_rows;
  EXPECT_EQ(rows, summary_.counts.documents);
}

}  // namespace
}  // namespace headwater
