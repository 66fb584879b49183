// The sum of the operand over all replicas. Its gradient counts the sum once: where every replica
// goes on to the same loss from it, the gradient of that loss with respect to this replica's
// operand is that of the sum. (Summing it over the replicas again would be right for as many
// losses.)
#include <numeric>

#include "ops/elementwise.h"
#include "ops/views.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  c.require(c.in(0).dtype != DType::kPred, "wants f32, i32 or u32");
  return {c.in(0)};
}

std::vector<Value> vjp(const VjpContext& c) { return c.output_grads; }

void stablehlo(HloContext& c) {
  const int64_t replicas = c.options().num_replicas;
  if (replicas == 1) return stablehlo_identity(c);
  std::vector<int64_t> all(static_cast<size_t>(replicas));
  std::iota(all.begin(), all.end(), 0);
  c.emit_output(fmt::format(
      "\"stablehlo.all_reduce\"({}) <{{replica_groups = dense<[{}]> : tensor<1x{}xi64>, "
      "channel_handle = #stablehlo.channel_handle<handle = {}, type = 0>, use_global_device_ids}}> "
      "{} : {}",
      c.in(0), stablehlo_list(all), replicas, c.new_channel(),
      HloContext::reducer("stablehlo.add", c.out_type(0).dtype), c.signature()));
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {2, 3}}}},
          {.inputs = {{DType::kI32, {}}}, .differentiable = false}};
}

}  // namespace

const Op op::all_reduce = {.name = "all_reduce",
                           .infer = infer,
                           .vjp = vjp,
                           .cpu = copy_operands,  // one replica
                           .stablehlo = stablehlo,
                           .cost = elementwise_cost,
                           .samples = samples,
                           .is_view = true};

Value all_reduce(Value x) { return x.graph().call1(op::all_reduce, {x}); }

}  // namespace headwater
