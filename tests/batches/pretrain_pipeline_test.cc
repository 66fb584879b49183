#include "batches/pretrain_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/threads.h"
#include "batches/masking.h"
#include "batches/shards.h"
#include "io/fault_files.h"

namespace headwater {
namespace {

constexpr int64_t kLength = 16;

class PretrainPipelineTest : public testing::Test {
 protected:
  PretrainPipelineTest() {
    set_num_threads(1);
    options_.records = "r/*";
    options_.batch_size = 7;
    options_.max_seq_length = kLength;
    options_.max_predictions = 2;
    options_.seed = 3;
  }
  ~PretrainPipelineTest() override { set_num_threads(0); }

  std::unique_ptr<PretrainPipeline> open() {
    auto pipeline = PretrainPipeline::open(fs_, options_, kSpecials);
    EXPECT_TRUE(pipeline.has_value()) << pipeline.error().to_string();
    return pipeline ? *std::move(pipeline) : nullptr;
  }
  std::string open_error() {
    auto pipeline = PretrainPipeline::open(fs_, options_, kSpecials);
    EXPECT_FALSE(pipeline.has_value());
    return pipeline ? "" : pipeline.error().to_string();
  }
  static PretrainBatch next(PretrainPipeline& pipeline) {
    auto batch = pipeline.next();
    EXPECT_TRUE(batch.has_value()) << batch.error().to_string();
    return batch ? *std::move(batch) : PretrainBatch{};
  }
  // Records with a golden file of the case log.
  void use_case(const std::string& name, int64_t length = 32) {
    options_.records = std::string(HW_TESTS_DIR) + "/golden/tfrecord/cases/" + name;
    options_.max_seq_length = length;
    options_.batch_size = 1;
  }
  Result<std::unique_ptr<PretrainPipeline>> open_case() {
    return PretrainPipeline::open(local_files(), options_, kSpecials);
  }
  std::string case_error() {
    auto pipeline = open_case();
    EXPECT_FALSE(pipeline.has_value());
    return pipeline ? "" : pipeline.error().to_string();
  }

