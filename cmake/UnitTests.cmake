# One GoogleTest program, unit_tests, with one ctest entry per folder of tests/ (unit.base …).
find_package(GTest QUIET)
if(NOT TARGET GTest::gtest OR NOT TARGET GTest::gtest_main)
  message(FATAL_ERROR "The tests need GoogleTest: Debian's package libgtest-dev, "
    "which `scripts/setup build` installs.")
endif()

# The tests decode what the library has encoded.
pkg_check_modules(brotlidec REQUIRED IMPORTED_TARGET libbrotlidec)

# The folders of tests/ that mirror src/.
file(GLOB unit_folders LIST_DIRECTORIES true RELATIVE "${PROJECT_SOURCE_DIR}/src" src/*)
if(NOT TARGET h2server_app)
  list(REMOVE_ITEM unit_folders app config)
endif()
if(H2SERVER_LAB)
  list(APPEND unit_folders lab)
endif()
list(TRANSFORM unit_folders REPLACE "(.+)" "tests/\\1/*.cc" OUTPUT_VARIABLE unit_globs)
file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS ${unit_globs})
if(H2SERVER_SANITIZE STREQUAL "thread")  # these have one thread
  list(FILTER unit_sources EXCLUDE REGEX "/tests/(config|http)/.*_test\\.cc$")
endif()
if(NOT TARGET h2server_app)
  list(FILTER unit_sources EXCLUDE REGEX "/content/(webdav|xml|s3)/")
endif()
if(NOT SQLite3_FOUND)
  list(FILTER unit_sources EXCLUDE REGEX "/notes_test.cc$")
endif()

add_executable(unit_tests ${unit_sources})
target_include_directories(unit_tests PRIVATE src tests)
target_compile_definitions(unit_tests PRIVATE
  H2SERVER_SOURCE_DIR="${PROJECT_SOURCE_DIR}" H2SERVER_BUILD_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(unit_tests PRIVATE
  h2server_core h2server_warnings
  OpenSSL::SSL PkgConfig::nghttp2 PkgConfig::brotlidec PkgConfig::zstd ZLIB::ZLIB fmt::fmt Threads::Threads GTest::gtest
  GTest::gtest_main)
# -O0 and precompiled headers cut the CPU time of the tests' own files to a third (router_test.cc:
# 5 s, with the address sanitizer 9 s). The code under test is optimised.
target_compile_options(unit_tests PRIVATE -O0)
# The helpers of each test lie in a namespace with its file's name.
compile_in_batches(unit_tests 12 ${unit_sources})
target_precompile_headers(unit_tests PRIVATE
  <algorithm> <array> <atomic> <coroutine> <deque> <expected> <filesystem> <fstream> <functional> <map>
  <memory> <mutex> <optional> <random> <set> <span> <string> <string_view> <thread> <unordered_map>
  <variant> <vector> <fmt/format.h> <gtest/gtest.h>)
if(TARGET h2server_app)
  target_link_libraries(unit_tests PRIVATE h2server_app)
endif()
if(SQLite3_FOUND)
  target_include_directories(unit_tests PRIVATE "${PROJECT_SOURCE_DIR}/examples")
  target_link_libraries(unit_tests PRIVATE SQLite::SQLite3)
endif()
if(H2SERVER_LAB)
  target_link_libraries(unit_tests PRIVATE lab_floor_parts lab_load_parts lab_relay_parts)
endif()

# Lists the suites and their files after each link, so that none is missing from ctest.
set(unit_entries "${PROJECT_BINARY_DIR}/unit_tests_entries.cmake")
add_custom_command(TARGET unit_tests POST_BUILD
  COMMAND ${CMAKE_COMMAND}
    -D "program=$<TARGET_FILE:unit_tests>"
    -D "emulator=${CMAKE_CROSSCOMPILING_EMULATOR}"
    -D "tests_dir=${PROJECT_SOURCE_DIR}/tests"
    -D "entries=${unit_entries}"
    -P "${CMAKE_CURRENT_LIST_DIR}/ListUnitTests.cmake"
  BYPRODUCTS "${unit_entries}"
  VERBATIM)

set(unit_include "${PROJECT_BINARY_DIR}/unit_tests_include.cmake")
file(WRITE "${unit_include}"
"if(EXISTS \"${unit_entries}\")
  include(\"${unit_entries}\")
else()
  add_test(unit.not_built \"${CMAKE_COMMAND}\" -E false)
endif()
")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${unit_include}")
