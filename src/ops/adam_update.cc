// weight, m, v, gradient, grad_scale, learning_rate and, if given, m_scale, v_scale -> weight', m',
// v'; written over weight, m, v.
#include <cstring>

#include "kernels/adam.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require(c.inputs.size() == 6 || c.inputs.size() == 8, "wants 6 or 8 operands");
  c.require_dtype(0, DType::kF32);
  for (size_t i = 1; i < 4; ++i) c.require_same_type(0, i);
  const Type scalar{DType::kF32, {}};
  for (size_t i = 4; i < c.inputs.size(); ++i) {
    c.require(c.in(i) == scalar, "scales and the learning rate must be f32 scalars");
  }
  for (const char* name : {"beta1", "beta2", "epsilon", "weight_decay"}) {
    c.require(c.attrs.get_double(name) >= 0, "options must not be negative");
  }
  return {c.in(0), c.in(0), c.in(0)};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value weight = inputs[0];
  const Value gradient = mul(inputs[3], inputs[4]);
  const auto mix = [&](Value old, Value fresh, double beta) {
    return add(mul(old, constant_like(old, beta)), mul(fresh, constant_like(fresh, 1 - beta)));
  };
  const Value m = mix(inputs[1], gradient, attrs.get_double("beta1"));
  const Value v = mix(inputs[2], mul(gradient, gradient), attrs.get_double("beta2"));
  const bool scaled = inputs.size() == 8;
  const Value root = sqrt(scaled ? mul(v, inputs[7]) : v);
  Value update =
      div(scaled ? mul(m, inputs[6]) : m, add(root, constant_like(v, attrs.get_double("epsilon"))));
  const double decay = attrs.get_double("weight_decay");
  if (decay > 0) update = add(update, mul(weight, constant_like(weight, decay)));
  return {sub(weight, mul(update, inputs[5])), m, v};
}

std::vector<Sample> samples() {
  const Type w{DType::kF32, {3, 5}}, scalar{DType::kF32, {}};
  const auto call = [&](double decay, size_t operands) {
    std::vector<Type> inputs(operands, scalar);
    std::fill_n(inputs.begin(), 4, w);
    return Sample{
        .inputs = inputs,
        .attrs = {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-6}, {"weight_decay", decay}},
        .low = 0.1,
        .high = 1,
        .differentiable = false};
  };
  return {call(0.01, 6), call(0, 6), call(0.01, 8)};
}

void cpu(const KernelContext& c) {
  const auto bytes = static_cast<size_t>(c.out_type(0).byte_size());
  for (size_t i = 0; i < 3; ++i) {  // the kernel updates in place
    if (c.out<float>(i) != c.in<float>(i) && bytes > 0) {
      std::memcpy(c.out<float>(i), c.in<float>(i), bytes);
    }
  }
  const bool scaled = c.num_inputs() == 8;
  kernels::adam_update({.learning_rate = c.in<float>(5)[0],
                        .beta1 = c.attrs().get_double("beta1"),
                        .beta2 = c.attrs().get_double("beta2"),
                        .eps = static_cast<float>(c.attrs().get_double("epsilon")),
                        .weight_decay = static_cast<float>(c.attrs().get_double("weight_decay")),
                        .gradient_scale = c.in<float>(4)[0],
                        .m_scale = scaled ? c.in<float>(6)[0] : 1,
                        .v_scale = scaled ? c.in<float>(7)[0] : 1},
                       c.out_type(0).size(), c.in<float>(3), c.out<float>(0), c.out<float>(1),
                       c.out<float>(2));
}

}  // namespace

const Op op::adam_update = {.name = "adam_update",
                            .infer = infer,
                            .decompose = decompose,
                            .cpu = cpu,
                            .cost = elementwise_cost,
                            .samples = samples,
                            .in_place = {{0, 0}, {1, 1}, {2, 2}}};

AdamUpdate adam_update(Value weight, Value m, Value v, Value gradient, Value grad_scale,
                       Value learning_rate, const AdamOptions& options, const AdamScales& scales) {
  std::vector<Value> inputs = {weight, m, v, gradient, grad_scale, learning_rate};
  if (scales.m.valid()) inputs.insert(inputs.end(), {scales.m, scales.v});
  const std::vector<Value> outputs = weight.graph().call(op::adam_update, std::move(inputs),
                                                         {{"beta1", options.beta1},
                                                          {"beta2", options.beta2},
                                                          {"epsilon", options.epsilon},
                                                          {"weight_decay", options.weight_decay}});
  return {outputs[0], outputs[1], outputs[2]};
}

}  // namespace headwater
