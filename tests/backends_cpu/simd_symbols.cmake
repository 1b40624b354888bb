# Shows that objects compiled for one instruction-set level define no function that the linker could
# take for a copy of somebody else's: a weak symbol must have its level in its name.
# Input: NM, ARCHIVE, LEVELS.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${NM}" --demangle "${ARCHIVE}"
  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "," listing "${listing}")
string(REPLACE "[" "(" listing "${listing}")  # brackets hide the ends of lines from CMake's lists
string(REPLACE "]" ")" listing "${listing}")
string(REPLACE "\n" ";" lines "${listing}")

set(level "")
set(objects 0)
foreach(line IN LISTS lines)
  if(line MATCHES "^[^ ]+\\.o:$")
    set(level "")
    if(line MATCHES "\\.([a-z0-9]+)\\.cpp\\.o:$" AND CMAKE_MATCH_1 IN_LIST LEVELS)
      set(level "${CMAKE_MATCH_1}")
      math(EXPR objects "${objects} + 1")
    endif()
  elseif(level AND line MATCHES "^[0-9a-f]+ [WVuwv] " AND NOT line MATCHES "::${level}::")
    message(SEND_ERROR "an object of level ${level} defines: ${line}")
  endif()
endforeach()

list(LENGTH LEVELS levels)
if(objects EQUAL 0 AND levels GREATER 1)
  message(FATAL_ERROR "found no object of a level above the baseline in ${ARCHIVE}")
endif()
message(STATUS "looked into ${objects} objects")
