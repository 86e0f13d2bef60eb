# Turns the pages of a folder, src/<folder>/pages/*, into a header that holds them as constants:
# src/<folder>/pages.h.in becomes <folder>/pages.h in the build directory, with @listing_css@ replaced by
# the text of listing.css. CMake runs again when one of them changes.
set(generated_folder "${PROJECT_BINARY_DIR}/generated")

# embed_pages(FOLDER FILE...)
function(embed_pages name_of_folder)
  set(folder "${PROJECT_SOURCE_DIR}/src/${name_of_folder}")
  foreach(page IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "${page}" name)
    file(READ "${folder}/pages/${page}" "${name}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/pages/${page}")
  endforeach()
  configure_file("${folder}/pages.h.in" "${generated_folder}/${name_of_folder}/pages.h" @ONLY)
endfunction()

embed_pages(content/files listing.html listing.css listing.js upload.html upload.css upload.js queue.js manage.js)
embed_pages(app/admin status.html status.css status.js)
