# Adds the ctest entry tidy.NAME for each tests/tidy/NAME.py: rules about the source text.
file(GLOB tidy_checks CONFIGURE_DEPENDS tests/tidy/*.py)
foreach(file IN LISTS tidy_checks)
  cmake_path(GET file STEM name)
  add_test(NAME tidy.${name} COMMAND "${H2SERVER_PYTHON}" "${file}")
  set_tests_properties(tidy.${name} PROPERTIES
    LABELS tidy TIMEOUT 900 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()

# The reference of the library must have no warnings (docs/reference); takes 3 s.
find_program(H2SERVER_DOXYGEN doxygen)
mark_as_advanced(H2SERVER_DOXYGEN)
if(H2SERVER_DOXYGEN)
  add_test(NAME docs.reference
    COMMAND ${CMAKE_COMMAND} -E env "OUTPUT=${PROJECT_BINARY_DIR}/docs"
            "${H2SERVER_DOXYGEN}" docs/reference/Doxyfile
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(docs.reference PROPERTIES LABELS docs TIMEOUT 300)
endif()
