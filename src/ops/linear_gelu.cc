// GELU(x weight^T + bias) in one pass over memory. Outputs: y, and GELU' of the value before it,
// for the gradient.
#include "kernels/linear.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  const Type y = op::linear.infer(c)[0];
  return {y, y};
}

std::vector<Value> vjp(const VjpContext& c) {
  if (c.output_grads[1].valid())
    throw GraphError("linear_gelu: only its first output has a gradient");
  const Value dy = mul(c.output_grads[0], c.outputs[1]);
  return {c.wanted[0] ? dot(dy, c.in(1)) : Value(), c.wanted[1] ? dot(dy, c.in(0), true) : Value(),
          c.wanted[2] ? reduce_sum(dy, {0}) : Value()};
}

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs&) {
  const Value x = linear(inputs[0], inputs[1], inputs[2]);
  return {gelu(x), graph.call1(op::gelu_grad, {x, constant_like(x, 1)})};
}

kernels::LinearShape linear_shape(const Type& x, const Type& weight) {
  return {.rows = x.shape[0], .in = x.shape[1], .out = weight.shape[0]};
}

void cpu(const KernelContext& c) {
  kernels::linear_forward(
      linear_shape(c.in_type(0), c.in_type(1)), c.in<float>(0), c.in<float>(1), c.out<float>(0),
      c.workspace().data(),
      {.bias = c.in<float>(2), .gelu = true, .gelu_derivative = c.out<float>(1)});
}

int64_t workspace(const Node&, std::span<const Type* const> types) {
  return kernels::linear_workspace_bytes(linear_shape(*types[0], *types[1]));
}

}  // namespace

const Op op::linear_gelu = {.name = "linear_gelu",
                            .infer = infer,
                            .vjp = vjp,
                            .decompose = decompose,
                            .cpu = cpu,
                            .workspace = workspace,
                            .cost = op::linear.cost,
                            .samples = op::linear.samples};

Value linear_gelu(Value x, Value weight, Value bias) {
  return x.graph().call(op::linear_gelu, {x, weight, bias})[0];
}

}  // namespace headwater
