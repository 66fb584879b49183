// Whether a checkpoint fits a model: tensors compared by name, shape and element type. A report, so
// that a person sees at once what differs; what to do about it is the caller's decision.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "state/train_state.h"

namespace headwater {

// What a model expects of one parameter.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

struct FitReport {
  struct Mismatch {
    TensorSpec expected, found;
  };
  int64_t matched = 0;
  std::vector<std::string> missing;     // the model has it, the checkpoint does not
  std::vector<std::string> unexpected;  // the other way round
  std::vector<Mismatch> mismatched;     // both have it, in another shape or type

  // Nothing is missing or mismatched; what the checkpoint has besides does no harm.
  bool fits() const { return missing.empty() && mismatched.empty(); }
  // A line; of each kind the first few names and the number of the rest.
  std::string to_string() const;
};

// Aliases of the checkpoint count as its names.
FitReport check_fit(std::span<const TensorSpec> expected, const TrainState& checkpoint);

// The same as an error where it does not fit; `where` names the checkpoint.
Result<> require_fit(std::span<const TensorSpec> expected, const TrainState& checkpoint,
                     std::string_view where);

}  // namespace headwater
