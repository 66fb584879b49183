// What single operators promise beyond the battery: edge values, bits, ties, out-of-range ids.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/threefry.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/random.h"
#include "ops/registry.h"
#include "ops/run_graph.h"

namespace headwater {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
using Words = std::vector<uint32_t>;

Tensor f32(Shape shape, const Floats& values) { return Tensor::f32(std::move(shape), values); }
Tensor i32(Shape shape, const Ints& values) { return Tensor::i32(std::move(shape), values); }
Tensor u32(Shape shape, const Words& values) {
  Tensor tensor(DType::kU32, std::move(shape));
  std::ranges::copy(values, tensor.as<uint32_t>().begin());
  return tensor;
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  const auto span = tensor.as<T>();
  return {span.begin(), span.end()};
}

// Feeds the tensors, builds with their values and runs.
template <class Build>
std::vector<Tensor> evaluate(const std::vector<Tensor>& inputs, Build build) {
  Graph graph;
  std::vector<Value> x;
  for (size_t i = 0; i < inputs.size(); ++i) {
    x.push_back(graph.input(fmt::format("{}", i), {inputs[i].dtype(), inputs[i].shape()}));
  }
  const std::vector<Value> results = build(x);
  for (size_t i = 0; i < results.size(); ++i) graph.output(fmt::format("{}", i), results[i]);
  return run_graph(graph, inputs);
}

template <class Build>
Tensor evaluate1(const std::vector<Tensor>& inputs, Build build) {
  return evaluate(inputs,
                  [&](const std::vector<Value>& x) { return std::vector<Value>{build(x)}; })[0];
}

Floats random_floats(int64_t n, uint64_t seed, float low = -2, float high = 2) {
  RandomStream random(Key::from_seed(seed));
  Floats out(static_cast<size_t>(n));
  for (float& x : out) x = low + (high - low) * random.uniform();
  return out;
}

TEST(Random, BitsFoldInAndUniformAreThoseOfTheKey) {
  const Key key{0x12345678, 0x9abcdef0};
  const auto out = evaluate({u32({2}, {key.k0, key.k1})}, [](const auto& x) -> std::vector<Value> {
    return {random_bits(x[0], {3, 41}), fold_in(x[0], 0xffffffff), random_uniform(x[0], {50000})};
  });
  for (uint64_t i = 0; i < 123; ++i) EXPECT_EQ(out[0].as<uint32_t>()[i], key.bits(i));
  const Key folded = key.fold_in(0xffffffffu);
  EXPECT_EQ(values<uint32_t>(out[1]), (Words{folded.k0, folded.k1}));
  for (uint64_t i = 0; i < 50000; ++i) EXPECT_EQ(out[2].as<float>()[i], key.uniform(i));
}

// Each replica goes on where the one before it ends, beyond 2^32 elements, too.
TEST(Random, CountersOfReplicasFollowEachOther) {
  for (const int64_t count : {int64_t{1}, int64_t{70}, int64_t{65536}, int64_t{98765}}) {
    for (const uint32_t replica : {0u, 1u, 7u, 43690u, 65535u}) {
      const auto out = evaluate({u32({}, {replica})}, [&](const auto& x) -> std::vector<Value> {
        const auto [high, low] = element_counters(x[0], count);
        return {high, low};
      });
      for (const int64_t i : {int64_t{0}, count / 3, count - 1}) {
        const auto at = static_cast<size_t>(i);
        const uint64_t counter =
            (uint64_t{out[0].as<uint32_t>()[at]} << 32) | out[1].as<uint32_t>()[at];
        EXPECT_EQ(counter, uint64_t{replica} * static_cast<uint64_t>(count) + at);
      }
    }
  }
}

// In the gradient a barrier and a sum over replicas are the identity.
TEST(Barrier, PassesGradientsOn) {
  const auto out = evaluate({f32({2}, {3, 4})}, [](const auto& x) -> std::vector<Value> {
    const std::vector<Value> held = barrier({x[0], mul(x[0], x[0])});
    return gradients(all_reduce(sum_all(add(held[0], held[1]))), {x[0]});
  });
  EXPECT_EQ(values<float>(out[0]), (Floats{7, 9}));
}

TEST(ArgMax, NaNIsNeverTheLargest) {
  const auto index = [](const Floats& x) {
    return values<int32_t>(evaluate1({f32({3}, x)}, [](const auto& v) { return argmax(v[0], 0); }));
  };
  EXPECT_EQ(index({kNaN, 1, 2}), (Ints{2}));
  EXPECT_EQ(index({1, kNaN, 0}), (Ints{0}));
  EXPECT_EQ(index({kNaN, -kInf, kNaN}), (Ints{0}));
  EXPECT_EQ(index({-kInf, kInf, kInf}), (Ints{1}));
}

TEST(DynamicSlice, MovesIntoTheOperand) {
  const Tensor x = i32({5}, {0, 1, 2, 3, 4}), part = i32({2}, {8, 9});
  const auto at = [&](int32_t start) {
    return evaluate({x, part, i32({}, {start})}, [](const auto& v) -> std::vector<Value> {
      return {dynamic_slice(v[0], {v[2]}, {2}), dynamic_update_slice(v[0], v[1], {v[2]})};
    });
  };
  for (const auto& [start, cut, put] :
       {std::tuple<int32_t, Ints, Ints>{2, {2, 3}, {0, 1, 8, 9, 4}},
        std::tuple<int32_t, Ints, Ints>{-7, {0, 1}, {8, 9, 2, 3, 4}},
        std::tuple<int32_t, Ints, Ints>{kMin, {0, 1}, {8, 9, 2, 3, 4}},
        std::tuple<int32_t, Ints, Ints>{4, {3, 4}, {0, 1, 2, 8, 9}},
        std::tuple<int32_t, Ints, Ints>{kMax, {3, 4}, {0, 1, 2, 8, 9}}}) {
    const auto out = at(start);
    EXPECT_EQ(values<int32_t>(out[0]), cut) << start;
    EXPECT_EQ(values<int32_t>(out[1]), put) << start;
  }
}

// A state that is updated at a place is written in place: what is not replaced stays, run by run.
TEST(DynamicSlice, GrowsAState) {
  Graph graph;
  const Value state = graph.input("state", {DType::kF32, {4, 2}}, /*is_state=*/true);
  const Value row = graph.input("row", {DType::kF32, {1, 2}});
  const Value place = graph.input("place", {DType::kI32, {}});
  const Value zero = constant(graph, 0, DType::kI32);
  const Value grown = dynamic_update_slice(state, row, {place, zero});
  graph.update(state, grown);
  graph.output("sum", sum_all(grown));
  CompiledGraph run(graph);
  ok_or_throw(run.store().set("state", Tensor(DType::kF32, {4, 2})));
  for (int32_t i = 0; i < 4; ++i) {
    const auto v = static_cast<float>(i + 1);
    ok_or_throw(run.program().feed("row", f32({1, 2}, {v, 10 * v})));
    ok_or_throw(run.program().feed("place", i32({}, {i})));
    ok_or_throw(run.program().run());
  }
  EXPECT_EQ(values<float>(value_or_throw(run.store().get("state"))),
            (Floats{1, 10, 2, 20, 3, 30, 4, 40}));
  EXPECT_EQ(value_or_throw(run.program().fetch("sum")).as<float>()[0], 110);
}

TEST(CachedAttention, MovesThePositionIntoTheCache) {
  const Tensor q = f32({1, 2, 4}, random_floats(8, 1)), k = f32({1, 6, 4}, random_floats(24, 2)),
               v = f32({1, 6, 4}, random_floats(24, 3));
  const auto at = [&](int32_t position) {
    return values<float>(evaluate1({q, k, v, i32({}, {position})}, [](const auto& x) {
      return cached_attention(x[0], x[1], x[2], x[3], 2);
    }));
  };
  EXPECT_EQ(at(-3), at(0));
  EXPECT_EQ(at(kMin), at(0));
  EXPECT_EQ(at(5), at(4));
  EXPECT_EQ(at(kMax), at(4));
  EXPECT_NE(at(3), at(4));
}

TEST(Dropout, KeepsWhereTheUniformIsBelowTheKeepProbability) {
  const Key key{7, 8};
  const int64_t n = 40000;
  for (const double rate : {0.1, 0.5, 0.9}) {
    const Floats x = random_floats(n, 1);
    const Tensor y = evaluate1({f32({n}, x), u32({2}, {key.k0, key.k1})}, [&](const auto& v) {
      return dropout(v[0], v[1], rate, 0xabcdef01);
    });
    const Key site = key.fold_in(0xabcdef01u);
    const auto keep = static_cast<float>(1 - rate);
    int64_t kept = 0;
    for (uint64_t i = 0; i < static_cast<uint64_t>(n); ++i) {
      const bool keeps = site.uniform(i) < keep;
      kept += keeps ? 1 : 0;
      EXPECT_NEAR(y.as<float>()[i], keeps ? x[i] / keep : 0, 4e-7 * std::fabs(x[i] / keep));
    }
    EXPECT_NEAR(static_cast<double>(kept), static_cast<double>(n) * (1 - rate), 500);
  }
}

TEST(Dropout, OfRateZeroIsItsOperand) {
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {3}});
  const Value key = graph.input("key", {DType::kU32, {2}});
  EXPECT_EQ(dropout(x, key, 0, 1), x);
}

