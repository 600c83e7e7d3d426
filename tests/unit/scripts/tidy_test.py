#!/usr/bin/env python3
"""Goal: scripts/tidy.py notices each kind of violation, names the place, and accepts a tree without violations.
Method: each test writes a small tree, adds one violation and runs tidy.py on the tree."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TIDY = os.path.join(ROOT, "scripts", "tidy.py")
sys.path.insert(0, os.path.dirname(TIDY))
import style  # noqa: E402, the module beside tidy.py

TREE = {
    ".clang-format": "BasedOnStyle: Google\nColumnLimit: 120\nReflowComments: false\n",
    "CMakeLists.txt": "add_library(all src/c/c.cc)\n",
    "README.md": "# A tree\n",
    "scripts/banned_words.txt": "wade, wading | tombstone-heavy scan\nthe night | the nightly run\nallow * in docs/decisions/: history\n",
    "src/LAYERS": "1 base\n2 kv\n3 env\n4 db\n12 c\n",
    "src/base/bytes.h": "// Bytes.\n#pragma once\n",
    "src/kv/key.h": "// Keys.\n#pragma once\n",
    "src/c/handles.h": "// Handles.\n#pragma once\n",
    "src/c/c.cc": '#include "base/bytes.h"\n#include "c/handles.h"\n#include "mergedb/db.h"\n\nint Two() { return 2; }\n',
    "include/mergedb/db.h": "// The interface.\n#pragma once\n",
    "tests/modules.txt": "# Tests.\nsrc/c/c.cc  tests/c_test.py\n",
    "tests/c_test.py": "# Goal: two.\n",
}


class TidyTest(unittest.TestCase):
    def tidy(self, changes=None):
        """Returns the exit code and the broken rules of the tree with these files changed."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**TREE, **(changes or {})}.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, TIDY, "--root", root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=200, check=False)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[-1], r"^tidy: \d+ broken rules, .* \d+\.\d s$", done.stdout)
        return done.returncode, lines[:-1]

    def expect_one(self, changes, place, *words):
        code, broken = self.tidy(changes)
        self.assertEqual(code, 1)
        self.assertEqual(len(broken), 1, broken)
        self.assertTrue(broken[0].startswith(place + ": "), broken[0])
        for word in words:
            self.assertIn(word, broken[0])

    def test_accepts_a_tree_without_violations(self):
        self.assertEqual(self.tidy(), (0, []))

    # ---- layers

    def test_refuses_an_include_of_a_later_layer(self):
        self.expect_one({"src/kv/key.h": '// Keys.\n#include "env/env.h"\n'}, "src/kv/key.h:2", "T1", "env")

    def test_c_includes_only_base_itself_and_public_headers(self):
        text = TREE["src/c/c.cc"].replace('#include "mergedb/db.h"\n', '#include "kv/key.h"\n#include "mergedb/db.h"\n')
        self.expect_one({"src/c/c.cc": text}, "src/c/c.cc:3", "T6", "kv/key.h")

    def test_public_headers_include_no_source(self):
        self.expect_one({"include/mergedb/db.h": '// The interface.\n#include "base/bytes.h"\n'}, "include/mergedb/db.h:2", "T2")

    def test_a_source_must_be_listed(self):
        modules = TREE["tests/modules.txt"] + "src/c/other.cc  tests/c_test.py\n"
        self.expect_one({"src/c/other.cc": "int Three() { return 3; }\n", "tests/modules.txt": modules}, "src/c/other.cc:1", "T4")

    def test_a_test_is_listed_by_its_folder_and_a_layer_is_no_test(self):
        self.expect_one({
            "tests/unit/kv/CMakeLists.txt": "mergedb_test(unit/kv FILES key order LAYERS base)\n",
            "tests/unit/kv/key_test.cc": "// Goal: keys.\n",
            "tests/unit/kv/order_test.cc": "// Goal: orders.\n",
            "tests/unit/kv/base_test.cc": "// Goal: no test.\n",
        }, "tests/unit/kv/base_test.cc:1", "T4")

    def test_a_path_in_a_document_must_exist(self):
        self.expect_one({"README.md": "# A tree\n\nSee `src/kv/value.h`.\n"}, "README.md:3", "T5", "src/kv/value.h")

    # ---- the tests of sources

    def test_a_path_in_a_comment_must_exist(self):
        text = "// Keys: base/bytes.h, src/base/bytes.h, handles.h, linux/magic.h.\n#pragma once\n"
        self.assertEqual(self.tidy({"src/kv/key.h": text}), (0, []))
        self.expect_one({"src/kv/key.h": "// Keys: base/gone.h.\n#pragma once\n"}, "src/kv/key.h:1", "T5", "base/gone.h")
        self.expect_one({"src/kv/key.h": "// Keys: docs/gone.md.\n#pragma once\n"}, "src/kv/key.h:1", "T5", "docs/gone.md")

    def test_a_page_that_a_message_names_must_exist(self):
        text = '// Keys.\n#pragma once\n\nconst char kHelp[] = "read docs/gone.md";\n'
        self.expect_one({"src/kv/key.h": text}, "src/kv/key.h:4", "T5", "docs/gone.md")

    def test_a_function_named_locked_says_which_mutex_it_needs(self):
        tree = "// Keys.\n#pragma once\n\nclass Keys {\n  void Take() { return TakeLocked(); }\n  bool %s;\n};\n"
        self.assertEqual(self.tidy({"src/kv/key.h": tree % "TakeLocked(int* key) const REQUIRES_LOCK(mutex_)"}), (0, []))
        self.expect_one({"src/kv/key.h": tree % "TakeLocked(int* key) const"}, "src/kv/key.h:6", "T8", "TakeLocked")

    def test_a_source_has_its_own_test_or_a_row(self):
        self.expect_one({"tests/modules.txt": "# Tests.\n"}, "src/c/c.cc:1", "T9", "tests/unit/c/c_test.cc", "tests/modules.txt")
        own = {"tests/unit/c/CMakeLists.txt": "mergedb_test(unit/c FILES c LAYERS base)\n", "tests/unit/c/c_test.cc": "// Goal: two.\n"}
        self.assertEqual(self.tidy({**own, "tests/modules.txt": "# Tests.\n"}), (0, []))
        self.expect_one(own, "tests/modules.txt:2", "T9", "needless")

    def test_refuses_a_row_without_its_source_or_its_tests(self):
        row = TREE["tests/modules.txt"]
        self.expect_one({"tests/modules.txt": row + "src/c/d.cc  tests/c_test.py\n"}, "tests/modules.txt:3", "T9", "src/c/d.cc")
        self.expect_one({"tests/modules.txt": row.replace("c_test", "d_test")}, "tests/modules.txt:2", "T9", "tests/d_test.py")
        self.expect_one({"tests/modules.txt": "src/c/c.cc  untested\n"}, "tests/modules.txt:1", "T9", "no test")

    def test_refuses_a_row_that_it_cannot_read_or_that_is_out_of_order(self):
        row = TREE["tests/modules.txt"]
        self.expect_one({"tests/modules.txt": row + "src/c/d.cc tests/c_test.py\n"}, "tests/modules.txt:3", "T9", "two or more spaces")
        self.expect_one({"tests/modules.txt": row + "src/c/c.cc  tests/c_test.py\n"}, "tests/modules.txt:3", "T9", "sorted")

    # ---- standard headers

    def test_refuses_a_source_without_a_standard_header_that_it_uses(self):
        def using(include):
            return TREE["src/c/c.cc"].replace("int Two() { return 2; }", "std::vector<int> Two() { return {2}; }").replace(
                '#include "base/bytes.h"\n', include)
        self.expect_one({"src/c/c.cc": using('#include "base/bytes.h"\n')}, "src/c/c.cc:5", "T7", "std::vector", "<vector>")
        self.assertEqual(self.tidy({"src/c/c.cc": using('#include <vector>\n\n#include "base/bytes.h"\n')}), (0, []))
        header = TREE["src/base/bytes.h"] + "\n#include <vector>\n"
        self.assertEqual(self.tidy({"src/c/c.cc": using('#include "base/bytes.h"\n'), "src/base/bytes.h": header}), (0, []))

    # ---- clang-format

    def test_refuses_a_source_that_is_not_formatted(self):
        text = TREE["src/c/c.cc"].replace("int Two() { return 2; }", "int Two()\n{ return  2; }")
        self.expect_one({"src/c/c.cc": text}, "src/c/c.cc:5", "S1", "clang-format -i src/c/c.cc")

    def test_refuses_a_header_that_is_not_formatted_once(self):
        self.expect_one({"src/kv/key.h": "// Keys.\n#pragma once\nint  a;\nint  b;\n"}, "src/kv/key.h:3", "S1", "clang-format -i src/kv/key.h")

    # ---- words

    def test_refuses_a_comment_that_is_too_wide(self):
        wide = "// " + "word " * 23
        self.assertEqual(self.tidy({"src/kv/key.h": f"{wide}\n#pragma once\n".replace(" \n", "\n")}), (0, []))
        self.expect_one({"src/kv/key.h": f"{wide}wider.\n#pragma once\n"}, "src/kv/key.h:1", "S3", "124 columns")

    def test_refuses_a_word_in_a_comment_a_document_and_a_script(self):
        self.expect_one({"src/kv/key.h": "// Keys.\n// A wade is slow.\n#pragma once\n"}, "src/kv/key.h:2", "S2", '"wade"', "tombstone-heavy scan")
        self.expect_one({"README.md": "# Wading\n"}, "README.md:1", "S2")
        self.expect_one({"scripts/other.py": "print('wade')\n"}, "scripts/other.py:1", "S2")

    def test_refuses_a_word_in_an_identifier(self):
        for name in ("wade", "kWade", "IsWading", "wade_bytes", "bytes_wade", "WADE_MAX", "ReadWade2"):
            self.expect_one({"src/kv/key.h": f"// Keys.\n#pragma once\nint {name};\n"}, "src/kv/key.h:3", "S2")

    def test_accepts_a_word_inside_of_another_word(self):
        for name in ("swaded", "Kwade", "wader", "crosswading"):
            self.assertEqual(self.tidy({"src/kv/key.h": f"// Keys.\n#pragma once\nint {name};\n"}), (0, []), name)

    def test_refuses_a_phrase_across_two_lines(self):
        self.expect_one({"src/kv/key.h": "// Keys, of the\n// night.\n#pragma once\n"}, "src/kv/key.h:1", "S2", '"the night"')
        self.assertEqual(self.tidy({"README.md": "# The nightly run\n"}), (0, []))

    def test_refuses_a_word_in_a_path(self):
        self.expect_one({"src/kv/wade.h": "// Keys.\n#pragma once\n"}, "src/kv/wade.h:1", "S2", "path")

    def test_accepts_a_word_where_an_exception_allows_it(self):
        words = TREE["scripts/banned_words.txt"]
        self.assertEqual(self.tidy({"docs/decisions/0001-wading.md": "# Wade\n", "README.md": "# See decision 0001-wading.md\n"}), (0, []))
        tree = {"scripts/banned_words.txt": words + "allow wade in src/kv/: a test\n", "src/kv/key.h": "// To wade.\n#pragma once\n"}
        self.assertEqual(self.tidy(tree), (0, []))
        self.expect_one({**tree, "src/kv/key.h": "// Wade, wading.\n#pragma once\n"}, "src/kv/key.h:1", '"wading"')

    def test_refuses_an_exception_that_excuses_nothing(self):
        words = TREE["scripts/banned_words.txt"]
        self.expect_one({"scripts/banned_words.txt": words + "allow wade in src/kv/: a test\n"}, "scripts/banned_words.txt:4", "S2", "src/kv/")

    def test_refuses_a_line_of_the_list_that_it_cannot_read(self):
        words = TREE["scripts/banned_words.txt"]
        self.expect_one({"scripts/banned_words.txt": words + "shape\n"}, "scripts/banned_words.txt:4", "S2", "shape")


class FilesTest(unittest.TestCase):
    def test_of_a_repository_are_those_that_git_does_not_ignore(self):
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "init", "-q", root], check=True)
            for path, text in {".gitignore": "/build/\n", "build/made.h": "", "a.h": "", "b.h": ""}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            subprocess.run(["git", "-C", root, "add", "a.h"], check=True)
            self.assertEqual(style.files(root), [".gitignore", "a.h", "b.h"])


if __name__ == "__main__":
    unittest.main()
