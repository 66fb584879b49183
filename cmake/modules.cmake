# hw_add_modules(): one static library hw::NAME per line of src/modules.txt, and the layer check over all includes.

# Every ROOT/FOLDER/*.proto becomes a part of TARGET, included as "FOLDER/<file>.pb.h".
function(hw_protos target root folder)
  file(GLOB protos CONFIGURE_DEPENDS ${root}/${folder}/*.proto)
  if(NOT protos)
    return()
  endif()
  cmake_path(GET root FILENAME root_name)
  set(generated ${PROJECT_BINARY_DIR}/generated/${root_name})
  file(MAKE_DIRECTORY ${generated}/${folder})
  foreach(proto ${protos})
    get_filename_component(stem ${proto} NAME_WE)
    set(out ${generated}/${folder}/${stem}.pb)
    add_custom_command(OUTPUT ${out}.cc ${out}.h
      COMMAND protobuf::protoc --cpp_out=lite:${generated} -I ${root} ${proto}
      DEPENDS ${proto})
    set_source_files_properties(${out}.cc PROPERTIES COMPILE_OPTIONS "-w")
    target_sources(${target} PRIVATE ${out}.cc)
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${generated}>)
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf-lite)
endfunction()

# hw_embed(TARGET SYMBOL FILE): the text of a file as `extern const std::string_view headwater::SYMBOL` in TARGET.
function(hw_embed target symbol file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(source ${PROJECT_BINARY_DIR}/generated/embedded/${symbol}.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include <string_view>
namespace headwater {
extern const std::string_view @symbol@;
const std::string_view @symbol@ = R"embedded(@text@)embedded";
}  // namespace headwater
]])
  target_sources(${target} PRIVATE ${source})
endfunction()

# A header that every file of a module includes, parsed once: the 60 small files of ops compile in half the time.
set(HW_PRECOMPILED_ops <graph/op.h>)

# The presets for demo, tests and CI, which build from nothing, compile six files of a folder at a time (a "unity build"):
# half the work. Files share their namespaces without a name then; those that have a name in common with another one are
# compiled alone. The preset dev, for work on the code, compiles every file by itself.
function(hw_compile_alone)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
hw_compile_alone(
  src/checkpoints/hdf5_file.cc src/checkpoints/model_weights.cc src/checkpoints/native.cc src/checkpoints/open_weights.cc
  src/checkpoints/safetensors_header.cc src/checkpoints/safetensors_source.cc src/checkpoints/tf_bundle.cc
  src/checkpoints/torch_source.cc src/cli/verb_convert.cc src/cli/verb_plan.cc src/cli/verb_records_show.cc
  src/cli/verb_records_stat.cc src/cli/verb_tokenize.cc src/models/electra_config.cc src/models/electra_networks.cc src/models/gpt2_config.cc
  src/report/paired_runs.cc src/report/report_data.cc src/text/normal_form.cc src/tokens/tokenizer_json.cc)

function(hw_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT sources)
    file(WRITE ${PROJECT_BINARY_DIR}/generated/${name}/empty.cc "// ${name} holds no source yet.\n")
    set(sources ${PROJECT_BINARY_DIR}/generated/${name}/empty.cc)
  endif()
  add_library(hw_${name} STATIC ${sources})
  add_library(hw::${name} ALIAS hw_${name})
  hw_protos(hw_${name} ${PROJECT_SOURCE_DIR}/src ${name})
  if(name MATCHES "^(ops|kernels)$")  # each of whose files has an infer(), or several instruction sets
    set_target_properties(hw_${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  list(TRANSFORM ARGN PREPEND hw_)
  target_link_libraries(hw_${name} PUBLIC ${ARGN} ${HW_LIBRARIES_${name}} PRIVATE $<BUILD_INTERFACE:hw_options>)
  if(HW_PRECOMPILED_${name})
    target_precompile_headers(hw_${name} PRIVATE ${HW_PRECOMPILED_${name}})
  endif()
endfunction()

function(hw_add_modules)
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/modules.txt lines REGEX "^[a-z]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/modules.txt)
  foreach(line ${lines})
    string(REGEX MATCH "^([a-z]+): *(.*)$" _ "${line}")
    set(name ${CMAKE_MATCH_1})
    string(REPLACE " " ";" dependencies "${CMAKE_MATCH_2}")
    hw_module(${name} ${dependencies})
    list(APPEND modules ${name})
  endforeach()
  set(HW_MODULES ${modules} PARENT_SCOPE)
  add_custom_target(layer_check ALL
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/tools/layer_check.cmake
    COMMENT "Checking that includes follow src/modules.txt")
endfunction()
