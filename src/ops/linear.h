// What the operators of a fully connected layer share. Attribute "weight_in_out": whether the
// weight is [K, N] (WeightLayout::kInOut).
#pragma once

#include "graph/op.h"
#include "kernels/linear.h"
#include "ops/ops.h"

namespace headwater {

// Checks operands x, weight, bias and the attribute; the type of x weight^T + bias.
Type infer_linear(const InferContext& c);
// Gradients of x, weight and bias where they are wanted, from that of x weight^T + bias.
std::vector<Value> linear_gradients(const VjpContext& c, Value dy);
kernels::LinearShape linear_shape(const Type& x, const Type& y, const Attrs& attrs);
int64_t linear_workspace(const Node& node, std::span<const Type* const> types);
Cost linear_cost(const Node& node, std::span<const Type* const> types);
// Calls in both layouts, without further attributes.
std::vector<Sample> linear_samples();

inline bool is_in_out(WeightLayout layout) { return layout == WeightLayout::kInOut; }

}  // namespace headwater
