// Calls that do not fit: each sample is changed a little, and the operator either refuses it with
// its name and operand types, or takes it and then also runs it. Nothing may crash.
#include <gtest/gtest.h>

#include <limits>

#include "ops/battery.h"
#include "ops/registry.h"

namespace headwater {
namespace {

// Operators of any number of operands.
const std::set<std::string_view> kVariadic = {"barrier", "concat", "global_norm"};
// Operators whose operand may have any type, or nearly any.
const std::set<std::string_view> kAnyOperand = {"all_reduce", "barrier", "convert", "keep",
                                                "stop_gradient"};

class Rejection : public testing::TestWithParam<const Op*> {};

INSTANTIATE_TEST_SUITE_P(Battery, Rejection, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& tested) { return std::string(tested.param->name); });

bool is_accepted(const Call& call) {
  try {
    forward_graph(call);
    return true;
  } catch (const GraphError& e) {
    const std::string expected = call.text().substr(0, call.text().find(" {"));
    EXPECT_TRUE(std::string_view(e.what()).starts_with(expected + ": ")) << e.what();
    return false;
  }
}

int64_t bytes_of(const Graph& graph) {
  int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.outputs) bytes += type.byte_size();
  }
  return bytes;
}

// What is accepted must run, as it is and in primitives. Returns whether it is.
bool check_mutant(const Call& call) {
  SCOPED_TRACE(call.text());
  if (!is_accepted(call)) return false;
  const std::unique_ptr<Graph> graph = forward_graph(call);
  if (bytes_of(*graph) > 1 << 20) return true;
  Graph primitives;
  try {
    decompose(*graph, primitives);
  } catch (const GraphError& e) {
    ADD_FAILURE() << "accepted, but its decomposition is not: " << e.what();
    return true;
  }
  std::vector<Tensor> zeros;
  for (const GraphInput& input : graph->inputs()) {
    zeros.emplace_back(input.value.dtype(), input.value.shape());
  }
  run_graph(*graph, zeros);
  run_graph(primitives, zeros);
  return true;
}

TEST_P(Rejection, WrongNumberOfOperands) {
  if (kVariadic.contains(GetParam()->name)) GTEST_SKIP() << "takes any number of operands";
  for (const Call& call : calls_of(*GetParam())) {
    for (size_t i = 0; i < call.sample.inputs.size(); ++i) {
      Call fewer = call;
      fewer.sample.inputs.erase(fewer.sample.inputs.begin() + static_cast<int64_t>(i));
      EXPECT_FALSE(is_accepted(fewer)) << fewer.text();
    }
    Call more = call;
    more.sample.inputs.push_back({DType::kF32, {2}});
    EXPECT_FALSE(is_accepted(more)) << more.text();
  }
}

std::vector<Type> neighbours(const Type& type) {
  std::vector<Type> all;
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kPred}) {
    if (dtype != type.dtype) all.push_back({dtype, type.shape});
  }
  const auto with_shape = [&](auto change) {
    Type changed = type;
    change(changed.shape);
    all.push_back(changed);
  };
  with_shape([](Shape& s) { s.push_back(1); });
  with_shape([](Shape& s) { s.push_back(3); });
  with_shape([](Shape& s) { s.insert(s.begin(), 2); });
  if (type.shape.empty()) return all;
  with_shape([](Shape& s) { s.pop_back(); });
  with_shape([](Shape& s) { s.erase(s.begin()); });
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    for (const int64_t change : {1, -1, 7}) {
      if (type.shape[axis] + change >= 0) with_shape([&](Shape& s) { s[axis] += change; });
    }
    with_shape([&](Shape& s) { s[axis] = 0; });
  }
  return all;
}

TEST_P(Rejection, OtherOperandTypes) {
  for (const Call& call : calls_of(*GetParam())) {
    for (size_t i = 0; i < call.sample.inputs.size(); ++i) {
      int64_t refused = 0;
      for (const Type& type : neighbours(call.sample.inputs[i])) {
        Call mutant = call;
        mutant.sample.inputs[i] = type;
        refused += check_mutant(mutant) ? 0 : 1;
      }
      if (!kAnyOperand.contains(GetParam()->name)) {
        EXPECT_GE(refused, 3) << "operand " << i << " of " << call.text();
      }
    }
  }
}

std::vector<AttrValue> neighbours(const AttrValue& value) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (std::holds_alternative<bool>(value)) return {!std::get<bool>(value)};
  if (const auto* i = std::get_if<int64_t>(&value)) {
    return {*i + 1, *i - 1, int64_t{-1}, int64_t{1} << 33, kMost, -kMost};
  }
  if (std::holds_alternative<double>(value)) {
    return {-1.0,
            0.0,
            1.0,
            1e300,
            std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::quiet_NaN()};
  }
  if (std::holds_alternative<std::string>(value)) {
    return {std::string(), std::string("f16"), std::string("pred"), std::string("i32")};
  }
  std::vector<AttrValue> all;
  const auto& list = std::get<std::vector<int64_t>>(value);
  const auto with = [&](auto change) {
    std::vector<int64_t> changed = list;
    change(changed);
    all.emplace_back(changed);
  };
  with([](auto& v) { v.clear(); });
  with([](auto& v) { v.push_back(1); });
  for (size_t i = 0; i < list.size(); ++i) {
    for (const int64_t other :
         {int64_t{-1}, int64_t{0}, list[i] + 1, int64_t{1} << 33, kMost, -kMost}) {
      with([&](auto& v) { v[i] = other; });
    }
  }
  return all;
}

TEST_P(Rejection, OtherAttributes) {
  for (const Call& call : calls_of(*GetParam())) {
    for (const auto& [name, value] : call.sample.attrs.all()) {
      for (const AttrValue& other : neighbours(value)) {
        Call mutant = call;
        mutant.sample.attrs.set(name, other);
        check_mutant(mutant);
      }
    }
  }
}

TEST_P(Rejection, MissingAttributesAndAttributesOfAnotherKind) {
  for (const Call& call : calls_of(*GetParam())) {
    for (const auto& [name, value] : call.sample.attrs.all()) {
      Call without = call;
      without.sample.attrs = {};
      for (const auto& [other, kept] : call.sample.attrs.all()) {
        if (other != name) without.sample.attrs.set(other, kept);
      }
      EXPECT_FALSE(is_accepted(without)) << without.text();
      Call of_another_kind = call;
      if (std::holds_alternative<bool>(value)) {
        of_another_kind.sample.attrs.set(name, std::string("true"));
      } else {
        of_another_kind.sample.attrs.set(name, true);
      }
      EXPECT_FALSE(is_accepted(of_another_kind)) << of_another_kind.text();
    }
  }
}

}  // namespace
}  // namespace headwater
