// The identity with no gradient: samples of the generator do not train it.
#include "ops/elementwise.h"
#include "ops/views.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  return {c.in(0)};
}

std::vector<Value> vjp(const VjpContext&) { return {Value()}; }

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {2, 3}}}, .differentiable = false}};
}

}  // namespace

const Op op::stop_gradient = {.name = "stop_gradient",
                              .infer = infer,
                              .vjp = vjp,
                              .cpu = copy_operands,
                              .stablehlo = stablehlo_identity,
                              .samples = samples,
                              .is_view = true};

Value stop_gradient(Value x) { return x.graph().call1(op::stop_gradient, {x}); }

}  // namespace headwater