  MemoryFileSystem fs_;
  PipelineOptions options_;
};

std::vector<int32_t> numbers_of(const PretrainBatch& batch) {
  std::vector<int32_t> numbers;
  for (int64_t b = 0; b < batch.real_rows; ++b)
    numbers.push_back(batch.input_ids[static_cast<size_t>(b * batch.seq_length + 1)] - 100);
  return numbers;
}

void expect_equal(const PretrainBatch& a, const PretrainBatch& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.real_rows, b.real_rows);
  EXPECT_EQ(a.input_ids, b.input_ids);
  EXPECT_EQ(a.input_mask, b.input_mask);
  EXPECT_EQ(a.segment_ids, b.segment_ids);
  EXPECT_EQ(a.masked_input_ids, b.masked_input_ids);
  EXPECT_EQ(a.masked_lm_positions, b.masked_lm_positions);
  EXPECT_EQ(a.masked_lm_ids, b.masked_lm_ids);
  EXPECT_EQ(a.masked_lm_weights, b.masked_lm_weights);
}

TEST_F(PretrainPipelineTest, BatchesHoldRecordsAndMasks) {
  put_shards(fs_, 100, 3, kLength);
  const auto pipeline = open();
  std::vector<int32_t> seen;
  for (int64_t step = 0; step < 15; ++step) {
    const PretrainBatch batch = next(*pipeline);
    EXPECT_EQ(batch.step, step);
    EXPECT_EQ(batch.real_rows, 7);
    const auto numbers = numbers_of(batch);
    seen.insert(seen.end(), numbers.begin(), numbers.end());
    MaskingRule rule;
    rule.max_predictions = 2;
    const Key key = Key::from_seed(3).fold_in(static_cast<uint32_t>(step)).fold_in("masking");
    for (size_t b = 0; b < 7; ++b) {
      const std::span<const int32_t> ids = std::span(batch.input_ids).subspan(b * kLength, kLength);
      const std::span<const int32_t> real =
          std::span(batch.input_mask).subspan(b * kLength, kLength);
      std::vector<int32_t> positions(2), masked(kLength), lm_positions(2), lm_ids(2);
      std::vector<uint8_t> shows(2);
      std::vector<float> weights(2);
      const int64_t used =
          draw_mask(ids, real, rule, key.fold_in(static_cast<uint32_t>(b)), positions, shows);
      EXPECT_EQ(used, 2);
      apply_mask(ids, used, positions, shows, rule.mask, {masked, lm_positions, lm_ids, weights});
      EXPECT_TRUE(std::equal(masked.begin(), masked.end(),
                             batch.masked_input_ids.begin() + static_cast<long>(b * kLength)));
      EXPECT_TRUE(std::equal(lm_positions.begin(), lm_positions.end(),
                             batch.masked_lm_positions.begin() + static_cast<long>(2 * b)));
    }
  }
  seen.resize(100);  // one epoch; batches go over its end
  std::sort(seen.begin(), seen.end());
  for (int32_t n = 0; n < 100; ++n) EXPECT_EQ(seen[static_cast<size_t>(n)], n);
}

// A run that starts at any step gets the batches of an unbroken run, mid-epoch too.
TEST_F(PretrainPipelineTest, StartsAtAnyStep) {
  put_shards(fs_, 50, 3, kLength);
  options_.shuffle_buffer_records = 20;
  std::vector<PretrainBatch> unbroken;
  const auto whole = open();
  for (int step = 0; step < 20; ++step) unbroken.push_back(next(*whole));
  for (int64_t start = 0; start < 20; ++start) {
    options_.start_step = start;
    options_.prefetch_batches = 1 + start % 3;
    const auto resumed = open();
    for (auto step = static_cast<size_t>(start); step < 20; ++step)
      expect_equal(next(*resumed), unbroken[step]);
  }
}

// Case B049: another order in every epoch, the same under the same seed.
TEST_F(PretrainPipelineTest, EpochsDifferAndSeedsDecide) {
  put_shards(fs_, 40, 2, kLength);
  options_.batch_size = 40;
  const auto run = [&] {
    std::vector<std::vector<int32_t>> epochs;
    const auto pipeline = open();
    for (int e = 0; e < 3; ++e) epochs.push_back(numbers_of(next(*pipeline)));
    return epochs;
  };
  const auto first = run();
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
  EXPECT_EQ(run(), first);
  options_.seed = 4;
  EXPECT_NE(run(), first);
}

TEST_F(PretrainPipelineTest, FewerRecordsThanABatch) {
  put_shards(fs_, 3, 1, kLength);
  const auto pipeline = open();
  EXPECT_EQ(pipeline->stats().steps_per_epoch, 1);
  auto numbers = numbers_of(next(*pipeline));
  EXPECT_EQ(std::count(numbers.begin(), numbers.begin() + 6, 0), 2);  // two epochs and a bit
}

TEST_F(PretrainPipelineTest, EvaluationPassesAreEqualAndPadded) {
  put_shards(fs_, 200, 2, kLength);
  options_.eval_fraction = 0.1;
  const auto train = open();
  options_.mode = PipelineMode::kEvaluate;
  auto opened = PretrainPipeline::open(fs_, options_, kSpecials, train->record_set());
  ASSERT_TRUE(opened.has_value());
  PretrainPipeline& eval = **opened;
  const auto stats = eval.stats();
  EXPECT_EQ(stats.examples + train->stats().examples, 200);
  ASSERT_GT(stats.steps_per_epoch, 1);
  std::vector<PretrainBatch> pass;
  std::set<int32_t> held_out;
  for (int64_t i = 0; i < stats.steps_per_epoch; ++i) {
    pass.push_back(next(eval));
    for (const int32_t n : numbers_of(pass.back())) EXPECT_TRUE(held_out.insert(n).second);
  }
  EXPECT_EQ(static_cast<int64_t>(held_out.size()), stats.examples);
  const PretrainBatch& last = pass.back();
  EXPECT_EQ(last.real_rows, (stats.examples - 1) % 7 + 1);
  for (auto i = static_cast<size_t>(last.real_rows * kLength); i < last.input_mask.size(); ++i)
    ASSERT_EQ(last.input_mask[i], 0);
  for (auto i = static_cast<size_t>(last.real_rows * 2); i < last.masked_lm_weights.size(); ++i)
    ASSERT_EQ(last.masked_lm_weights[i], 0);
  for (PretrainBatch& batch : pass) {
    batch.step += stats.steps_per_epoch;
    expect_equal(next(eval), batch);
  }
  for (int64_t step = 0; step < 60; ++step)
    for (const int32_t n : numbers_of(next(*train))) ASSERT_FALSE(held_out.contains(n));
}

TEST_F(PretrainPipelineTest, HeldOutShards) {
  put_shards(fs_, 20, 2, kLength);
  options_.records = "r/data-000";
  options_.eval_records = "r/data-001";
  EXPECT_EQ(open()->stats().examples, 10);
  options_.mode = PipelineMode::kEvaluate;
  EXPECT_EQ(numbers_of(next(*open()))[0], 1);
  options_.eval_fraction = 0.1;
  EXPECT_NE(open_error().find("not both"), std::string::npos);
  options_.eval_fraction = 0;
  options_.eval_records.clear();
  EXPECT_NE(open_error().find("nothing is held out"), std::string::npos);
}

TEST_F(PretrainPipelineTest, ProvenanceNamesFilesAndRecords) {
  put_shards(fs_, 20, 2, kLength);
  options_.shuffle = false;
  const auto pipeline = open();
  EXPECT_EQ(next(*pipeline).provenance(), "r/data-000: records 0-6");
  EXPECT_EQ(next(*pipeline).provenance(), "r/data-000: records 7-9; r/data-001: records 0-3");
  options_.shuffle = true;
  options_.batch_size = 1;
  EXPECT_NE(next(*open()).provenance().find(": record "), std::string::npos);
}

TEST_F(PretrainPipelineTest, FoldersAndLists) {
  for (const char* name : {"d/a.tfrecord-0-of-2", "d/a.tfrecord-1-of-2", "e/b"})
    fs_.put(name, framed({make_record(0, kLength)}));
  fs_.put("d/manifest.json", "{}");
  options_.records = "d,e/*";
  EXPECT_EQ(open()->stats().examples, 3);
  options_.records = "d,nowhere";
  EXPECT_NE(open_error().find("nowhere"), std::string::npos);
  options_.records = ",";
  EXPECT_NE(open_error().find("no records"), std::string::npos);
}

TEST_F(PretrainPipelineTest, NoRecords) {
  EXPECT_NE(open_error().find("r/*"), std::string::npos);
  fs_.put("r/a", "");
  fs_.put("r/b", "");
  EXPECT_NE(open_error().find("no records in the 2 files of r/*"), std::string::npos);
}

TEST_F(PretrainPipelineTest, IdsOverTheVocabulary) {
  put_shards(fs_, 30, 1, kLength);
  options_.vocab_size = 120;
  EXPECT_EQ(open_error(),
            "r/data-000: record 20 (counted from 0): feature 'input_ids': value 120 at position 1 "
            "is not below 120; were the records built with another vocabulary?");
  options_.vocab_size = 130;
  open();
}

TEST_F(PretrainPipelineTest, ShorterRecordsCanBePadded) {
  fs_.put("r/a", framed({make_record(0, 16), make_record(1, 10)}));
  EXPECT_NE(open_error().find("r/a: record 1 (counted from 0): feature 'input_ids' has 10 values, "
                              "expected 16"),
            std::string::npos);
  options_.pad = true;
  options_.shuffle = false;
  options_.batch_size = 2;
  const PretrainBatch batch = next(*open());
  EXPECT_EQ(std::count(batch.input_mask.begin() + 16, batch.input_mask.end(), 1), 8);
  EXPECT_EQ(batch.input_ids[31], 0);
  fs_.put("r/b", framed({make_record(2, 17)}));
  EXPECT_NE(open_error().find("r/b: record 0 (counted from 0): feature 'input_ids' has 17 values, "
                              "expected at most 16"),
            std::string::npos);
}

TEST_F(PretrainPipelineTest, OptionsOutOfRange) {
  put_shards(fs_, 5, 1, kLength);
  const auto rejects = [&](auto change) {
    const PipelineOptions before = options_;
    change(options_);
    EXPECT_FALSE(open_error().empty());
    options_ = before;
  };
  rejects([](PipelineOptions& o) { o.batch_size = 0; });
  rejects([](PipelineOptions& o) { o.batch_size = o.max_seq_length = 1 << 20; });
  rejects([](PipelineOptions& o) { o.max_predictions = 0; });
  rejects([](PipelineOptions& o) { o.start_step = -1; });
  rejects([](PipelineOptions& o) { o.start_step = int64_t{1} << 60; });
  rejects([](PipelineOptions& o) { o.mask_prob = 0; });
  rejects([](PipelineOptions& o) { o.eval_fraction = 0.9; });
  rejects([](PipelineOptions& o) { o.prefetch_batches = 0; });
  rejects([](PipelineOptions& o) { o.shuffle_buffer_records = 0; });
}

// Destruction with a full queue, an empty one, and right after the opening.
TEST_F(PretrainPipelineTest, EndsCleanlyAtAnyTime) {
  put_shards(fs_, 30, 2, kLength);
  for (int taken = 0; taken < 12; ++taken) {
    const auto pipeline = open();
    for (int i = 0; i < taken; ++i) next(*pipeline);
  }
}

TEST_F(PretrainPipelineTest, TwoPipelinesShareOneSet) {
  put_shards(fs_, 300, 4, kLength);
  options_.eval_fraction = 0.2;
  const auto train = open();
  options_.mode = PipelineMode::kEvaluate;
  auto eval = PretrainPipeline::open(fs_, options_, kSpecials, train->record_set());
  ASSERT_TRUE(eval.has_value());
  std::thread other([&] {
    for (int i = 0; i < 60; ++i) EXPECT_TRUE((*eval)->next().has_value());
  });
  for (int i = 0; i < 60; ++i) next(*train);
  other.join();
  EXPECT_GE(train->stats().data_wait_seconds, 0);
}

TEST_F(PretrainPipelineTest, AnErrorStays) {
  put_shards(fs_, 600, 1, kLength);
  options_.shuffle_buffer_records = 100;
  options_.prefetch_batches = 1;
  const auto pipeline = open();
  fs_.put("r/data-000", "gone");
  std::string error;
  for (int i = 0; i < 200 && error.empty(); ++i) {
    auto batch = pipeline->next();
    if (!batch) error = batch.error().to_string();
  }
  EXPECT_NE(error.find("r/data-000"), std::string::npos);
  EXPECT_EQ(pipeline->next().error().to_string(), error);
}

TEST_F(PretrainPipelineTest, ReadFaultsAreErrorsNotHangs) {
  put_shards(fs_, 40, 2, kLength);
  for (int64_t n = 1; n < 12; ++n) {
    FaultFileSystem faulty(fs_);
    faulty.fail_read_at(n);
    auto pipeline = PretrainPipeline::open(faulty, options_, kSpecials);
    if (!pipeline) continue;
    for (int i = 0; i < 20; ++i)
      if (!(*pipeline)->next()) break;
  }
}

TEST_F(PretrainPipelineTest, CompressedShards) {
  const auto golden = [](const std::string& name) {
    return std::string(HW_TESTS_DIR) + "/golden/tfrecord/cases/" + name;
  };
  use_case("tfr_gzip_named_plain.tfrecord");  // case B039
  options_.shuffle = false;
  auto packed = open_case();
  ASSERT_TRUE(packed.has_value()) << packed.error().to_string();
  const auto from_packed = next(**packed);
  options_.packed_memory_limit = 10;
  EXPECT_NE(case_error().find("compressed shards need more"), std::string::npos);
  options_.records = golden("tfr_ok.tfrecord");
  EXPECT_GT(from_packed.real_rows, 0);
  EXPECT_TRUE(open_case().has_value());
}

// Case B034: the third of four records has one flipped bit.
TEST_F(PretrainPipelineTest, DamagedRecordsByPolicy) {
  use_case("tfr_bad_data_crc.tfrecord");
  EXPECT_NE(case_error().find("tfr_bad_data_crc.tfrecord: record 2"), std::string::npos);
  options_.damage_policy = DamagePolicy::kSkip;
  auto skip = open_case();
  ASSERT_TRUE(skip.has_value()) << skip.error().to_string();
  EXPECT_EQ((*skip)->stats().examples, 3);
  EXPECT_EQ((*skip)->stats().damaged, 1);
  for (int i = 0; i < 6; ++i) next(**skip);
  options_.damage_policy = DamagePolicy::kSkipFile;
  auto skip_file = open_case();
  ASSERT_TRUE(skip_file.has_value());
  EXPECT_EQ((*skip_file)->stats().examples, 2);
}

// Case B036: found before training, with record number and missing bytes.
TEST_F(PretrainPipelineTest, ATruncatedShardIsFoundAtTheStart) {
  use_case("tfr_truncated_payload.tfrecord");
  const auto error = case_error();
  EXPECT_NE(error.find("record 4"), std::string::npos) << error;
  EXPECT_NE(error.find("40 of 163 bytes are missing"), std::string::npos) << error;
}

// Whatever happens to the bytes of a shard: an error, or only records that hold what they should.
TEST_F(PretrainPipelineTest, AnyDamageIsFoundAtTheStart) {
  put_shards(fs_, 12, 1, kLength);
  const std::string good = fs_.files().at("r/data-000");
  const Key key = Key::from_seed(21);
  options_.vocab_size = 200;
  for (uint32_t n = 0; n < 150; ++n) {
    RandomStream random(key.fold_in(n));
    std::string bytes = good;
    for (uint64_t change = 0; change <= random.below(3); ++change) {
      const size_t at = random.below(bytes.size());
      switch (random.below(4)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes.erase(at, random.below(40)); break;
        case 2:
          bytes.insert(at, std::string(random.below(40), static_cast<char>(random.below(256))));
          break;
        default: bytes.resize(std::max<size_t>(1, at));
      }
    }
    fs_.put("r/data-000", bytes);
    for (const auto policy : {DamagePolicy::kStop, DamagePolicy::kSkip, DamagePolicy::kSkipFile}) {
      options_.damage_policy = policy;
      auto pipeline = PretrainPipeline::open(fs_, options_, kSpecials);
      if (!pipeline) continue;
      EXPECT_LE((*pipeline)->stats().examples, 12);
      for (const int32_t number : numbers_of(next(**pipeline))) EXPECT_LT(number, 12);
    }
  }
}

// Case B040: two lengths in one file.
TEST_F(PretrainPipelineTest, MixedLengths) {
  use_case("tfr_mixed_seq_len.tfrecord");
  const auto error = case_error();
  for (const char* part : {"tfr_mixed_seq_len.tfrecord", "record 1", "input_ids", "64", "32"})
    EXPECT_NE(error.find(part), std::string::npos) << error;
  options_.damage_policy = DamagePolicy::kSkip;
  EXPECT_EQ((*open_case())->stats().examples, 1);
  options_.damage_policy = DamagePolicy::kStop;
  options_.max_seq_length = 64;
  options_.pad = true;
  EXPECT_EQ((*open_case())->stats().examples, 2);
}

// Case B042.
TEST_F(PretrainPipelineTest, AMissingFeatureIsNamedWithWhatWasFound) {
  use_case("tfr_missing_key.tfrecord", 16);
  const auto error = case_error();
  EXPECT_NE(error.find("feature 'segment_ids' is missing; found: input_ids (16 int64), input_mask"),
            std::string::npos)
      << error;
}

// Case B060.
TEST_F(PretrainPipelineTest, AnEmptyShardIsRefused) {
  use_case("tfr_zero_bytes.tfrecord");
  EXPECT_NE(case_error().find("no records"), std::string::npos);
}

TEST_F(PretrainPipelineTest, FingerprintNamesWhatDiffers) {
  put_shards(fs_, 20, 2, kLength);
  const Json saved = open()->fingerprint();
  EXPECT_TRUE(check_same_data(saved, open()->fingerprint()).has_value());
  const auto error = [&] {
    const auto same = check_same_data(saved, open()->fingerprint());
    EXPECT_FALSE(same.has_value());
    return same ? "" : same.error().message;
  };
  options_.seed = 8;
  EXPECT_EQ(error(), "seed was 3 when the run began, now it is 8: batches would differ");
  options_.seed = 3;
  options_.records = "r/data-000";
  EXPECT_EQ(error(), "data-001 belongs to the run, but not to the records given now");
  options_.records = "r/*";
  fs_.put("r/data-002", framed({make_record(50, kLength)}));
  EXPECT_EQ(error(), "data-002 is new: the run began without it");
  ASSERT_TRUE(fs_.remove("r/data-002").has_value());
  fs_.put("r/data-001", framed({make_record(50, kLength)}));
  EXPECT_NE(error().find("data-001 is not the file the run began with: bytes was"),
            std::string::npos);
  EXPECT_FALSE(check_same_data(Json::object(), saved).has_value());
  EXPECT_FALSE(
      check_same_data(*parse_json("{\"files\": [3], \"options\": {}}", "x"), saved).has_value());
}

}  // namespace
}  // namespace headwater
