// Whether two sets of weights are the same model: both run on the same input, and the largest
// difference of what comes out. The proof at the end of a conversion.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "models/model.h"

namespace headwater {

// The parameter of a name, f32.
using WeightReader = std::function<Result<Tensor>(const std::string& name)>;

// States of the last layer and, where the model has them, pooled output and logits, for two rows of
// up to 32 random tokens, the second padded. Input follows from `seed`.
Result<std::vector<Tensor>> forward_outputs(const Model& model, const WeightReader& weights,
                                            uint64_t seed);

struct ForwardDifference {
  double largest = 0;  // absolute; infinite where one side is no number
  double scale = 0;    // the largest output
};
ForwardDifference compare_outputs(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

}  // namespace headwater
