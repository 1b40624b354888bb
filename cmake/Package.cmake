# What `cmake --install` lays down: the libraries and headers of antichain/, the program, and a
# CMake package that gives antichain::antichain to other projects. All paths in it are relative.
#
# Every library is installed on its own, under the name it has in this build (antichain::graph);
# users link antichain::antichain, which stands for what antichain/antichain.h needs. Recipes are
# not installed: they are inside the program.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(libraries)
foreach(folder IN LISTS folders)
  if(folder MATCHES "^antichain/")
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND libraries ${targets})
  endif()
endforeach()

set(bla_vendor "")
if(TARGET antichain_blas)
  list(APPEND libraries antichain_blas)
  get_target_property(bla_vendor antichain_blas ANTICHAIN_BLA_VENDOR)
endif()
set(with_onednn FALSE)
if(TARGET antichain_onednn)
  list(APPEND libraries antichain_onednn)
  set(with_onednn TRUE)
endif()
if(TARGET antichain_llvm)
  list(APPEND libraries antichain_llvm)
endif()
set(with_cuda FALSE)
if(ANTICHAIN_HAS_CUDA)
  set(with_cuda TRUE)
endif()
# The packages of the optional parts that the data module links.
set(data_packages)
foreach(library IN ITEMS ZLIB::ZLIB LibLZMA::LibLZMA CURL::libcurl)
  if(TARGET ${library})
    string(REGEX REPLACE "::.*" "" package ${library})
    list(APPEND data_packages ${package})
  endif()
endforeach()
math(EXPR next_fmt_major "${fmt_VERSION_MAJOR} + 1")

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/antichain")
install(TARGETS ${libraries} EXPORT antichain-targets
  ARCHIVE COMPONENT antichain_Development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY antichain DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT antichain_Development
  FILES_MATCHING PATTERN "*.h")
install(EXPORT antichain-targets NAMESPACE antichain:: DESTINATION "${package_folder}"
  COMPONENT antichain_Development)

configure_package_config_file(cmake/antichain-config.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/antichain-config.cmake"
  INSTALL_DESTINATION "${package_folder}"
  NO_SET_AND_CHECK_MACRO)
# While the major version is 0, a new minor version may change the interface.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/antichain-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/antichain-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/antichain-config-version.cmake"
  DESTINATION "${package_folder}" COMPONENT antichain_Development)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/antichain"
  COMPONENT antichain_Development)

if(ANTICHAIN_BUILD_PROGRAM)
  install(TARGETS antichain RUNTIME COMPONENT antichain_Runtime)
endif()
