#include "batches/batch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headwater {

Json state_to_json(const PipelineState& state) {
  return {{"step", state.step}, {"position", state.position}, {"offset", state.offset}};
}

Result<PipelineState> state_from_json(const Json& json) {
  PipelineState state;
  for (const auto& [key, value] : {std::pair<const char*, int64_t*>{"step", &state.step},
                                   {"position", &state.position},
                                   {"offset", &state.offset}}) {
    const bool whole = json.is_object() && json.contains(key) && json[key].is_number_integer();
    if (whole) *value = json[key].get<int64_t>();
    if (!whole || *value < 0)
      return fail_hint(Code::kInvalidArgument, "start a new run from the checkpoint's weights",
                       "the checkpoint does not say where in its data the run stood: '{}'", key);
  }
  return state;
}

const BatchFeature* Batch::find(std::string_view name) const {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const BatchFeature& f) { return f.name == name; });
  return found == features.end() ? nullptr : &*found;
}

std::string Batch::provenance() const { return describe_places(*set, places); }

int64_t Batch::byte_size() const {
  size_t bytes = lengths.size() * sizeof(int32_t) + places.size() * sizeof(RecordPlace);
  for (const BatchFeature& feature : features) {
    bytes += (feature.ints.size() + feature.floats.size()) * sizeof(int32_t);
    for (const std::string& text : feature.texts) bytes += sizeof(std::string) + text.size();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace headwater
