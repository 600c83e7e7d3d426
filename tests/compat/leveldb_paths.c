/* Every short path of calls on LevelDB's C interface, with the answers of each call: with LevelDB and with the drop-in
 * the text is the same (paths_test.py compares). transcript_c.c calls each function once; here the calls come in every
 * order. path_walk.h says how to run this program.
 *
 * Keys are a and b, and c in some contents. Values are 1 and 22, and L, which mergedb writes to a blob file. The
 * families are:
 *
 *     writes      put, delete, two write batches, get, a compaction, a database that is closed and opened again
 *     iterator    one iterator: all moves, beside writes and a compaction
 *     iterators   two iterators of different moments
 *     snapshots   two snapshots: get and walks with each, beside writes and a compaction
 *
 * A path has only calls that LevelDB allows: an iterator moves on only where it is valid, and a database is closed
 * without iterators and snapshots. */
#include <leveldb/c.h>

#include "path_walk.h"

enum { kLargeBytes = 3000 };

static char path[600];
static leveldb_t* db;
static leveldb_options_t* options;
static leveldb_writeoptions_t* writing;
static leveldb_readoptions_t* reading;
static leveldb_iterator_t* iterators[2];
static const leveldb_snapshot_t* snapshots[2];
static leveldb_writebatch_t* batches[2];

static void ShowError(char* error) {
  printf(error == NULL ? " 0" : " '%s'", error);
  leveldb_free(error);
}

static void Must(const char* call, char* error) {
  if (error == NULL) return;
  printf("%s failed: %s\n", call, error);
  exit(2);
}

static char large[kLargeBytes];
static const char* ValueOf(const char* text, size_t* bytes) {
  *bytes = *text == 'L' ? kLargeBytes : strlen(text);
  return *text == 'L' ? memset(large, 'L', kLargeBytes) : text;
}

/* A long value is one letter and its length. */
static void ShowBytes(const char* bytes, size_t size) {
  size_t same = 1;
  while (same < size && bytes[same] == bytes[0]) ++same;
  if (size < 4) {
    printf("%.*s", (int)size, bytes);
  } else {
    printf("%c*%zu", same == size ? bytes[0] : '?', size);
  }
}

static void ShowPlace(const leveldb_iterator_t* iterator) {
  char* error = NULL;
  if (leveldb_iter_valid(iterator)) {
    size_t key_bytes, value_bytes;
    const char* const key = leveldb_iter_key(iterator, &key_bytes);
    const char* const value = leveldb_iter_value(iterator, &value_bytes);
    printf(" ");
    ShowBytes(key, key_bytes);
    printf(":");
    ShowBytes(value, value_bytes);
  } else {
    printf(" none");
  }
  leveldb_iter_get_error(iterator, &error);
  if (error != NULL) ShowError(error);
}

/* ---- calls */

static void CallPut(const struct Call* call) {
  char* error = NULL;
  size_t bytes;
  const char* const value = ValueOf(call->value, &bytes);
  leveldb_put(db, writing, call->key, 1, value, bytes, &error);
  ShowError(error);
}

static void CallDelete(const struct Call* call) {
  char* error = NULL;
  leveldb_delete(db, writing, call->key, 1, &error);
  ShowError(error);
}

/* `at` is -1 for the newest state, or the number of a snapshot. */
static void SetSnapshot(int at) { leveldb_readoptions_set_snapshot(reading, at < 0 ? NULL : snapshots[at]); }

static void CallGet(const struct Call* call) {
  char* error = NULL;
  size_t bytes = 99;
  SetSnapshot(call->at);
  char* const value = leveldb_get(db, reading, call->key, 1, &bytes, &error);
  printf(" ");
  if (value != NULL) ShowBytes(value, bytes);
  if (value == NULL) printf("none %zu", bytes);
  if (error != NULL) ShowError(error);
  leveldb_free(value);
}

/* All items, forward and back. */
static void Walk(int at) {
  SetSnapshot(at);
  leveldb_iterator_t* const iterator = leveldb_create_iterator(db, reading);
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator); leveldb_iter_next(iterator))
    ShowPlace(iterator);
  ShowPlace(iterator);
  for (leveldb_iter_seek_to_last(iterator); leveldb_iter_valid(iterator); leveldb_iter_prev(iterator))
    ShowPlace(iterator);
  ShowPlace(iterator);
  leveldb_iter_destroy(iterator);
}
static void CallWalk(const struct Call* call) { Walk(call->at); }

