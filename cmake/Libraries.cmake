# The targets for programs, and their installation by `cmake --install`:
#   h2server::static    lib/libh2server.a
#   h2server::shared    lib/libh2server.so, with the minor version in its SONAME: before 1.0.0, a minor
#                       version may break the interface
#   h2server::h2server  one of them: the shared library if BUILD_SHARED_LIBS is on
# The public headers give what they declare default visibility, so the shared library exports it. All
# else is hidden.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(h2server::static ALIAS h2server_core)

if(with_shared)
  set_target_properties(h2server_core PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  # Calls of public functions within the library need not go through the linker's table.
  target_compile_options(h2server_core PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  add_library(h2server_shared SHARED $<TARGET_OBJECTS:h2server_core>)
  add_library(h2server::shared ALIAS h2server_shared)
  set_target_properties(h2server_shared PROPERTIES
    OUTPUT_NAME h2server EXPORT_NAME shared LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(h2server_shared PUBLIC cxx_std_23)
  target_include_directories(h2server_shared
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(h2server_shared
    PUBLIC $<BUILD_INTERFACE:h2server_sanitizers> PRIVATE ${core_libraries})
  if(H2SERVER_SANITIZE STREQUAL "")
    target_link_options(h2server_shared PRIVATE LINKER:--no-undefined)
  endif()
endif()

if(BUILD_SHARED_LIBS)
  add_library(h2server::h2server ALIAS h2server_shared)
else()
  add_library(h2server::h2server ALIAS h2server_core)
endif()

if(NOT H2SERVER_INSTALL)
  return()
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/h2server")
foreach(kind IN LISTS H2SERVER_INSTALL)
  if(kind STREQUAL "static")
    set(target h2server_core)
  else()
    set(target h2server_shared)
  endif()
  install(TARGETS ${target} EXPORT h2server-${kind}
    ARCHIVE COMPONENT development
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT h2server-${kind} NAMESPACE h2server::
    DESTINATION "${package_dir}" COMPONENT development)
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/h2server"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development FILES_MATCHING PATTERN "*.h")

# What programs with the static library link in addition.
set(pkg_config_modules "")
if(H2SERVER_IO_URING)
  list(APPEND pkg_config_modules uring)
endif()
if(H2SERVER_NGHTTP2)
  list(APPEND pkg_config_modules nghttp2)
endif()
if(H2SERVER_COMPRESSION)
  list(APPEND pkg_config_modules brotlienc zstd)
endif()
list(TRANSFORM pkg_config_modules PREPEND ", lib" OUTPUT_VARIABLE pc_requires)
list(JOIN pc_requires "" pc_requires)
list(JOIN pkg_config_modules " " pkg_config_modules)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/h2server-config.cmake.in"
  "${PROJECT_BINARY_DIR}/h2server-config.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/h2server-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/h2server-config.cmake" "${PROJECT_BINARY_DIR}/h2server-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

# Relative to the file itself, so that the installed tree can be moved.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH pc_include "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
file(RELATIVE_PATH pc_lib "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/h2server.pc.in" "${PROJECT_BINARY_DIR}/h2server.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/h2server.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
