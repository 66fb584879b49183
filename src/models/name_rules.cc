#include "models/name_rules.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace headwater {
namespace {

struct Rule {
  std::string_view tf, canonical;
};
// Scopes, the first that fits counts; what follows is translated segment by segment.
constexpr std::array<Rule, 5> kScopes = {{
    {"electra/", "discriminator.electra."},
    {"generator/", "generator.electra."},
    {"discriminator_predictions/dense_1/",
     "discriminator.discriminator_predictions.dense_prediction."},
    {"discriminator_predictions/", "discriminator.discriminator_predictions."},
    {"generator_predictions/", "generator.generator_predictions."},
}};
// Whole names that follow no rule.
constexpr std::array<Rule, 1> kExceptions = {{
    {"generator_predictions/output_bias", "generator.generator_lm_head.bias"},
}};
constexpr std::array<Rule, 2> kSlots = {{{"/adam_m", "#adam_m"}, {"/adam_v", "#adam_v"}}};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text == "0" || text[0] != '0');
}

// Words of a path; numbers and "layer" stand only in layer_N.
bool is_word(std::string_view text) {
  return !text.empty() && text != "layer" && !is_number(text) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

bool is_table(std::string_view word) { return word.ends_with("_embeddings"); }

// "encoder/layer_0/output/dense/kernel" -> "encoder.layer.0.output.dense.weight"
std::optional<TfMapping> path_from_tf(std::string_view path, std::string_view scope) {
  std::vector<std::string> words = split(path, '/');
  const std::string leaf = words.back();
  words.pop_back();
  TfMapping result;
  for (const std::string& word : words) {
    constexpr std::string_view kLayer = "layer_";
    const bool is_layer = word.starts_with(kLayer);
    const std::string number = is_layer ? word.substr(kLayer.size()) : "";
    if (is_layer ? !is_number(number) : (!is_word(word) || is_table(word))) return std::nullopt;
    result.name += (is_layer ? "layer." + number : word) + '.';
  }
  // A scope may end in the module itself: discriminator_predictions/dense_1.
  const bool norm = !words.empty() && words.back() == "LayerNorm";
  if (words.empty() && !is_table(leaf) && !scope.ends_with("dense_1/")) return std::nullopt;
  if (norm && leaf == "gamma") result.name += "weight";
  else if (norm && leaf == "beta") result.name += "bias";
  else if (!norm && leaf == "kernel") result.name += "weight", result.transpose = true;
  else if (!norm && leaf == "bias") result.name += "bias";
  else if (!norm && is_table(leaf) && is_word(leaf)) result.name += leaf + ".weight";
  else return std::nullopt;
  return result;
}

// "encoder.layer.0.output.dense.weight" -> "encoder/layer_0/output/dense/kernel"
std::optional<TfMapping> path_from_canonical(std::string_view path, std::string_view tf_scope) {
  std::vector<std::string> words = split(path, '.');
  const std::string leaf = words.back();
  words.pop_back();
  const std::string parent = words.empty() ? "" : words.back();
  if (leaf != "weight" && leaf != "bias") return std::nullopt;
  if (is_table(parent) && leaf == "bias") return std::nullopt;
  TfMapping result;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "layer" && i + 1 < words.size() && is_number(words[i + 1])) {
      result.name += "layer_" + words[++i] + '/';
    } else if (is_word(words[i]) && !words[i].starts_with("layer_")) {
      result.name += words[i] + '/';
    } else {
      return std::nullopt;
    }
  }
  if (is_table(parent)) result.name.pop_back();
  else if (parent == "LayerNorm") result.name += leaf == "weight" ? "gamma" : "beta";
  else if (leaf == "weight") result.name += "kernel", result.transpose = true;
  else result.name += leaf;
  // Only what the other direction gives back.
  const auto back = path_from_tf(result.name, tf_scope);
  return back && back->name == path ? std::optional(result) : std::nullopt;
}

std::string joined(std::string_view a, std::string_view b, std::string_view c) {
  return std::string(a).append(b).append(c);
}

// Both directions: slot suffix, whole-name exception, else scope and path.
template <class Path>
std::optional<TfMapping> translate(std::string_view name, std::string_view Rule::*from,
                                   std::string_view Rule::*to, Path path) {
  std::string_view slot;
  for (const Rule& rule : kSlots) {
    if (!name.ends_with(rule.*from)) continue;
    name.remove_suffix((rule.*from).size());
    slot = rule.*to;
    break;
  }
  for (const Rule& rule : kExceptions) {
    if (name == rule.*from) return TfMapping{joined("", rule.*to, slot), false};
  }
  for (const Rule& rule : kScopes) {
    if (!name.starts_with(rule.*from)) continue;
    auto mapped = path(name.substr((rule.*from).size()), rule.tf);
    if (mapped) mapped->name = joined(rule.*to, mapped->name, slot);
    return mapped;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TfMapping> canonical_from_tf(std::string_view tf_name) {
  return translate(tf_name, &Rule::tf, &Rule::canonical, path_from_tf);
}

std::optional<TfMapping> tf_from_canonical(std::string_view name) {
  return translate(name, &Rule::canonical, &Rule::tf, path_from_canonical);
}

Tensor transposed(const Tensor& matrix) {
  HW_CHECK(matrix.shape().size() == 2, "transposed() takes a matrix");
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result(matrix.dtype(), {columns, rows});
  const auto bytes = static_cast<size_t>(dtype_size(matrix.dtype()));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      std::memcpy(result.data() + static_cast<size_t>(c * rows + r) * bytes,
                  matrix.data() + static_cast<size_t>(r * columns + c) * bytes, bytes);
    }
  }
  return result;
}

}  // namespace headwater
