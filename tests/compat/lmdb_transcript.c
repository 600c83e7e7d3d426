/* A random program on LMDB's interface that prints the answer of every call: with liblmdb and with the drop-in, the
 * same seed prints the same text (lmdb_test.py compares). Writes, nested transactions, aborts, all cursor operations,
 * concurrent readers, named databases.
 *
 *     lmdb_transcript DIRECTORY SEED STEPS [names]
 *
 * The text leaves out documented differences: page counts, the bytes of a name's item in the main database, and the
 * position of LMDB's cursors after a delete at the border of two pages: all items fit into one page (large values have
 * pages of their own). */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdb.h"

enum { kDepthMax = 3, kCursors = 3, kDatabasesMax = 4, kKeys = 60, kValueBytesMax = 5000, kLargeBytesMin = 3000 };

static uint64_t random_state;
static unsigned Random(unsigned bound) {
  random_state += 0x9E3779B97F4A7C15u;
  uint64_t z = random_state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (unsigned)(((z ^ (z >> 31)) >> 33) % bound);
}

static MDB_env* env;
static MDB_dbi databases[kDatabasesMax];
static int database_count;
static MDB_txn* writers[kDepthMax];
static int depth;
static MDB_cursor* cursors[kCursors]; /* of the innermost writer */
static MDB_txn* reader;
static MDB_cursor* reader_cursor;

static void PrintVal(const char* name, const MDB_val* val) {
  const unsigned char* bytes = val->mv_data;
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < val->mv_size; ++i) sum = (sum ^ bytes[i]) * 16777619u;
  printf(" %s=%zu:%08x", name, val->mv_size, sum);
  for (size_t i = 0; i < val->mv_size && i < 12; ++i) printf("%c", bytes[i] >= 33 && bytes[i] < 127 ? bytes[i] : '.');
}

static void Answer(const char* call, int code, const MDB_val* key, const MDB_val* data) {
  printf("%s %d", call, code);
  if (key != NULL) PrintVal("key", key);
  if (data != NULL) PrintVal("data", data);
  printf("\n");
}

static void Must(const char* call, int code) {
  if (code == 0) return;
  printf("%s failed: %s\n", call, mdb_strerror(code));
  exit(2);
}

static char key_bytes[600];
static MDB_val RandomKey(void) {
  const unsigned number = Random(kKeys);
  int size = snprintf(key_bytes, sizeof key_bytes, "%c%u", 'a' + (int)(number % 7), number);
  if (Random(300) == 0) size = Random(2) ? 0 : 512;
  return (MDB_val){(size_t)size, key_bytes};
}

static char value_bytes[kValueBytesMax];
static MDB_val RandomValue(void) {
  const size_t size = Random(20) == 0 ? kLargeBytesMin + Random(kValueBytesMax - kLargeBytesMin) : Random(30);
  for (size_t i = 0; i < size; ++i) value_bytes[i] = (char)('A' + Random(26));
  return (MDB_val){size, value_bytes};
}

static unsigned RandomPutFlags(void) {
  switch (Random(8)) {
    case 0: return MDB_NOOVERWRITE;
    case 1: return MDB_APPEND;
    case 2: return MDB_NODUPDATA;
    case 3: return MDB_RESERVE;
    default: return 0;
  }
}

static MDB_dbi RandomDatabase(void) { return databases[Random((unsigned)database_count)]; }

static void CloseCursors(void) {
  for (int i = 0; i < kCursors; ++i) {
    if (cursors[i] != NULL) mdb_cursor_close(cursors[i]);
    cursors[i] = NULL;
  }
}

static void Put(void) {
  MDB_val key = RandomKey(), data = RandomValue();
  const unsigned flags = RandomPutFlags();
  const size_t size = data.mv_size;
  const int code = mdb_put(writers[depth - 1], RandomDatabase(), &key, &data, flags);
  if (code == 0 && (flags & MDB_RESERVE)) memset(data.mv_data, 'R', size);
  Answer("put", code, &key, code == MDB_KEYEXIST ? &data : NULL);
}

