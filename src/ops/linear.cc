#include "kernels/linear.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(3);
  for (size_t i = 0; i < 3; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 2);
  c.require_rank(1, 2);
  c.require_rank(2, 1);
  c.require(c.shape(0)[1] == c.shape(1)[1], "x [M, K] and weight [N, K] differ in K");
  c.require(c.shape(1)[0] == c.shape(2)[0], "weight [N, K] and bias [N] differ in N");
  return {Type{DType::kF32, {c.shape(0)[0], c.shape(1)[0]}}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const Value x = c.in(0), weight = c.in(1), dy = c.output_grads[0];
  return {c.wanted[0] ? dot(dy, weight) : Value(), c.wanted[1] ? dot(dy, x, true) : Value(),
          c.wanted[2] ? reduce_sum(dy, {0}) : Value()};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs&) {
  return {add(dot(inputs[0], inputs[1], false, true), inputs[2])};
}

Cost cost(const Node& node, std::span<const Type* const> types) {
  Cost cost = elementwise_cost(node, types);
  cost.flops = 2.0 * static_cast<double>(node.outputs[0].size() * types[0]->shape[1]);
  return cost;
}

std::vector<Sample> samples() {
  const auto call = [](int64_t m, int64_t n, int64_t k) {
    return Sample{.inputs = {{DType::kF32, {m, k}}, {DType::kF32, {n, k}}, {DType::kF32, {n}}}};
  };
  return {call(3, 4, 5), call(1, 1, 1), call(0, 3, 2)};
}

kernels::LinearShape linear_shape(const Type& x, const Type& weight) {
  return {.rows = x.shape[0], .in = x.shape[1], .out = weight.shape[0]};
}

void cpu(const KernelContext& c) {
  kernels::linear_forward(linear_shape(c.in_type(0), c.in_type(1)), c.in<float>(0), c.in<float>(1),
                          c.out<float>(0), c.workspace().data(), {.bias = c.in<float>(2)});
}

int64_t workspace(const Node&, std::span<const Type* const> types) {
  return kernels::linear_workspace_bytes(linear_shape(*types[0], *types[1]));
}

}  // namespace

const Op op::linear = {.name = "linear",
                       .infer = infer,
                       .vjp = vjp,
                       .decompose = decompose,
                       .cpu = cpu,
                       .workspace = workspace,
                       .cost = cost,
                       .samples = samples};

Value linear(Value x, Value weight, Value bias) {
  return x.graph().call1(op::linear, {x, weight, bias});
}

}  // namespace headwater
