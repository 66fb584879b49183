// `checkpoint ls`: what tensors a checkpoint of any format holds.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_text.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace headwater {
namespace {

struct LsOptions {
  std::vector<std::string> paths, names;
  bool slots = false, json = false;

  void describe(Fields& f) {
    f("paths", paths, "checkpoints: a file, a directory, or a TensorFlow prefix")
        .positional()
        .required()
        .value_name("PATH");
    f("names", names, "only tensors whose name matches, as in '*layer.0*'; may be repeated")
        .alias("name")
        .value_name("PATTERN");
    f("slots", slots, "list the optimizer's slots too");
    f("json", json, "print one JSON object per checkpoint and line");
  }
};

bool is_listed(const WeightEntry& entry, const LsOptions& options) {
  if (!options.slots && entry.role == WeightRole::kSlot) return false;
  return matches_any(entry.name, options.names);
}

std::string remark(const WeightEntry& entry) {
  if (!entry.tied_to.empty()) return "= " + entry.tied_to;
  return entry.variable_name;
}

std::string listing(const WeightsSource& source, const LsOptions& options) {
  TextTable table("lllrl");
  for (const WeightEntry& entry : source.entries()) {
    if (!is_listed(entry, options)) continue;
    table.add({entry.name, std::string(element_name(entry.type)), shape_text(entry.shape),
               byte_text(entry.bytes), remark(entry)});
  }
  std::string text = summary_line(source) + "\n" + table.text("  ");
  const std::string slots = slot_line(source);
  if (!slots.empty() && !options.slots) text += "  " + slots + "; --slots lists them\n";
  return text;
}

Json listing_json(const WeightsSource& source, const LsOptions& options) {
  Json json;
  json["path"] = source.path();
  json["format"] = source.format();
  json["notes"] = source.notes();
  json["tensors"] = Json::array();
  for (const WeightEntry& entry : source.entries()) {
    if (is_listed(entry, options)) json["tensors"].push_back(entry_json(entry));
  }
  return json;
}

Result<int> run_checkpoint_ls(const LsOptions& options) {
  for (const std::string& path : options.paths) {
    HW_ASSIGN_OR_RETURN(const auto source, open_weights_with_notes(path));
    const std::string text =
        options.json ? dump_json(listing_json(*source, options)) + "\n" : listing(*source, options);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return 0;
}

}  // namespace

Verb make_checkpoint_ls_verb() {
  return make_verb<LsOptions>(
      {.name = "checkpoint ls",
       .summary = "list the tensors of a checkpoint of any format",
       .description =
           "Prints name, element type, shape and size of every tensor, without reading values. "
           "The format is found out by looking inside: TensorFlow (version 1 and 2 names, several "
           "data files, partitioned variables, the file `checkpoint` of a directory), "
           "safetensors and pytorch_model.bin (one file or many behind an index), Keras' "
           "tf_model.h5, a Hugging Face directory, and checkpoints and runs of headwater.\n\n"
           "Slots of an optimizer are counted and not listed. A tensor that shares the bytes of "
           "another is shown as '= name'.",
       .examples = {{"headwater checkpoint ls model/", "a Hugging Face directory"},
                    {"headwater checkpoint ls model.ckpt-1500000 --names '*layer_0*'",
                     "one layer of a TensorFlow checkpoint"}}},
      run_checkpoint_ls);
}

}  // namespace headwater
