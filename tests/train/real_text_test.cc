// A minute of training on real Korean text: the generator passes the unigram entropy of the corpus,
// the discriminator the entropy of its base rate. Runs where the shared corpora are; the longer run
// is described in docs/runs/.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "records/records_build.h"
#include "train/pretrain_run.h"

namespace headwater {
namespace {

namespace fs = std::filesystem;

fs::path shared_folder() {
  if (const char* given = std::getenv("HW_SHARED")) return given;
  return fs::path(HW_TESTS_DIR).parent_path().parent_path() / "shared";
}

// Sets flags as the command line does.
template <class Options>
void set_options(Options& options, Fields& fields,
                 const std::vector<std::pair<std::string, std::string>>& settings) {
  options.describe(fields);
  for (const auto& [name, value] : settings) {
    const auto set = fields.set_text(name, value, "test");
    ASSERT_TRUE(set) << set.error().to_string();
  }
  ASSERT_TRUE(options.resolve(fields));
}

void build_records(const fs::path& folder, const fs::path& vocabulary) {
  RecordsBuildOptions build;
  Fields fields;
  set_options(build, fields,
              {{"corpus_dir", (folder / "corpus").string()},
               {"vocab_file", vocabulary.string()},
               {"output_dir", (folder / "records").string()},
               {"max_seq_length", "64"},
               {"num_out_files", "4"}});
  const auto built = build_records(local_files(), build);
  ASSERT_TRUE(built) << built.error().to_string();
}

TEST(RealText, HeldOutLossesPassTheirBaselines) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "too slow under a sanitizer; the small runs cover it there";
#endif
  const fs::path corpora = shared_folder() / "data/formal";
  const fs::path vocabulary = shared_folder() / "fixtures/tokenizers/vocabs/ko3k/vocab.txt";
  if (!fs::exists(corpora) || !fs::exists(vocabulary)) {
    GTEST_SKIP() << "no shared corpora at " << corpora;
  }
  const fs::path folder = fs::path(testing::TempDir()) / "headwater_real_text";
  fs::remove_all(folder);
  fs::create_directories(folder / "corpus");
  for (const char* name : {"klue.txt.xz", "kornlu.txt.xz", "law.txt.xz"}) {
    fs::copy_file(corpora / name, folder / "corpus" / name);
  }
  build_records(folder, vocabulary);
  PretrainOptions options;
  Fields fields;
  set_options(options, fields,
              {{"records", (folder / "records/*.tfrecord*").string()},
               {"vocab_file", vocabulary.string()},
               {"output_dir", (folder / "run").string()},
               {"preset", "tiny"},
               {"num_train_steps", "180"},
               {"num_warmup_steps", "40"},
               {"generator_warmup_steps", "0"},
               {"eval_fraction", "0.05"},
               {"eval_steps", "180"},
               {"log_steps", "60"}});
  const auto code = run_pretraining(options, fields);
  ASSERT_TRUE(code) << code.error().to_string();
  std::vector<Json> held_out;
  double unigram_entropy = 0;
  std::ifstream metrics(folder / "run/metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    const Json json = Json::parse(line);
    if (json.at("split") == "baseline") unigram_entropy = json.at("unigram_entropy");
    if (json.at("split") == "heldout") held_out.push_back(json);
  }
  ASSERT_EQ(held_out.size(), 2u);
  const double vocabulary_size = 3000;
  EXPECT_NEAR(held_out[0].at("masked_lm_loss").get<double>(), std::log(vocabulary_size), 0.1);
  EXPECT_NEAR(unigram_entropy, 6.6, 0.2);
  EXPECT_LT(held_out[1].at("masked_lm_loss").get<double>(), unigram_entropy);
  EXPECT_GT(held_out[0].at("disc_loss").get<double>(), 0.6);
  EXPECT_LT(held_out[1].at("disc_loss").get<double>(),
            held_out[1].at("disc_base_entropy").get<double>());
  EXPECT_GT(held_out[1].at("disc_auc").get<double>(), 0.53);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace headwater
