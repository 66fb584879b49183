// `plan`: what a run would need of devices that need not be there.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "executors/pjrt/program_cache.h"
#include "train/plan.h"

namespace headwater {
namespace {

struct PlanOptions {
  std::vector<std::string> topology;
  std::string model, objective;
  bool search = true, json = false;
  double price_per_hour = 0;
  std::string cache_dir;
  PretrainOptions run;

  void describe(Fields& f) {
    f.group("What to plan for");
    f("topology", topology,
      "accelerators by their Cloud names (v2-8, v3-8, v3-32, v4-8, v5e-8, v5p-8, v6e-8), or cpu, "
      "cuda for a device of this machine; none: v3-8")
        .value_name("NAME");
    f("model", model,
      "a config.json of GPT-2, BERT or ELECTRA, or a folder with one; without it the ELECTRA pair "
      "of "
      "the options of pretrain below")
        .value_name("PATH");
    f("objective", objective, "of --model: clm, mlm, mlm+nsp, mlm+sop, rtd; none: the model's own");
    f("search", search, "look for the largest batch that fits, by up to eight compilations");
    f("price_per_hour", price_per_hour, "of the whole topology, to show a cost; 0: none shown")
        .non_negative();
    f("cache_dir", cache_dir,
      "keeps what compilations gave; none: headwater/plan in the user's cache folder");
    f("json", json, "print a JSON object instead of tables");
    run.describe(f);
    for (Field& field : f.all()) field.required = false;  // nothing is run
  }
  Result<> resolve(Fields& f) {
    if (topology.empty()) topology = {"v3-8"};
    HW_RETURN_IF_ERROR(f.set_defaults({{"precision", "mixed_bf16"}}, "plan"));
    return run.resolve(f);
  }
};

// One row of the answer.
struct PlanRow {
  PlanTarget target;
  PlanTrial trial;         // of the batch that was asked for
  Planner::Bounds bounds;  // empty without a search
  std::optional<RateEstimate> measured;

  double tokens_per_step(const PlannedStep& step) const {
    return static_cast<double>(trial.rows * target.num_devices * step.seq_length);
  }
  std::optional<double> compiler_rate(const PlannedStep& step) const {
    if (!trial.fits || !trial.seconds) return std::nullopt;
    return tokens_per_step(step) / *trial.seconds;
  }
  // What the days are computed from.
  std::optional<double> rate(const PlannedStep& step) const {
    if (!trial.fits) return std::nullopt;
    return measured ? measured->tokens_per_second : compiler_rate(step);
  }
};

struct Plan {
  PlannedStep step;
  double flops = 0;  // of a step
  int64_t steps = 0, state_bytes = 0, kept = 0;
  double price_per_hour = 0;
  std::vector<PlanRow> rows;

