// `checkpoint diff`: where two checkpoints differ.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "checkpoints/weights_report.h"
#include "cli/checkpoint_text.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace headwater {
namespace {

struct DiffVerbOptions {
  std::string a, b;
  double tolerance = 0;
  bool slots = false, json = false;
  int64_t max = 20;

  void describe(Fields& f) {
    f("a", a, "a checkpoint of any format").positional().required().value_name("A");
    f("b", b, "another one, of the same format or not").positional().required().value_name("B");
    f("tolerance", tolerance, "differences of values up to this count as none").non_negative();
    f("slots", slots, "compare the optimizer's slots too");
    f("max", max, "tensors to list of each kind; 0 lists all").non_negative();
    f("json", json, "print a JSON object");
  }
};

std::string position_text(const std::vector<int64_t>& position) {
  return position.empty() ? "" : "at " + shape_text(position);
}

// The first `max` of a kind under a heading, and how many more there are.
template <class Items, class Row>
std::string section(const std::string& heading, const Items& items, int64_t max,
                    const std::string& alignment, Row row) {
  if (items.empty()) return "";
  const auto shown = max == 0 ? items.size() : std::min(items.size(), static_cast<size_t>(max));
  TextTable table(alignment);
  for (size_t i = 0; i < shown; ++i) table.add(row(items[i]));
  std::string text = fmt::format("{} ({}):\n{}", heading,
                                 grouped(static_cast<int64_t>(items.size())), table.text("  "));
  if (shown < items.size())
    text += fmt::format("  ... {} more; --max 0 lists all\n", items.size() - shown);
  return text;
}

std::vector<std::string> entry_row(const WeightEntry& entry) {
  return {entry.name, std::string(element_name(entry.type)), shape_text(entry.shape)};
}

std::vector<std::string> changed_row(const TensorDifference& change) {
  if (!change.comparable) return {change.name, "bytes differ", "", "", ""};
  const std::string types =
      change.type_a == change.type_b
          ? ""
          : fmt::format("{} and {}", element_name(change.type_a), element_name(change.type_b));
  return {change.name, fmt::format("{:.6g}", change.largest), position_text(change.where),
          fmt::format("{} of {}", grouped(change.differing), grouped(change.elements)), types};
}

std::string report_text(const WeightsDifference& report, const WeightsSource& a,
                        const WeightsSource& b, const DiffVerbOptions& options) {
  std::string text = fmt::format("A {}\nB {}\n", summary_line(a), summary_line(b));
  text += section("only in A", report.only_a, options.max, "lll", entry_row);
  text += section("only in B", report.only_b, options.max, "lll", entry_row);
  text += section(
      "of another shape", report.reshaped, options.max, "lll",
      [](const ShapeDifference& d) -> std::vector<std::string> {
        return {d.name, fmt::format("{} {} in A", element_name(d.a.type), shape_text(d.a.shape)),
                fmt::format("{} {} in B", element_name(d.b.type), shape_text(d.b.shape))};
      });
  text += section("of other values, the largest difference first", report.changed, options.max,
                  "lrlll", changed_row);
  text += fmt::format("{} tensors are the same{}", grouped(report.equal),
                      options.tolerance > 0 ? fmt::format(" within {}", options.tolerance) : "");
  if (report.tied_names > 0) {
    text += fmt::format("; {} names of tied tensors are on one side only", report.tied_names);
  }
  if (report.slots_a + report.slots_b > 0) {
    text += fmt::format("; optimizer slots not compared: {} in A, {} in B", grouped(report.slots_a),
                        grouped(report.slots_b));
  }
  return text + "\n";
}

Json report_json(const WeightsDifference& report) {
  Json json;
  json["same"] = report.same();
  json["equal"] = report.equal;
  json["tied_names"] = report.tied_names;
  for (const char* key : {"only_a", "only_b", "reshaped", "changed"}) json[key] = Json::array();
  for (const WeightEntry& entry : report.only_a) json["only_a"].push_back(entry_json(entry));
  for (const WeightEntry& entry : report.only_b) json["only_b"].push_back(entry_json(entry));
  for (const ShapeDifference& difference : report.reshaped) {
    json["reshaped"].push_back({{"name", difference.name},
                                {"a", entry_json(difference.a)},
                                {"b", entry_json(difference.b)}});
  }
  for (const TensorDifference& change : report.changed) {
    Json item = {
        {"name", change.name}, {"elements", change.elements}, {"differing", change.differing}};
    if (change.comparable) {
      item["largest"] = change.largest;  // null: one side is no number there
      item["where"] = change.where;
      item["a"] = change.value_a, item["b"] = change.value_b;
    }
    json["changed"].push_back(std::move(item));
  }
  return json;
}

Result<int> run_checkpoint_diff(const DiffVerbOptions& options) {
  HW_ASSIGN_OR_RETURN(const auto a, open_weights_with_notes(options.a));
  HW_ASSIGN_OR_RETURN(const auto b, open_weights_with_notes(options.b));
  HW_ASSIGN_OR_RETURN(
      const WeightsDifference report,
      diff_weights(*a, *b, {.tolerance = options.tolerance, .slots = options.slots}));
  const std::string text = options.json ? dump_json(report_json(report), 2) + "\n"
                                        : report_text(report, *a, *b, options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (report.same()) return 0;
  return fail(Code::kUnknown,
              "the checkpoints differ: {} only in A, {} only in B, {} of another "
              "shape, {} of other values",
              report.only_a.size(), report.only_b.size(), report.reshaped.size(),
              report.changed.size());  // kUnknown: exit code 1
}

}  // namespace

Verb make_checkpoint_diff_verb() {
  return make_verb<DiffVerbOptions>(
      {.name = "checkpoint diff",
       .summary = "tell where two checkpoints differ",
       .description =
           "Compares tensors of the same name: which are missing on either side, which have "
           "another shape, and where values differ, with the largest difference and its place. "
           "The two may be of different formats, and their element types may differ; names are "
           "compared as they are. Two NaNs count as the same, and a further name of a tied tensor "
           "is "
           "not missed where the tensor itself is.",
       .examples = {{"headwater checkpoint diff runs/ko/checkpoint-500 runs/ko/checkpoint-1000",
                     ""},
                    {"headwater checkpoint diff hf/model.safetensors hf/pytorch_model.bin "
                     "--tolerance 1e-6",
                     ""}},
       .exit_notes = "1 when they differ"},
      run_checkpoint_diff);
}

}  // namespace headwater
