// The part of the PJRT C interface that this program uses: the layout of its structs as of version
// 0.81, which every later 0.x version keeps and only appends to.
//
// Declared here so that nothing of XLA is needed to build. Names follow the interface's own,
// without their prefix (ErrorMessageArgs is PJRT_Error_Message_Args);
// tests/executors/pjrt_abi_test.cc compares every size and offset with the official header. An
// argument struct begins with its own size, from which the plugin knows what its caller knows;
// fields marked `out` are filled by the call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headwater::pjrt::abi {

constexpr int kMajorVersion = 0;
constexpr int kMinorVersion = 81;  // the oldest that is driven

// Of a struct up to its last field: without the padding in which a later version may put a field.
#define HW_ABI_SIZE(type, last) (offsetof(type, last) + sizeof(type::last))

struct Extension {
  size_t struct_size;
  int type;
  Extension* next;
};

// Objects of the plugin.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Topology;
struct Executable;
struct LoadedExecutable;
struct SerializedExecutable;
struct Buffer;

struct ApiVersion {
  size_t struct_size;
  Extension* extension_start;
  int major_version, minor_version;
};

enum NamedValueType : int { kString, kInt64, kInt64List, kFloat, kBool };

struct NamedValue {
  size_t struct_size = HW_ABI_SIZE(NamedValue, value_size);
  Extension* extension_start = nullptr;
  const char* name = nullptr;
  size_t name_size = 0;
  NamedValueType type = kString;
  union {
    const char* string_value = nullptr;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size = 1;  // characters of a string, elements of a list
};

// Element types of buffers.
enum ElementType : int {
  kInvalid = 0,
  kPred = 1,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU32 = 8,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 13,
};

// What the plugin may do with the host's memory: read it during the call only.
constexpr int kImmutableOnlyDuringCall = 0;
constexpr int kTiledLayout = 0;

struct TiledLayout {
  size_t struct_size = HW_ABI_SIZE(TiledLayout, num_tiles);
  Extension* extension_start = nullptr;
  const int64_t* minor_to_major = nullptr;
  size_t minor_to_major_size = 0;
  const int64_t* tile_dims = nullptr;
  const size_t* tile_dim_sizes = nullptr;
  size_t num_tiles = 0;
};

struct MemoryLayout {
  size_t struct_size = HW_ABI_SIZE(MemoryLayout, type);
  Extension* extension_start = nullptr;
  TiledLayout tiled;  // the larger half of a union
  int type = kTiledLayout;
};

struct ErrorDestroyArgs {
  size_t struct_size = HW_ABI_SIZE(ErrorDestroyArgs, error);
  Extension* extension_start = nullptr;
  Error* error = nullptr;
};

struct ErrorMessageArgs {
  size_t struct_size = HW_ABI_SIZE(ErrorMessageArgs, message_size);
  Extension* extension_start = nullptr;
  const Error* error = nullptr;
  const char* message = nullptr;  // out; lives as long as the error
  size_t message_size = 0;        // out
};

struct ErrorGetCodeArgs {
  size_t struct_size = HW_ABI_SIZE(ErrorGetCodeArgs, code);
  Extension* extension_start = nullptr;
  const Error* error = nullptr;
  int code = 0;  // out
};

struct PluginInitializeArgs {
  size_t struct_size = HW_ABI_SIZE(PluginInitializeArgs, extension_start);
  Extension* extension_start = nullptr;
};

struct PluginAttributesArgs {
  size_t struct_size = HW_ABI_SIZE(PluginAttributesArgs, num_attributes);
  Extension* extension_start = nullptr;
  const NamedValue* attributes = nullptr;  // out
  size_t num_attributes = 0;               // out
};

struct EventDestroyArgs {
  size_t struct_size = HW_ABI_SIZE(EventDestroyArgs, event);
  Extension* extension_start = nullptr;
  Event* event = nullptr;
};

struct EventAwaitArgs {
  size_t struct_size = HW_ABI_SIZE(EventAwaitArgs, event);
  Extension* extension_start = nullptr;
  Event* event = nullptr;
};

struct EventOnReadyArgs {
  size_t struct_size = HW_ABI_SIZE(EventOnReadyArgs, user_arg);
  Extension* extension_start = nullptr;
  Event* event = nullptr;
  void (*callback)(Error* error, void* user_arg) = nullptr;  // owns the error
  void* user_arg = nullptr;
};

struct ClientCreateArgs {
  size_t struct_size = HW_ABI_SIZE(ClientCreateArgs, kv_try_get_user_arg);
  Extension* extension_start = nullptr;
  const NamedValue* create_options = nullptr;
  size_t num_options = 0;
  void* kv_get_callback = nullptr;
  void* kv_get_user_arg = nullptr;
  void* kv_put_callback = nullptr;
  void* kv_put_user_arg = nullptr;
  Client* client = nullptr;  // out
  void* kv_try_get_callback = nullptr;
  void* kv_try_get_user_arg = nullptr;
};

struct ClientDestroyArgs {
  size_t struct_size = HW_ABI_SIZE(ClientDestroyArgs, client);
  Extension* extension_start = nullptr;
  Client* client = nullptr;
};

struct ClientPlatformNameArgs {
  size_t struct_size = HW_ABI_SIZE(ClientPlatformNameArgs, platform_name_size);
  Extension* extension_start = nullptr;
  Client* client = nullptr;
  const char* platform_name = nullptr;  // out
  size_t platform_name_size = 0;        // out
};

struct ClientPlatformVersionArgs {
  size_t struct_size = HW_ABI_SIZE(ClientPlatformVersionArgs, platform_version_size);
  Extension* extension_start = nullptr;
  Client* client = nullptr;
  const char* platform_version = nullptr;  // out
  size_t platform_version_size = 0;        // out
};

struct ClientAddressableDevicesArgs {
  size_t struct_size = HW_ABI_SIZE(ClientAddressableDevicesArgs, num_addressable_devices);
  Extension* extension_start = nullptr;
  Client* client = nullptr;
  Device* const* addressable_devices = nullptr;  // out
  size_t num_addressable_devices = 0;            // out
};

struct Program {
  size_t struct_size = HW_ABI_SIZE(Program, format_size);
  Extension* extension_start = nullptr;
  char* code = nullptr;  // read only
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};

struct ClientCompileArgs {
  size_t struct_size = HW_ABI_SIZE(ClientCompileArgs, executable);
  Extension* extension_start = nullptr;
  Client* client = nullptr;
  const Program* program = nullptr;
  const char* compile_options = nullptr;  // a CompileOptionsProto
  size_t compile_options_size = 0;
  LoadedExecutable* executable = nullptr;  // out
};

struct ClientBufferFromHostBufferArgs {
  size_t struct_size = HW_ABI_SIZE(ClientBufferFromHostBufferArgs, buffer);
  Extension* extension_start = nullptr;
  Client* client = nullptr;
  const void* data = nullptr;
  ElementType type = kInvalid;
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
  const int64_t* byte_strides = nullptr;  // null: row-major
  size_t num_byte_strides = 0;
  int host_buffer_semantics = kImmutableOnlyDuringCall;
  Device* device = nullptr;
  Memory* memory = nullptr;
  MemoryLayout* device_layout = nullptr;
  Event* done_with_host_buffer = nullptr;  // out
  Buffer* buffer = nullptr;                // out
};

struct DeviceDescriptionIdArgs {
  size_t struct_size = HW_ABI_SIZE(DeviceDescriptionIdArgs, id);
  Extension* extension_start = nullptr;
  DeviceDescription* device_description = nullptr;
  int id = 0;  // out
};

struct DeviceDescriptionKindArgs {
  size_t struct_size = HW_ABI_SIZE(DeviceDescriptionKindArgs, device_kind_size);
  Extension* extension_start = nullptr;
  DeviceDescription* device_description = nullptr;
  const char* device_kind = nullptr;  // out
  size_t device_kind_size = 0;        // out
};

struct DeviceGetDescriptionArgs {
  size_t struct_size = HW_ABI_SIZE(DeviceGetDescriptionArgs, device_description);
  Extension* extension_start = nullptr;
  Device* device = nullptr;
  DeviceDescription* device_description = nullptr;  // out
};

struct DeviceMemoryStatsArgs {
  struct Optional {
    int64_t value = 0;
    bool is_set = false;
  };
  size_t struct_size = HW_ABI_SIZE(DeviceMemoryStatsArgs, peak_pool_bytes) - sizeof(Optional) +
                       HW_ABI_SIZE(Optional, is_set);
  Extension* extension_start = nullptr;
  Device* device = nullptr;
  int64_t bytes_in_use = 0;  // out, as are the others
  Optional peak_bytes_in_use, num_allocs, largest_alloc_size, bytes_limit, bytes_reserved,
      peak_bytes_reserved, bytes_reservable_limit, largest_free_block_bytes, pool_bytes,
      peak_pool_bytes;
};

struct ExecutableDestroyArgs {
  size_t struct_size = HW_ABI_SIZE(ExecutableDestroyArgs, executable);
  Extension* extension_start = nullptr;
  Executable* executable = nullptr;
};

struct ExecutableGetCostAnalysisArgs {
  size_t struct_size = HW_ABI_SIZE(ExecutableGetCostAnalysisArgs, properties);
  Extension* extension_start = nullptr;
  Executable* executable = nullptr;
  size_t num_properties = 0;               // out
  const NamedValue* properties = nullptr;  // out; lives as long as the executable
};

struct ExecutableGetCompiledMemoryStatsArgs {
  size_t struct_size = HW_ABI_SIZE(ExecutableGetCompiledMemoryStatsArgs, peak_memory_in_bytes);
  Extension* extension_start = nullptr;
  Executable* executable = nullptr;
  int64_t generated_code_size_in_bytes = 0;  // out, as are the others
  int64_t argument_size_in_bytes = 0;
  int64_t output_size_in_bytes = 0;
  int64_t alias_size_in_bytes = 0;
  int64_t temp_size_in_bytes = 0;
  int64_t host_generated_code_size_in_bytes = 0;
  int64_t host_argument_size_in_bytes = 0;
  int64_t host_output_size_in_bytes = 0;
  int64_t host_alias_size_in_bytes = 0;
  int64_t host_temp_size_in_bytes = 0;
  int64_t peak_memory_in_bytes = 0;
};

struct ExecutableOutputElementTypesArgs {
  size_t struct_size = HW_ABI_SIZE(ExecutableOutputElementTypesArgs, num_output_types);
  Extension* extension_start = nullptr;
  Executable* executable = nullptr;
  ElementType* output_types = nullptr;  // out; lives as long as the executable
  size_t num_output_types = 0;          // out
};

struct ExecutableOutputDimensionsArgs {
  size_t struct_size = HW_ABI_SIZE(ExecutableOutputDimensionsArgs, dim_sizes);
  Extension* extension_start = nullptr;
  Executable* executable = nullptr;
  size_t num_outputs = 0;             // out
  const int64_t* dims = nullptr;      // out: of all outputs, one after the other
  const size_t* dim_sizes = nullptr;  // out: rank of each
};

struct ExecutableSerializeArgs {
  size_t struct_size = HW_ABI_SIZE(ExecutableSerializeArgs, serialized_executable_deleter);
  Extension* extension_start = nullptr;
  const Executable* executable = nullptr;
  const char* serialized_bytes = nullptr;                 // out
  size_t serialized_bytes_size = 0;                       // out
  SerializedExecutable* serialized_executable = nullptr;  // out: holds the bytes
  void (*serialized_executable_deleter)(SerializedExecutable* executable) = nullptr;  // out
};

struct LoadedExecutableDestroyArgs {
  size_t struct_size = HW_ABI_SIZE(LoadedExecutableDestroyArgs, executable);
  Extension* extension_start = nullptr;
  LoadedExecutable* executable = nullptr;
};

struct LoadedExecutableGetExecutableArgs {
  size_t struct_size = HW_ABI_SIZE(LoadedExecutableGetExecutableArgs, executable);
  Extension* extension_start = nullptr;
  LoadedExecutable* loaded_executable = nullptr;
  Executable* executable = nullptr;  // out
};

struct ExecuteOptions {
  size_t struct_size = HW_ABI_SIZE(ExecuteOptions, incarnation_ids);
  Extension* extension_start = nullptr;
  void** send_callbacks = nullptr;
  void** recv_callbacks = nullptr;
  size_t num_send_ops = 0;
  size_t num_recv_ops = 0;
  int launch_id = 0;
  const int64_t* non_donatable_input_indices = nullptr;
  size_t num_non_donatable_input_indices = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t num_tasks = 0;
  int* task_ids = nullptr;
  int64_t* incarnation_ids = nullptr;
};

struct LoadedExecutableExecuteArgs {
  size_t struct_size = HW_ABI_SIZE(LoadedExecutableExecuteArgs, execute_device);
  Extension* extension_start = nullptr;
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* argument_lists = nullptr;  // [device][argument]
  size_t num_devices = 0;
  size_t num_args = 0;
  Buffer** const* output_lists = nullptr;    // [device][output], filled by the call
  Event** device_complete_events = nullptr;  // [device], filled by the call
  Device* execute_device = nullptr;
};

struct ExecutableDeserializeAndLoadArgs {
  size_t struct_size =
      HW_ABI_SIZE(ExecutableDeserializeAndLoadArgs, overridden_serialized_compile_options_size);
  Extension* extension_start = nullptr;
  Client* client = nullptr;
  const char* serialized_executable = nullptr;
  size_t serialized_executable_size = 0;
  LoadedExecutable* loaded_executable = nullptr;  // out
  const char* overridden_serialized_compile_options = nullptr;
  size_t overridden_serialized_compile_options_size = 0;
};

struct BufferDestroyArgs {
  size_t struct_size = HW_ABI_SIZE(BufferDestroyArgs, buffer);
  Extension* extension_start = nullptr;
  Buffer* buffer = nullptr;
};

struct BufferIsDeletedArgs {
  size_t struct_size = HW_ABI_SIZE(BufferIsDeletedArgs, is_deleted);
  Extension* extension_start = nullptr;
  Buffer* buffer = nullptr;
  bool is_deleted = false;  // out
};

struct BufferToHostBufferArgs {
  size_t struct_size = HW_ABI_SIZE(BufferToHostBufferArgs, event);
  Extension* extension_start = nullptr;
  Buffer* src = nullptr;
  MemoryLayout* host_layout = nullptr;
  void* dst = nullptr;
  size_t dst_size = 0;
  Event* event = nullptr;  // out
};

struct TopologyCreateArgs {
  size_t struct_size = HW_ABI_SIZE(TopologyCreateArgs, topology);
  Extension* extension_start = nullptr;
  const char* topology_name = nullptr;
  size_t topology_name_size = 0;
  const NamedValue* create_options = nullptr;
  size_t num_options = 0;
  Topology* topology = nullptr;  // out
};

struct TopologyDestroyArgs {
  size_t struct_size = HW_ABI_SIZE(TopologyDestroyArgs, topology);
  Extension* extension_start = nullptr;
  Topology* topology = nullptr;
};

struct TopologyGetDeviceDescriptionsArgs {
  size_t struct_size = HW_ABI_SIZE(TopologyGetDeviceDescriptionsArgs, num_descriptions);
  Extension* extension_start = nullptr;
  const Topology* topology = nullptr;
  DeviceDescription* const* descriptions = nullptr;  // out
  size_t num_descriptions = 0;                       // out
};

struct CompileArgs {
  size_t struct_size = HW_ABI_SIZE(CompileArgs, executable);
  Extension* extension_start = nullptr;
  const Topology* topology = nullptr;
  const Program* program = nullptr;
  const char* compile_options = nullptr;
  size_t compile_options_size = 0;
  Client* client = nullptr;          // null: ahead of time
  Executable* executable = nullptr;  // out
};

#undef HW_ABI_SIZE

template <class Args>
using Function = Error* (*)(Args*);

// The table that GetPjrtApi() returns. Functions that this program does not call are left out by
// their number.
struct Api {
  size_t struct_size;
  Extension* extension_start;
  ApiVersion version;
  void (*error_destroy)(ErrorDestroyArgs*);
  void (*error_message)(ErrorMessageArgs*);
  Function<ErrorGetCodeArgs> error_get_code;
  Function<PluginInitializeArgs> plugin_initialize;
  Function<PluginAttributesArgs> plugin_attributes;
  Function<EventDestroyArgs> event_destroy;
  void* unused_event[2];
  Function<EventAwaitArgs> event_await;
  Function<EventOnReadyArgs> event_on_ready;
  Function<ClientCreateArgs> client_create;
  Function<ClientDestroyArgs> client_destroy;
  Function<ClientPlatformNameArgs> client_platform_name;
  void* unused_process_index[1];
  Function<ClientPlatformVersionArgs> client_platform_version;
  void* unused_devices[1];
  Function<ClientAddressableDevicesArgs> client_addressable_devices;
  void* unused_lookup[3];
  Function<ClientCompileArgs> client_compile;
  void* unused_assignment[1];
  Function<ClientBufferFromHostBufferArgs> client_buffer_from_host_buffer;
  Function<DeviceDescriptionIdArgs> device_description_id;
  void* unused_attributes[2];
  Function<DeviceDescriptionKindArgs> device_description_kind;
  void* unused_text[2];
  Function<DeviceGetDescriptionArgs> device_get_description;
  void* unused_device[4];
  Function<DeviceMemoryStatsArgs> device_memory_stats;
  void* unused_memory[5];
  Function<ExecutableDestroyArgs> executable_destroy;
  void* unused_executable[5];
  Function<ExecutableGetCostAnalysisArgs> executable_get_cost_analysis;
  void* unused_optimized[2];
  Function<ExecutableSerializeArgs> executable_serialize;
  Function<LoadedExecutableDestroyArgs> loaded_executable_destroy;
  Function<LoadedExecutableGetExecutableArgs> loaded_executable_get_executable;
  void* unused_loaded[3];
  Function<LoadedExecutableExecuteArgs> loaded_executable_execute;
  Function<ExecutableDeserializeAndLoadArgs> executable_deserialize_and_load;
  void* unused_fingerprint[1];
  Function<BufferDestroyArgs> buffer_destroy;
  void* unused_buffer[9];
  Function<BufferIsDeletedArgs> buffer_is_deleted;
  void* unused_copy[1];
  Function<BufferToHostBufferArgs> buffer_to_host_buffer;
  void* unused_pointers[11];
  Function<TopologyCreateArgs> topology_create;
  Function<TopologyDestroyArgs> topology_destroy;
  void* unused_platform[2];
  Function<TopologyGetDeviceDescriptionsArgs> topology_get_device_descriptions;
  void* unused_topology[2];
  Function<CompileArgs> compile;
  Function<ExecutableOutputElementTypesArgs> executable_output_element_types;
  Function<ExecutableOutputDimensionsArgs> executable_output_dimensions;
  void* unused_views[4];
  Function<ExecutableGetCompiledMemoryStatsArgs> executable_get_compiled_memory_stats;
};

}  // namespace headwater::pjrt::abi
