"""Finds documents by the words in them: full_text_index.py DIR

"postings" has a key for each word of each document, with the number of its occurrences. A document and its postings
change in one transaction, and a search reads one snapshot: it never sees a half-indexed document.
"""

import re
import sys

import mergedb_kv
from mergedb_kv import merge


def split(text: str) -> list[bytes]:
    return [word.encode() for word in re.findall(r"[a-z0-9]+", text.lower())]


class Index:
    def __init__(self, db: mergedb_kv.Database) -> None:
        self.db = db
        self.documents = db.create_keyspace(b"documents", exist_ok=True)
        self.postings = db.create_keyspace(b"postings", exist_ok=True)

    def set(self, document: bytes, text: str) -> None:
        """Adds, replaces or (with an empty text) removes a document."""
        with self.db.transaction() as change:
            old = change.get(document, b"", keyspace=self.documents)
            for word in split(old.decode()):
                change.delete(word + b"/" + document, keyspace=self.postings)
            for word in split(text):
                change.merge(word + b"/" + document, merge.add_u64(1), keyspace=self.postings)
            if text:
                change.put(document, text.encode(), keyspace=self.documents)
            else:
                change.delete(document, keyspace=self.documents)

    def search(self, query: str) -> list[tuple[int, str]]:
        """Occurrences and names of the documents with all of the words, those with the most occurrences first."""
        words = split(query)
        found: list[tuple[int, str]] = []
        with self.db.snapshot() as snapshot:
            postings = snapshot.keyspace(self.postings)
            for key in postings.keys(prefix=words[0] + b"/"):
                document = key[len(words[0]) + 1 :]
                counts = [count for count in postings.get_many([word + b"/" + document for word in words]) if count]
                if len(counts) == len(words):
                    found.append((sum(map(merge.to_u64, counts)), document.decode()))
        return sorted(found, key=lambda entry: -entry[0])


def show(index: Index, query: str) -> None:
    found = [f" {document} ({occurrences})" for occurrences, document in index.search(query)]
    print(query + ":" + "".join(found))


def main(directory: str) -> None:
    with mergedb_kv.open(directory) as db:
        index = Index(db)
        index.set(b"fable", "The quick fox and the slow fox met a dog.")
        index.set(b"news", "A fox was seen at the harbour.")
        index.set(b"recipe", "A quick soup: onions, water, salt.")
        for query in ("fox", "quick", "Quick fox"):
            show(index, query)
        index.set(b"news", "The quick fox has left; a quick search found nothing.")
        index.set(b"fable", "")
        for query in ("quick fox", "dog", "harbour"):
            show(index, query)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: full_text_index.py DIR")
    try:
        main(sys.argv[1])
    except mergedb_kv.Error as error:
        sys.exit(str(error))
