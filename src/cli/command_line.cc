#include "cli/command_line.h"

#include <algorithm>

namespace headwater {
namespace {

// One value a person gave. Flags are collected first, because files lie below them.
struct Assignment {
  Field* field;
  std::string text;
};

struct Scan {
  std::span<const std::string> arguments;
  Fields& fields;
  Fields& common;
  std::vector<Assignment> assignments = {};
  size_t next = 0;
  size_t positionals = 0;  // scalar positional fields already filled

  Result<> all();
  Result<> option(const std::string& word);
  Result<> bare(const std::string& word);
  Result<> unknown(const std::string& name) const;
  Field* find(std::string_view name);
  Field* find_negated(std::string_view name);
};

Field* Scan::find(std::string_view name) {
  Field* field = fields.find(name);
  if (field == nullptr) field = common.find(name);
  return field != nullptr && !field->positional ? field : nullptr;
}

Field* Scan::find_negated(std::string_view name) {
  const std::string folded = fold_name(name);
  for (Field& field : fields.all()) {
    if (!field.is_bool()) continue;
    if (field.negation == folded) return &field;
    for (const std::string& alias : field.aliases) {
      if ("no_" + alias == folded) return &field;
    }
  }
  return nullptr;
}

Result<> Scan::unknown(const std::string& name) const {
  std::vector<std::string> names;
  for (const Fields* group : {&fields, &common}) {
    for (const Field& field : group->all()) {
      if (field.positional) continue;
      names.push_back(field.name);
      if (field.is_bool()) names.push_back(field.negation);
      names.insert(names.end(), field.aliases.begin(), field.aliases.end());
    }
  }
  std::string advice = nearest_name(fold_name(name), names);
  std::replace(advice.begin(), advice.end(), '_', '-');
  return fail_hint(Code::kInvalidArgument,
                   advice.empty() ? "" : fmt::format("did you mean --{}?", advice),
                   "unknown option --{}", name);
}

bool is_truth_word(const std::string& word) {
  return word == "true" || word == "false" || word == "True" || word == "False";
}

Result<> Scan::option(const std::string& word) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
  const bool inline_value = equals != std::string::npos;
  if (Field* field = find(name)) {
    if (inline_value) {
      assignments.push_back({field, word.substr(equals + 1)});
    } else if (field->is_bool()) {
      const bool follows = next < arguments.size() && is_truth_word(arguments[next]);
      assignments.push_back({field, follows ? arguments[next++] : "true"});
    } else if (next < arguments.size() && !arguments[next].starts_with("--")) {
      assignments.push_back({field, arguments[next++]});
    } else {
      return fail(Code::kInvalidArgument, "{} needs a value", field->flag());
    }
    return {};
  }
  if (Field* field = find_negated(name)) {
    if (inline_value) return fail(Code::kInvalidArgument, "--{} takes no value", name);
    assignments.push_back({field, "false"});
    return {};
  }
  return unknown(name);
}

Result<> Scan::bare(const std::string& word) {
  size_t index = 0;
  for (Field& field : fields.all()) {
    if (!field.positional) continue;
    if (!field.is_list() && index++ < positionals) continue;
    if (!field.is_list()) ++positionals;
    assignments.push_back({&field, word});
    return {};
  }
  return fail_hint(Code::kInvalidArgument, "options begin with --", "unexpected argument '{}'",
                   word);
}

Result<> Scan::all() {
  bool options_ended = false;
  while (next < arguments.size()) {
    const std::string& word = arguments[next++];
    if (options_ended || word == "-" || !word.starts_with("-")) {
      HW_RETURN_IF_ERROR(bare(word));
    } else if (word == "--") {
      options_ended = true;
    } else if (word.starts_with("--")) {
      HW_RETURN_IF_ERROR(option(word));
    } else if (word.size() == 2 && find(word.substr(1)) != nullptr) {
      HW_RETURN_IF_ERROR(option("-" + word));  // an alias of one letter: -o FILE
    } else {
      return fail_hint(Code::kInvalidArgument, "options are written --name", "unknown option {}",
                       word);
    }
  }
  return {};
}

// A JSON object given in place, or the path of a file that holds one.
Result<> apply_layer(const std::string& text, std::string_view flag, Fields& fields,
                     FileSystem& files) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return fields.set_json_text(text, flag);
  constexpr int64_t kLimit = 16 << 20;  // bytes; an options file is small
  HW_ASSIGN_OR_RETURN(const std::string content, read_file(files, text, kLimit));
  return fields.set_json_text(content, fmt::format("{} {}", flag, text));
}

