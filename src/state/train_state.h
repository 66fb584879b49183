// The state of a training run on the host: what a checkpoint holds and a trainer continues from.
// Plain data: executors fill it and read it, checkpoints/ stores it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace headwater {

struct TrainState {
  int64_t step = 0;                     // optimizer steps done
  std::vector<NamedTensor> parameters;  // by canonical name, a tied tensor once
  std::vector<NamedTensor> slots;       // "<parameter>#adam_m", ... (train/optimizer.h)
  // Further names of tied parameters -> the name under which the tensor is stored.
  std::map<std::string, std::string> aliases;
  // JSON object: resolved configuration, seed, data fingerprint, versions, cursor of the pipeline.
  // Text, so that this header stays light; written and read with base/json.h.
  std::string meta = "{}";
};

// Every parameter by name, aliases included. Points into `state`, which must outlive the map.
std::map<std::string_view, const Tensor*> parameters_by_name(const TrainState& state);

}  // namespace headwater
