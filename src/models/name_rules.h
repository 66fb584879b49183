// Names of parameters in other programs' checkpoints, as tables: google's TensorFlow checkpoints of
// ELECTRA and BERT, OpenAI's of GPT-2, and the older spellings of Hugging Face.
//
// Our canonical names are Hugging Face's of today. The ELECTRA pair, two models in one training
// state, has them under the scopes `discriminator.` and `generator.`
// (docs/formats/native-checkpoint.md). The two directions are exact inverses: a name that one side
// would not give back is not translated. Kernels are [in, out] in TensorFlow and [out, in] here;
// GPT-2's are [1, in, out] there and [in, out] here.
//
// Optimizer slots are the moments m and v of a parameter; here "<name>#adam_m", "<name>#adam_v".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"

namespace headwater {

// Sets of names: one for each way in which a program lays out a model's parameters.
enum class NameFamily {
  kElectraDiscriminator,
  kElectraGenerator,  // alone; in TensorFlow its tables are those under electra/
  kElectraClassifier,
  kElectraPair,
  kBert,  // with any of its heads
  kGpt2,
};

// How a TensorFlow program names the moments.
enum class SlotStyle {
  kAdamWeightDecay,  // <variable>/adam_m, /adam_v: google's BERT, ELECTRA, ALBERT
  kLamb,             // <variable>/lamb_m, /lamb_v
  kTfAdam,           // <variable>/Adam, /Adam_1: tf.train.AdamOptimizer
};

struct TfMapping {
  std::string name;
  bool transpose = false;          // a matrix whose axes change places
  bool leading_axis = false;       // [1, in, out] in TensorFlow
  std::optional<SlotStyle> slots;  // of a moment

  friend bool operator==(const TfMapping&, const TfMapping&) = default;
};

// What a tensor of a PyTorch or safetensors file is.
struct HfMapping {
  enum class Kind {
    kParameter,
    kTied,    // repeats the parameter `name` (unless the configuration unties them)
    kBuffer,  // no parameter: position ids, a causal mask; `name` is empty
  };
  Kind kind = Kind::kParameter;
  std::string name;  // canonical

  friend bool operator==(const HfMapping&, const HfMapping&) = default;
};

class NameRules {
 public:
  explicit NameRules(NameFamily family);

  // "bert/encoder/layer_0/output/dense/kernel/adam_m" ->
  // "bert.encoder.layer.0.output.dense.weight#adam_m". Empty for what is no parameter of the family
  // (global_step).
  std::optional<TfMapping> from_tf(std::string_view tf_name) const;
  // The way back.
  std::optional<TfMapping> to_tf(std::string_view canonical,
                                 SlotStyle slots = SlotStyle::kAdamWeightDecay) const;
  // Names of today, those without the model's prefix (BertModel, GPT2Model: "h.0.ln_1.weight"), and
  // LayerNorm.gamma and .beta. A moment ("#adam_m") is as its parameter.
  std::optional<HfMapping> from_hf(std::string_view hf_name) const;
  // Whether a parameter or moment of this name can be.
  bool is_canonical(std::string_view name) const;

 private:
  // '#' in a pattern stands for a layer's number.
  struct Row {
    std::string tf, canonical;
    bool transpose = false, leading_axis = false;
  };
  std::vector<Row> rows_;
  NameFamily family_;
};

// The rules of the pair.
std::optional<TfMapping> canonical_from_tf(std::string_view tf_name);
std::optional<TfMapping> tf_from_canonical(std::string_view name);

// The shape under the canonical name of a tensor that has `shape` in TensorFlow, and back. Errors
// say what rank the mapping wants.
Result<Shape> canonical_shape(const TfMapping& mapping, const Shape& shape);
Result<Shape> tf_shape(const TfMapping& mapping, const Shape& shape);

// Elements of a [rows, columns] matrix as those of [columns, rows].
void transpose_bytes(const uint8_t* from, uint8_t* to, int64_t rows, int64_t columns,
                     int64_t element_bytes);
// A [rows, columns] tensor as [columns, rows]. Any element type.
Tensor transposed(const Tensor& matrix);

}  // namespace headwater
