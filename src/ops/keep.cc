// A value that the backward pass reads again: it stays in memory, and no compiler makes it a second
// time. In mixed precision it stays there in bf16, as what it meets then are products of bf16.
// Around it lies the choice between memory and arithmetic: what is cheap to make again does not go
// through here, what is large and must not be kept goes through a barrier.
#include "ops/elementwise.h"
#include "ops/views.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  return {c.in(0)};
}

std::vector<Value> vjp(const VjpContext& c) { return c.output_grads; }

void stablehlo(HloContext& c) {
  const std::string type = stablehlo_type(c.in_type(0));
  const bool rounds = c.options().mixed_bf16 && c.in_type(0).dtype == DType::kF32;
  if (!rounds) {
    return c.emit_output(fmt::format("stablehlo.optimization_barrier {} : {}", c.in(0), type));
  }
  const std::string rounded = stablehlo_type(c.in_type(0).shape, "bf16");
  const auto convert = [&](const std::string& x, const std::string& from, const std::string& to) {
    return fmt::format("stablehlo.convert {} : ({}) -> {}", x, from, to);
  };
  const std::string kept = c.emit(fmt::format("stablehlo.optimization_barrier {} : {}",
                                              c.emit(convert(c.in(0), type, rounded)), rounded));
  c.emit_output(convert(kept, rounded, type));
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {2, 3}}}},
          {.inputs = {{DType::kPred, {2, 3}}}, .index_bound = 2, .differentiable = false}};
}

}  // namespace

const Op op::keep = {.name = "keep",
                     .infer = infer,
                     .vjp = vjp,
                     .cpu = copy_operands,
                     .stablehlo = stablehlo,
                     .samples = samples,
                     .is_view = true};

Value keep(Value x) { return x.graph().call1(op::keep, {x}); }

}  // namespace headwater
