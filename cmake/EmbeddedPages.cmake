# Turns the style sheet and the script of the listing page into a header, content/pages.h in the
# build directory. CMake runs again when one of them changes.
set(pages_folder "${PROJECT_SOURCE_DIR}/src/content/pages")
set(generated_folder "${PROJECT_BINARY_DIR}/generated")
foreach(page IN ITEMS listing.css listing.js)
  string(MAKE_C_IDENTIFIER "${page}" name)
  file(READ "${pages_folder}/${page}" "${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${pages_folder}/${page}")
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/src/content/pages.h.in" "${generated_folder}/content/pages.h" @ONLY)
