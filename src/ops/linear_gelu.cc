// GELU(x weight^T + bias) in one pass over memory. Outputs: y, and GELU' of the value before it,
// for the gradient.
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

}  // namespace

const Op op::linear_gelu = {.name = "linear_gelu",
                            .infer = infer,
                            .vjp = vjp,
                            .decompose = decompose,
                            .cost = op::linear.cost,
                            .samples = op::linear.samples};

Value linear_gelu(Value x, Value weight, Value bias) {
  return x.graph().call(op::linear_gelu, {x, weight, bias})[0];
}

}  // namespace headwater
