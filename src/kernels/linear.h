// The three products of a fully connected layer y = x W^T + b with W [out,in] (the layout of
// Hugging Face and PyTorch), as calls of gemm. M is the number of rows (tokens).
#pragma once

#include <cstdint>

#include "kernels/gemm.h"

namespace headwater::kernels {

struct LinearShape {
  int64_t rows, in, out;
  bool weight_in_out = false;  // W is stored [in,out], as GPT-2's Conv1D does
};

// Enough for each of the calls below.
int64_t linear_workspace_bytes(const LinearShape& shape);

// y[M,out] = epilogue(x[M,in] W^T). Bias, GELU and residual are parts of the epilogue.
void linear_forward(const LinearShape& shape, const float* x, const float* weight, float* y,
                    void* workspace, const Epilogue& epilogue = {});

// dx[M,in] = dy[M,out] W + beta * dx. Epilogue::multiply takes the GELU derivative of the layer
// before, Epilogue::add the gradient that arrives through a residual connection.
void linear_backward_input(const LinearShape& shape, const float* dy, const float* weight,
                           float beta, float* dx, void* workspace, const Epilogue& epilogue = {});

// dW = dy^T x + beta * dW, in the layout of W; d_bias[out] = column sums of dy + beta * d_bias
// unless null.
void linear_backward_weight(const LinearShape& shape, const float* dy, const float* x, float beta,
                            float* d_weight, float* d_bias, void* workspace);

}  // namespace headwater::kernels
