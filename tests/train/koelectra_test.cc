// A checkpoint of KoELECTRA-Base's size, with and without moments: listed, converted, and continued
// for a step. Takes 3 GB of disk, 5 GB of memory and a few minutes: runs where HW_LARGE_TESTS is
// set.
#include "koelectra.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "checkpoints/convert.h"
#include "train/small_run.h"

namespace headwater {
namespace {

class KoElectraTest : public SmallRun, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (std::getenv("HW_LARGE_TESTS") == nullptr) GTEST_SKIP() << "HW_LARGE_TESTS is not set";
    SmallRun::SetUp();
  }
};

TEST_P(KoElectraTest, IsListedConvertedAndContinued) {
  const bool slots = GetParam();
  FileSystem& fs = local_files();
  const auto prefix = write_koelectra(fs, path("tf"), 1500000, slots);
  ASSERT_TRUE(prefix) << prefix.error().to_string();

  auto weights = ModelWeights::open(fs, path("tf"));
  ASSERT_TRUE(weights) << weights.error().to_string();
  EXPECT_EQ(weights->step(), 1500000);
  EXPECT_EQ(weights->items().size(), slots ? 1200u : 400u);
  ConvertOptions convert;
  convert.output_dir = path("hf");
  const auto report = convert_weights(fs, *weights, convert);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->moments_dropped, slots ? 800 : 0);
  convert.to = WeightsFormat::kTensorFlow;
  convert.output_dir = path("back");
  const auto pair = ModelWeights::open(fs, path("hf"));
  ASSERT_TRUE(pair) << pair.error().to_string();
  ASSERT_TRUE(convert_weights(fs, *pair, convert));
  if (!slots) {  // the same bits, but for the step, which a Hugging Face directory does not have
    const auto a = open_weights(fs, *prefix), b = open_weights(fs, path("back"));
    ASSERT_TRUE(a && b);
    for (size_t i = 0; i < (*a)->entries().size(); ++i) {
      const std::string& name = (*a)->entries()[i].name;
      if (name == "global_step") continue;
      const auto same = (*b)->find(name);
      ASSERT_TRUE(same) << name;
      const auto x = (*a)->read_bytes(i), y = (*b)->read_bytes(*same);
      ASSERT_TRUE(x && y);
      EXPECT_TRUE(std::ranges::equal(x->bytes(), y->bytes())) << name;
    }
  }

  ASSERT_EQ(pretrain("run", {{"init_checkpoint", path("tf")},
                             {"start_learning_rate", "2e-4"},
                             {"extra_steps", "2"},
                             {"log_steps", "1"},
                             {"model_size", "base"},
                             {"vocab_size", "35000"},
                             {"embedding_size", "768"},
                             {"generator_hidden_size", "0.33333"},
                             {"model_hparam_overrides", "{}"},
                             {"eval_steps", "0"}}),
            0);
  const auto place = latest_checkpoint(fs, path("run"));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->step, 1500002);
  const Json meta = *parse_json(read_checkpoint_manifest(fs, place->path)->meta, "meta");
  EXPECT_EQ(meta.at("slots_missing").get<bool>(), !slots);
  EXPECT_EQ(meta.at("start_report").get<std::string>(), "loaded 400 tensors");
}

INSTANTIATE_TEST_SUITE_P(Slots, KoElectraTest, testing::Bool());

}  // namespace
}  // namespace headwater
