#include "kernels/reduce.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require(!c.inputs.empty(), "wants at least one operand");
  for (size_t i = 0; i < c.inputs.size(); ++i) c.require_dtype(i, DType::kF32);
  return {Type{DType::kF32, {}}};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs&) {
  Value sum = sum_all(mul(inputs[0], inputs[0]));
  for (size_t i = 1; i < inputs.size(); ++i) sum = add(sum, sum_all(mul(inputs[i], inputs[i])));
  return {sqrt(sum)};
}

std::vector<Sample> samples() {
  const Type a{DType::kF32, {3, 5}}, b{DType::kF32, {4}};
  return {{.inputs = {a, b, a}, .low = 0.5}, {.inputs = {a}, .low = 0.5}};
}

void cpu(const KernelContext& c) {
  double sum = 0;
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    sum += kernels::sum_of_squares(c.in<float>(i), c.in_type(i).size(), c.workspace().data());
  }
  c.out<float>(0)[0] = static_cast<float>(std::sqrt(sum));
}

int64_t workspace(const Node&, std::span<const Type* const> types) {
  int64_t bytes = 0;
  for (const Type* type : types)
    bytes = std::max(bytes, kernels::sum_workspace_bytes(type->size()));
  return bytes;
}

}  // namespace

const Op op::global_norm = {.name = "global_norm",
                            .infer = infer,
                            .decompose = decompose,
                            .cpu = cpu,
                            .workspace = workspace,
                            .cost = elementwise_cost,
                            .samples = samples};

Value global_norm(const std::vector<Value>& values) {
  if (values.empty()) throw GraphError("global_norm: wants at least one operand");
  return values[0].graph().call1(op::global_norm, values);
}

}  // namespace headwater
