// Our declarations of the PJRT interface against the official header that the xla-cpu-pjrt wheel
// ships: a program that prints sizes and offsets is written, compiled and run.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "executors/plugins.h"

namespace headwater::pjrt {
namespace {

struct Struct {
  std::string official;
  size_t size;
  std::vector<std::pair<std::string, size_t>> fields;  // the official names
};

std::vector<Struct> structs() {
  std::vector<Struct> all;
#define HW_ABI_STRUCT(ours, official, ...)                              \
  {                                                                     \
    using S = abi::ours;                                                \
    all.push_back({"PJRT_" #official, S{}.struct_size, {__VA_ARGS__}}); \
  }
#define O(field) {#field, offsetof(S, field)}
  HW_ABI_STRUCT(NamedValue, NamedValue, O(name), O(name_size), O(type), O(string_value),
                O(int64_value), O(int64_array_value), O(float_value), O(bool_value), O(value_size))
  HW_ABI_STRUCT(TiledLayout, Buffer_MemoryLayout_Tiled, O(minor_to_major), O(minor_to_major_size),
                O(tile_dims), O(tile_dim_sizes), O(num_tiles))
  HW_ABI_STRUCT(MemoryLayout, Buffer_MemoryLayout, O(tiled), O(type))
  HW_ABI_STRUCT(ErrorDestroyArgs, Error_Destroy_Args, O(error))
  HW_ABI_STRUCT(ErrorMessageArgs, Error_Message_Args, O(error), O(message), O(message_size))
  HW_ABI_STRUCT(ErrorGetCodeArgs, Error_GetCode_Args, O(error), O(code))
  HW_ABI_STRUCT(PluginInitializeArgs, Plugin_Initialize_Args, O(extension_start))
  HW_ABI_STRUCT(PluginAttributesArgs, Plugin_Attributes_Args, O(attributes), O(num_attributes))
  HW_ABI_STRUCT(EventDestroyArgs, Event_Destroy_Args, O(event))
  HW_ABI_STRUCT(EventAwaitArgs, Event_Await_Args, O(event))
  HW_ABI_STRUCT(EventOnReadyArgs, Event_OnReady_Args, O(event), O(callback), O(user_arg))
  HW_ABI_STRUCT(ClientCreateArgs, Client_Create_Args, O(create_options), O(num_options),
                O(kv_get_callback), O(kv_get_user_arg), O(kv_put_callback), O(kv_put_user_arg),
                O(client), O(kv_try_get_callback), O(kv_try_get_user_arg))
  HW_ABI_STRUCT(ClientDestroyArgs, Client_Destroy_Args, O(client))
  HW_ABI_STRUCT(ClientPlatformNameArgs, Client_PlatformName_Args, O(client), O(platform_name),
                O(platform_name_size))
  HW_ABI_STRUCT(ClientPlatformVersionArgs, Client_PlatformVersion_Args, O(client),
                O(platform_version), O(platform_version_size))
  HW_ABI_STRUCT(ClientAddressableDevicesArgs, Client_AddressableDevices_Args, O(client),
                O(addressable_devices), O(num_addressable_devices))
  HW_ABI_STRUCT(Program, Program, O(code), O(code_size), O(format), O(format_size))
  HW_ABI_STRUCT(ClientCompileArgs, Client_Compile_Args, O(client), O(program), O(compile_options),
                O(compile_options_size), O(executable))
  HW_ABI_STRUCT(ClientBufferFromHostBufferArgs, Client_BufferFromHostBuffer_Args, O(client),
                O(data), O(type), O(dims), O(num_dims), O(byte_strides), O(num_byte_strides),
                O(host_buffer_semantics), O(device), O(memory), O(device_layout),
                O(done_with_host_buffer), O(buffer))
  HW_ABI_STRUCT(DeviceDescriptionIdArgs, DeviceDescription_Id_Args, O(device_description), O(id))
  HW_ABI_STRUCT(DeviceDescriptionKindArgs, DeviceDescription_Kind_Args, O(device_description),
                O(device_kind), O(device_kind_size))
  HW_ABI_STRUCT(DeviceGetDescriptionArgs, Device_GetDescription_Args, O(device),
                O(device_description))
  all.push_back(
      {"PJRT_Device_MemoryStats_Args",
       abi::DeviceMemoryStatsArgs{}.struct_size,
       {{"bytes_in_use", offsetof(abi::DeviceMemoryStatsArgs, bytes_in_use)},
        {"bytes_limit", offsetof(abi::DeviceMemoryStatsArgs, bytes_limit.value)},
        {"bytes_limit_is_set", offsetof(abi::DeviceMemoryStatsArgs, bytes_limit.is_set)},
        {"peak_pool_bytes", offsetof(abi::DeviceMemoryStatsArgs, peak_pool_bytes.value)}}});
  HW_ABI_STRUCT(ExecutableDestroyArgs, Executable_Destroy_Args, O(executable))
  HW_ABI_STRUCT(ExecutableGetCostAnalysisArgs, Executable_GetCostAnalysis_Args, O(executable),
                O(num_properties), O(properties))
  HW_ABI_STRUCT(ExecutableGetCompiledMemoryStatsArgs, Executable_GetCompiledMemoryStats_Args,
                O(executable), O(generated_code_size_in_bytes), O(argument_size_in_bytes),
                O(output_size_in_bytes), O(alias_size_in_bytes), O(temp_size_in_bytes),
                O(host_temp_size_in_bytes), O(peak_memory_in_bytes))
  HW_ABI_STRUCT(ExecutableOutputElementTypesArgs, Executable_OutputElementTypes_Args, O(executable),
                O(output_types), O(num_output_types))
  HW_ABI_STRUCT(ExecutableOutputDimensionsArgs, Executable_OutputDimensions_Args, O(executable),
                O(num_outputs), O(dims), O(dim_sizes))
  HW_ABI_STRUCT(ExecutableSerializeArgs, Executable_Serialize_Args, O(executable),
                O(serialized_bytes), O(serialized_bytes_size), O(serialized_executable),
                O(serialized_executable_deleter))
  HW_ABI_STRUCT(LoadedExecutableDestroyArgs, LoadedExecutable_Destroy_Args, O(executable))
  HW_ABI_STRUCT(LoadedExecutableGetExecutableArgs, LoadedExecutable_GetExecutable_Args,
                O(loaded_executable), O(executable))
  HW_ABI_STRUCT(ExecuteOptions, ExecuteOptions, O(send_callbacks), O(recv_callbacks),
                O(num_send_ops), O(num_recv_ops), O(launch_id), O(non_donatable_input_indices),
                O(num_non_donatable_input_indices), O(context), O(call_location), O(num_tasks),
                O(task_ids), O(incarnation_ids))
  HW_ABI_STRUCT(LoadedExecutableExecuteArgs, LoadedExecutable_Execute_Args, O(executable),
                O(options), O(argument_lists), O(num_devices), O(num_args), O(output_lists),
                O(device_complete_events), O(execute_device))
  HW_ABI_STRUCT(ExecutableDeserializeAndLoadArgs, Executable_DeserializeAndLoad_Args, O(client),
                O(serialized_executable), O(serialized_executable_size), O(loaded_executable),
                O(overridden_serialized_compile_options),
                O(overridden_serialized_compile_options_size))
  HW_ABI_STRUCT(BufferDestroyArgs, Buffer_Destroy_Args, O(buffer))
  HW_ABI_STRUCT(BufferIsDeletedArgs, Buffer_IsDeleted_Args, O(buffer), O(is_deleted))
  HW_ABI_STRUCT(BufferToHostBufferArgs, Buffer_ToHostBuffer_Args, O(src), O(host_layout), O(dst),
                O(dst_size), O(event))
  HW_ABI_STRUCT(TopologyCreateArgs, TopologyDescription_Create_Args, O(topology_name),
                O(topology_name_size), O(create_options), O(num_options), O(topology))
  HW_ABI_STRUCT(TopologyDestroyArgs, TopologyDescription_Destroy_Args, O(topology))
  HW_ABI_STRUCT(TopologyGetDeviceDescriptionsArgs, TopologyDescription_GetDeviceDescriptions_Args,
                O(topology), O(descriptions), O(num_descriptions))
  HW_ABI_STRUCT(CompileArgs, Compile_Args, O(topology), O(program), O(compile_options),
                O(compile_options_size), O(client), O(executable))
#undef O
  return all;
}

// The table's functions under their official names.
std::vector<std::pair<std::string, size_t>> functions() {
#define O(ours, official) \
  { "PJRT_" #official, offsetof(abi::Api, ours) }
  return {O(error_destroy, Error_Destroy),
          O(error_message, Error_Message),
          O(error_get_code, Error_GetCode),
          O(plugin_initialize, Plugin_Initialize),
          O(plugin_attributes, Plugin_Attributes),
          O(event_destroy, Event_Destroy),
          O(event_await, Event_Await),
          O(event_on_ready, Event_OnReady),
          O(client_create, Client_Create),
          O(client_destroy, Client_Destroy),
          O(client_platform_name, Client_PlatformName),
          O(client_platform_version, Client_PlatformVersion),
          O(client_addressable_devices, Client_AddressableDevices),
          O(client_compile, Client_Compile),
          O(client_buffer_from_host_buffer, Client_BufferFromHostBuffer),
          O(device_description_id, DeviceDescription_Id),
          O(device_description_kind, DeviceDescription_Kind),
          O(device_get_description, Device_GetDescription),
          O(device_memory_stats, Device_MemoryStats),
          O(executable_destroy, Executable_Destroy),
          O(executable_get_cost_analysis, Executable_GetCostAnalysis),
          O(executable_serialize, Executable_Serialize),
          O(loaded_executable_destroy, LoadedExecutable_Destroy),
          O(loaded_executable_get_executable, LoadedExecutable_GetExecutable),
          O(loaded_executable_execute, LoadedExecutable_Execute),
          O(executable_deserialize_and_load, Executable_DeserializeAndLoad),
          O(buffer_destroy, Buffer_Destroy),
          O(buffer_is_deleted, Buffer_IsDeleted),
          O(buffer_to_host_buffer, Buffer_ToHostBuffer),
          O(topology_create, TopologyDescription_Create),
          O(topology_destroy, TopologyDescription_Destroy),
          O(topology_get_device_descriptions, TopologyDescription_GetDeviceDescriptions),
          O(compile, Compile),
          O(executable_output_element_types, Executable_OutputElementTypes),
          O(executable_output_dimensions, Executable_OutputDimensions),
          O(executable_get_compiled_memory_stats, Executable_GetCompiledMemoryStats)};
#undef O
}

std::vector<std::pair<std::string, int64_t>> constants() {
  return {{"PJRT_NamedValue_kString", abi::kString},
          {"PJRT_NamedValue_kInt64", abi::kInt64},
          {"PJRT_NamedValue_kInt64List", abi::kInt64List},
          {"PJRT_NamedValue_kFloat", abi::kFloat},
          {"PJRT_NamedValue_kBool", abi::kBool},
          {"PJRT_Buffer_Type_PRED", abi::kPred},
          {"PJRT_Buffer_Type_S32", abi::kS32},
          {"PJRT_Buffer_Type_S64", abi::kS64},
          {"PJRT_Buffer_Type_U8", abi::kU8},
          {"PJRT_Buffer_Type_U32", abi::kU32},
          {"PJRT_Buffer_Type_F16", abi::kF16},
          {"PJRT_Buffer_Type_F32", abi::kF32},
          {"PJRT_Buffer_Type_F64", abi::kF64},
          {"PJRT_Buffer_Type_BF16", abi::kBF16},
          {"PJRT_HostBufferSemantics_kImmutableOnlyDuringCall", abi::kImmutableOnlyDuringCall},
          {"PJRT_Buffer_MemoryLayout_Type_Tiled", abi::kTiledLayout},
          {"PJRT_API_MAJOR", abi::kMajorVersion},
          {"PJRT_API_MINOR", abi::kMinorVersion},
          {"PJRT_Error_Code_INVALID_ARGUMENT", static_cast<int>(Code::kInvalidArgument)},
          {"PJRT_Error_Code_RESOURCE_EXHAUSTED", static_cast<int>(Code::kResourceExhausted)},
          {"PJRT_Error_Code_UNAUTHENTICATED", static_cast<int>(Code::kUnauthenticated)}};
}

// "expression" -> what we think its value is.
std::map<std::string, int64_t> facts() {
  std::map<std::string, int64_t> all;
  for (const Struct& s : structs()) {
    all[s.official + "_STRUCT_SIZE"] = static_cast<int64_t>(s.size);
    for (const auto& [field, offset] : s.fields) {
      all["offsetof(" + s.official + ", " + field + ")"] = static_cast<int64_t>(offset);
    }
  }
  for (const auto& [name, offset] : functions()) {
    all["offsetof(PJRT_Api, " + name + ")"] = static_cast<int64_t>(offset);
  }
  all["offsetof(PJRT_Api, pjrt_api_version)"] = offsetof(abi::Api, version);
  for (const auto& [name, value] : constants()) all[name] = value;
  return all;
}

TEST(PjrtAbi, IsThatOfTheOfficialHeader) {
  HW_SKIP_WITHOUT_WHEEL("xla-cpu-pjrt");
  const std::string include = directory_name(wheel_path("xla-cpu-pjrt")) + "/include";
  ASSERT_TRUE(std::filesystem::exists(include + "/pjrt_c_api.h"));
  std::string folder = testing::TempDir() + "pjrt-abi-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    std::ofstream source(folder + "/facts.cc");
    source << "#include <cstdio>\n#include \"pjrt_c_api.h\"\nint main() {\n";
    for (const auto& [expression, value] : facts()) {
      source << "  std::printf(\"%s\\t%lld\\n\", \"" << expression << "\", (long long)("
             << expression << "));\n";
    }
    source << "}\n";
  }
  const std::string command = "c++ -std=c++17 -w -I'" + include + "' '" + folder +
                              "/facts.cc' -o '" + folder + "/facts' && '" + folder + "/facts' >'" +
                              folder + "/out'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream out(folder + "/out");
  std::string expression;
  int64_t value = 0;
  size_t lines = 0;
  const auto ours = facts();
  while (std::getline(out, expression, '\t') && out >> value && out.ignore()) {
    EXPECT_EQ(ours.at(expression), value) << expression;
    ++lines;
  }
  EXPECT_EQ(lines, ours.size());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace headwater::pjrt
