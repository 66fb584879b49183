// The native executor: kernels of the operators on this machine's cores.
#pragma once

#include <memory>

#include "executors/executor.h"

namespace headwater {

std::unique_ptr<Executor> make_cpu_executor();

}  // namespace headwater