// What a layer field holds, one object or path each.
std::vector<std::string> layer_values(const Field& field) {
  if (field.is_list()) return *std::get<std::vector<std::string>*>(field.target);
  if (field.is_default()) return {};
  return {field.text()};
}

Result<> apply_layers(Fields& declared, Fields& target, FileSystem& files) {
  for (size_t i = 0; i < declared.all().size(); ++i) {
    const Field& field = declared.all()[i];
    if (!field.layer) continue;
    for (const std::string& value : layer_values(field))
      HW_RETURN_IF_ERROR(apply_layer(value, field.flag(), target, files));
  }
  return {};
}

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

}  // namespace

void CommonOptions::describe(Fields& f) {
  f.group("Every verb");
  f("config", config,
    "options of this verb from a JSON object or a file that holds one; flags outrank it")
      .value_name("FILE")
      .layer();
  f("help", help, "show this text");
}

Result<VerbMatch> find_verb(std::span<const Verb> verbs, std::span<const std::string> words) {
  const std::string one = words.empty() ? "" : words[0];
  const bool has_second = words.size() > 1 && !words[1].starts_with("-");
  const std::string two = has_second ? one + " " + words[1] : one;
  for (const Verb& verb : verbs) {
    if (verb.name == two) return VerbMatch{&verb, has_second ? size_t{2} : size_t{1}};
  }
  std::vector<std::string> names, beginnings;
  for (const Verb& verb : verbs) {
    if (verb.name == one) return VerbMatch{&verb, 1};
    names.push_back(verb.name);
    beginnings.push_back(first_word(verb.name));
  }
  // All verbs that begin with the word that is meant, or the one that is near.
  const std::string beginning = nearest_name(one, beginnings);
  std::erase_if(names, [&](const std::string& name) { return first_word(name) != beginning; });
  std::string advice = has_second ? nearest_name(two, names) : "";
  if (advice.empty()) advice = fmt::format("{}", fmt::join(names, ", "));
  return fail_hint(Code::kInvalidArgument,
                   advice.empty() ? "see headwater help" : fmt::format("did you mean {}?", advice),
                   "there is no verb '{}'", beginning == one ? two : one);
}

bool asks_for_help(std::span<const std::string> arguments) {
  for (const std::string& word : arguments) {
    if (word == "--") return false;
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

Result<> parse_arguments(std::span<const std::string> arguments, Fields& fields,
                         FileSystem& files) {
  CommonOptions options;
  Fields common;
  options.describe(common);
  Scan scan{arguments, fields, common};
  HW_RETURN_IF_ERROR(scan.all());
  // Layers first: they are values themselves, but what they hold lies below every flag.
  const auto assign = [&](bool layer) -> Result<> {
    for (const auto& [field, text] : scan.assignments) {
      if (field->layer != layer) continue;
      Fields& owner = fields.find(field->name) == field ? fields : common;
      HW_RETURN_IF_ERROR(owner.set_text(field->name, text, field->flag()));
    }
    return {};
  };
  HW_RETURN_IF_ERROR(assign(true));
  HW_RETURN_IF_ERROR(apply_layers(common, fields, files));
  HW_RETURN_IF_ERROR(apply_layers(fields, fields, files));
  return assign(false);
}

Result<> check_required(const Fields& fields) {
  for (const Field& field : fields.all()) {
    if (!field.required || !field.is_default()) continue;
    return fail(Code::kInvalidArgument, "{} is missing", field.flag());
  }
  return {};
}

}  // namespace headwater
