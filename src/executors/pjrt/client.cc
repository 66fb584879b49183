#include "executors/pjrt/client.h"

#include <algorithm>
#include <numeric>

namespace headwater::pjrt {
namespace {

struct ElementTypeOf {
  DType dtype;
  abi::ElementType element;
};
constexpr ElementTypeOf kElementTypes[] = {
    {DType::kF32, abi::kF32},   {DType::kI32, abi::kS32}, {DType::kU32, abi::kU32},
    {DType::kPred, abi::kPred}, {DType::kI64, abi::kS64}, {DType::kBF16, abi::kBF16},
    {DType::kF16, abi::kF16},   {DType::kF64, abi::kF64}, {DType::kU8, abi::kU8},
};

abi::ElementType element_of(DType dtype) {
  for (const ElementTypeOf& entry : kElementTypes) {
    if (entry.dtype == dtype) return entry.element;
  }
  return abi::kInvalid;
}

std::optional<DType> dtype_of(abi::ElementType element) {
  for (const ElementTypeOf& entry : kElementTypes) {
    if (entry.element == element) return entry.dtype;
  }
  return std::nullopt;
}

abi::NamedValue named(std::string_view name, int64_t value) {
  abi::NamedValue option;
  option.name = name.data();
  option.name_size = name.size();
  option.type = abi::kInt64;
  option.int64_value = value;
  return option;
}

// Destructors have nobody to tell.
template <class Args, class T>
void free_object(const Plugin& plugin, abi::Function<Args> abi::Api::*function, T* Args::*member,
                 T* object) {
  Args args;
  args.*member = object;
  static_cast<void>(plugin.call(function, args));
}

std::optional<int64_t> memory_limit(const Plugin& plugin, abi::Device* device) {
  abi::DeviceMemoryStatsArgs args;
  args.device = device;
  if (!plugin.call(&abi::Api::device_memory_stats, args) || !args.bytes_limit.is_set) return {};
  return args.bytes_limit.value;
}

}  // namespace

void destroy(const Connection& connection, abi::Buffer* buffer) {
  if (connection.abandoned) return;
  free_object(*connection.plugin, &abi::Api::buffer_destroy, &abi::BufferDestroyArgs::buffer,
              buffer);
}

void destroy(const Connection& connection, abi::Executable* executable) {
  if (connection.abandoned) return;
  free_object(*connection.plugin, &abi::Api::executable_destroy,
              &abi::ExecutableDestroyArgs::executable, executable);
}

void destroy(const Connection& connection, abi::LoadedExecutable* executable) {
  if (connection.abandoned) return;
  free_object(*connection.plugin, &abi::Api::loaded_executable_destroy,
              &abi::LoadedExecutableDestroyArgs::executable, executable);
}

Connection::~Connection() {
  if (client == nullptr || abandoned) return;
  free_object(*plugin, &abi::Api::client_destroy, &abi::ClientDestroyArgs::client, client);
}

Result<Tensor> DeviceBuffer::to_host(const Type& type) const {
  Tensor tensor(type.dtype, type.shape);
  std::vector<int64_t> minor_to_major(type.shape.size());
  std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
  abi::MemoryLayout layout;  // row-major, whatever the device's own is
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  abi::BufferToHostBufferArgs args;
  args.src = handle_.get();
  args.host_layout = &layout;
  args.dst = tensor.data();
  args.dst_size = static_cast<size_t>(tensor.byte_size());
  HW_RETURN_IF_ERROR(handle_.plugin().call(&abi::Api::buffer_to_host_buffer, args));
  HW_RETURN_IF_ERROR(handle_.plugin().await(args.event));
  return tensor;
}

Result<bool> DeviceBuffer::is_deleted() const {
  abi::BufferIsDeletedArgs args;
  args.buffer = handle_.get();
  HW_RETURN_IF_ERROR(handle_.plugin().call(&abi::Api::buffer_is_deleted, args));
  return args.is_deleted;
}

Result<std::vector<Type>> Executable::outputs() const {
  abi::ExecutableOutputElementTypesArgs types;
  types.executable = handle_.get();
  HW_RETURN_IF_ERROR(handle_.plugin().call(&abi::Api::executable_output_element_types, types));
  abi::ExecutableOutputDimensionsArgs dimensions;
  dimensions.executable = handle_.get();
  HW_RETURN_IF_ERROR(handle_.plugin().call(&abi::Api::executable_output_dimensions, dimensions));
  if (types.num_output_types != dimensions.num_outputs) {
    return fail(Code::kInternal, "the plugin gives {} types and {} shapes of outputs",
                types.num_output_types, dimensions.num_outputs);
  }
  std::vector<Type> outputs;
  const int64_t* next = dimensions.dims;
  for (size_t i = 0; i < dimensions.num_outputs; ++i) {
    const std::optional<DType> dtype = dtype_of(types.output_types[i]);
    if (!dtype) {
      return fail(Code::kUnimplemented, "output {} has the element type {} of the interface", i,
                  static_cast<int>(types.output_types[i]));
    }
    outputs.push_back({*dtype, Shape(next, next + dimensions.dim_sizes[i])});
    next += dimensions.dim_sizes[i];
  }
  return outputs;
}

Result<MemoryStats> Executable::memory() const {
  abi::ExecutableGetCompiledMemoryStatsArgs args;
  args.executable = handle_.get();
  HW_RETURN_IF_ERROR(handle_.plugin().call(&abi::Api::executable_get_compiled_memory_stats, args));
  return MemoryStats{.code = args.generated_code_size_in_bytes,
                     .arguments = args.argument_size_in_bytes,
                     .outputs = args.output_size_in_bytes,
                     .aliased = args.alias_size_in_bytes,
                     .temporary = args.temp_size_in_bytes,
                     .peak = args.peak_memory_in_bytes};
}

std::optional<double> Executable::cost(std::string_view name) const {
  abi::ExecutableGetCostAnalysisArgs args;
  args.executable = handle_.get();
  if (!handle_.plugin().call(&abi::Api::executable_get_cost_analysis, args)) return {};
  for (size_t i = 0; i < args.num_properties; ++i) {
    const abi::NamedValue& value = args.properties[i];
    if (std::string_view(value.name, value.name_size) != name) continue;
    if (value.type == abi::kFloat) return value.float_value;
    if (value.type == abi::kInt64) return static_cast<double>(value.int64_value);
  }
  return {};
}

Result<std::string> Executable::serialize() const {
  abi::ExecutableSerializeArgs args;
  args.executable = handle_.get();
  HW_RETURN_IF_ERROR(handle_.plugin().call(&abi::Api::executable_serialize, args));
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter != nullptr) {
    args.serialized_executable_deleter(args.serialized_executable);
  }
  return bytes;
}

