// Cross-entropy over a vocabulary fused with the product that makes the logits: logits = h W^T + b
// with h [M,E], W [V,E], b [V]. The M x V logits never exist: blocks of the vocabulary pass through
// cache, forward keeps the log-sum-exp of every row, backward recomputes the blocks.
//
// The same forward pass draws the generator's samples (ELECTRA; reference behaviour: arg max of the
// logits plus Gumbel noise).
#pragma once

#include <cstdint>

#include "base/threefry.h"

namespace headwater::kernels {

struct VocabularyShape {
  int64_t rows, hidden, vocabulary;
};

// sample[m] = the lowest v that maximises logits[m,v] / temperature + g, g = -ln(-ln(u + 1e-9) +
// 1e-9) with u = uniform of index offset + m * V + v under the key.
struct GumbelSampling {
  Key key;
  uint64_t offset = 0;
  float temperature = 1.0f;
  bool disallow_correct = false;    // the target's logit counts 1000 less
  const float* uniforms = nullptr;  // [M,V]: given draws in place of the key, for replays
  int32_t* sample = nullptr;        // [M]
};

// Outputs of the forward pass, all [M]; those that are null are not computed.
struct VocabularyOutputs {
  float* loss;                    // log_sum_exp - logit of the target: unweighted
  float* log_sum_exp;             // for the backward pass
  int32_t* prediction = nullptr;  // arg max, the lowest on ties
};

int64_t vocabulary_cross_entropy_workspace_bytes(const VocabularyShape& shape);

// targets [M] in [0, V). bias may be null. sampling may be null.
void vocabulary_cross_entropy_forward(const VocabularyShape& shape, const float* h,
                                      const float* weight, const float* bias,
                                      const int32_t* targets, const VocabularyOutputs& outputs,
                                      const GumbelSampling* sampling, void* workspace);

// d_loss [M]: gradient of each row's loss (its weight over the normaliser, times what is upstream).
// dh is written; d_weight [V,E] and d_bias [V] (may be null) become accumulate * old + gradient.
void vocabulary_cross_entropy_backward(const VocabularyShape& shape, const float* h,
                                       const float* weight, const float* bias,
                                       const int32_t* targets, const float* log_sum_exp,
                                       const float* d_loss, float* dh, float accumulate,
                                       float* d_weight, float* d_bias, void* workspace);

// noise[i] = g of index offset + i: what the samples are drawn with.
void gumbel_noise(Key key, uint64_t offset, float* noise, int64_t n);

// Softmax cross-entropy on logits that exist: loss[m] = log sum exp(logits[m]) - logits[m, target].
void softmax_cross_entropy_forward(int64_t rows, int64_t classes, const float* logits,
                                   const int32_t* targets, float* loss, float* log_sum_exp);
void softmax_cross_entropy_backward(int64_t rows, int64_t classes, const float* logits,
                                    const int32_t* targets, const float* log_sum_exp,
                                    const float* d_loss, float* d_logits);

// Binary cross-entropy with logits: loss = max(z,0) - z y + ln(1 + e^-|z|), d = sigmoid(z) - y,
// both times weight (null: 1). Labels are 0 or 1, or soft. loss or derivative may be null.
void sigmoid_cross_entropy(int64_t n, const float* logits, const float* labels,
                           const float* weights, float* loss, float* derivative);

}  // namespace headwater::kernels
