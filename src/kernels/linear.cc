#include "kernels/linear.h"

#include <algorithm>

#include "kernels/reduce.h"

namespace headwater::kernels {

int64_t linear_workspace_bytes(const LinearShape& s) {
  const int64_t weight = s.weight_in_out ? gemm_workspace_bytes(s.in, s.out, s.rows, true)
                                         : gemm_workspace_bytes(s.out, s.in, s.rows, true);
  return std::max({gemm_workspace_bytes(s.rows, s.out, s.in),
                   gemm_workspace_bytes(s.rows, s.in, s.out), weight,
                   column_sums_workspace_bytes(s.rows, s.out)});
}

void linear_forward(const LinearShape& s, const float* x, const float* weight, float* y,
                    void* workspace, const Epilogue& epilogue) {
  const Operand w = s.weight_in_out ? Operand{weight, s.out} : Operand{weight, s.in, true};
  gemm(s.rows, s.out, s.in, 1.0f, {x, s.in}, w, 0.0f, y, s.out, workspace, epilogue);
}

void linear_backward_input(const LinearShape& s, const float* dy, const float* weight, float beta,
                           float* dx, void* workspace, const Epilogue& epilogue) {
  const Operand w = s.weight_in_out ? Operand{weight, s.out, true} : Operand{weight, s.in};
  gemm(s.rows, s.in, s.out, 1.0f, {dy, s.out}, w, beta, dx, s.in, workspace, epilogue);
}

void linear_backward_weight(const LinearShape& s, const float* dy, const float* x, float beta,
                            float* d_weight, float* d_bias, void* workspace) {
  if (s.weight_in_out)
    gemm(s.in, s.out, s.rows, 1.0f, {x, s.in, true}, {dy, s.out}, beta, d_weight, s.out, workspace);
  else
    gemm(s.out, s.in, s.rows, 1.0f, {dy, s.out, true}, {x, s.in}, beta, d_weight, s.in, workspace);
  if (d_bias != nullptr) column_sums(s.rows, s.out, dy, s.out, beta, d_bias, workspace);
}

}  // namespace headwater::kernels