// The plugin may call after everybody else has gone: what it needs lives until then.
struct Completion::Callback {
  std::shared_ptr<State> state;
  abi::Event* event;
  size_t replica;

  static void on_ready(abi::Error* error, void* self) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(self));
    State& state = *callback->state;
    const Plugin& plugin = *state.connection->plugin;
    Result<> result = plugin.take(error);
    free_object(plugin, &abi::Api::event_destroy, &abi::EventDestroyArgs::event, callback->event);
    const std::lock_guard lock(state.mutex);
    state.remaining -= 1;
    if (!result && !state.error) {
      state.error = std::move(result).error();
      state.error->where.insert(state.error->where.begin(),
                                fmt::format("replica {}", callback->replica));
    }
    state.changed.notify_all();
  }
};

Result<Completion> Completion::of(const std::shared_ptr<Connection>& connection,
                                  const std::vector<abi::Event*>& events) {
  Completion completion;
  completion.state_ = std::make_shared<State>();
  completion.state_->connection = connection;
  completion.state_->remaining = events.size();
  for (size_t i = 0; i < events.size(); ++i) {
    auto callback = std::make_unique<Callback>(Callback{completion.state_, events[i], i});
    abi::EventOnReadyArgs args;
    args.event = events[i];
    args.callback = &Callback::on_ready;
    args.user_arg = callback.get();
    HW_RETURN_IF_ERROR(connection->plugin->call(&abi::Api::event_on_ready, args));
    static_cast<void>(callback.release());  // the call back owns it
  }
  return completion;
}

