#include "executors/executor.h"

#include "executors/cpu/cpu_executor.h"
#include "executors/pjrt/pjrt_executor.h"

namespace headwater {

Result<std::unique_ptr<Executor>> Executor::open(std::string_view device,
                                                 const ExecutorOptions& options) {
  if (options.num_replicas < 0) {
    return fail(Code::kInvalidArgument, "{} replicas: at least one is needed",
                options.num_replicas);
  }
  if (device != "cpu") return make_pjrt_executor(device, options);
  if (options.num_replicas > 1 || options.mixed_bf16) {
    return fail_hint(Code::kInvalidArgument, "use an XLA device: tpu, cuda, pjrt:cpu",
                     "the native executor (cpu) runs one replica, in float32");
  }
  return make_cpu_executor();
}

}  // namespace headwater
