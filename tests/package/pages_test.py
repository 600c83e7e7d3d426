#!/usr/bin/env python3
"""Goal: the man pages and completions have every verb and option of the command, and the programs that read them accept
them. Method: compares the written files with `--help`, and completes words in bash, zsh and fish where they are
installed.

  pages_test.py BUILD_DIRECTORY [unittest arguments]
"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(sys.argv[1])
MERGEDB, SHARE = os.path.join(BUILD, "bin", "mergedb"), os.path.join(BUILD, "share")
BASH = os.path.join(SHARE, "bash-completion/completions/mergedb")
ZSH = os.path.join(SHARE, "zsh/vendor-completions/_mergedb")
FISH = os.path.join(SHARE, "fish/vendor_completions.d/mergedb.fish")

# zsh completes at a terminal only. This appends to the file $FOUND what it would offer, then END, and ends.
ZSH_SETUP = """
PROMPT= fpath=($FOLDER $fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
compadd() {
  # With -O, -A or -D it fills an array and offers nothing.
  [[ " ${@[1,(i)(-|--)]} " == *" "-[OAD]" "* ]] && { builtin compadd "$@"; return }
  local -a offered
  builtin compadd -O offered "$@"
  print -rl -- $offered >>$FOUND
  builtin compadd "$@"
}
ended() { print END >>$FOUND; exit }
comppostfuncs=(ended)
print READY >$FOUND
"""


def run(*command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def help_of(*words):
    return run(MERGEDB, *words, "--help")


def verbs():
    return re.findall(r"^  (\S+)", help_of().split("Subcommands:\n")[1].split("\n\n")[0], re.M)


def options_of(verb):
    """The names in --help, such as -s and --keyspace."""
    lines = re.findall(r"^  (-\S+)", help_of(verb).split("Options:\n")[1].split("\n\n")[0], re.M)
    return [name for line in lines for name in line.split(",")]


def plain(page):
    """The words of a man page without roff's marks."""
    return re.sub(r"\\f[BIR]|\\&", "", page).replace("\\-", "-").replace("\\e", "\\")


class Pages(unittest.TestCase):
    def test_each_verb_has_a_man_page_with_the_texts_of_its_help(self):
        found = sorted(os.listdir(os.path.join(SHARE, "man/man1")))
        self.assertEqual(found, sorted(["mergedb.1"] + [f"mergedb-{verb}.1" for verb in verbs()]))
        words = plain(read(os.path.join(SHARE, "man/man1/mergedb.1")))
        for verb in verbs():
            self.assertIn(f"mergedb-{verb}(1)", words)
            page = plain(read(os.path.join(SHARE, f"man/man1/mergedb-{verb}.1")))
            text = help_of(verb)
            self.assertIn(re.search(r"^Usage: (.*)$", text, re.M).group(1), page)
            self.assertIn(text.splitlines()[0], page)
            for name in options_of(verb):
                self.assertRegex(page, rf"(?m)^\.TP\n(.*, )?{re.escape(name)}\b", verb)
            # Every line of the text below the options.
            for line in text.split("\n\n", 2)[2].splitlines() if text.count("\n\n") > 1 else []:
                self.assertIn(line.strip(), page)

    def test_man_formats_the_pages_without_a_warning(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        for name in os.listdir(os.path.join(SHARE, "man/man1")):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", os.path.join(SHARE, "man/man1", name)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertGreater(len(done.stdout), 300)

    def complete_in_bash(self, *words):
        """The words that bash offers for the last word."""
        script = f'. "{BASH}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mergedb; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return run("bash", "-euc", script, "bash", *words).split()

    def test_bash_completes_verbs_options_and_values(self):
        self.assertEqual(self.complete_in_bash("mergedb", ""), verbs())
        self.assertEqual(self.complete_in_bash("mergedb", "com"), ["compact"])
        self.assertEqual(self.complete_in_bash("mergedb", "--db", "DIR", "com"), ["compact"])
        self.assertEqual(self.complete_in_bash("mergedb", "--v"), ["--version"])
        for verb in verbs():
            self.assertEqual(sorted(self.complete_in_bash("mergedb", verb, "DIR", "-")), sorted(options_of(verb)), verb)
        self.assertEqual(self.complete_in_bash("mergedb", "get", "DIR", "--as", "u"), ["u64"])
        self.assertEqual(self.complete_in_bash("mergedb", "get", "DIR"), [])  # then bash offers files

    def test_fish_completes_verbs_and_options(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        with tempfile.TemporaryDirectory() as home:
            def complete(line):
                text = run("fish", "-c", f"source {FISH}; complete -C '{line}'", env=dict(os.environ, HOME=home))
                return [each.split("\t")[0] for each in text.splitlines()]
            self.assertEqual(sorted(complete("mergedb ")), sorted(verbs()))
            for verb in ("scan", "merge", "dump"):
                wanted = [name for name in options_of(verb) if name.startswith("--")]
                self.assertEqual(sorted(complete(f"mergedb {verb} DIR --")), sorted(wanted))

    def complete_in_zsh(self, line):
        """The words that zsh offers at the end of a line."""
        with tempfile.TemporaryDirectory() as scratch:
            found, setup = os.path.join(scratch, "found"), os.path.join(scratch, "setup")
            with open(setup, "w", encoding="utf-8") as file:
                file.write(ZSH_SETUP)
            child, terminal = pty.fork()
            if child == 0:
                os.chdir(scratch)
                os.execvpe("zsh", ["zsh", "-f", "-i"], dict(os.environ, FOLDER=os.path.dirname(ZSH), FOUND=found, HOME=scratch, TERM="dumb"))
            try:
                os.write(terminal, f"source {setup}\n".encode())
                self.wait_for(found, "READY\n")
                os.write(terminal, f"{line}\t".encode())
                self.wait_for(found, "END\n")
                return read(found).split()[1:-1]
            finally:
                os.close(terminal)  # hangs up, which ends the shell
                os.waitpid(child, 0)

    def wait_for(self, path, end):
        deadline = time.monotonic() + 100
        while not os.path.exists(path) or not read(path).endswith(end):
            self.assertLess(time.monotonic(), deadline, f"zsh did not write {end.strip()}: {read(path) if os.path.exists(path) else ''}")
            time.sleep(0.02)

    def test_zsh_completes_verbs_options_and_values(self):
        text = read(ZSH)
        for verb in verbs():
            self.assertIn(f"\n        {verb})\n", text)
            for name in options_of(verb):
                self.assertIn(f"'{name}[", text)
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        self.assertEqual(run("zsh", "-n", ZSH), "")
        self.assertEqual(sorted(self.complete_in_zsh("mergedb ")), sorted(verbs()))
        self.assertEqual(self.complete_in_zsh("mergedb com"), ["compact"])
        self.assertEqual(self.complete_in_zsh("mergedb --db DIR com"), ["compact"])
        self.assertEqual(self.complete_in_zsh("mergedb get DIR --as u"), ["u64"])
        for verb in ("scan", "merge", "export-leveldb"):
            wanted = [name for name in options_of(verb) if name.startswith("--")]
            self.assertEqual(sorted(self.complete_in_zsh(f"mergedb {verb} DIR --")), sorted(wanted))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
