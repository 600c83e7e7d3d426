#!/usr/bin/env python3
"""Checks that the pages show the measured figures of docs/figures.json, and no others.

A region of a page begins with the line `<!-- figures NAME -->` and ends with the line `<!-- end -->`. NAME is a table or a
text of the file. A table may be divided by a second word: `faster` has the rows in which mergedb is better than every other
engine, and `slower` all others; `installed` has the rows that were measured as mergedb is installed, and `otherwise` all
others. With --write, this script writes the regions. Without it, it fails if one differs, and names page, line and figure.

It also fails if:
- a figure does not stand in the section of the page that has its measurement, or is used nowhere;
- a page has one half of a table and lacks the other one, so that no loss can be left out;
- a page of WHOLE_PAGES has a number outside of its regions that looks measured and is not in `allowed` of the file.
"""

import argparse
import glob
import json
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE = "docs/figures.json"
WHOLE_PAGES = ("README.md", "docs/BENCHMARKS.md", "docs/comparison.md")
COLUMNS = 120

SECTIONS = ["about", "engines", "builds", "machines", "runs", "figures", "tables", "texts", "allowed"]
FIGURE_KEYS = {"run", "what", "unit", "installed", "bench", "values"}  # and `source`, if the run has several sections
RUN_KEYS = {"date", "what", "machine", "rounds", "command", "source", "peers"}  # and `commit`, or `recorded` if it is unknown
# What stands behind a value in a text, and in a table of another unit.
UNITS = {"us": " us", "ms": " ms", "ns": " ns", "s": " s", "MB": " MB", "bytes per byte": "", "tries": ""}
HALVES = {"faster": "slower", "slower": "faster", "installed": "otherwise", "otherwise": "installed"}
BY_CALLS = " *(by calls)*"

BEGIN = re.compile(r"<!-- figures ([\w-]+)(?: (\w+))? -->")
END = "<!-- end -->"
PLACEHOLDER = re.compile(r"\{([\w-]+)\.([\w-]+)\}")

# What looks measured: a number with a unit, a decimal number, a part of a number, a comparison in words.
DIGITS = r"\d[\d,]*(?:\.\d+)?"
NUMBER = rf"(?<![\w.,-]){DIGITS}"
UNIT = (r"x|times|fold|%|percent|[mun]s|s|B|[KMGT]i?B|(?:micro|milli|nano)?seconds?|minutes?|hours?|bytes?|[Mk]|"
        r"(?:operations|ops|puts|gets|reads|writes|rows|keys|entries) (?:a|per) second")
WORDS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundred|thousand|many|several"
WITH_UNIT = re.compile(rf"{NUMBER}(?:(?: ?[-–] ?| to | and | or |, ){DIGITS})*\s?(?:{UNIT})(?!\w)")
IN_WORDS = re.compile(rf"\b(?:{WORDS}) times\b|\b(?:twice|thrice)\b|"
                      r"\b(?:half|third|quarter|fifth|sixth|seventh|eighth|ninth|tenth) (?:of (?:the|its) (?:time|speed|space)|the|as|less|more|faster|slower)\b", re.I)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\w)")
PART = re.compile(rf"{NUMBER} (?:of|in|out of) \d[\d,]*")
BARE = re.compile(rf"{NUMBER}(?![\w])")


class FileError(Exception):
    """The file of figures contradicts itself."""


# ---- values


def plain(number):
    """`1393` as `1,393`; all digits stay as they were written."""
    whole, dot, rest = number.partition(".")
    return f"{int(whole):,}{dot}{rest}" if len(whole) > 3 else number


class Pass:
    """One measurement, or the range of several: low, high, text."""

    def __init__(self, value):
        if isinstance(value, dict) and set(value) == {"min", "max"}:
            self.low, self.high = float(value["min"]), float(value["max"])
            self.text = f"{plain(value['min'])}-{plain(value['max'])}"
            self.numbers = [value["min"], value["max"]]
        elif isinstance(value, dict) and set(value) == {"count", "of"}:
            self.low = self.high = float(value["count"]) / float(value["of"])
            self.text = f"{plain(value['count'])} of {plain(value['of'])}"
            self.numbers = [value["count"], value["of"]]
        elif isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):
            self.low = self.high = float(value)
            self.text, self.numbers = plain(value), [value]
        else:
            raise FileError(f"the value {value!r} is no number, list of passes, range or part")


def passes(value):
    return [Pass(each) for each in (value if isinstance(value, list) else [value])]


