// Outputs: y, and per row the mean and 1 / sqrt(var + eps), which the gradient uses again.
#include "kernels/layer_norm.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(3);
  for (size_t i = 0; i < 3; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 2);
  c.require(c.shape(0)[1] > 0, "x [M, H] has no columns");
  c.require(c.shape(1) == Shape{c.shape(0)[1]} && c.shape(2) == c.shape(1),
            "gamma and beta must be [H] for x [M, H]");
  c.require(c.attrs.get_double("eps") >= 0, "eps must not be negative");
  const Type row{DType::kF32, {c.shape(0)[0]}};
  return {c.in(0), row, row};
}

std::vector<Value> vjp(const VjpContext& c) {
  if (c.output_grads[1].valid() || c.output_grads[2].valid()) {
    throw GraphError("layer_norm: only its first output has a gradient");
  }
  return c.graph().call(op::layer_norm_grad,
                        {c.in(0), c.in(1), c.outputs[1], c.outputs[2], c.output_grads[0]});
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value x = inputs[0];
  const int64_t rows = x.dim(0);
  const double share = 1.0 / static_cast<double>(x.dim(1));
  const auto row_mean = [&](Value v) {
    const Value sum = reduce_sum(v, {1});
    return mul(sum, constant_like(sum, share));
  };
  const Value mean = row_mean(x);
  const Value centred = sub(x, reshape(mean, {rows, 1}));
  const Value variance = row_mean(mul(centred, centred));
  const Value rstd = rsqrt(add(variance, constant_like(variance, attrs.get_double("eps"))));
  const Value y = add(mul(mul(centred, reshape(rstd, {rows, 1})), inputs[1]), inputs[2]);
  return {y, mean, rstd};
}

std::vector<Sample> samples() {
  const Type h{DType::kF32, {6}};
  return {{.inputs = {{DType::kF32, {4, 6}}, h, h}, .attrs = {{"eps", 1e-12}}},
          {.inputs = {{DType::kF32, {0, 6}}, h, h}, .attrs = {{"eps", 1e-5}}}};
}

void cpu(const KernelContext& c) {
  const Shape& x = c.in_type(0).shape;
  kernels::layer_norm_forward(
      {.rows = x[0], .size = x[1], .eps = static_cast<float>(c.attrs().get_double("eps"))},
      c.in<float>(0), c.in<float>(1), c.in<float>(2), c.out<float>(0), c.out<float>(1),
      c.out<float>(2));
}

}  // namespace

const Op op::layer_norm = {.name = "layer_norm",
                           .infer = infer,
                           .vjp = vjp,
                           .decompose = decompose,
                           .cpu = cpu,
                           .cost = elementwise_cost,
                           .samples = samples};

Value layer_norm(Value x, Value gamma, Value beta, double eps) {
  return x.graph().call(op::layer_norm, {x, gamma, beta}, {{"eps", eps}})[0];
}

}  // namespace headwater
