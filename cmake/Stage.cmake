# A library needs a source; this stands in where a folder has none yet.
set(EROICA_EMPTY_SOURCE ${PROJECT_BINARY_DIR}/empty.cc)
file(CONFIGURE OUTPUT ${EROICA_EMPTY_SOURCE} CONTENT "// No sources yet.\n")

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
  if(EROICA_FUZZ)
    target_compile_options(eroica_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  foreach(earlier IN LISTS EROICA_STAGES)
    if(earlier STREQUAL name)
      break()
    endif()
    if(TARGET eroica_${earlier})
      target_link_libraries(eroica_${name} PUBLIC eroica_${earlier})
    endif()
  endforeach()
endfunction()
