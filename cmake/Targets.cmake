# The kinds of target in this tree. In DEPENDS a plain word names one of our modules (`graph` is
# antichain::graph); anything with `::` is taken as it is (`fmt::fmt`).

# antichain_name_sources_by_repository(<target>): gives __FILE__ and std::source_location the path
# from the root of the repository, so that what is installed does not name the folder of the build.
function(antichain_name_sources_by_repository target)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>")
endfunction()

# antichain_compile_together(<target> <sources>): compiles so many sources at a time as one (a unity
# build): headers, most of what there is to compile, are read once for all of them. Sources with
# options of their own stay by themselves. scripts/check_layering sees to it that names fit.
function(antichain_compile_together target sources)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${ANTICHAIN_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE ${sources})
endfunction()

# antichain_compile_quickly(<target>): with little optimisation, for programs that run once or compute
# nothing themselves.
function(antichain_compile_quickly target)
  if(NOT ANTICHAIN_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

function(antichain_link target scope)
  foreach(dependency IN LISTS ARGN)
    if(NOT dependency MATCHES "::")
      set(dependency "antichain::${dependency}")
    endif()
    target_link_libraries(${target} ${scope} ${dependency})
  endforeach()
endfunction()

# antichain_use_part(<target> <PART> <library>): links an optional library if it was found and
# defines ANTICHAIN_HAS_<PART>, both for the target's own sources.
function(antichain_use_part target part library)
  if(TARGET ${library})
    target_link_libraries(${target} PRIVATE ${library})
    target_compile_definitions(${target} PRIVATE ANTICHAIN_HAS_${part})
  endif()
endfunction()

# Stops on misspelt or forgotten arguments of the functions below.
macro(antichain_check_arguments function sources)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_${sources})
    message(FATAL_ERROR "${function}(${name}): ${sources} is missing")
  endif()
endmacro()

# antichain_module(<name> SOURCES <file>... [DEPENDS <module>...] [PRIVATE_DEPENDS <module>...])
# Makes the static library antichain_<name>, alias antichain::<name>. DEPENDS is for what the
# module's headers include, PRIVATE_DEPENDS for what only its sources do.
function(antichain_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  antichain_check_arguments(antichain_module SOURCES)
  set(target antichain_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(antichain::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  antichain_set_warnings(${target})
  antichain_name_sources_by_repository(${target})
  antichain_compile_together(${target} 8)
  antichain_link(${target} PUBLIC ${arg_DEPENDS})
  antichain_link(${target} PRIVATE ${arg_PRIVATE_DEPENDS})
endfunction()

# antichain_program(<name> SOURCES <file>... [DEPENDS <module>...])
# Makes the program <build>/bin/<name>.
function(antichain_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  antichain_check_arguments(antichain_program SOURCES)
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  antichain_set_warnings(${name})
  antichain_name_sources_by_repository(${name})
  antichain_compile_together(${name} 16)
  antichain_link(${name} PRIVATE ${arg_DEPENDS})
endfunction()

# antichain_example(<name> SOURCE <file>)
# Makes an example, linked as a user's program is; running it is the test `example/<name>`.
function(antichain_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE" "")
  antichain_check_arguments(antichain_example SOURCE)
  set(target example_${name})
  add_executable(${target} ${arg_SOURCE})
  antichain_set_warnings(${target})
  antichain_compile_quickly(${target})
  antichain_link(${target} PRIVATE antichain)
  add_test(NAME example/${name} COMMAND ${target})
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT 120)
endfunction()

# antichain_test(<name> SOURCES <file>... [DEPENDS <module>...] [LABELS <label>...] [TIMEOUT <s>]
#                [SHARDS <n>] [COMPUTES])
# Makes the GoogleTest program test_<name>. It is one CTest test, because starting a process for each
# of its cases takes longer than most of them; a program that takes long is cut into SHARDS that run
# side by side, `<name>/1` and so on. COMPUTES is for tests that work more than what they test: they
# are optimised. A test is labelled `core` unless it is labelled `slow`; `memory` and `threads` are
# what ASan and TSan run. Target tests-<label> builds a label's programs.
function(antichain_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES" "TIMEOUT;SHARDS" "SOURCES;DEPENDS;LABELS")
  antichain_check_arguments(antichain_test SOURCES)
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  antichain_set_warnings(${target})
  antichain_name_sources_by_repository(${target})
  antichain_compile_together(${target} 12)
  if(NOT arg_COMPUTES)
    antichain_compile_quickly(${target})
  endif()
  antichain_link(${target} PRIVATE ${arg_DEPENDS} GTest::gmock GTest::gtest_main)

  set(labels ${arg_LABELS})
  if(NOT "slow" IN_LIST labels)
    list(APPEND labels core)
  endif()
  foreach(label IN LISTS labels)
    if(NOT TARGET tests-${label})
      add_custom_target(tests-${label})
    endif()
    add_dependencies(tests-${label} ${target})
  endforeach()

  set(cost 0)
  set(timeout 600)  # seconds, for all cases of a process together
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  set(shards 1)
  if(arg_SHARDS)
    set(shards ${arg_SHARDS})
    set(cost 100)  # first of all, so that no core waits for the last one
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(shards GREATER 1)
      math(EXPR number "${shard} + 1")
      set(test ${name}/${number})
    endif()
    add_test(NAME ${test} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${cost}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
