"""Counts the words of files and prints the ten most frequent ones: word_counter.py DIR FILE...

The counts of a file and its name are one atomic batch. So a file counts once, also if the program is killed or runs
again.
"""

import re
import sys

import mergedb_kv
from mergedb_kv import merge


def count_file(
    db: mergedb_kv.Database, words: mergedb_kv.Keyspace, files: mergedb_kv.Keyspace, path: str
) -> None:
    if path.encode() in files:  # an earlier run counted it
        return
    with open(path, encoding="utf-8") as file, db.batch() as batch:
        batch.put(path.encode(), b"", keyspace=files)
        for word in re.findall(r"[a-z]+", file.read().lower()):
            batch.merge(word.encode(), merge.add_u64(1), keyspace=words)  # reads nothing


def top(words: mergedb_kv.Keyspace, count_max: int) -> list[tuple[int, str]]:
    # The keys come in order, and sorted() is stable: words with the same count stay in alphabetical order.
    counts = [(merge.to_u64(count), word.decode()) for word, count in words.items()]
    return sorted(counts, key=lambda entry: -entry[0])[:count_max]


def main(directory: str, paths: list[str]) -> None:
    with mergedb_kv.open(directory) as db:
        words = db.create_keyspace(b"words", exist_ok=True)
        files = db.create_keyspace(b"files", exist_ok=True)
        for path in paths:
            count_file(db, words, files, path)
        for count, word in top(words, 10):
            print(count, word)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: word_counter.py DIR FILE...")
    try:
        main(sys.argv[1], sys.argv[2:])
    except (mergedb_kv.Error, OSError) as error:
        sys.exit(str(error))
