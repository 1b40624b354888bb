# What every target of this build shares: language, build type, launcher, sanitizers, output folders.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# What one clone compiled, others find: paths below the repository are hashed relative to it, and those
# that messages contain begin there (antichain_name_sources_by_repository).
find_program(ANTICHAIN_CCACHE ccache)
mark_as_advanced(ANTICHAIN_CCACHE)
if(ANTICHAIN_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
    CCACHE_NOHASHDIR=1 "CCACHE_IGNOREOPTIONS=-ffile-prefix-map=*" "${ANTICHAIN_CCACHE}")
endif()

# The first of these that is there links a program in a quarter of the time of GNU's own.
include(CheckLinkerFlag)
foreach(linker lld gold)
  check_linker_flag(CXX -fuse-ld=${linker} ANTICHAIN_LINKS_WITH_${linker})
  if(ANTICHAIN_LINKS_WITH_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

if(ANTICHAIN_SANITIZE)
  # For the whole build, GoogleTest from sources included, so that no report comes from a seam.
  add_compile_options(-fsanitize=${ANTICHAIN_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ANTICHAIN_SANITIZE})
endif()

# antichain_set_warnings(<target>): the warnings every source of ours is compiled with.
function(antichain_set_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
    -Wzero-as-null-pointer-constant
    # Designated initialisers leave fields out on purpose.
    -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Plain -Wshadow of GCC also forbids `Point(int x) : x(x) {}`; -Wrestrict is wrong about
    # std::string's operator+ in GCC 12 (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wshadow=local -Wno-restrict)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      # The first takes every reference returned by a function that is given a handle for one into
      # it; the others are wrong about copies of a length that only the run knows (GCC bug 107852).
      target_compile_options(${target} PRIVATE -Wno-dangling-reference -Wno-array-bounds
        -Wno-stringop-overflow)
    endif()
    if(ANTICHAIN_SANITIZE)
      # The sanitizers' checks hide initialisations from these two.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-stringop-overflow)
    endif()
  else()
    target_compile_options(${target} PRIVATE -Wshadow)
  endif()
  if(ANTICHAIN_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
