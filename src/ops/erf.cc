// The derivative is 2 / sqrt(pi) * exp(-x^2).
#include "ops/elementwise.h"

namespace headwater {
namespace {
std::vector<Value> vjp(const VjpContext& c) {
  const Value x = c.in(0), dy = c.output_grads[0];
  return {mul(mul(dy, constant_like(x, 1.1283791670955126)), exp(neg(mul(x, x))))};
}

void cpu(const KernelContext& c) {
  map_unary<float, float>(c, [](float x) { return std::erf(x); });
}

void stablehlo(HloContext& c) {
  const std::string type = stablehlo_type(c.out_type(0));
  c.emit_output(fmt::format("chlo.erf {} : {} -> {}", c.in(0), type, type));
}

}  // namespace

const Op op::erf = {.name = "erf",
                    .infer = infer_unary_f32,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .cost = elementwise_cost,
                    .samples = unary_samples,
                    .in_place = {{0, 0}}};

Value erf(Value x) { return x.graph().call1(op::erf, {x}); }

}  // namespace headwater
