/* A durable queue of jobs with several workers: job_queue DIR
 * A job moves from "ready" to "running" to "done", and each step is atomic. So no job is lost or taken twice. After a
 * crash, recover returns the jobs of the workers that died to the queue. */
#include <pthread.h>

#include "text.h"

static mergedb_db db;
static mergedb_keyspace ready, running, done;

static void add(const char* const* texts, size_t count) {
  mergedb_transaction_options synced = {.struct_size = sizeof synced, .durability = MERGEDB_SYNCED};
  mergedb_transaction change = 0;
  check(mergedb_transaction_begin(db, &synced, &change, &error));
  char* last = get(change, 0, "last id");
  char id[24]; /* ids have one length, so that the order of the keys is the order of the jobs */
  snprintf(id, sizeof id, "%s", last ? last : "100000000");
  mergedb_free(last);
  for (size_t i = 0; i < count; ++i) {
    snprintf(id, sizeof id, "%ld", strtol(id, NULL, 10) + 1);
    put(change, ready, id, texts[i]);
  }
  put(change, 0, "last id", id);
  commit(change);
}

/* Takes the oldest job; 0 if there is none. A single writer excludes all other workers until it commits. The caller
 * frees both texts. */
static int take(char** id, char** text) {
  mergedb_transaction change = begin(db, MERGEDB_SINGLE_WRITER);
  mergedb_cursor cursor = 0;
  check(mergedb_cursor_open(change, ready, &cursor, &error));
  const int found = there(mergedb_cursor_move(cursor, MERGEDB_TO_FIRST, NULL, 0, &error));
  if (found) {
    mergedb_slice key, value;
    check(mergedb_cursor_entry(cursor, &key, &value, &error));
    *id = copy(key), *text = copy(value);
    erase(change, ready, *id);
    put(change, running, *id, *text);
  }
  check(mergedb_cursor_close(cursor, &error));
  commit(change);
  return found;
}

static void move(const char* id, const char* text, mergedb_keyspace target) {
  mergedb_transaction change = begin(db, MERGEDB_SINGLE_WRITER);
  erase(change, running, id);
  put(change, target, id, text);
  commit(change);
}

static void* work(void* unused) {
  for (char *id, *text; take(&id, &text); free(id), free(text)) {
    char result[256];
    snprintf(result, sizeof result, "%s: done", text); /* a real worker does the job here */
    move(id, result, done);
  }
  return unused;
}

static void recover(void) {
  mergedb_iterator it = iterate(db, running, "");
  for (int at = there(mergedb_iterator_seek_to_first(it, &error)); at; at = there(mergedb_iterator_next(it, &error))) {
    mergedb_slice key, value;
    check(mergedb_iterator_entry(it, &key, &value, &error));
    char *id = copy(key), *text = copy(value);
    printf("recovered %s\n", id);
    move(id, text, ready);
    free(id), free(text);
  }
  check(mergedb_iterator_close(it, &error));
}

int main(int argc, char** argv) {
  const char* jobs[] = {"resize cat.png", "resize dog.png", "mail ann", "mail bob", "rotate logs", "backup"};
  db = open_database(argc, argv);
  ready = keyspace(db, "ready"), running = keyspace(db, "running"), done = keyspace(db, "done");
  recover();
  add(jobs, sizeof jobs / sizeof jobs[0]);
  char *id, *text;
  if (take(&id, &text)) free(id), free(text); /* this worker never ends its job */
  recover();                                  /* so the next start of the program returns it */
  pthread_t other;
  if (pthread_create(&other, NULL, work, NULL) != 0) return perror("pthread_create"), 1;
  work(NULL);
  pthread_join(other, NULL);
  mergedb_iterator it = iterate(db, done, "");
  for (int at = there(mergedb_iterator_seek_to_first(it, &error)); at; at = there(mergedb_iterator_next(it, &error))) {
    mergedb_slice key, value;
    check(mergedb_iterator_entry(it, &key, &value, &error));
    printf("%.*s %.*s\n", (int)key.size, (const char*)key.data, (int)value.size, (const char*)value.data);
  }
  check(mergedb_iterator_close(it, &error));
  check(mergedb_close(db, &error));
  return 0;
}
