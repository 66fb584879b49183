// `config explain`: every value of a pre-training run and where it came from, and the two models
// that follow.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/verb.h"
#include "io/file.h"
#include "train/planned_step.h"

namespace headwater {
namespace {

struct ExplainOptions {
  PretrainOptions run;
  bool json = false, changed = false;

  void describe(Fields& f) {
    f.group("What to print");
    f("json", json, "print a JSON object instead of tables");
    f("changed", changed, "leave out the values that are defaults");
    run.describe(f);
    for (Field& field : f.all()) field.required = false;  // nothing is run
  }
  Result<> resolve(Fields& f) { return run.resolve(f); }
};

std::string sizes_line(std::string_view name, const ElectraConfig& c, int64_t parameters) {
  return fmt::format(
      "{:<14} {} layers x {}, {} heads, feed-forward {}, embeddings {} x {}, {:.1f}M parameters\n",
      name, c.num_hidden_layers, c.hidden_size, c.num_attention_heads, c.intermediate_size,
      c.vocab_size, c.embedding_size, static_cast<double>(parameters) / 1e6);
}

bool is_shown(const ExplainOptions& options, const Field& field) {
  if (field.name == "json" || field.name == "changed") return false;
  return !options.changed || !field.is_default();
}

std::string shown(const Field& field) {
  const std::string text = field.text();
  if (text.empty()) return "-";
  constexpr size_t kWidest = 40;
  return text.size() > kWidest ? text.substr(0, kWidest - 3) + "..." : text;
}

std::string tables(const ExplainOptions& options, const Fields& fields,
                   const ElectraConfigs& configs) {
  std::string out, group;
  for (const Field& field : fields.all()) {
    if (!is_shown(options, field)) continue;
    if (field.group != group) out += (out.empty() ? "" : "\n") + field.group + "\n";
    group = field.group;
    out += fmt::format("  {:<28} {:<24} {}\n", field.name, shown(field), field.origin);
  }
  const ParameterCounts counts = count_parameters(options.run, configs);
  out += "\nModels\n";
  if (options.run.electra_objective) {
    out += "  " + sizes_line("discriminator", configs.discriminator, counts.discriminator);
    out += "  " + sizes_line("generator", configs.generator, counts.generator);
  } else {
    out += "  " + sizes_line("encoder", configs.discriminator, counts.discriminator);
  }
  for (const std::string& note : options.run.notes(fields)) out += "\nnote: " + note;
  return out.ends_with('\n') ? out : out + "\n";
}

std::string as_json(const ExplainOptions& options, const Fields& fields,
                    const ElectraConfigs& configs) {
  Json object = Json::object();
  const Json values = fields.to_json();
  for (const Field& field : fields.all()) {
    if (!values.contains(field.name) || !is_shown(options, field)) continue;
    object["options"][field.name] = {{"value", values[field.name]}, {"from", field.origin}};
  }
  object["discriminator"] = configs.discriminator.to_hf_json("ElectraForPreTraining");
  object["generator"] = configs.generator.to_hf_json("ElectraForMaskedLM");
  const ParameterCounts counts = count_parameters(options.run, configs);
  object["parameters"] = {{"discriminator", counts.discriminator}, {"generator", counts.generator}};
  object["notes"] = options.run.notes(fields);
  return dump_json(object, 2) + "\n";
}

Result<int> run_config_explain(const ExplainOptions& options, const Fields& fields) {
  HW_ASSIGN_OR_RETURN(const int64_t vocabulary,
                      planned_vocabulary_size(local_files(), options.run));
  HW_ASSIGN_OR_RETURN(const ElectraConfigs configs, options.run.model_configs(vocabulary));
  const std::string text =
      options.json ? as_json(options, fields, configs) : tables(options, fields, configs);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

Verb make_config_explain_verb() {
  return make_verb<ExplainOptions>(
      {.name = "config explain",
       .summary = "show every value of a pre-training run and where it came from",
       .description =
           "Takes the options of pretrain and runs nothing. Weakest first, a value comes from: the "
           "default, the model size, the preset, --debug, a file (--config, --hparams), a flag.",
       .examples = {{"headwater config explain --preset koelectra-base-v3 --max-steps 1800000", ""},
                    {"headwater config explain --hparams run.json --changed --json", ""}}},
      run_config_explain);
}

}  // namespace headwater
