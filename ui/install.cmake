# cmake -DUI=<this folder> -DNPM=<npm> -DLOCK=<file> -P install.cmake
#
# Brings ui/node_modules to what package-lock.json says, and touches no network where it already is.
# Several build folders share it, so one at a time.
file(LOCK ${LOCK} GUARD PROCESS TIMEOUT 600)
set(installed ${UI}/node_modules/installed-lock.json)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${UI}/package-lock.json ${installed}
  RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
if(NOT differs)
  return()
endif()
execute_process(COMMAND ${NPM} ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
  WORKING_DIRECTORY ${UI} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "npm could not install what ui/package-lock.json names (is its registry reachable?)")
endif()
configure_file(${UI}/package-lock.json ${installed} COPYONLY)
