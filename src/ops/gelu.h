// The forms of GELU, shared by the operators that apply it. Attribute "form": "erf" or "tanh".
#pragma once

#include "graph/op.h"
#include "kernels/activation.h"
#include "ops/ops.h"

namespace headwater {

// Throws GraphError when the attribute is neither.
kernels::GeluForm gelu_form(const Attrs& attrs);
AttrValue gelu_form_attr(GeluForm form);

// What x is multiplied by, and the slope of that, in primitives.
struct GeluFactor {
  Value factor, slope;
};
GeluFactor gelu_factor(Value x, kernels::GeluForm form);

}  // namespace headwater
