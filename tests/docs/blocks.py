#!/usr/bin/env python3
"""Compiles and runs the code blocks of docs/guides/, and the programs of docs/api/go.md and docs/api/rust.md.

    blocks.py check                   every block has a language that a run knows; Python parses
    blocks.py cpp OUT.cc              one C++ program of all fragments; OUT.cc PAGE DIR runs those of a page
    blocks.py run LANGUAGE...         runs them: cpp (--cpp PROGRAM, of above), programs, sh, python, go, rust

The rules of a page:
- ```cpp fragments run in one function, in order, with `db` (an open std::unique_ptr<DB>) and `directory`. A failed Status
  is returned. ```python blocks run in one script. ```sh blocks run by bash -e.
- A block whose first line is a comment with a file name (// first.cc, # load.py) is also saved under that name. With
  int main it is a program of its own. The blocks of `sh` can compile it: MERGEDB is the root of the tree.
- ```text is what the block before it prints.
"""

import argparse
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs/guides"
LANGUAGES = {"cpp", "python", "sh", "go", "rust", "text"}
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```\s*$", re.M | re.S)
NAMED = re.compile(r"(?://|#) ([\w.]+\.(?:cc|py))\n")


class Block:
    def __init__(self, page, line, language, text):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.prints = None
        named = NAMED.match(text)
        self.name = named.group(1) if named else None
        self.is_program = self.language == "cpp" and "int main(" in text

    def where(self):
        return f"{self.page}:{self.line}"


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        block = Block(page.relative_to(ROOT), text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2))
        if block.language == "text" and found and found[-1].prints is None:
            found[-1].prints = block.text
        found.append(block)
    return found


def guides():
    return {page.stem: blocks_of(page) for page in sorted(GUIDES.glob("*.md"))}


def check():
    faults = []
    for blocks in guides().values():
        for i, block in enumerate(blocks):
            if block.language not in LANGUAGES:
                faults.append(f"{block.where()}: a block of language '{block.language}'; one of {sorted(LANGUAGES)} can be tested")
            if block.language == "text" and (i == 0 or blocks[i - 1].language == "text"):
                faults.append(f"{block.where()}: what prints this?")
            if block.language == "python":
                try:
                    ast.parse(block.text)
                except SyntaxError as error:
                    faults.append(f"{block.where()}: {error}")
    return faults


def is_fragment(block):
    return block.language == "cpp" and not block.is_program


def write_cpp(target):
    includes, functions, cases = set(), [], []
    for page, blocks in guides().items():
        fragments = [block for block in blocks if is_fragment(block)]
        if not fragments:
            continue
        body = ""
        for block in fragments:
            lines = block.text.splitlines()
            includes.update(line for line in lines if line.startswith("#include"))
            body += f'#line {block.line + 1} "{ROOT / block.page}"\n'
            body += "\n".join("" if line.startswith("#include") else line for line in lines) + "\n"
        name = "Page_" + page.replace("-", "_")
        functions.append(f"mergedb::Status {name}([[maybe_unused]] std::unique_ptr<mergedb::DB>& db,\n"
                         f"    [[maybe_unused]] const std::string& directory) {{\n{body}return mergedb::Status::Ok();\n}}\n")
        cases.append(f'  if (page == "{page}") status = {name}(db, directory);\n')
    text = ("// Made by tests/docs/blocks.py from docs/guides/.\n" + "\n".join(sorted(includes | {"#include <mergedb/db.h>"})) +
            "\n#include <iostream>\n#include <memory>\n#include <string>\nnamespace {\n" + "\n".join(functions) + "}  // namespace\n"
            "int main(int, char** arguments) {\n"
            "  const std::string page = arguments[1], directory = arguments[2];\n"
            '  auto opened = mergedb::DB::Open({}, directory + "/db");\n'
            "  if (!opened) return std::cerr << opened.error().ToString() << '\\n', 1;\n"
            "  std::unique_ptr<mergedb::DB> db = std::move(opened).value();\n"
            '  mergedb::Status status = mergedb::Status::NotFound("no page " + page);\n' + "".join(cases) +
            "  if (!status.ok()) std::cerr << status.ToString() << '\\n';\n"
            "  return status.ok() ? 0 : 1;\n}\n")
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def execute(command, folder, blocks, environment=None, wants=None):
    """Returns the faults of one run, whose output must be what the blocks say."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, check=False,
                          env={**os.environ, **(environment or {})})
    expected = "".join(block.prints or "" for block in blocks) if wants is None else wants
    if done.returncode != 0 or done.stdout.strip() != expected.strip():
        return [f"{blocks[0].where()}: exit {done.returncode}\n-- expected\n{expected}\n-- printed\n{done.stdout}\n{done.stderr}"]
    return []


def run_sh(blocks, folder, options):
    """Runs the blocks in order, each by its own shell. In --quick, those that compile are left out."""
    faults = []
    path = {"PATH": f"{options.bin}:{os.environ['PATH']}", "MERGEDB": str(ROOT)}
    for block in blocks:
        if block.language == "sh" and not (options.quick and "$MERGEDB" in block.text):
            faults += execute(["bash", "-euo", "pipefail", "-c", block.text], folder, [block], path)
    return faults


def run_page(page, blocks, options):
    faults = []
    with tempfile.TemporaryDirectory(prefix="mergedb-docs-") as scratch:
        for block in blocks:
            if block.name:
                (pathlib.Path(scratch) / block.name).write_text(block.text, encoding="utf-8")
        if "cpp" in options.languages and any(is_fragment(block) for block in blocks):
            folder = pathlib.Path(scratch) / "cpp"
            folder.mkdir()
            fragments = [block for block in blocks if is_fragment(block)]
            faults += execute([options.cpp, page, str(folder)], scratch, fragments)
        if "sh" in options.languages:
            faults += run_sh(blocks, scratch, options)
        python = [block for block in blocks if block.language == "python"]
        if "python" in options.languages and python:
            # A program's main part must not read the standard input of the test.
            text = "\n".join(block.text.replace('if __name__ == "__main__":', "if False:") for block in python)
            (pathlib.Path(scratch) / "blocks.py").write_text(text, encoding="utf-8")
            faults += execute([options.python, "blocks.py"], scratch, python)
    return faults


def run_api(page, language, options):
    """Runs each program of docs/api/go.md or docs/api/rust.md; a new database each time."""
    faults = []
    for block in (block for block in blocks_of(ROOT / "docs/api" / page) if block.language == language):
        with tempfile.TemporaryDirectory(prefix="mergedb-docs-") as scratch:
            folder = pathlib.Path(scratch)
            text = block.text.replace('"/tmp/mergedb_', f'"{scratch}/db_')
            if language == "go":
                (folder / "main.go").write_text(text, encoding="utf-8")
                (folder / "go.mod").write_text("module page\n\ngo 1.24\n\nrequire mergedb v0.0.0\n\nreplace mergedb => "
                                               f"{ROOT}/bindings/go\n", encoding="utf-8")
                command = ["go", "run", "."]
            else:
                (folder / "src").mkdir()
                (folder / "src/main.rs").write_text(text, encoding="utf-8")
                (folder / "Cargo.toml").write_text('[package]\nname = "page"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
                                                   f'mergedb = {{ path = "{ROOT}/bindings/rust" }}\n', encoding="utf-8")
                command = ["cargo", "run", "--offline", "--quiet"]
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200,
                                  check=False, env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "build/rust")})
            if done.returncode != 0:
                faults.append(f"{block.where()}: exit {done.returncode}\n{done.stdout}")
    return faults


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("verb", choices=("check", "cpp", "run"))
    arguments.add_argument("rest", nargs="*")
    arguments.add_argument("--cpp", help="the program that the verb cpp made")
    arguments.add_argument("--bin", default=str(ROOT / "build/release/bin"), help="the folder of the command mergedb")
    arguments.add_argument("--python", default=sys.executable, help="a Python with mergedb_kv")
    arguments.add_argument("--quick", action="store_true", help="leave out what compiles a program")
    options = arguments.parse_args()
    options.languages = options.rest
    if options.verb == "cpp":
        return write_cpp(pathlib.Path(options.rest[0]))
    faults = check()
    count = 0
    if options.verb == "run":
        for page, blocks in guides().items():
            faults += run_page(page, blocks, options)
            count += sum(block.language in options.languages for block in blocks)
        for language in ("go", "rust"):
            if language in options.languages:
                faults += run_api(f"{language}.md", language, options)
                count += sum(block.language == language for block in blocks_of(ROOT / f"docs/api/{language}.md"))
    print("\n".join(faults) if faults else f"the blocks of the guides are right; {count} ran")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
