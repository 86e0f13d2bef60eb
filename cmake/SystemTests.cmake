# tests/system/test_NAME.py → the ctest entry system.NAME, run by pytest against the real program.

# Those that load the machine, or measure it, and so want it for themselves.
set(H2SERVER_SERIAL_TESTS load h2spec CACHE STRING "System tests that run alone")

# Debian's own interpreter: python3-pytest, python3-httpx and python3-h2 belong to it, and another
# one (pyenv's, a virtual environment's) would not find them.
find_program(H2SERVER_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(H2SERVER_PYTHON python3)  # none at all: the build goes on, these tests fail
mark_as_advanced(H2SERVER_PYTHON)

# Tools that no Debian package has; scripts/setup installs them there, for every preset.
set(tools_dir "${PROJECT_SOURCE_DIR}/build/tools")

file(GLOB system_tests CONFIGURE_DEPENDS tests/system/test_*.py)
foreach(file IN LISTS system_tests)
  cmake_path(GET file STEM stem)
  string(REGEX REPLACE "^test_" "" name "${stem}")
  add_test(NAME system.${name}
    COMMAND "${H2SERVER_PYTHON}" -m pytest -q -p no:cacheprovider "${file}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(system.${name} PROPERTIES
    LABELS system
    TIMEOUT 300
    ENVIRONMENT "\
H2SERVER_BINARY=${PROJECT_BINARY_DIR}/h2server;\
H2SERVER_BUILD_DIR=${PROJECT_BINARY_DIR};\
H2SERVER_SOURCE_DIR=${PROJECT_SOURCE_DIR};\
H2SERVER_TOOLS_DIR=${tools_dir};\
H2SERVER_SANITIZED=${H2SERVER_SANITIZE};\
NODE_PATH=${tools_dir}/node_modules;\
PYTHONDONTWRITEBYTECODE=1;\
UBSAN_OPTIONS=print_stacktrace=1;\
TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1"
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${tools_dir}/bin")
  if(name IN_LIST H2SERVER_SERIAL_TESTS)
    set_tests_properties(system.${name} PROPERTIES RUN_SERIAL ON)
  endif()
endforeach()
