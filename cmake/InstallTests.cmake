# Adds the ctest entry install.NAME, label install, for each tests/install/test_NAME.py: tests of the
# libraries of this build after their installation. They take Clang 19 beside GCC.
find_program(H2SERVER_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(H2SERVER_PYTHON python3)
mark_as_advanced(H2SERVER_PYTHON)

file(GLOB install_tests CONFIGURE_DEPENDS tests/install/test_*.py)
foreach(file IN LISTS install_tests)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "^test_" "" name "${name}")
  add_test(NAME install.${name}
    COMMAND "${H2SERVER_PYTHON}" -m pytest -q -rs -p no:cacheprovider "${file}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(install.${name} PROPERTIES
    LABELS install TIMEOUT 1800
    ENVIRONMENT "H2SERVER_BUILD_DIR=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endforeach()
