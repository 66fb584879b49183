// Random graphs of elementwise, view, reducing and several-output operators with state, and their
// evaluation by the book, for tests of the memory plan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "graph/graph.h"

namespace headwater {

// Values of one run, by name.
using Tensors = std::map<std::string, Tensor>;

// Fills an empty graph: a few feeds and states, `size` calls of operators, outputs and updates of
// any values, states and feeds among them. The same seed gives the same graph.
void build_random_graph(uint64_t seed, int64_t size, Graph& graph);

// A value for every input of the graph.
Tensors random_tensors(const Graph& graph, uint64_t seed);

struct Evaluation {
  Tensors outputs;
  Tensors states;  // after the updates
};

// Runs the graph with the operators' own kernels, but every value has a tensor of its own, views
// are copies and updates are made at the end: nothing can alias.
Evaluation evaluate_by_the_book(const Graph& graph, const Tensors& feeds, const Tensors& states);

}  // namespace headwater
