# Standard and other heavy headers are compiled once a kind of target, which halves the time of a build. Sources name
# what they use all the same: the preset `clang` builds without.
option(EROICA_PRECOMPILE "Precompile heavy headers" ON)

set(EROICA_PRECOMPILED
  <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <functional> <map> <memory> <mutex> <numeric> <optional>
  <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <utility> <vector> <fmt/format.h>)
set(EROICA_PRECOMPILED_TESTS <map> <optional> <set> <span> <string> <vector>
  <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>)

# eroica_precompile(TARGET KIND OPTIONS option... LIBRARIES library... HEADERS header...)
#
# Targets of one KIND share what is precompiled, so they must agree in all of it.
function(eroica_precompile target kind)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "OPTIONS;LIBRARIES;HEADERS")
  target_compile_options(${target} PRIVATE ${ARG_OPTIONS})
  if(NOT EROICA_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET eroica_precompiled_${kind})
    add_library(eroica_precompiled_${kind} OBJECT ${EROICA_EMPTY_SOURCE})
    target_compile_options(eroica_precompiled_${kind} PRIVATE ${ARG_OPTIONS})
    target_link_libraries(eroica_precompiled_${kind} PRIVATE eroica_options ${ARG_LIBRARIES})
    target_precompile_headers(eroica_precompiled_${kind} PRIVATE ${ARG_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM eroica_precompiled_${kind})
endfunction()
