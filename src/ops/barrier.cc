// The operands as they are, but no compiler looks through: what is computed from the outputs is not
// taken for the same computation on the operands (whose result would then be kept all the time in
// between), and it starts only when all operands are there. A gradient that makes forward values
// again, instead of keeping them, reads its operands through a barrier.
#include "ops/elementwise.h"
#include "ops/views.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require(!c.inputs.empty(), "wants at least one operand");
  return c.inputs;
}

std::vector<Value> vjp(const VjpContext& c) { return c.output_grads; }

void stablehlo(HloContext& c) {
  const std::string result = c.emit(fmt::format("stablehlo.optimization_barrier {} : {}",
                                                fmt::join(c.inputs(), ", "), c.operand_types()),
                                    c.inputs().size());
  for (size_t i = 0; i < c.inputs().size(); ++i) {
    c.set_output(i, c.inputs().size() == 1 ? result : fmt::format("{}#{}", result, i));
  }
}

std::vector<Sample> samples() {
  const Type x{DType::kF32, {2, 3}};
  return {{.inputs = {x}}, {.inputs = {x, {DType::kI32, {4}}, x, {DType::kU32, {2}}}}};
}

}  // namespace

const Op op::barrier = {.name = "barrier",
                        .infer = infer,
                        .vjp = vjp,
                        .cpu = copy_operands,
                        .stablehlo = stablehlo,
                        .samples = samples,
                        .is_view = true};

std::vector<Value> barrier(const std::vector<Value>& values) {
  if (values.empty()) return {};
  return values[0].graph().call(op::barrier, values);
}

}  // namespace headwater
