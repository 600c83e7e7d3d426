#!/usr/bin/env python3
"""Writes and checks what follows from scripts/options.toml, the table of the options of a database.

A region of a file begins with a line that has "options: begin NAME" and ends with one that has "options: end". With --write,
this script writes the lines between them. Without it, it fails if they differ from the table, and names the file and the
option. It also checks that each option has a test, and that each language that has an object says so in its sources.
"""

import argparse
import difflib
import os
import re
import sys
import textwrap
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = "scripts/options.toml"
COLUMNS = 120
KEYS = {"name", "java", "python", "go", "rust", "kind", "type", "c", "unit", "default", "zero", "min", "max", "note", "sentence", "opposite", "more",
        "test", "bindings", "values", "first", "member", "declaration", "rust_type", "computed", "says"}
# What a row of a kind needs beside name, kind and sentence.
NEEDS = {"choice": {"type", "c", "values", "default"}, "flag": {"type", "c", "default"}, "number": {"type", "c", "unit", "default"},
         "time": {"type", "c", "unit", "default"}, "object": {"default", "bindings"}}
# The enums of choices, and how their values begin in C.
CHOICES = {"OpenMode": "MERGEDB_", "Style": "MERGEDB_STYLE_", "Compression": "MERGEDB_COMPRESSION_"}
JAVA, GO, RUST = "java/mergedb-java/src/main/java/dev/mergedb/Options.java", "bindings/go/mergedb.go", "bindings/rust/src/options.rs"
# Where a language has its objects (comparator, listener, ...), and how.
OBJECTS = {"c": ("src/c/options.cc", r"\bc\.{}\b"), "java": (JAVA, r"public Options {}\("), "python": ("python/mergedb_kv/_database.py", r"(?m)^        {}: Optional\["),
           "go": (GO, r"(?m)^\t{} "), "rust": (RUST, r"pub {}: ")}


class TableError(Exception):
    pass


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def pascal(name):
    return "".join(word.capitalize() for word in name.split("_")).replace("Wal", "WAL")


