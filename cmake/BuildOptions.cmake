# Options for optional parts, targets, warnings and sanitizers. By default the library and the program
# are built, which needs neither GoogleTest nor the lab's libraries. The developer presets turn the
# others on.
#
# Two interface targets:
#   h2server_warnings    warnings for our own files; never propagated to users of the library
#   h2server_sanitizers  flags of H2SERVER_SANITIZE; must be the same for everything in a program

option(H2SERVER_BATCHES "Compile several files at once, which takes half the time" ON)
option(H2SERVER_NGHTTP2 "Offer libnghttp2 as the other HTTP/2 implementation" OFF)
option(H2SERVER_IO_URING "Build the engine on io_uring; takes liburing" ON)
option(H2SERVER_COMPRESSION "Build the content codings gzip, br and zstd; takes libbrotli and libzstd" ON)
option(H2SERVER_PROGRAM
  "Build the program; takes CLI11, toml++, libcurl, nlohmann-json and libqrencode. Unused if the project is not top-level" ON)
option(H2SERVER_TESTS "Build the tests; takes GoogleTest" OFF)
option(H2SERVER_INSTALL_TESTS "Add the tests of the installed libraries; takes both libraries" OFF)
option(H2SERVER_LAB "Build the lab's programs, and their tests with H2SERVER_TESTS" OFF)
option(H2SERVER_EXAMPLES "Build the examples" OFF)
option(H2SERVER_FUZZ
  "Build libFuzzer's targets; takes Clang, H2SERVER_TESTS and H2SERVER_SANITIZE=address" OFF)

if(NOT H2SERVER_NGHTTP2 AND (H2SERVER_TESTS OR H2SERVER_LAB))
  message(FATAL_ERROR "The tests and the lab use libnghttp2: set H2SERVER_NGHTTP2=ON")
endif()
if(NOT H2SERVER_IO_URING AND (H2SERVER_TESTS OR H2SERVER_LAB))
  message(FATAL_ERROR "The tests and the lab use io_uring: set H2SERVER_IO_URING=ON")
endif()
if(NOT H2SERVER_COMPRESSION AND H2SERVER_TESTS)
  message(FATAL_ERROR "The tests use compression: set H2SERVER_COMPRESSION=ON")
endif()

# Which libraries `cmake --install` installs, with the headers and the package for CMake and
# pkg-config. Empty: none, and then the shared library is built only for BUILD_SHARED_LIBS.
if(PROJECT_IS_TOP_LEVEL AND NOT H2SERVER_LAB)
  set(install_default static shared)
else()
  set(install_default "")
endif()
set(H2SERVER_INSTALL "${install_default}" CACHE STRING
  "The libraries to install: static, shared, \"static;shared\" or empty")
foreach(kind IN LISTS H2SERVER_INSTALL)
  if(NOT kind MATCHES "^(static|shared)$")
    message(FATAL_ERROR "H2SERVER_INSTALL is '${H2SERVER_INSTALL}': it may hold static and shared")
  endif()
endforeach()

# The objects of the static library are also those of the shared one, which takes -fPIC.
if(BUILD_SHARED_LIBS OR "shared" IN_LIST H2SERVER_INSTALL)
  set(with_shared ON)
else()
  set(with_shared OFF)
endif()
if(with_shared AND H2SERVER_LAB)
  message(FATAL_ERROR "The lab measures code without -fPIC: "
    "set H2SERVER_INSTALL to empty and BUILD_SHARED_LIBS=OFF")
endif()

add_library(h2server_warnings INTERFACE)
target_compile_options(h2server_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wundef -Wcast-align)
# GCC 12 reports inactive members of a std::variant as uninitialised (PR 105562 and others).
# Sanitizers give this warning more false positives.
target_compile_options(h2server_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
if(H2SERVER_BATCHES)
  # In a batch, the names of one file shadow those of the files before it, and coroutines have
  # members of types that only their file knows. GCC also inlines more, and reports copies and moves
  # of std::string as overlapping or out of bounds (PR 105651, PR 105329).
  target_compile_options(h2server_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local -Wno-subobject-linkage
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
else()
  target_compile_options(h2server_warnings INTERFACE -Wshadow)
endif()

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