class Figure:
    """What was measured once, of one or several engines."""

    def __init__(self, name, keys, data):
        missing, unknown = FIGURE_KEYS - set(keys), set(keys) - FIGURE_KEYS - {"source"}
        if missing or unknown:
            raise FileError(f"figure {name}: missing keys: {sorted(missing)}; unknown keys: {sorted(unknown)}")
        if keys["run"] not in data["runs"]:
            raise FileError(f"figure {name}: there is no run {keys['run']}")
        if keys["unit"] not in UNITS:
            raise FileError(f"figure {name}: the unit {keys['unit']} is none of {', '.join(UNITS)}")
        self.name, self.what, self.unit, self.installed = name, keys["what"], keys["unit"], keys["installed"]
        self.run = data["runs"][keys["run"]]
        self.source = keys.get("source", self.run["source"])
        self.values, self.builds = {}, {}
        for engine, value in keys["values"].items():
            if engine not in data["engines"]:
                raise FileError(f"figure {name}: there is no engine {engine}")
            try:
                self.values[engine] = passes(value)
            except FileError as error:
                raise FileError(f"figure {name}, {engine}: {error}") from None
            if engine != "mergedb":
                self.builds[engine] = self.build_of(engine, data)
        if "mergedb" not in self.values:
            raise FileError(f"figure {name}: it has no value of mergedb")

    def build_of(self, engine, data):
        """The build that the run used: the one whose name begins with the engine's."""
        product = data["engines"][engine]["build"].split("-")[0]
        builds = [build for build in self.run["peers"] if build.split("-")[0] == product]
        if len(builds) != 1:
            raise FileError(f"figure {self.name}: its run names {len(builds)} builds of {engine}")
        return builds[0]

    def others(self, engine, at):
        """What the other engines had in this pass, or in their last one."""
        return [value[min(at, len(value) - 1)] for name, value in self.values.items() if name != engine]

    def is_best(self, engine, at):
        """No other engine can have been better in this pass."""
        others = self.others(engine, at)
        return bool(others) and all(self.values[engine][at].high <= other.low for other in others)

    def is_faster(self):
        """mergedb was better than every other engine, in every pass."""
        return len(self.values) > 1 and all(mine.high < other.low for at, mine in enumerate(self.values["mergedb"])
                                            for other in self.others("mergedb", at))

    def cell(self, engine, unit):
        if engine not in self.values:
            return "–"
        texts = [f"**{each.text}**" if self.is_best(engine, at) else each.text for at, each in enumerate(self.values[engine])]
        return ", ".join(texts) + (UNITS[self.unit] if self.unit != unit else "")

    def text(self, engine):
        return ", ".join(each.text for each in self.values[engine]) + UNITS[self.unit]


# ---- the file


def unique(pairs):
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FileError(f"{', '.join(twice)}: more than once")
    return dict(pairs)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


