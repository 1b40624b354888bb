# Sources that are compiled once per instruction-set level; antichain/backends/cpu/simd/level.h says
# how they are written and chosen between.

set(ANTICHAIN_SIMD_LEVELS baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND ANTICHAIN_SIMD_LEVELS avx2 avx512)
endif()

# The compiler makes the vectors, at any build type. Nobody reads errno or the floating-point
# exceptions, which would forbid to compute both sides of a condition; products and sums are fused
# only where the source says so, so that an element's value does not depend on its position.
set(ANTICHAIN_SIMD_OPTIONS -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off)
if(ANTICHAIN_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Stack frames that outlive their function are not aligned for vectors (GCC bug 110027).
  list(APPEND ANTICHAIN_SIMD_OPTIONS --param=asan-use-after-return=0)
endif()
set(ANTICHAIN_SIMD_OPTIONS_baseline)
set(ANTICHAIN_SIMD_OPTIONS_avx2 -mavx2 -mfma -mf16c)
set(ANTICHAIN_SIMD_OPTIONS_avx512 ${ANTICHAIN_SIMD_OPTIONS_avx2}
  -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)

# antichain_simd_sources(<target> <file>...): adds each source once per level. Levels above the
# baseline compile a file <name>.<level>.cpp that includes the source, because a source can be
# in a target only once; its object has the level in its name.
function(antichain_simd_sources target)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET source STEM stem)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE include)
    foreach(level IN LISTS ANTICHAIN_SIMD_LEVELS)
      set(file "${path}")
      if(NOT level STREQUAL "baseline")
        set(file "${CMAKE_CURRENT_BINARY_DIR}/simd/${stem}.${level}.cpp")
        file(CONFIGURE OUTPUT "${file}" CONTENT "#include \"@include@\"\n" @ONLY)
      endif()
      target_sources(${target} PRIVATE "${file}")
      set_source_files_properties("${file}" PROPERTIES
        COMPILE_DEFINITIONS ANTICHAIN_SIMD_LEVEL=${level}
        COMPILE_OPTIONS "${ANTICHAIN_SIMD_OPTIONS};${ANTICHAIN_SIMD_OPTIONS_${level}}")
    endforeach()
  endforeach()
endfunction()
