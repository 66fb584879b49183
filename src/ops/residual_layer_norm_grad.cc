// sum [M, H], gamma [H], mean [M], rstd [M], dy [M, H], key -> dx, dh, dgamma, dbeta.
#include "kernels/layer_norm.h"
#include "ops/kernel_arguments.h"
#include "ops/elementwise.h"
#include "ops/residual_layer_norm.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(6);
  for (size_t i = 0; i < 5; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 2);
  c.require_same_type(0, 4);
  c.require(c.shape(1) == Shape{c.shape(0)[1]}, "gamma must be [H]");
  c.require(c.shape(2) == Shape{c.shape(0)[0]} && c.shape(3) == c.shape(2),
            "mean and rstd must be [M]");
  c.require(c.in(5) == Type{DType::kU32, {2}}, "the key must be u32[2]");
  check_residual_attributes(c);
  return {c.in(0), c.in(0), c.in(1), c.in(1)};
}

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs& attrs) {
  const std::vector<Value> norm =
      graph.call(op::layer_norm_grad, {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]});
  const Value dh = dropout(norm[0], inputs[5], attrs.get_double("rate"), attrs.get_int("site"));
  return {norm[0], dh, norm[1], norm[2]};
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {4, 6}}, h{DType::kF32, {6}}, m{DType::kF32, {4}},
      key{DType::kU32, {2}};
  return {{.inputs = {x, h, m, m, x, key},
           .attrs = {{"eps", 1e-12}, {"rate", 0.2}, {"site", int64_t{3}}},
           .index_bound = 1 << 30,
           .differentiable = false}};
}

void cpu(const KernelContext& c) {
  const Shape& x = c.in_type(0).shape;
  kernels::residual_layer_norm_backward(
      {.rows = x[0], .size = x[1]}, c.in<float>(0), dropout_argument(c, 5), c.in<float>(1),
      c.in<float>(2), c.in<float>(3), c.in<float>(4), c.out<float>(0), c.out<float>(1), 0.0f,
      c.out<float>(2), c.out<float>(3), c.workspace().data());
}

int64_t workspace(const Node&, std::span<const Type* const> types) {
  const Shape& x = types[0]->shape;
  return kernels::layer_norm_backward_workspace_bytes({.rows = x[0], .size = x[1]});
}

}  // namespace

const Op op::residual_layer_norm_grad = {.name = "residual_layer_norm_grad",
                                         .infer = infer,
                                         .decompose = decompose,
                                         .cpu = cpu,
                                         .workspace = workspace,
                                         .cost = elementwise_cost,
                                         .samples = samples};

}  // namespace headwater
