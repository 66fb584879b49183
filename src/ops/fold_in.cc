// Threefry-2x32 as graph operations: the block function, and the key of a named or numbered place.
#include "base/threefry.h"

#include "ops/elementwise.h"
#include "ops/random.h"

namespace headwater {

namespace {

Value rotate_left(Value x, int64_t bits) {
  return bit_or(shift_left(x, constant_like(x, static_cast<double>(bits))),
                shift_right(x, constant_like(x, static_cast<double>(32 - bits))));
}

}  // namespace

std::pair<Value, Value> threefry(Value key, Value c0, Value c1) {
  const auto word = [&](int64_t i) {
    return broadcast_to(reshape(slice(key, {i}, {i + 1}), {}), c0.shape());
  };
  const Value k0 = word(0), k1 = word(1);
  const Value k2 = bit_xor(bit_xor(k0, k1), constant_like(c0, 0x1BD11BDA));
  const Value keys[3] = {k0, k1, k2};
  constexpr int64_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Value x0 = add(c0, k0), x1 = add(c1, k1);
  for (int group = 0; group < 5; ++group) {
    for (const int64_t rotation : kRotations[group % 2]) {
      x0 = add(x0, x1);
      x1 = bit_xor(rotate_left(x1, rotation), x0);
    }
    x0 = add(x0, keys[(group + 1) % 3]);
    x1 = add(add(x1, keys[(group + 2) % 3]), constant_like(x1, group + 1));
  }
  return {x0, x1};
}

namespace {

bool is_word(int64_t data) { return data >= 0 && data <= 0xffffffff; }

std::vector<Type> infer(const InferContext& c) {
  c.require_count(1);
  c.require(c.in(0) == Type{DType::kU32, {2}}, "the key must be u32[2]");
  c.require(is_word(c.attrs.get_int("data")), "data must be 32 bits");
  return {c.in(0)};
}

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value zero = constant(graph, 0, DType::kU32, {1});
  const Value data = constant(graph, static_cast<double>(attrs.get_int("data")), DType::kU32, {1});
  const auto [x0, x1] = threefry(inputs[0], zero, data);
  return {concat({x0, x1}, 0)};
}

void cpu(const KernelContext& c) {
  const auto* key = c.in<uint32_t>(0);
  const Key folded = Key{key[0], key[1]}.fold_in(static_cast<uint32_t>(c.attrs().get_int("data")));
  c.out<uint32_t>(0)[0] = folded.k0;
  c.out<uint32_t>(0)[1] = folded.k1;
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kU32, {2}}},
           .attrs = {{"data", int64_t{0xdeadbeef}}},
           .index_bound = 1 << 30,
           .differentiable = false}};
}

}  // namespace

void require_site(const InferContext& c) {
  c.require(is_word(c.attrs.get_int("site")), "the site must be 32 bits");
}

const Op op::fold_in = {
    .name = "fold_in", .infer = infer, .decompose = decompose, .cpu = cpu, .samples = samples};

Value fold_in(Value key, int64_t data) {
  return key.graph().call1(op::fold_in, {key}, {{"data", data}});
}

}  // namespace headwater
