/* What the C examples share: keys and values that are texts, and the end of the program after an error. */
#ifndef EXAMPLES_C_TEXT_H_
#define EXAMPLES_C_TEXT_H_

#include <mergedb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local mergedb_error error;

/* An exit without a close is as safe as a kill: no acknowledged write is lost. */
static inline void check(mergedb_code code) {
  if (code == MERGEDB_OK) return;
  fprintf(stderr, "%s: %s\n", mergedb_code_name(code), error.message);
  exit(1);
}

static inline mergedb_db open_database(int argc, char** argv) {
  mergedb_db db = 0;
  if (argc < 2) {
    fprintf(stderr, "usage: %s DIR\n", argv[0]);
    exit(2);
  }
  check(mergedb_open(argv[1], NULL, &db, &error));
  return db;
}

static inline mergedb_keyspace keyspace(mergedb_db db, const char* name) {
  mergedb_keyspace made = 0;
  check(mergedb_keyspace_create(db, name, strlen(name), MERGEDB_YES, &made, &error));
  return made;
}

static inline mergedb_transaction begin(mergedb_db db, int32_t kind) {
  mergedb_transaction_options options = {.struct_size = sizeof options, .kind = kind};
  mergedb_transaction made = 0;
  check(mergedb_transaction_begin(db, &options, &made, &error));
  return made;
}

/* NULL if the key is absent. Give the text to mergedb_free; a NUL follows it. */
static inline char* get(mergedb_transaction change, mergedb_keyspace in, const char* key) {
  void* value = NULL;
  size_t size = 0;
  mergedb_code code = mergedb_transaction_get(change, in, key, strlen(key), &value, &size, &error);
  if (code != MERGEDB_NOT_FOUND) check(code);
  return value;
}

static inline void put(mergedb_transaction change, mergedb_keyspace in, const char* key, const char* value) {
  check(mergedb_transaction_put(change, in, key, strlen(key), value, strlen(value), &error));
}

static inline void erase(mergedb_transaction change, mergedb_keyspace in, const char* key) {
  check(mergedb_transaction_delete(change, in, key, strlen(key), &error));
}

static inline void commit(mergedb_transaction change) {
  check(mergedb_transaction_commit(change, &error));
  check(mergedb_transaction_close(change, &error));
}

static inline mergedb_iterator iterate(mergedb_db db, mergedb_keyspace in, const char* prefix) {
  mergedb_iterator_options options = {
      .struct_size = sizeof options, .prefix = {prefix, strlen(prefix)}, .keyspace = in};
  mergedb_iterator made = 0;
  check(mergedb_iterator_create(db, &options, &made, &error));
  return made;
}

/* The result of a move: 1 at a key, 0 at the end. */
static inline int there(mergedb_code code) {
  if (code != MERGEDB_NOT_FOUND) check(code);
  return code == MERGEDB_OK;
}

static inline char* copy(mergedb_slice text) { /* for free */
  char* made = malloc(text.size + 1);
  if (!made) abort();
  memcpy(made, text.data, text.size);
  made[text.size] = '\0';
  return made;
}

#endif
