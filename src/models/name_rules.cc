#include "models/name_rules.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace headwater {
namespace {

// A layer's parameters, by what the two sides call them.
enum class Kind { kTable, kDense, kNorm, kConv1d, kGainNorm, kTensor };
struct Leaf {
  std::string_view tf, canonical;
  bool transpose = false, leading_axis = false;
};
constexpr Leaf kTableLeaves[] = {{"", ".weight"}};
constexpr Leaf kDenseLeaves[] = {{"/kernel", ".weight", true}, {"/bias", ".bias"}};
constexpr Leaf kNormLeaves[] = {{"/gamma", ".weight"}, {"/beta", ".bias"}};
constexpr Leaf kConv1dLeaves[] = {{"/w", ".weight", false, true}, {"/b", ".bias"}};
constexpr Leaf kGainNormLeaves[] = {{"/g", ".weight"}, {"/b", ".bias"}};
constexpr Leaf kTensorLeaves[] = {{"", ""}};

std::span<const Leaf> leaves_of(Kind kind) {
  switch (kind) {
    case Kind::kTable: return kTableLeaves;
    case Kind::kDense: return kDenseLeaves;
    case Kind::kNorm: return kNormLeaves;
    case Kind::kConv1d: return kConv1dLeaves;
    case Kind::kGainNorm: return kGainNormLeaves;
    case Kind::kTensor: break;
  }
  return kTensorLeaves;
}

struct Module {
  std::string_view tf, canonical;
  Kind kind;
};
constexpr Module kEmbeddings[] = {
    {"embeddings/word_embeddings", "embeddings.word_embeddings", Kind::kTable},
    {"embeddings/position_embeddings", "embeddings.position_embeddings", Kind::kTable},
    {"embeddings/token_type_embeddings", "embeddings.token_type_embeddings", Kind::kTable},
    {"embeddings/LayerNorm", "embeddings.LayerNorm", Kind::kNorm},
};
constexpr Module kProjection[] = {{"embeddings_project", "embeddings_project", Kind::kDense}};
constexpr Module kEncoder[] = {
    {"encoder/layer_#/attention/self/query", "encoder.layer.#.attention.self.query", Kind::kDense},
    {"encoder/layer_#/attention/self/key", "encoder.layer.#.attention.self.key", Kind::kDense},
    {"encoder/layer_#/attention/self/value", "encoder.layer.#.attention.self.value", Kind::kDense},
    {"encoder/layer_#/attention/output/dense", "encoder.layer.#.attention.output.dense",
     Kind::kDense},
    {"encoder/layer_#/attention/output/LayerNorm", "encoder.layer.#.attention.output.LayerNorm",
     Kind::kNorm},
    {"encoder/layer_#/intermediate/dense", "encoder.layer.#.intermediate.dense", Kind::kDense},
    {"encoder/layer_#/output/dense", "encoder.layer.#.output.dense", Kind::kDense},
    {"encoder/layer_#/output/LayerNorm", "encoder.layer.#.output.LayerNorm", Kind::kNorm},
};
constexpr Module kDiscriminatorHead[] = {
    {"discriminator_predictions/dense", "discriminator_predictions.dense", Kind::kDense},
    {"discriminator_predictions/dense_1", "discriminator_predictions.dense_prediction",
     Kind::kDense},
};
constexpr Module kGeneratorHead[] = {
    {"generator_predictions/dense", "generator_predictions.dense", Kind::kDense},
    {"generator_predictions/LayerNorm", "generator_predictions.LayerNorm", Kind::kNorm},
    {"generator_predictions/output_bias", "generator_lm_head.bias", Kind::kTensor},
};
// google's own classifiers have one layer, task_specific/<task>/dense, which Hugging Face's have no
// place for; these are the names under which transformers looks for its two.
constexpr Module kElectraClassifierHead[] = {
    {"classifier/dense", "classifier.dense", Kind::kDense},
    {"classifier/out_proj", "classifier.out_proj", Kind::kDense},
    {"classifier", "classifier", Kind::kDense},  // of tokens
    {"qa_outputs", "qa_outputs", Kind::kDense},
};
constexpr Module kPooler[] = {{"pooler/dense", "pooler.dense", Kind::kDense}};
// The last four are those of google's run_classifier and run_squad.
constexpr Module kBertHeads[] = {
    {"cls/predictions/transform/dense", "cls.predictions.transform.dense", Kind::kDense},
    {"cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm", Kind::kNorm},
    {"cls/predictions/output_bias", "cls.predictions.bias", Kind::kTensor},
    {"cls/seq_relationship/output_weights", "cls.seq_relationship.weight", Kind::kTensor},
    {"cls/seq_relationship/output_bias", "cls.seq_relationship.bias", Kind::kTensor},
    {"output_weights", "classifier.weight", Kind::kTensor},
    {"output_bias", "classifier.bias", Kind::kTensor},
    {"cls/squad/output_weights", "qa_outputs.weight", Kind::kTensor},
    {"cls/squad/output_bias", "qa_outputs.bias", Kind::kTensor},
};
constexpr Module kGpt2[] = {
    {"wte", "wte", Kind::kTable},
    {"wpe", "wpe", Kind::kTable},
    {"h#/ln_1", "h.#.ln_1", Kind::kGainNorm},
    {"h#/attn/c_attn", "h.#.attn.c_attn", Kind::kConv1d},
    {"h#/attn/c_proj", "h.#.attn.c_proj", Kind::kConv1d},
    {"h#/ln_2", "h.#.ln_2", Kind::kGainNorm},
    {"h#/mlp/c_fc", "h.#.mlp.c_fc", Kind::kConv1d},
    {"h#/mlp/c_proj", "h.#.mlp.c_proj", Kind::kConv1d},
    {"ln_f", "ln_f", Kind::kGainNorm},
};

// Modules under a scope on each side.
struct Group {
  NameFamily family;
  std::string_view tf, canonical;
  std::span<const Module> modules;
};
constexpr Group kGroups[] = {
    {NameFamily::kElectraDiscriminator, "electra/", "electra.", kEmbeddings},
    {NameFamily::kElectraDiscriminator, "electra/", "electra.", kProjection},
    {NameFamily::kElectraDiscriminator, "electra/", "electra.", kEncoder},
    {NameFamily::kElectraDiscriminator, "", "", kDiscriminatorHead},
    {NameFamily::kElectraGenerator, "electra/", "electra.", kEmbeddings},
    {NameFamily::kElectraGenerator, "generator/", "electra.", kProjection},
    {NameFamily::kElectraGenerator, "generator/", "electra.", kEncoder},
    {NameFamily::kElectraGenerator, "", "", kGeneratorHead},
    {NameFamily::kElectraClassifier, "electra/", "electra.", kEmbeddings},
    {NameFamily::kElectraClassifier, "electra/", "electra.", kProjection},
    {NameFamily::kElectraClassifier, "electra/", "electra.", kEncoder},
    {NameFamily::kElectraClassifier, "", "", kElectraClassifierHead},
    {NameFamily::kElectraPair, "electra/", "discriminator.electra.", kEmbeddings},
    {NameFamily::kElectraPair, "electra/", "discriminator.electra.", kProjection},
    {NameFamily::kElectraPair, "electra/", "discriminator.electra.", kEncoder},
    {NameFamily::kElectraPair, "", "discriminator.", kDiscriminatorHead},
    {NameFamily::kElectraPair, "generator/", "generator.electra.", kEmbeddings},
    {NameFamily::kElectraPair, "generator/", "generator.electra.", kProjection},
    {NameFamily::kElectraPair, "generator/", "generator.electra.", kEncoder},
    {NameFamily::kElectraPair, "", "generator.", kGeneratorHead},
    {NameFamily::kBert, "bert/", "bert.", kEmbeddings},
    {NameFamily::kBert, "bert/", "bert.", kEncoder},
    {NameFamily::kBert, "bert/", "bert.", kPooler},
    {NameFamily::kBert, "", "", kBertHeads},
    {NameFamily::kGpt2, "model/", "transformer.", kGpt2},
};

struct SlotNames {
  SlotStyle style;
  std::string_view tf, canonical;
};
constexpr SlotNames kSlots[] = {
    {SlotStyle::kAdamWeightDecay, "/adam_m", "#adam_m"},
    {SlotStyle::kAdamWeightDecay, "/adam_v", "#adam_v"},
    {SlotStyle::kLamb, "/lamb_m", "#adam_m"},
    {SlotStyle::kLamb, "/lamb_v", "#adam_v"},
    {SlotStyle::kTfAdam, "/Adam", "#adam_m"},
    {SlotStyle::kTfAdam, "/Adam_1", "#adam_v"},
};

struct HfNames {
  NameFamily family;
  std::string_view prefix;  // of all parameters but the heads'
};
constexpr HfNames kHfPrefixes[] = {
    {NameFamily::kElectraDiscriminator, "electra."},
    {NameFamily::kElectraGenerator, "electra."},
    {NameFamily::kElectraClassifier, "electra."},
    {NameFamily::kBert, "bert."},
    {NameFamily::kGpt2, "transformer."},
};

struct Tie {
  NameFamily family;
  std::string_view name, of;
};
constexpr Tie kTies[] = {
    {NameFamily::kElectraGenerator, "generator_lm_head.weight",
     "electra.embeddings.word_embeddings.weight"},
    {NameFamily::kBert, "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"},
    {NameFamily::kBert, "cls.predictions.decoder.bias", "cls.predictions.bias"},
    {NameFamily::kGpt2, "lm_head.weight", "transformer.wte.weight"},
};

// What older versions of transformers stored beside the parameters, behind the model's prefix.
constexpr std::string_view kBuffers[] = {"embeddings.position_ids", "embeddings.token_type_ids",
                                         "h.#.attn.bias", "h.#.attn.masked_bias"};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text == "0" || text[0] != '0');
}

