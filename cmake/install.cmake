# What `cmake --install` puts where: the program, the modules as static libraries, the public headers with the module
# headers they include, and a CMake package: find_package(headwater), then link headwater::headwater.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The whole library in one name; `cli` is the program's.
add_library(hw_headwater INTERFACE)
target_link_libraries(hw_headwater INTERFACE hw_finetune)
target_include_directories(hw_headwater INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/headwater/src>)
target_compile_features(hw_headwater INTERFACE cxx_std_20)
set_target_properties(hw_headwater PROPERTIES EXPORT_NAME headwater)

set(modules hw_headwater)
foreach(name ${HW_MODULES})
  if(NOT name STREQUAL cli)
    list(APPEND modules hw_${name})
    install(DIRECTORY src/${name} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headwater/src
      FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
  endif()
endforeach()
install(DIRECTORY include/headwater DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS headwater RUNTIME)
install(TARGETS ${modules} EXPORT headwater ARCHIVE)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/headwater)
install(EXPORT headwater NAMESPACE headwater:: FILE headwater-targets.cmake DESTINATION ${package})
write_basic_package_version_file(headwater-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/headwater-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/headwater-config-version.cmake
  DESTINATION ${package})
