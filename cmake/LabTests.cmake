# tests/lab/test_NAME.py → the ctest entry lab.NAME, run by the Python of the lab's own packages. One
# at a time: they share the processors that they pin servers and load to.
set(lab_python "${PROJECT_SOURCE_DIR}/build/tools/lab/bin/python")
file(GLOB lab_tests CONFIGURE_DEPENDS tests/lab/test_*.py)
foreach(file IN LISTS lab_tests)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "^test_" "" name "${name}")
  add_test(NAME lab.${name}
    COMMAND "${lab_python}" -m pytest -q -p no:cacheprovider "${file}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(lab.${name} PROPERTIES
    LABELS lab TIMEOUT 300 RESOURCE_LOCK lab
    ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/lab;PYTHONDONTWRITEBYTECODE=1;\
H2SERVER_BINARY=${PROJECT_BINARY_DIR}/h2server;H2SERVER_BUILD_DIR=${PROJECT_BINARY_DIR}")
endforeach()
# It counts the bytes on the loopback interface, to which other tests' traffic would add.
set_tests_properties(lab.smoke PROPERTIES RUN_SERIAL ON)
