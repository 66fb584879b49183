#include "executors/pjrt/compile_options.h"

#include "executors/compile_options.pb.h"

namespace headwater::pjrt {

Result<std::string> CompileOptions::encode() const {
  if (num_replicas < 1 || num_replicas > (1 << 20)) {
    return fail(Code::kInvalidArgument, "{} replicas", num_replicas);
  }
  if (!device_ids.empty() && static_cast<int64_t>(device_ids.size()) != num_replicas) {
    return fail(Code::kInvalidArgument, "{} devices for {} replicas", device_ids.size(),
                num_replicas);
  }
  proto::CompileOptions options;
  proto::ExecutableBuildOptions& build = *options.mutable_executable_build_options();
  build.set_num_replicas(num_replicas);
  build.set_num_partitions(1);
  if (!device_ids.empty()) {
    proto::DeviceAssignment& assignment = *build.mutable_device_assignment();
    assignment.set_replica_count(static_cast<int32_t>(num_replicas));
    assignment.set_computation_count(1);
    auto& ids = *assignment.add_computation_devices()->mutable_replica_device_ids();
    ids.Assign(device_ids.begin(), device_ids.end());
  }
  for (const auto& [name, value] : overrides) {
    auto& entry = *options.add_env_option_overrides();
    entry.set_key(name);
    proto::OptionOverride& field = *entry.mutable_value();
    if (value == "true" || value == "false") field.set_bool_field(value == "true");
    else field.set_string_field(value);
  }
  return options.SerializeAsString();
}

}  // namespace headwater::pjrt