TEST(GatherRows, AnIdOutsideReadsTheNearestRow) {
  const Tensor y = evaluate1({f32({3, 2}, {1, 2, 3, 4, 5, 6}), i32({6}, {-1, 0, 2, 3, kMin, kMax})},
                             [](const auto& x) { return gather_rows(x[0], x[1]); });
  EXPECT_EQ(values<float>(y), (Floats{1, 2, 1, 2, 5, 6, 5, 6, 1, 2, 5, 6}));
}

TEST(ScatterAddRows, ARowWithAnIdOutsideIsDroppedAndGetsNoGradient) {
  const auto out =
      evaluate({i32({5}, {1, -1, 1, 3, kMin}), f32({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})},
               [](const auto& x) -> std::vector<Value> {
                 const Value y = scatter_add_rows(x[0], x[1], 3);
                 const Value weights = add(iota(y.graph(), DType::kI32, {3, 2}, 0),
                                           constant(y.graph(), 1, DType::kI32));
                 const Value loss = sum_all(mul(y, convert(weights, DType::kF32)));
                 return {y, gradients(loss, {x[1]})[0]};
               });
  EXPECT_EQ(values<float>(out[0]), (Floats{0, 0, 6, 8, 0, 0}));
  EXPECT_EQ(values<float>(out[1]), (Floats{2, 2, 0, 0, 2, 2, 0, 0, 0, 0}));
}

