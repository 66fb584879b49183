// max(x, 0) - x y + log(1 + e^-|x|): stable for any x.
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_dtype(0, DType::kF32);
  c.require_same_type(0, 1);
  return {c.in(0)};
}

std::vector<Value> vjp(const VjpContext& c) {
  const Value x = c.in(0), labels = c.in(1), dy = c.output_grads[0];
  return {mul(dy, sub(logistic(x), labels)), c.wanted[1] ? neg(mul(dy, x)) : Value()};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs&) {
  const Value x = inputs[0], labels = inputs[1];
  const Value positive = maximum(x, constant_like(x, 0));
  return {add(sub(positive, mul(x, labels)), log1p(exp(neg(abs(x)))))};
}

void cpu(const KernelContext& c) {
  map_binary<float, float>(c, [](float x, float y) {
    return std::max(x, 0.0f) - x * y + std::log1p(std::exp(-std::fabs(x)));
  });
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {3, 5}};
  return {{.inputs = {x, x}, .low = 0.1, .high = 0.9}};
}

}  // namespace

const Op op::sigmoid_cross_entropy = {.name = "sigmoid_cross_entropy",
                                      .infer = infer,
                                      .vjp = vjp,
                                      .decompose = decompose,
                                      .cpu = cpu,
                                      .cost = elementwise_cost,
                                      .samples = samples};

Value sigmoid_cross_entropy(Value logits, Value labels) {
  return logits.graph().call1(op::sigmoid_cross_entropy, {logits, labels});
}

}  // namespace headwater
