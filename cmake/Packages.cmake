# Debian packages by CPack: `make deb`.
#   h2server        the program, which links the library statically
#   libh2server0.2  the shared library, named after its SONAME, so that two minor versions can be
#                   installed at once
#   libh2server-dev the headers, both libraries, the package for CMake and pkg-config
if(NOT H2SERVER_INSTALL STREQUAL "static;shared" OR NOT H2SERVER_PROGRAM)
  return()
endif()

set(soversion "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/deb")
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "h2server authors <h2server@localhost>")
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME h2server)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION httpd)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The program h2server.
 Serves a directory and takes uploads, with and without TLS.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "libh2server${soversion}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The shared library.
 Programs that are linked with libh2server.so.${soversion} need it at run time.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)  # also makes the trigger for ldconfig

set(dev_depends "libh2server${soversion} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})"
  "libssl-dev (>= 3.0)" libcrypt-dev libfmt-dev zlib1g-dev pkg-config)
if(H2SERVER_IO_URING)
  list(APPEND dev_depends liburing-dev)
endif()
if(H2SERVER_NGHTTP2)
  list(APPEND dev_depends libnghttp2-dev)
endif()
if(H2SERVER_COMPRESSION)
  list(APPEND dev_depends libbrotli-dev libzstd-dev)
endif()
list(JOIN dev_depends ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libh2server-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "For development.
 The headers, the static library, and the packages for CMake and pkg-config.")

# Debian Policy, 12.5
set(docs_program h2server)
set(docs_runtime "libh2server${soversion}")
set(docs_development libh2server-dev)
foreach(component program runtime development)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${docs_${component}}" COMPONENT ${component})
endforeach()

include(CPack)