class Figures:
    def __init__(self, root):
        self.root = root
        try:
            self.data = json.loads(read(root, FILE), parse_float=str, parse_int=str, object_pairs_hook=unique)
        except json.JSONDecodeError as error:
            raise FileError(f"not JSON: {error}") from None
        if list(self.data) != SECTIONS:
            raise FileError(f"expected the sections {', '.join(SECTIONS)}, in this order; found {', '.join(self.data)}")
        self.check_runs()
        for section in ("builds", "machines", "figures", "tables", "texts"):
            names = list(self.data[section])
            for before, name in zip(names, names[1:]):
                if name < before:
                    raise FileError(f"{section}: {name} belongs before {before}: the names are sorted")
        self.figures = {name: Figure(name, keys, self.data) for name, keys in self.data["figures"].items()}
        self.used = set()

    def check_runs(self):
        last = ""
        for name, run in self.data["runs"].items():
            missing, unknown = RUN_KEYS - set(run), set(run) - RUN_KEYS - {"commit", "recorded"}
            if missing or unknown or ("commit" in run) == ("recorded" in run):
                raise FileError(f"run {name}: missing keys: {sorted(missing)}; unknown keys: {sorted(unknown)}; it has either commit or recorded")
            if run["machine"] not in self.data["machines"]:
                raise FileError(f"run {name}: there is no machine {run['machine']}")
            if absent := set(run["peers"]) - set(self.data["builds"]):
                raise FileError(f"run {name}: there are no builds {sorted(absent)}")
            if run["date"] < last:
                raise FileError(f"run {name}: the runs are sorted by date")
            last = run["date"]

    def figure(self, name, by):
        if name not in self.figures:
            raise FileError(f"{by}: there is no figure {name}")
        self.used.add(name)
        return self.figures[name]

    def check_sources(self):
        """Each number stands in the section that has the measurement."""
        for figure in self.figures.values():
            section = section_of(self.root, figure.source)
            if section is None:
                yield f"{FILE}:1: figure {figure.name}: there is no section {figure.source}"
                continue
            for engine, value in figure.values.items():
                for number in (number for each in value for number in each.numbers):
                    if not re.search(rf"(?<![\d.,]){re.escape(plain(number))}(?!\d|[.,]\d)", section):
                        yield f"{FILE}:1: figure {figure.name}: {engine} {plain(number)} does not stand in docs/{figure.source}"

    def check_used(self):
        runs = {self.data["figures"][name]["run"] for name in self.figures}
        builds = {build for run in self.data["runs"].values() for build in run["peers"]}
        machines = {run["machine"] for run in self.data["runs"].values()}
        for kind, names, used in (("figure", self.figures, self.used), ("run", self.data["runs"], runs), ("build", self.data["builds"], builds),
                                  ("machine", self.data["machines"], machines)):
            for name in sorted(set(names) - used):
                yield f"{FILE}:1: {kind} {name} is used nowhere"


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def section_of(root, source):
    """The text of a page of docs/, or of one of its sections; None if there is none."""
    path, _, anchor = source.partition("#")
    try:
        text = read(root, f"docs/{path}")
    except FileNotFoundError:
        return None
    if not anchor:
        return text
    for match in re.finditer(r"^(#+) (.*)$", text, re.M):
        if slug(match[2]) == anchor:
            end = re.compile(rf"^#{{1,{len(match[1])}}} ", re.M).search(text, match.end())
            return text[match.start():end.start() if end else None]
    return None


# ---- regions


def row_of(cells):
    return f"| {' | '.join(cells)} |"


def link(page, target):
    return os.path.relpath(os.path.join("docs", target.split("#")[0]), os.path.dirname(page) or ".") + "".join(target.partition("#")[1:])


def column_titles(figures, data, engines):
    """The engines' titles, with the build if it is another one than usual; and the engines whose cells name theirs."""
    titles, mixed = [], set()
    for engine in engines:
        builds = {figure.builds[engine] for figure in figures if engine in figure.builds}
        usual = data["engines"][engine].get("build")
        if len(builds) == 1 and builds != {usual}:
            titles.append(f"{data['engines'][engine]['title']} {data['builds'][builds.pop()]['short']}")
        else:
            titles.append(data["engines"][engine]["title"])
            mixed.add(engine)
    return titles, mixed


def figure_table(file, name, half, page):
    data, table = file.data, file.data["tables"][name]
    every = [file.figure(each, f"table {name}") for each in table["rows"]]
    kept = {None: lambda figure: True, "faster": lambda figure: figure.is_faster(), "slower": lambda figure: not figure.is_faster(),
            "installed": lambda figure: figure.installed, "otherwise": lambda figure: not figure.installed}[half]
    figures = [figure for figure in every if kept(figure)]
    figures.sort(key=lambda figure: not figure.installed)
    titles, mixed = column_titles(figures, data, table["engines"])
    yield None, row_of(["test" if table["unit"] == "tries" else "workload", *titles, "measured"])
    yield None, row_of(["---"] * (len(titles) + 2))
    for figure in figures:
        cells = []
        for engine in table["engines"]:
            build = figure.builds.get(engine)
            is_other = engine in mixed and build and build != data["engines"][engine]["build"]
            cells.append(figure.cell(engine, table["unit"]) + (f" ({data['builds'][build]['short']})" if is_other else ""))
        what = figure.what + ("" if figure.installed or half == "otherwise" else BY_CALLS)
        yield figure.name, row_of([what, *cells, f"[{figure.run['date']}]({link(page, figure.source)})"])


def builds_table(file, _):
    used = {build for figure in file.figures.values() for build in figure.builds.values()}
    yield None, "| engine | build |"
    yield None, "| --- | --- |"
    for name, build in file.data["builds"].items():
        if name in used:
            yield name, row_of([build["name"], build["what"]])


def machines_table(file, _):
    yield None, "| machine | measured there |"
    yield None, "| --- | --- |"
    for name, what in file.data["machines"].items():
        runs = [f"{run['what']} ({run['date']})" for run in file.data["runs"].values() if run["machine"] == name]
        yield name, row_of([what, ", ".join(runs)])


