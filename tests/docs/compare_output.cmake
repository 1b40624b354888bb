# Runs PROGRAM in FOLDER, which is made anew, and compares what it prints with the file EXPECTED. With
# WILDCARDS, "…" in the file stands for any text within a line, and alone on a line for any lines.
# COMMAND_ARGS, separated by spaces, go to the program; commands that it calls are looked for in
# COMMANDS first.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
set(ENV{PATH} "${COMMANDS}:$ENV{PATH}")
separate_arguments(COMMAND_ARGS)
execute_process(COMMAND "${PROGRAM}" ${COMMAND_ARGS} WORKING_DIRECTORY "${FOLDER}"
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
  string(REGEX REPLACE "(^|\n)…\n" "\\1([^\n]*\n)*" pattern "${pattern}")
  string(REPLACE "…" "[^\n]*" pattern "${pattern}")
  if(printed MATCHES "^${pattern}$")
    return()
  endif()
endif()
message(FATAL_ERROR "${EXPECTED} should read:\n${printed}----\nbut reads:\n${expected}----\n${HINT}")
