# The libraries Antichain builds on. Required: fmt, threads, GoogleTest when tests are built.
# Without nlohmann_json there is no trainer and no recipe, without CLI11 too no command-line program;
# without dlpack no exchange of tensors with other frameworks.

find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)

set(ANTICHAIN_BUILD_TRAINING ${nlohmann_json_FOUND})
if(NOT ANTICHAIN_BUILD_TRAINING)
  message(STATUS "antichain: nlohmann_json not found; lost: the trainer, the recipes, the program")
endif()
set(ANTICHAIN_BUILD_PROGRAM OFF)
if(ANTICHAIN_BUILD_TRAINING AND CLI11_FOUND)
  set(ANTICHAIN_BUILD_PROGRAM ON)
elseif(ANTICHAIN_BUILD_TRAINING)
  message(STATUS "antichain: CLI11 not found; lost: the program `antichain`")
endif()

find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h)
mark_as_advanced(DLPACK_INCLUDE_DIR)
if(DLPACK_INCLUDE_DIR)
  add_library(dlpack::dlpack INTERFACE IMPORTED)
  target_include_directories(dlpack::dlpack INTERFACE "${DLPACK_INCLUDE_DIR}")
else()
  message(STATUS "antichain: dlpack not found; lost: sharing tensors with other frameworks")
endif()

if(ANTICHAIN_BUILD_TESTS)
  # Debian puts GoogleMock into a package of its own; Ubuntu's `googletest` holds sources only.
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    find_path(GOOGLETEST_SOURCE_DIR googlemock/include/gmock/gmock.h
      PATHS /usr/src/googletest NO_DEFAULT_PATH)
    mark_as_advanced(GOOGLETEST_SOURCE_DIR)
    if(GOOGLETEST_SOURCE_DIR)
      set(INSTALL_GTEST OFF)
      add_subdirectory("${GOOGLETEST_SOURCE_DIR}" googletest EXCLUDE_FROM_ALL SYSTEM)
      if(NOT TARGET GTest::gmock)  # older sources define the plain names only
        add_library(GTest::gtest_main ALIAS gtest_main)
        add_library(GTest::gmock ALIAS gmock)
      endif()
    endif()
  endif()
  if(NOT TARGET GTest::gtest_main OR NOT TARGET GTest::gmock)
    message(FATAL_ERROR "antichain: GoogleTest with GoogleMock not found: install libgmock-dev or "
      "googletest, or configure with -DANTICHAIN_BUILD_TESTS=OFF")
  endif()
  include(GoogleTest)
endif()
