// Sums over fixed blocks in a fixed order: the same bits on any number of threads.
#pragma once

#include <cstdint>

namespace headwater::kernels {

// out[n] = beta * out[n] + sum over rows of x[m,n], row-major with leading dimension ld. Bias
// gradients.
int64_t column_sums_workspace_bytes(int64_t rows, int64_t columns);
void column_sums(int64_t rows, int64_t columns, const float* x, int64_t ld, float beta, float* out,
                 void* workspace);

// Sums in double precision over blocks of 65,536 elements.
int64_t sum_workspace_bytes(int64_t n);
double sum(const float* x, int64_t n, void* workspace);
double sum_of_squares(const float* x, int64_t n, void* workspace);
double dot(const float* x, const float* y, int64_t n, void* workspace);

}  // namespace headwater::kernels
