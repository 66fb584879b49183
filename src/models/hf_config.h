// What the config.json files of all model families have in common: described fields in
// Hugging Face's words, keys that this program does not know kept and written back, and settings
// that change the model in ways that are not supported refused.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.h"
#include "base/error.h"
#include "base/json.h"

namespace headwater {

// Sets the described fields from a config.json of `model_type`; null leaves a default. Returns what
// else stood there, a JSON object as text. `size_keys` must be there: the defaults of a family are
// those of one size, and would give another model than the weights beside the file. `where` (a
// file) goes into errors.
Result<std::string> read_hf_config(Fields& fields, const Json& object, std::string_view model_type,
                                   std::span<const char* const> size_keys, std::string_view where);

// The way back. `architecture`: "BertForMaskedLM", ...
Json write_hf_config(const Fields& fields, std::string_view model_type,
                     std::string_view architecture, std::string_view other_keys);

// Checks that the heads divide the width: names are those of the fields.
Result<> check_heads(std::string_view size_name, int64_t size, std::string_view heads_name,
                     int64_t heads, std::string_view where);

// What a classifier's config.json says beside the sizes of its encoder.
struct ClassifierConfig {
  enum class Problem { kSingleLabel, kMultiLabel, kRegression };
  int64_t num_labels = 2;  // the size of id2label
  Problem problem = Problem::kSingleLabel;
  double dropout = 0.1;             // classifier_dropout, or hidden_dropout_prob where that is null
  std::vector<std::string> labels;  // names of id2label, in order; empty: it has none

  static Result<ClassifierConfig> from_hf_json(const Json& object, std::string_view where);
  // problem_type, id2label and label2id; without names those of the object stay, if their number
  // is right.
  void write_to(Json& object) const;

  friend bool operator==(const ClassifierConfig&, const ClassifierConfig&) = default;
};

}  // namespace headwater
