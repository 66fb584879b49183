#include "report/report_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "records/record_files.h"
#include "report/json_files.h"
#include "report/metric_series.h"
#include "train/pretrain_options.h"
#include "train/train_options.h"

namespace headwater {
namespace {

constexpr int kDeepest = 4;
constexpr size_t kDrawnPoints = 600;  // of a curve: more than a chart has pixels to show
constexpr size_t kListedFiles = 1000;

// Lists that only grow the page: their number stays, and their first entries.
Json shortened(Json list) {
  if (list.is_array() && list.size() > kListedFiles)
    list.erase(list.begin() + static_cast<ptrdiff_t>(kListedFiles), list.end());
  return list;
}

Json pair_of(const MetricPoint& point) { return Json::array({point.step, point.value}); }

Json series_json(const MetricSeries& series) {
  const auto [low, high] = std::ranges::minmax_element(series.points, {}, &MetricPoint::value);
  Json points = Json::array();
  for (const MetricPoint& point : thinned(series.points, kDrawnPoints))
    points.push_back(pair_of(point));
  return {{"split", series.split},
          {"metric", series.metric},
          {"count", series.points.size()},
          {"first", pair_of(series.points.front())},
          {"last", pair_of(series.points.back())},
          {"lowest", pair_of(*low)},
          {"highest", pair_of(*high)},
          {"points", std::move(points)}};
}

std::string verb_of(const Json& run) {
  if (run.contains("models")) return "pretrain";
  return run.contains("objective") ? "train" : text_of(member(run, "verb"));
}

Result<Json> run_json(FileSystem& fs, const std::string& folder) {
  HW_ASSIGN_OR_RETURN(const Json run, read_object(fs, join_path(folder, "run.json")));
  const Json options = member(run, "options"), data = member(run, "data");
  Json out = {{"folder", folder},
              {"verb", verb_of(run)},
              {"version", member(run, "version")},
              {"command", command_of(verb_of(run), options)},
              {"start", member(run, "start_report")},
              {"options", options},
              {"vocabulary", member(member(run, "vocabulary"), "sha256")}};
  const Json files = member(data, "files");
  if (files.is_array()) out["files"] = shortened(files), out["file_count"] = files.size();
  else out["digests"] = data;
  Json series = Json::array();
  const std::string metrics = join_path(folder, "metrics.jsonl");
  if (fs.exists(metrics)) {
    HW_ASSIGN_OR_RETURN(const auto all, read_metric_series(fs, metrics));
    for (const MetricSeries& one : all) series.push_back(series_json(one));
  }
  out["series"] = std::move(series);
  const std::string results = join_path(folder, "results.json");
  if (fs.exists(results)) {
    HW_ASSIGN_OR_RETURN(out["results"], read_object(fs, results));
  }
  return out;
}

Json records_json(const std::string& folder, Json manifest) {
  Json out = {{"folder", folder},
              {"task", member(manifest, "headwater_records")},
              {"version", member(manifest, "version")}};
  for (const char* key : {"counts", "vocabulary", "options"}) out[key] = member(manifest, key);
  const Json inputs = member(manifest, "inputs");
  for (const char* key : {"files", "bytes", "sha256"}) out["inputs"][key] = member(inputs, key);
  out["shards"] = member(manifest, "shards").size();
  return out;
}

class Gatherer {
 public:
  explicit Gatherer(FileSystem& fs) : fs_(fs) {}

  Result<> walk(const std::string& folder, int depth) {
    if (!seen_.insert(folder).second) return {};
    HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, fs_.list(folder));
    const auto holds = [&](std::string_view name) {
      return std::ranges::any_of(entries, [&](const FileInfo& entry) {
        return !entry.is_directory && base_name(entry.path) == name;
      });
    };
    if (holds("comparison.json")) {
      const std::string path = join_path(folder, "comparison.json");
      HW_ASSIGN_OR_RETURN(Json comparison, read_object(fs_, path));
      if (whole_of(member(comparison, "headwater_comparison")) != 1)
        return fail_hint(Code::kInvalidArgument, "compare the runs again",
                         "{} is not a comparison of this program's version", path);
      comparison["folder"] = folder;
      comparisons.push_back(std::move(comparison));
      return {};
    }
    if (holds("run.json")) {
      HW_ASSIGN_OR_RETURN(Json run, run_json(fs_, folder));
      runs.push_back(std::move(run));
    }
    if (holds(kRecordsManifest)) {
      HW_ASSIGN_OR_RETURN(Json manifest, read_object(fs_, join_path(folder, kRecordsManifest)));
      if (manifest.contains("headwater_records"))
        records.push_back(records_json(folder, std::move(manifest)));
    }
    for (const FileInfo& entry : entries) {
      if (!entry.is_directory || depth == kDeepest) continue;
      if (base_name(entry.path).starts_with("checkpoint-")) continue;
      HW_RETURN_IF_ERROR(walk(entry.path, depth + 1));
    }
    return {};
  }

  bool saw(const std::string& folder) const { return seen_.contains(folder); }
  size_t found() const { return records.size() + runs.size() + comparisons.size(); }

  Json records = Json::array(), runs = Json::array(), comparisons = Json::array();

 private:
  FileSystem& fs_;
  std::set<std::string> seen_;
};

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,=@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string command_of(const std::string& verb, const Json& options) {
  Fields fields;
  PretrainOptions pretrain;
  TrainOptions train;
  if (verb == "pretrain") pretrain.describe(fields);
  else if (verb == "train") train.describe(fields);
  else return "";
  std::string command = "headwater " + verb;
  const Json defaults = fields.to_json();
  for (const Field& field : fields.all()) {
    const Json value = member(options, field.name), usual = defaults.value(field.name, Json());
    if (value.is_null() || value == usual) continue;
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
      if (one.is_boolean()) command += fmt::format(" {}={}", field.flag(), one.get<bool>());
      else if (one.is_string())
        command += fmt::format(" {} {}", field.flag(), shell_quoted(one.get<std::string>()));
      else command += fmt::format(" {} {}", field.flag(), shell_quoted(dump_json(one)));
    }
  }
  return command;
}

Result<Json> gather_report(FileSystem& fs, std::span<const std::string> folders) {
  Gatherer gatherer(fs);
  for (const std::string& folder : folders) {
    const size_t before = gatherer.found();
    std::string path = folder;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (gatherer.saw(path)) continue;
    HW_RETURN_IF_ERROR(gatherer.walk(path, 0));
    if (gatherer.found() > before) continue;
    return fail_hint(
        Code::kNotFound,
        "name the --output-dir of a training run, of `records build` or of `compare`",
        "{} holds no run.json, manifest.json or comparison.json, up to {} folders deep", folder,
        kDeepest);
  }
  return Json{{"version", HW_VERSION},
              {"records", std::move(gatherer.records)},
              {"runs", std::move(gatherer.runs)},
              {"comparisons", std::move(gatherer.comparisons)}};
}

}  // namespace headwater