class Row:
    """An option."""

    def __init__(self, keys):
        name, kind = keys.get("name"), keys.get("kind")
        if kind not in NEEDS:
            raise TableError(f"option {name}: its kind is {kind}; expected one of {', '.join(NEEDS)}")
        missing, unknown = ({"name", "sentence"} | NEEDS[kind]) - set(keys), set(keys) - KEYS
        if missing or unknown:
            raise TableError(f"option {name}: missing keys: {sorted(missing)}; unknown keys: {sorted(unknown)}")
        if kind == "choice" and keys["type"] not in CHOICES:
            raise TableError(f"option {name}: the enum {keys['type']} is not in CHOICES of scripts/options.py; it is written by hand in each language")
        if kind == "choice" and keys["default"] not in keys["values"]:
            raise TableError(f"option {name}: the default {keys['default']} is none of its values")
        foreign = set(keys.get("bindings", [])) - set(OBJECTS)
        if foreign:
            raise TableError(f"option {name}: no such languages: {sorted(foreign)}")
        self.keys = keys
        self.name, self.kind = keys["name"], keys["kind"]
        self.default, self.zero = keys.get("default"), keys.get("zero")
        self.member = keys.get("member", self.name)
        self.java = keys.get("java", camel(self.name))
        self.python = keys.get("python", self.name)
        self.go = keys.get("go", pascal(self.name))
        self.rust = keys.get("rust", self.name)

    def __getattr__(self, key):
        if key in KEYS:
            return self.keys.get(key)
        raise AttributeError(key)

    @property
    def has_none(self):
        """0 has a meaning that is not the default. C has -1 for it."""
        return self.zero is not None and self.default != 0

    @property
    def is_opposite(self):
        """A flag that Go and Rust have the other way round, since the zero of their structs is the default."""
        return self.kind == "flag" and self.default is True

    def amount(self, number):
        """A number for people: 64 KiB, 10,000."""
        if self.unit == "bytes":
            for shift, name in ((50, "PiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
                if number % (1 << shift) == 0 and number > 4096:
                    return f"{number >> shift:,} {name}"
        return f"{number:,}"

    def default_text(self):
        if self.kind == "flag":
            return "yes" if self.default else "no"
        if self.kind == "object" or self.kind == "choice":
            return str(self.default)
        if self.says:
            return self.says
        return self.zero if self.default == 0 else self.amount(self.default)

    def limits_text(self):
        least = None if self.min is None else self.amount(self.min)
        most = None if self.max is None else self.amount(self.max)
        if least is not None and most is not None:
            text = f"{least} to {most}"
        elif most is not None:
            text = f"at most {most}"
        else:
            text = "" if least is None else f"at least {least}"
        return f"{text} ({self.note})" if self.note else text

    def rule(self):
        """The words of the message that refuses a value."""
        if self.min is not None and self.max is not None:
            return ("0, or " if self.zero and self.min > 0 else "") + f"between {self.min} and {self.max}"
        return f"the minimum is {self.min}" if self.max is None else f"the maximum is {self.max}" + (f", {self.note}" if self.note else "")

    def cpp_default(self):
        if self.kind == "choice":
            return f"{self.type}::k{pascal(self.default.lower())}"
        if self.kind == "flag":
            return str(self.default).lower()
        if self.default >= 1 << 20 and self.default % (1 << 20) == 0:
            return f"{self.type}{{{self.default >> 20}}} << 20"
        return f"{self.default:,}".replace(",", "'") if self.default >= 10000 else str(self.default)


def load(root):
    """Returns the rows and the fields of the C struct."""
    try:
        with open(os.path.join(root, TABLE), "rb") as file:
            table = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"not TOML: {error}") from error
    rows, fields = [Row(keys) for keys in table["option"]], table["c_struct"]
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise TableError(f"option {name}: two rows")
    for row in rows:
        if (row.c is not None) != (row.name in fields):
            raise TableError(f"option {row.name}: c_struct and the key c of the row must both have it, or neither")
    offset = 0
    for field in fields:
        kind = field.rsplit(" ", 1)[0] if " " in field else next((row.c for row in rows if row.name == field), None)
        if kind is None:
            raise TableError(f"option {field}: c_struct has it, and no row")
        size = 4 if kind == "int32_t" else 8
        if offset % size != 0:
            raise TableError(f"option {field}: c_struct has a hole of 4 bytes before it")
        offset += size
    if offset % 8 != 0:
        raise TableError("c_struct has a hole of 4 bytes at its end: add \"int32_t reserved\"")
    return rows, fields


def numbers(rows):
    return [row for row in rows if row.kind != "object"]


def wrapped(text, first, rest=None, last="", columns=COLUMNS):
    lines = textwrap.wrap(" ".join(text.split()), columns, initial_indent=first, subsequent_indent=first if rest is None else rest,
                          break_long_words=False, break_on_hyphens=False)
    if last:
        lines[-1] += last
    return lines


def plain(sentence):
    return sentence[:-1] if sentence.endswith(".") else sentence


# ---- C++ and C. A function yields the option and a line of it.


def cpp_members(rows, _):
    for row in rows:
        declaration = row.declaration or (f"{row.type} {row.name} = {row.cpp_default()}" if row.member == row.name and row.kind != "object" else None)
        comment = f"{row.sentence} {row.more or ''}"
        if declaration is None:
            continue  # a part of another member
        if row is not rows[0]:
            yield row.name, ""
        for line in wrapped(comment, "  // "):
            yield row.name, line
        yield row.name, f"  {declaration};"


def c_fields(rows, fields):
    by_name = {row.name: row for row in rows}
    for field in fields:
        if " " in field:
            yield None, f"  {field};" + (" /* 0 */" if field.endswith(" reserved") else "")
            continue
        row = by_name[field]
        text = plain(row.sentence)
        if row.kind == "choice":
            text += f"; {CHOICES[row.type]}{row.values[0]}, ..."
        elif row.kind == "flag":
            text += "; MERGEDB_YES or MERGEDB_NO"
        text += "; NULL: " + row.default_text() if row.kind == "object" else "; default: " + row.default_text()
        text += f" {row.unit}" if row.kind == "time" and row.default else ""
        text += f"; -1: {row.zero}" if row.has_none else ""
        yield from ((row.name, line) for line in wrapped(text, "  /* ", "   * ", " */", COLUMNS - 3))
        yield row.name, f"  {row.c} {row.name};"


def c_decode(rows, _):
    for row in numbers(rows):
        if row.has_none:
            yield row.name, f'  TAKE_OR_NONE({row.name}, {row.member}, "{row.zero}");'
        else:
            yield row.name, f"  TAKE({row.name}, {row.member});"


def cpp_limits(rows, _):
    for row in rows:
        if row.kind in ("number", "time") and (row.min or row.max):
            limit = "LIMIT_OR_0" if row.zero and row.min else "LIMIT"
            most = "kNoMaximum" if row.max is None else row.max
            yield row.name, f'  {limit}({row.name}, {row.min or 0}, {most}, "{row.rule()}");'


def cpp_computed(rows, _):
    """The limits of the defaults that CheckOptions computes."""
    for row in rows:
        if row.computed:
            for end, limit in (("Min", row.min), ("Max", row.max)):
                yield row.name, f"constexpr {row.type} k{pascal(row.name)}{end} = {limit};"


def cpp_to_c(rows, _):
    for row in numbers(rows):
        value = f"OrNone(options.{row.member})" if row.has_none else f"options.{row.member}"
        yield row.name, f"  c.{row.name} = " + (f"ToC({value});" if row.kind in ("choice", "flag") else f"static_cast<{row.c}>({value});")


# ---- Rust

RUST_TYPES = {"int32_t": "i32", "uint64_t": "u64", "int64_t": "i64", "size_t": "usize"}


def of_struct(rows, fields):
    """Yields the type, the name and the row of each field of the C struct."""
    by_name = {row.name: row for row in rows}
    for field in fields:
        kind, _, name = field.rpartition(" ")
        yield (kind, name, None) if kind else (by_name[field].c, field, by_name[field])


def rust_ffi(rows, fields):
    for kind, name, row in of_struct(rows, fields):
        yield row and row.name, f"    pub {name}: {RUST_TYPES.get(kind, '*const c_void')},"


def rust_offsets(rows, fields):
    for _, name, row in of_struct(rows, fields):
        yield row and row.name, f"            Options, mergedb_options, {name}, {name};"


def flag_sentence(row):
    return row.opposite if row.is_opposite else row.sentence


def rust_members(rows, _):
    for row in numbers(rows):
        text = flag_sentence(row)
        if row.kind == "time":
            text += f" At least a {row.unit[:-1]}, of which it is cut to a multiple."
        kind = {"choice": row.type, "flag": "bool", "time": "Duration"}.get(row.kind, row.rust_type or "u64").replace("OpenMode", "Mode")
        if row.has_none:
            text += f" `Some({'Duration::ZERO' if row.kind == 'time' else 0})`: {row.zero}."
        if row.has_none or (row.kind == "choice" and row.first is None):
            kind = f"Option<{kind}>"
        if row.kind != "flag":
            text += f" Default: {row.default_text()}{' ' + row.unit if row.kind == 'time' and row.default else ''}."
        yield from ((row.name, line) for line in wrapped(text, "    /// "))
        yield row.name, f"    pub {row.rust}: {kind},"


def rust_fields(rows, fields):
    for kind, name, row in of_struct(rows, fields):
        if row is None:
            value = "size_of::<ffi::Options>()" if name == "struct_size" else "0"
        elif row.kind == "object":
            value = "null()"
        elif row.kind == "flag":
            value = f"{'-' if row.is_opposite else ''}i32::from(self.{row.rust})"
        elif row.kind == "choice":
            value = f"self.{row.rust} as i32" if row.first is not None else f"self.{row.rust}.map_or(0, |choice| choice as i32)"
        elif row.kind == "time":
            value = f'{"units_or_none" if row.has_none else "units"}("{row.rust}", self.{row.rust}, {row.unit.upper()[:-1]})?'
        elif row.has_none:
            value = f"or_none(self.{row.rust}){' as i32' if kind == 'int32_t' else ''}"
        else:
            value = f"saturated(self.{row.rust}, i32::MAX)" if kind == "int32_t" else f"self.{row.rust}"
        yield row and row.name, f"            {name}: {value},"


# ---- Go

GO_TYPES = {"int32_t": "int", "uint64_t": "uint64", "int64_t": "int64"}
GO_UNITS = {"microseconds": ("time.Microsecond", "1µs"), "milliseconds": ("time.Millisecond", "1ms")}


def go_members(rows, _):
    for row in numbers(rows):
        text = flag_sentence(row)
        if row.kind == "time":
            text += f" At least a {row.unit[:-1]}, of which it is cut to a multiple."
        text += f" -1: {row.zero}." if row.has_none else ""
        if row.kind != "flag":
            text += f" Default: {row.default_text()}{' ' + row.unit if row.kind == 'time' and row.default else ''}."
        kind = {"choice": row.type, "flag": "bool", "time": "time.Duration"}.get(row.kind, GO_TYPES[row.c]).replace("OpenMode", "Mode")
        yield from ((row.name, line) for line in wrapped(text, "\t// "))
        yield row.name, f"\t{row.go} {kind}"
        yield row.name, ""


def go_check(rows, _):
    for row in numbers(rows):
        if row.kind == "time":
            unit, least = GO_UNITS[row.unit]
            zero = "the default" if row.default else row.zero
            expected = (f"-1 ({row.zero}), " if row.has_none else "") + f"0 ({zero}) or at least {least}"
            yield row.name, f"\tcase o.{row.go} < {-1 if row.has_none else 0} || o.{row.go} > 0 && o.{row.go} < {unit}:"
        elif row.kind == "number" and row.c == "int32_t":
            expected = f"-1 ({row.zero}) to {row.max}" if row.has_none else f"a number of {row.unit} below 2^31"
            yield row.name, f"\tcase o.{row.go} != int(int32(o.{row.go})):"
        else:
            continue
        yield row.name, f'\t\treturn refuse("{row.go}", o.{row.go}, "{expected}")'


def go_fields(rows, _):
    for row in numbers(rows):
        if row.kind == "flag":
            value = f"chosen(o.{row.go}, C.MERGEDB_{'NO' if row.is_opposite else 'YES'})"
        elif row.kind == "time":
            value = f"C.{row.c}(units(o.{row.go}, {GO_UNITS[row.unit][0]}))"
        else:
            value = f"C.{row.c}(o.{row.go})"
        yield row.name, f"\tc.{row.name} = {value}"


# ---- Python


def python_type(row):
    return {"choice": row.type, "flag": "bool"}.get(row.kind, "int").replace("OpenMode", "Mode") if row.kind != "object" else None


def python_sentence(row):
    text = row.sentence if row.kind != "choice" else f"A {python_type(row)}. {row.sentence}"
    text += f" 0: {row.zero}." if row.has_none else ""
    unit = f" {row.unit}" if row.kind == "time" and row.default else ""
    return text + f" Default: {row.default_text()}{unit}."


def python_keywords(rows, _):
    for row in numbers(rows):
        yield row.name, f"    {row.python}: Optional[{python_type(row)}]"
        text = wrapped(python_sentence(row), '    """', "    ", columns=COLUMNS - 3)
        text[-1] += '"""'
        yield from ((row.name, line) for line in text)


def python_rows(rows, _):
    for row in numbers(rows):
        number = f'Row("{row.name}", {python_type(row)}, {1 << 31 if row.c == "int32_t" else 1 << 63}, {row.has_none})'
        yield row.name, f'    "{row.python}": {number},'


PYTHON_OPEN = ('''def open(path: PathLike, **options: Unpack[OpenOptions]) -> Database:
    """Opens the database in the directory `path`, or creates it.

    None, or an absent option, is the default of the engine. A TypeError names an option that does not exist.

    durability: a Durability, of the writes that name none; PROCESS_CRASH by default.''', '''\
    comparator, comparator_name: the order of the keys, f(a, b) -> int, and its name, which the database stores.
    listener: gets each Event of the database, in a thread of its own, one at a time.
    """
    return Database(path, **options)''')


def python_open(rows, _):
    yield from ((None, line) for line in PYTHON_OPEN[0].split("\n"))
    for row in numbers(rows):
        yield from ((row.name, line) for line in wrapped(f"{row.python}: {python_sentence(row)}", "    ", "        "))
    yield from ((None, line) for line in PYTHON_OPEN[1].split("\n"))


def native_names(rows, _):
    for row in numbers(rows):
        yield row.name, f"    MERGEDB_NUMBER({row.name}),"


# ---- Java


def java_setters(rows, _):
    for row in numbers(rows):
        kind = {"choice": row.type, "flag": "boolean"}.get(row.kind, "int" if row.c == "int32_t" else "long").replace("OpenMode", "Mode")
        value, throws = "value", None
        if row.kind == "choice":
            what = f"the choice; default {row.default_text()}"
            value = f'Objects.requireNonNull(value, "{row.java}").ordinal()'
        elif row.kind == "flag":
            what, value = f"default: {row.default_text()}", "value ? 1 : -1"
        else:
            what = f"{row.unit}; 0: the default, {row.default_text()}" + (f"; -1: {row.zero}" if row.has_none else "")
            if row.has_none and row.kind == "time":
                value, throws = f'Limits.notBelow(-1, value, "{row.java}")', "less than -1"
            elif not row.has_none:
                value, throws = f'Limits.notNegative(value, "{row.java}")', "negative"
        yield row.name, "  /**"
        yield from ((row.name, line) for line in wrapped(row.sentence, "   * "))
        yield row.name, "   *"
        yield from ((row.name, line) for line in wrapped(f"@param value {what}", "   * ", "   *     "))
        yield row.name, "   * @return this"
        if throws:
            yield row.name, f"   * @throws IllegalArgumentException if {throws}"
        yield row.name, "   */"
        yield row.name, f"  public Options {row.java}({kind} value) {{"
        yield row.name, f'    return set("{row.name}", {value});'
        yield row.name, "  }"
        yield row.name, ""


# ---- the page


def page(rows, _):
    yield None, "| option | default | limits | meaning | Java, Python | Go, Rust |"
    yield None, "| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        unit = f" {row.unit}" if row.kind == "time" and row.default else ""
        default = f"`{row.default_text()}`" if row.kind == "choice" else row.default_text() + unit
        if row.kind in ("number", "time"):
            meaning = f"{row.sentence} 0: {row.zero}." if row.has_none else row.sentence
        else:
            meaning = row.sentence
        has = (lambda language, name, row=row: f"`{name}`" if row.kind != "object" or language in row.bindings else "-")
        yield row.name, (f"| `{row.name}` | {default} | {row.limits_text()} | {meaning} | {has('java', row.java)}, {has('python', row.python)} "
                         f"| {has('go', row.go)}, {has('rust', row.rust)} |")


REGIONS = [
    ("include/mergedb/options.h", "members", cpp_members),
    ("include/mergedb/c.h", "fields", c_fields),
    ("src/c/options.cc", "decode", c_decode),
    ("src/db/state/options_check.cc", "computed", cpp_computed),
    ("src/db/state/options_check.cc", "limits", cpp_limits),
    ("testing/c_interface_db.cc", "fields", cpp_to_c),
    ("bindings/rust/src/ffi.rs", "fields", rust_ffi),
    ("bindings/rust/src/ffi.rs", "offsets", rust_offsets),
    (RUST, "members", rust_members),
    (RUST, "fields", rust_fields),
    (GO, "members", go_members),
    (GO, "check", go_check),
    (GO, "fields", go_fields),
    ("python/mergedb_kv/_options.py", "keywords", python_keywords),
    ("python/mergedb_kv/_options.py", "rows", python_rows),
    ("python/mergedb_kv/_database.py", "open", python_open),
    ("python/native/database.cc", "names", native_names),
    (JAVA, "setters", java_setters),
    ("java/native/hooks.cc", "names", native_names),
    ("docs/api/options.md", "table", page),
]


def find_region(lines, name):
    """Returns the first line of the region and the line behind it, or None."""
    begin = [i for i, line in enumerate(lines) if re.search(rf"options: begin {name}\b", line)]
    if len(begin) != 1:
        return None
    for i in range(begin[0] + 1, len(lines)):
        if "options: end" in lines[i]:
            return begin[0] + 1, i
    return None


def differences(found, expected):
    """Yields the line and the text of each difference, once for each option."""
    seen = set()
    matcher = difflib.SequenceMatcher(None, found, [line for _, line in expected], autojunk=False)
    for tag, begin, end, first, last in matcher.get_opcodes():
        if tag == "equal":
            continue
        wanted = [f"option {option} is missing or differs" if option else f"the line {line.strip()!r} is missing"
                  for option, line in expected[first:last]]
        for text in wanted or [f"no option makes the line {line.strip()!r}" for line in found[begin:end]]:
            if text not in seen:
                seen.add(text)
                yield begin, text


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check_region(root, path, name, expected, writes):
    """Returns the errors of a region, after it was written if `writes`."""
    try:
        lines = read(root, path).split("\n")
    except FileNotFoundError:
        return [f"{path}:1: the file does not exist"]
    place = find_region(lines, name)
    if place is None:
        return [f"{path}:1: expected one region, from a line with \"options: begin {name}\" to one with \"options: end\""]
    begin, end = place
    errors = [f"{path}:{begin + at + 1}: {text}; scripts/options.py --write writes the region from {TABLE}"
              for at, text in differences(lines[begin:end], expected)]
    if not writes or not errors:
        return errors
    lines[begin:end] = [line for _, line in expected]
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    print(f"{path}: wrote {name}")
    return []


def check_row(root, row):
    """Yields the errors of what no region has: the test of the option, and the objects in each language."""
    test = row.test or "testing/option_sets.cc"
    path = os.path.join(root, test)
    if not os.path.isfile(path):
        yield f"{test}:1: option {row.name}: its test does not exist"
    elif not re.search(rf"\b{row.member.split('.')[0]}\b", read(root, test)):
        yield f"{test}:1: option {row.name}: its test does not name it"
    for language in row.bindings or []:
        source, pattern = OBJECTS[language]
        if not re.search(pattern.format(row.name if language == "c" else getattr(row, language)), read(root, source)):
            yield f"{source}:1: option {row.name}: {TABLE} says that {language} has it"


def main(words=None):
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--write", action="store_true", help="write the regions")
    arguments.add_argument("--root", default=ROOT, help="root of the source tree")
    chosen = arguments.parse_args(words)
    try:
        rows, fields = load(chosen.root)
    except TableError as error:
        print(f"{TABLE}:1: {error}")
        return 1
    errors = []
    for path, name, lines in REGIONS:
        errors += check_region(chosen.root, path, name, list(lines(rows, fields)), chosen.write)
    for row in rows:
        errors += check_row(chosen.root, row)
    print("\n".join(errors), end="\n" if errors else "")
    print(f"options: {len(errors)} differences, {len(rows)} options in {len(REGIONS)} regions")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
