// Attention of a few tokens to the kept keys and values of all before them, their own included:
// what decoding does. Operands: q, k, v, position.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cached_attention.h"
#include "ops/attention.h"
#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(4);
  for (size_t i = 0; i < 3; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 3);
  c.require_rank(1, 3);
  c.require_same_type(1, 2);
  c.require(c.in(3) == Type{DType::kI32, {}}, "the position must be i32[]");
  const Shape &q = c.shape(0), &k = c.shape(1);
  c.require(q[0] == k[0] && q[2] == k[2], "q [B, T, H] and k [B, C, H] differ in B or H");
  c.require(q[1] <= k[1], "more tokens than the cache holds");
  const int64_t heads = c.attrs.get_int("num_heads");
  c.require(heads > 0 && q[2] % heads == 0 && q[2] > 0,
            "H must be a multiple of the number of heads");
  return {c.in(0)};
}

// Minus infinity where a key [C] comes after a query [T] at `position`: [T, C].
Value later_bias(Value position, int64_t tokens, int64_t capacity) {
  Graph& graph = position.graph();
  const Shape shape{tokens, capacity};
  const Value first = minimum(maximum(position, constant_like(position, 0)),
                              constant_like(position, static_cast<double>(capacity - tokens)));
  const Value query = add(iota(graph, DType::kI32, shape, 0), broadcast_to(first, shape));
  const Value hidden = compare(iota(graph, DType::kI32, shape, 1), query, Direction::kGreater);
  return select(hidden,
                constant(graph, -std::numeric_limits<double>::infinity(), DType::kF32, shape),
                constant(graph, 0, DType::kF32, shape));
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const int64_t heads = attrs.get_int("num_heads");
  const Value q = split_heads(inputs[0], heads), k = split_heads(inputs[1], heads),
              v = split_heads(inputs[2], heads);
  Value scores = dot(q, k, false, true);  // [B, N, T, C]
  scores = mul(scores, constant_like(scores, 1 / std::sqrt(static_cast<double>(q.dim(3)))));
  scores = add(scores, later_bias(inputs[3], q.dim(2), k.dim(2)));
  return {join_heads(dot(softmax_in_primitives(scores).probabilities, v))};
}

kernels::CachedAttentionShape shape_of(const Type& q, const Type& k, const Attrs& attrs) {
  const int64_t heads = attrs.get_int("num_heads");
  return {.batch = q.shape[0],
          .time = q.shape[1],
          .capacity = k.shape[1],
          .heads = heads,
          .head_size = q.shape[2] / heads};
}

void cpu(const KernelContext& c) {
  const kernels::CachedAttentionShape shape = shape_of(c.in_type(0), c.in_type(1), c.attrs());
  const int64_t position = std::clamp<int64_t>(*c.in<int32_t>(3), 0, shape.capacity - shape.time);
  kernels::cached_attention(shape, c.in<float>(0), c.in<float>(1), c.in<float>(2), position,
                            c.out<float>(0), c.workspace().data());
}

int64_t workspace(const Node& node, std::span<const Type* const> types) {
  return kernels::cached_attention_workspace_bytes(shape_of(*types[0], *types[1], node.attrs));
}

Cost cost(const Node& node, std::span<const Type* const> types) {
  Cost cost = elementwise_cost(node, types);
  const Shape &q = types[0]->shape, &k = types[1]->shape;
  cost.flops = 4.0 * static_cast<double>(q[0] * q[1]) * static_cast<double>(k[1] * q[2]);
  return cost;
}

std::vector<Sample> samples() {
  const auto call = [](int64_t b, int64_t t, int64_t capacity, int64_t h, int64_t heads) {
    const Type cache{DType::kF32, {b, capacity, h}};
    return Sample{.inputs = {{DType::kF32, {b, t, h}}, cache, cache, {DType::kI32, {}}},
                  .attrs = {{"num_heads", heads}},
                  .index_bound = 6};
  };
  return {call(2, 1, 7, 8, 2), call(1, 5, 9, 6, 1)};
}

}  // namespace

// Its gradient is that of the decomposition: nobody trains through a cache.
const Op op::cached_attention = {.name = "cached_attention",
                                 .infer = infer,
                                 .decompose = decompose,
                                 .cpu = cpu,
                                 .workspace = workspace,
                                 .cost = cost,
                                 .samples = samples};

Value cached_attention(Value q, Value k, Value v, Value position, int64_t num_heads) {
  return q.graph().call1(op::cached_attention, {q, k, v, position}, {{"num_heads", num_heads}});
}

}  // namespace headwater
