// Sums in double precision over a fixed order, so that the result does not depend on the number of
// threads.
#include <numeric>

#include "kernels/reduce.h"
#include "ops/reduce.h"

namespace headwater {
namespace {

std::vector<Value> vjp(const VjpContext& c) {
  return {expand_reduced(c.output_grads[0], c.in(0).shape(), c.attrs().get_ints("axes"))};
}

bool sums_columns(const Type& x, const Attrs& attrs) {
  const std::vector<int64_t>& axes = attrs.get_ints("axes");
  return x.rank() == 2 && axes.size() == 1 && axes[0] == 0;
}

void cpu(const KernelContext& c) {
  if (!sums_columns(c.in_type(0), c.attrs())) {
    return reduce_f32(c, 0, [](double sum, double x) { return sum + x; });
  }
  const Shape& x = c.in_type(0).shape;
  kernels::column_sums(x[0], x[1], c.in<float>(0), x[1], 0.0f, c.out<float>(0),
                       c.workspace().data());
}

int64_t workspace(const Node& node, std::span<const Type* const> types) {
  const Shape& x = types[0]->shape;
  return sums_columns(*types[0], node.attrs) ? kernels::column_sums_workspace_bytes(x[0], x[1]) : 0;
}

void stablehlo(HloContext& c) { stablehlo_reduce(c, "stablehlo.add", 0); }

}  // namespace

const Op op::reduce_sum = {.name = "reduce_sum",
                           .infer = infer_reduction,
                           .vjp = vjp,
                           .cpu = cpu,
                           .stablehlo = stablehlo,
                           .workspace = workspace,
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
