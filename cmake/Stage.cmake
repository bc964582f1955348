# A library needs a source; this stands in where a folder has none yet.
set(EROICA_EMPTY_SOURCE ${PROJECT_BINARY_DIR}/empty.cc)
file(CONFIGURE OUTPUT ${EROICA_EMPTY_SOURCE} CONTENT "// No sources yet.\n")

# Stages where time is spent on data. Elsewhere code that is quick to compile is worth more; under the sanitizers even
# among these, but for what the fuzzers feed.
set(EROICA_HOT_STAGES base trace steps pattern compare diagnose report)
set(EROICA_FUZZED_STAGES base trace pattern)

# eroica_stage(NAME [PUBLIC lib...] [PRIVATE lib...])
#
# Declares the folder src/NAME as the static library eroica_NAME. It sees every
# stage before it in EROICA_STAGES (src/CMakeLists.txt), and only those. Sources
# are picked up by name; a folder without any is an empty library.
function(eroica_stage name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "PUBLIC;PRIVATE")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(NOT sources)
    set(sources ${EROICA_EMPTY_SOURCE})
  endif()

  add_library(eroica_${name} STATIC ${sources})
  target_include_directories(eroica_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(eroica_${name} PUBLIC ${ARG_PUBLIC} PRIVATE eroica_options ${ARG_PRIVATE})
  set(kind cold)
  set(options "")
  if(EROICA_SANITIZE AND NOT name IN_LIST EROICA_FUZZED_STAGES)
    set(options -O0)
  elseif(name IN_LIST EROICA_HOT_STAGES)
    set(kind hot)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(options -O1)
  endif()
  if(EROICA_FUZZ)
    list(APPEND options -fsanitize=fuzzer-no-link)
  endif()
  eroica_precompile(eroica_${name} ${kind} OPTIONS ${options} LIBRARIES fmt::fmt HEADERS ${EROICA_PRECOMPILED})
  foreach(earlier IN LISTS EROICA_STAGES)
    if(earlier STREQUAL name)
      break()
    endif()
    if(TARGET eroica_${earlier})
      target_link_libraries(eroica_${name} PUBLIC eroica_${earlier})
    endif()
  endforeach()
endfunction()
