// Parameters and optimizer slots of a model on a device: first weights, loading, copying back to
// the host. Nothing here runs a graph.
#pragma once

#include <memory>

#include "executors/executor.h"
#include "models/model.h"
#include "state/train_state.h"
#include "train/optimizer.h"

namespace headwater {

class DeviceState {
 public:
  // Nothing is set yet. `seed` is of first weights.
  DeviceState(std::unique_ptr<StateStore> store, const ParameterTypes& types,
              const OptimizerOptions& optimizer, uint64_t seed);

  const std::vector<TensorSpec>& parameters() const { return specs_; }
  int64_t parameter_count() const;
  StateStore& store() const { return *store_; }

  // First weights, from the seed; slots as they start.
  Result<> initialize();
  // Weights, and the slots when `with_slots`, which then must be complete (but for averages, which
  // else start anew). The state must fit (checkpoints/fit.h).
  Result<> load(const TrainState& state, bool with_slots, std::string_view where);
  // What fits by name and shape; the rest gets first weights. Slots likewise, else as they start.
  Result<FitReport> load_fitting(const TrainState& state, bool with_slots);
  // The parameters below `to` take over what those below `from` have under the same names and
  // shapes ("generator." -> "discriminator."). Slots stay.
  Result<> copy_parameters(std::string_view from, std::string_view to);
  // Copies everything to the host. `step` is what the caller counts; meta stays empty.
  Result<TrainState> copy(int64_t step) const;
  // The moving averages in place of the parameters, without slots. kFailedPrecondition where none
  // are kept.
  Result<TrainState> copy_averages(int64_t step) const;

 private:
  Result<> set_parameter(const TensorSpec& spec, const Tensor& tensor);

  std::unique_ptr<StateStore> store_;
  std::vector<TensorSpec> specs_;
  std::vector<Initializer> initializers_;
  std::map<std::string, std::string> aliases_;
  OptimizerOptions optimizer_;
  uint64_t seed_;
};

}  // namespace headwater
