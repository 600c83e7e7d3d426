"""The figures of README.md are those of docs/comparison.md: a row that stands on both pages is the same on both, each row of
README's table stands in comparison.md, and the YCSB rows are those of the table in docs/BENCHMARKS.md."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINES = {"mergedb": "mergedb as installed", "LevelDB": "LevelDB", "RocksDB": "RocksDB 11.8.1",
           "LMDB": "LMDB"}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text, header):
    """The rows of each table with this header, as lists of cells."""
    rows = []
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.strip() != header:
            continue
        for row in lines[at + 2:]:
            if not row.startswith("|"):
                break
            rows.append(cells(row))
    assert rows, f"no table with the header: {header}"
    return rows


def named_figures(row):
    """`2.9` and `LMDB 1.8, LevelDB 3.7` as {"mergedb": [2.9], "LMDB": [1.8], ...}."""
    figures = {}
    name = "mergedb"
    for word in re.findall(r"[A-Za-z]+|[0-9.]+-[0-9.]+|[0-9.]+", f"mergedb {row[1]} {row[2]}"):
        if word[0].isalpha():
            name = word
        else:
            figures.setdefault(name, []).append(word)
    return figures


def check_ycsb(row, columns, benchmarks):
    """One YCSB row against the line of each engine. A range `22-26` stands for the two later thirds of E."""
    at = columns.index(row[0].split()[1]) if row[0].split()[1] != "E" else columns.index("E: first, second, last third")
    for name, figures in named_figures(row).items():
        measured = benchmarks[ENGINES[name]][at].split(", ")
        for figure in figures:
            for end in figure.split("-"):
                assert end in measured, f"{row[0]}: {name} {figure}; docs/BENCHMARKS.md has {', '.join(measured)}"


def main():
    header = "| workload | mergedb | compared with |"
    readme = table((ROOT / "README.md").read_text(), header)
    comparison = table((ROOT / "docs/comparison.md").read_text(), header)
    missing = [row[0] for row in readme if row not in comparison]
    assert not missing, f"rows of README.md that docs/comparison.md lacks or gives other figures for: {missing}"

    ycsb_header = "| engine | A | B | C | D | E: first, second, last third | F |"
    columns = cells(ycsb_header)
    benchmarks = {row[0]: row for row in table((ROOT / "docs/BENCHMARKS.md").read_text(), ycsb_header)}
    rows = [row for row in comparison if row[0].startswith("YCSB")]
    assert len(rows) >= 5, "docs/comparison.md has lost rows of YCSB"
    for row in rows:
        check_ycsb(row, columns, benchmarks)
    print(f"{len(readme)} rows of README.md, {len(rows)} rows of YCSB: the same figures on all pages")


if __name__ == "__main__":
    sys.exit(main())
