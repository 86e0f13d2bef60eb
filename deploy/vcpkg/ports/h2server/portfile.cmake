# An overlay port: it builds the sources that it lies in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
if(VCPKG_LIBRARY_LINKAGE STREQUAL "dynamic")
  set(kind shared)
else()
  set(kind static)
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    compression H2SERVER_COMPRESSION
    io-uring    H2SERVER_IO_URING
    nghttp2     H2SERVER_NGHTTP2
    tool        H2SERVER_PROGRAM)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${feature_options} "-DH2SERVER_INSTALL=${kind}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/h2server)
vcpkg_fixup_pkgconfig()
if("tool" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES h2server AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
