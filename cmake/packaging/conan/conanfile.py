"""Builds the sources that this recipe lies in:

    conan create cmake/packaging/conan --build=missing
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps

# Those that need other packages, and what these are.
COMPONENTS = {
    "asio": "asio/[>=1.22 <2]",
    "config": "tomlplusplus/[>=3.3 <4]",
    "control": "nlohmann_json/[>=3.11 <4]",
    "grpc": "grpc/[>=1.51 <2]",
    "http_client": "libcurl/[>=7.80 <9]",
    "metrics": "prometheus-cpp/[>=1.0.1 <2]",
    "otlp": "nlohmann_json/[>=3.11 <4]",
    "postgres": "libpq/[>=14 <18]",
    "redis": "hiredis/[>=1.0 <2]",
}


class CaissonConan(ConanFile):
    name = "caisson"
    description = "Resilience policies for actors and functions in C++20"
    license = "BSD-3-Clause"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False],
               **{name: [True, False] for name in COMPONENTS}}
    default_options = {"shared": False, "fPIC": True, "asio": False,
                       "config": True,
                       "control": False, "grpc": False,
                       "http_client": False, "metrics": False, "otlp": False,
                       "postgres": False, "redis": False,
                       "libpq/*:with_openssl": True}

    def _sources(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", "..", ".."))

    def set_version(self):
        header = load(self, os.path.join(
            self._sources(), "runtime", "caisson", "version.hpp"))
        self.version = re.search(r'CAISSON_VERSION_TEXT "(.+)"', header)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "runtime/*",
                        "actors/*", "docs/operation/*"):
            copy(self, pattern, self._sources(), self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")
        if self.options.otlp: # It sends through the HTTP client.
            self.options.http_client = True

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("caf/[>=1.0 <2]", transitive_headers=True,
                      transitive_libs=True)
        self.requires("fmt/[>=9 <12]")
        for name, reference in COMPONENTS.items():
            if self.options.get_safe(name):
                self.requires(reference,
                              transitive_headers=name in ("asio", "grpc", "metrics"))
        if self.options.redis or self.options.postgres:
            self.requires("openssl/[>=1.1.1 <4]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in COMPONENTS:
            value = "ON" if self.options.get_safe(name) else "OFF"
            toolchain.cache_variables[f"CAISSON_BUILD_{name.upper()}"] = value
        for name in ("TESTS", "BENCHMARKS", "DEMOS", "COMMAND"):
            toolchain.cache_variables[f"CAISSON_BUILD_{name}"] = False
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder,
             os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        # Its own CMake package is found, which looks for what it needs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/caisson"]
