// Sums in double precision over a fixed order, so that the result does not depend on the number of
// threads.
#include <numeric>

#include "ops/reduce.h"

namespace headwater {
namespace {

std::vector<Value> vjp(const VjpContext& c) {
  return {expand_reduced(c.output_grads[0], c.in(0).shape(), c.attrs().get_ints("axes"))};
}

void cpu(const KernelContext& c) {
  reduce_f32(c, 0, [](double sum, double x) { return sum + x; });
}

}  // namespace

const Op op::reduce_sum = {.name = "reduce_sum",
                           .infer = infer_reduction,
                           .vjp = vjp,
                           .cpu = cpu,
                           .cost = elementwise_cost,
                           .samples = reduction_samples};

Value reduce_sum(Value x, std::vector<int64_t> axes) {
  axes = normalized_axes(std::move(axes), x.type().rank());
  if (axes.empty()) return x;
  return x.graph().call1(op::reduce_sum, {x}, {{"axes", std::move(axes)}});
}

Value sum_all(Value x) {
  std::vector<int64_t> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return reduce_sum(x, axes);
}

}  // namespace headwater
