#include "state/train_state.h"

namespace headwater {

std::map<std::string_view, const Tensor*> parameters_by_name(const TrainState& state) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const NamedTensor& named : state.parameters) by_name.emplace(named.name, &named.tensor);
  for (const auto& [alias, name] : state.aliases) {
    const auto stored = by_name.find(name);
    if (stored != by_name.end()) by_name.emplace(alias, stored->second);
  }
  return by_name;
}

}  // namespace headwater