  int64_t export_bytes() const { return step.parameters * 4; }
  int64_t bucket_bytes() const { return kept * state_bytes + export_bytes(); }
  std::optional<double> days(const PlanRow& row) const {
    const auto rate = row.rate(step);
    if (!rate) return std::nullopt;
    constexpr double kSecondsPerDay = 86400;
    return static_cast<double>(steps) * row.tokens_per_step(step) / *rate / kSecondsPerDay;
  }
};

std::string or_unknown(std::optional<double> value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "unknown";
}

std::string gib(int64_t bytes) {
  return bytes > 0 ? fmt::format("{:.2f} GiB", static_cast<double>(bytes) / 0x1p30) : "unknown";
}

std::string whole(std::optional<double> value) {
  return value ? grouped(static_cast<int64_t>(*value)) : "unknown";
}

std::string largest(const PlanRow& row) {
  if (!row.bounds.fits) return row.bounds.too_many ? "none" : "-";
  const std::string rows = fmt::format("{}", row.bounds.fits->rows);
  return row.bounds.too_many ? fmt::format("{} ({} does not)", rows, *row.bounds.too_many)
                             : "at least " + rows;
}

std::string table_of(const Plan& plan) {
  TextTable table("lrrllrrrrr");
  table.add({"topology", "devices", "memory each", "rows each", "peak each", "largest that fits",
             "step (estimate)", "tokens/s (estimate)", "tokens/s (published)", "days"});
  for (const PlanRow& row : plan.rows) {
    table.add({row.target.name, fmt::format("{}", row.target.num_devices),
               gib(row.target.memory_bytes),
               fmt::format("{} {}", row.trial.rows, row.trial.fits ? "fit" : "do not fit"),
               gib(row.trial.peak_bytes), largest(row),
               row.trial.fits ? or_unknown(row.trial.seconds, "{:.3f} s") : "-",
               row.trial.fits ? whole(row.compiler_rate(plan.step)) : "-",
               row.trial.fits
                   ? (row.measured ? grouped(static_cast<int64_t>(row.measured->tokens_per_second))
                                   : "none")
                   : "-",
               row.trial.fits ? or_unknown(plan.days(row), "{:.1f}") : "-"});
  }
  return table.text();
}

std::string notes_of(const Plan& plan) {
  std::string out =
      "\nMemory is the compiler's own account. Times are the compiler's estimate, which no "
      "hardware "
      "confirmed;\nday counts use the published speed where there is one.\n";
  for (const PlanRow& row : plan.rows) {
    if (row.measured) {
      out += fmt::format(
          "{}: published: {} ({} tokens/s on {} devices), at the same arithmetic per second\n",
          row.target.name, row.measured->measured.source,
          grouped(static_cast<int64_t>(row.measured->measured.tokens_per_second)),
          row.measured->measured.num_devices);
    }
    if (const auto days = plan.days(row); days && plan.price_per_hour > 0) {
      out += fmt::format("{}: {:.0f} at {} an hour\n", row.target.name,
                         *days * 24 * plan.price_per_hour, plan.price_per_hour);
    }
    if (!row.trial.fits && row.bounds.fits) {
      out += fmt::format("{}: choose --train-batch-size {} or less\n", row.target.name,
                         row.bounds.fits->rows * row.target.num_devices);
    }
  }
  return out;
}

std::string as_text(const Plan& plan) {
  const PlannedStep& step = plan.step;
  const PlanRow& first = plan.rows.front();
  const double tokens = first.tokens_per_step(step);
  std::string out = fmt::format("model       {}, {:.1f}M parameters\n", step.name,
                                static_cast<double>(step.parameters) / 1e6);
  out += fmt::format("step        {} sequences of {} tokens, {:.3g} TFLOP ({:.0f} MFLOP a token)\n",
                     first.trial.rows * first.target.num_devices, step.seq_length,
                     plan.flops / 1e12, plan.flops / tokens / 1e6);
  out += fmt::format("run         {} steps\n", grouped(plan.steps));
  out +=
      fmt::format("checkpoint  {} with optimizer, {} exported; {} in the bucket with {} kept\n\n",
                  byte_text(plan.state_bytes), byte_text(plan.export_bytes()),
                  byte_text(plan.bucket_bytes()), plan.kept);
  return out + table_of(plan) + notes_of(plan);
}

Json row_json(const Plan& plan, const PlanRow& row) {
  Json json = {{"topology", row.target.name},
               {"devices", row.target.num_devices},
               {"memory_bytes", row.target.memory_bytes},
               {"compiler", row.target.compiler},
               {"rows_per_device", row.trial.rows},
               {"fits", row.trial.fits},
               {"compile", row.trial.to_json()},
               {"cached", row.trial.cached}};
  if (row.bounds.fits) json["largest_rows_per_device"] = row.bounds.fits->rows;
  if (row.bounds.too_many) json["too_many_rows_per_device"] = *row.bounds.too_many;
  if (const auto rate = row.compiler_rate(plan.step)) json["tokens_per_second_estimate"] = *rate;
  if (row.measured) {
    json["tokens_per_second_published"] = row.measured->tokens_per_second;
    json["published"] = row.measured->measured.source;
  }
  if (const auto days = plan.days(row)) {
    json["days"] = *days;
    if (plan.price_per_hour > 0) json["cost"] = *days * 24 * plan.price_per_hour;
  }
  return json;
}

Json as_json(const Plan& plan) {
  Json json = {{"model", plan.step.name},
               {"parameters", plan.step.parameters},
               {"seq_length", plan.step.seq_length},
               {"flops_per_step", plan.flops},
               {"steps", plan.steps},
               {"checkpoint_bytes", plan.state_bytes},
               {"export_bytes", plan.export_bytes()},
               {"bucket_bytes", plan.bucket_bytes()},
               {"topologies", Json::array()}};
  for (const PlanRow& row : plan.rows) json["topologies"].push_back(row_json(plan, row));
  return json;
}

Result<PlanRow> plan_row(FileSystem& fs, const PlanOptions& options, const PlannedStep& step,
                         const std::string& topology, const std::string& cache) {
  HW_ASSIGN_OR_RETURN(PlanTarget target, find_plan_target(fs, topology));
  const int64_t batch = options.run.train_batch_size, devices = target.num_devices;
  if (batch % devices != 0) {
    return fail_hint(Code::kInvalidArgument, "--train-batch-size takes a multiple",
                     "a batch of {} sequences cannot be dealt to the {} devices of {}", batch,
                     devices, topology);
  }
  Planner planner(fs, step, target, options.run.device.precision == "mixed_bf16", cache);
  PlanRow row{.target = target, .trial = {}, .bounds = {}, .measured = {}};
  HW_ASSIGN_OR_RETURN(row.trial, planner.compile(batch / devices));
  if (options.search) {
    HW_ASSIGN_OR_RETURN(row.bounds, planner.search(row.trial));
  }
  HW_ASSIGN_OR_RETURN(row.measured, rate_by_measurement(fs, step, target));
  return row;
}

Result<int> run_plan(const PlanOptions& options) {
  FileSystem& fs = local_files();
  Plan plan;
  HW_ASSIGN_OR_RETURN(plan.step,
                      options.model.empty()
                          ? plan_electra(fs, options.run)
                          : plan_model(fs, options.model, options.objective, options.run));
  HW_ASSIGN_OR_RETURN(plan.flops, plan.step.flops(options.run.train_batch_size));
  HW_ASSIGN_OR_RETURN(plan.state_bytes, plan.step.state_bytes());
  plan.steps = options.run.extra_steps.value_or(options.run.num_train_steps);
  plan.kept = options.run.keep_checkpoint_max.value_or(0);
  plan.price_per_hour = options.price_per_hour;
  std::string cache = options.cache_dir;
  if (cache.empty() && !pjrt::default_cache_folder().empty())
    cache = join_path(directory_name(pjrt::default_cache_folder()), "plan");
  for (const std::string& topology : options.topology) {
    HW_ASSIGN_OR_RETURN(PlanRow row, plan_row(fs, options, plan.step, topology, cache));
    plan.rows.push_back(std::move(row));
  }
  const std::string text = options.json ? dump_json(as_json(plan), 2) + "\n" : as_text(plan);
  std::fwrite(text.data(), 1, text.size(), stdout);
  constexpr int kDoesNotFit = 1;
  const bool all_fit =
      std::ranges::all_of(plan.rows, [](const PlanRow& r) { return r.trial.fits; });
  return all_fit ? 0 : kDoesNotFit;
}

}  // namespace

Verb make_plan_verb() {
  return make_verb<PlanOptions>(
      {.name = "plan",
       .summary = "what a training run would need of a TPU, before there is one",
       .description =
           "Compiles the training step with the real compiler of the device, which for a TPU needs "
           "no "
           "hardware, only the Python wheel libtpu (headwater doctor says how to get it). Says "
           "whether "
           "the batch fits, how much memory of each device it takes, the largest batch that fits, "
           "how "
           "long a step and the run may take, and the size of checkpoints. A base-sized model "
           "takes "
           "minutes to compile; what a compilation gave is kept.\n\n"
           "Takes the options of pretrain for an ELECTRA pair; --model plans for another one, with "
           "length, batch size and steps of the same options.",
       .examples = {{"headwater plan --preset koelectra-base-v3", "on a v3-8"},
                    {"headwater plan --preset koelectra-base-v3 --topology v3-8 --topology v5e-8 "
                     "--extra-steps 300000",
                     "two at once"},
                    {"headwater plan --model gpt2/config.json --max-seq-length 1024 "
                     "--train-batch-size 64 --max-steps 100000 --json",
                     "another model"}},
       .exit_notes = "1  a batch does not fit"},
      run_plan);
}

}  // namespace headwater
