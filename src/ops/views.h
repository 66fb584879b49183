// What operators that only rename bytes share: the kernel for an executor that could not alias the
// buffers. Output i is operand i.
#pragma once

#include "graph/op.h"

namespace headwater {

void copy_operands(const KernelContext& c);

}  // namespace headwater