TEST(ScatterAddRows, IntegersWrapAround) {
  const Tensor y = evaluate1({i32({2}, {0, 0}), i32({2, 1}, {kMax, 1})},
                             [](const auto& x) { return scatter_add_rows(x[0], x[1], 1); });
  EXPECT_EQ(values<int32_t>(y), (Ints{kMin}));
}

TEST(Convert, FloatsToIntegersRoundTowardsZeroAndStopAtTheBounds) {
  const Floats x = {0.9f,  -0.9f, -1.5f, 2.5f, 2147483520.0f, 2147483648.0f, -2147483648.0f,
                    -3e9f, 4e9f,  5e9f,  kInf, -kInf,         kNaN,          -0.0f};
  const auto n = static_cast<int64_t>(x.size());
  const auto out = evaluate({f32({n}, x)}, [](const auto& v) -> std::vector<Value> {
    return {convert(v[0], DType::kI32), convert(v[0], DType::kU32)};
  });
  EXPECT_EQ(values<int32_t>(out[0]),
            (Ints{0, 0, -1, 2, 2147483520, kMax, kMin, kMin, kMax, kMax, kMax, kMin, 0, 0}));
  EXPECT_EQ(values<uint32_t>(out[1]), (Words{0, 0, 0, 2, 2147483520, 2147483648u, 0, 0, 4000000000u,
                                             4294967295u, 4294967295u, 0, 0, 0}));
}

TEST(Convert, IntegersToFloatsAndToEachOther) {
  const auto out = evaluate({i32({3}, {-1, kMin, 16777217}), u32({2}, {4294967295u, 5})},
                            [](const auto& v) -> std::vector<Value> {
                              return {convert(v[0], DType::kF32), convert(v[0], DType::kU32),
                                      convert(v[1], DType::kI32), convert(v[1], DType::kF32)};
                            });
  EXPECT_EQ(values<float>(out[0]), (Floats{-1, -2147483648.0f, 16777216}));
  EXPECT_EQ(values<uint32_t>(out[1]), (Words{4294967295u, 2147483648u, 16777217}));
  EXPECT_EQ(values<int32_t>(out[2]), (Ints{-1, 5}));
  EXPECT_EQ(values<float>(out[3]), (Floats{4294967296.0f, 5}));
}

