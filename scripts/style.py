"""The checks of names and layout. scripts/tidy.py runs them.

S1  every C and C++ file is as clang-format writes it
S2  no file uses a word of scripts/banned_words.txt
S3  a comment in C or C++ is at most COLUMNS wide; clang-format does not see comments
"""

import concurrent.futures
import os
import re
import shutil
import subprocess

FORMATTED = re.compile(r"(src|include|tools|bench|tests|testing|fuzz|torture|examples|bindings|java/.*native|python/native)/.*\.(h|cc|c)")
WORDED = re.compile(r"(src|include|tools|bench|tests|testing|fuzz|torture|examples|bindings|scripts|docs|cmake|java/native|python)/.*"
                    r"\.(h|cc|c|py|pyi|go|rs|sh|md|txt|cmake|in)|[^/]*\.(md|txt)|dev|src/LAYERS")
COLUMNS = 120  # as in .clang-format
CLANG_FORMAT_VERSION = 14  # Debian 12's; another version formats differently
FILES_PER_PROCESS = 25
WORDS = "scripts/banned_words.txt"
# A decision is named by its number; its file name may have an older word.
DECISION_NAME = re.compile(r"\b\d{4}-[\w-]+(\.md)?")


def files(root):
    """Returns the files of the repository, new ones included, without those that git ignores."""
    if os.path.exists(os.path.join(root, ".git")):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                stdout=subprocess.PIPE, check=True).stdout.decode()
        return sorted({path for path in listed.split("\0") if path and os.path.isfile(os.path.join(root, path))})
    return sorted(os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names)


def find_clang_format():
    """Returns the path of a clang-format of the right version, or None."""
    for name in (f"clang-format-{CLANG_FORMAT_VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
        if re.search(rf"version {CLANG_FORMAT_VERSION}\.", version):
            return path
    return None


def check_format(report, root, paths):
    program = find_clang_format()
    if program is None:
        report.error("S1", ".clang-format", 1, f"clang-format {CLANG_FORMAT_VERSION} is missing (Debian 12: apt-get install clang-format)")
        return
    chosen = [path for path in paths if FORMATTED.fullmatch(path)]
    chunks = [chosen[i:i + FILES_PER_PROCESS] for i in range(0, len(chosen), FILES_PER_PROCESS)]

    def run(chunk):
        return subprocess.run([program, "--dry-run", *chunk], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)

    seen = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for chunk, done in zip(chunks, pool.map(run, chunks)):
            if done.returncode != 0:
                report.error("S1", chunk[0], 1, f"clang-format fails: {done.stdout[-500:].strip()}")
            for path, line in re.findall(r"^(\S+?):(\d+):\d+: (?:warning|error): code should be clang-formatted", done.stdout, re.M):
                if path not in seen:
                    seen.add(path)
                    report.error("S1", path, line, f"not as clang-format writes it; to mend it: clang-format -i {path}")


class Words:
    """The parsed list: the term for each form, and the exceptions."""

    def __init__(self, text):
        self.terms, self.allowed, self.wrong = {}, [], []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            exception = re.fullmatch(r"allow (.+?) in (\S+): .+", line)
            forms, bar, term = line.partition("|")
            if exception:
                self.allowed.append((exception.group(1).lower(), exception.group(2), number))
            elif bar and term.strip():
                self.terms.update({form.strip().lower(): term.strip() for form in forms.split(",")})
            else:
                self.wrong.append((number, line))
        # Longer forms first, so that a phrase is found and not its first word.
        spelled = sorted(self.terms, key=len, reverse=True)
        self.pattern = re.compile("|".join(re.escape(form).replace(r"\ ", r"\s+(?:(?://|#|\*)\s*)?") for form in spelled) or r"(?!)", re.I)

    def find(self, text):
        """Yields the offset and the form of each use. A part of an identifier is a word: kOneWord, one_word."""
        for match in self.pattern.finditer(text):
            word, before, after = match.group(), text[match.start() - 1:match.start()], text[match.end():match.end() + 1]
            begins = not before.isalpha() or (word[0].isupper() and (before.islower() or word[1:2].islower()))
            ends = not after.isalpha() or (word[-1].islower() and after.isupper())
            if begins and ends:
                yield match.start(), re.sub(r"[\s/#*]+", " ", word).lower()


def check_words(report, root, paths):
    path_of_list = os.path.join(root, WORDS)
    if not os.path.exists(path_of_list):
        return
    with open(path_of_list, encoding="utf-8") as file:
        words = Words(file.read())
    for number, line in words.wrong:
        report.error("S2", WORDS, number, f"neither FORMS | TERM nor allow FORM in PATH: REASON: {line}")
    used = set()
    for path in paths:
        if path == WORDS or not WORDED.fullmatch(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = DECISION_NAME.sub(lambda match: " " * len(match.group()), file.read())
        for offset, form in [*words.find(text), *((None, form) for _, form in words.find(path))]:
            excuses = [each for each in words.allowed if each[0] in (form, "*") and path.startswith(each[1])]
            used.update(excuses)
            if not excuses:
                line = 1 if offset is None else text.count("\n", 0, offset) + 1
                place = "the path has" if offset is None else "the text has"
                report.error("S2", path, line, f'{place} "{form}"; say: {words.terms[form]} ({WORDS})')
    for form, prefix, number in words.allowed:
        if form != "*" and (form, prefix, number) not in used:
            report.error("S2", WORDS, number, f'the exception excuses no "{form}" in {prefix}')


def check_width(report, root, paths):
    for path in filter(FORMATTED.fullmatch, paths):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                text = line.strip()
                if len(line.rstrip()) > COLUMNS and text.startswith(("//", "*", "/*")) and len(text.split()) > 2:
                    report.error("S3", path, number, f"the comment has {len(line.rstrip())} columns; at most {COLUMNS}")


def check(report, root):
    paths = files(root)
    check_format(report, root, paths)
    check_width(report, root, paths)
    check_words(report, root, paths)
