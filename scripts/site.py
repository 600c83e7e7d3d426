#!/usr/bin/env python3
"""Builds the site in build/site from docs/, README.md and the sources (./dev docs).

It copies the pages to build/docs/src, makes pages of the source files to which they link (examples, headers), and the
reference (scripts/reference.py). Then mkdocs, in strict mode, checks every link and writes pages that work without a
network: open build/site/index.html.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAGED = ROOT / "build/docs/src"
# Pages outside of docs/, and docs/README.md, which mkdocs would take for the front page.
PLACES = {"README.md": "index.md", "docs/README.md": "pages.md", "CHANGELOG.md": "changes.md", "SECURITY.md": "security.md",
          "examples/README.md": "examples.md", "LICENSE": "source/LICENSE.md"}
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".java": "java", ".go": "go", ".rs": "rust", ".sh": "bash", ".md": "markdown"}
LINK = re.compile(r"(?<!!)(\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)")
FENCE = re.compile(r"^(\s*)(```|~~~)")
ITEM = re.compile(r"^(?:[-*]|\d+\.) ")
# A string that a browser would load from elsewhere. Plain links (href of an a) are no loads.
LOADS = re.compile(r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(https?:[^"'\s>]*)|<link[^>]*\shref=["']?(https?:[^"'\s>]*)|url\(["']?(https?:[^)"']*)""")


def place_of(path):
    """The path on the site of a file of the repository."""
    if path in PLACES:
        return PLACES[path]
    if path.startswith("docs/") and path.endswith(".md"):
        return path.removeprefix("docs/")
    return f"source/{path}.md"


class Stage:
    def __init__(self):
        self.sources = set()  # files of the repository that need a page

    def link(self, page, match):
        """The link as it is on the site."""
        label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group()
        name, hash_sign, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), name))
        if (ROOT / path).is_dir() and (ROOT / path / "README.md").exists():
            path += "/README.md"
        if not (ROOT / path).is_file():
            return match.group()  # mkdocs reports it
        place = place_of(path)
        if place.startswith("source/"):
            self.sources.add(path)
        return f"{label}({os.path.relpath(place, os.path.dirname(place_of(page)) or '.')}{hash_sign}{anchor})"

    def page(self, path):
        """The text of a page: links of the site, and lists as Python-Markdown needs them (four columns of indent)."""
        lines, is_code, in_list = [], False, False
        for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
            fence = FENCE.match(line)
            if not is_code or fence:
                if ITEM.match(line):
                    if not in_list and lines and lines[-1].strip():
                        lines.append("")
                    in_list = True
                elif line and not line[0].isspace() and not (lines and lines[-1].strip() and not fence):
                    in_list = False
            indent = len(line) - len(line.lstrip(" "))
            if in_list and 2 <= indent < 4:
                line = "    " + line[indent:] if not is_code or fence else "    " + line[min(indent, 3):]
            if fence:
                is_code = not is_code
            lines.append(line)
        # Every second part is code. A label may go on in the next line.
        parts = re.split(r"(^\s*(?:```|~~~).*?^\s*(?:```|~~~)$)", "\n".join(lines) + "\n", flags=re.M | re.S)
        parts[::2] = [LINK.sub(lambda match: self.link(path, match), part) for part in parts[::2]]
        return "".join(parts)


def write(place, text):
    target = STAGED / place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def stage():
    shutil.rmtree(STAGED, ignore_errors=True)
    made = Stage()
    pages = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))]
    for path in [*pages, *(path for path in PLACES if path.endswith(".md") and not path.startswith("docs/"))]:
        write(place_of(path), made.page(path))
    for path in sorted(made.sources):
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        fence = "~~~~"
        write(place_of(path), f"---\nhide: [navigation, toc]\n---\n\n# {path}\n\n{fence} {LANGUAGES.get(pathlib.Path(path).suffix, 'text')}\n{text}\n{fence}\n")
    shutil.copy(ROOT / "docs/site/site.css", STAGED)
    for place, text in reference.pages().items():
        write(place, text)


def title_of(place):
    return re.search(r"^# (.*)", (STAGED / place).read_text(encoding="utf-8"), re.M).group(1)


def nav_of(folder):
    return [f"{folder}/{path.name}" for path in sorted((STAGED / folder).glob("*.md")) if path.name != "0000-template.md"]


