// Prediction heads that the model families share, and the losses they are trained with.
//
// A loss is a mean over the rows that count; where none does it is 0. Where a batch is a part of a
// larger one (gradient accumulation), the caller gives what to divide by.
#pragma once

#include "models/hf_config.h"
#include "models/layers.h"

namespace headwater {

// One thing a model predicts, against its labels. M rows.
struct TaskOutputs {
  Value loss, accuracy;  // f32 scalars: means over the rows that count
  Value row_loss;        // f32 [M]
  Value row_weight;      // f32 [M]: 1 where the row counts, else 0
  Value row_correct;     // f32 [M]: 1 where the prediction is the label
  Value predictions;     // i32 [M]: the most likely class
};

// sum(values * weights) / total, the total being the sum of the weights unless it is given; at
// least 1.
Value mean_where(Value values, Value weights, Value given_total);

// 1 where a label [M] is one: not negative (-100 is Hugging Face's mark for none). f32 [M].
Value is_labelled(Value labels);

struct ClassLabels {
  Value labels;          // i32 [M]
  Value row_weight;      // f32 [M]
  Value total;           // f32 scalar, may be invalid
  double smoothing = 0;  // this much of the target is spread over all classes (Szegedy et al. 2016)
};
// Classes from rows h [M, H] by h weight^T + bias (may be invalid). Only the loss is smoothed, not
// row_loss.
TaskOutputs predict_classes(Value h, Value weight, Value bias, const ClassLabels& asked,
                            const ForwardContext& context);

// Yes or no from logits f32 [M]. labels and row_weight f32 [M].
TaskOutputs predict_binary(Value logits, Value labels, Value row_weight, Value given_total);

// BERT's head for masked tokens (Devlin et al. 2019): dense, GELU, layer norm, product with a word
// table, which is the embeddings' own.
struct MaskedLmHead {
  LinearParameters dense;  // [E, H]
  LayerNormParameters norm;
  Value table, bias;  // [V, E], [V]
  GeluForm activation;
  double layer_norm_eps;

  Value transform(Value rows) const;                                // [M, H] -> [M, E]
  Value logits(Value hidden, const ForwardContext& context) const;  // [B T, H] -> [B, T, V]
};

// What a masked language model is asked for: labels i32 [B, T], or at `positions` i32 [B, N] labels
// i32 [B, N]. Negative labels, and without positions padding, do not count.
struct MaskedLmLabels {
  Value labels;
  Value positions;    // may be invalid
  Value label_total;  // f32 scalar, may be invalid
  double smoothing = 0;
};
TaskOutputs masked_lm_task(const MaskedLmHead& head, Value hidden, const MaskedLmLabels& asked,
                           Value attention_mask, const ForwardContext& context);

// What a classifier is asked for: labels i32 [B] of a single label, else f32 [B, L]. Negative
// labels of the first kind do not count, of the second all of a row without tokens (padding).
struct ClassifierLabels {
  Value labels, label_total;  // may be invalid
  Value attention_mask;       // i32 [B, T]
  double smoothing = 0;       // of a single label
  Value label_weights;        // f32 of the labels' shape, may be invalid: what a label counts
};
// Dropout, then a linear layer at `scope`, on rows [B, H]: logits [B, L]. With valid labels also
// the task; a regression has no accuracy and no predictions.
struct ClassifierOutputs {
  Value logits;
  TaskOutputs task;
};
ClassifierOutputs classify(const Scope& scope, Value rows, const ClassifierLabels& asked,
                           const ClassifierConfig& config, Initializer init,
                           const ForwardContext& context);
// The same for every token: rows [B T, H], labels i32 [B, T] -> logits [B, T, L]. A token counts
// whose label is not negative.
ClassifierOutputs classify_tokens(const Scope& scope, Value rows, const ClassifierLabels& asked,
                                  const ClassifierConfig& config, Initializer init,
                                  const ForwardContext& context);
// Where an answer begins and where it ends: a linear layer on rows [B T, H], labels i32 [B, 2], the
// tokens -> logits [B, T, 2]. The loss is a mean of both cross-entropies over the tokens of a row,
// padding apart.
ClassifierOutputs find_span(const Scope& scope, Value rows, const ClassifierLabels& asked,
                            Initializer init, const ForwardContext& context);

}  // namespace headwater
