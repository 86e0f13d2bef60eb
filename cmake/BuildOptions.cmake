# Options for optional targets, warnings and sanitizers. All are off by default, so that building
# the server needs neither GoogleTest nor the lab's libraries. The developer presets turn them on.
#
# Two interface targets:
#   h2server_warnings    warnings for our own files; never propagated to users of the library
#   h2server_sanitizers  flags of H2SERVER_SANITIZE; must be the same for everything in a program

option(H2SERVER_NGHTTP2 "Offer libnghttp2 as the other HTTP/2 implementation" OFF)
option(H2SERVER_TESTS "Build the tests; takes GoogleTest" OFF)
option(H2SERVER_LAB "Build the lab's programs, and their tests with H2SERVER_TESTS" OFF)
option(H2SERVER_EXAMPLES "Build the examples" OFF)
option(H2SERVER_FUZZ
  "Build libFuzzer's targets; takes Clang, H2SERVER_TESTS and H2SERVER_SANITIZE=address" OFF)

if(NOT H2SERVER_NGHTTP2 AND (H2SERVER_TESTS OR H2SERVER_LAB))
  message(FATAL_ERROR "The tests and the lab use libnghttp2: set H2SERVER_NGHTTP2=ON")
endif()

add_library(h2server_warnings INTERFACE)
target_compile_options(h2server_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror
  -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wundef -Wcast-align)
# GCC 12 reports inactive members of a std::variant as uninitialised (PR 105562 and others).
# Sanitizers give this warning more false positives.
target_compile_options(h2server_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

set(H2SERVER_SANITIZE "" CACHE STRING "Sanitizer: empty, address (with undefined) or thread")
set_property(CACHE H2SERVER_SANITIZE PROPERTY STRINGS "" address thread)

if(H2SERVER_SANITIZE STREQUAL "")
  set(sanitize_flags "")
elseif(H2SERVER_SANITIZE STREQUAL "address")
  set(sanitize_flags -fsanitize=address,undefined)
  # The vptr check opens a pipe, which fails in tests that use up all descriptors. GCC's build keeps
  # it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    list(APPEND sanitize_flags -fno-sanitize=vptr)
  endif()
elseif(H2SERVER_SANITIZE STREQUAL "thread")
  set(sanitize_flags -fsanitize=thread)
else()
  message(FATAL_ERROR
    "H2SERVER_SANITIZE is '${H2SERVER_SANITIZE}': it must be empty, address or thread")
endif()

add_library(h2server_sanitizers INTERFACE)
if(H2SERVER_FUZZ)
  target_compile_options(h2server_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(sanitize_flags)
  target_compile_options(h2server_sanitizers INTERFACE
    ${sanitize_flags} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(h2server_sanitizers INTERFACE ${sanitize_flags})
endif()