TEST(Integers, OverflowWrapsAndDivisionHasNoTrap) {
  const Tensor a = i32({6}, {kMax, kMin, kMin, 7, -7, 5}), b = i32({6}, {1, -1, 2, 2, 2, 0});
  const auto out = evaluate({a, b}, [](const auto& x) -> std::vector<Value> {
    return {add(x[0], x[1]), sub(x[0], x[1]),     mul(x[0], x[1]),
            div(x[0], x[1]), maximum(x[0], x[1]), minimum(x[0], x[1])};
  });
  EXPECT_EQ(values<int32_t>(out[0]), (Ints{kMin, kMax, kMin + 2, 9, -5, 5}));
  EXPECT_EQ(values<int32_t>(out[1]), (Ints{kMax - 1, kMin + 1, kMax - 1, 5, -9, 5}));
  EXPECT_EQ(values<int32_t>(out[2]), (Ints{kMax, kMin, 0, 14, -14, 0}));
  EXPECT_EQ(values<int32_t>(out[3]), (Ints{kMax, kMin, kMin / 2, 3, -3, 0}));
  EXPECT_EQ(values<int32_t>(out[4]), (Ints{kMax, -1, 2, 7, 2, 5}));
  EXPECT_EQ(values<int32_t>(out[5]), (Ints{1, kMin, kMin, 2, -7, 0}));
}

TEST(Integers, UnsignedDivisionComparisonAndShifts) {
  const Tensor a = u32({4}, {4294967295u, 1, 0x80000000u, 12}), b = u32({4}, {2, 0, 31, 32});
  const auto out = evaluate({a, b}, [](const auto& x) -> std::vector<Value> {
    return {div(x[0], x[1]), shift_left(x[0], x[1]), shift_right(x[0], x[1]),
            convert(compare(x[0], x[1], Direction::kGreater), DType::kI32)};
  });
  EXPECT_EQ(values<uint32_t>(out[0]), (Words{2147483647u, 0, 0x80000000u / 31, 0}));
  EXPECT_EQ(values<uint32_t>(out[1]), (Words{4294967292u, 1, 0, 0}));
  EXPECT_EQ(values<uint32_t>(out[2]), (Words{0x3fffffffu, 1, 1, 0}));
  EXPECT_EQ(values<int32_t>(out[3]), (Ints{1, 1, 1, 0}));
}

TEST(Floats, DivisionByZeroComparisonsOfNaNAndLogisticOfLargeValues) {
  const auto out = evaluate(
      {f32({4}, {1, -1, 0, kNaN}), f32({4}, {0, 0, 0, kNaN}), f32({4}, {200, -200, 0, kInf})},
      [](const auto& x) -> std::vector<Value> {
        return {div(x[0], x[1]), convert(compare(x[0], x[1], Direction::kEqual), DType::kI32),
                convert(compare(x[0], x[1], Direction::kNotEqual), DType::kI32), logistic(x[2])};
      });
  EXPECT_EQ(out[0].as<float>()[0], kInf);
  EXPECT_EQ(out[0].as<float>()[1], -kInf);
  EXPECT_TRUE(std::isnan(out[0].as<float>()[2]));
  EXPECT_EQ(values<int32_t>(out[1]), (Ints{0, 0, 1, 0}));
  EXPECT_EQ(values<int32_t>(out[2]), (Ints{1, 1, 0, 1}));
  EXPECT_EQ(values<float>(out[3]), (Floats{1, 0, 0.5f, 1}));
}

TEST(Broadcasting, FollowsNumPy) {
  const auto out = evaluate({f32({2, 1}, {1, 2}), f32({3}, {10, 20, 30}), f32({}, {5})},
                            [](const auto& x) -> std::vector<Value> {
                              return {add(x[0], x[1]), mul(x[1], x[2]), sub(x[2], x[0])};
                            });
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(values<float>(out[0]), (Floats{11, 21, 31, 12, 22, 32}));
  EXPECT_EQ(values<float>(out[1]), (Floats{50, 100, 150}));
  EXPECT_EQ(out[2].shape(), (Shape{2, 1}));
  EXPECT_EQ(values<float>(out[2]), (Floats{4, 3}));
}

