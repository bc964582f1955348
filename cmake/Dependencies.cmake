# Third-party libraries, all from Debian 12 (docs/dependencies.md says which and why).
# A missing one stops here with the command that installs it.

macro(eroica_require package version)
  find_package(${package} ${version} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found. tools/setup.sh installs what the build needs.")
  endif()
endmacro()

# eroica_library(NAME HEADER LIB): an imported target eroica::NAME for a library
# that brings no CMake files of its own. LIB may be empty (headers only).
function(eroica_library name header lib)
  find_path(EROICA_${name}_INCLUDE ${header})
  if(NOT EROICA_${name}_INCLUDE)
    message(FATAL_ERROR "<${header}> was not found. tools/setup.sh installs what the build needs.")
  endif()
  add_library(eroica::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(eroica::${name} SYSTEM INTERFACE ${EROICA_${name}_INCLUDE})
  if(lib)
    find_library(EROICA_${name}_LIB ${lib})
    if(NOT EROICA_${name}_LIB)
      message(FATAL_ERROR "lib${lib} was not found. tools/setup.sh installs what the build needs.")
    endif()
    target_link_libraries(eroica::${name} INTERFACE ${EROICA_${name}_LIB})
  endif()
endfunction()

eroica_require(Threads "")
eroica_require(fmt 9)
eroica_require(simdjson 3)
eroica_require(nlohmann_json 3.11)
eroica_require(spdlog 1.10)
eroica_require(CLI11 2.1)
eroica_require(Protobuf 3.21)
eroica_library(isal isa-l.h isal)
eroica_library(zstd zstd.h zstd)
eroica_library(zlib zlib.h z)  # tests only: the oracle of our gzip reader
eroica_library(xxhash xxhash.h "")
eroica_library(boost boost/unordered/unordered_flat_map.hpp "")
eroica_library(tomlplusplus toml++/toml.h "")
eroica_library(re2 re2/re2.h re2)
eroica_library(sqlite3 sqlite3.h sqlite3)
eroica_library(crypto openssl/evp.h crypto)