def runs_table(file, page):
    yield None, "| run | mergedb | rounds | machine | the others | command |"
    yield None, "| --- | --- | --- | --- | --- | --- |"
    for name, run in file.data["runs"].items():
        builds = ", ".join(file.data["builds"][build]["name"] for build in run["peers"])
        command = ", ".join(f"`{part}`" if re.match(r"\./dev|db_bench|micro_", part) else part for part in run["command"].split(", "))
        yield name, row_of([f"[{run['date']}: {run['what']}]({link(page, run['source'])})", run.get("commit") or run["recorded"], run["rounds"],
                            run["machine"], builds or "–", command])


def paragraphs(file, name):
    """A text: its placeholders are figures, and its lines have COLUMNS at most."""
    def fill(match):
        figure = file.figure(match[1], f"text {name}")
        if match[2] not in figure.values:
            raise FileError(f"text {name}: figure {match[1]} has no value of {match[2]}")
        return figure.text(match[2])
    for paragraph in file.data["texts"][name]:
        # No break within a figure, a code or a link.
        glued = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", lambda match: match[0].replace(" ", "\0"),
                       PLACEHOLDER.sub(lambda match: fill(match).replace(" ", "\0"), paragraph))
        for line in textwrap.wrap(glued, COLUMNS, subsequent_indent="  " if paragraph.startswith("- ") else "", break_long_words=False,
                                  break_on_hyphens=False):
            yield name, line.replace("\0", " ")


def lines_of(file, name, half, page):
    """The lines of a region, each with the name of its figure."""
    if name in file.data["texts"] and half is None:
        return list(paragraphs(file, name))
    table = file.data["tables"].get(name)
    if table is None or half not in (None, *HALVES) or ("kind" in table and half is not None):
        raise FileError(f"{page}: no table or text {' '.join(filter(None, (name, half)))}")
    if "kind" not in table:
        return list(figure_table(file, name, half, page))
    return list(KINDS[table["kind"]](file, page))


KINDS = {"builds": builds_table, "machines": machines_table, "runs": runs_table}


def regions(page, lines):
    """Yields the first line of each region, the line behind it, the name and the half."""
    begin = None
    for at, line in enumerate(lines):
        match = BEGIN.fullmatch(line)
        if match and begin is not None:
            raise FileError(f"{page}:{at + 1}: the region before has no line {END}")
        if match:
            begin = at, match[1], match[2]
        elif line == END and begin is None:
            raise FileError(f"{page}:{at + 1}: no region begins before {END}")
        elif line == END:
            yield begin[0] + 1, at, begin[1], begin[2]
            begin = None
        elif re.search(r"<!-- *(figures|end)\b", line):
            raise FileError(f"{page}:{at + 1}: expected {BEGIN.pattern} or {END} as the whole line")
    if begin is not None:
        raise FileError(f"{page}:{begin[0] + 1}: the region has no line {END}")


def difference(page, begin, found, expected):
    """The first line of a region that differs, as an error."""
    wanted = [line for _, line in expected]
    at = next((i for i, (one, other) in enumerate(zip(found, wanted)) if one != other), min(len(found), len(wanted)))
    figure = expected[at][0] if at < len(expected) and expected[at][0] else None
    what = f"{figure} differs from {FILE}" if figure else f"the region differs from {FILE}"
    shown = f"; expected {wanted[at]!r}" if at < len(wanted) else f"; unexpected {found[at]!r}"
    return f"{page}:{begin + at + 1}: {what}{shown}; scripts/figures.py --write writes it"


def check_page(file, page, writes, seen):
    """Yields the errors of the regions of a page, after they were written if `writes`."""
    text = read(file.root, page)
    lines, places = text.split("\n"), []
    places = list(regions(page, lines))
    here = {(name, half) for _, _, name, half in places}
    for name, half in sorted(here, key=str):
        if half and (name, HALVES.get(half)) not in here:
            yield f"{page}:1: it has {name} {half} without {name} {HALVES.get(half)}"
    for begin, end, name, half in reversed(places):
        seen.add(name)
        expected = lines_of(file, name, half, page)
        found = lines[begin:end]
        if found == [line for _, line in expected]:
            continue
        if writes:
            lines[begin:end] = [line for _, line in expected]
            print(f"{page}: wrote {' '.join(filter(None, (name, half)))}")
        else:
            yield difference(page, begin, found, expected)
    if writes and "\n".join(lines) != text:
        with open(os.path.join(file.root, page), "w", encoding="utf-8") as written:
            written.write("\n".join(lines))


