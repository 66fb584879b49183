// The post-norm residual of BERT, layer_norm(x + dropout(h)), in one pass. Outputs: y, the sum
// before the norm, and per row its mean and 1 / sqrt(var + eps), for the gradient.
#include "kernels/layer_norm.h"
#include "ops/kernel_arguments.h"
#include "ops/elementwise.h"
#include "ops/random.h"
#include "ops/residual_layer_norm.h"

namespace headwater {

void check_residual_attributes(const InferContext& c) {
  const double rate = c.attrs.get_double("rate");
  c.require(rate >= 0 && rate < 1, "the dropout rate must be in [0, 1)");
  c.require(c.attrs.get_double("eps") >= 0, "eps must not be negative");
  require_site(c);
}

namespace {

// x, h, gamma, beta, key
std::vector<Type> infer(const InferContext& c) {
  c.require_count(5);
  for (size_t i = 0; i < 4; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 2);
  c.require_same_type(0, 1);
  c.require(c.shape(0)[1] > 0, "x [M, H] has no columns");
  c.require(c.shape(2) == Shape{c.shape(0)[1]} && c.shape(3) == c.shape(2),
            "gamma and beta must be [H] for x [M, H]");
  c.require(c.in(4) == Type{DType::kU32, {2}}, "the key must be u32[2]");
  check_residual_attributes(c);
  const Type row{DType::kF32, {c.shape(0)[0]}};
  return {c.in(0), c.in(0), row, row};
}

std::vector<Value> vjp(const VjpContext& c) {
  for (size_t i = 1; i < 4; ++i) {
    if (c.output_grads[i].valid()) {
      throw GraphError("residual_layer_norm: only its first output has a gradient");
    }
  }
  std::vector<Value> grads = c.graph().call(
      op::residual_layer_norm_grad,
      {c.outputs[1], c.in(2), c.outputs[2], c.outputs[3], c.output_grads[0], c.in(4)}, c.attrs());
  grads.resize(5);
  return grads;
}

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value h = dropout(inputs[1], inputs[4], attrs.get_double("rate"), attrs.get_int("site"));
  const Value sum = add(inputs[0], h);
  const std::vector<Value> norm =
      graph.call(op::layer_norm, {sum, inputs[2], inputs[3]}, {{"eps", attrs.get_double("eps")}});
  return {norm[0], sum, norm[1], norm[2]};
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {4, 6}}, h{DType::kF32, {6}}, key{DType::kU32, {2}};
  const auto call = [&](double rate) {
    return Sample{.inputs = {x, x, h, h, key},
                  .attrs = {{"eps", 1e-12}, {"rate", rate}, {"site", int64_t{3}}},
                  .index_bound = 1 << 30};
  };
  return {call(0), call(0.2)};
}

void cpu(const KernelContext& c) {
  const Shape& x = c.in_type(0).shape;
  kernels::residual_layer_norm_forward(
      {.rows = x[0], .size = x[1], .eps = static_cast<float>(c.attrs().get_double("eps"))},
      c.in<float>(0), c.in<float>(1), dropout_argument(c, 4), c.in<float>(2), c.in<float>(3),
      c.out<float>(1), c.out<float>(0), c.out<float>(2), c.out<float>(3));
}

}  // namespace

const Op op::residual_layer_norm = {.name = "residual_layer_norm",
                                    .infer = infer,
                                    .vjp = vjp,
                                    .decompose = decompose,
                                    .cpu = cpu,
                                    .cost = elementwise_cost,
                                    .samples = samples};

Value residual_layer_norm(Value x, Value h, Value gamma, Value beta, Value key,
                          const ResidualLayerNormOptions& options) {
  return x.graph().call(
      op::residual_layer_norm, {x, h, gamma, beta, key},
      {{"eps", options.eps}, {"rate", options.dropout_rate}, {"site", options.site}})[0];
}

}  // namespace headwater