TEST(Broadcasting, ToAShapeThatDoesNotFitIsAnError) {
  Graph graph;
  const Value x = graph.input("x", {DType::kF32, {2, 3}});
  EXPECT_THROW(broadcast_to(x, {3}), GraphError);
  EXPECT_THROW(broadcast_to(x, {2, 4}), GraphError);
  EXPECT_THROW(broadcast_to(x, {3, 3}), GraphError);
  EXPECT_EQ(broadcast_to(x, {5, 2, 3}).shape(), (Shape{5, 2, 3}));
}

TEST(Argmax, TakesTheLowestIndexOfEqualValues) {
  const auto out = evaluate({f32({2, 4}, {1, 3, 3, 0, -1, -1, -2, -1})},
                            [](const auto& x) -> std::vector<Value> {
                              return {argmax(x[0], 1), argmax(x[0], -2)};
                            });
  EXPECT_EQ(values<int32_t>(out[0]), (Ints{1, 0}));
  EXPECT_EQ(values<int32_t>(out[1]), (Ints{0, 0, 0, 0}));
}

TEST(ReduceMax, SharesTheGradientAmongEqualMaximaAndIsMinusInfinityOfNothing) {
  const auto out = evaluate({f32({1, 4}, {3, 1, 3, 2}), f32({2, 0}, {})},
                            [](const auto& x) -> std::vector<Value> {
                              const Value top = reduce_max(x[0], {1});
                              return {gradients(sum_all(top), {x[0]})[0], reduce_max(x[1], {1})};
                            });
  EXPECT_EQ(values<float>(out[0]), (Floats{0.5f, 0, 0.5f, 0}));
  EXPECT_EQ(values<float>(out[1]), (Floats{-kInf, -kInf}));
}

// Every transposition, against a loop in double, at sizes with tails of every kind.
TEST(Dot, AllTranspositions) {
  const int64_t batch = 2, m = 13, n = 37, k = 29;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Floats a = random_floats(batch * m * k, 1), b = random_floats(batch * k * n, 2);
      const Tensor y = evaluate1({f32(ta ? Shape{batch, k, m} : Shape{batch, m, k}, a),
                                  f32(tb ? Shape{batch, n, k} : Shape{batch, k, n}, b)},
                                 [&](const auto& x) { return dot(x[0], x[1], ta, tb); });
      ASSERT_EQ(y.shape(), (Shape{batch, m, n}));
      for (int64_t q = 0; q < batch; ++q) {
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) {
              const int64_t in_a = q * m * k + (ta ? l * m + i : i * k + l);
              const int64_t in_b = q * k * n + (tb ? j * k + l : l * n + j);
              sum += double{a[static_cast<size_t>(in_a)]} * double{b[static_cast<size_t>(in_b)]};
            }
            EXPECT_NEAR(y.as<float>()[static_cast<size_t>((q * m + i) * n + j)], sum, 3e-5);
          }
        }
      }
    }
  }
}

TEST(Dot, OverNoTermsIsZero) {
  const Tensor y =
      evaluate1({f32({2, 0}, {}), f32({0, 3}, {})}, [](const auto& x) { return dot(x[0], x[1]); });
  EXPECT_EQ(values<float>(y), Floats(6, 0.0f));
}

// A row whose keys are all padding attends to all of them alike, forward and backward.
TEST(Attention, RowsWithoutARealKeyAreUniformOverTheScores) {
  const int64_t t = 5, h = 4;
  const Floats q = random_floats(2 * t * h, 1), k = random_floats(2 * t * h, 2),
               v = random_floats(2 * t * h, 3);
  const Tensor mask = i32({2, t}, {0, 0, 0, 0, 0, 1, 1, 0, 0, 0});
  const Tensor key = u32({2}, {0, 0});
  const Shape shape = {2, t, h};
  const auto build = [&](const auto& x) -> std::vector<Value> {
    const Value y = attention(x[0], x[1], x[2], x[3], x[4], {.num_heads = 2});
    std::vector<Value> out = gradients(sum_all(mul(y, y)), {x[0], x[1], x[2]});
    out.push_back(y);
    return out;
  };
  const auto out = evaluate({f32(shape, q), f32(shape, k), f32(shape, v), mask, key}, build);
  const Tensor all_real = i32({2, t}, Ints(10, 1));
  const auto unmasked =
      evaluate({f32(shape, q), f32(shape, k), f32(shape, v), all_real, key}, build);
  for (size_t i = 0; i < out.size(); ++i) {
    for (const float x : out[i].as<float>()) EXPECT_TRUE(std::isfinite(x)) << i;
    // Softmax does not see a constant; adding it costs some bits of the scores.
    for (size_t e = 0; e < static_cast<size_t>(t * h); ++e) {
      EXPECT_NEAR(out[i].as<float>()[e], unmasked[i].as<float>()[e], 5e-3) << i;
    }
  }
  // In the second sequence padding gets nothing: neither weight nor gradient.
  for (size_t e = static_cast<size_t>((t + 2) * h); e < static_cast<size_t>(2 * t * h); ++e) {
    EXPECT_EQ(out[1].as<float>()[e], 0);
    EXPECT_EQ(out[2].as<float>()[e], 0);
  }
}

