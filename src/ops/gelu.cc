#include "ops/gelu.h"

#include "ops/elementwise.h"

namespace headwater {

kernels::GeluForm gelu_form(const Attrs& attrs) {
  const std::string& form = attrs.get_text("form");
  if (form == "tanh") return kernels::GeluForm::kTanh;
  if (form != "erf") throw GraphError("form must be \"erf\" or \"tanh\"");
  return kernels::GeluForm::kErf;
}

AttrValue gelu_form_attr(GeluForm form) {
  return std::string(form == GeluForm::kTanh ? "tanh" : "erf");
}

GeluFactor gelu_factor(Value x, kernels::GeluForm form) {
  const auto half_of_one_plus = [&](Value t) {
    return mul(add(t, constant_like(x, 1)), constant_like(x, 0.5));
  };
  const Value x2 = mul(x, x);
  if (form == kernels::GeluForm::kErf) {
    const Value cdf = half_of_one_plus(erf(mul(x, constant_like(x, 0.7071067811865476))));
    return {cdf, mul(exp(mul(x2, constant_like(x, -0.5))), constant_like(x, 0.3989422804014327))};
  }
  constexpr double kRoot = 0.7978845608028654, kCubic = 0.044715;  // sqrt(2 / pi)
  const auto scaled = [&](double cubic) {                          // kRoot (1 + cubic x^2)
    return mul(add(mul(x2, constant_like(x, cubic)), constant_like(x, 1)), constant_like(x, kRoot));
  };
  const Value t = tanh(mul(x, scaled(kCubic)));
  const Value slope_of_t = mul(sub(constant_like(x, 1), mul(t, t)), scaled(3 * kCubic));
  return {half_of_one_plus(t), mul(slope_of_t, constant_like(x, 0.5))};
}

namespace {

std::vector<Type> infer(const InferContext& c) {
  (void)gelu_form(c.attrs);
  return infer_unary_f32(c);
}

std::vector<Value> vjp(const VjpContext& c) {
  return {c.graph().call1(op::gelu_grad, {c.in(0), c.output_grads[0]}, c.attrs())};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  return {mul(inputs[0], gelu_factor(inputs[0], gelu_form(attrs)).factor)};
}

void cpu(const KernelContext& c) {
  kernels::gelu_forward(gelu_form(c.attrs()), c.in<float>(0), c.out<float>(0), nullptr,
                        c.out_type(0).size());
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const char* form : {"erf", "tanh"}) {
    for (Sample& sample : unary_samples()) {
      sample.attrs = {{"form", std::string(form)}};
      all.push_back(std::move(sample));
    }
  }
  return all;
}

}  // namespace

const Op op::gelu = {.name = "gelu",
                     .infer = infer,
                     .vjp = vjp,
                     .decompose = decompose,
                     .cpu = cpu,
                     .cost = elementwise_cost,
                     .samples = samples};

Value gelu(Value x, GeluForm form) {
  return x.graph().call1(op::gelu, {x}, {{"form", gelu_form_attr(form)}});
}

}  // namespace headwater
