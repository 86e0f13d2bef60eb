# What is built beside the library and the program, and how. Nothing by default: who runs the server
# needs neither GoogleTest nor the lab's libraries. The presets of developers switch on what they need.
#
# Two interface targets:
#   h2server_warnings    what we hold our own files against; never reaches users of the library
#   h2server_sanitizers  H2SERVER_SANITIZE; everything in one program must agree on it

option(H2SERVER_TESTS "Build the tests; takes GoogleTest" OFF)
option(H2SERVER_LAB "Build the lab's programs, and their tests with H2SERVER_TESTS" OFF)
option(H2SERVER_EXAMPLES "Build the examples" OFF)
option(H2SERVER_FUZZ
  "Build libFuzzer's targets; takes Clang, H2SERVER_TESTS and H2SERVER_SANITIZE=address" OFF)

add_library(h2server_warnings INTERFACE)
target_compile_options(h2server_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror
  -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wundef -Wcast-align)
# GCC 12 takes the inactive members of a std::variant for uninitialized ones that are destroyed
# (PR 105562 and others), and sanitizers give this warning more false positives.
target_compile_options(h2server_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

set(H2SERVER_SANITIZE "" CACHE STRING "Sanitizer: empty, address (with undefined) or thread")
set_property(CACHE H2SERVER_SANITIZE PROPERTY STRINGS "" address thread)

if(H2SERVER_SANITIZE STREQUAL "")
  set(sanitize_flags "")
elseif(H2SERVER_SANITIZE STREQUAL "address")
  set(sanitize_flags -fsanitize=address,undefined)
  # This check opens a pipe, which fails in tests that use up all descriptors. GCC's build has it.
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