Result<> Completion::wait() {
  if (state_ == nullptr) return {};
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->remaining == 0 || state_->error; });
  if (!state_->error) return {};
  if (state_->remaining > 0) state_->connection->abandoned = true;
  return tl::unexpected<Error>(*state_->error);
}

Result<LoadedExecutable> LoadedExecutable::make(Handle<abi::LoadedExecutable> handle) {
  abi::LoadedExecutableGetExecutableArgs args;
  args.loaded_executable = handle.get();
  HW_RETURN_IF_ERROR(handle.plugin().call(&abi::Api::loaded_executable_get_executable, args));
  Executable executable(Handle<abi::Executable>(handle.connection(), args.executable));
  LoadedExecutable loaded(std::move(handle), std::move(executable));
  HW_ASSIGN_OR_RETURN(loaded.outputs_, loaded.executable_.outputs());
  return loaded;
}

Result<LoadedExecutable::Run> LoadedExecutable::run(
    const std::vector<std::vector<abi::Buffer*>>& arguments) const {
  const size_t num_replicas = arguments.size();
  std::vector<std::vector<abi::Buffer*>> outputs(num_replicas,
                                                 std::vector<abi::Buffer*>(outputs_.size()));
  std::vector<abi::Buffer* const*> argument_lists;
  std::vector<abi::Buffer**> output_lists;
  for (const auto& list : arguments) argument_lists.push_back(list.data());
  for (auto& list : outputs) output_lists.push_back(list.data());
  std::vector<abi::Event*> events(num_replicas);
  abi::ExecuteOptions options;
  abi::LoadedExecutableExecuteArgs args;
  args.executable = handle_.get();
  args.options = &options;
  args.argument_lists = argument_lists.data();
  args.num_devices = num_replicas;
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = output_lists.data();
  args.device_complete_events = events.data();
  HW_RETURN_IF_ERROR(handle_.plugin().call(&abi::Api::loaded_executable_execute, args));
  Run run;
  for (const auto& list : outputs) {
    std::vector<DeviceBuffer>& buffers = run.outputs.emplace_back();
    for (abi::Buffer* const buffer : list) {
      buffers.emplace_back(Handle<abi::Buffer>(handle_.connection(), buffer));
    }
  }
  HW_ASSIGN_OR_RETURN(run.done, Completion::of(handle_.connection(), events));
  return run;
}

Result<Client> Client::create(const Plugin& plugin, int64_t num_devices) {
  HW_ASSIGN_OR_RETURN(Client client, connect(plugin, std::nullopt));
  if (client.platform_ == "cpu" && static_cast<int64_t>(client.devices_.size()) != num_devices) {
    client = Client();
    HW_ASSIGN_OR_RETURN(client, connect(plugin, num_devices));
  }
  if (static_cast<int64_t>(client.devices_.size()) < num_devices) {
    return fail(Code::kInvalidArgument, "{} replicas were asked for; {} drives {} {} devices here",
                num_devices, plugin.path(), client.devices_.size(), client.platform_);
  }
  return client;
}

Result<Client> Client::connect(const Plugin& plugin, std::optional<int64_t> cpu_devices) {
  Client client;
  client.connection_ = std::make_shared<Connection>(plugin);
  abi::ClientCreateArgs args;
  const abi::NamedValue option = named("cpu_device_count", cpu_devices.value_or(0));
  if (cpu_devices) {
    args.create_options = &option;
    args.num_options = 1;
  }
  HW_RETURN_IF_ERROR(plugin.call(&abi::Api::client_create, args));
  client.connection_->client = args.client;
  HW_RETURN_IF_ERROR(client.describe());
  return client;
}

