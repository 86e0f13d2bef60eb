# Turns the pages of a layer, src/<layer>/pages/*, into a header that holds them as constants:
# src/<layer>/pages.h.in becomes <layer>/pages.h in the build directory, with @listing_css@ replaced by
# the text of listing.css. CMake runs again when one of them changes.
set(generated_folder "${PROJECT_BINARY_DIR}/generated")

# embed_pages(LAYER FILE...)
function(embed_pages layer)
  set(folder "${PROJECT_SOURCE_DIR}/src/${layer}")
  foreach(page IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "${page}" name)
    file(READ "${folder}/pages/${page}" "${name}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/pages/${page}")
  endforeach()
  configure_file("${folder}/pages.h.in" "${generated_folder}/${layer}/pages.h" @ONLY)
endfunction()

embed_pages(content listing.html listing.css listing.js upload.html upload.css upload.js queue.js manage.js)
embed_pages(app status.html status.css status.js)
