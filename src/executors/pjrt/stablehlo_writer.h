// A graph as the text of a StableHLO program, which every PJRT plugin compiles. Only operations and
// syntax that version 1.13 of StableHLO knows are written, as text carries no version.
//
// The arguments of @main are graph.inputs() in their order, state and feeds alike. Its results are
// the new values of graph.updates() in their order, each tied to the buffer of the argument that it
// replaces (tf.aliasing_output), then graph.outputs(). Types: f32, i32, u32 as ui32, pred as i1.
// The same graph gives the same text.
#pragma once

#include <string>

#include "graph/graph.h"
#include "graph/stablehlo_context.h"

namespace headwater {

// Throws GraphError: an operator that has no StableHLO form, a decomposition that is too large, a
// number of replicas outside [1, 65536].
std::string stablehlo_text(const Graph& graph, const StableHloOptions& options = {});

}  // namespace headwater
