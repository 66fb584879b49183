// Products of float32 matrices on the CPU: C = alpha * op(A) op(B) + beta * C with an epilogue that
// is applied while the result is still in cache. Row-major, leading dimensions in elements.
//
// Why not a library: oneDNN and OpenBLAS split long sums by the number of threads, so their results
// depend on it, and neither takes an epilogue; measured figures in bench/kernels.md.
#pragma once

#include <cstdint>

#include "kernels/activation.h"

namespace headwater::kernels {

// op(X) of a product: X as stored, or its transpose.
struct Operand {
  const float* data;
  int64_t ld;  // elements from one stored row to the next
  bool transposed =
      false;  // true: the stored matrix is the transpose of the one that is multiplied
};

// What happens to v = alpha * (op(A) op(B))[m,n] + beta * C[m,n] before it is stored, in this
// order; parts that are null or false are skipped. Matrices are [M,N] with the leading dimension of
// C.
struct Epilogue {
  const float* bias = nullptr;       // [N]: v += bias[n]
  bool gelu = false;                 // v = GELU(v), in gelu_form
  float* gelu_derivative = nullptr;  // with gelu: GELU'(v) of the value before it, for the backward
  const float* multiply = nullptr;   // v *= multiply[m,n]
  const float* add = nullptr;        // v += add[m,n]
  GeluForm gelu_form = GeluForm::kErf;
};

// Bytes of workspace (64-byte aligned) that gemm wants for these sizes on num_threads() threads.
int64_t gemm_workspace_bytes(int64_t m, int64_t n, int64_t k, bool transpose_a = false);

// C[m,n] = epilogue(alpha * op(A)[m,k] op(B)[k,n] + beta * C). C is not read when beta is 0 and
// must not overlap A or B. The result does not depend on the number of threads.
void gemm(int64_t m, int64_t n, int64_t k, float alpha, const Operand& a, const Operand& b,
          float beta, float* c, int64_t ldc, void* workspace, const Epilogue& epilogue = {});

}  // namespace headwater::kernels
