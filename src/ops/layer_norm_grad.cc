// x [M, H], gamma [H], mean [M], rstd [M], dy [M, H] -> dx, dgamma, dbeta.
#include "kernels/layer_norm.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(5);
  for (size_t i = 0; i < 5; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 2);
  c.require_same_type(0, 4);
  c.require(c.shape(1) == Shape{c.shape(0)[1]}, "gamma must be [H]");
  c.require(c.shape(2) == Shape{c.shape(0)[0]} && c.shape(3) == c.shape(2),
            "mean and rstd must be [M]");
  return {c.in(0), c.in(1), c.in(1)};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs&) {
  const Value x = inputs[0], gamma = inputs[1], dy = inputs[4];
  const int64_t rows = x.dim(0);
  const double share = 1.0 / static_cast<double>(x.dim(1));
  const Value mean = reshape(inputs[2], {rows, 1}), rstd = reshape(inputs[3], {rows, 1});
  const auto row_mean = [&](Value v) {
    const Value sum = reduce_sum(v, {1});
    return reshape(mul(sum, constant_like(sum, share)), {rows, 1});
  };
  const Value normal = mul(sub(x, mean), rstd);
  const Value g = mul(dy, gamma);
  const Value dx = mul(sub(sub(g, row_mean(g)), mul(normal, row_mean(mul(g, normal)))), rstd);
  return {dx, reduce_sum(mul(dy, normal), {0}), reduce_sum(dy, {0})};
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {4, 6}}, h{DType::kF32, {6}}, m{DType::kF32, {4}};
  return {{.inputs = {x, h, m, m, x}}};
}

void cpu(const KernelContext& c) {
  const Shape& x = c.in_type(0).shape;
  kernels::layer_norm_backward({.rows = x[0], .size = x[1]}, c.in<float>(0), c.in<float>(1),
                               c.in<float>(2), c.in<float>(3), c.in<float>(4), c.out<float>(0),
                               0.0f, c.out<float>(1), c.out<float>(2), c.workspace().data());
}

int64_t workspace(const Node&, std::span<const Type* const> types) {
  const Shape& x = types[0]->shape;
  return kernels::layer_norm_backward_workspace_bytes({.rows = x[0], .size = x[1]});
}

}  // namespace

const Op op::layer_norm_grad = {.name = "layer_norm_grad",
                                .infer = infer,
                                .decompose = decompose,
                                .cpu = cpu,
                                .workspace = workspace,
                                .cost = elementwise_cost,
                                .samples = samples,
                                .in_place = {{0, 4}}};

}  // namespace headwater
