// What one looks at in weights: statistics of a tensor, the difference of two checkpoints, the
// average of several. Computes; how it is shown is cli/verb_checkpoint_*.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoints/weights_source.h"
#include "io/file.h"

namespace headwater {

struct ValueStats {
  int64_t count = 0, zeros = 0, not_a_number = 0, infinite = 0;
  // Of the finite values; 0 when there are none.
  double minimum = 0, maximum = 0, mean = 0, deviation = 0, norm = 0;
};
// `type` must have values (element_values.h).
ValueStats value_stats(ElementType type, std::span<const uint8_t> bytes);

// Two tensors of one name and shape whose values differ.
struct TensorDifference {
  std::string name;
  ElementType type_a = ElementType::kF32, type_b = ElementType::kF32;
  int64_t elements = 0, differing = 0;
  double largest = 0;          // of |a - b|; infinite where one side is no number
  std::vector<int64_t> where;  // position of the largest
  double value_a = 0, value_b = 0;
  bool comparable = true;  // false: no numbers; some byte differs
};
struct ShapeDifference {
  std::string name;
  WeightEntry a, b;
};
struct WeightsDifference {
  std::vector<WeightEntry> only_a, only_b;
  std::vector<ShapeDifference> reshaped;
  std::vector<TensorDifference> changed;  // by falling largest difference
  int64_t equal = 0;                      // tensors whose values are the same
  int64_t slots_a = 0, slots_b = 0;       // left out
  // Further names of tied tensors that one side does not have; it has the tensor.
  int64_t tied_names = 0;

  bool same() const {
    return only_a.empty() && only_b.empty() && reshaped.empty() && changed.empty();
  }
};
struct DiffOptions {
  double tolerance = 0;  // differences up to this count as none
  bool slots = false;    // compare optimizer slots too
};
// By name, or by the variable's own name. Two NaNs are the same. One tensor of each at a time.
Result<WeightsDifference> diff_weights(const WeightsSource& a, const WeightsSource& b,
                                       const DiffOptions& options);

// What an average is made of: the parameters of the first source, which all must have in the same
// shape and type. Values are summed in double precision; tensors that are not floating point are
// those of the last source.
struct AveragePlan {
  std::vector<WeightEntry> entries;  // tied ones and slots left out
  int64_t averaged = 0, taken_from_last = 0, slots_left_out = 0;
};
using Sources = std::span<const std::unique_ptr<WeightsSource>>;
Result<AveragePlan> plan_average(Sources sources);
// One tensor of the plan.
Result<WeightBytes> average_tensor(Sources sources, const WeightEntry& entry);
// All of them, one at a time, into a safetensors file.
Result<> write_average(FileSystem& fs, Sources sources, const AveragePlan& plan,
                       const std::string& path);

}  // namespace headwater
