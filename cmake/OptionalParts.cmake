# Parts that Antichain uses when they are there. For each, ANTICHAIN_WITH_<PART> is
#   AUTO  use it if found (the default),
#   ON    stop when it is missing,
#   OFF   do not look for it;
# and one line at configure time says what came of it.

include(CheckCXXSourceCompiles)

# antichain_optional_part(<PART> <title> <serves> [NOT_USED_YET])
# Calls antichain_find_<PART>, which sets `found` and `version`, and reports. `serves` completes
# both "used for ..." and "lost: ...".
function(antichain_optional_part part title serves)
  set(option ANTICHAIN_WITH_${part})
  set(${option} AUTO CACHE STRING "Use ${title}: AUTO, ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${${option}}" wanted)
  if(NOT wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "antichain: ${option} is '${${option}}'; use AUTO, ON or OFF")
  endif()

  set(found FALSE)
  set(version "")
  set(state "switched off")
  if(NOT wanted STREQUAL "OFF")
    set(state "not found")
    set(CMAKE_MESSAGE_LOG_LEVEL WARNING)  # our line says it all
    cmake_language(CALL antichain_find_${part})
    unset(CMAKE_MESSAGE_LOG_LEVEL)
  endif()

  if(wanted STREQUAL "ON" AND NOT found)
    message(FATAL_ERROR "antichain: ${title} not found, but ${option} is ON")
  elseif("NOT_USED_YET" IN_LIST ARGN)
    if(found)
      string(STRIP "${version} found" state)
    endif()
    message(STATUS "antichain: ${title} ${state}: nothing in this version uses it yet (${serves})")
  elseif(found)
    string(STRIP "${title} ${version}" named)
    message(STATUS "antichain: ${named}: used for ${serves}")
  else()
    message(STATUS "antichain: ${title} ${state}; lost: ${serves}")
  endif()
endfunction()

# The finders are macros: they answer in variables of the function above.

