/* Finds documents by the words in them: full_text_index DIR
 * "postings" has a key for each word of each document, with the number of its occurrences. A document and its postings
 * change in one transaction, and a search reads one read-only transaction: it never sees a half-indexed document. */
#include <ctype.h>

#include "text.h"

static mergedb_db db;
static mergedb_keyspace documents, postings;
typedef struct {
  char text[128];
} word;

/* Reads the next word at *text, in lower case, and moves *text behind it; 0 at the end. */
static int next_word(const char** text, word* found) {
  size_t length = 0;
  while (**text && !isalnum((unsigned char)**text)) ++*text;
  for (; isalnum((unsigned char)**text) && length + 1 < sizeof found->text; ++*text)
    found->text[length++] = (char)tolower((unsigned char)**text);
  found->text[length] = '\0';
  return length > 0;
}

static const char* posting(char* buffer, size_t size, word of, const char* document) {
  snprintf(buffer, size, "%s/%s", of.text, document);
  return buffer;
}

/* Adds, replaces or (with an empty text) removes a document. */
static void set(const char* document, const char* text) {
  char key[256];
  word each;
  mergedb_operand one = {.struct_size = sizeof one, .type = MERGEDB_ADD_U64, .u64 = 1};
  mergedb_transaction change = begin(db, MERGEDB_SINGLE_WRITER);
  char* old = get(change, documents, document);
  for (const char* at = old ? old : ""; next_word(&at, &each);)
    erase(change, postings, posting(key, sizeof key, each, document));
  mergedb_free(old);
  for (const char* at = text; next_word(&at, &each);) {
    posting(key, sizeof key, each, document);
    check(mergedb_transaction_merge(change, postings, key, strlen(key), &one, &error));
  }
  text[0] ? put(change, documents, document, text) : erase(change, documents, document);
  commit(change);
}

/* The occurrences of the words in the document; 0 if one of them is not in it. */
static uint64_t score(mergedb_transaction reader, const char* words, const char* document) {
  uint64_t sum = 0, count;
  word each;
  char key[256];
  while (next_word(&words, &each)) {
    char* value = get(reader, postings, posting(key, sizeof key, each, document));
    if (!value) return 0;
    memcpy(&count, value, sizeof count); /* little-endian, as this machine */
    mergedb_free(value);
    sum += count;
  }
  return sum;
}

/* Prints the documents with all of the words. */
static void search(const char* query) {
  word first;
  next_word(&(const char*){query}, &first);
  const size_t skipped = strlen(first.text) + 1;
  char start[256];
  posting(start, sizeof start, first, "");
  mergedb_transaction reader = begin(db, MERGEDB_READ_ONLY_TRANSACTION);
  mergedb_cursor cursor = 0;
  check(mergedb_cursor_open(reader, postings, &cursor, &error));
  printf("%s:", query);
  int at = there(mergedb_cursor_move(cursor, MERGEDB_TO_KEY_OR_NEXT, start, skipped, &error));
  for (mergedb_slice key; at; at = there(mergedb_cursor_move(cursor, MERGEDB_TO_NEXT, NULL, 0, &error))) {
    check(mergedb_cursor_entry(cursor, &key, NULL, &error));
    if (key.size < skipped || memcmp(key.data, start, skipped) != 0) break;
    char* document = copy((mergedb_slice){(const char*)key.data + skipped, key.size - skipped});
    const uint64_t found = score(reader, query, document);
    if (found > 0) printf(" %s (%llu)", document, (unsigned long long)found);
    free(document);
  }
  printf("\n");
  check(mergedb_cursor_close(cursor, &error));
  commit(reader);
}

int main(int argc, char** argv) {
  db = open_database(argc, argv);
  documents = keyspace(db, "documents"), postings = keyspace(db, "postings");
  set("fable", "The quick fox and the slow fox met a dog.");
  set("news", "A fox was seen at the harbour.");
  set("recipe", "A quick soup: onions, water, salt.");
  search("fox"), search("quick"), search("Quick fox");
  set("news", "The quick fox has left; a quick search found nothing.");
  set("fable", "");
  search("quick fox"), search("dog"), search("harbour");
  check(mergedb_close(db, &error));
  return 0;
}
