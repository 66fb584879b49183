#include "report/paired_runs.h"

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/log.h"
#include "checkpoints/native.h"
#include "finetune/finetune_run.h"
#include "finetune/table_file.h"
#include "finetune/task_model.h"
#include "report/json_files.h"

namespace headwater {
namespace {

// Options that change nothing of what a finished run found.
constexpr std::array kFreeOptions = {"resume", "threads", "log_steps", "keep_checkpoints"};

// Those that a comparison sets itself.
constexpr std::array kOwnOptions = {"model", "output_dir", "seed", "resume"};

struct Run {
  std::string folder;
  FinetuneOptions options;
  Fields fields;
};

// Its fields point into its options: it stays where it is.
Result<std::unique_ptr<Run>> make_run(const PairedRuns& runs, const std::string& side,
                                      const std::string& model, int64_t seed) {
  auto run = std::make_unique<Run>();
  run->folder = paired_run_folder(runs.output_dir, side, seed);
  run->options.describe(run->fields);
  HW_RETURN_IF_ERROR(run->fields.set_json_text(runs.options, "compare"));
  HW_RETURN_IF_ERROR(run->fields.set_json(
      Json{{"model", model}, {"output_dir", run->folder}, {"seed", seed}}, "compare"));
  HW_RETURN_IF_ERROR(run->options.resolve(run->fields));
  return run;
}

Result<Json> present_digests(FileSystem& fs, const FinetuneOptions& options) {
  Json digests = Json::object();
  for (const auto& [name, path] :
       {std::pair("train", &options.train), std::pair("dev", &options.dev),
        std::pair("test", &options.test)}) {
    if (path->empty()) continue;
    HW_ASSIGN_OR_RETURN(const std::string text, read_text_file(fs, *path));
    digests[name] = sha256_hex(text);
  }
  HW_ASSIGN_OR_RETURN(digests["model"], model_digest(fs, options.model));
  return digests;
}

// Whether the run in the folder is finished; an error if it is another one.
Result<bool> is_done(FileSystem& fs, const Run& run, const Json& digests) {
  if (!fs.exists(join_path(run.folder, "run.json"))) return false;
  HW_ASSIGN_OR_RETURN(const Json meta, read_object(fs, join_path(run.folder, "run.json")));
  std::vector<std::string> changed;
  const Json options = run.fields.to_json(), before = member(meta, "options");
  for (const auto& [name, value] : options.items()) {
    if (std::ranges::find(kFreeOptions, name) == kFreeOptions.end() &&
        member(before, name) != value)
      changed.push_back(name);
  }
  for (const auto& [name, value] : digests.items())
    if (member(member(meta, "data"), name) != value) changed.push_back("content of " + name);
  if (changed.empty()) return fs.exists(join_path(run.folder, "results.json"));
  return fail_hint(Code::kFailedPrecondition, "name another --output-dir, or remove that folder",
                   "{} holds a run that differs in: {}", run.folder, fmt::join(changed, ", "));
}

}  // namespace

std::string paired_run_folder(const std::string& output_dir, const std::string& side,
                              int64_t seed) {
  return join_path(join_path(output_dir, side), fmt::format("seed-{}", seed));
}

void describe_run_options(FinetuneOptions& options, Fields& fields) {
  Fields runs;
  options.describe(runs);
  for (Field& field : runs.all()) {
    if (std::ranges::find(kOwnOptions, field.name) != kOwnOptions.end()) continue;
    field.required = false;  // finished runs need none
    field.group = "Runs: " + field.group;
    fields.all().push_back(std::move(field));
  }
}

std::string given_run_options(const Fields& fields) {
  FinetuneOptions options;
  Fields known;
  describe_run_options(options, known);
  const Json values = fields.to_json();
  Json given = Json::object();
  for (const Field& field : fields.all()) {
    if (!field.is_default() && known.find(field.name) != nullptr)
      given[field.name] = values[field.name];
  }
  return dump_json(given);
}

Json telling_run_options(const std::string& options) {
  Json telling = parse_json(options, "options of the runs").value_or(Json::object());
  for (const char* name : kFreeOptions) telling.erase(name);
  return telling;
}

Result<int> run_pairs(FileSystem& fs, const PairedRuns& runs) {
  std::vector<std::unique_ptr<Run>> waiting;
  std::vector<Json> digests(runs.models.size());
  int64_t done = 0;
  for (int64_t i = 0; i < runs.seeds; ++i) {
    for (size_t side = 0; side < runs.models.size(); ++side) {
      const auto& [name, model] = runs.models[side];
      HW_ASSIGN_OR_RETURN(auto run, make_run(runs, name, model, runs.first_seed + i));
      if (i == 0) {
        HW_ASSIGN_OR_RETURN(digests[side], present_digests(fs, run->options));
      }
      HW_ASSIGN_OR_RETURN(const bool finished, is_done(fs, *run, digests[side]));
      if (finished) ++done;
      else waiting.push_back(std::move(run));
    }
  }
  if (done > 0) log_info("{} runs are there and stay as they are", done);
  for (size_t i = 0; i < waiting.size(); ++i) {
    Run& run = *waiting[i];
    log_info("run {} of {}: {}", i + 1, waiting.size(), run.folder);
    if (latest_checkpoint(fs, run.folder))
      HW_RETURN_IF_ERROR(run.fields.set_text("resume", "true", "compare"));
    auto code = run_finetuning(run.options, run.fields);
    if (!code) return in_context(std::move(code).error(), run.folder);
    if (*code != 0) return code;
  }
  return 0;
}

}  // namespace headwater
