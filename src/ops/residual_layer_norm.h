// What the residual layer norm and its gradient share.
#pragma once

#include "graph/op.h"

namespace headwater {

// Attributes eps, rate, site.
void check_residual_attributes(const InferContext& c);

}  // namespace headwater
