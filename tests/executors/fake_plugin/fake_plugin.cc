// A PJRT plugin without a compiler, for what a real one does rarely: being too old, refusing, and
// failing on one replica. What it does is said by $HW_FAKE_MODE when it is loaded or called.
//
// A program is "identity N": its N outputs are its first arguments, each f32[2].
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executors/pjrt/abi.h"

namespace headwater::pjrt::abi {

struct Error {
  int code;
  std::string message;
};
struct Event {
  Error* error = nullptr;
  bool ready = true;
  void* user_arg = nullptr;  // of one that never will be
};
struct DeviceDescription {
  int id;
};
struct Device {
  DeviceDescription description;
};
struct Client {
  std::vector<Device> devices;
  std::vector<Device*> pointers;
};
struct Buffer {
  float values[2];
  bool deleted = false;
};
struct Executable {
  std::vector<ElementType> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks;
  std::string text;
};
struct LoadedExecutable {
  std::string text;
};

namespace {

// What lives, of all kinds: a test sees by it what was not freed. What a test leaves on purpose is
// no leak to the address sanitizer.
std::set<void*>& live() {
  static auto* const objects = new std::set<void*>;
  return *objects;
}

template <class T>
T* make(T value) {
  T* const object = new T(std::move(value));
  live().insert(object);
  return object;
}
template <class T>
void drop(T* object) {
  live().erase(object);
  delete object;
}

bool mode(std::string_view name) {
  const char* const value = std::getenv("HW_FAKE_MODE");
  return value != nullptr && value == name;
}
Error* error(int code, std::string message) { return make(Error{code, std::move(message)}); }

void error_destroy(ErrorDestroyArgs* args) { drop(args->error); }
void error_message(ErrorMessageArgs* args) {
  args->message = args->error->message.data();
  args->message_size = args->error->message.size();
}
Error* error_get_code(ErrorGetCodeArgs* args) {
  args->code = args->error->code;
  return nullptr;
}

Error* plugin_initialize(PluginInitializeArgs*) {
  if (mode("takes signals")) signal(SIGTERM, SIG_IGN);
  if (!mode("does not start")) return nullptr;
  return error(10, "the TPU is in use\nin file.cc\nSuspected Python Code Location: <unknown>");
}

Error* plugin_attributes(PluginAttributesArgs* args) {
  static const int64_t version[] = {1, 13, 3};
  static NamedValue attributes[2];
  attributes[0].name = "stablehlo_current_version";
  attributes[0].name_size = std::strlen(attributes[0].name);
  attributes[0].type = kInt64List;
  attributes[0].int64_array_value = version;
  attributes[0].value_size = 3;
  attributes[1].name = "maker";
  attributes[1].name_size = 5;
  attributes[1].string_value = "tests";
  attributes[1].value_size = 5;
  args->attributes = attributes;
  args->num_attributes = 2;
  return nullptr;
}

Error* event_destroy(EventDestroyArgs* args) {
  drop(args->event);
  return nullptr;
}
Error* event_await(EventAwaitArgs* args) { return std::exchange(args->event->error, nullptr); }
Error* event_on_ready(EventOnReadyArgs* args) {
  args->event->user_arg = args->user_arg;
  if (args->event->ready)
    args->callback(std::exchange(args->event->error, nullptr), args->user_arg);
  return nullptr;
}

Error* client_create(ClientCreateArgs* args) {
  if (mode("aborts")) std::abort();
  if (mode("hangs")) pause();
  if (mode("no device")) return error(5, "No jellyfish device found.");
  auto* const client = make(Client{});
  client->devices.resize(4);
  for (size_t i = 0; i < args->num_options; ++i) {
    const NamedValue& option = args->create_options[i];
    if (std::string_view(option.name, option.name_size) == "cpu_device_count")
      client->devices.resize(static_cast<size_t>(option.int64_value));
  }
  for (size_t i = 0; i < client->devices.size(); ++i) {
    client->devices[i].description.id = static_cast<int>(i);
    client->pointers.push_back(&client->devices[i]);
  }
  args->client = client;
  return nullptr;
}
Error* client_destroy(ClientDestroyArgs* args) {
  drop(args->client);
  return nullptr;
}
Error* client_platform_name(ClientPlatformNameArgs* args) {
  args->platform_name = mode("other platform") ? "abc" : "cpu";
  args->platform_name_size = 3;
  return nullptr;
}
Error* client_platform_version(ClientPlatformVersionArgs* args) {
  args->platform_version = "1";
  args->platform_version_size = 1;
  return nullptr;
}
Error* client_devices(ClientAddressableDevicesArgs* args) {
  args->addressable_devices = args->client->pointers.data();
  args->num_addressable_devices = args->client->pointers.size();
  return nullptr;
}
Error* device_description(DeviceGetDescriptionArgs* args) {
  args->device_description = &args->device->description;
  return nullptr;
}
Error* description_id(DeviceDescriptionIdArgs* args) {
  args->id = args->device_description->id;
  return nullptr;
}
Error* description_kind(DeviceDescriptionKindArgs* args) {
  args->device_kind = "fake";
  args->device_kind_size = 4;
  return nullptr;
}
Error* device_memory(DeviceMemoryStatsArgs* args) {
  args->bytes_limit = {int64_t{1} << 30, true};
  return nullptr;
}

Error* client_compile(ClientCompileArgs* args) {
  if (args->compile_options_size == 0) std::abort();  // as the real ones do
  const std::string text(args->program->code, args->program->code_size);
  if (!text.starts_with("identity ")) {
    return error(3, "line 1:1: not a program\nmaybe another version");
  }
  args->executable = make(LoadedExecutable{text});
  return nullptr;
}
Error* loaded_destroy(LoadedExecutableDestroyArgs* args) {
  drop(args->executable);
  return nullptr;
}
Error* loaded_get_executable(LoadedExecutableGetExecutableArgs* args) {
  Executable executable;
  executable.text = args->loaded_executable->text;
  const auto outputs = static_cast<size_t>(executable.text.back() - '0');
  executable.types.assign(outputs, kF32);
  executable.dims.assign(outputs, 2);
  executable.ranks.assign(outputs, 1);
  args->executable = make(std::move(executable));
  return nullptr;
}
Error* executable_destroy(ExecutableDestroyArgs* args) {
  drop(args->executable);
  return nullptr;
}
Error* output_types(ExecutableOutputElementTypesArgs* args) {
  args->output_types = args->executable->types.data();
  args->num_output_types = args->executable->types.size();
  return nullptr;
}
Error* output_dimensions(ExecutableOutputDimensionsArgs* args) {
  args->num_outputs = args->executable->types.size();
  args->dims = args->executable->dims.data();
  args->dim_sizes = args->executable->ranks.data();
  return nullptr;
}
Error* executable_memory(ExecutableGetCompiledMemoryStatsArgs* args) {
  args->temp_size_in_bytes = mode("too large") ? int64_t{1} << 60 : 64;
  return nullptr;
}
Error* executable_serialize(ExecutableSerializeArgs* args) {
  if (mode("no serialize")) return error(12, "not implemented");
  args->serialized_bytes = args->executable->text.data();
  args->serialized_bytes_size = args->executable->text.size();
  return nullptr;
}
Error* deserialize(ExecutableDeserializeAndLoadArgs* args) {
  if (mode("no load")) return error(13, "of another machine");
  args->loaded_executable = make(
      LoadedExecutable{std::string(args->serialized_executable, args->serialized_executable_size)});
  return nullptr;
}

// Replica 1 fails at once in "replica fails", and the others wait for it.
Error* execute(LoadedExecutableExecuteArgs* args) {
  if (mode("run fails")) return error(8, "Out of memory allocating 5 bytes.");
  const auto outputs = static_cast<size_t>(args->executable->text.back() - '0');
  for (size_t d = 0; d < args->num_devices; ++d) {
    for (size_t i = 0; i < outputs; ++i) {
      args->output_lists[d][i] = make(Buffer(*args->argument_lists[d][i]));
    }
    const bool waits = mode("replica fails") && d != 1;
    Error* const failure = mode("replica fails") && d == 1 ? error(14, "chip 1 is lost") : nullptr;
    args->device_complete_events[d] = make(Event{failure, !waits});
  }
  return nullptr;
}

Error* from_host(ClientBufferFromHostBufferArgs* args) {
  Buffer buffer{};
  int64_t bytes = 4;
  for (size_t i = 0; i < args->num_dims; ++i) bytes *= args->dims[i];
  std::memcpy(buffer.values, args->data, static_cast<size_t>(std::min<int64_t>(bytes, 8)));
  args->buffer = make(buffer);
  args->done_with_host_buffer = make(Event{});
  return nullptr;
}
Error* buffer_destroy(BufferDestroyArgs* args) {
  drop(args->buffer);
  return nullptr;
}
Error* buffer_is_deleted(BufferIsDeletedArgs* args) {
  args->is_deleted = args->buffer->deleted;
  return nullptr;
}
Error* to_host(BufferToHostBufferArgs* args) {
  std::memcpy(args->dst, args->src->values, std::min<size_t>(args->dst_size, 8));
  args->event = make(Event{});
  return nullptr;
}

Api make_api() {
  Api api{};
  api.struct_size = mode("short") ? offsetof(Api, compile) : sizeof(Api);
  api.version = {sizeof(ApiVersion), nullptr, mode("other major") ? 1 : 0, mode("old") ? 80 : 81};
  api.error_destroy = error_destroy;
  api.error_message = error_message;
  api.error_get_code = error_get_code;
  api.plugin_initialize = plugin_initialize;
  api.plugin_attributes = plugin_attributes;
  api.event_destroy = event_destroy;
  api.event_await = event_await;
  api.event_on_ready = event_on_ready;
  api.client_create = mode("lacks a function") ? nullptr : client_create;
  api.client_destroy = client_destroy;
  api.client_platform_name = client_platform_name;
  api.client_platform_version = client_platform_version;
  api.client_addressable_devices = client_devices;
  api.client_compile = client_compile;
  api.client_buffer_from_host_buffer = from_host;
  api.device_description_id = description_id;
  api.device_description_kind = description_kind;
  api.device_get_description = device_description;
  api.device_memory_stats = device_memory;
  api.executable_destroy = executable_destroy;
  api.executable_serialize = executable_serialize;
  api.loaded_executable_destroy = loaded_destroy;
  api.loaded_executable_get_executable = loaded_get_executable;
  api.loaded_executable_execute = execute;
  api.executable_deserialize_and_load = deserialize;
  api.buffer_destroy = buffer_destroy;
  api.buffer_is_deleted = buffer_is_deleted;
  api.buffer_to_host_buffer = to_host;
  api.executable_output_element_types = output_types;
  api.executable_output_dimensions = output_dimensions;
  api.executable_get_compiled_memory_stats = executable_memory;
  return api;
}

}  // namespace
}  // namespace headwater::pjrt::abi

extern "C" {
const headwater::pjrt::abi::Api* GetPjrtApi() {
  using headwater::pjrt::abi::make_api;
  if (headwater::pjrt::abi::mode("no interface")) return nullptr;
  static const headwater::pjrt::abi::Api api = make_api();
  return &api;
}
int64_t FakePluginLiveObjects() {
  return static_cast<int64_t>(headwater::pjrt::abi::live().size());
}
}
