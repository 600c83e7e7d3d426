#!/usr/bin/env python3
"""Goal: scripts/options.py accepts the repository, notices an option that a file lacks, and names the file and the option.
Method: a copy of the files with regions, of which each test changes one."""

import re
import unittest

from copied_tree import ROOT, CopiedTreeTest
import options


def copied(rows):
    """The files that the script reads."""
    paths = {options.TABLE, *(path for path, _ in options.OBJECTS.values()), *(path for path, _, _ in options.REGIONS)}
    return paths | {row.test or "testing/option_sets.cc" for row in rows}


class OptionsTest(CopiedTreeTest):
    script = options

    def setUp(self):
        super().setUp()
        self.copy(copied(options.load(ROOT)[0]))

    def test_accepts_the_repository(self):
        self.expect_accepted()

    def test_names_the_option_that_a_file_lacks(self):
        for path, region, lines in options.REGIONS:
            with self.subTest(path=path, region=region):
                rows, fields = options.load(ROOT)
                all_lines = [line for _, line in lines(rows, fields)]
                line = next((line for name, line in lines(rows, fields) if name == "block_bytes" and all_lines.count(line) == 1), None)
                if line is None:
                    continue
                self.copy([path])
                self.rewrite(path, lambda text, line=line: text.replace(line + "\n", "", 1))
                self.expect_error(path, "option block_bytes is missing or differs", "--write")
                self.assertEqual(self.run_script("--write")[0], 0)
                self.expect_as_in_the_repository(path)

    def test_a_new_row_is_missing_in_each_file(self):
        row = ('[[option]]\nname = "new_bytes"\nkind = "number"\nunit = "bytes"\ntype = "uint64_t"\nc = "uint64_t"\ndefault = 0\n'
               'max = 9\nzero = "none"\nsentence = "New."\n')
        self.rewrite(options.TABLE, lambda text: text.replace('"int32_t reserved"', '"int32_t reserved", "new_bytes"', 1) + row)
        code, text = self.run_script()
        self.assertEqual(code, 1)
        for path, _, _ in options.REGIONS:
            self.assertRegex(text, rf"(?m)^{re.escape(path)}:\d+: option new_bytes is missing")
        self.assertIn("testing/option_sets.cc:1: option new_bytes: its test does not name it", text)

    def test_refuses_a_line_that_no_option_makes(self):
        self.rewrite("src/c/options.cc", lambda text: text.replace("  TAKE(mode, mode);\n", "  TAKE(mode, mode);\n  TAKE(other, other);\n"))
        self.expect_error("src/c/options.cc", "no option makes the line 'TAKE(other, other);'")

    def test_refuses_a_file_without_its_region(self):
        self.rewrite("include/mergedb/c.h", lambda text: text.replace("options: begin fields", "options:"))
        self.expect_error("include/mergedb/c.h", "expected one region")

    def test_refuses_a_table_that_contradicts_itself(self):
        for old, new, words in (
            ('"mode", ', "", ["option mode", "c_struct"]),
            ('"mode", ', '"mode", "mode", ', ["option memory_bytes", "hole"]),
            ('name = "style"', 'name = "mode"', ["option mode", "two rows"]),
            ('kind = "flag"', 'kind = "flag"\nkid = 1', ["unknown keys", "kid"]),
            ('kind = "flag"', 'kind = "flags"', ["its kind is flags"]),
            ('sentence = "What an open', 'more = "What an open', ["option mode", "missing keys", "sentence"]),
            ('default = "CREATE_IF_MISSING"', 'default = "CREATE"', ["option mode", "CREATE is none of its values"]),
            ('type = "Style"', 'type = "Shape"', ["option style", "Shape is not in CHOICES"]),
            ('bindings = ["c"]', 'bindings = ["c++"]', ["no such languages", "c++"]),
            ("[[option]]", "[[option]", ["not TOML"]),
        ):
            with self.subTest(new=new):
                self.copy([options.TABLE])
                self.rewrite(options.TABLE, lambda text, old=old, new=new: text.replace(old, new, 1))
                self.expect_error(options.TABLE, *words)

    def test_an_object_is_in_the_sources_of_its_languages(self):
        self.rewrite(options.TABLE, lambda text: re.sub(r'(name = "merge_operators"(?:.|\n)*?)bindings = \["c"\]', r'\1bindings = ["c", "rust"]', text, count=1))
        code, text = self.run_script()
        self.assertEqual(code, 1)
        self.assertIn("bindings/rust/src/options.rs:1: option merge_operators: scripts/options.toml says that rust has it", text)


if __name__ == "__main__":
    unittest.main()
