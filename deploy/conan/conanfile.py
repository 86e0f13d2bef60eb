"""The library as a Conan package: conan create deploy/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps


class H2server(ConanFile):
    name = "h2server"
    description = "A web server and its C++ library: HTTP/1.1 and HTTP/2"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "io_uring": [True, False],
               "nghttp2": [True, False], "compression": [True, False]}
    default_options = {"shared": False, "fPIC": True, "io_uring": True, "nghttp2": False,
                       "compression": True}
    implements = ["auto_shared_fpic"]

    @property
    def _sources(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def _libraries_of_the_system(self):
        """Returns what a program links of packages that the profile's platform_requires replace."""
        if self.options.shared:
            return []
        packages = {dependency.ref.name for dependency in self.dependencies.host.values()}
        libraries = {"libxcrypt": ["crypt"], "openssl": ["ssl", "crypto"], "fmt": ["fmt"],
                     "zlib": ["z"]}
        if self.options.io_uring:
            libraries["liburing"] = ["uring"]
        if self.options.nghttp2:
            libraries["libnghttp2"] = ["nghttp2"]
        if self.options.compression:
            libraries |= {"brotli": ["brotlienc"], "zstd": ["zstd"]}
        return [name for package, names in libraries.items() if package not in packages
                for name in names]

    def set_version(self):
        text = load(self, os.path.join(self._sources, "CMakeLists.txt"))
        self.version = re.search(r"project\(h2server VERSION (\S+)", text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._sources, self.export_sources_folder)

    def requirements(self):
        self.requires("openssl/[>=3.0 <4]")
        self.requires("fmt/[>=9.1 <12]")
        self.requires("zlib/[>=1.2.11 <2]")
        if self.options.io_uring:
            self.requires("liburing/[>=2.3 <3]")
        if self.options.nghttp2:
            self.requires("libnghttp2/[>=1.52 <2]")
        if self.options.compression:
            self.requires("brotli/[>=1.0.9 <2]")
            self.requires("zstd/[>=1.5 <2]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")
        self.tool_requires("pkgconf/[>=1.8]")

    def validate(self):
        check_min_cppstd(self, 23)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["H2SERVER_INSTALL"] = (
            "shared" if self.options.shared else "static")
        toolchain.cache_variables["H2SERVER_PROGRAM"] = False
        toolchain.cache_variables["H2SERVER_IO_URING"] = bool(self.options.io_uring)
        toolchain.cache_variables["H2SERVER_NGHTTP2"] = bool(self.options.nghttp2)
        toolchain.cache_variables["H2SERVER_COMPRESSION"] = bool(self.options.compression)
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan generates these for the programs that use the package.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.libs = ["h2server"]
        self.cpp_info.system_libs = ["pthread", *self._libraries_of_the_system()]
        self.cpp_info.set_property("cmake_file_name", "h2server")
        self.cpp_info.set_property("cmake_target_name", "h2server::h2server")
        self.cpp_info.set_property("pkg_config_name", "h2server")
