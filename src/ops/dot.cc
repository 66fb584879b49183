#include <numeric>

#include "kernels/gemm.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

struct Extents {
  int64_t batch, m, n, k;
};

Extents extents(const Type& a, const Type& b, const Attrs& attrs) {
  const size_t rank = a.shape.size();
  const bool ta = attrs.get_bool("transpose_a"), tb = attrs.get_bool("transpose_b");
  return {element_count(std::span(a.shape).first(rank - 2)), a.shape[rank - (ta ? 1 : 2)],
          b.shape[rank - (tb ? 2 : 1)], a.shape[rank - (ta ? 2 : 1)]};
}

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_dtype(0, DType::kF32);
  c.require_dtype(1, DType::kF32);
  c.require(c.in(0).rank() >= 2 && c.in(0).rank() == c.in(1).rank(),
            "operands must have one rank, at least 2");
  const auto rank = static_cast<size_t>(c.in(0).rank());
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    c.require(c.shape(0)[axis] == c.shape(1)[axis], "batch axes must be equal");
  }
  const Extents e = extents(c.in(0), c.in(1), c.attrs);
  c.require(c.shape(1)[rank - (c.attrs.get_bool("transpose_b") ? 1 : 2)] == e.k,
            "the contracted extents differ");
  Shape shape(c.shape(0).begin(), c.shape(0).end() - 2);
  shape.push_back(e.m);
  shape.push_back(e.n);
  return {Type{DType::kF32, shape}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const Value a = c.in(0), b = c.in(1), dy = c.output_grads[0];
  const bool ta = c.attrs().get_bool("transpose_a"), tb = c.attrs().get_bool("transpose_b");
  Value da, db;
  if (c.wanted[0]) da = ta ? dot(b, dy, tb, true) : dot(dy, b, false, !tb);
  if (c.wanted[1]) db = tb ? dot(dy, a, true, ta) : dot(a, dy, !ta, false);
  return {da, db};
}

void cpu(const KernelContext& c) {
  const Extents e = extents(c.in_type(0), c.in_type(1), c.attrs());
  const bool ta = c.attrs().get_bool("transpose_a"), tb = c.attrs().get_bool("transpose_b");
  for (int64_t i = 0; i < e.batch; ++i) {
    const kernels::Operand a{c.in<float>(0) + i * e.m * e.k, ta ? e.m : e.k, ta};
    const kernels::Operand b{c.in<float>(1) + i * e.k * e.n, tb ? e.k : e.n, tb};
    kernels::gemm(e.m, e.n, e.k, 1.0f, a, b, 0.0f, c.out<float>(0) + i * e.m * e.n, e.n,
                  c.workspace().data());
  }
}

int64_t workspace(const Node& node, std::span<const Type* const> types) {
  const Extents e = extents(*types[0], *types[1], node.attrs);
  return kernels::gemm_workspace_bytes(e.m, e.n, e.k, node.attrs.get_bool("transpose_a"));
}

Cost cost(const Node& node, std::span<const Type* const> types) {
  const Extents e = extents(*types[0], *types[1], node.attrs);
  Cost cost = elementwise_cost(node, types);
  cost.flops = 2.0 * static_cast<double>(e.batch * e.m) * static_cast<double>(e.n * e.k);
  return cost;
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Shape a = ta ? Shape{4, 3} : Shape{3, 4}, b = tb ? Shape{5, 4} : Shape{4, 5};
      const Attrs attrs{{"transpose_a", ta}, {"transpose_b", tb}};
      all.push_back({.inputs = {{DType::kF32, a}, {DType::kF32, b}}, .attrs = attrs});
      const Shape a3{2, a[0], a[1]}, b3{2, b[0], b[1]};
      all.push_back({.inputs = {{DType::kF32, a3}, {DType::kF32, b3}}, .attrs = attrs});
    }
  }
  return all;
}

// An operand as the product reads it: its name and type.
struct HloOperand {
  std::string name, type;
};

HloOperand hlo_operand(HloContext& c, size_t i) {
  const Type& type = c.in_type(i);
  if (!c.options().mixed_bf16) return {c.in(i), stablehlo_type(type)};
  const std::string rounded = stablehlo_type(type.shape, "bf16");
  return {c.emit(fmt::format("stablehlo.convert {} : ({}) -> {}", c.in(i), stablehlo_type(type),
                             rounded)),
          rounded};
}

void stablehlo(HloContext& c) {
  const int64_t rank = c.in_type(0).rank();
  std::vector<int64_t> batch(static_cast<size_t>(rank - 2));
  std::iota(batch.begin(), batch.end(), 0);
  const HloOperand a = hlo_operand(c, 0), b = hlo_operand(c, 1);
  const std::string_view precision = c.options().mixed_bf16 ? "DEFAULT" : "HIGHEST";
  c.emit_output(fmt::format(
      "stablehlo.dot_general {}, {}, {}contracting_dims = [{}] x [{}], precision = [{}, {}] : "
      "({}, {}) -> {}",
      a.name, b.name,
      batch.empty() ? "" : fmt::format("batching_dims = {0} x {0}, ", stablehlo_list(batch)),
      rank - (c.attrs().get_bool("transpose_a") ? 2 : 1),
      rank - (c.attrs().get_bool("transpose_b") ? 1 : 2), precision, precision, a.type, b.type,
      stablehlo_type(c.out_type(0))));
}

}  // namespace

const Op op::dot = {.name = "dot",
                    .infer = infer,
                    .vjp = vjp,
                    .cpu = cpu,
                    .stablehlo = stablehlo,
                    .workspace = workspace,
                    .cost = cost,
                    .samples = samples};

Value dot(Value a, Value b, bool transpose_a, bool transpose_b) {
  return a.graph().call1(op::dot, {a, b},
                         {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

}  // namespace headwater