// Nor do they where all that they may see is padding; kernel and definition agree.
TEST(Attention, CausalRowsSeeNoLaterKey) {
  const int64_t t = 6, h = 4;
  const Floats q = random_floats(t * h, 1), k = random_floats(t * h, 2);
  const Floats v = random_floats(t * h, 3);
  Floats later_k = k, later_v = v;
  for (size_t i = 3 * h; i < v.size(); ++i) later_k[i] += 1, later_v[i] -= 1;
  for (const Ints& mask : {Ints{1, 1, 1, 1, 1, 1}, Ints{0, 0, 0, 1, 1, 1}}) {
    const auto run = [&](const Floats& keys, const Floats& v_values) {
      return evaluate1({f32({1, t, h}, q), f32({1, t, h}, keys), f32({1, t, h}, v_values),
                        i32({1, t}, mask), u32({2}, {0, 0})},
                       [&](const auto& x) {
                         return attention(x[0], x[1], x[2], x[3], x[4],
                                          {.num_heads = 2, .causal = true});
                       });
    };
    const Tensor before = run(k, v), after = run(later_k, later_v);
    for (size_t i = 0; i < h; ++i) EXPECT_EQ(before.as<float>()[i], v[i]);
    for (size_t i = 0; i < 3 * h; ++i) EXPECT_EQ(before.as<float>()[i], after.as<float>()[i]);
  }
}

TEST(Attention, CausalRowsOfThePrimitivesSeeNoLaterKey) {
  const int64_t t = 3, h = 2;
  Graph graph, primitives;
  const Type type{DType::kF32, {1, t, h}};
  const Value q = graph.input("q", type), k = graph.input("k", type), v = graph.input("v", type),
              mask = graph.input("mask", {DType::kI32, {1, t}}),
              key = graph.input("key", {DType::kU32, {2}});
  graph.output("y", attention(q, k, v, mask, key, {.causal = true}));
  decompose(graph, primitives);
  const Floats x = random_floats(t * h, 1);
  const Tensor all = f32({1, t, h}, x);
  const Tensor y =
      run_graph(primitives, {all, all, all, i32({1, t}, {0, 1, 1}), u32({2}, {0, 0})})[0];
  EXPECT_EQ(y.as<float>()[0], x[0]);
  EXPECT_EQ(y.as<float>()[1], x[1]);
}

struct VocabCase {
  int64_t m = 5, e = 3, v = 11;
  Floats h = random_floats(5 * 3, 1), weight = random_floats(11 * 3, 2),
         bias = random_floats(11, 3);
  Ints targets = {0, 10, 3, 3, 7};
  Key key{3, 4};

  double logit(int64_t row, int64_t id) const {
    double sum = bias[static_cast<size_t>(id)];
    for (int64_t i = 0; i < e; ++i) {
      sum += double{h[static_cast<size_t>(row * e + i)]} *
             double{weight[static_cast<size_t>(id * e + i)]};
    }
    return sum;
  }
  std::vector<Tensor> run(const VocabCrossEntropyOptions& options) const {
    return evaluate({f32({m, e}, h), f32({v, e}, weight), f32({v}, bias), i32({m}, targets),
                     u32({2}, {key.k0, key.k1})},
                    [&](const auto& x) -> std::vector<Value> {
                      const auto y = vocab_cross_entropy(x[0], x[1], x[2], x[3], x[4], options);
                      return {y.loss, y.prediction, y.sample};
                    });
  }
};

int32_t arg_max(int64_t n, const std::function<double(int64_t)>& score) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (score(i) > score(best)) best = i;
  }
  return static_cast<int32_t>(best);
}