Result<> Client::describe() {
  abi::ClientPlatformNameArgs name;
  name.client = connection_->client;
  HW_RETURN_IF_ERROR(plugin().call(&abi::Api::client_platform_name, name));
  platform_ = std::string(name.platform_name, name.platform_name_size);
  abi::ClientPlatformVersionArgs version;
  version.client = connection_->client;
  HW_RETURN_IF_ERROR(plugin().call(&abi::Api::client_platform_version, version));
  platform_version_ = std::string(version.platform_version, version.platform_version_size);
  abi::ClientAddressableDevicesArgs list;
  list.client = connection_->client;
  HW_RETURN_IF_ERROR(plugin().call(&abi::Api::client_addressable_devices, list));
  for (size_t i = 0; i < list.num_addressable_devices; ++i) {
    DeviceInfo& info = devices_.emplace_back();
    info.device = list.addressable_devices[i];
    abi::DeviceGetDescriptionArgs description;
    description.device = info.device;
    HW_RETURN_IF_ERROR(plugin().call(&abi::Api::device_get_description, description));
    abi::DeviceDescriptionIdArgs id;
    id.device_description = description.device_description;
    HW_RETURN_IF_ERROR(plugin().call(&abi::Api::device_description_id, id));
    info.id = id.id;
    HW_ASSIGN_OR_RETURN(info.kind, device_kind(plugin(), description.device_description));
    info.memory_limit = memory_limit(plugin(), info.device);
  }
  return {};
}

CompileOptions Client::options(int64_t num_replicas) const {
  CompileOptions options;
  options.num_replicas = num_replicas;
  for (const DeviceInfo& device : devices_) {
    if (static_cast<int64_t>(options.device_ids.size()) < num_replicas) {
      options.device_ids.push_back(device.id);
    }
  }
  return options;
}

Result<DeviceBuffer> Client::put(const Type& type, const uint8_t* data, size_t device) const {
  static constexpr uint8_t kNothing = 0;  // a tensor without elements has no memory
  abi::ClientBufferFromHostBufferArgs args;
  args.client = connection_->client;
  args.data = data != nullptr ? data : &kNothing;
  args.type = element_of(type.dtype);
  args.dims = type.shape.data();
  args.num_dims = type.shape.size();
  args.device = devices_[device].device;
  HW_RETURN_IF_ERROR(plugin().call(&abi::Api::client_buffer_from_host_buffer, args));
  DeviceBuffer buffer(Handle<abi::Buffer>(connection_, args.buffer));
  HW_RETURN_IF_ERROR(plugin().await(args.done_with_host_buffer));
  return buffer;
}

Result<LoadedExecutable> Client::compile(std::string_view text,
                                         const CompileOptions& options) const {
  HW_ASSIGN_OR_RETURN(const std::string encoded, options.encode());
  const abi::Program program = mlir_program(text);
  abi::ClientCompileArgs args;
  args.client = connection_->client;
  args.program = &program;
  args.compile_options = encoded.data();
  args.compile_options_size = encoded.size();
  if (auto result = plugin().call(&abi::Api::client_compile, args); !result) {
    return in_context(std::move(result).error(), "compiling for " + platform_);
  }
  return LoadedExecutable::make(Handle<abi::LoadedExecutable>(connection_, args.executable));
}

Result<LoadedExecutable> Client::load(std::string_view serialized) const {
  abi::ExecutableDeserializeAndLoadArgs args;
  args.client = connection_->client;
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  HW_RETURN_IF_ERROR(plugin().call(&abi::Api::executable_deserialize_and_load, args));
  return LoadedExecutable::make(Handle<abi::LoadedExecutable>(connection_, args.loaded_executable));
}

Result<std::string> device_kind(const Plugin& plugin, abi::DeviceDescription* description) {
  abi::DeviceDescriptionKindArgs args;
  args.device_description = description;
  HW_RETURN_IF_ERROR(plugin.call(&abi::Api::device_description_kind, args));
  return std::string(args.device_kind, args.device_kind_size);
}

abi::Program mlir_program(std::string_view text) {
  static constexpr std::string_view kFormat = "mlir";
  abi::Program program;
  program.code = const_cast<char*>(text.data());  // the interface reads it only
  program.code_size = text.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  return program;
}

}  // namespace headwater::pjrt
