# Adds the ctest entry tidy.NAME for each tests/tidy/NAME.py: rules about the source text.
file(GLOB tidy_checks CONFIGURE_DEPENDS tests/tidy/*.py)
foreach(file IN LISTS tidy_checks)
  cmake_path(GET file STEM name)
  add_test(NAME tidy.${name} COMMAND "${H2SERVER_PYTHON}" "${file}")
  set_tests_properties(tidy.${name} PROPERTIES
    LABELS tidy TIMEOUT 60 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()
