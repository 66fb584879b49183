// What goes into and comes out of a model of any family, as values of a graph. B batch, T time, V
// vocabulary, L labels.
#pragma once

#include "models/heads.h"

namespace headwater {

struct ModelInputs {
  TokenInputs tokens;
  // What the model is to predict; invalid: no loss. Language models: i32 [B, T], negative (-100)
  // where nothing is asked; with label_positions i32 [B, N]. Causal ones: the ids themselves, which
  // the model shifts. Discriminators: i32 [B, T], 1 for a replaced token. Classifiers: i32 [B], or
  // f32 [B, L] of several labels and of regressions; of tokens i32 [B, T]. Question answering:
  // i32 [B, 2], the first and the last token of the answer.
  Value labels;
  Value label_positions;      // masked language models, may be invalid: i32 [B, N]
  Value next_sentence_label;  // BERT's pre-training, may be invalid: i32 [B]
  // f32 scalars: what the losses are divided by, when this batch is a part of a larger one
  // (gradient accumulation). Invalid: the rows that count.
  Value label_total, next_sentence_total;
  Value label_weights;         // classifiers, may be invalid: f32 of the labels' shape
  double label_smoothing = 0;  // of tokens and of single labels (models/heads.h)
};

// What a decoder reads: T further tokens of B sequences. The keys and values of all tokens before
// them are in a cache, which is state of the graph and takes the T tokens in, too.
struct DecoderInputs {
  Value input_ids;       // i32 [B, T]
  Value position;        // i32 []: of the first of them, the same in all sequences
  Value last;            // i32 []: which of the T is asked for its successor
  int64_t capacity = 0;  // tokens that the cache holds
};

// What the heads of heads.h are asked for.
inline MaskedLmLabels masked_lm_labels(const ModelInputs& inputs) {
  return {inputs.labels, inputs.label_positions, inputs.label_total, inputs.label_smoothing};
}
inline ClassifierLabels classifier_labels(const ModelInputs& inputs, Value attention_mask) {
  return {inputs.labels, inputs.label_total, attention_mask, inputs.label_smoothing,
          inputs.label_weights};
}

// Values that the architecture does not have are invalid; losses and tasks are so without labels.
struct ModelOutputs {
  Value hidden;  // f32 [B T, H], the states of the last layer
  Value pooled;  // f32 [B, H], BERT's pooler
  Value logits;  // f32 [B, T, V], [B, T] of a discriminator, [B, L] of a classifier, [B,
                 // T, L] of tokens, [B, T, 2] of answers
  Value next_sentence_logits;  // f32 [B, 2]
  TaskOutputs task, next_sentence;
  Value loss;  // f32 scalar, their sum
};

}  // namespace headwater
