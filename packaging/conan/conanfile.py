"""Conan 2: `conan create packaging/conan` in a checkout. The library is mergedb::mergedb; -o "&:shared=True" for the shared one."""

import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd, stdcpp_library
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir
from conan.tools.gnu import PkgConfigDeps

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Mergedb(ConanFile):
    name = "mergedb"
    version = "0.1.0"
    license = "BSD-3-Clause"
    description = "Embedded, ordered key-value store for programs that write a lot"
    topics = ("database", "key-value", "embedded", "lsm-tree")
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    package_type = "library"

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/mergedb/*", "src/*"):
            copy(self, pattern, ROOT, self.export_sources_folder)

    def requirements(self):
        # Private: no public header includes them.
        for codec in ("lz4/[>=1.9 <2]", "snappy/[>=1.1 <2]", "zstd/[>=1.5 <2]", "xxhash/[>=0.8 <1]"):
            self.requires(codec)
        self.requires("nlohmann_json/[>=3.11 <4]", headers=True, libs=False)

    def validate(self):
        check_min_cppstd(self, 17)  # of programs that include the headers; mergedb itself is compiled as C++20

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("BENCH", "TOOLS", "DROPINS", "WERROR"):
            toolchain.cache_variables["MERGEDB_" + name] = False
        toolchain.cache_variables["MERGEDB_INSTALL"] = True
        toolchain.generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="mergedb_shared" if self.options.shared else "mergedb_static")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.h", os.path.join(self.source_folder, "include", "mergedb"), os.path.join(self.package_folder, "include", "mergedb"))
        pattern = "libmergedb.so*" if self.options.shared else "libmergedb.a"
        copy(self, pattern, os.path.join(self.build_folder, "lib"), os.path.join(self.package_folder, "lib"))
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))

    def package_info(self):
        self.cpp_info.libs = ["mergedb"]
        self.cpp_info.system_libs = ["pthread", "m"]
        if not self.options.shared and stdcpp_library(self):
            self.cpp_info.system_libs.append(stdcpp_library(self))  # for programs in C
        self.cpp_info.set_property("cmake_file_name", "mergedb")
        self.cpp_info.set_property("cmake_target_name", "mergedb::mergedb")
        self.cpp_info.set_property("pkg_config_name", "mergedb")