static void Get(MDB_txn* txn, const char* call) {
  MDB_val key = RandomKey(), data = {0, NULL};
  const int code = mdb_get(txn, RandomDatabase(), &key, &data);
  Answer(call, code, &key, code == 0 ? &data : NULL);
}

static void Delete(void) {
  MDB_val key = RandomKey();
  Answer("del", mdb_del(writers[depth - 1], RandomDatabase(), &key, NULL), &key, NULL);
}

static void Stat(void) {
  MDB_stat stat;
  const int code = mdb_stat(writers[depth - 1], RandomDatabase(), &stat);
  printf("stat %d entries=%zu\n", code, code == 0 ? stat.ms_entries : 0);
}

/* LMDB marks a cursor that has reached the end, and a delete keeps the mark: MDB_NEXT may then return MDB_NOTFOUND
 * although an item has moved to the cursor's position. The drop-in does not imitate this, so a marked
 * cursor moves back here. */
static int saw_end[kCursors];
static int used_cursor;

static MDB_cursor* OpenCursor(void) {
  const int at = (int)Random(kCursors);
  printf("#%d ", at);
  used_cursor = at;
  if (cursors[at] == NULL) {
    saw_end[at] = 0;
    Must("cursor_open", mdb_cursor_open(writers[depth - 1], RandomDatabase(), &cursors[at]));
  }
  return cursors[at];
}

static void MoveCursor(MDB_cursor* cursor, const char* call) {
  static const MDB_cursor_op kOps[] = {MDB_FIRST,      MDB_LAST,       MDB_NEXT,        MDB_PREV, MDB_SET,
                                       MDB_SET_KEY,    MDB_SET_RANGE,  MDB_GET_CURRENT, MDB_NEXT, MDB_PREV,
                                       MDB_NEXT_NODUP, MDB_PREV_NODUP, MDB_NEXT,        MDB_PREV, MDB_GET_CURRENT};
  MDB_cursor_op op = kOps[Random(sizeof kOps / sizeof kOps[0])];
  int* const mark = cursor == reader_cursor ? NULL : &saw_end[used_cursor];
  if (mark != NULL && *mark && (op == MDB_NEXT || op == MDB_NEXT_NODUP)) op = MDB_PREV;
  MDB_val key = RandomKey(), data = {0, NULL};
  const int code = mdb_cursor_get(cursor, &key, &data, op);
  if (mark != NULL && op != MDB_GET_CURRENT)
    *mark = op == MDB_LAST || ((op == MDB_NEXT || op == MDB_NEXT_NODUP) && code != 0);
  printf("%s op=%d", call, (int)op);
  Answer("", code, code == 0 ? &key : NULL, code == 0 ? &data : NULL);
}

static void PutAtCursor(void) {
  MDB_cursor* const cursor = OpenCursor();
  MDB_val key = RandomKey(), data = RandomValue();
  unsigned flags = RandomPutFlags() & ~(unsigned)MDB_RESERVE;
  if (Random(4) == 0) { /* MDB_CURRENT requires the current key */
    MDB_val old;
    const int code = mdb_cursor_get(cursor, &key, &old, MDB_GET_CURRENT);
    if (code != 0) {
      printf("\n");
      return;
    }
    memcpy(key_bytes, key.mv_data, key.mv_size);
    key.mv_data = key_bytes;
    flags = MDB_CURRENT;
  }
  const int code = mdb_cursor_put(cursor, &key, &data, flags);
  printf("flags=%x ", flags);
  Answer("cursor_put", code, &key, NULL);
}

static void Begin(void) {
  if (depth == kDepthMax) return;
  CloseCursors();
  Must("begin", mdb_txn_begin(env, depth == 0 ? NULL : writers[depth - 1], 0, &writers[depth]));
  ++depth;
  printf("begin %d id=%zu\n", depth, mdb_txn_id(writers[depth - 1]));
}

