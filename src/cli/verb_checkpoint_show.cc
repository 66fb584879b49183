// `checkpoint show`: statistics and values of the tensors of a checkpoint.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "checkpoints/element_values.h"
#include "checkpoints/weights_report.h"
#include "cli/checkpoint_text.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace headwater {
namespace {

struct ShowOptions {
  std::string path;
  std::vector<std::string> names;
  int64_t values = 0;
  bool slots = false, json = false;

  void describe(Fields& f) {
    f("path", path, "checkpoint: a file, a directory, or a TensorFlow prefix")
        .positional()
        .required()
        .value_name("PATH");
    f("names", names, "only tensors whose name matches, as in '*layer.0*'")
        .positional()
        .value_name("NAME");
    f("values", values, "print the first N values of each tensor").value_name("N").non_negative();
    f("slots", slots, "show the optimizer's slots too");
    f("json", json, "print one JSON object per tensor and line");
  }
};

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string flaws(const ValueStats& stats) {
  std::string text;
  if (stats.not_a_number > 0) text += fmt::format(" {} NaN", grouped(stats.not_a_number));
  if (stats.infinite > 0) text += fmt::format(" {} infinite", grouped(stats.infinite));
  if (stats.zeros > 0 && stats.zeros == stats.count) text += " all zero";
  return text.empty() ? text : text.substr(1);
}

std::vector<double> first_values(const WeightEntry& entry, const WeightBytes& bytes, int64_t n) {
  const auto count = static_cast<size_t>(std::min(n, entry.elements()));
  std::vector<double> values(count);
  decode_values(entry.type,
                bytes.bytes().first(count * static_cast<size_t>(element_bytes(entry.type))),
                values);
  return values;
}

Json stats_json(const ValueStats& stats) {
  Json json;
  json["minimum"] = stats.minimum;
  json["maximum"] = stats.maximum;
  json["mean"] = stats.mean;
  json["deviation"] = stats.deviation;
  json["norm"] = stats.norm;
  json["zeros"] = stats.zeros;
  json["nan"] = stats.not_a_number;
  json["infinite"] = stats.infinite;
  return json;
}

// Adds one tensor to the table and its values to `lines`; or all of it to `lines` as JSON.
Result<> show_tensor(const WeightsSource& source, size_t index, const ShowOptions& options,
                     TextTable& table, std::string& lines) {
  const WeightEntry& entry = source.entries()[index];
  HW_ASSIGN_OR_RETURN(const WeightBytes bytes, source.read_bytes(index));
  Json json = entry_json(entry);
  std::vector<std::string> row = {entry.name, std::string(element_name(entry.type)),
                                  shape_text(entry.shape)};
  if (has_values(entry.type)) {
    const ValueStats stats = value_stats(entry.type, bytes.bytes());
    const auto values = first_values(entry, bytes, options.values);
    for (const double value : {stats.mean, stats.deviation, stats.minimum, stats.maximum})
      row.push_back(number(value));
    row.push_back(flaws(stats));
    table.add(std::move(row));
    if (!values.empty() && !options.json)
      lines += fmt::format("  {}: {:.9g}\n", entry.name, fmt::join(values, " "));
    json["statistics"] = stats_json(stats);
    if (options.values > 0) json["values"] = values;
  } else {
    row.insert(row.end(), {"-", "-", "-", "-", fmt::format("{} bytes", entry.bytes)});
    table.add(std::move(row));
  }
  if (options.json) lines += dump_json(json) + "\n";
  return {};
}

std::string heading(const WeightsSource& source) {
  std::string text = summary_line(source) + "\n";
  TextTable facts("ll");
  for (const auto& [key, value] : source.metadata()) facts.add({key, value.substr(0, 120)});
  return text + facts.text("  ");
}

Result<int> run_checkpoint_show(const ShowOptions& options) {
  HW_ASSIGN_OR_RETURN(const auto source, open_weights_with_notes(options.path));
  TextTable table("lllrrrrl");
  table.add({"name", "dtype", "shape", "mean", "std", "min", "max", ""});
  std::string lines;
  int64_t shown = 0;
  for (size_t i = 0; i < source->entries().size(); ++i) {
    const WeightEntry& entry = source->entries()[i];
    const bool named = !options.names.empty() && matches_any(entry.name, options.names);
    const bool folded = entry.role == WeightRole::kSlot && !options.slots;
    if (!(named || (options.names.empty() && !folded))) continue;
    HW_RETURN_IF_ERROR(show_tensor(*source, i, options, table, lines));
    ++shown;
  }
  if (shown == 0 && !options.names.empty()) {
    return fail_hint(Code::kNotFound, "checkpoint ls lists the names; patterns are '*layer.0*'",
                     "no tensor of {} is called {}", source->path(),
                     fmt::join(options.names, ", "));
  }
  if (!options.json) {
    const std::string slots = slot_line(*source);
    std::string head = heading(*source) + table.text("  ");
    if (!slots.empty() && !options.slots && options.names.empty())
      head += "  " + slots + "; --slots shows them\n";
    lines.insert(0, lines.empty() ? head : head + "values\n");
  }
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  return 0;
}

}  // namespace

Verb make_checkpoint_show_verb() {
  return make_verb<ShowOptions>(
      {.name = "checkpoint show",
       .summary = "show statistics and values of a checkpoint's tensors",
       .description =
           "Reads the tensors and prints mean, standard deviation, minimum and maximum of the "
           "finite values, and how many are NaN or infinite; above them, what else the file says "
           "(step, metadata, numbers of a PyTorch training checkpoint). Checksums are checked "
           "where the format has them, so this also tells whether a checkpoint is whole.",
       .examples = {{"headwater checkpoint show runs/ko", "the latest checkpoint of a run"},
                    {"headwater checkpoint show model.ckpt-1500000 global_step --values 1", ""},
                    {"headwater checkpoint show model/ '*LayerNorm*'", ""}},
       .exit_notes = "3 when a tensor is damaged"},
      run_checkpoint_show);
}

}  // namespace headwater
