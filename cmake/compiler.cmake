# Flags of every target of this project, in one interface library.
add_library(hw_options INTERFACE)
target_include_directories(hw_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(hw_options INTERFACE HW_VERSION="${PROJECT_VERSION}")
target_compile_options(hw_options INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Wimplicit-fallthrough -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false alarms of g++ 12 on "text" + std::string (GCC bug 105651)
  # No fused multiply-adds but those that are written: the same function gives the same bits wherever
  # it is inlined.
  -ffp-contract=off
  # The baseline of the binary; wider instruction sets are chosen at run time (src/kernels).
  -march=x86-64-v2)
if(HW_SANITIZE)
  target_compile_options(hw_options INTERFACE -fsanitize=${HW_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # false alarms of g++ 12 in <regex> once it is instrumented (GCC bug 105562)
  target_link_options(hw_options INTERFACE -fsanitize=${HW_SANITIZE})
endif()

find_program(HW_CCACHE ccache)
if(HW_CCACHE)
  # pch_defines and time_macros: without them ccache does not keep what a precompiled header went into.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    ${HW_CCACHE})
endif()
