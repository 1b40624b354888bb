# What <antichain/antichain.h> gives to whoever includes it: only headers that it names itself, no
# macros but ANTICHAIN_*, nothing of third parties but fmt. Included by install_and_consume.cmake.

set(include_folder "${prefix}/include")
file(WRITE "${SCRATCH_DIR}/probe.cpp" "#include <antichain/antichain.h>\n")
execute_process(
  COMMAND "${CXX_COMPILER}" -std=c++20 -MM "-I${include_folder}" "${SCRATCH_DIR}/probe.cpp"
  OUTPUT_VARIABLE reached COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "${include_folder}/[^ \\\n]+" reached "${reached}")
file(READ "${include_folder}/antichain/antichain.h" umbrella)

set(wrong "")
foreach(path IN LISTS reached)
  file(RELATIVE_PATH header "${include_folder}" "${path}")
  string(FIND "${umbrella}" "#include \"${header}\"" named)
  if(named EQUAL -1 AND NOT header STREQUAL "antichain/antichain.h")
    string(APPEND wrong "${header} is reached, but antichain/antichain.h does not name it\n")
  endif()

  file(STRINGS "${path}" macros REGEX "^[ \t]*#[ \t]*define[ \t]")
  foreach(macro IN LISTS macros)
    if(NOT macro MATCHES "define[ \t]+ANTICHAIN_")
      string(APPEND wrong "${header}: ${macro}\n")
    endif()
  endforeach()

  # Headers of the standard library have neither a folder nor an ending.
  file(STRINGS "${path}" includes REGEX "^[ \t]*#[ \t]*include[ \t]*<")
  foreach(line IN LISTS includes)
    if(NOT line MATCHES "<([a-z_]+|fmt/[a-z]+\\.h)>")
      string(APPEND wrong "${header}: ${line}\n")
    endif()
  endforeach()
endforeach()

list(LENGTH reached count)
if(count LESS 30 OR wrong)
  message(FATAL_ERROR "the public interface (${count} headers) shows too much:\n${wrong}")
endif()
message(STATUS "the public interface: ${count} headers, all named, no stray macro or include")