# ---- numbers outside of the regions


def measured(text):
    """Yields offset and text of what looks measured. Of code only numbers with a unit and words count."""
    code = [match.span() for match in re.finditer(r"^```.*?^```$|`[^`\n]+`", text, re.M | re.S)]

    def in_code(offset):
        return any(begin <= offset < end for begin, end in code)

    for pattern in (WITH_UNIT, IN_WORDS):
        for match in pattern.finditer(text):
            yield match.start(), match.group()
    for pattern in (DECIMAL, PART):
        for match in pattern.finditer(text):
            if not in_code(match.start()):
                yield match.start(), match.group()
    for row in re.finditer(r"^\|.*$", text, re.M):
        for match in BARE.finditer(row.group()):
            if not in_code(row.start() + match.start()):
                yield row.start() + match.start(), match.group()


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def excused(text, allowed):
    """The spans of the allowed texts, and the allowed texts that are not there."""
    spans, needless = [], []
    for words in allowed:
        found = [match.span() for match in re.finditer(r"(?<!\w)" + re.escape(words).replace(r"\ ", r"\s+") + r"(?!\w)", text)]
        spans += found
        if not found:
            needless.append(words)
    return spans, needless


def stray(text, allowed):
    """Yields offset and text of each number that looks measured and is not allowed, once for each place."""
    spans, _ = excused(text, allowed)
    ends = -1
    for offset, found in sorted(measured(text), key=lambda each: (each[0], -len(each[1]))):
        if offset < ends or any(begin <= offset and offset + len(found) <= end for begin, end in spans):
            continue
        ends = offset + len(found)
        yield offset, found


def check_numbers(file, page):
    lines = read(file.root, page).split("\n")
    for begin, end, _, _ in regions(page, lines):
        lines[begin:end] = [""] * (end - begin)
    # Neither the targets of links nor comments are text.
    text = re.sub(r"<!--.*?-->|(?<=\])\([^)\s]*\)", blank, "\n".join(lines), flags=re.S)
    allowed = file.data["allowed"].get(page, {})
    for offset, found in stray(text, allowed):
        yield f"{page}:{text.count(chr(10), 0, offset) + 1}: {found!r} looks measured and is no figure of {FILE}; it has `allowed` for other numbers"
    for words in excused(text, allowed)[1]:
        yield f"{FILE}:1: allowed of {page}: {words!r} does not stand there"


def check_texts(file):
    """A template holds no figures itself."""
    allowed, text = file.data["allowed"].get("texts", {}), []
    for name, parts in file.data["texts"].items():
        text.append(re.sub(r"(?<=\])\([^)\s]*\)", "", PLACEHOLDER.sub("", "\n".join(parts))))
        for _, found in stray(text[-1], allowed):
            yield f"{FILE}:1: text {name}: {found!r} looks measured and is no figure"
    for words in excused("\n".join(text), allowed)[1]:
        yield f"{FILE}:1: allowed of texts: {words!r} does not stand there"


def pages(root):
    """The pages that may have regions."""
    return sorted(["README.md", *(os.path.relpath(path, root) for path in glob.glob(os.path.join(root, "docs/**/*.md"), recursive=True))])


def check(root, writes):
    """Returns the errors, and the file."""
    file, errors, seen = Figures(root), [], set()
    for page in pages(root):
        if page in WHOLE_PAGES or "<!-- figures " in read(root, page):
            errors += check_page(file, page, writes, seen)
    for page in WHOLE_PAGES:
        errors += check_numbers(file, page)
    for name in sorted({*file.data["tables"], *file.data["texts"]} - seen):
        errors.append(f"{FILE}:1: no page has the region {name}")
    if unknown := set(file.data["allowed"]) - {*WHOLE_PAGES, "texts"}:
        errors.append(f"{FILE}:1: allowed has pages that are not checked: {sorted(unknown)}")
    errors += [*check_texts(file), *file.check_sources(), *file.check_used()]
    return errors, file


def main(words=None):
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--write", action="store_true", help="write the regions")
    arguments.add_argument("--root", default=ROOT, help="root of the source tree")
    chosen = arguments.parse_args(words)
    try:
        errors, file = check(chosen.root, chosen.write)
    except FileError as error:
        print(f"{FILE}:1: {error}")
        return 1
    print("\n".join(errors), end="\n" if errors else "")
    print(f"figures: {len(errors)} errors, {len(file.figures)} figures of {len(file.data['runs'])} runs")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
