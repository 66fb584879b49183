#include "executors/pjrt/aot.h"

#include <vector>

namespace headwater::pjrt {
namespace {

// Devices and memory as libtpu 0.0.52 gives them. A v2 or v3 chip is two devices; the two cores of
// a v4 chip are used as one (megacore).
constexpr TpuType kTpuTypes[] = {
    {"v2-8", "v2:2x2", "", 8, 8034172928},    {"v3-8", "v3:2x2", "", 8, 16624107520},
    {"v3-32", "v3:4x4", "", 32, 16624091136}, {"v4-8", "v4:2x2x1", "megacore", 4, 33014413312},
    {"v5e-8", "v5e:2x4", "", 8, 16909332480}, {"v5p-8", "v5p:2x2x1", "", 4, 102786660352},
    {"v6e-8", "v6e:2x4", "", 8, 33546039296},
};

abi::NamedValue text_option(std::string_view name, std::string_view value) {
  abi::NamedValue option;
  option.name = name.data();
  option.name_size = name.size();
  option.type = abi::kString;
  option.string_value = value.data();
  option.value_size = value.size();
  return option;
}

}  // namespace

std::span<const TpuType> tpu_types() { return kTpuTypes; }

Result<TpuType> find_tpu_type(std::string_view cloud_name) {
  if (cloud_name == "v5litepod-8") cloud_name = "v5e-8";
  std::vector<std::string_view> names;
  for (const TpuType& type : kTpuTypes) {
    if (type.cloud_name == cloud_name) return type;
    names.emplace_back(type.cloud_name);
  }
  return fail_hint(Code::kInvalidArgument, fmt::format("known are {}", fmt::join(names, ", ")),
                   "unknown accelerator type '{}'", cloud_name);
}

Result<Topology> Topology::create(const Plugin& plugin, const TpuType& type) {
  const abi::NamedValue option = text_option("chip_config_name", type.chip_config);
  const std::string_view name = type.topology;
  abi::TopologyCreateArgs args;
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  if (!std::string_view(type.chip_config).empty()) {
    args.create_options = &option;
    args.num_options = 1;
  }
  HW_RETURN_IF_ERROR(plugin.call(&abi::Api::topology_create, args));
  Topology topology;
  topology.connection_ = std::make_shared<Connection>(plugin);
  topology.topology_ = {args.topology, [&plugin](abi::Topology* object) {
                          abi::TopologyDestroyArgs destroy;
                          destroy.topology = object;
                          static_cast<void>(plugin.call(&abi::Api::topology_destroy, destroy));
                        }};
  abi::TopologyGetDeviceDescriptionsArgs list;
  list.topology = args.topology;
  HW_RETURN_IF_ERROR(plugin.call(&abi::Api::topology_get_device_descriptions, list));
  for (size_t i = 0; i < list.num_descriptions; ++i) {
    HW_ASSIGN_OR_RETURN(std::string kind, pjrt::device_kind(plugin, list.descriptions[i]));
    topology.kinds_.push_back(std::move(kind));
  }
  if (topology.kinds_.empty()) return fail(Code::kInternal, "{} has no devices", type.topology);
  return topology;
}

Result<Executable> Topology::compile(std::string_view text, const CompileOptions& options) const {
  HW_ASSIGN_OR_RETURN(const std::string encoded, options.encode());
  const abi::Program program = mlir_program(text);
  abi::CompileArgs args;
  args.topology = topology_.get();
  args.program = &program;
  args.compile_options = encoded.data();
  args.compile_options_size = encoded.size();
  HW_RETURN_IF_ERROR(connection_->plugin->call(&abi::Api::compile, args));
  return Executable(Handle<abi::Executable>(connection_, args.executable));
}

Result<AotFigures> aot_figures(const Executable& executable) {
  AotFigures figures;
  HW_ASSIGN_OR_RETURN(figures.memory, executable.memory());
  // Zero or less: the program has a part that the cost model cannot price.
  const auto positive = [](std::optional<double> value) {
    return value && *value > 0 ? value : std::nullopt;
  };
  figures.seconds = positive(executable.cost("optimal_seconds"));
  figures.flops = positive(executable.cost("flops"));
  HW_ASSIGN_OR_RETURN(const std::string bytes, executable.serialize());
  figures.serialized_bytes = static_cast<int64_t>(bytes.size());
  return figures;
}

}  // namespace headwater::pjrt
