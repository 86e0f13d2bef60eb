# cmake -D program=… -D emulator=… -D tests_dir=… -D entries=… -P ListUnitTests.cmake
# Lists the suites of a GoogleTest program and writes one ctest entry per folder of tests/. The emulator
# runs the program where it is one for another machine; else it is empty.
set(listing "${entries}.json")
execute_process(
  COMMAND ${emulator} "${program}" --gtest_list_tests "--gtest_output=json:${listing}"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ "${listing}" json)

set(folders "")
string(JSON suite_count LENGTH "${json}" testsuites)
if(suite_count EQUAL 0)
  message(FATAL_ERROR "${program} has no tests")
endif()
math(EXPR suite_last "${suite_count} - 1")
foreach(i RANGE ${suite_last})
  string(JSON suite GET "${json}" testsuites ${i})
  string(JSON name GET "${suite}" name)
  string(JSON file GET "${suite}" testsuite 0 file)
  string(REPLACE "${tests_dir}/" "" file "${file}")
  string(REGEX REPLACE "/.*" "" folder "${file}")
  list(APPEND folders ${folder})
  string(APPEND filter_${folder} "${name}.*:")
endforeach()
list(REMOVE_DUPLICATES folders)

set(text "")
list(TRANSFORM emulator REPLACE "(.+)" "[[\\1]]")
list(JOIN emulator " " emulator)
foreach(folder IN LISTS folders)
  string(APPEND text
    "add_test([[unit.${folder}]] ${emulator} [[${program}]] [[--gtest_brief=1]] "
    "[[--gtest_filter=${filter_${folder}}]])\n"
    "set_tests_properties([[unit.${folder}]] PROPERTIES LABELS unit TIMEOUT 900)\n")
endforeach()
file(WRITE "${entries}" "${text}")
