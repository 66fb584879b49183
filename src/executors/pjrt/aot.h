// Compiling for TPUs that are not there: the compiler of libtpu needs no hardware, and says what a
// program would need of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executors/pjrt/client.h"

namespace headwater::pjrt {

// An accelerator type as Google Cloud names it, and what libtpu calls it.
struct TpuType {
  const char* cloud_name;   // "v3-8"
  const char* topology;     // "v3:2x2"
  const char* chip_config;  // an option of the topology; empty: its default
  int64_t num_devices;
  int64_t memory_bytes;  // that a program may use on one device
};
std::span<const TpuType> tpu_types();
// kInvalidArgument with the names that are known. "v5litepod-8" is "v5e-8".
Result<TpuType> find_tpu_type(std::string_view cloud_name);

class Topology {
 public:
  static Result<Topology> create(const Plugin& plugin, const TpuType& type);
  int64_t num_devices() const { return static_cast<int64_t>(kinds_.size()); }
  const std::string& device_kind() const { return kinds_[0]; }  // of the first; all are alike
  // Compiles StableHLO text. kResourceExhausted where it does not fit into a device's memory.
  Result<Executable> compile(std::string_view text, const CompileOptions& options) const;

 private:
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<abi::Topology> topology_;
  std::vector<std::string> kinds_;
};

// What the compiler says about a program.
struct AotFigures {
  MemoryStats memory;
  std::optional<double> seconds;  // of one run: an estimate; none where the compiler has none
  std::optional<double> flops;    // of one run on one device; a loop's body counts once
  int64_t serialized_bytes = 0;
};
Result<AotFigures> aot_figures(const Executable& executable);

}  // namespace headwater::pjrt
