// GELU, x Phi(x) (Hendrycks and Gimpel, "Gaussian error linear units", 2016), on whole arrays.
// Where it follows a product use Epilogue::gelu of gemm.h instead: that costs no pass over memory.
// Relative error of Phi and erf below 3e-7 (2e-7 for erf); see tests/kernels.
#pragma once

#include <cstdint>

namespace headwater::kernels {

enum class GeluForm {
  kErf,   // Phi(x) = (1 + erf(x / sqrt 2)) / 2: BERT, ELECTRA
  kTanh,  // (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 in its place: GPT-2
};

// y = GELU(x); derivative = GELU'(x) unless null. x may be y.
void gelu_forward(GeluForm form, const float* x, float* y, float* derivative, int64_t n);

// dx = dy * GELU'(x). dy may be dx.
void gelu_backward(GeluForm form, const float* x, const float* dy, float* dx, int64_t n);

void erf(const float* x, float* y, int64_t n);
void tanh(const float* x, float* y, int64_t n);
void exp(const float* x, float* y, int64_t n);
// Natural logarithm; x > 0 and normal.
void log(const float* x, float* y, int64_t n);

}  // namespace headwater::kernels