TEST(VocabCrossEntropy, IsThePlainDefinition) {
  const VocabCase c;
  for (const double temperature : {1.0, 0.5, 3.0}) {
    for (const bool disallow : {false, true}) {
      const auto out =
          c.run({.temperature = temperature, .disallow_correct = disallow, .site = 77});
      const Key site = c.key.fold_in(77u);
      for (int64_t m = 0; m < c.m; ++m) {
        const auto row = static_cast<size_t>(m);
        double sum = 0;
        for (int64_t id = 0; id < c.v; ++id) sum += std::exp(c.logit(m, id));
        EXPECT_NEAR(out[0].as<float>()[row], std::log(sum) - c.logit(m, c.targets[row]), 2e-6);
        EXPECT_EQ(out[1].as<int32_t>()[row],
                  arg_max(c.v, [&](int64_t id) { return c.logit(m, id); }));
        EXPECT_EQ(out[2].as<int32_t>()[row], arg_max(c.v, [&](int64_t id) {
                    const double u = double{site.uniform(static_cast<uint64_t>(m * c.v + id))};
                    const double gumbel = -std::log(-std::log(u + 1e-9) + 1e-9);
                    const double barred = disallow && id == c.targets[row] ? 1000 : 0;
                    return (c.logit(m, id) - barred) / temperature + gumbel;
                  }));
      }
    }
  }
}

TEST(VocabCrossEntropy, EqualLogitsGiveTheLowestId) {
  VocabCase c;
  c.h.assign(c.h.size(), 0);
  c.bias = {0, 2, 1, 2, 2, 0, 0, 0, 0, 0, 0};
  const auto out = c.run({.sample = false});
  EXPECT_EQ(values<int32_t>(out[1]), Ints(5, 1));
  EXPECT_EQ(values<int32_t>(out[2]), Ints(5, 1));
}

// An id that is not in the vocabulary costs the whole log-sum-exp: no memory is read for it.
TEST(VocabCrossEntropy, ATargetOutsideTheVocabularyHasLogitZero) {
  VocabCase c;
  c.targets = {-1, 11, kMin, kMax, 2};
  const auto out = c.run({});
  for (size_t m = 0; m < 5; ++m) {
    double sum = 0;
    for (int64_t id = 0; id < c.v; ++id) sum += std::exp(c.logit(static_cast<int64_t>(m), id));
    const double target = m == 4 ? c.logit(4, 2) : 0;
    EXPECT_NEAR(out[0].as<float>()[m], std::log(sum) - target, 2e-6);
  }
}

TEST(VocabCrossEntropy, IsFiniteForLargeLogits) {
  VocabCase c;
  for (float& x : c.bias) x *= 1000;
  const Tensor losses = c.run({})[0];
  for (const float loss : losses.as<float>()) {
    EXPECT_TRUE(std::isfinite(loss));
    EXPECT_GE(loss, -1e-3);
  }
}

TEST(SigmoidCrossEntropy, IsFiniteForLargeLogits) {
  const Tensor y = evaluate1({f32({4}, {1000, 1000, -1000, -1000}), f32({4}, {1, 0, 1, 0})},
                             [](const auto& x) { return sigmoid_cross_entropy(x[0], x[1]); });
  EXPECT_EQ(values<float>(y), (Floats{0, 1000, 1000, 0}));
}

TEST(AdamUpdate, IsAPlainLoop) {
  const int64_t n = 1003;
  const Floats w = random_floats(n, 1), m = random_floats(n, 2, -0.1f, 0.1f),
               v = random_floats(n, 3, 0, 0.01f), g = random_floats(n, 4);
  const AdamOptions options{.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6, .weight_decay = 0.01};
  const float scale = 0.5f, rate = 1e-3f;
  const auto out = evaluate(
      {f32({n}, w), f32({n}, m), f32({n}, v), f32({n}, g), f32({}, {scale}), f32({}, {rate})},
      [&](const auto& x) -> std::vector<Value> {
        const AdamUpdate y = adam_update(x[0], x[1], x[2], x[3], x[4], x[5], options);
        return {y.weight, y.m, y.v};
      });
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const double gradient = double{g[i]} * scale;
    const double new_m = 0.9 * m[i] + (1 - 0.9) * gradient;
    const double new_v = 0.999 * v[i] + (1 - 0.999) * gradient * gradient;
    const double update = new_m / (std::sqrt(new_v) + 1e-6) + 0.01 * w[i];
    EXPECT_NEAR(out[0].as<float>()[i], w[i] - rate * update, 3e-7 * (1 + std::fabs(w[i])));
    EXPECT_NEAR(out[1].as<float>()[i], new_m, 1e-7);
    EXPECT_NEAR(out[2].as<float>()[i], new_v, 1e-9);
  }
}

