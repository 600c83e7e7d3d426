#!/usr/bin/env python3
"""Goal: the recipes of Debian, Conan and vcpkg name this version and files that exist. Method: reads them; runs vcpkg's
portfile with functions in the place of vcpkg's; if Conan is installed, Conan reads its recipe.

  recipes_test.py [unittest arguments]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What vcpkg's own scripts define, by their documentation.
STUBS = """
set(CURRENT_PACKAGES_DIR "${SCRATCH}/packages")
function(vcpkg_find_acquire_program NAME)
  set(${NAME} /usr/bin/pkg-config PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  message(STATUS "SOURCE ${arg_SOURCE_PATH}")
  foreach(option ${arg_OPTIONS})
    message(STATUS "OPTION ${option}")
  endforeach()
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH;PACKAGE_NAME" "")
  message(STATUS "CONFIG ${arg_CONFIG_PATH}")
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "COMMENT" "FILE_LIST")
  message(STATUS "LICENSE ${arg_FILE_LIST}")
endfunction()
include(${PORTFILE})
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Recipes(unittest.TestCase):
    def test_all_recipes_have_the_version_of_the_project(self):
        version = re.search(r"project\(mergedb VERSION (\S+)", read("CMakeLists.txt")).group(1)
        self.assertEqual(re.search(r'^    version = "(.*)"', read("packaging/conan/conanfile.py"), re.M).group(1), version)
        self.assertEqual(json.loads(read("packaging/vcpkg/vcpkg.json"))["version"], version)
        self.assertEqual(re.match(r"mergedb \((\S+)\)", read("packaging/debian/changelog")).group(1), version)

    def test_vcpkg_reads_the_port(self):
        with tempfile.TemporaryDirectory() as scratch:
            script = os.path.join(scratch, "stubs.cmake")
            with open(script, "w", encoding="utf-8") as file:
                file.write(STUBS)
            said = subprocess.run(["cmake", f"-DSCRATCH={scratch}", f"-DPORTFILE={ROOT}/packaging/vcpkg/portfile.cmake", "-P", script],
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertIn(f"SOURCE {ROOT}\n", said.stdout)
        self.assertIn(f"LICENSE {ROOT}/LICENSE\n", said.stdout)
        self.assertTrue(os.path.exists(os.path.join(ROOT, "LICENSE")))
        self.check_options(re.findall(r"OPTION -D(\w+)=", said.stdout))

    def check_options(self, names):
        known = re.findall(r"^option\((\w+)", read("CMakeLists.txt"), re.M)
        self.assertGreater(len(names), 3)
        for name in names:
            self.assertTrue(name in known or not name.startswith("MERGEDB_"), f"CMakeLists.txt has no option {name}")

    def test_debian_rules_and_conan_name_options_and_targets_that_exist(self):
        self.check_options(re.findall(r"-D(MERGEDB_\w+)=", read("packaging/debian/rules")) * 2)
        names = re.search(r"for name in \((.*?)\)", read("packaging/conan/conanfile.py")).group(1)
        self.check_options(["MERGEDB_" + name for name in re.findall(r'"(\w+)"', names)])
        cmake = "\n".join(read(os.path.join(folder, "CMakeLists.txt")) for folder in (".", "tools/mergedb", "src/lmdb", "src/lsmdb", "src/leveldb/interface"))
        targets = re.search(r"TARGETS = ((?:.*\\\n)*.*)", read("packaging/debian/rules")).group(1).replace("\\", "").split()
        for target in targets:
            name = re.sub(r"^mergedb_dropin_(debian|upstream)$", r"mergedb_dropin(\1 ", target)
            self.assertTrue(name in cmake, f"no target {target}")

    def test_conan_reads_the_recipe(self):
        if shutil.which("conan") is None:
            self.skipTest("Conan is not installed")
        with tempfile.TemporaryDirectory() as home:
            said = subprocess.run(["conan", "inspect", os.path.join(ROOT, "packaging/conan"), "--format=json"], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=dict(os.environ, CONAN_HOME=home), check=False)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(json.loads(said.stdout)["name"], "mergedb")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
