#include "executors/executor.h"

#include "executors/cpu/cpu_executor.h"

namespace headwater {

Result<std::unique_ptr<Executor>> Executor::open(std::string_view device) {
  if (device == "cpu") return make_cpu_executor();
  return fail_hint(Code::kInvalidArgument, "this build has: cpu", "unknown device '{}'", device);
}

}  // namespace headwater
