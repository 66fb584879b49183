// What a checkpoint's `meta` says so that it can be exported without the options of its run: the
// networks' sizes, the vocabulary's digest, the switches of the tokenizer. Written by the trainer,
// read by the export; docs/formats/native-checkpoint.md has the keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "models/electra_config.h"
#include "tokens/tokenizer.h"

namespace headwater {

struct ExportMeta {
  std::optional<ElectraConfig> discriminator, generator;  // empty: the run has no such network
  std::string vocabulary_digest;                          // Vocabulary::digest(); may be empty
  std::optional<TokenizerOptions> tokenizer;              // empty: not known
};

// Sets the keys `models`, `vocabulary` and `tokenizer` of a JSON object.
void put_export_meta(Json& meta, const ExportMeta& values);

// `where` names the checkpoint in errors. A checkpoint that says of no network what it is cannot be
// exported; everything else may be missing.
Result<ExportMeta> get_export_meta(const std::string& meta, std::string_view where);

}  // namespace headwater
