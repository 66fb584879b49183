#include "train/device_state.h"

#include <numeric>

namespace headwater {
namespace {

using TensorsByName = std::map<std::string_view, const Tensor*>;

TensorsByName slots_by_name(const TrainState& state) {
  TensorsByName slots;
  for (const NamedTensor& slot : state.slots) slots[slot.name] = &slot.tensor;
  return slots;
}

}  // namespace

DeviceState::DeviceState(std::unique_ptr<StateStore> store, const ParameterTypes& types,
                         const OptimizerOptions& optimizer, uint64_t seed)
    : store_(std::move(store)), aliases_(types.aliases), optimizer_(optimizer), seed_(seed) {
  for (const ParameterType& parameter : types.parameters) {
    specs_.push_back({parameter.name, DType::kF32, parameter.type.shape});
    initializers_.push_back(parameter.init);
  }
}

int64_t DeviceState::parameter_count() const {
  return std::accumulate(
      specs_.begin(), specs_.end(), int64_t{0},
      [](int64_t sum, const TensorSpec& spec) { return sum + element_count(spec.shape); });
}

// A parameter, and with it the average that starts from it.
Result<> DeviceState::set_parameter(const TensorSpec& spec, const Tensor& tensor) {
  HW_RETURN_IF_ERROR(store_->set(spec.name, tensor));
  return optimizer_.ema_decay > 0 ? store_->set(ema_name(spec.name), tensor) : Result<>();
}

Result<> DeviceState::initialize() {
  for (size_t i = 0; i < specs_.size(); ++i) {
    const TensorSpec& spec = specs_[i];
    for (const TensorSpec& slot : optimizer_slots(optimizer_, spec)) {
      HW_RETURN_IF_ERROR(store_->set(slot.name, Tensor(DType::kF32, slot.shape)));
    }
    HW_RETURN_IF_ERROR(
        set_parameter(spec, initial_value(spec.name, spec.shape, initializers_[i], seed_)));
  }
  return {};
}

Result<> DeviceState::load(const TrainState& state, bool with_slots, std::string_view where) {
  HW_RETURN_IF_ERROR(require_fit(specs_, state, where));
  HW_RETURN_IF_ERROR(initialize());
  const TensorsByName found = parameters_by_name(state);
  for (const TensorSpec& spec : specs_) {
    HW_RETURN_IF_ERROR(set_parameter(spec, *found.at(spec.name)));
  }
  if (!with_slots) return {};
  const TensorsByName slots = slots_by_name(state);
  for (const TensorSpec& spec : specs_) {
    for (const TensorSpec& slot : optimizer_slots(optimizer_, spec)) {
      const auto it = slots.find(slot.name);
      if (it == slots.end() && slot.name == ema_name(spec.name)) continue;
      if (it == slots.end()) {
        return fail_hint(Code::kFailedPrecondition,
                         "start a new run from its weights with --init-checkpoint",
                         "{} lacks the optimizer slot {}", where, slot.name);
      }
      HW_RETURN_IF_ERROR(store_->set(slot.name, *it->second));
    }
  }
  return {};
}

Result<FitReport> DeviceState::load_fitting(const TrainState& state, bool with_slots) {
  HW_RETURN_IF_ERROR(initialize());
  const TensorsByName by_name = parameters_by_name(state);
  const TensorsByName slots = with_slots ? slots_by_name(state) : TensorsByName();
  for (const TensorSpec& spec : specs_) {
    const auto found = by_name.find(spec.name);
    if (found == by_name.end() || found->second->shape() != spec.shape) continue;
    HW_RETURN_IF_ERROR(set_parameter(spec, *found->second));
    for (const TensorSpec& slot : optimizer_slots(optimizer_, spec)) {
      const auto it = slots.find(slot.name);
      if (it == slots.end() || it->second->shape() != slot.shape) continue;
      HW_RETURN_IF_ERROR(store_->set(slot.name, *it->second));
    }
  }
  return check_fit(specs_, state);
}

Result<> DeviceState::copy_parameters(std::string_view from, std::string_view to) {
  std::map<std::string_view, const TensorSpec*> by_name;
  for (const TensorSpec& spec : specs_) by_name.emplace(spec.name, &spec);
  for (const TensorSpec& spec : specs_) {
    if (!spec.name.starts_with(from)) continue;
    const auto own = by_name.find(std::string(to) + spec.name.substr(from.size()));
    if (own == by_name.end() || own->second->shape != spec.shape) continue;
    HW_ASSIGN_OR_RETURN(const Tensor weights, store_->get(spec.name));
    HW_RETURN_IF_ERROR(set_parameter(*own->second, weights));
  }
  return {};
}

Result<TrainState> DeviceState::copy(int64_t step) const {
  TrainState state;
  state.step = step;
  state.aliases = aliases_;
  for (const TensorSpec& spec : specs_) {
    HW_ASSIGN_OR_RETURN(Tensor parameter, store_->get(spec.name));
    state.parameters.push_back({spec.name, std::move(parameter)});
    for (const TensorSpec& slot : optimizer_slots(optimizer_, spec)) {
      HW_ASSIGN_OR_RETURN(Tensor tensor, store_->get(slot.name));
      state.slots.push_back({slot.name, std::move(tensor)});
    }
  }
  return state;
}

Result<TrainState> DeviceState::copy_averages(int64_t step) const {
  if (optimizer_.ema_decay <= 0)
    return fail(Code::kFailedPrecondition, "no moving average of the parameters is kept");
  TrainState state;
  state.step = step;
  state.aliases = aliases_;
  for (const TensorSpec& spec : specs_) {
    HW_ASSIGN_OR_RETURN(Tensor average, store_->get(ema_name(spec.name)));
    state.parameters.push_back({spec.name, std::move(average)});
  }
  return state;
}

}  // namespace headwater
