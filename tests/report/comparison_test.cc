// Comparisons of finished runs: what they claim, what they refuse, and that numbers are those of
// the runs.
#include "report/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/memory_files.h"
#include "report/finished_run.h"
#include "report/report_data.h"
#include "report/runs.h"
#include "report/statistics.h"

namespace headwater {
namespace {

using report_test::FineTuning;
using report_test::put_finetuning;
using report_test::put_side;

constexpr ComparisonOptions kQuick = {.resamples = 200};

Result<Json> compare(FileSystem& fs, std::vector<std::string> base,
                     std::vector<std::string> adapted, const ComparisonOptions& options = kQuick) {
  const std::vector<ComparisonSide> sides = {{"base", std::move(base)},
                                             {"adapted", std::move(adapted)}};
  return compare_runs(fs, sides, options);
}

const Json& metric(const Json& comparison, const std::string& name, size_t pair = 0) {
  const Json& all = comparison["pairs"][pair]["metrics"];
  return *std::ranges::find_if(all, [&](const Json& m) { return m["metric"] == name; });
}

TEST(Comparison, ClaimsALargeDifferenceOfManySeeds) {
  MemoryFileSystem fs;
  const Json c =
      compare(fs, put_side(fs, "base", 0.7, 7), put_side(fs, "adapted", 0.85, 7)).value();
  const Json& f1 = metric(c, "f1_micro");
  EXPECT_TRUE(f1["claimed"].get<bool>());
  EXPECT_EQ(f1["p"].get<double>(), smallest_p(7));
  EXPECT_GT(f1["interval"][0].get<double>(), 0);
  EXPECT_EQ(f1["resampled"], "seeds and examples");
  EXPECT_FALSE(metric(c, "auroc_macro")["tested"].get<bool>());
  EXPECT_EQ(metric(c, "auroc_macro")["resampled"], "seeds");
  EXPECT_NEAR(metric(c, "log_loss")["gain"].get<double>(), 0.15, 1e-12);
  EXPECT_NE(dump_json(c["pairs"][0]["verdict"]).find("f1_micro is better"), std::string::npos);
  // The numbers are those of results.json.
  const FinishedRun run = FinishedRun::read(fs, "adapted/seed-3").value();
  EXPECT_EQ(c["sides"][1]["metrics"]["f1_micro"][2].get<double>(), run.metrics.at("f1_micro"));
  EXPECT_EQ(c["sides"][1]["model"], "models/adapted");
  EXPECT_EQ(c["sides"][0]["seconds"].get<double>(), 7 * 12.5);
}

TEST(Comparison, FiveSeedsClaimNothing) {
  MemoryFileSystem fs;
  const Json c =
      compare(fs, put_side(fs, "base", 0.6, 5), put_side(fs, "adapted", 0.95, 5)).value();
  EXPECT_FALSE(metric(c, "f1_micro")["claimed"].get<bool>());
  const std::string verdict = dump_json(c["pairs"][0]["verdict"]);
  EXPECT_NE(verdict.find("No difference can be claimed"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("at least 6"), std::string::npos) << verdict;
}

TEST(Comparison, OfItselfIsNothing) {
  MemoryFileSystem fs;
  const auto runs = put_side(fs, "base", 0.8, 6);
  const Json c = compare(fs, runs, runs).value();
  for (const Json& m : c["pairs"][0]["metrics"]) {
    EXPECT_EQ(m["difference"], 0.0) << m;
    EXPECT_EQ(m["interval"], (Json{0.0, 0.0})) << m;
    EXPECT_FALSE(m["claimed"].get<bool>()) << m;
  }
  EXPECT_EQ(metric(c, "f1_micro")["p_holm"], 1.0);
  EXPECT_EQ(c["pairs"][0]["flips"]["same"], 60);
  EXPECT_TRUE(c["pairs"][0]["flips"]["examples"].empty());
  EXPECT_NE(dump_json(c["pairs"][0]["verdict"]).find("No difference can be claimed"),
            std::string::npos);
}

TEST(Comparison, OneSeedHasAnIntervalOfItsExamplesAndNoClaim) {
  MemoryFileSystem fs;
  const Json c =
      compare(fs, put_side(fs, "base", 0.6, 1), put_side(fs, "adapted", 0.95, 1)).value();
  const Json& f1 = metric(c, "f1_micro");
  EXPECT_LT(f1["interval"][0].get<double>(), f1["interval"][1].get<double>());
  EXPECT_EQ(f1["p_holm"], 1.0);
  EXPECT_TRUE(f1["from"]["deviation"].is_null());
}

TEST(Comparison, ControlIsHeldAgainstBoth) {
  MemoryFileSystem fs;
  const std::vector<ComparisonSide> sides = {{"base", put_side(fs, "base", 0.7, 3)},
                                             {"adapted", put_side(fs, "adapted", 0.8, 3)},
                                             {"control", put_side(fs, "control", 0.75, 3)}};
  const Json c = compare_runs(fs, sides, kQuick).value();
  ASSERT_EQ(c["pairs"].size(), 3u);
  EXPECT_EQ(c["pairs"][1]["from"], "control");
  EXPECT_EQ(c["pairs"][1]["to"], "adapted");
  EXPECT_NEAR(metric(c, "f1_micro", 0)["difference"].get<double>(),
              metric(c, "f1_micro", 1)["difference"].get<double>() +
                  metric(c, "f1_micro", 2)["difference"].get<double>(),
              1e-12);
}

TEST(Comparison, LabelsAndFlipsAreCounted) {
  MemoryFileSystem fs;
  const Json c =
      compare(fs, put_side(fs, "base", 0.7, 3, false), put_side(fs, "adapted", 0.8, 3, false))
          .value();
  EXPECT_EQ(c["pairs"][0]["labels"].size(), 3u);
  int64_t support = 0;
  for (const Json& row : c["pairs"][0]["labels"]) support += row["support"].get<int64_t>();
  EXPECT_EQ(support, 60);
  const Json& flips = c["pairs"][0]["flips"];
  EXPECT_EQ(
      flips["gained"].get<int64_t>() + flips["lost"].get<int64_t>() + flips["same"].get<int64_t>(),
      60);
  // In these runs more skill is right wherever less is.
  EXPECT_GT(flips["gained"].get<int64_t>(), 0);
  EXPECT_EQ(flips["lost"], 0);
  EXPECT_GT(flips["examples"][0]["change"].get<double>(), 0);
  EXPECT_EQ(flips["examples"][0]["from_predicted"].size() <= 1, true);
}

TEST(Comparison, IsTheSameTwice) {
  MemoryFileSystem fs;
  const auto base = put_side(fs, "base", 0.7, 3), adapted = put_side(fs, "adapted", 0.75, 3);
  EXPECT_EQ(compare(fs, base, adapted).value(), compare(fs, base, adapted).value());
}

TEST(Comparison, PairsBySeedAndNamesWhatIsLeftOut) {
  MemoryFileSystem fs;
  auto base = put_side(fs, "base", 0.7, 4);
  std::ranges::reverse(base);
  const Json c = compare(fs, base, put_side(fs, "adapted", 0.8, 3)).value();
  EXPECT_EQ(c["seeds"], (Json{1, 2, 3}));
  EXPECT_NE(dump_json(c["notes"]).find("Seed 4 of base is left out"), std::string::npos);
}

TEST(Comparison, OtherSettingsAreListed) {
  MemoryFileSystem fs;
  const auto base = put_side(fs, "base", 0.7, 2);
  FineTuning run{.folder = "other/1", .seed = 1, .model = "models/other"};
  run.options["learning_rate"] = 1e-4;
  put_finetuning(fs, run);
  const Json c = compare(fs, base, {"other/1"}).value();
  ASSERT_EQ(c["differences"].size(), 1u) << c["differences"];
  EXPECT_EQ(c["differences"][0]["option"], "learning_rate");
  EXPECT_EQ(c["differences"][0]["values"]["adapted"], "0.0001");
  EXPECT_NE(dump_json(c["notes"]).find("other settings"), std::string::npos);
}

TEST(Comparison, RefusesWhatCannotBeCompared) {
  MemoryFileSystem fs;
  const auto base = put_side(fs, "base", 0.7, 2);
  const auto error = [&](const FineTuning& run, const ComparisonOptions& options = kQuick) {
    put_finetuning(fs, run);
    const auto result = compare(fs, base, {run.folder}, options);
    return result ? "" : result.error().to_string();
  };
  EXPECT_NE(error({.folder = "a", .seed = 9}).find("no seed in common"), std::string::npos);
  EXPECT_NE(error({.folder = "b", .seed = 1, .labels = {"하나", "둘"}}).find("list of labels"),
            std::string::npos);
  EXPECT_NE(error({.folder = "c", .seed = 1, .multi_label = false}).find("problem type"),
            std::string::npos);
  EXPECT_NE(error({.folder = "d", .seed = 1, .rows = 59}).find("number of examples"),
            std::string::npos);
  const std::string unknown = error({.folder = "e", .seed = 1}, {.metrics = {"f1_makro"}});
  EXPECT_NE(unknown.find("f1_makro"), std::string::npos);
  EXPECT_NE(unknown.find("f1_micro"), std::string::npos);
  const auto twice = compare(fs, {"base/seed-1", "base/seed-1"}, base);
  EXPECT_NE(twice.error().to_string().find("both have seed 1"), std::string::npos);
}

TEST(Comparison, DamagedFoldersAreNamed) {
  MemoryFileSystem fs;
  const auto base = put_side(fs, "base", 0.7, 1);
  const auto damaged = [&](const std::string& file, const std::string& text) {
    FineTuning run{.folder = "run", .seed = 1};
    put_finetuning(fs, run);
    report_test::put(fs, "run/" + file, text);
    const auto result = compare(fs, base, {"run"});
    return result ? "" : result.error().to_string();
  };
  EXPECT_NE(damaged("results.json", "{}").find("run/results.json"), std::string::npos);
  EXPECT_NE(damaged("results.json", "{\"seed\": 1}").find("no metrics"), std::string::npos);
  EXPECT_NE(damaged("results.json", "[").find("run/results.json"), std::string::npos);
  EXPECT_NE(damaged("predictions.jsonl", "").find("no predictions"), std::string::npos);
  EXPECT_NE(damaged("predictions.jsonl", "{\"labels\": [1], \"predicted\": [3]}\n")
                .find("predictions.jsonl:1"),
            std::string::npos);
  EXPECT_NE(damaged("predictions.jsonl", "{\"labels\": [1]}\n").find("\"predicted\""),
            std::string::npos);
  EXPECT_NE(
      damaged("predictions.jsonl", "{\"labels\": [\"분노\"], \"predicted\": []}\n").find("분노"),
      std::string::npos);
}

// What a disk or a hand made of the files: an answer or an error, whatever the bytes.
TEST(Comparison, MutatedFilesAreTakenOrRefused) {
  MemoryFileSystem fs;
  const auto base = put_side(fs, "base", 0.7, 1);
  put_finetuning(fs, {.folder = "run", .seed = 1, .rows = 12});
  put_finetuning(fs, {.folder = "base/seed-1", .seed = 1, .rows = 12});
  const Key key = Key::from_seed(6);
  for (uint32_t i = 0; i < 600; ++i) {
    RandomStream random(key.fold_in(i));
    const std::string path =
        std::vector<std::string>{"run/results.json", "run/run.json", "run/predictions.jsonl",
                                 "run/metrics.jsonl"}[random.below(4)];
    const std::string whole = read_file(fs, path).value();
    std::string text = whole;
    for (uint64_t n = random.below(3) + 1; n > 0; --n) {
      const size_t at = random.below(text.size());
      if (random.below(2) == 0) text[at] = "{}[]\",:0-9ntx\n"[random.below(14)];
      else text.erase(at, random.below(20));
      if (text.empty()) text = "0";
    }
    report_test::put(fs, path, text);
    const auto result = compare(fs, base, {"run"}, {.resamples = 2});
    EXPECT_TRUE(!result || !dump_json(*result).empty());
    EXPECT_TRUE(gather_report(fs, std::vector<std::string>{"base"}));
    const auto data = gather_report(fs, std::vector<std::string>{"run"});
    EXPECT_TRUE(data || data.error().to_string().find("run") != std::string::npos);
    report_test::put(fs, path, whole);
  }
}

TEST(Comparison, FindsRunsBelowAFolder) {
  MemoryFileSystem fs;
  put_side(fs, "out/base", 0.7, 3);
  EXPECT_EQ(find_finished_runs(fs, "out/base").value().size(), 3u);
  EXPECT_EQ(find_finished_runs(fs, "out/base/seed-2").value(),
            (std::vector<std::string>{"out/base/seed-2"}));
  EXPECT_EQ(find_finished_runs(fs, "out").value().size(), 3u);
  EXPECT_EQ(find_finished_runs(fs, "nowhere").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headwater
