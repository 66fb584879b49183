// bits[i] = x0 ^ x1 of the 64-bit Threefry counter r * count + i, r the replica and i the flat
// index in the shape of `count` elements; shapes of more than 2^32 are refused.
#include "base/threefry.h"

#include "ops/elementwise.h"
#include "ops/random.h"

namespace headwater {

std::pair<Value, Value> element_counters(Value replica, int64_t count) {
  const Value sixteen = constant_like(replica, 16);
  const auto times = [&](int64_t half) {  // both factors at most 2^16
    return mul(replica, constant_like(replica, static_cast<double>(half)));
  };
  const auto carry = [](Value sum, Value term) {
    return convert(compare(sum, term, Direction::kLess), DType::kU32);
  };
  const Value upper = times(count >> 16), lower = times(count & 0xffff);
  const Value low = add(shift_left(upper, sixteen), lower);
  const Value high = add(shift_right(upper, sixteen), carry(low, lower));
  const Value index = add(iota(replica.graph(), DType::kU32, {count}, 0), low);
  return {add(carry(index, low), high), index};
}

namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  c.require(c.in(0) == Type{DType::kU32, {2}}, "the key must be u32[2]");
  const Shape& shape = c.attrs.get_ints("shape");
  c.require_shape(shape);
  c.require(element_count(shape) <= int64_t{1} << 32, "more than 2^32 elements");
  return {Type{DType::kU32, shape}};
}

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Shape& shape = attrs.get_ints("shape");
  const auto [c0, c1] = element_counters(replica_id(graph), element_count(shape));
  const auto [x0, x1] = threefry(inputs[0], c0, c1);
  return {reshape(bit_xor(x0, x1), shape)};
}

void cpu(const KernelContext& c) {
  const Key key{c.in<uint32_t>(0)[0], c.in<uint32_t>(0)[1]};
  auto* bits = c.out<uint32_t>(0);
  parallel_for(c.out_type(0).size(), kElementwiseGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) bits[i] = key.bits(static_cast<uint64_t>(i));
  });
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kU32, {2}}},
           .attrs = {{"shape", Shape{3, 5}}},
           .index_bound = 1 << 30,
           .differentiable = false}};
}

}  // namespace

const Op op::random_bits = {
    .name = "random_bits", .infer = infer, .decompose = decompose, .cpu = cpu, .samples = samples};

Value random_bits(Value key, Shape shape) {
  return key.graph().call1(op::random_bits, {key}, {{"shape", std::move(shape)}});
}

Value random_uniform(Value key, Shape shape) {
  const Value bits = random_bits(key, std::move(shape));
  const Value mantissa = convert(shift_right(bits, constant_like(bits, 9)), DType::kF32);
  return mul(mantissa, constant_like(mantissa, 0x1p-23));
}

}  // namespace headwater
