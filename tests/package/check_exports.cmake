# A shared library with Antichain inside exports its own function and nothing of ours. What the
# compiler's own libraries leave behind is not ours to hide.
# Included by install_and_consume.cmake.

configure("${CMAKE_CURRENT_LIST_DIR}/projects/shared_library" "${SCRATCH_DIR}/shared"
  COMMAND_ERROR_IS_FATAL ANY)
run("${CMAKE_COMMAND}" --build "${SCRATCH_DIR}/shared" --config "${CONFIG}")

find_program(nm nm)
if(NOT nm)
  message(STATUS "there is no nm here: exports are not checked")
  return()
endif()
file(GLOB_RECURSE library "${SCRATCH_DIR}/shared/libslope.*")
execute_process(COMMAND "${nm}" -D --defined-only "${library}"
  OUTPUT_VARIABLE exported COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" exported "${exported}")
set(strangers "")
foreach(symbol IN LISTS exported)
  if(symbol MATCHES "antichain|3fmt")
    string(APPEND strangers "${symbol}\n")
  endif()
endforeach()
if(NOT exported MATCHES "slope_of_tanh" OR strangers)
  message(FATAL_ERROR "${library} exports what is not its own:\n${strangers}")
endif()
