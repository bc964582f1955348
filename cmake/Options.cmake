# Language level, warnings, sanitizers, reproducible output, compiler cache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(THREADS_PREFER_PTHREAD_FLAG ON)

# Enough debug information for a stack trace with lines, and quick to compile.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")

# The same source gives the same bytes, wherever it is checked out.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -Werror=date-time)

if(EROICA_LTO)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

if(EROICA_SANITIZE)
  add_compile_options(-fsanitize=${EROICA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${EROICA_SANITIZE})
endif()
if(EROICA_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

# eroica_options: what our own code is compiled with (generated code is not).
add_library(eroica_options INTERFACE)
target_compile_options(eroica_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of gcc 12: the first three inside std::string at -O3, the last about designated initialisers that leave
  # members at their defaults.
  target_compile_options(eroica_options INTERFACE
    -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-missing-field-initializers)
endif()
target_compile_definitions(eroica_options INTERFACE EROICA_VERSION="${PROJECT_VERSION}")

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(EROICA_CCACHE ccache)
  if(EROICA_CCACHE)
    # A cache that cannot be written (read-only home) would fail every compile.
    execute_process(COMMAND ${EROICA_CCACHE} --show-config
      RESULT_VARIABLE ccache_result OUTPUT_QUIET ERROR_QUIET)
    if(ccache_result EQUAL 0)
      # It caches nothing that uses precompiled headers unless it may trust what they define.
      set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${EROICA_CCACHE})
      set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
      set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
    endif()
  endif()
endif()
