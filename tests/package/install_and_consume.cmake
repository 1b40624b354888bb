# Installs the current build, moves what was installed, builds and runs examples/cmake_project
# against it, and looks at what the package shows of itself. The variables come from CMakeLists.txt beside this file.
cmake_minimum_required(VERSION 3.25)

function(run)
  list(JOIN ARGN " " command)
  message(STATUS "${command}")
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${SCRATCH_DIR}")
set(prefix "${SCRATCH_DIR}/moved")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --config "${CONFIG}"
  --prefix "${SCRATCH_DIR}/installed")
file(RENAME "${SCRATCH_DIR}/installed" "${prefix}")

# No installed file may know where it was built; debugging information has to, so libraries that
# contain it are left out.
set(left_out)
if(NOT CONFIG MATCHES "^(Release|MinSizeRel)$" OR CXX_FLAGS MATCHES "-g")
  set(left_out --binary-files=without-match)
endif()
execute_process(
  COMMAND grep -rlF ${left_out} -e "${SOURCE_DIR}" -e "${BUILD_DIR}" "${prefix}"
  OUTPUT_VARIABLE offenders RESULT_VARIABLE grep_result)
if(NOT grep_result EQUAL 1)  # 1: no such line
  message(FATAL_ERROR "installed files contain paths of this build:\n${offenders}")
endif()

# check_version(<requested> <accepted>): asks the installed package as find_package() does.
file(GLOB_RECURSE version_file "${prefix}/*/antichain-config-version.cmake")
function(check_version requested accepted)
  set(PACKAGE_FIND_VERSION ${requested})
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" unused ${requested})
  set(PACKAGE_FIND_VERSION_MAJOR ${CMAKE_MATCH_1})
  set(PACKAGE_FIND_VERSION_MINOR ${CMAKE_MATCH_2})
  include("${version_file}")
  if((PACKAGE_VERSION_COMPATIBLE AND NOT accepted) OR (accepted AND NOT PACKAGE_VERSION_COMPATIBLE))
    message(FATAL_ERROR "${requested} asked of ${PACKAGE_VERSION}: accepted should be ${accepted}")
  endif()
endfunction()
string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" minor_version ${VERSION})
math(EXPR next_minor "${CMAKE_MATCH_2} + 1")
check_version(${minor_version} TRUE)
check_version(${VERSION} TRUE)
check_version(${CMAKE_MATCH_1}.${next_minor} FALSE)

list(JOIN PREFIX_PATH ":" prefix_path)
set(ENV{CMAKE_PREFIX_PATH} "${prefix}:${prefix_path}:$ENV{CMAKE_PREFIX_PATH}")

# configure(<source folder> <build folder> <more of execute_process()>)
function(configure source build)
  execute_process(COMMAND "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${source}" -B "${build}"
    "-DCMAKE_BUILD_TYPE=${CONFIG}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    ${ARGN})
  return(PROPAGATE result messages)
endfunction()

# build_and_run(<source folder> <program> <more arguments of the configuration>)
function(build_and_run source program)
  set(build "${SCRATCH_DIR}/${program}")
  configure("${source}" "${build}" ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  run("${CMAKE_COMMAND}" --build "${build}" --config "${CONFIG}")
  # Generators for several configurations put the program into a folder per configuration.
  find_program(${program} ${program} PATHS "${build}" "${build}/${CONFIG}" NO_DEFAULT_PATH REQUIRED)
  run("${${program}}")
endfunction()

build_and_run("${SOURCE_DIR}/examples/cmake_project" slope)
if(TRAINING)
  build_and_run("${CMAKE_CURRENT_LIST_DIR}/projects/training" training
    "-DEXAMPLE=${SOURCE_DIR}/examples/10_custom_dataset.cpp")
endif()
if(PROGRAM)
  run("${prefix}/bin/${PROGRAM}" engines)
endif()

include("${CMAKE_CURRENT_LIST_DIR}/check_headers.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/check_exports.cmake")

configure("${CMAKE_CURRENT_LIST_DIR}/projects/future_version" "${SCRATCH_DIR}/future"
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE messages)
string(REGEX REPLACE "[ \n]+" " " messages "${messages}")
if(result EQUAL 0 OR NOT messages MATCHES "compatible with requested version \"9.9\""
    OR NOT messages MATCHES "version: ${VERSION}")
  message(FATAL_ERROR "version 9.9 was asked for; the answer (${result}): ${messages}")
endif()