TEST(AdamUpdate, OfZerosIsZeroWithoutADivisionByZero) {
  const Tensor zero = f32({3}, {0, 0, 0}), one = f32({}, {1});
  const auto out =
      evaluate({zero, zero, zero, zero, one, one}, [](const auto& x) -> std::vector<Value> {
        const AdamUpdate y = adam_update(x[0], x[1], x[2], x[3], x[4], x[5], {});
        return {y.weight, y.m, y.v};
      });
  for (const Tensor& tensor : out) EXPECT_EQ(values<float>(tensor), Floats(3, 0.0f));
}

TEST(GlobalNorm, OfHugeAndTinyValues) {
  const auto norm_of = [](const Floats& a, const Floats& b) {
    return evaluate1(
               {f32({static_cast<int64_t>(a.size())}, a), f32({static_cast<int64_t>(b.size())}, b)},
               [](const auto& x) {
                 return global_norm({x[0], x[1]});
               })
        .as<float>()[0];
  };
  EXPECT_EQ(norm_of({3, 0}, {4}), 5);
  EXPECT_EQ(norm_of({}, {}), 0);
  EXPECT_FLOAT_EQ(norm_of({3e30f, 0}, {4e30f}), 5e30f);  // squares beyond f32
  EXPECT_FLOAT_EQ(norm_of({3e-30f, 0}, {4e-30f}), 5e-30f);
  EXPECT_FLOAT_EQ(norm_of(Floats(100000, 1e-3f), {1e4f}), 10000.000005f);
  EXPECT_TRUE(std::isnan(norm_of({kNaN}, {1})));
  EXPECT_EQ(norm_of({kInf}, {1}), kInf);
}

TEST(LayerNorm, OfEqualValuesIsBeta) {
  const Tensor y =
      evaluate1({f32({1, 4}, Floats(4, 7.5f)), f32({4}, {1, 2, 3, 4}), f32({4}, {4, 3, 2, 1})},
                [](const auto& x) { return layer_norm(x[0], x[1], x[2], 1e-12); });
  EXPECT_EQ(values<float>(y), (Floats{4, 3, 2, 1}));
}

TEST(Gradient, StopsWhereItIsTold) {
  const auto out = evaluate({f32({2}, {3, 5})}, [](const auto& x) -> std::vector<Value> {
    return gradients(sum_all(mul(x[0], stop_gradient(x[0]))), {x[0]});
  });
  EXPECT_EQ(values<float>(out[0]), (Floats{3, 5}));
}

TEST(Gradient, SumsOverAllUsesAndIsZeroWithoutAny) {
  const auto out = evaluate({f32({2}, {3, 5}), f32({2}, {1, 1})}, [](const auto& x) {
    const Value y = add(mul(x[0], x[0]), add(x[0], exp(x[0])));
    return gradients(sum_all(y), {x[0], x[1]});
  });
  EXPECT_FLOAT_EQ(out[0].as<float>()[0], 2 * 3 + 1 + std::exp(3.0f));
  EXPECT_EQ(values<float>(out[1]), (Floats{0, 0}));
}

TEST(Gradient, OfAnIntermediateValueIsNotThatOfWhatLiesBehindIt) {
  const auto out = evaluate({f32({1}, {2})}, [](const auto& x) -> std::vector<Value> {
    const Value y = mul(x[0], x[0]);
    return gradients(sum_all(mul(y, y)), {y, x[0]});
  });
  EXPECT_EQ(values<float>(out[0]), (Floats{8}));
  EXPECT_EQ(values<float>(out[1]), (Floats{0}));  // `y` is not entered
}

TEST(Gradient, RefusesWhatHasNone) {
  Graph graph;
  graph.set_scope("head");
  const Value x = graph.input("x", {DType::kF32, {2, 3}});
  EXPECT_THROW(gradients(x, {x}), GraphError);  // no scalar
  // An index carries no gradient: zeros, not an error.
  const Value index = convert(argmax(x, 1), DType::kF32);
  EXPECT_NO_THROW(gradients(sum_all(index), {x}));
  EXPECT_EQ(graph.scope(), "head");
}

}  // namespace
}  // namespace headwater
