#include "report/finished_run.h"

#include <nlohmann/json.hpp>

#include "finetune/finetune_options.h"
#include "finetune/task_data.h"
#include "report/json_files.h"

namespace headwater {
namespace {

constexpr int kDeepest = 2;

Result<> take_results(const Json& results, const std::string& path, FinishedRun& run) {
  run.task = text_of(member(results, "task"));
  run.problem_type = text_of(member(results, "problem_type"));
  run.best_step = whole_of(member(results, "best_step"));
  run.steps = whole_of(member(results, "steps"));
  const Json seconds = member(results, "seconds"), seed = member(results, "seed");
  if (seconds.is_number()) run.seconds = seconds.get<double>();
  const Json splits = member(results, "splits");
  if (!seed.is_number_integer()) return fail(Code::kInvalidArgument, "{}: no seed", path);
  run.seed = seed.get<int64_t>();
  run.split = member(splits, "test").is_object() ? "test" : "dev";
  const Json metrics = member(splits, run.split);
  for (const auto& [name, value] : metrics.items())
    if (value.is_number()) run.metrics[name] = value.get<double>();
  if (run.metrics.empty())
    return fail(Code::kInvalidArgument, "{}: no metrics of test or dev", path);
  for (const Json& label : member(results, "labels"))
    run.labels.push_back(label.is_string() ? label.get<std::string>() : dump_json(label));
  const Json per_label = member(member(results, "per_label"), run.split);
  for (const auto& [label, facts] : per_label.items())
    run.support[label] = whole_of(member(facts, "support"));
  return {};
}

}  // namespace

Result<FinishedRun> FinishedRun::read(FileSystem& fs, const std::string& folder) {
  FinishedRun run;
  run.folder = folder;
  const std::string results_path = join_path(folder, "results.json");
  HW_ASSIGN_OR_RETURN(const Json results, read_object(fs, results_path));
  HW_RETURN_IF_ERROR(take_results(results, results_path, run));
  HW_ASSIGN_OR_RETURN(const Json meta, read_object(fs, join_path(folder, "run.json")));
  const Json options = member(meta, "options"), data = member(meta, "data");
  for (const auto& [name, value] : options.items()) run.options[name] = dump_json(value);
  for (const auto& [name, value] : data.items())
    run.digests[name] = value.is_string() ? value.get<std::string>() : dump_json(value);
  HW_ASSIGN_OR_RETURN(run.series, read_metric_series(fs, join_path(folder, "metrics.jsonl")));
  const std::string predictions = join_path(folder, "predictions.jsonl");
  const bool multi_label = run.problem_type == "multi_label_classification";
  if ((multi_label || run.problem_type == "single_label_classification") &&
      fs.exists(predictions)) {
    HW_ASSIGN_OR_RETURN(run.predictions,
                        TestPredictions::read(fs, predictions, multi_label, run.labels));
  }
  return run;
}

std::vector<std::string> example_texts(FileSystem& fs, const FinishedRun& run) {
  FinetuneOptions options;
  Fields fields;
  options.describe(fields);
  for (const auto& [name, text] : run.options) {
    const auto value = parse_json(text, name);
    // What cannot be taken leaves its default, and the digest below decides.
    if (value) static_cast<void>(fields.set_json(Json{{name, *value}}, run.folder));
  }
  const std::string& path = run.split == "test" ? options.test : options.dev;
  const auto digest = run.digests.find(run.split);
  const auto task = options.task.resolve_task(fs);
  if (path.empty() || digest == run.digests.end() || !task || !run.predictions) return {};
  const auto data = read_task_data(fs, path, *task, options.task.read_options());
  if (!data || data->digest != digest->second ||
      static_cast<int64_t>(data->examples.size()) != run.predictions->examples())
    return {};
  std::vector<std::string> texts;
  for (const TaskExample& example : data->examples)
    texts.push_back(example.text + (example.pair.empty() ? "" : "\n" + example.pair));
  return texts;
}

Result<std::vector<std::string>> find_finished_runs(FileSystem& fs, const std::string& folder) {
  std::vector<std::string> found, level = {folder};
  for (int depth = 0; depth <= kDeepest && found.empty(); ++depth) {
    std::vector<std::string> below;
    for (const std::string& one : level) {
      if (fs.exists(join_path(one, "results.json"))) found.push_back(one);
      HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, fs.list(one));
      for (const FileInfo& entry : entries)
        if (entry.is_directory) below.push_back(entry.path);
    }
    level = std::move(below);
  }
  if (found.empty()) {
    return fail_hint(Code::kNotFound, "a run that was stopped goes on with finetune --resume",
                     "{} holds no finished fine-tuning run (results.json)", folder);
  }
  return found;
}

}  // namespace headwater