static void End(void) {
  CloseCursors();
  --depth;
  if (Random(3) == 0) {
    mdb_txn_abort(writers[depth]);
    printf("abort %d\n", depth);
  } else {
    printf("commit %d %d\n", depth, mdb_txn_commit(writers[depth]));
  }
}

static void WalkReader(void) {
  MDB_val key, data;
  int code = mdb_cursor_get(reader_cursor, &key, &data, MDB_FIRST), count = 0;
  uint32_t sum = 0;
  for (; code == 0; ++count, code = mdb_cursor_get(reader_cursor, &key, &data, MDB_NEXT)) {
    for (size_t i = 0; i < data.mv_size; ++i) sum = sum * 31 + ((unsigned char*)data.mv_data)[i];
  }
  printf("walk %d of %d sum=%08x\n", code, count, sum);
}

static void RenewReader(void) {
  mdb_txn_reset(reader);
  Must("renew", mdb_txn_renew(reader));
  Must("cursor_renew", mdb_cursor_renew(reader, reader_cursor));
  printf("renew id=%zu\n", mdb_txn_id(reader));
}

static void Step(void) {
  switch (Random(24)) {
    case 0: Get(reader, "read"); return;
    case 1: MoveCursor(reader_cursor, "reader"); return;
    case 2:
      if (Random(6) == 0) RenewReader();
      return;
    case 3:
      if (Random(10) == 0) WalkReader();
      return;
    default: break;
  }
  if (depth == 0) {
    Begin();
    return;
  }
  switch (Random(30)) {
    case 0: Begin(); return;
    case 1:
    case 2: End(); return;
    case 3: Stat(); return;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8: Put(); return;
    case 9:
    case 10: Get(writers[depth - 1], "get"); return;
    case 11:
    case 12: Delete(); return;
    case 13:
    case 14: PutAtCursor(); return;
    case 15:
    case 16:
    case 17: Answer("cursor_del", mdb_cursor_del(OpenCursor(), 0), NULL, NULL); return;
    case 18:
      if (Random(20) == 0) {
        CloseCursors();
        Answer("drop", mdb_drop(writers[depth - 1], RandomDatabase(), 0), NULL, NULL);
      }
      return;
    default: MoveCursor(OpenCursor(), "cursor"); return;
  }
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  random_state = strtoull(argv[2], NULL, 10);
  const long steps = strtol(argv[3], NULL, 10);
  const int has_names = argc > 4;
  Must("create", mdb_env_create(&env));
  Must("mapsize", mdb_env_set_mapsize(env, 64 << 20));
  Must("maxdbs", mdb_env_set_maxdbs(env, kDatabasesMax));
  Must("open", mdb_env_open(env, argv[1], MDB_NOSYNC | MDB_NOTLS, 0600));
  MDB_txn* txn;
  Must("begin", mdb_txn_begin(env, NULL, 0, &txn));
  if (has_names) { /* not the main database: its items for names differ */
    Must("dbi_open", mdb_dbi_open(txn, "first", MDB_CREATE, &databases[database_count++]));
    Must("dbi_open", mdb_dbi_open(txn, "second", MDB_CREATE, &databases[database_count++]));
    Must("dbi_open", mdb_dbi_open(txn, "backward", MDB_CREATE | MDB_REVERSEKEY, &databases[database_count++]));
  } else {
    Must("dbi_open", mdb_dbi_open(txn, NULL, 0, &databases[database_count++]));
  }
  Must("commit", mdb_txn_commit(txn));
  Must("begin", mdb_txn_begin(env, NULL, MDB_RDONLY, &reader));
  Must("cursor_open", mdb_cursor_open(reader, databases[0], &reader_cursor));
  for (long i = 0; i < steps; ++i) Step();
  while (depth > 0) End();
  RenewReader();
  WalkReader();
  mdb_cursor_close(reader_cursor);
  mdb_txn_abort(reader);
  mdb_env_close(env);
  return 0;
}