// The number that stands at the pattern's '#', empty where the pattern has none; nothing where the
// text is another one.
std::optional<std::string_view> match(std::string_view pattern, std::string_view text) {
  const size_t at = pattern.find('#');
  if (at == std::string_view::npos)
    return pattern == text ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, at), after = pattern.substr(at + 1);
  if (text.size() <= before.size() + after.size() || !text.starts_with(before) ||
      !text.ends_with(after))
    return std::nullopt;
  const auto number = text.substr(at, text.size() - before.size() - after.size());
  return is_number(number) ? std::optional(number) : std::nullopt;
}

std::string with_number(std::string_view pattern, std::string_view number, std::string_view slot) {
  std::string name(pattern);
  if (const size_t at = name.find('#'); at != std::string::npos) name.replace(at, 1, number);
  return name.append(slot);
}

// A name without the mark of a moment, and which one it was.
struct Split {
  std::string_view name;
  const SlotNames* slot = nullptr;
};
Split split_slot(std::string_view name, std::string_view SlotNames::*side) {
  for (const SlotNames& slot : kSlots) {
    if (!name.ends_with(slot.*side)) continue;
    name.remove_suffix((slot.*side).size());
    return {name, &slot};
  }
  return {name};
}

// "LayerNorm.gamma" as "LayerNorm.weight", "LayerNorm.beta" as "LayerNorm.bias".
std::string modern(std::string_view hf_name) {
  constexpr std::string_view kGamma = "LayerNorm.gamma", kBeta = "LayerNorm.beta";
  std::string name(hf_name);
  if (hf_name.ends_with(kGamma)) name.replace(name.size() - 5, 5, "weight");
  else if (hf_name.ends_with(kBeta)) name.replace(name.size() - 4, 4, "bias");
  return name;
}

}  // namespace

