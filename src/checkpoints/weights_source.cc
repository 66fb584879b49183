#include "checkpoints/weights_source.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace headwater {
namespace {

using Names = std::map<std::string, size_t, std::less<>>;

// A slot of another tensor is named after it: "<name>#adam_m", "<name>/adam_m", "<name>/Adam_1".
bool is_named_after_another(std::string_view name, const Names& names) {
  static constexpr std::array<std::string_view, 12> kSuffixes = {
      "adam_m",  "adam_v",    "Adam", "Adam_1", "Momentum", "Adagrad",
      "RMSProp", "RMSProp_1", "Ftrl", "Ftrl_1", "lamb_m",   "lamb_v"};
  const size_t mark = name.find_last_of("#/");
  if (mark == std::string_view::npos) return false;
  if (name[mark] == '#') return true;  // of ours
  const std::string_view suffix = name.substr(mark + 1);
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end() &&
         names.contains(name.substr(0, mark));
}

bool is_bookkeeping(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "global_step",   "save_counter", "_CHECKPOINTABLE_OBJECT_GRAPH",
      "beta1_power",   "beta2_power",  "iteration",
      "learning_rate", "loss_scale"};
  constexpr std::string_view kValue = "/.ATTRIBUTES/VARIABLE_VALUE";
  if (name.ends_with(kValue)) name.remove_suffix(kValue.size());
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Optimizers as objects (TensorFlow 2) and as parts of a training checkpoint (PyTorch).
bool belongs_to_an_optimizer(std::string_view name) {
  return name.find("/.OPTIMIZER_SLOT/") != std::string_view::npos ||
         name.starts_with("optimizer/") || name.starts_with("optimizer.") ||
         name.starts_with("optimizer_state_dict.");
}

}  // namespace

WeightRole weight_role(std::string_view name, const Names& names) {
  if (is_bookkeeping(name)) return WeightRole::kBookkeeping;
  if (belongs_to_an_optimizer(name) || is_named_after_another(name, names)) {
    return WeightRole::kSlot;
  }
  return WeightRole::kParameter;
}

WeightsSource::WeightsSource(WeightsIndex index) : index_(std::move(index)) {
  for (size_t i = 0; i < index_.entries.size(); ++i) by_name_.emplace(index_.entries[i].name, i);
  for (WeightEntry& entry : index_.entries) entry.role = weight_role(entry.name, by_name_);
  for (size_t i = 0; i < index_.entries.size(); ++i) {
    const std::string& own_name = index_.entries[i].variable_name;
    if (!own_name.empty()) by_name_.emplace(own_name, i);
  }
}

std::optional<size_t> WeightsSource::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

Result<WeightBytes> WeightsSource::read_bytes(size_t index) const {
  HW_CHECK(index < entries().size());
  auto bytes = load(index);
  if (!bytes) {
    return in_context(std::move(bytes).error(), fmt::format("tensor '{}'", entries()[index].name));
  }
  return bytes;
}

Result<Tensor> WeightsSource::read(size_t index) const {
  HW_CHECK(index < entries().size());
  const WeightEntry& entry = entries()[index];
  if (!entry.dtype()) {
    return fail(Code::kUnimplemented,
                "{}: tensor '{}' has element type {}, which is not computed with", path(),
                entry.name, element_name(entry.type));
  }
  HW_ASSIGN_OR_RETURN(const WeightBytes bytes, read_bytes(index));
  Tensor tensor(*entry.dtype(), entry.shape);
  HW_CHECK(tensor.byte_size() == static_cast<int64_t>(bytes.bytes().size()));
  if (tensor.byte_size() > 0)
    std::memcpy(tensor.data(), bytes.bytes().data(), bytes.bytes().size());
  return tensor;
}

}  // namespace headwater
