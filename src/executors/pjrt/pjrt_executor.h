// The executor on XLA devices: a graph becomes StableHLO text, compiled and run by a PJRT plugin.
//
// State lives on the devices, one copy a replica, and is donated to the programs that update it.
// Inputs are transferred when they are fed; a run only starts the program, and the run after it
// waits for it to end. Outputs stay on the devices until they are fetched. What differs between the
// replicas is what each is fed; a program makes their states equal by all_reduce.
#pragma once

#include <memory>
#include <string_view>

#include "executors/executor.h"

namespace headwater {

// "tpu", "cuda", "pjrt:cpu", "pjrt:PATH".
Result<std::unique_ptr<Executor>> make_pjrt_executor(std::string_view device,
                                                     const ExecutorOptions& options);

}  // namespace headwater
