"""The source distribution builds without a network, from what docs/api/python.md names, and its wheel works.

The test builds the source distribution from build/python/tree, which `./dev build python` makes, unpacks it in a
temporary directory, and builds the wheel with the engine from there. The network is off: by a network namespace if
this machine allows one, and by pip's options in any case. ccache hits if TMPDIR is within CCACHE_BASEDIR.
"""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build/python/tree"

#: The Debian packages that the build needs, and for each a program, a module of pkg-config or a header.
DEBIAN = {
    "g++": "g++",
    "cmake": "cmake",
    "ninja-build": "ninja",
    "pkg-config": "pkg-config",
    "python3-dev": os.path.join(sysconfig.get_path("include"), "Python.h"),
    "python3-venv": "-",  # this test runs in a virtual environment
    "libsnappy-dev": "<snappy.h>",
    "liblz4-dev": "liblz4.pc",
    "libzstd-dev": "libzstd.pc",
    "libxxhash-dev": "<xxhash.h>",
    "nlohmann-json3-dev": "<nlohmann/json.hpp>",
}

#: The packages of the Python package index.
PYTHON = ("nanobind", "scikit-build-core")


def is_there(probe):
    if probe == "-":
        return True
    if probe.startswith("<"):
        source = f"#include {probe}\n".encode()
        return subprocess.run(["g++", "-E", "-x", "c++", "-"], input=source, capture_output=True).returncode == 0
    if probe.endswith(".pc"):
        return subprocess.run(["pkg-config", "--exists", probe[:-3]]).returncode == 0
    return os.path.exists(probe) if probe.startswith("/") else shutil.which(probe) is not None


def missing():
    names = [name for name, probe in DEBIAN.items() if not is_there(probe)]
    for name in PYTHON:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            names.append(name + " (pip)")
    return names


def network_off():
    """The beginning of a command that runs without a network, or nothing if this machine allows none."""
    for command in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        try:
            seen = subprocess.run([*command, "cat", "/proc/net/dev"], capture_output=True, text=True)
        except FileNotFoundError:
            return []
        if seen.returncode == 0 and re.findall(r"^ *(\S+):", seen.stdout, re.M) == ["lo"]:
            return command
    return []


class SourceDistribution(unittest.TestCase):
    def run_in(self, directory, command):
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PIP_", "PYTHON")) and "proxy" not in name.lower() and name != "MERGEDB_LIBRARY"
        }
        environment.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_CONFIG_FILE=os.devnull)
        environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
        done = subprocess.run(
            command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-8000:]}")
        return done.stdout

    def test_names_what_the_build_needs(self):
        pages = {name: (ROOT / name).read_text() for name in ("docs/api/python.md", "python/README.md")}
        for page, text in pages.items():
            for name in (*DEBIAN, *PYTHON):
                self.assertIn(name, text, page)

    def test_builds_without_a_network(self):
        self.assertTrue(TREE.is_dir(), f"{TREE} is missing: run ./dev build python")
        self.assertEqual(missing(), [], "the build of the source distribution needs these packages")
        directory = pathlib.Path(tempfile.mkdtemp(prefix="mergedb-sdist-"))
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        offline = network_off()
        print(f"the network is off by {' '.join(offline) or 'pip alone: unshare is not allowed'}", file=sys.stderr)

        build = "import scikit_build_core.build as b, sys; print(b.build_sdist(sys.argv[1]))"
        self.run_in(TREE, [*offline, sys.executable, "-c", build, str(directory)])
        (archive,) = directory.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            if hasattr(tarfile, "data_filter"):
                packed.extraction_filter = tarfile.data_filter
            packed.extractall(directory)
        source = directory / archive.name[: -len(".tar.gz")]
        self.assertTrue((source / "engine/src").is_dir())

        pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(directory)]
        self.run_in(source, [*offline, *pip, "."])
        (wheel,) = directory.glob("*.whl")

        self.run_in(directory, [sys.executable, "-m", "venv", "venv"])
        python = str(directory / "venv/bin/python")
        self.run_in(directory, [*offline, python, "-m", "pip", "install", "--no-deps", str(wheel)])
        program = (
            "import mergedb_kv, sys\n"
            "with mergedb_kv.open(sys.argv[1]) as db:\n"
            "    db[b'key'] = b'value'\n"
            "    print(mergedb_kv.__file__, db[b'key'].decode())\n"
        )
        printed = self.run_in(directory, [*offline, python, "-c", program, str(directory / "db")]).split()
        self.assertEqual(printed[1], "value")
        self.assertTrue(printed[0].startswith(str(directory / "venv")), printed[0])
