# Debian packages by CPack: `make deb`.
#   h2server        the program, which links the library statically, and the service: unit, configuration,
#                   rotation of logs, man page, completions
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
 Serves directories and takes uploads, with and without TLS, as a service of systemd.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54)")  # for postinst
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "ca-certificates")  # for ACME, traces and hooks
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS logrotate)
set(deploy "${PROJECT_SOURCE_DIR}/deploy")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA "${deploy}/debian/conffiles"
  "${deploy}/debian/postinst" "${deploy}/debian/prerm" "${deploy}/debian/postrm")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_STRICT_PERMISSION ON)

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

# The service.
install(FILES "${deploy}/systemd/h2server.service" "${deploy}/systemd/h2server.socket"
  DESTINATION /lib/systemd/system COMPONENT program)
install(FILES "${deploy}/systemd/h2server.toml" DESTINATION /etc/h2server COMPONENT program)
install(FILES "${deploy}/logrotate/h2server" DESTINATION /etc/logrotate.d COMPONENT program)
install(DIRECTORY "${deploy}/systemd/www" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/h2server"
  COMPONENT program)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples/config"
  DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/h2server/examples" COMPONENT program)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/manual/"
  DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/h2server" COMPONENT program
  FILES_MATCHING PATTERN "*.md")

# What the program prints: its man page and completions.
# program_output(FILE FOLDER ARGUMENTS…)
function(program_output file folder)
  set(path "${PROJECT_BINARY_DIR}/printed/${file}")
  add_custom_command(OUTPUT "${path}"
    COMMAND h2server ${ARGN} > "${path}" DEPENDS h2server VERBATIM)
  if(file MATCHES "\\.1$")
    add_custom_command(OUTPUT "${path}.gz"
      COMMAND gzip -9 -n -k -f "${path}" DEPENDS "${path}" VERBATIM)
    string(APPEND path ".gz")
  endif()
  set_property(GLOBAL APPEND PROPERTY printed "${path}")
  install(FILES "${path}" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/${folder}" COMPONENT program)
endfunction()
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/printed")
program_output(h2server.1 man/man1 man)
program_output(h2server bash-completion/completions completion bash)
program_output(_h2server zsh/vendor-completions completion zsh)
program_output(h2server.fish fish/vendor_completions.d completion fish)
get_property(printed GLOBAL PROPERTY printed)
add_custom_target(printed ALL DEPENDS ${printed})

# Debian Policy, 12.5
set(docs_program h2server)
set(docs_runtime "libh2server${soversion}")
set(docs_development libh2server-dev)
foreach(component program runtime development)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${docs_${component}}" COMPONENT ${component})
endforeach()

include(CPack)
