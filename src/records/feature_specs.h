// Which features a record has, in words: the text of --features and its JSON form.
//
//   input_ids:int64[], attention_mask:int64[]?, label:int64=-100, box:float[2,2], name:bytes
//
// A feature is NAME:TYPE[SHAPE] with the types int64, float and bytes. `[]` is a list of any length
// (tf.io.VarLenFeature), `[2,2]` a fixed shape, no brackets a single value (FixedLenFeature). `?`
// lets records lack a list: without it a record that lacks the key is an error, so that a misspelt
// key does not read as an empty list everywhere. `=` gives a fixed feature a default for records
// that lack it: one value for all places, or a list, `=[1, 2]`. Bytes with a comma or a bracket in
// them are written as a JSON text.
//
// The JSON form is an object from names to such texts without the name, or to objects:
//
//   {"input_ids": "int64[]", "label": {"type": "int64", "shape": [], "default": -100},
//    "attention_mask": {"type": "int64", "optional": true}}
//
// An object without "shape" is a list of any length.
//
// Not here: parsing of records by specs (example.h), padding of lists (batches/padding.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"
#include "records/example.h"

namespace headwater {

Result<std::vector<FeatureSpec>> parse_feature_specs(std::string_view text);
Result<std::vector<FeatureSpec>> feature_specs_from_json(const Json& json);
// The value of --features: the name of a file that ends in .json, JSON that begins with `{`, or the
// text.
Result<std::vector<FeatureSpec>> read_feature_specs(FileSystem& fs, std::string_view value);

// The text that reads back as `specs` (of kFixed and kVariable).
std::string feature_specs_text(std::span<const FeatureSpec> specs);

}  // namespace headwater
