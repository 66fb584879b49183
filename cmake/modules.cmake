# hw_add_modules(): one static library hw::NAME per line of src/modules.txt, and the layer check over all includes.
# A .proto file of a module becomes <module>/<file>.pb.h, as an include sees it.
function(hw_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT sources)
    file(WRITE ${PROJECT_BINARY_DIR}/generated/${name}/empty.cc "// ${name} holds no source yet.\n")
    set(sources ${PROJECT_BINARY_DIR}/generated/${name}/empty.cc)
  endif()
  add_library(hw_${name} STATIC ${sources})
  add_library(hw::${name} ALIAS hw_${name})
  file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.proto)
  foreach(proto ${protos})
    get_filename_component(stem ${proto} NAME_WE)
    set(out ${PROJECT_BINARY_DIR}/generated/${name}/${stem}.pb)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/${name})
    add_custom_command(OUTPUT ${out}.cc ${out}.h
      COMMAND protobuf::protoc --cpp_out=lite:${PROJECT_BINARY_DIR}/generated
              -I ${PROJECT_SOURCE_DIR}/src ${proto}
      DEPENDS ${proto})
    set_source_files_properties(${out}.cc PROPERTIES COMPILE_OPTIONS "-w")
    target_sources(hw_${name} PRIVATE ${out}.cc)
  endforeach()
  if(protos)
    target_include_directories(hw_${name} SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/generated)
  endif()
  list(TRANSFORM ARGN PREPEND hw_)
  target_link_libraries(hw_${name} PUBLIC ${ARGN} ${HW_LIBRARIES_${name}} PRIVATE hw_options)
endfunction()

function(hw_add_modules)
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/modules.txt lines REGEX "^[a-z]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/modules.txt)
  foreach(line ${lines})
    string(REGEX MATCH "^([a-z]+): *(.*)$" _ "${line}")
    set(name ${CMAKE_MATCH_1})
    string(REPLACE " " ";" dependencies "${CMAKE_MATCH_2}")
    hw_module(${name} ${dependencies})
  endforeach()
  add_custom_target(layer_check ALL
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/tools/layer_check.cmake
    COMMENT "Checking that includes follow src/modules.txt")
endfunction()
