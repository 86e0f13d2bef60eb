# Adds the ctest entry lab.NAME for each tests/lab/test_NAME.py, run by the Python in
# build/tools/lab. The entries run one at a time: they pin servers and load to the same processors.
set(lab_python "${PROJECT_SOURCE_DIR}/build/tools/lab/bin/python")
file(GLOB lab_tests CONFIGURE_DEPENDS tests/lab/test_*.py)
foreach(file IN LISTS lab_tests)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "^test_" "" name "${name}")
  add_test(NAME lab.${name}
    COMMAND "${lab_python}" -m pytest -q -rs -p no:cacheprovider "${file}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(lab.${name} PROPERTIES
    LABELS lab TIMEOUT 900 RESOURCE_LOCK lab
    ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/lab;PYTHONDONTWRITEBYTECODE=1;\
H2SERVER_BINARY=${PROJECT_BINARY_DIR}/h2server;H2SERVER_BUILD_DIR=${PROJECT_BINARY_DIR}")
endforeach()
# Every experiment takes minutes. Its measurements want the machine for themselves.
set_tests_properties(lab.smoke PROPERTIES LABELS night RUN_SERIAL ON TIMEOUT 1200)