static void CallBatchPut(const struct Call* call) {
  size_t bytes;
  const char* const value = ValueOf(call->value, &bytes);
  leveldb_writebatch_put(batches[call->at], call->key, 1, value, bytes);
  printf(" 0");
}
static void CallBatchDelete(const struct Call* call) {
  leveldb_writebatch_delete(batches[call->at], call->key, 1);
  printf(" 0");
}
static void CallBatchClear(const struct Call* call) {
  leveldb_writebatch_clear(batches[call->at]);
  printf(" 0");
}
static void CallBatchAppend(const struct Call* call) {
  leveldb_writebatch_append(batches[call->at], batches[1 - call->at]);
  printf(" 0");
}
static void CallBatchWrite(const struct Call* call) {
  char* error = NULL;
  leveldb_write(db, writing, batches[call->at], &error);
  ShowError(error);
}

static void VisitPut(void* state, const char* key, size_t key_bytes, const char* value, size_t value_bytes) {
  (void)state;
  printf(" put ");
  ShowBytes(key, key_bytes);
  printf(":");
  ShowBytes(value, value_bytes);
}
static void VisitDelete(void* state, const char* key, size_t key_bytes) {
  (void)state;
  printf(" del ");
  ShowBytes(key, key_bytes);
}
static void CallBatchShow(const struct Call* call) {
  leveldb_writebatch_iterate(batches[call->at], NULL, VisitPut, VisitDelete);
}

static void CallCreate(const struct Call* call) {
  SetSnapshot(-1);
  iterators[call->at] = leveldb_create_iterator(db, reading);
  ShowPlace(iterators[call->at]);
}
static void CallDestroy(const struct Call* call) {
  leveldb_iter_destroy(iterators[call->at]);
  iterators[call->at] = NULL;
  printf(" 0");
}
static void CallFirst(const struct Call* call) {
  leveldb_iter_seek_to_first(iterators[call->at]);
  ShowPlace(iterators[call->at]);
}
static void CallLast(const struct Call* call) {
  leveldb_iter_seek_to_last(iterators[call->at]);
  ShowPlace(iterators[call->at]);
}
static void CallSeek(const struct Call* call) {
  leveldb_iter_seek(iterators[call->at], call->key, strlen(call->key));
  ShowPlace(iterators[call->at]);
}
/* LevelDB requires a valid iterator. */
static void Step(const struct Call* call, void (*step)(leveldb_iterator_t*)) {
  if (!leveldb_iter_valid(iterators[call->at])) {
    printf(" -");
    return;
  }
  step(iterators[call->at]);
  ShowPlace(iterators[call->at]);
}
static void CallNext(const struct Call* call) { Step(call, leveldb_iter_next); }
static void CallPrev(const struct Call* call) { Step(call, leveldb_iter_prev); }

static void CallSnapshot(const struct Call* call) {
  snapshots[call->at] = leveldb_create_snapshot(db);
  printf(" 0");
}
static void CallRelease(const struct Call* call) {
  leveldb_release_snapshot(db, snapshots[call->at]);
  snapshots[call->at] = NULL;
  printf(" 0");
}

static void CallCompact(const struct Call* call) {
  (void)call;
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  printf(" 0");
}

static void CallReopen(const struct Call* call) {
  char* error = NULL;
  (void)call;
  leveldb_close(db);
  db = leveldb_open(options, path, &error);
  ShowError(error);
}

/* ---- families */

enum State { kI = 1, kJ = 2, kS = 4, kT = 8 }; /* the iterators and the snapshots that live */

#define CALL(name, function, ...) \
  { .text = name, .run = function, __VA_ARGS__ }

static const struct Call kWrites[] = {
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("put b L", CallPut, .key = "b", .value = "L"),
    CALL("del a", CallDelete, .key = "a"),
    CALL("get a", CallGet, .at = -1, .key = "a"),
    CALL("w put a 1", CallBatchPut, .key = "a", .value = "1"),
    CALL("w del a", CallBatchDelete, .key = "a"),
    CALL("w clear", CallBatchClear),
    CALL("w write", CallBatchWrite),
    CALL("w append v", CallBatchAppend),
    CALL("w show", CallBatchShow),
    CALL("v put b 22", CallBatchPut, .at = 1, .key = "b", .value = "22"),
    CALL("v del a", CallBatchDelete, .at = 1, .key = "a"),
    CALL("v write", CallBatchWrite, .at = 1),
    CALL("compact", CallCompact),
    CALL("reopen", CallReopen),
};

