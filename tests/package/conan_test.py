#!/usr/bin/env python3
"""Goal: `conan create packaging/conan` makes a package, static and shared, with which the program of test_package builds
and runs. Method: Conan runs in a home of its own, without a network. The codecs are those of the system, behind recipes
made here. Objects of the library are copied from BUILD (copy_object.sh); MERGEDB_FULL=1 compiles them from the sources
that the recipe exports.

  conan_test.py BUILD CONAN
"""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Name: version, name for pkg-config, library.
SYSTEM = {"lz4": ("1.9.4", "liblz4", "lz4"), "zstd": ("1.5.4", "libzstd", "zstd"), "snappy": ("1.1.9", "snappy", "snappy"),
          "xxhash": ("0.8.1", "libxxhash", None), "nlohmann_json": ("3.11.2", "nlohmann_json", None)}
RECIPE = """
from conan import ConanFile

class System(ConanFile):
    name, version = "{name}", "{version}"

    def package_info(self):
        self.cpp_info.includedirs, self.cpp_info.libdirs, self.cpp_info.bindirs = [], [], []
        self.cpp_info.set_property("pkg_config_name", "{pkg_config}")
        self.cpp_info.system_libs = {libraries}
"""


def main():
    build, conan = os.path.abspath(sys.argv[1]), shutil.which(sys.argv[2])
    if conan is None:
        sys.exit(f"conan_test.py: {sys.argv[2]} is no program; pip install conan")
    with tempfile.TemporaryDirectory(prefix="mergedb-conan-") as scratch:
        environment = dict(os.environ, CONAN_HOME=os.path.join(scratch, "home"))

        def run(*arguments):
            done = subprocess.run([os.path.abspath(conan), *arguments], cwd=scratch, env=environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=7200, check=False)
            if done.returncode != 0:
                sys.exit(f"FAILED: conan {' '.join(arguments)}\n{done.stdout[-6000:]}")
            return done.stdout

        run("profile", "detect")
        run("remote", "disable", "*")
        for name, (version, pkg_config, library) in SYSTEM.items():
            with open(os.path.join(scratch, "conanfile.py"), "w", encoding="utf-8") as file:
                file.write(RECIPE.format(name=name, version=version, pkg_config=pkg_config, libraries=[library] if library else []))
            run("create", ".")
        # Conan writes into the folder of a recipe.
        recipe = os.path.join(scratch, "checkout")
        os.mkdir(recipe)
        for name in ("cmake", "include", "packaging", "src"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(recipe, name))
        for name in ("CMakeLists.txt", "LICENSE"):
            shutil.copy(os.path.join(ROOT, name), recipe)
        variables = {} if os.environ.get("MERGEDB_FULL") else {"CMAKE_CXX_COMPILER_LAUNCHER": f"{os.path.join(HERE, 'copy_object.sh')};{build}"}
        for shared in ("False", "True"):
            said = run("create", "checkout/packaging/conan", "-o", f"&:shared={shared}", "-c", f"tools.cmake.cmaketoolchain:extra_variables={variables}",
                       "-c", "tools.cmake.cmaketoolchain:generator=Ninja")
            if "mergedb answers: apple" not in said:
                sys.exit(f"FAILED: the program of test_package printed:\n{said[-3000:]}")
            print(f"conan create packaging/conan -o '&:shared={shared}': its program runs")


if __name__ == "__main__":
    main()
