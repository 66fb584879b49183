// `checkpoint average`: the mean of several checkpoints of one model.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "checkpoints/native.h"
#include "checkpoints/weights_report.h"
#include "cli/checkpoint_text.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace headwater {
namespace {

struct AverageOptions {
  std::vector<std::string> paths;
  std::string output, format = "safetensors";
  bool overwrite = false;

  void describe(Fields& f) {
    f("paths", paths, "checkpoints of one model, of any format")
        .positional()
        .required()
        .value_name("PATH");
    f("output", output, "safetensors: the file to write; native: the directory of a run")
        .alias("output_dir")
        .value_name("PATH")
        .required();
    f("format", format, "what to write").alias("to").one_of({"safetensors", "native"});
    f("overwrite", overwrite, "replace the output if it is there");
  }
};

// Never over an input, and not over anything else unless asked.
Result<> check_output(const std::string& path, Sources sources, bool overwrite) {
  FileSystem& fs = local_files();
  const auto info = fs.info(path);
  if (!info) return {};
  for (const auto& source : sources) {
    if (source->path() != path) continue;
    return fail(Code::kInvalidArgument, "the output {} is one of the inputs", path);
  }
  if (info->is_directory) {
    return fail(Code::kAlreadyExists, "{} is a directory: name the file to write", path);
  }
  if (overwrite) return {};
  return fail_hint(Code::kAlreadyExists, "--overwrite replaces it", "{} is there already", path);
}

// The last checkpoint with the averages in place of its parameters, and without slots: they belong
// to a point where no run has been.
Result<std::string> write_native(const AverageOptions& options, Sources sources,
                                 const AveragePlan& plan) {
  FileSystem& fs = local_files();
  const std::string last = directory_name(sources.back()->path());
  auto state = load_checkpoint(fs, last, LoadSlots::kNo);
  if (!state) {
    return fail_hint(Code::kInvalidArgument, "leave --format out to write safetensors",
                     "{} is no checkpoint of headwater, so the average cannot be one",
                     options.paths.back());
  }
  for (NamedTensor& parameter : state->parameters) {
    const auto entry = std::find_if(plan.entries.begin(), plan.entries.end(),
                                    [&](const auto& e) { return e.name == parameter.name; });
    if (entry == plan.entries.end()) continue;
    HW_ASSIGN_OR_RETURN(const WeightBytes average, average_tensor(sources, *entry));
    std::ranges::copy(average.bytes(), parameter.tensor.data());
  }
  const std::string place = join_path(options.output, fmt::format("checkpoint-{}", state->step));
  if (fs.exists(place) && !options.overwrite) {
    return fail_hint(Code::kAlreadyExists, "--overwrite replaces it", "{} is there already", place);
  }
  for (const auto& source : sources) {
    if (directory_name(source->path()) == place)
      return fail(Code::kInvalidArgument, "the output {} is one of the inputs", place);
  }
  return save_checkpoint(fs, options.output, *state, 0);
}

Result<int> run_checkpoint_average(const AverageOptions& options) {
  std::vector<std::unique_ptr<WeightsSource>> sources;
  for (const std::string& path : options.paths) {
    HW_ASSIGN_OR_RETURN(auto source, open_weights_with_notes(path));
    sources.push_back(std::move(source));
  }
  HW_ASSIGN_OR_RETURN(const AveragePlan plan, plan_average(sources));
  std::string written = options.output;
  if (options.format == "native") {
    HW_ASSIGN_OR_RETURN(written, write_native(options, sources, plan));
  } else {
    HW_RETURN_IF_ERROR(check_output(options.output, sources, options.overwrite));
    HW_RETURN_IF_ERROR(write_average(local_files(), sources, plan, options.output));
  }
  if (plan.slots_left_out > 0) {
    log_info("{} optimizer slots are left out", grouped(plan.slots_left_out));
  }
  const std::string line = fmt::format(
      "{}: the mean of {} checkpoints, {} tensors averaged{}\n", written, sources.size(),
      grouped(plan.averaged),
      plan.taken_from_last > 0 ? fmt::format(", {} of other types taken from {}",
                                             plan.taken_from_last, sources.back()->path())
                               : "");
  std::fputs(line.c_str(), stdout);
  return 0;
}

}  // namespace

Verb make_checkpoint_average_verb() {
  return make_verb<AverageOptions>(
      {.name = "checkpoint average",
       .summary = "average the weights of several checkpoints",
       .description =
           "The mean of the last checkpoints of a run is often a better model than any of them. "
           "All must have the same tensors in the same shapes and types; sums are made in double "
           "precision, one tensor at a time. Whole numbers are taken from the last checkpoint; "
           "optimizer slots are left out.\n\n"
           "--format native writes a checkpoint that pretrain --init-checkpoint and export take; "
           "its step and options are those of the last one.",
       .examples = {{"headwater checkpoint average runs/ko/checkpoint-{800,900,1000} --output "
                     "mean.safetensors",
                     ""},
                    {"headwater checkpoint average runs/ko/checkpoint-{800,900,1000} --format "
                     "native --output mean",
                     "mean/checkpoint-1000"}}},
      run_checkpoint_average);
}

}  // namespace headwater
