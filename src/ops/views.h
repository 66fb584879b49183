// What operators that only rename bytes share: the kernel for an executor that could not alias the
// buffers.
#pragma once

#include "graph/op.h"

namespace headwater {

void copy_first_operand(const KernelContext& c);

}  // namespace headwater
