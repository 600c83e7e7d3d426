#!/usr/bin/env python3
"""Compiles and runs the code blocks of the pages about the interfaces: docs/api/, EVENTS.md, TRACE.md and README.md.

    interfaces.py check              README.md and java.md show the programs of examples/; XML is well-formed, with the version
                                     of the jars; no page has a block that nothing tests
    interfaces.py cpp OUT.cc         one C++ program of all fragments; OUT DIR runs them
    interfaces.py c OUT.c            one C program, likewise
    interfaces.py run LANGUAGE...    runs them: cpp (--cpp PROGRAM), c (--c PROGRAM), python (--python INTERPRETER)

The rules of a page:
- Each block runs alone, on a new database. A fragment in C++ has `db`, `directory`, `options` and an iterator `it`, and what
  tests/docs/prelude.h declares; one in C has `db` (and a
  closed database at "/srv/data") and tests/docs/prelude_c.h; one in Python has `db`, `mergedb_kv` and the
  names that blocks before it import.
- A failed Status that a fragment returns or declares fails the test. In C, so does an error of a call.
- Paths such as "/srv/data" lie in a scratch folder.
- A function at the beginning of a block in C stands outside of the function of the block.
Go and Rust: blocks.py. Java: PagesTest of mergedb-leveldbjni and of mergedb-kafka-streams.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from blocks import ROOT, blocks_of

PAGES = ["docs/api/cpp.md", "docs/api/c.md", "docs/api/python.md", "docs/api/moving-from-leveldb.md", "docs/EVENTS.md", "docs/TRACE.md",
         "python/README.md"]
# Blocks of these languages on other pages are tested elsewhere: by blocks.py, by PagesTest, or by check().
ELSEWHERE = {"docs/api/go.md": {"go"}, "docs/api/rust.md": {"rust"}, "docs/api/java.md": {"java"}, "README.md": {"cpp"},
             "docs/api/java-leveldb.md": {"java"}, "docs/kafka-streams.md": {"java", "xml"}, "docs/cluster.md": {"xml"},
             "docs/voldemort.md": {"xml"}, "docs/METRICS.md": {"yaml"}}
TESTED = {"cpp", "c", "python"}
PLACE = re.compile(r'"/(?:srv|backup|tmp)/([\w-]+)"')
# Keys that a block reads before it writes them.
SEEDS = {"alice": "10", "bob": "7", "key": "value", "old": "1", "b": "2", "n": "x"}


def pages(language):
    for page in PAGES:
        yield page, [block for block in blocks_of(ROOT / page) if block.language == language]


def cpp():
    functions, calls = [], []
    for page, blocks in pages("cpp"):
        for block in blocks:
            name = f"Block{len(functions)}"
            lines = ["" if line.startswith("#include") else line for line in block.text.splitlines()]
            text = PLACE.sub(r'(directory + "/\1")', "\n".join(lines))
            declared = re.findall(r"^(?:auto|mergedb::Status) (\w+) =", text, re.M)
            text += "\n" + "".join(f"RETURN_IF_ERROR(StatusOf({each}));\n" for each in declared)
            functions.append(f"mergedb::Status {name}(std::unique_ptr<mergedb::DB>& db, const std::string& directory,\n"
                             "    mergedb::Options& options, std::unique_ptr<mergedb::Iterator>& it) {\n"
                             f'  {{\n#line {block.line + 1} "{ROOT / page}"\n{text}\n  }}\n  return mergedb::Status::Ok();\n}}\n')
            calls.append(f'    {{"{block.where()}", {name}}},\n')
    seeds = "".join(f'  RETURN_IF_ERROR(db->Put({{}}, "{key}", "{value}"));\n' for key, value in SEEDS.items())
    return ("// Made by tests/docs/interfaces.py.\n#include <prelude.h>\n"
            '#pragma GCC diagnostic ignored "-Wunused-variable"\n#pragma GCC diagnostic ignored "-Wunused-but-set-variable"\n'
            '#pragma GCC diagnostic ignored "-Wunused-parameter"\n#pragma GCC diagnostic ignored "-Wshadow"\n'
            "namespace {\n" + "\n".join(functions) + "using Block = decltype(&Block0);\n"
            "mergedb::Status Run(Block block, const std::string& directory) {\n"
            "  std::filesystem::create_directories(directory);\n"
            "  mergedb::Options options;\n"
            '  auto opened = mergedb::DB::Open(options, directory + "/db");\n'
            "  if (!opened) return opened.error();\n"
            "  std::unique_ptr<mergedb::DB> db = std::move(opened).value();\n" + seeds +
            "  auto it = db->NewIterator({});\n"
            "  return block(db, directory, options, it);\n}\n"
            "const struct {\n  const char* where;\n  Block block;\n} kBlocks[] = {\n" + "".join(calls) + "};\n}  // namespace\n"
            "int main(int, char** arguments) {\n"
            "  int faults = 0, count = 0;\n"
            "  for (const auto& each : kBlocks) {\n"
            "    const std::string directory = arguments[1] + std::to_string(count++);\n"
            "    const mergedb::Status status = Run(each.block, directory);\n"
            "    if (!status.ok()) std::cerr << each.where << \": \" << status.ToString() << '\\n', ++faults;\n"
            "  }\n  return faults == 0 ? 0 : 1;\n}\n")


def c():
    functions, calls = [], []
    for page, blocks in pages("c"):
        for block in blocks:
            text = PLACE.sub(r'place("\1")', re.sub(r"^#include.*$", "", block.text, flags=re.M)).replace("&error);", "&error); note();")
            outside, line = "", block.line + 1
            if text.lstrip().startswith(("static", "/* done")):
                end = text.index("\n}\n") + 3
                outside = f'#line {line} "{ROOT / page}"\n{text[:end]}\n'
                line += text.count("\n", 0, end)
                text = text[end:]
            functions.append(f'{outside}static int block{len(functions)}(mergedb_db db) {{\n  {{\n#line {line} "{ROOT / page}"\n{text}\n  }}\n'
                             "  note();\n  return failed;\n}\n")
            calls.append(f'    {{"{block.where()}", block{len(calls)}}},\n')
    return ("/* Made by tests/docs/interfaces.py. */\n#include <prelude_c.h>\n"
            '#pragma GCC diagnostic ignored "-Wunused-variable"\n#pragma GCC diagnostic ignored "-Wunused-but-set-variable"\n'
            '#pragma GCC diagnostic ignored "-Wunused-parameter"\n#pragma GCC diagnostic ignored "-Wshadow"\n'
            '#pragma GCC diagnostic ignored "-Wdeclaration-after-statement"\n'
            "static char directory[300];\n"
            "static const char* place(const char* name) {\n  static char path[400];\n"
            '  snprintf(path, sizeof path, "%s-%s", directory, name);\n  return path;\n}\n' + "\n".join(functions) +
            "static const struct {\n  const char* where;\n  int (*block)(mergedb_db db);\n} blocks[] = {\n" + "".join(calls) + "};\n"
            "int main(int argc, char** argv) {\n  int faults = 0;\n  if (argc < 2) return 1;\n"
            "  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {\n"
            '    snprintf(directory, sizeof directory, "%s%zu", argv[1], i);\n'
            "    mergedb_db db;\n"
            '    if (mergedb_open(place("data"), NULL, &db, &error) != MERGEDB_OK) return complain(error.message);\n'
            "    mergedb_close(db, NULL);\n    failed = 0;\n"
            '    if (mergedb_open(place("db"), NULL, &db, &error) != MERGEDB_OK) return complain(error.message);\n'
            '    mergedb_put(db, NULL, "k", 1, "value", 5, &error);\n'
            '    mergedb_put(db, NULL, "user:7", 6, "alice", 5, &error);\n'
            "    if (blocks[i].block(db) != 0) {\n      complain(blocks[i].where);\n      ++faults;\n    }\n"
            "    mergedb_close(db, NULL);\n  }\n  return faults == 0 ? 0 : 1;\n}\n")


PYTHON = """
import os, sys, mergedb_kv
scratch, names = sys.argv[1], {"mergedb_kv": mergedb_kv}
blocks = BLOCKS
for i, (where, text) in enumerate(blocks):
    with mergedb_kv.open(os.path.join(scratch, f"db{i}")) as db:
        for key, value in SEEDS.items():
            if f'b"{key}"' in text:
                db[key.encode()] = value.encode()
        names["db"] = db
        exec(compile(text.replace("SCRATCH", f"{scratch}/{i}-"), where, "exec"), names)
