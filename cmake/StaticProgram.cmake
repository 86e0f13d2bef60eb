# H2SERVER_STATIC: the program needs no shared library, not even glibc's, so it runs in an empty
# folder. Debian has no static libraries of libqrencode, nor of some that libcurl needs; what takes
# them is replaced by *_absent.cc. docs/manual/install.md lists what is lost.
option(H2SERVER_STATIC "Link the program statically, without libcurl and libqrencode" OFF)
if(NOT H2SERVER_STATIC)
  return()
endif()
if(with_shared OR NOT H2SERVER_SANITIZE STREQUAL "" OR H2SERVER_TESTS)
  message(FATAL_ERROR "H2SERVER_STATIC is for the program alone: the preset static has what it needs")
endif()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(OPENSSL_USE_STATIC_LIBS ON)
# At random addresses, as other programs.
add_compile_options(-fPIE)
set(static_link_options -static-pie)
