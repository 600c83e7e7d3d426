#!/usr/bin/env python3
"""Installs a build into a scratch prefix and builds programs against it: by CMake's find_package, shared and static, with and without RTTI, from C
and C++, and from a project that knows no C++; by pkg-config; and, where the drop-in is built, by find_package(leveldb). Looks at what the shared
library shows. Then the same sources are a part of another project (add_subdirectory, which FetchContent does as well): it gets the two
libraries and nothing else.

  run.py BUILD_DIRECTORY CXX CC SOURCE...      sources as paths from tests/
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ALLOWED = re.compile(r"(typeinfo( name)? for |vtable for )?mergedb(::|_)")


def run(*command, check=True, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250, check=False, **options)
    if check and done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(command)}\n{done.stdout[-4000:]}")
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def check_symbols(library):
    lines = run("nm", "-D", "--defined-only", "-C", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in lines]
    expect(len(names) > 100, f"{library} shows next to nothing")
    strangers = [name for name in names if not ALLOWED.match(name)]
    expect(not strangers, f"{library} shows {strangers[:10]}")
    with open(os.path.join(ROOT, "src", "LAYERS"), encoding="utf-8") as file:
        layers = "|".join(layer.replace("/", "_") for layer in re.findall(r"^\d+ (\S+)", file.read(), re.M))
    inner = [name for name in names if re.match(rf"mergedb::({layers})::", name)]
    expect(not inner, f"{library} shows its inside: {inner[:10]}")


def check_c_only(scratch, moved, cc):
    """A project whose only language is C, on the installed package."""
    project = os.path.join(scratch, "c-only")
    os.mkdir(project)
    shutil.copy(os.path.join(HERE, "consumer.c"), project)
    shutil.copy(os.path.join(HERE, "c_only.cmake"), os.path.join(project, "CMakeLists.txt"))
    build_in(project, f"-DCMAKE_PREFIX_PATH={moved}", f"-DCMAKE_C_COMPILER={cc}")
    check_c_programs(project)


def check_subproject(scratch, build, cxx, cc, with_fetch_content):
    """The sources as a part of a project whose only language is C. Its objects are those of the build under test (copy_object.sh)."""
    name = "fetched" if with_fetch_content else "parent"
    project, prefix = os.path.join(scratch, name), os.path.join(scratch, name + "-prefix")
    os.mkdir(project)
    shutil.copy(os.path.join(HERE, "consumer.c"), project)
    shutil.copy(os.path.join(HERE, "parent.cmake"), os.path.join(project, "CMakeLists.txt"))
    launcher = f"{os.path.join(HERE, 'copy_object.sh')};{os.path.abspath(build)}"
    build_in(project, f"-DMERGEDB_SOURCE={ROOT}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", f"-DCMAKE_C_COMPILER={cc}",
             f"-DCMAKE_CXX_COMPILER={cxx}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_UNITY_BUILD=ON", f"-DWITH_FETCH_CONTENT={'ON' if with_fetch_content else 'OFF'}")
    check_c_programs(project)
    with open(os.path.join(project, "build", "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    expect(not any("-Werror" in each["command"] for each in commands), "a warning of mergedb's would fail the parent's build")
    own = [each["command"] for each in commands if each["file"].endswith("consumer.c")]
    expect(len(own) == 2 and not any(flag in command for command in own for flag in ("-Wall", "-Wshadow", "-fno-omit", "-fstack", "/src ")),
           f"the parent's own sources are compiled with mergedb's flags: {own}")
    expect(not any(f"{ROOT}/include " in command for command in own), "the parent sees headers of LevelDB's and LMDB's names")
    run("cmake", "--install", os.path.join(project, "build"), "--prefix", prefix)
    installed = [name for _, _, names in os.walk(prefix) for name in names]
    expect(installed == ["parents_own.txt"], f"the parent installs {installed}")


def check_dropins(scratch, build):
    """The component dropins: a folder of its own, and mergedb-run, which finds it also after a move."""
    prefix, moved = os.path.join(scratch, "dropins"), os.path.join(scratch, "moved-dropins")
    run("cmake", "--install", build, "--prefix", prefix, "--component", "dropins")
    os.rename(prefix, moved)
    files = sorted(os.path.relpath(os.path.join(folder, name), moved) for folder, _, names in os.walk(moved) for name in names)
    library = re.sub(r"/mergedb/.*", "", next(name for name in files if name.endswith("liblmdb.so.0")))
    names = ("libleveldb.so.1", "libleveldb.so.1d", "liblmdb.so.0", "liblsmdb.so.0")
    expect(files == sorted(["bin/mergedb-run", "share/man/man1/mergedb-run.1", *(f"{library}/mergedb/{name}" for name in names)]), f"{files}")
    runner = os.path.join(moved, "bin", "mergedb-run")
    said = run(runner, os.path.join(build, "bin", "mergedb"), "doctor", "--", "sh", "-c", "echo $LD_LIBRARY_PATH; exit 1", check=False)
    expect(said.startswith(f"{moved}/{library}/mergedb"), f"mergedb-run sets LD_LIBRARY_PATH: {said}")
    expect("usage: mergedb-run COMMAND" in run(runner, check=False), "mergedb-run without a command prints its usage")


def build_in(project, *options):
    run("cmake", "-G", "Ninja", "-S", project, "-B", os.path.join(project, "build"), *options)
    run("cmake", "--build", os.path.join(project, "build"))


def check_c_programs(project):
    for kind in ("mergedb", "static"):
        program = os.path.join(project, "build", f"consumer-{kind}")
        expect(re.match(r"\d+\.\d+\.\d+\n$", run(program)), f"{program} prints the version")


def main():
    build, cxx, cc, *sources = sys.argv[1:]
    has_leveldb = os.path.exists(os.path.join(build, "dropin", "libleveldb.so.1d"))
    with tempfile.TemporaryDirectory() as scratch:
        prefix, project = os.path.join(scratch, "prefix"), os.path.join(scratch, "project")
        run("cmake", "--install", build, "--prefix", prefix)
        expect(not glob.glob(os.path.join(prefix, "**", "*leveldb*.so*"), recursive=True), "LevelDB's names are installed without being asked for")
        if has_leveldb:
            run("cmake", "--install", build, "--prefix", prefix, "--component", "leveldb")
        expect(run(os.path.join(prefix, "bin", "mergedb"), "--version").startswith("mergedb "), "the command runs")
        expect(os.path.isfile(os.path.join(prefix, "share", "mergedb", "grafana", "mergedb.json")), "the Grafana dashboard is installed")
        library = glob.glob(os.path.join(prefix, "lib*", "**", "libmergedb.so"), recursive=True)[0]
        check_symbols(library)

        os.mkdir(project)
        for source in sources:
            shutil.copy(os.path.join(os.path.dirname(HERE), source), project)
        shutil.copy(os.path.join(HERE, "consumer.cmake"), os.path.join(project, "CMakeLists.txt"))
        # The prefix may have been moved since: everything in it is found from where it lies.
        moved = os.path.join(scratch, "moved")
        os.rename(prefix, moved)
        build_in(project, f"-DCMAKE_PREFIX_PATH={moved}", f"-DCMAKE_CXX_COMPILER={cxx}", f"-DCMAKE_C_COMPILER={cc}",
                 f"-DWITH_LEVELDB={'ON' if has_leveldb else 'OFF'}")
        programs = sorted(glob.glob(os.path.join(project, "build", "consumer-*")))
        expect(len(programs) == (7 if has_leveldb else 5), f"programs: {programs}")
        for program in programs:
            name = os.path.basename(program)
            output = run(program, *([] if name == "consumer-c" else [os.path.join(scratch, "db-" + name)]))
            wanted = "value\n" if "leveldb" in name else "cba\n" if name != "consumer-c" else None
            expect(wanted is None or output == wanted, f"{name} prints {output}")
        if has_leveldb:
            linked = run("ldd", os.path.join(project, "build", "consumer-leveldb-rtti"))
            expect(moved in linked, f"consumer-leveldb-rtti is linked with another LevelDB: {linked}")

        check_c_only(scratch, moved, cc)
        check_subproject(scratch, build, cxx, cc, with_fetch_content=False)
        check_subproject(scratch, build, cxx, cc, with_fetch_content=True)
        if has_leveldb:
            check_dropins(scratch, build)

        # And by hand.
        library = os.path.dirname(glob.glob(os.path.join(moved, "lib*", "**", "libmergedb.so"), recursive=True)[0])
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(library, "pkgconfig"), LD_LIBRARY_PATH=library)
        flags = run("pkg-config", "--cflags", "--libs", "mergedb", env=environment).split()
        program = os.path.join(scratch, "by-hand")
        run(cxx, "-std=c++17", os.path.join(HERE, "consumer.cc"), "-o", program, *flags)
        expect(run(program, os.path.join(scratch, "db"), env=environment) == "cba\n", "the program that pkg-config linked")
        flags = run("pkg-config", "--static", "--libs", "mergedb", env=environment).replace("-lmergedb", "-l:libmergedb.a").split()
        headers = run("pkg-config", "--cflags", "mergedb", env=environment).split()
        run(cxx, "-std=c++17", os.path.join(HERE, "consumer.cc"), "-o", program + "-static", *headers, *flags)
        expect(run(program + "-static", os.path.join(scratch, "db-static")) == "cba\n", "the program that pkg-config linked statically")
    print(f"{len(programs) + 8} programs built against the installed package" + (", LevelDB's names among them" if has_leveldb else ""))


if __name__ == "__main__":
    main()
