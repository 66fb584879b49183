# hw_options_library(NAME SANITIZERS): the flags of every target of this project, in one interface library.
function(hw_options_library name sanitizers)
  add_library(${name} INTERFACE)
  target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} INTERFACE HW_VERSION="${PROJECT_VERSION}")
  target_compile_options(${name} INTERFACE
    -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
    -Wimplicit-fallthrough -Wno-missing-field-initializers
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>  # several files are no header
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false alarms of g++ 12 on "text" + std::string (GCC bug 105651)
    # No fused multiply-adds but those that are written: the same function gives the same bits wherever
    # it is inlined.
    -ffp-contract=off
    # The baseline of the binary; wider instruction sets are chosen at run time (src/kernels).
    -march=x86-64-v2)
  if(sanitizers)
    target_compile_options(${name} INTERFACE -fsanitize=${sanitizers} -fno-omit-frame-pointer
      -fno-sanitize-recover=all
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # false alarms of g++ 12 in <regex> once it is instrumented (GCC bug 105562)
    target_link_options(${name} INTERFACE -fsanitize=${HW_SANITIZE})
  endif()
endfunction()

hw_options_library(hw_options "${HW_SANITIZE}")

# The tests' own code is compiled for the shortest build, which halves that of the sanitizers: unoptimised, and without
# the checks for undefined behaviour (what they test has them).
string(REPLACE ",undefined" "" HW_TEST_SANITIZE "${HW_SANITIZE}")
hw_options_library(hw_test_options "${HW_TEST_SANITIZE}")
target_compile_options(hw_test_options INTERFACE -O0)

find_program(HW_CCACHE ccache)
if(HW_CCACHE)
  # pch_defines and time_macros: without them ccache does not keep what a precompiled header went into.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    ${HW_CCACHE})
endif()
