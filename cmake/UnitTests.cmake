# One GoogleTest program, unit_tests; one ctest entry per folder of tests/ (unit.base, unit.http …).
set(unit_folders base coro io net http content server lab)
list(TRANSFORM unit_folders REPLACE "(.+)" "tests/\\1/*.cc" OUTPUT_VARIABLE unit_globs)
file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS ${unit_globs})

find_package(GTest QUIET)
if(NOT GTest_FOUND)
  # A suite that is left out silently would pass for one that passed.
  add_test(NAME unit.googletest_is_missing COMMAND ${CMAKE_COMMAND} -E false)
  return()
endif()
if(NOT unit_sources)
  return()
endif()

add_executable(unit_tests ${unit_sources})
target_include_directories(unit_tests PRIVATE src tests)
target_compile_definitions(unit_tests PRIVATE
  H2SERVER_SOURCE_DIR="${PROJECT_SOURCE_DIR}" H2SERVER_BUILD_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(unit_tests PRIVATE
  h2server_core h2server_warnings
  OpenSSL::SSL PkgConfig::nghttp2 fmt::fmt Threads::Threads GTest::gtest GTest::gmock
  GTest::gtest_main)
foreach(program floor load relay)
  if(TARGET lab_${program}_parts)
    target_link_libraries(unit_tests PRIVATE lab_${program}_parts)
  endif()
endforeach()

# After each link the program is asked which suites it has, and from which files: no suite can be
# forgotten, and no list is kept by hand.
set(unit_entries "${PROJECT_BINARY_DIR}/unit_tests_entries.cmake")
add_custom_command(TARGET unit_tests POST_BUILD
  COMMAND ${CMAKE_COMMAND}
    -D "program=$<TARGET_FILE:unit_tests>"
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