NameRules::NameRules(NameFamily family) : family_(family) {
  for (const Group& group : kGroups) {
    if (group.family != family) continue;
    for (const Module& module : group.modules) {
      for (const Leaf& leaf : leaves_of(module.kind)) {
        rows_.push_back(
            {std::string(group.tf).append(module.tf).append(leaf.tf),
             std::string(group.canonical).append(module.canonical).append(leaf.canonical),
             leaf.transpose, leaf.leading_axis});
      }
    }
  }
}

std::optional<TfMapping> NameRules::from_tf(std::string_view tf_name) const {
  const Split split = split_slot(tf_name, &SlotNames::tf);
  for (const Row& row : rows_) {
    const auto number = match(row.tf, split.name);
    if (!number) continue;
    return TfMapping{
        with_number(row.canonical, *number, split.slot != nullptr ? split.slot->canonical : ""),
        row.transpose, row.leading_axis,
        split.slot != nullptr ? std::optional(split.slot->style) : std::nullopt};
  }
  return std::nullopt;
}

std::optional<TfMapping> NameRules::to_tf(std::string_view canonical, SlotStyle slots) const {
  const Split split = split_slot(canonical, &SlotNames::canonical);
  std::string_view suffix;
  for (const SlotNames& slot : kSlots) {
    if (split.slot != nullptr && slot.style == slots && slot.canonical == split.slot->canonical)
      suffix = slot.tf;
  }
  for (const Row& row : rows_) {
    const auto number = match(row.canonical, split.name);
    if (!number) continue;
    return TfMapping{with_number(row.tf, *number, suffix), row.transpose, row.leading_axis,
                     split.slot != nullptr ? std::optional(slots) : std::nullopt};
  }
  return std::nullopt;
}

