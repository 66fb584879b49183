// Outputs: loss [M], log-sum-exp [M], prediction i32 [M], sample i32 [M]. The samples follow
// ELECTRA (Clark et al. 2020): arg max of logits / temperature + g, g = -ln(-ln(u + 1e-9) + 1e-9),
// u = uniform of flat index m V + v.
#include "ops/vocab_cross_entropy.h"

#include "ops/elementwise.h"
#include "ops/random.h"

namespace headwater {

void check_vocab_operands(const InferContext& c) {
  for (size_t i = 0; i < 3; ++i) c.require_dtype(i, DType::kF32);
  c.require_dtype(3, DType::kI32);
  c.require_rank(0, 2);
  c.require_rank(1, 2);
  c.require(c.shape(0)[1] == c.shape(1)[1], "h [M, E] and weight [V, E] differ in E");
  c.require(c.shape(0)[1] > 0, "h [M, E] has no columns");
  c.require(c.shape(2) == Shape{c.shape(1)[0]}, "bias must be [V]");
  c.require(c.shape(1)[0] > 0, "the vocabulary is empty");
  c.require(c.shape(3) == Shape{c.shape(0)[0]}, "targets must be [M]");
}

kernels::VocabularyShape vocabulary_shape(const Type& h, const Type& weight) {
  return {.rows = h.shape[0], .hidden = h.shape[1], .vocabulary = weight.shape[0]};
}

Value one_hot(Value targets, int64_t num_classes) {
  const int64_t m = targets.dim(0);
  const Value classes = iota(targets.graph(), DType::kI32, {m, num_classes}, 1);
  return convert(compare(reshape(targets, {m, 1}), classes, Direction::kEqual), DType::kF32);
}

namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(5);
  check_vocab_operands(c);
  c.require(c.in(4) == Type{DType::kU32, {2}}, "the key must be u32[2]");
  c.require(c.attrs.get_double("temperature") > 0, "the temperature must be positive");
  (void)c.attrs.get_bool("disallow_correct");
  (void)c.attrs.get_bool("sample");
  require_site(c);
  const Type real{DType::kF32, c.shape(3)}, index{DType::kI32, c.shape(3)};
  return {real, real, index, index};
}

std::vector<Value> vjp(const VjpContext& c) {
  if (c.output_grads[1].valid()) {
    throw GraphError("vocab_cross_entropy: the log-sum-exp has no gradient");
  }
  std::vector<Value> grads =
      c.graph().call(op::vocab_cross_entropy_grad,
                     {c.in(0), c.in(1), c.in(2), c.in(3), c.outputs[1], c.output_grads[0]});
  grads.resize(5);
  return grads;
}

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value logits = linear(inputs[0], inputs[1], inputs[2]);
  const int64_t m = logits.dim(0), v = logits.dim(1);
  const Value target = one_hot(inputs[3], v);
  const Value top = stop_gradient(reduce_max(logits, {1}));
  const Value lse = add(log(reduce_sum(exp(sub(logits, reshape(top, {m, 1}))), {1})), top);
  const Value loss = sub(lse, reduce_sum(mul(logits, target), {1}));
  const Value prediction = argmax(logits, 1);
  if (!attrs.get_bool("sample")) return {loss, lse, prediction, prediction};
  Value scores = logits;
  if (attrs.get_bool("disallow_correct")) {
    scores = sub(scores, mul(target, constant_like(target, 1000)));
  }
  const Value u = random_uniform(fold_in(inputs[4], attrs.get_int("site")), {m, v});
  const Value tiny = constant(graph, 1e-9, DType::kF32, {m, v});
  const Value gumbel = neg(log(add(neg(log(add(u, tiny))), tiny)));
  scores = add(div(scores, constant_like(scores, attrs.get_double("temperature"))), gumbel);
  return {loss, lse, prediction, argmax(scores, 1)};
}

Cost cost(const Node& node, std::span<const Type* const> types) {
  Cost cost = elementwise_cost(node, types);
  cost.flops =
      2.0 * static_cast<double>(types[0]->size()) * static_cast<double>(types[1]->shape[0]);
  return cost;
}

std::vector<Sample> samples() {
  const auto call = [](double temperature, bool disallow, bool sample) {
    return Sample{.inputs = {{DType::kF32, {3, 4}},
                             {DType::kF32, {7, 4}},
                             {DType::kF32, {7}},
                             {DType::kI32, {3}},
                             {DType::kU32, {2}}},
                  .attrs = {{"temperature", temperature},
                            {"disallow_correct", disallow},
                            {"sample", sample},
                            {"site", int64_t{9}}},
                  .index_bound = 7};
  };
  return {call(1, false, true), call(0.5, true, true), call(1, false, false)};
}

void cpu(const KernelContext& c) {
  const kernels::VocabularyOutputs outputs = {
      .loss = c.out<float>(0), .log_sum_exp = c.out<float>(1), .prediction = c.out<int32_t>(2)};
  const auto* key = c.in<uint32_t>(4);
  const kernels::GumbelSampling sampling = {
      .key = Key{key[0], key[1]}.fold_in(static_cast<uint32_t>(c.attrs().get_int("site"))),
      .temperature = static_cast<float>(c.attrs().get_double("temperature")),
      .disallow_correct = c.attrs().get_bool("disallow_correct"),
      .sample = c.out<int32_t>(3)};
  const bool sample = c.attrs().get_bool("sample");
  kernels::vocabulary_cross_entropy_forward(
      vocabulary_shape(c.in_type(0), c.in_type(1)), c.in<float>(0), c.in<float>(1), c.in<float>(2),
      c.in<int32_t>(3), outputs, sample ? &sampling : nullptr, c.workspace().data());
  if (!sample) std::copy_n(c.out<int32_t>(2), c.out_type(2).size(), c.out<int32_t>(3));
}

int64_t workspace(const Node&, std::span<const Type* const> types) {
  return kernels::vocabulary_cross_entropy_workspace_bytes(vocabulary_shape(*types[0], *types[1]));
}

}  // namespace

const Op op::vocab_cross_entropy = {.name = "vocab_cross_entropy",
                                    .infer = infer,
                                    .vjp = vjp,
                                    .decompose = decompose,
                                    .cpu = cpu,
                                    .workspace = workspace,
                                    .cost = cost,
                                    .samples = samples};

VocabCrossEntropy vocab_cross_entropy(Value h, Value weight, Value bias, Value targets, Value key,
                                      const VocabCrossEntropyOptions& options) {
  const std::vector<Value> outputs =
      h.graph().call(op::vocab_cross_entropy, {h, weight, bias, targets, key},
                     {{"temperature", options.temperature},
                      {"disallow_correct", options.disallow_correct},
                      {"sample", options.sample},
                      {"site", options.site}});
  return {outputs[0], outputs[2], outputs[3]};
}

}  // namespace headwater
