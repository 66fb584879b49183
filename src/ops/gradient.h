// Reverse-mode differentiation: adds the gradient computation to the graph.
//
// The pass knows no operator: each record brings its gradient (vjp), or a decomposition that is
// differentiated instead. Contributions to one value are summed in the order in which its uses
// appear.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace headwater {

// Gradients of sum_i <outputs[i], output_grads[i]> with respect to `wrt`. What lies behind a `wrt`
// value is not entered. A value that the outputs do not depend on has zeros. Throws GraphError when
// an operator on the way has neither a gradient nor a decomposition.
std::vector<Value> pullback(const std::vector<Value>& outputs,
                            const std::vector<Value>& output_grads, const std::vector<Value>& wrt);

// For each value whether `output` is computed from it.
std::vector<bool> depends_on(Value output, const std::vector<Value>& values);

// d loss / d wrt for a scalar f32 loss.
std::vector<Value> gradients(Value loss, const std::vector<Value>& wrt);

}  // namespace headwater
