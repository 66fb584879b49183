// Which of the replicas this is: 0 where there is one.
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(0);
  return {Type{DType::kU32, {}}};
}

void cpu(const KernelContext& c) { *c.out<uint32_t>(0) = 0; }

void stablehlo(HloContext& c) {
  const bool alone = c.options().num_replicas == 1;
  c.set_output(
      0, alone ? c.constant(0, c.out_type(0)) : c.emit("stablehlo.replica_id : tensor<ui32>"));
}

std::vector<Sample> samples() { return {{.inputs = {}}}; }

}  // namespace

const Op op::replica_id = {
    .name = "replica_id", .infer = infer, .cpu = cpu, .stablehlo = stablehlo, .samples = samples};

Value replica_id(Graph& graph) { return graph.call1(op::replica_id, {}); }

}  // namespace headwater
