# bench/*.cc becomes an executable each, by google-benchmark unless it has a main of its own; `--target bench` builds
# them.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cc)
add_custom_target(bench)
if(sources)
  eroica_require(benchmark 1.7)
endif()
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE eroica_options eroica_cli benchmark::benchmark_main)
  set_property(TARGET ${name} PROPERTY RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  add_dependencies(bench ${name})
endforeach()
