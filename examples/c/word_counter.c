/* Counts the words of files and prints the ten most frequent ones: word_counter DIR FILE...
 * The counts of a file and its name are one atomic batch. So a file counts once, also if the program is killed or runs
 * again. */
#include <ctype.h>

#include "text.h"

static void count_file(mergedb_db db, mergedb_keyspace words, mergedb_keyspace files, const char* path) {
  mergedb_read_options in_files = {.struct_size = sizeof in_files, .keyspace = files};
  size_t size = 0;
  if (there(mergedb_get_into(db, &in_files, path, strlen(path), NULL, 0, &size, &error))) return; /* counted before */

  FILE* file = fopen(path, "r");
  if (!file) {
    perror(path);
    exit(1);
  }
  mergedb_batch batch = 0;
  check(mergedb_batch_create(&batch, &error));
  check(mergedb_batch_set_keyspace(batch, files, &error));
  check(mergedb_batch_put(batch, path, strlen(path), NULL, 0, &error));
  check(mergedb_batch_set_keyspace(batch, words, &error));
  mergedb_operand one = {.struct_size = sizeof one, .type = MERGEDB_ADD_U64, .u64 = 1};
  char word[256];
  size_t length = 0;
  for (int c = 0; c != EOF;) {
    c = fgetc(file);
    if (c != EOF && isalpha(c)) {
      if (length < sizeof word) word[length++] = (char)tolower(c);
    } else if (length > 0) {
      check(mergedb_batch_merge(batch, word, length, &one, &error)); /* reads nothing */
      length = 0;
    }
  }
  fclose(file);
  check(mergedb_write(db, NULL, batch, &error));
  check(mergedb_batch_close(batch, &error));
}

enum { TOP = 10 };
typedef struct {
  uint64_t count;
  char word[257];
} word_count;

static int by_count(const void* a, const void* b) {
  const word_count *x = a, *y = b;
  return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->word, y->word);
}

static void print_top(mergedb_db db, mergedb_keyspace words) {
  word_count top[TOP + 1] = {{0}}; /* the last one is the candidate */
  mergedb_iterator it = iterate(db, words, "");
  for (int at = there(mergedb_iterator_seek_to_first(it, &error)); at; at = there(mergedb_iterator_next(it, &error))) {
    mergedb_slice key, value;
    check(mergedb_iterator_entry(it, &key, &value, &error));
    memcpy(&top[TOP].count, value.data, sizeof top[TOP].count); /* little-endian, as this machine */
    snprintf(top[TOP].word, sizeof top[TOP].word, "%.*s", (int)key.size, (const char*)key.data);
    qsort(top, TOP + 1, sizeof top[0], by_count);
  }
  check(mergedb_iterator_close(it, &error));
  for (int i = 0; i < TOP && top[i].count > 0; ++i) printf("%llu %s\n", (unsigned long long)top[i].count, top[i].word);
}

int main(int argc, char** argv) {
  mergedb_db db = open_database(argc, argv);
  mergedb_keyspace words = keyspace(db, "words"), files = keyspace(db, "files");
  for (int i = 2; i < argc; ++i) count_file(db, words, files, argv[i]);
  print_top(db, words);
  check(mergedb_close(db, &error));
  return 0;
}
