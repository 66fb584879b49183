// Names of parameters in google's TensorFlow checkpoints of ELECTRA, as rules.
//
// Our canonical names are Hugging Face names under the scopes `discriminator.` and `generator.`
// (docs/formats/native-checkpoint.md). The rules are exact inverses of each other: a name that one
// side would not give back is not translated. Kernels are [in, out] there and [out, in] here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/tensor.h"

namespace headwater {

struct TfMapping {
  std::string name;
  bool transpose = false;  // a matrix whose axes change places

  friend bool operator==(const TfMapping&, const TfMapping&) = default;
};

// "electra/encoder/layer_0/output/dense/kernel/adam_m" ->
// "discriminator.electra.encoder.layer.0.output.dense.weight#adam_m". Empty for what is no
// parameter of the pair (global_step) or of an unknown scope.
std::optional<TfMapping> canonical_from_tf(std::string_view tf_name);

// The way back; empty for a name that the pair does not have.
std::optional<TfMapping> tf_from_canonical(std::string_view name);

// A [rows, columns] tensor as [columns, rows]. Any element type.
Tensor transposed(const Tensor& matrix);

}  // namespace headwater
