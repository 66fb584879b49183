#include "models/hf_config.h"

#include <array>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

// Keys that change what a model computes, with the only value that is supported.
struct Supported {
  const char *key, *value;
};
constexpr std::array kSupported = {
    Supported{"position_embedding_type", "\"absolute\""}, Supported{"is_decoder", "false"},
    Supported{"add_cross_attention", "false"}, Supported{"scale_attn_weights", "true"},
    Supported{"scale_attn_by_inverse_layer_idx", "false"}};

Result<> check_supported(const Json& object, std::string_view where) {
  for (const auto& [key, value] : kSupported) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null() || dump_json(*found) == value) continue;
    return fail(Code::kUnimplemented, "{}: {} {} is not supported", where, key, dump_json(*found));
  }
  return {};
}

constexpr int64_t kMaxLabels = 1 << 20;

struct ProblemName {
  ClassifierConfig::Problem problem;
  std::string_view name;
};
constexpr std::array kProblems = {
    ProblemName{ClassifierConfig::Problem::kSingleLabel, "single_label_classification"},
    ProblemName{ClassifierConfig::Problem::kMultiLabel, "multi_label_classification"},
    ProblemName{ClassifierConfig::Problem::kRegression, "regression"}};

Result<int64_t> read_num_labels(const Json& object, std::string_view where) {
  const auto labels = object.find("id2label");
  int64_t count = ClassifierConfig{}.num_labels;
  if (labels != object.end() && labels->is_object()) {
    count = static_cast<int64_t>(labels->size());
  } else if (const auto number = object.find("num_labels"); number != object.end()) {
    if (!number->is_number_integer())
      return fail(Code::kInvalidArgument, "{}: num_labels {} is not a whole number", where,
                  dump_json(*number));
    count = number->get<int64_t>();
  }
  if (count < 1 || count > kMaxLabels)
    return fail(Code::kInvalidArgument, "{}: {} labels; there must be 1 to {}", where, count,
                kMaxLabels);
  return count;
}

// id2label's names from "0" on; none where it is something else, or says no more than LABEL_0, ..
std::vector<std::string> read_labels(const Json& object, int64_t num_labels) {
  const auto names = object.find("id2label");
  std::vector<std::string> labels;
  bool is_default = true;
  if (names == object.end() || !names->is_object()) return labels;
  for (int64_t i = 0; i < num_labels; ++i) {
    const auto name = names->find(fmt::format("{}", i));
    if (name == names->end() || !name->is_string()) return {};
    labels.push_back(name->get<std::string>());
    is_default = is_default && labels.back() == fmt::format("LABEL_{}", i);
  }
  return is_default ? std::vector<std::string>() : labels;
}

Result<ClassifierConfig::Problem> read_problem(const Json& object, int64_t num_labels,
                                               std::string_view where) {
  const auto found = object.find("problem_type");
  if (found == object.end() || found->is_null())  // transformers' rule
    return num_labels == 1 ? ClassifierConfig::Problem::kRegression
                           : ClassifierConfig::Problem::kSingleLabel;
  for (const auto& [problem, name] : kProblems) {
    if (*found == name) return problem;
  }
  return fail(Code::kInvalidArgument,
              "{}: problem_type {} is none of single_label_classification, "
              "multi_label_classification, regression",
              where, dump_json(*found));
}

}  // namespace

Result<std::string> read_hf_config(Fields& fields, const Json& object, std::string_view model_type,
                                   std::span<const char* const> size_keys, std::string_view where) {
  if (!object.is_object()) return fail(Code::kInvalidArgument, "{} is not a JSON object", where);
  const auto type = object.find("model_type");
  if (type != object.end() && *type != model_type) {
    return fail(Code::kInvalidArgument, "{}: model_type is {}, not \"{}\"", where, dump_json(*type),
                model_type);
  }
  for (const char* key : size_keys) {
    if (object.contains(key)) continue;
    return fail_hint(Code::kInvalidArgument, "write the size the weights have", "{}: no \"{}\"",
                     where, key);
  }
  HW_RETURN_IF_ERROR(check_supported(object, where));
  Json known = Json::object(), other = Json::object();
  for (const auto& [key, value] : object.items()) {
    if (key == "architectures" || key == "model_type") continue;
    if (fields.find(key) == nullptr) other[key] = value;
    else if (!value.is_null()) known[key] = value;
  }
  HW_RETURN_IF_ERROR(fields.set_json(known, where));
  return dump_json(other);
}

Json write_hf_config(const Fields& fields, std::string_view model_type,
                     std::string_view architecture, std::string_view other_keys) {
  Json object = Json::object();
  object["architectures"] = Json::array({std::string(architecture)});
  object["model_type"] = std::string(model_type);
  const Json known = fields.to_json();
  for (const auto& [key, value] : known.items()) object[key] = value;
  const auto other = parse_json(other_keys, "other_keys");
  HW_CHECK(other.has_value() && other->is_object(), "other_keys is not a JSON object");
  for (const auto& [key, value] : other->items()) {
    if (!object.contains(key)) object[key] = value;
  }
  return object;
}

Result<> check_heads(std::string_view size_name, int64_t size, std::string_view heads_name,
                     int64_t heads, std::string_view where) {
  if (size % heads == 0) return {};
  return fail(Code::kInvalidArgument, "{}: {} {} is not a multiple of {} {}", where, size_name,
              size, heads_name, heads);
}

Result<ClassifierConfig> ClassifierConfig::from_hf_json(const Json& object,
                                                        std::string_view where) {
  if (!object.is_object()) return fail(Code::kInvalidArgument, "{} is not a JSON object", where);
  ClassifierConfig config;
  HW_ASSIGN_OR_RETURN(config.num_labels, read_num_labels(object, where));
  config.labels = read_labels(object, config.num_labels);
  HW_ASSIGN_OR_RETURN(config.problem, read_problem(object, config.num_labels, where));
  for (const char* key : {"hidden_dropout_prob", "classifier_dropout"}) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) continue;
    config.dropout = found->is_number() ? found->get<double>() : -1;
    if (!(config.dropout >= 0 && config.dropout < 1))
      return fail(Code::kInvalidArgument, "{}: {} {} is no number from 0 to below 1", where, key,
                  dump_json(*found));
  }
  return config;
}

void ClassifierConfig::write_to(Json& object) const {
  for (const auto& [problem_of_name, name] : kProblems) {
    if (problem_of_name == problem) object["problem_type"] = std::string(name);
  }
  const auto names = object.find("id2label");
  if (labels.empty() && names != object.end() && names->is_object() &&
      static_cast<int64_t>(names->size()) == num_labels)
    return;
  Json id2label = Json::object(), label2id = Json::object();
  for (int64_t i = 0; i < num_labels; ++i) {
    const std::string label =
        labels.empty() ? fmt::format("LABEL_{}", i) : labels[static_cast<size_t>(i)];
    id2label[fmt::format("{}", i)] = label;
    label2id[label] = i;
  }
  object["id2label"] = std::move(id2label);
  object["label2id"] = std::move(label2id);
}

}  // namespace headwater
