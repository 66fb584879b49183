// The optimizer's update in one pass over parameters, moments and gradients, with the clip factor
// of the global norm folded in.
#pragma once

#include <cstdint>

namespace headwater::kernels {

// g' = gradient_scale * g; m = beta1 m + (1 - beta1) g'; v = beta2 v + (1 - beta2) g'^2;
// u = m_scale * m / (sqrt(v_scale * v) + eps) + weight_decay * w; w -= learning_rate * u.
// Scales of 1: no bias correction (ELECTRA and BERT: Adam with decoupled decay, eps outside the
// root). With 1 / (1 - beta1^t) and 1 / (1 - beta2^t): AdamW (Loshchilov and Hutter, 2019) as
// PyTorch has it.
struct AdamOptions {
  float learning_rate;
  double beta1 = 0.9, beta2 = 0.999;  // double: 1 - 0.999f is off by 5e-5 of itself
  float eps = 1e-6f;
  float weight_decay = 0.0f;
  float gradient_scale = 1.0f;
  float m_scale = 1.0f, v_scale = 1.0f;
};

void adam_update(const AdamOptions& options, int64_t n, const float* gradient, float* weight,
                 float* m, float* v);

}  // namespace headwater::kernels
