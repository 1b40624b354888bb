# Runs PROGRAM and compares what it prints with the file EXPECTED. With WILDCARDS, "…" in the file
# stands for any text within a line. COMMAND_ARGS, separated by spaces, go to the program.
cmake_minimum_required(VERSION 3.25)

separate_arguments(COMMAND_ARGS)
execute_process(COMMAND "${PROGRAM}" ${COMMAND_ARGS}
  OUTPUT_VARIABLE printed ERROR_VARIABLE errors RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} failed (${result}):\n${printed}${errors}")
endif()
file(READ "${EXPECTED}" expected)

if(printed STREQUAL expected)
  return()
endif()
if(WILDCARDS)
  string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" pattern "${expected}")
  string(REPLACE "…" "[^\n]*" pattern "${pattern}")
  if(printed MATCHES "^${pattern}$")
    return()
  endif()
endif()
message(FATAL_ERROR "${EXPECTED} should read:\n${printed}----\nbut reads:\n${expected}----\n${HINT}")