static const struct Call kOneIterator[] = {
    CALL("i create", CallCreate, .forbids = kI, .sets = kI),
    CALL("i destroy", CallDestroy, .needs = kI, .clears = kI),
    CALL("i first", CallFirst, .needs = kI),
    CALL("i last", CallLast, .needs = kI),
    CALL("i seek a", CallSeek, .needs = kI, .key = "a"),
    CALL("i seek b", CallSeek, .needs = kI, .key = "b"),
    CALL("i seek bb", CallSeek, .needs = kI, .key = "bb"),
    CALL("i next", CallNext, .needs = kI),
    CALL("i prev", CallPrev, .needs = kI),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("put b L", CallPut, .key = "b", .value = "L"),
    CALL("del a", CallDelete, .key = "a"),
    CALL("del b", CallDelete, .key = "b"),
    CALL("compact", CallCompact),
};

static const struct Call kTwoIterators[] = {
    CALL("i create", CallCreate, .forbids = kI, .sets = kI),
    CALL("i destroy", CallDestroy, .needs = kI, .clears = kI),
    CALL("i first", CallFirst, .needs = kI),
    CALL("i next", CallNext, .needs = kI),
    CALL("i prev", CallPrev, .needs = kI),
    CALL("j create", CallCreate, .at = 1, .forbids = kJ, .sets = kJ),
    CALL("j last", CallLast, .at = 1, .needs = kJ),
    CALL("j seek b", CallSeek, .at = 1, .needs = kJ, .key = "b"),
    CALL("j next", CallNext, .at = 1, .needs = kJ),
    CALL("j prev", CallPrev, .at = 1, .needs = kJ),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("del b", CallDelete, .key = "b"),
    CALL("reopen", CallReopen, .forbids = kI | kJ),
};

static const struct Call kSnapshots[] = {
    CALL("s take", CallSnapshot, .forbids = kS, .sets = kS),
    CALL("s release", CallRelease, .needs = kS, .clears = kS),
    CALL("s get a", CallGet, .needs = kS, .key = "a"),
    CALL("s walk", CallWalk, .needs = kS),
    CALL("t take", CallSnapshot, .at = 1, .forbids = kT, .sets = kT),
    CALL("t release", CallRelease, .at = 1, .needs = kT, .clears = kT),
    CALL("t get b", CallGet, .at = 1, .needs = kT, .key = "b"),
    CALL("t walk", CallWalk, .at = 1, .needs = kT),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("put b L", CallPut, .key = "b", .value = "L"),
    CALL("del a", CallDelete, .key = "a"),
    CALL("del b", CallDelete, .key = "b"),
    CALL("walk", CallWalk, .at = -1),
    CALL("compact", CallCompact),
};

#define CALLS(table) .calls = table, .call_count = sizeof table / sizeof table[0]
static const struct Family kFamilies[] = {
    {.name = "writes", CALLS(kWrites), .starts = "0 ab"},
    {.name = "iterator", CALLS(kOneIterator), .starts = "0 a ab Abc"},
    {.name = "iterators", CALLS(kTwoIterators), .starts = "0 ab abc"},
    {.name = "snapshots", CALLS(kSnapshots), .starts = "0 Ab"},
};

/* ---- one path */

static void OpenEnvironment(const char* directory) {
  char* error = NULL;
  snprintf(path, sizeof path, "%s", directory);
  options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  writing = leveldb_writeoptions_create();
  reading = leveldb_readoptions_create();
  db = leveldb_open(options, path, &error);
  Must("open", error);
}

static void CloseEnvironment(void) {
  char* error = NULL;
  leveldb_close(db);
  leveldb_destroy_db(options, path, &error);
  Must("destroy", error);
  leveldb_readoptions_destroy(reading);
  leveldb_writeoptions_destroy(writing);
  leveldb_options_destroy(options);
}

/* A letter of the start is an item with the value 1, or L for a capital letter. */
static void BeginPath(const char* start) {
  char* error = NULL;
  for (const char* key = "abc"; *key != '\0'; ++key) {
    leveldb_delete(db, writing, key, 1, &error);
    Must("delete", error);
  }
  for (; *start != '\0' && *start != '0'; ++start) {
    const char key = *start == 'A' ? 'a' : *start;
    size_t bytes;
    const char* const value = ValueOf(key == *start ? "1" : "L", &bytes);
    leveldb_put(db, writing, &key, 1, value, bytes, &error);
    Must("put", error);
  }
  for (int i = 0; i < 2; ++i) batches[i] = leveldb_writebatch_create();
}

static void EndPath(void) {
  for (int i = 0; i < 2; ++i) {
    if (iterators[i] != NULL) leveldb_iter_destroy(iterators[i]);
    iterators[i] = NULL;
    if (snapshots[i] != NULL) leveldb_release_snapshot(db, snapshots[i]);
    snapshots[i] = NULL;
    leveldb_writebatch_destroy(batches[i]);
  }
  Walk(-1);
}

int main(int argc, char** argv) { return WalkMain(argc, argv, kFamilies, sizeof kFamilies / sizeof kFamilies[0]); }