# Target antichain::blas: a BLAS with the C interface, OpenBLAS if there is one.
macro(antichain_find_BLAS)
  foreach(BLA_VENDOR OpenBLAS All)
    if(NOT BLAS_FOUND)
      find_package(BLAS QUIET)
      set(vendor ${BLA_VENDOR})
      set(version "(${vendor})")
    endif()
  endforeach()
  find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
  mark_as_advanced(CBLAS_INCLUDE_DIR)
  if(BLAS_FOUND AND CBLAS_INCLUDE_DIR)
    # Some BLAS libraries lack the C interface, whatever header is installed.
    set(CMAKE_REQUIRED_INCLUDES "${CBLAS_INCLUDE_DIR}")
    set(CMAKE_REQUIRED_LIBRARIES BLAS::BLAS)
    check_cxx_source_compiles(
      "#include <cblas.h>
       int main() { cblas_dscal(0, 1.0, nullptr, 1); }" ANTICHAIN_CBLAS_LINKS)
    set(found ${ANTICHAIN_CBLAS_LINKS})
    # The cpu backend cuts the work itself and asks OpenBLAS, which has threads, to use none.
    check_cxx_source_compiles(
      "#include <cblas.h>
       int main() { openblas_set_num_threads(1); }" ANTICHAIN_OPENBLAS_LINKS)
  endif()
  if(found)
    add_library(antichain_blas INTERFACE)
    add_library(antichain::blas ALIAS antichain_blas)
    # An installed Antichain has to find the same BLAS again, but not its header (Package.cmake).
    set_target_properties(antichain_blas PROPERTIES EXPORT_NAME blas ANTICHAIN_BLA_VENDOR ${vendor})
    target_include_directories(antichain_blas SYSTEM INTERFACE
      "$<BUILD_INTERFACE:${CBLAS_INCLUDE_DIR}>")
    target_link_libraries(antichain_blas INTERFACE BLAS::BLAS)
    if(ANTICHAIN_OPENBLAS_LINKS)
      target_compile_definitions(antichain_blas INTERFACE
        "$<BUILD_INTERFACE:ANTICHAIN_BLAS_IS_OPENBLAS>")
    endif()
  endif()
endmacro()

# Target antichain::onednn. The cpu backend, which has threads of its own, tells oneDNN through OpenMP
# to use one thread per call, so both must be there, and oneDNN must be of the kind that listens.
macro(antichain_find_ONEDNN)
  find_package(OpenMP QUIET COMPONENTS CXX)
  # Its package stops with an error where it was built with OpenCL and OpenCL's files are missing.
  find_path(ANTICHAIN_DNNL_CONFIG dnnl-config.cmake HINTS "${dnnl_DIR}" ENV dnnl_DIR
    PATH_SUFFIXES "lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/dnnl" lib64/cmake/dnnl lib/cmake/dnnl)
  mark_as_advanced(ANTICHAIN_DNNL_CONFIG)
  set(needs_opencl "")
  if(ANTICHAIN_DNNL_CONFIG)
    file(STRINGS "${ANTICHAIN_DNNL_CONFIG}/dnnl-config.cmake" needs_opencl
      REGEX "set\\(DNNL_GPU_RUNTIME \"OCL\"")
  endif()
  if(needs_opencl)
    find_package(OpenCL QUIET)
  endif()
  if(NOT needs_opencl OR OpenCL_FOUND)
    find_package(dnnl CONFIG QUIET)
  endif()
  set(version "${dnnl_VERSION}")
  if(dnnl_FOUND AND TARGET OpenMP::OpenMP_CXX AND DNNL_CPU_RUNTIME STREQUAL "OMP")
    set(found TRUE)
    add_library(antichain_onednn INTERFACE)
    add_library(antichain::onednn ALIAS antichain_onednn)
    set_target_properties(antichain_onednn PROPERTIES EXPORT_NAME onednn)
    target_link_libraries(antichain_onednn INTERFACE DNNL::dnnl OpenMP::OpenMP_CXX)
  endif()
endmacro()

# The toolkit only: kernels are compiled at run time, by NVRTC, so no source is CUDA's language.
macro(antichain_find_CUDA)
  find_package(CUDAToolkit 13.0 QUIET)
  if(TARGET CUDA::cudart_static AND TARGET CUDA::nvrtc AND TARGET CUDA::cublasLt)
    set(found TRUE)
  endif()
  set(version "${CUDAToolkit_VERSION}")
  set(ANTICHAIN_HAS_CUDA ${found} PARENT_SCOPE)
endmacro()

macro(antichain_find_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  set(found ${MPI_CXX_FOUND})
  set(version "${MPI_CXX_VERSION}")
endmacro()

# Target antichain::llvm: the one shared library. Asked by llvm-config: LLVM's own package file stops
# the configuration when a part of it that nobody needs is missing.
macro(antichain_find_LLVM)
  find_program(ANTICHAIN_LLVM_CONFIG NAMES llvm-config-19 llvm-config-18)
  mark_as_advanced(ANTICHAIN_LLVM_CONFIG)
  if(ANTICHAIN_LLVM_CONFIG)
    execute_process(COMMAND "${ANTICHAIN_LLVM_CONFIG}" --version OUTPUT_VARIABLE version
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND "${ANTICHAIN_LLVM_CONFIG}" --includedir OUTPUT_VARIABLE include
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND "${ANTICHAIN_LLVM_CONFIG}" --libdir OUTPUT_VARIABLE libraries
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX MATCH "^[0-9]+" major "${version}")
    find_library(ANTICHAIN_LLVM_LIBRARY NAMES LLVM-${major} LLVM HINTS "${libraries}")
    mark_as_advanced(ANTICHAIN_LLVM_LIBRARY)
    if(ANTICHAIN_LLVM_LIBRARY AND EXISTS "${include}/llvm/ExecutionEngine/Orc/LLJIT.h")
      set(found TRUE)
      add_library(antichain_llvm INTERFACE)
      add_library(antichain::llvm ALIAS antichain_llvm)
      set_target_properties(antichain_llvm PROPERTIES EXPORT_NAME llvm)
      target_include_directories(antichain_llvm SYSTEM INTERFACE "$<BUILD_INTERFACE:${include}>")
      # Distributions link LLVM-<major> where every linker looks; an installed Antichain needs that.
      target_link_libraries(antichain_llvm INTERFACE "$<BUILD_INTERFACE:${ANTICHAIN_LLVM_LIBRARY}>"
        "$<INSTALL_INTERFACE:LLVM-${major}>")
    endif()
  endif()
endmacro()

macro(antichain_find_ZLIB)
  find_package(ZLIB QUIET)
  set(found ${ZLIB_FOUND})
  set(version "${ZLIB_VERSION_STRING}")
endmacro()

macro(antichain_find_LZMA)
  find_package(LibLZMA QUIET)
  set(found ${LIBLZMA_FOUND})
  set(version "${LIBLZMA_VERSION_STRING}")
endmacro()

macro(antichain_find_CURL)
  find_package(CURL QUIET)
  set(found ${CURL_FOUND})
  set(version "${CURL_VERSION_STRING}")
endmacro()

antichain_optional_part(BLAS "BLAS" "fast matrix products and convolutions in the cpu backend")
antichain_optional_part(ONEDNN "oneDNN" "fast matrix products and convolutions in the cpu backend")
antichain_optional_part(LLVM "LLVM" "compiled code for fused element-wise ops in the cpu backend")
antichain_optional_part(ZLIB "zlib" "reading data packed with gzip")
antichain_optional_part(LZMA "liblzma" "reading data packed with xz")
antichain_optional_part(CURL "libcurl" "downloading data sets")
antichain_optional_part(CUDA "CUDA" "the cuda backend")
antichain_optional_part(MPI "MPI" "training on several machines" NOT_USED_YET)
