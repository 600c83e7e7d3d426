#!/usr/bin/env python3
"""Searches the site as a reader without a network does: Chromium opens its first page as a file. search.py SITE"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# A word, and a page that must be among its results: a guide, a page about a format, and a page of the reference.
SEARCHES = {"savepoint": "guides/transactions.html", "tombstone": "formats/table.html", "deletePrefix": "reference/java.html"}


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("Skipped: the search of the site; it needs a browser (Debian: chromium)")
        return 0
    faults = []
    for word, page in SEARCHES.items():
        with tempfile.TemporaryDirectory(prefix="mergedb-browser-", ignore_cleanup_errors=True) as profile:
            done = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                                   "--virtual-time-budget=20000", "--dump-dom", f"file://{site}/index.html?q={word}"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300, check=False)
        links = sorted(set(re.findall(r'href="([^"?]*)\?h=', done.stdout)))  # of the results: they mark the word
        if not any(link.endswith("/" + page) for link in links):
            faults.append(f"a search for {word} does not find {page}; it finds: {links}")
    print("\n".join(faults) if faults else f"the search finds {', '.join(SEARCHES)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
