// What the verbs `checkpoint ...` share: opening with the notes shown, patterns of names, and the
// line that says what a checkpoint is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "checkpoints/weights_source.h"

namespace headwater {

// Notes of the source go to the log as warnings.
Result<std::unique_ptr<WeightsSource>> open_weights_with_notes(const std::string& path);

// Whether a name matches one of the patterns (`*` any text, `?` one character); all names match no
// patterns at all.
bool matches_any(std::string_view name, const std::vector<std::string>& patterns);

// "runs/ko/checkpoint-500: headwater checkpoint, 41 tensors, 13.5M parameters, 53.9 MB".
std::string summary_line(const WeightsSource& source);
// "+ 82 optimizer slots (adam_m 41, adam_v 41), 107.8 MB"; empty when there are none.
std::string slot_line(const WeightsSource& source);

std::string_view role_name(WeightRole role);
// Name, type, shape and what else is known, without values.
Json entry_json(const WeightEntry& entry);

}  // namespace headwater
