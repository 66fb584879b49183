// Outputs: the context [B, T, H] and the log-sum-exp of each row of scores [B, N, T], from which
// the gradient makes the probabilities again instead of storing them. Dropout bits are those of
// flat index ((b N + n) T + t_q) T + t_k.
#include "ops/kernel_arguments.h"
#include "ops/attention.h"

#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "ops/random.h"

namespace headwater {

void check_attention(const InferContext& c) {
  for (size_t i = 0; i < 3; ++i) c.require_dtype(i, DType::kF32);
  c.require_rank(0, 3);
  c.require_same_type(0, 1);
  c.require_same_type(0, 2);
  c.require(c.in(3) == Type{DType::kI32, {c.shape(0)[0], c.shape(0)[1]}},
            "the mask must be i32 [B, T]");
  c.require(c.in(4) == Type{DType::kU32, {2}}, "the key must be u32[2]");
  const int64_t heads = c.attrs.get_int("num_heads");
  c.require(heads > 0 && c.shape(0)[2] % heads == 0 && c.shape(0)[2] > 0,
            "H must be a multiple of the number of heads");
  const double rate = c.attrs.get_double("rate");
  c.require(rate >= 0 && rate < 1, "the dropout rate must be in [0, 1)");
  require_site(c);
  (void)c.attrs.get_bool("causal");
  (void)c.attrs.get_bool("by_document");
}

kernels::AttentionShape attention_shape(const Type& q, const Attrs& attrs) {
  const int64_t heads = attrs.get_int("num_heads"), width = q.shape[2];
  return {.batch = q.shape[0],
          .time = q.shape[1],
          .heads = heads,
          .head_size = width / heads,
          .qkv_stride = width,
          .context_stride = width,
          .causal = attrs.get_bool("causal"),
          .by_document = attrs.get_bool("by_document")};
}

Value split_heads(Value x, int64_t heads) {
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

Value join_heads(Value x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

SoftmaxParts softmax_in_primitives(Value scores) {
  Shape kept = scores.shape();
  kept.back() = 1;
  const int64_t last = scores.type().rank() - 1;
  const Value top = stop_gradient(reduce_max(scores, {last}));
  const Value exps = exp(sub(scores, reshape(top, kept)));
  const Value sum = reduce_sum(exps, {last});
  return {div(exps, reshape(sum, kept)), add(log(sum), top)};
}

namespace {

// Minus infinity where the key comes after the query: unlike padding, such a key is hidden from
// rows without any other key, too.
Value causal_bias(Graph& graph, int64_t t) {
  const Value query = iota(graph, DType::kI32, {t, t}, 0),
              key = iota(graph, DType::kI32, {t, t}, 1);
  const Value hidden = compare(key, query, Direction::kGreater);
  return select(hidden,
                constant(graph, -std::numeric_limits<double>::infinity(), DType::kF32, {t, t}),
                constant(graph, 0, DType::kF32, {t, t}));
}

// What the padding mask [B, T], or documents, add to the scores: [B, 1, 1, T], [B, 1, T, T].
Value mask_bias(Value mask, bool by_document) {
  Graph& graph = mask.graph();
  const int64_t b = mask.dim(0), t = mask.dim(1);
  if (!by_document) {
    const Value masked = sub(constant(graph, 1, DType::kF32, {b, t}), convert(mask, DType::kF32));
    return reshape(mul(masked, constant_like(masked, -10000)), {b, 1, 1, t});
  }
  const Shape pairs{b, 1, t, t};
  const Value hidden =
      compare(broadcast_to(reshape(mask, {b, 1, t, 1}), pairs),
              broadcast_to(reshape(mask, {b, 1, 1, t}), pairs), Direction::kNotEqual);
  return select(hidden,
                constant(graph, -std::numeric_limits<double>::infinity(), DType::kF32, pairs),
                constant(graph, 0, DType::kF32, pairs));
}

std::vector<Type> infer(const InferContext& c) {
  c.require_count(5);
  check_attention(c);
  const Shape& shape = c.shape(0);
  return {c.in(0), Type{DType::kF32, {shape[0], c.attrs.get_int("num_heads"), shape[1]}}};
}

std::vector<Value> vjp(const VjpContext& c) {
  if (c.output_grads[1].valid()) {
    throw GraphError("attention: only its first output has a gradient");
  }
  std::vector<Value> inputs = c.node.inputs;
  inputs.insert(inputs.end(), {c.outputs[0], c.outputs[1], c.output_grads[0]});
  std::vector<Value> grads = c.graph().call(op::attention_grad, inputs, c.attrs());
  grads.resize(5);
  return grads;
}

Cost cost(const Node& node, std::span<const Type* const> types) {
  Cost cost = elementwise_cost(node, types);
  const Shape& s = types[0]->shape;
  cost.flops = 4.0 * static_cast<double>(s[0] * s[1]) * static_cast<double>(s[1] * s[2]);
  return cost;
}

std::vector<Sample> samples() {
  const auto call = [](int64_t b, int64_t t, int64_t h, int64_t heads, double rate, bool causal,
                       bool by_document) {
    const Type x{DType::kF32, {b, t, h}};
    return Sample{.inputs = {x, x, x, {DType::kI32, {b, t}}, {DType::kU32, {2}}},
                  .attrs = {{"num_heads", heads},
                            {"rate", rate},
                            {"site", int64_t{5}},
                            {"causal", causal},
                            {"by_document", by_document}},
                  .index_bound = by_document ? 3 : 2};
  };
  return {call(2, 5, 8, 2, 0.0, false, false), call(2, 4, 6, 1, 0.2, false, false),
          call(1, 6, 8, 2, 0.1, true, false), call(2, 6, 8, 2, 0.1, false, true),
          call(1, 7, 6, 1, 0.0, true, true)};
}

void cpu(const KernelContext& c) {
  kernels::attention_forward(attention_shape(c.in_type(0), c.attrs()), c.in<float>(0),
                             c.in<float>(1), c.in<float>(2), c.in<int32_t>(3),
                             dropout_argument(c, 4), c.out<float>(0), c.out<float>(1),
                             c.workspace().data());
}

int64_t workspace(const Node& node, std::span<const Type* const> types) {
  return kernels::attention_workspace_bytes(attention_shape(*types[0], node.attrs));
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value v = split_heads(inputs[2], attrs.get_int("num_heads"));
  const SoftmaxParts softmax =
      softmax_in_primitives(attention_scores(inputs[0], inputs[1], inputs[3], attrs));
  const Value probabilities =
      dropout(softmax.probabilities, inputs[4], attrs.get_double("rate"), attrs.get_int("site"));
  return {join_heads(dot(probabilities, v)), softmax.log_sum_exp};
}

}  // namespace

Value attention_scores(Value q, Value k, Value mask, const Attrs& attrs) {
  const int64_t heads = attrs.get_int("num_heads"), head_size = q.dim(2) / heads;
  Value scores = dot(split_heads(q, heads), split_heads(k, heads), false, true);  // [B, N, T, T]
  scores = mul(scores, constant_like(scores, 1 / std::sqrt(static_cast<double>(head_size))));
  scores = add(scores, mask_bias(mask, attrs.get_bool("by_document")));
  return attrs.get_bool("causal") ? add(scores, causal_bias(q.graph(), q.dim(1))) : scores;
}

const Op op::attention = {.name = "attention",
                          .infer = infer,
                          .vjp = vjp,
                          .decompose = decompose,
                          .cpu = cpu,
                          .workspace = workspace,
                          .cost = cost,
                          .samples = samples};

Value attention(Value q, Value k, Value v, Value attention_mask, Value key,
                const AttentionOptions& options) {
  return q.graph().call(op::attention, {q, k, v, attention_mask, key},
                        {{"num_heads", options.num_heads},
                         {"rate", options.dropout_rate},
                         {"site", options.site},
                         {"causal", options.causal},
                         {"by_document", options.by_document}})[0];
}

}  // namespace headwater
