// Srivastava et al. 2014, inverted: kept elements are scaled by 1 / (1 - rate). The mask is a
// function of (key, site, flat index), equal to jax.random.bernoulli(fold_in(key, site), 1 - rate);
// the backward pass makes it again.
#include "ops/kernel_arguments.h"
#include "ops/elementwise.h"
#include "ops/random.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_dtype(0, DType::kF32);
  c.require(c.in(1) == Type{DType::kU32, {2}}, "the key must be u32[2]");
  const double rate = c.attrs.get_double("rate");
  c.require(rate >= 0 && rate < 1, "the rate must be in [0, 1)");
  c.require(c.in(0).size() <= int64_t{1} << 32, "more than 2^32 elements");
  require_site(c);
  return {c.in(0)};
}

std::vector<Value> vjp(const VjpContext& c) {
  return {
      dropout(c.output_grads[0], c.in(1), c.attrs().get_double("rate"), c.attrs().get_int("site")),
      Value()};
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value x = inputs[0];
  const double keep = 1 - attrs.get_double("rate");
  const Value u = random_uniform(fold_in(inputs[1], attrs.get_int("site")), x.shape());
  // Bits cost more arithmetic than the layers between them and the gradient.
  const Value kept = headwater::keep(compare(u, constant_like(u, keep), Direction::kLess));
  return {select(kept, mul(x, constant_like(x, 1 / keep)), constant_like(x, 0))};
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {6, 11}}, {DType::kU32, {2}}},
           .attrs = {{"rate", 0.1}, {"site", int64_t{77}}},
           .index_bound = 1 << 30},
          {.inputs = {{DType::kF32, {5}}, {DType::kU32, {2}}},
           .attrs = {{"rate", 0.5}, {"site", int64_t{0}}},
           .index_bound = 1 << 30}};
}

void cpu(const KernelContext& c) {
  kernels::dropout(dropout_argument(c, 1), c.in<float>(0), c.out<float>(0), c.out_type(0).size());
}

}  // namespace

const Op op::dropout = {.name = "dropout",
                        .infer = infer,
                        .vjp = vjp,
                        .decompose = decompose,
                        .cpu = cpu,
                        .cost = elementwise_cost,
                        .samples = samples,
                        .in_place = {{0, 0}}};

Value dropout(Value x, Value key, double rate, int64_t site) {
  if (rate == 0) return x;
  return x.graph().call1(op::dropout, {x, key}, {{"rate", rate}, {"site", site}});
}

}  // namespace headwater