"""


def python():
    blocks = [(block.where(), "\n" * block.line + PLACE.sub(r'"SCRATCH\1"', block.text)) for _, found in pages("python") for block in found]
    return PYTHON.replace("BLOCKS", repr(blocks)).replace("SEEDS", repr(SEEDS))


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def check_programs():
    faults = []
    program = read("examples/ten_lines.cc").split("\n", 1)[1]
    if [block.text for block in blocks_of(ROOT / "README.md") if block.language == "cpp"] != [program]:
        faults.append("README.md: the program is not that of examples/ten_lines.cc")
    # The page has other imports and another path; else its lines are those of the program.
    lines = {re.sub(r"\s", "", line) for line in read("examples/java/TenLines.java").splitlines()}
    for line in blocks_of(ROOT / "docs/api/java.md")[0].text.splitlines():
        if not line.startswith("import ") and "Database.open(" not in line and re.sub(r"\s", "", line) not in lines:
            faults.append(f"docs/api/java.md: examples/java/TenLines.java has no line {line.strip()}")
    return faults


def check_xml():
    faults = []
    version = re.search(r"<version>(.*?)</version>", read("java/pom.xml")).group(1)
    for page in (page for page, languages in ELSEWHERE.items() if "xml" in languages):
        for block in (block for block in blocks_of(ROOT / page) if block.language == "xml"):
            try:
                found = xml.etree.ElementTree.fromstring(block.text).findtext("version", version)
                if found != version:
                    faults.append(f"{block.where()}: version {found}, and the jars have {version}")
            except xml.etree.ElementTree.ParseError as error:
                faults.append(f"{block.where()}: {error}")
    return faults


def check():
    faults = check_programs() + check_xml()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "python/README.md", ROOT / "examples/README.md"]:
        page = str(path.relative_to(ROOT))
        if page.startswith(("docs/guides/", "docs/decisions/")):
            continue
        known = TESTED if page in PAGES else ELSEWHERE.get(page, set())
        faults += [f"{block.where()}: no test compiles or runs a block of language '{block.language}' on this page"
                   for block in blocks_of(path) if block.language and block.language not in known]
    return faults


def write(target, text):
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def run(language, options):
    with tempfile.TemporaryDirectory(prefix="mergedb-docs-") as scratch:
        if language == "python":
            command = [options.python, "-c", python(), scratch]
        else:
            command = [options.cpp if language == "cpp" else options.c, os.path.join(scratch, "block")]
        done = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    return [] if done.returncode == 0 else [f"{language}: exit {done.returncode}\n{done.stdout}{done.stderr}"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("verb", choices=("check", "cpp", "c", "run"))
    arguments.add_argument("rest", nargs="*")
    arguments.add_argument("--cpp", help="the program that the verb cpp made")
    arguments.add_argument("--c", help="the program that the verb c made")
    arguments.add_argument("--python", default=sys.executable, help="a Python with mergedb_kv, numpy and pyarrow")
    options = arguments.parse_args()
    if options.verb in ("cpp", "c"):
        return write(pathlib.Path(options.rest[0]), cpp() if options.verb == "cpp" else c())
    faults = check()
    if options.verb == "run":
        for language in options.rest:
            faults += run(language, options)
    count = sum(len(blocks) for language in options.rest for _, blocks in pages(language))
    print("\n".join(faults) if faults else f"the blocks of the pages about the interfaces are right; {count} ran")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
