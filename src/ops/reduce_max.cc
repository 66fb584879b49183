// The gradient is shared equally among elements that tie for the maximum. NaN operands give NaN.
#include <limits>

#include "ops/reduce.h"

namespace headwater {
namespace {

std::vector<Value> vjp(const VjpContext& c) {
  const std::vector<int64_t>& axes = c.attrs().get_ints("axes");
  const Shape& shape = c.in(0).shape();
  const Value is_max = convert(
      compare(c.in(0), expand_reduced(c.outputs[0], shape, axes), Direction::kEqual), DType::kF32);
  const Value share = div(c.output_grads[0], reduce_sum(is_max, axes));
  return {mul(is_max, expand_reduced(share, shape, axes))};
}

void cpu(const KernelContext& c) {
  reduce_f32(c, -std::numeric_limits<double>::infinity(),
             [](double best, double x) { return x > best || x != x ? x : best; });
}

void stablehlo(HloContext& c) {
  stablehlo_reduce(c, "stablehlo.maximum", -std::numeric_limits<double>::infinity());
}

}  // namespace

const Op op::reduce_max = {.name = "reduce_max",
                           .infer = infer_reduction,
                           .vjp = vjp,
                           .cpu = cpu,
                           .stablehlo = stablehlo,
                           .cost = elementwise_cost,
                           .samples = reduction_samples};

Value reduce_max(Value x, std::vector<int64_t> axes) {
  axes = normalized_axes(std::move(axes), x.type().rank());
  if (axes.empty()) return x;
  return x.graph().call1(op::reduce_max, {x}, {{"axes", std::move(axes)}});
}

}  // namespace headwater