bool NameRules::is_canonical(std::string_view name) const { return to_tf(name).has_value(); }

std::optional<HfMapping> NameRules::from_hf(std::string_view hf_name) const {
  const std::string name = modern(hf_name);
  if (is_canonical(name)) return HfMapping{HfMapping::Kind::kParameter, name};
  for (const Tie& tie : kTies) {
    if (tie.family == family_ && tie.name == name)
      return HfMapping{HfMapping::Kind::kTied, std::string(tie.of)};
  }
  for (const HfNames& names : kHfPrefixes) {
    if (names.family != family_) continue;
    const std::string prefixed = std::string(names.prefix).append(name);
    if (is_canonical(prefixed)) return HfMapping{HfMapping::Kind::kParameter, prefixed};
    std::string_view bare = name;
    if (bare.starts_with(names.prefix)) bare.remove_prefix(names.prefix.size());
    for (const std::string_view buffer : kBuffers) {
      if (match(buffer, bare)) return HfMapping{HfMapping::Kind::kBuffer, {}};
    }
  }
  return std::nullopt;
}

std::optional<TfMapping> canonical_from_tf(std::string_view tf_name) {
  static const NameRules kPair(NameFamily::kElectraPair);
  return kPair.from_tf(tf_name);
}

std::optional<TfMapping> tf_from_canonical(std::string_view name) {
  static const NameRules kPair(NameFamily::kElectraPair);
  return kPair.to_tf(name);
}

Result<Shape> canonical_shape(const TfMapping& mapping, const Shape& shape) {
  if (mapping.leading_axis) {
    if (shape.size() == 3 && shape[0] == 1) return Shape{shape[1], shape[2]};
    return fail(Code::kInvalidArgument, "{} is {}, not [1, in, out]", mapping.name,
                shape_text(shape));
  }
  if (!mapping.transpose) return shape;
  if (shape.size() == 2) return Shape{shape[1], shape[0]};
  return fail(Code::kInvalidArgument, "{} is {}, not a matrix", mapping.name, shape_text(shape));
}

Result<Shape> tf_shape(const TfMapping& mapping, const Shape& shape) {
  if (!mapping.leading_axis && !mapping.transpose) return shape;
  if (shape.size() != 2)
    return fail(Code::kInvalidArgument, "{} is {}, not a matrix", mapping.name, shape_text(shape));
  return mapping.transpose ? Shape{shape[1], shape[0]} : Shape{1, shape[0], shape[1]};
}

namespace {

// Square blocks, so that both sides stay in cache. The size is a constant where it is a common one.
template <class Size>
void transpose_blocks(const uint8_t* from, uint8_t* to, int64_t rows, int64_t columns, Size size) {
  constexpr int64_t kBlock = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
      const int64_t r1 = std::min(rows, r0 + kBlock), c1 = std::min(columns, c0 + kBlock);
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t r = r0; r < r1; ++r) {
          std::memcpy(to + (c * rows + r) * size, from + (r * columns + c) * size,
                      static_cast<size_t>(size));
        }
      }
    }
  }
}

}  // namespace

void transpose_bytes(const uint8_t* from, uint8_t* to, int64_t rows, int64_t columns,
                     int64_t element_bytes) {
  using Four = std::integral_constant<int64_t, 4>;
  using Two = std::integral_constant<int64_t, 2>;
  if (element_bytes == 4) transpose_blocks(from, to, rows, columns, Four());
  else if (element_bytes == 2) transpose_blocks(from, to, rows, columns, Two());
  else transpose_blocks(from, to, rows, columns, element_bytes);
}

Tensor transposed(const Tensor& matrix) {
  HW_CHECK(matrix.shape().size() == 2, "transposed() takes a matrix");
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result(matrix.dtype(), {columns, rows});
  transpose_bytes(matrix.data(), result.data(), rows, columns, dtype_size(matrix.dtype()));
  return result;
}

}  // namespace headwater