def configuration():
    """mkdocs.yml of the site, with the pages that the stage found."""
    guides = ["from-leveldb", "from-lmdb", "from-rocksdb", "counters", "queues", "time-series", "transactions", "backups", "tuning"]
    nav = [
        {"Home": ["index.md", "pages.md", "changes.md", "security.md"]},
        {"Five minutes": "guides/five-minutes.md"},
        {"Guides": [*(f"guides/{name}.md" for name in guides), "examples.md"]},
        {"Interfaces": [*(f"api/{name}.md" for name in ("cpp", "c", "python", "java", "go", "rust", "options")), "api/moving-from-leveldb.md",
                        "api/leveldb-differences.md", "api/lmdb-differences.md", "api/lsmdb.md", "api/java-leveldb.md", "cluster.md",
                        "kafka-streams.md", "voldemort.md"]},
        {"Reference": [{"C++": nav_of("reference/cpp")}, {"C": "reference/c.md"}, {"Python": "reference/python.md"},
                       {"Java": "reference/java.md"}, "METRICS.md", "EVENTS.md", "TRACE.md", "verify-and-repair.md"]},
        {"Comparison": ["comparison.md", "BENCHMARKS.md", "benchmarks-journal.md", "benchmarks-counters.md", "benchmarks-full-run.md",
                        "benchmarks-scale.md", "PROMISES.md", "RELIABILITY.md"]},
        {"Internals": ["ARCHITECTURE.md", "INTERNALS.md", "HACKING.md", "TESTING.md", "STYLE.md", {"Formats": nav_of("formats")},
                       {"Decisions": nav_of("decisions")}]},
    ]

    def named(entry):  # a page shows its title
        if isinstance(entry, str):
            return {title_of(entry): entry}
        return {name: [named(each) for each in value] if isinstance(value, list) else value for name, value in entry.items()}

    listed = re.findall(r"[\w./-]+\.md", str(nav))
    unlisted = [str(path.relative_to(STAGED)) for path in STAGED.rglob("*.md") if not path.is_relative_to(STAGED / "source")]
    missing = set(unlisted) - set(listed) - {"decisions/0000-template.md"}
    if missing:
        sys.exit(f"site: scripts/site.py has no place in its navigation for {sorted(missing)}")
    return {
        "site_name": "mergedb",
        "docs_dir": str(STAGED),
        "site_dir": str(ROOT / "build/site"),
        "use_directory_urls": False,
        "nav": [named(entry) for entry in nav],
        "theme": {
            "name": "material",
            "font": False,  # the fonts of the reader, not of a network
            "features": ["navigation.tabs", "navigation.top", "navigation.footer", "content.code.copy", "search.highlight", "toc.follow"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "teal", "accent": "teal",
                 "toggle": {"icon": "material/weather-night", "name": "Dark"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "teal", "accent": "teal",
                 "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
            ],
        },
        "extra_css": ["site.css"],
        "plugins": ["search", "offline"],
        "markdown_extensions": ["tables", "sane_lists", "pymdownx.superfences", "pymdownx.highlight",
                                {"toc": {"permalink": True, "slugify": "SLUGIFY"}}],
        "validation": {"nav": {"omitted_files": "ignore"}, "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn"}},
        "extra": {"generator": False},
    }


def replace_worker():
    """The theme's offline mode loads a part of the search from a network. docs/site/worker.js takes its place."""
    site = ROOT / "build/site"
    shutil.copy(ROOT / "docs/site/worker.js", site / "assets/javascripts/worker.js")
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        script = os.path.relpath(site / "assets/javascripts/worker.js", path.parent)
        path.write_text(re.sub(r'<script src="https://[^"]*iframe-worker[^"]*"></script>', f'<script src="{script}"></script>', text),
                        encoding="utf-8")


def loads_from_elsewhere():
    site = ROOT / "build/site"
    found = []
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        for match in LOADS.finditer(path.read_text(encoding="utf-8", errors="replace")):
            found.append(f"{path.relative_to(ROOT)} loads {next(group for group in match.groups() if group)}")
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.parse_args()
    import yaml  # a dependency of mkdocs
    stage()
    # The slugs of GitHub, so that its anchors work on the site, too.
    text = yaml.safe_dump(configuration(), sort_keys=False).replace(
        "slugify: SLUGIFY", "slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}")
    target = ROOT / "build/docs/mkdocs.yml"
    target.write_text(text, encoding="utf-8")
    # Not --quiet: it would hide warnings from --strict, too.
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--config-file", str(target)], cwd=ROOT,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if done.returncode != 0:
        print("\n".join(line for line in done.stdout.splitlines() if line and not line.startswith("INFO")))
        return done.returncode
    replace_worker()
    found = loads_from_elsewhere()
    print("\n".join(found[:20]) if found else "build/site/index.html: all links lead somewhere, and nothing is loaded from elsewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
