// Threefry-2x32 as graph operations: the block function, and the key of a named or numbered place.
#include <algorithm>
#include <map>

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

// The key folded with each of the data: u32 [data, 2].
Value fold_in_all(Value key, const std::vector<int64_t>& data) {
  std::vector<Value> words;
  words.reserve(data.size());
  for (const int64_t word : data)
    words.push_back(constant(key.graph(), static_cast<double>(word), DType::kU32, {1}));
  const Value counter = words.size() == 1 ? words[0] : concat(words, 0);
  const auto [x0, x1] = threefry(key, constant_like(counter, 0), counter);
  const Shape column{counter.dim(0), 1};
  return concat({reshape(x0, column), reshape(x1, column)}, 1);
}

std::vector<Value> decompose(Graph&, const std::vector<Value>& inputs, const Attrs& attrs) {
  return {reshape(fold_in_all(inputs[0], {attrs.get_int("data")}), {2})};
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

void join_fold_ins(const Graph& from, Graph& into) {
  using Slot = std::pair<int32_t, int32_t>;  // of a key: node, output
  const auto slot = [](Value key) { return Slot{key.node(), key.output()}; };
  std::map<Slot, std::vector<int64_t>> data;
  for (const Node& node : from.nodes()) {
    if (node.op == &op::fold_in) data[slot(node.inputs[0])].push_back(node.attrs.get_int("data"));
  }
  std::map<Slot, Value> folded;
  rewrite(from, into, [&](const Node& node, const std::vector<Value>& inputs, Graph&) {
    std::optional<std::vector<Value>> result;
    if (node.op != &op::fold_in) return result;
    const std::vector<int64_t>& all = data.at(slot(node.inputs[0]));
    const auto [it, inserted] = folded.try_emplace(slot(node.inputs[0]));
    if (inserted) it->second = fold_in_all(inputs[0], all);
    const int64_t row = std::find(all.begin(), all.end(), node.attrs.get_int("data")) - all.begin();
    result = {reshape(slice(it->second, {row, 0}, {row + 1, 2}), {2})};
    return result;
  });
}

const Op op::fold_in = {
    .name = "fold_in", .infer = infer, .decompose = decompose, .cpu = cpu, .samples = samples};

Value fold_in(Value key, int64_t data) {
  return key.graph().call1(op::fold_in, {key}, {{"data", data}});
}

}  // namespace headwater
