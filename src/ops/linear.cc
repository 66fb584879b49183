#include "ops/linear.h"

#include "ops/elementwise.h"

namespace headwater {

Type infer_linear(const InferContext& c) {
  c.require_count(3);
  for (size_t i = 0; i < 3; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 2);
  c.require_rank(1, 2);
  c.require_rank(2, 1);
  const bool in_out = c.attrs.get_bool("weight_in_out");
  const int64_t k = c.shape(1)[in_out ? 0 : 1], n = c.shape(1)[in_out ? 1 : 0];
  c.require(c.shape(0)[1] == k, in_out ? "x [M, K] and weight [K, N] differ in K"
                                       : "x [M, K] and weight [N, K] differ in K");
  c.require(n == c.shape(2)[0], in_out ? "weight [K, N] and bias [N] differ in N"
                                       : "weight [N, K] and bias [N] differ in N");
  return {DType::kF32, {c.shape(0)[0], n}};
}

std::vector<Value> linear_gradients(const VjpContext& c, Value dy) {
  const Value x = c.in(0), weight = c.in(1);
  const bool in_out = c.attrs().get_bool("weight_in_out");
  Value dx, d_weight, d_bias;
  if (c.wanted[0]) dx = dot(dy, weight, false, in_out);
  if (c.wanted[1]) d_weight = in_out ? dot(x, dy, true) : dot(dy, x, true);
  if (c.wanted[2]) d_bias = reduce_sum(dy, {0});
  return {dx, d_weight, d_bias};
}

kernels::LinearShape linear_shape(const Type& x, const Type& y, const Attrs& attrs) {
  return {.rows = x.shape[0],
          .in = x.shape[1],
          .out = y.shape[1],
          .weight_in_out = attrs.get_bool("weight_in_out")};
}

int64_t linear_workspace(const Node& node, std::span<const Type* const> types) {
  return kernels::linear_workspace_bytes(linear_shape(*types[0], node.outputs[0], node.attrs));
}

Cost linear_cost(const Node& node, std::span<const Type* const> types) {
  Cost cost = elementwise_cost(node, types);
  cost.flops = 2.0 * static_cast<double>(node.outputs[0].size() * types[0]->shape[1]);
  return cost;
}

std::vector<Sample> linear_samples() {
  const auto call = [](int64_t m, int64_t n, int64_t k, bool in_out) {
    return Sample{.inputs = {{DType::kF32, {m, k}},
                             {DType::kF32, in_out ? Shape{k, n} : Shape{n, k}},
                             {DType::kF32, {n}}},
                  .attrs = {{"weight_in_out", in_out}}};
  };
  return {call(3, 4, 5, false), call(1, 1, 1, false), call(0, 3, 2, false), call(3, 4, 5, true)};
}

namespace {

std::vector<Type> infer(const InferContext& c) { return {infer_linear(c)}; }

std::vector<Value> vjp(const VjpContext& c) { return linear_gradients(c, c.output_grads[0]); }

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const bool in_out = attrs.get_bool("weight_in_out");
  return {add(dot(inputs[0], inputs[1], false, !in_out), inputs[2])};
}

void cpu(const KernelContext& c) {
  kernels::linear_forward(linear_shape(c.in_type(0), c.out_type(0), c.attrs()), c.in<float>(0),
                          c.in<float>(1), c.out<float>(0), c.workspace().data(),
                          {.bias = c.in<float>(2)});
}

}  // namespace

const Op op::linear = {.name = "linear",
                       .infer = infer,
                       .vjp = vjp,
                       .decompose = decompose,
                       .cpu = cpu,
                       .workspace = linear_workspace,
                       .cost = linear_cost,
                       .samples = linear_samples};

Value linear(Value x, Value weight, Value bias, WeightLayout layout) {
  return x.graph().call1(op::linear, {x, weight, bias}, {{"weight_in_out", is_in_out(layout)}});
}

}  // namespace headwater
