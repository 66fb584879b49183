// Plain loops over whole arrays, vectorised and in parallel. Outputs may be inputs.
#pragma once

#include <cstdint>

namespace headwater::kernels {

void fill(float value, float* y, int64_t n);
void add(const float* a, const float* b, float* y, int64_t n);
void multiply(const float* a, const float* b, float* y, int64_t n);
void scale(float alpha, const float* x, float* y, int64_t n);  // y = alpha x
void axpy(float alpha, const float* x, float* y, int64_t n);   // y += alpha x
void add_bias(int64_t rows, int64_t columns, const float* bias, const float* x, float* y);

// y[c,r] = x[r,c]. y is not x.
void transpose(int64_t rows, int64_t columns, const float* x, float* y);

// Softmax of each row. dx = y * (dy - sum(dy * y)).
void softmax_forward(int64_t rows, int64_t columns, const float* x, float* y);
void softmax_backward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx);

// 1 / (1 + e^-x).
void sigmoid(const float* x, float* y, int64_t n);

}  // namespace headwater::kernels
