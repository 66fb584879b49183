// The generated battery: graphs and operands made from an operator's samples(), for the properties
// that every operator must have (battery_test.cc, rejection_test.cc). Nothing here knows any
// operator but by its record.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/op.h"
#include "ops/run_graph.h"

namespace headwater {

// A sample of an operator. Operators without samples of their own take the calls that the gradients
// of other operators make.
struct Call {
  const Op* op = nullptr;
  Sample sample;
  bool is_own = true;
  std::string text() const;  // op(types) {attributes}
};

// All calls of the operator.
std::vector<Call> calls_of(const Op& op);
// The same call with every extent multiplied: larger than a vector, a block and a thread's share.
// Keys (u32[2]) keep their size.
Call scaled(const Call& call, int64_t factor);
// Replaces an extent wherever it occurs, in operands and in attributes that hold shapes.
Call with_extent(const Call& call, int64_t from, int64_t to);

// A call as a graph: inputs "x0".. are fed, outputs "y0".. are the operator's. Throws GraphError
// when the operator refuses the call.
std::unique_ptr<Graph> forward_graph(const Call& call);

// The same with gradients: inputs "d<j>" for each output j that has a gradient, then outputs "g<i>"
// for each f32 operand i. `decomposed`: the gradient of the decomposition instead of the operator's
// own. Where an operator's later outputs are for its gradient only, they get no gradient.
struct GradientGraph {
  std::unique_ptr<Graph> graph;
  std::vector<size_t> differentiated_outputs;
  std::vector<size_t> differentiated_inputs;
};
GradientGraph gradient_graph(const Call& call, bool decomposed);

bool has_f32_operand(const Call& call);

// Values for all inputs of the graph. Integers in [0, index_bound), the first of each row the
// largest (so that a row of an attention mask has a real key); truth values; floats: a
// permutation of evenly spaced values in [low, high), so that maxima and comparisons stay what they
// are under small changes.
std::vector<Tensor> random_inputs(const Graph& graph, const Sample& sample, uint64_t seed);

// Integers and truth values are equal, floats are within `tolerance` of the tensor's largest
// magnitude (at least 1); NaN equals NaN.
testing::AssertionResult is_close(const Tensor& actual, const Tensor& expected, double tolerance);

// Operators of the nodes of a graph.
std::set<const Op*> operators_in(const Graph& graph);

}  // namespace headwater
