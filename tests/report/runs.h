// Folders as training, fine-tuning and `records build` leave them, made up for tests.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/threefry.h"
#include "io/file.h"

namespace headwater::report_test {

inline void put(FileSystem& fs, const std::string& path, const std::string& text) {
  HW_CHECK(fs.make_directories(directory_name(path)).has_value(), "{}", path);
  HW_CHECK(write_file_atomic(fs, path, text).has_value(), "{}", path);
}
inline void put(FileSystem& fs, const std::string& path, const Json& json) {
  put(fs, path, dump_json(json));
}

// An ELECTRA run of `lines` reports with curves that move, and held-out values at every tenth.
inline void put_pretraining(FileSystem& fs, const std::string& folder, int lines) {
  put(fs, folder + "/run.json",
      Json{
          {"version", "0.1.0"},
          {"start_report", ""},
          {"options",
           {{"records", "records/*"}, {"output_dir", folder}, {"max_seq_length", 64}, {"seed", 7}}},
          {"data",
           {{"files",
             {{{"name", "a.tfrecord"}, {"bytes", 10}, {"records", 2}, {"checksum", "00ff"}}}}}},
          {"models", Json::object()},
          {"vocabulary", {{"sha256", std::string(64, 'a')}}}});
  std::string text = R"({"step":0,"split":"baseline","unigram_loss":6.75,"bigram_loss":4.66})"
                     "\n";
  for (int i = 1; i <= lines; ++i) {
    const double fall = std::exp(-i / (lines / 3.0)), wave = 0.05 * std::sin(i * 1.7);
    Json values = {{"step", 10 * i}, {"split", "train"}, {"masked_lm_loss", 4 + 4 * fall + wave}};
    values["disc_loss"] = i < 4 ? Json(nullptr) : Json(0.3 + 0.1 * fall);
    values["learning_rate"] = 1e-3 * i / lines, values["tokens_per_second"] = 6000 + 100 * wave;
    text += dump_json(values) + "\n";
    if (i % 10 == 0)
      text += dump_json(Json{
                  {"step", 10 * i}, {"split", "heldout"}, {"masked_lm_loss", 4.1 + 4 * fall}}) +
              "\n";
  }
  put(fs, folder + "/metrics.jsonl", text);
}

// Labels 0 .. n-1 of rows, by chance: gold labels depend on the row, decisions on the run too, and
// are right with probability `skill`.
struct FineTuning {
  std::string folder;
  int64_t seed = 0;
  double skill = 0.8;
  std::string model = "models/base";
  std::vector<std::string> labels = {"기쁨", "슬픔", "화남"};
  int64_t rows = 60;
  bool multi_label = true;
  Json options = {{"task", "kote"}, {"learning_rate", 5e-5}};
};

inline void put_finetuning(FileSystem& fs, const FineTuning& run) {
  const Key gold = Key::from_seed(99);
  const Key chance = Key::from_seed(static_cast<uint64_t>(run.seed)).fold_in("chance");
  const auto n = static_cast<uint64_t>(run.labels.size());
  std::string predictions;
  double both = 0, sizes = 0, right = 0;
  for (int64_t row = 0; row < run.rows; ++row) {
    const auto at = static_cast<uint64_t>(row);
    std::vector<int64_t> truth, chosen;
    if (run.multi_label) {
      for (uint64_t label = 0; label < n; ++label) {
        const bool is = gold.uniform(at * n + label) < 0.4;
        const bool hit = chance.uniform(at * n + label) < run.skill;
        if (is) truth.push_back(static_cast<int64_t>(label));
        if (is == hit) chosen.push_back(static_cast<int64_t>(label));
        both += is && hit, sizes += is + (is == hit);
      }
    } else {
      truth = {static_cast<int64_t>(gold.below(at, n))};
      chosen = {chance.uniform(at) < run.skill ? truth[0]
                                               : (truth[0] + 1) % static_cast<int64_t>(n)};
    }
    right += truth == chosen;
    predictions += dump_json(Json{{"id", row}, {"labels", truth}, {"predicted", chosen}}) + "\n";
  }
  Json metrics = {{"auroc_macro", run.skill}, {"log_loss", 1 - run.skill}};
  if (run.multi_label) metrics["f1_micro"] = 2 * both / sizes;
  metrics["exact_match"] = right / static_cast<double>(run.rows);
  if (!run.multi_label) metrics["accuracy"] = right / static_cast<double>(run.rows);
  Json options = run.options;
  options["model"] = run.model, options["seed"] = run.seed, options["output_dir"] = run.folder;
  put(fs, run.folder + "/run.json",
      Json{{"version", "0.1.0"},
           {"options", options},
           {"data", {{"test", "t"}, {"train", "r"}, {"model", run.model}}}});
  put(fs, run.folder + "/predictions.jsonl", predictions);
  std::string lines;
  for (int step = 10; step <= 100; step += 10) {
    const double loss = 0.7 - 0.004 * step * run.skill + 0.01 * static_cast<double>(run.seed);
    lines += dump_json(Json{{"step", step}, {"split", "train"}, {"loss", loss}}) + "\n";
  }
  put(fs, run.folder + "/metrics.jsonl", lines);
  put(fs, run.folder + "/results.json",
      Json{{"task", "kote"},
           {"problem_type",
            run.multi_label ? "multi_label_classification" : "single_label_classification"},
           {"labels", run.labels},
           {"splits", {{"test", metrics}}},
           {"seed", run.seed},
           {"best_step", 90},
           {"steps", 100},
           {"seconds", 12.5}});
}

inline std::vector<std::string> put_side(FileSystem& fs, const std::string& folder, double skill,
                                         int64_t seeds, bool multi_label = true) {
  std::vector<std::string> folders;
  for (int64_t seed = 1; seed <= seeds; ++seed) {
    FineTuning run{.folder = fmt::format("{}/seed-{}", folder, seed),
                   .seed = seed,
                   .skill = skill,
                   .model = "models/" + folder,
                   .multi_label = multi_label};
    put_finetuning(fs, run);
    folders.push_back(run.folder);
  }
  return folders;
}

}  // namespace headwater::report_test
