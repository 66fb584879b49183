// What a plugin is told about a compilation, in the bytes that it reads (XLA's
// CompileOptionsProto).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace headwater::pjrt {

struct CompileOptions {
  int64_t num_replicas = 1;
  std::vector<int64_t> device_ids;  // of the replicas; empty: the plugin's choice
  // XLA's own options by name ("xla_..."): "true" and "false" are sent as bool, the rest as text,
  // which plugins read as any type.
  std::map<std::string, std::string> overrides;

  // kInvalidArgument for what would make a plugin end the process.
  Result<std::string> encode() const;
};

}  // namespace headwater::pjrt
