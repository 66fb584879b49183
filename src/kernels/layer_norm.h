// Layer normalisation over the last axis (Ba et al., 2016): y = (x - mean) * rstd * gamma + beta
// with rstd = 1 / sqrt(variance + eps), biased variance; and the post-norm residual form of BERT,
// y = LN(x + dropout(h)), in one pass.
#pragma once

#include <cstdint>

#include "kernels/dropout.h"

namespace headwater::kernels {

struct LayerNormShape {
  int64_t rows, size;  // [rows, size], normalised over size
  float eps = 1e-12f;
};

// mean and rstd are [rows], kept for the backward pass.
void layer_norm_forward(const LayerNormShape& shape, const float* x, const float* gamma,
                        const float* beta, float* y, float* mean, float* rstd);

int64_t layer_norm_backward_workspace_bytes(const LayerNormShape& shape);

// dx from dy; d_gamma and d_beta [size] are accumulated: new = accumulate * old + gradient. dx may
// be dy.
void layer_norm_backward(const LayerNormShape& shape, const float* x, const float* gamma,
                         const float* mean, const float* rstd, const float* dy, float* dx,
                         float accumulate, float* d_gamma, float* d_beta, void* workspace);

// sum = x + dropout(h); y = LN(sum). sum [rows, size] is kept for the backward pass; it may be h or
// x.
void residual_layer_norm_forward(const LayerNormShape& shape, const float* x, const float* h,
                                 const Dropout& dropout, const float* gamma, const float* beta,
                                 float* sum, float* y, float* mean, float* rstd);

// dx = gradient of sum, dh = the same through the dropout mask. dx may be dy; without dropout dh
// may be dx.
void residual_layer_norm_backward(const LayerNormShape& shape, const float* sum,
                                  const Dropout& dropout, const float* gamma, const float* mean,
                                  const float* rstd, const float* dy, float* dx, float* dh,
                                  float accumulate, float* d_gamma, float* d_beta, void* workspace);

}  // namespace headwater::kernels
