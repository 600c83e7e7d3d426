/* Every short path of calls on LMDB's interface, with the answers of each call: with liblmdb and with the drop-in the
 * text is the same (paths_test.py compares). lmdb_transcript.c is random and long; here nothing is left to chance.
 * path_walk.h says how to run this program.
 *
 * Keys are a and b, and c in some contents. Values are 1 and 22, and L, which has pages of its own. The families are:
 *
 *     positions     one cursor in a write transaction: all operations
 *     cursor        the same: fewer operations, longer paths
 *     places        the same: only what decides where the cursor is after writes, so that all long paths run
 *     cursors       two cursors in a write transaction
 *     nested        cursors of a write transaction and its nested transactions
 *     parent        the same: only a cursor of the parent, after a nested transaction has ended
 *     transactions  write transactions, nested ones, a reader beside them
 *     readers       a reader and its cursor, reset and renewed, beside commits
 *     names         a named database: open, create, close, drop, in transactions that commit or abort
 *
 * A path has only calls that LMDB's documentation allows: a handle is not used after its end, a thread has one writer,
 * a transaction with a nested one waits, a database is closed when no transaction may use it. */
#include <errno.h>
#include <sys/stat.h>

#include "lmdb.h"
#include "path_walk.h"

enum { kLargeBytes = 3000, kDatabasesMax = 4 };
enum { kChild = 2, kReaders = 3, kCursors = 4 }; /* cursors: 0 and 1 are the writer's, then these */

static MDB_env* env;
static MDB_txn* writers[2];
static int depth;
static MDB_txn* reader;
static MDB_cursor* cursors[kCursors];
static size_t start_id; /* of the transaction that made the start */

/* If the transaction that opened the handle of the named database aborts, the handle is closed. A reader may use the
 * handle if it is older than the reader, or if the reader opened it. */
enum Opener { kEarlier, kByWriter, kByChild, kByReader };
static MDB_dbi main_dbi, named; /* 0: `named` is not open */
static enum Opener opened_by;
static int reader_has_named;
static int has_changed_named[2]; /* by depth: the transaction has written to the database */

/* LMDB marks a cursor that has reached the end, and a write keeps the mark: MDB_NEXT may then return MDB_NOTFOUND
 * although an item has moved to the cursor's position (docs/api/lmdb-differences.md). So a path does not make the call
 * MDB_NEXT after a write on a marked cursor. */
static int saw_end[kCursors], is_doubtful[kCursors];
static int is_nowhere[kCursors]; /* it may have no position: MDB_PREV is MDB_LAST then, and marks it */

static void Must(const char* call, int code) {
  if (code == 0) return;
  printf("%s failed: %s\n", call, mdb_strerror(code));
  exit(2);
}

static char large[kLargeBytes];
static MDB_val Val(const char* text) {
  if (*text == 'L') return (MDB_val){kLargeBytes, memset(large, 'L', kLargeBytes)};
  return (MDB_val){strlen(text), (void*)text};
}

static void ShowCode(int code) {
  switch (code) {
    case MDB_KEYEXIST: printf(" KEYEXIST"); break;
    case MDB_NOTFOUND: printf(" NOTFOUND"); break;
    case MDB_BAD_TXN: printf(" BAD_TXN"); break;
    case MDB_BAD_DBI: printf(" BAD_DBI"); break;
    case EINVAL: printf(" EINVAL"); break;
    default: printf(" %d", code);
  }
}

/* A long value is one letter and its length. The item of a name has another content in each library. */
static void ShowVal(const MDB_val* val) {
  const char* const bytes = val->mv_data;
  size_t same = 1;
  while (same < val->mv_size && bytes[same] == bytes[0]) ++same;
  if (val->mv_size < 4) {
    printf("%.*s", (int)val->mv_size, bytes);
  } else {
    printf("%c*%zu", same == kLargeBytes ? bytes[0] : '?', val->mv_size);
  }
}

static void ShowItem(const MDB_val* key, const MDB_val* data) {
  printf(" ");
  ShowVal(key);
  printf(":");
  ShowVal(data);
}

static void ShowId(MDB_txn* txn) { printf(" #%d", (int)(mdb_txn_id(txn) - start_id)); }

static MDB_txn* Writer(void) { return writers[depth - 1]; }

static void NoteWrite(const struct Call* call) {
  MDB_stat stat;
  const int is_empty = depth > 0 && mdb_stat(Writer(), main_dbi, &stat) == 0 && stat.ms_entries == 0;
  for (int i = 0; i < kCursors; ++i) {
    is_doubtful[i] |= saw_end[i];
    is_nowhere[i] |= is_empty;
  }
  if (depth > 0 && call != NULL && call->at == 1) has_changed_named[depth - 1] = 1;
}

/* ---- calls */

static void CallCursorGet(const struct Call* call) {
  int* const mark = &saw_end[call->at];
  const int is_next = call->op == MDB_NEXT || call->op == MDB_NEXT_NODUP;
  MDB_val key = call->key != NULL ? Val(call->key) : (MDB_val){0, NULL}, data = {0, NULL};
  if (is_next && is_doubtful[call->at]) {
    printf(" -");
    return;
  }
  const int code = mdb_cursor_get(cursors[call->at], &key, &data, (MDB_cursor_op)call->op);
  const int is_prev = call->op == MDB_PREV || call->op == MDB_PREV_NODUP;
  if (call->op != MDB_GET_CURRENT) {
    const int is_last = call->op == MDB_LAST || (is_prev && is_nowhere[call->at]);
    *mark = call->at != kReaders && (is_last || (is_next && code != 0));
    is_doubtful[call->at] = 0;
  }
  if (code == 0) is_nowhere[call->at] = 0;
  ShowCode(code);
  if (code == 0) ShowItem(&key, &data);
}

/* MDB_CURRENT requires the current key. */
static void CallCursorPut(const struct Call* call) {
  MDB_val key, data;
  if (call->flags & MDB_CURRENT) {
    static char current[8];
    if (mdb_cursor_get(cursors[call->at], &key, &data, MDB_GET_CURRENT) != 0) {
      printf(" -");
      return;
    }
    memcpy(current, key.mv_data, key.mv_size);
    key.mv_data = current;
  } else {
    key = Val(call->key);
  }
  data = Val(call->value);
  const int code = mdb_cursor_put(cursors[call->at], &key, &data, call->flags);
  NoteWrite(call);
  if (code == 0 || code == MDB_KEYEXIST) is_nowhere[call->at] = 0;
  ShowCode(code);
  if (code == MDB_KEYEXIST && call->flags == MDB_NOOVERWRITE) ShowItem(&key, &data);
}

static void CallCursorDel(const struct Call* call) {
  ShowCode(mdb_cursor_del(cursors[call->at], 0));
  NoteWrite(call);
}

/* The database of a call: the named one if `at` is 1. A path that has no handle of it makes no call. */
static int HasDbi(const MDB_txn* txn, const struct Call* call, MDB_dbi* dbi) {
  const int has_named = txn == reader ? reader_has_named : named != 0;
  *dbi = call->at == 0 ? main_dbi : has_named ? named : 0;
  if (*dbi == 0) printf(" -");
  return *dbi != 0;
}

static void CallPut(const struct Call* call) {
  MDB_val key = Val(call->key), data = Val(call->value);
  MDB_dbi dbi;
  if (!HasDbi(Writer(), call, &dbi)) return;
  const int code = mdb_put(Writer(), dbi, &key, &data, call->flags);
  NoteWrite(call);
  ShowCode(code);
  if (code == MDB_KEYEXIST && call->flags == MDB_NOOVERWRITE) ShowItem(&key, &data);
  if (code == 0 && (call->flags & MDB_RESERVE)) memset(data.mv_data, 'R', data.mv_size);
}

static void CallDel(const struct Call* call) {
  MDB_val key = Val(call->key);
  MDB_dbi dbi;
  if (!HasDbi(Writer(), call, &dbi)) return;
  ShowCode(mdb_del(Writer(), dbi, &key, NULL));
  NoteWrite(call);
}

static void Get(MDB_txn* txn, const struct Call* call) {
  MDB_val key = Val(call->key), data;
  MDB_dbi dbi;
  if (!HasDbi(txn, call, &dbi)) return;
  const int code = mdb_get(txn, dbi, &key, &data);
  ShowCode(code);
  if (code == 0) ShowItem(&key, &data);
}
static void CallGet(const struct Call* call) { Get(Writer(), call); }
static void CallReaderGet(const struct Call* call) { Get(reader, call); }

static void Stat(MDB_txn* txn, const struct Call* call) {
  MDB_stat stat;
  MDB_dbi dbi;
  if (!HasDbi(txn, call, &dbi)) return;
  const int code = mdb_stat(txn, dbi, &stat);
  ShowCode(code);
  if (code == 0) printf(" (%zu)", stat.ms_entries);
}
static void CallStat(const struct Call* call) { Stat(Writer(), call); }
static void CallReaderStat(const struct Call* call) { Stat(reader, call); }

/* A drop with 1 closes the handle. LMDB forbids that while another transaction has changed the database: the parent. */
static void CallDrop(const struct Call* call) {
  MDB_dbi dbi;
  if (!HasDbi(Writer(), call, &dbi)) return;
  if (call->op == 1 && depth == 2 && has_changed_named[0]) {
    printf(" -");
    return;
  }
  const int code = mdb_drop(Writer(), dbi, call->op);
  if (code == 0 && call->op == 1) named = 0;
  NoteWrite(call);
  ShowCode(code);
}

static void OpenNamed(MDB_txn* txn, unsigned flags, enum Opener opener) {
  MDB_dbi dbi = 0;
  const int code = mdb_dbi_open(txn, "n", flags, &dbi);
  if (code == 0 && named == 0) opened_by = opener;
  if (txn != reader && (flags & MDB_CREATE)) has_changed_named[depth - 1] = 1;
  if (code == 0) named = dbi;
  ShowCode(code);
}
static void CallOpen(const struct Call* call) { OpenNamed(Writer(), call->flags, depth == 2 ? kByChild : kByWriter); }
/* LMDB gives a reader a second handle if another transaction opened the first one meanwhile. */
static void CallReaderOpen(const struct Call* call) {
  if (named != 0 && !reader_has_named) {
    printf(" -");
    return;
  }
  OpenNamed(reader, call->flags, kByReader);
  reader_has_named = named != 0;
}
static void CallClose(const struct Call* call) {
  (void)call;
  if (named != 0) mdb_dbi_close(env, named);
  named = 0;
  printf(" 0");
}

static void CallBegin(const struct Call* call) {
  (void)call;
  ShowCode(mdb_txn_begin(env, depth == 0 ? NULL : Writer(), 0, &writers[depth]));
  ShowId(writers[depth]);
  has_changed_named[depth++] = 0;
}

/* LMDB frees the cursors of a write transaction with it. A cursor of the parent stays. */
static void ForgetCursors(void) {
  for (int i = depth == 2 ? kChild : 0; i <= kChild; ++i) {
    if (cursors[i] != NULL) mdb_cursor_close(cursors[i]);
    cursors[i] = NULL;
  }
}

static void EndWriters(int count, int commits) {
  int code = 0;
  ForgetCursors();
  if (depth == 2 && commits) has_changed_named[0] |= has_changed_named[1];
  has_changed_named[1] = 0;
  depth -= count;
  if (commits) {
    code = mdb_txn_commit(writers[depth]);
    if (depth == 1 && opened_by == kByChild) opened_by = kByWriter;
    if (depth == 0 && (opened_by == kByChild || opened_by == kByWriter)) opened_by = kEarlier;
  } else {
    mdb_txn_abort(writers[depth]);
    if (opened_by == kByChild || (opened_by == kByWriter && depth == 0)) named = 0;
  }
  NoteWrite(NULL);
  ShowCode(code);
}
/* `op` is the number of transactions that end; the call is on the outermost of them. */
static void CallCommit(const struct Call* call) { EndWriters(call->op, 1); }
static void CallAbort(const struct Call* call) { EndWriters(call->op, 0); }

static void CallOpenCursor(const struct Call* call) {
  saw_end[call->at] = is_doubtful[call->at] = 0;
  is_nowhere[call->at] = 1;
  ShowCode(mdb_cursor_open(call->at == kReaders ? reader : Writer(), main_dbi, &cursors[call->at]));
}

static void CallReaderBegin(const struct Call* call) {
  (void)call;
  ShowCode(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader));
  ShowId(reader);
  reader_has_named = named != 0 && opened_by == kEarlier;
}
static void CallReaderReset(const struct Call* call) {
  (void)call;
  mdb_txn_reset(reader);
  printf(" 0");
}
static void CallReaderRenew(const struct Call* call) {
  (void)call;
  ShowCode(mdb_txn_renew(reader));
  ShowId(reader);
}
static void CallCursorRenew(const struct Call* call) { ShowCode(mdb_cursor_renew(reader, cursors[call->at])); }
static void CallReaderEnd(const struct Call* call) {
  if (call->op) {
    ShowCode(mdb_txn_commit(reader));
    if (opened_by == kByReader) opened_by = kEarlier;
  } else {
    mdb_txn_abort(reader);
    printf(" 0");
    if (opened_by == kByReader) named = 0;
  }
  reader = NULL;
}

/* One write in a transaction of its own. */
static void CallCommitted(const struct Call* call) {
  MDB_val key = Val(call->key), data;
  Must("begin", mdb_txn_begin(env, NULL, 0, &writers[0]));
  if (call->value != NULL) {
    data = Val(call->value);
    ShowCode(mdb_put(writers[0], main_dbi, &key, &data, 0));
  } else {
    ShowCode(mdb_del(writers[0], main_dbi, &key, NULL));
  }
  ShowCode(mdb_txn_commit(writers[0]));
}

/* ---- families */

enum State {
  kWriter = 1 << 0,
  kNested = 1 << 1,
  kReading = 1 << 2,
  kReset = 1 << 3,
  kCursor = 1 << 4,       /* the reader's, or the child's */
  kStale = 1 << 5,        /* the reader's cursor must be renewed */
  kOpened = 1 << 6,       /* a call has tried to open the named database */
  kReaderOpened = 1 << 7, /* the reader has tried that */
};

#define GET(name, cursor, operation, ...) \
  { .text = name, .run = CallCursorGet, .at = cursor, .op = operation, __VA_ARGS__ }
#define CURSOR_PUT(name, cursor, put_flags, ...) \
  { .text = name, .run = CallCursorPut, .at = cursor, .flags = put_flags, __VA_ARGS__ }
#define CURSOR_DEL(name, cursor, ...) \
  { .text = name, .run = CallCursorDel, .at = cursor, __VA_ARGS__ }
#define CALL(name, function, ...) \
  { .text = name, .run = function, __VA_ARGS__ }

static const struct Call kPositions[] = {
    GET("c0 first", 0, MDB_FIRST),
    GET("c0 last", 0, MDB_LAST),
    GET("c0 next", 0, MDB_NEXT),
    GET("c0 prev", 0, MDB_PREV),
    GET("c0 current", 0, MDB_GET_CURRENT),
    GET("c0 next_nodup", 0, MDB_NEXT_NODUP),
    GET("c0 prev_nodup", 0, MDB_PREV_NODUP),
    GET("c0 next_dup", 0, MDB_NEXT_DUP),
    GET("c0 prev_dup", 0, MDB_PREV_DUP),
    GET("c0 set a", 0, MDB_SET, .key = "a"),
    GET("c0 set b", 0, MDB_SET, .key = "b"),
    GET("c0 set_key a", 0, MDB_SET_KEY, .key = "a"),
    GET("c0 set_key b", 0, MDB_SET_KEY, .key = "b"),
    GET("c0 set_range a", 0, MDB_SET_RANGE, .key = "a"),
    GET("c0 set_range b", 0, MDB_SET_RANGE, .key = "b"),
    CURSOR_PUT("c0 put a 22", 0, 0, .key = "a", .value = "22"),
    CURSOR_PUT("c0 put b L", 0, 0, .key = "b", .value = "L"),
    CURSOR_PUT("c0 put b 22 nooverwrite", 0, MDB_NOOVERWRITE, .key = "b", .value = "22"),
    CURSOR_PUT("c0 put a 22 append", 0, MDB_APPEND, .key = "a", .value = "22"),
    CURSOR_PUT("c0 put b 22 append", 0, MDB_APPEND, .key = "b", .value = "22"),
    CURSOR_PUT("c0 put current 22", 0, MDB_CURRENT, .value = "22"),
    CURSOR_PUT("c0 put current L", 0, MDB_CURRENT, .value = "L"),
    CURSOR_DEL("c0 del", 0),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("put b 1 nooverwrite", CallPut, .key = "b", .value = "1", .flags = MDB_NOOVERWRITE),
    CALL("put b 22 append", CallPut, .key = "b", .value = "22", .flags = MDB_APPEND),
    CALL("put b L reserve", CallPut, .key = "b", .value = "L", .flags = MDB_RESERVE),
    CALL("del a", CallDel, .key = "a"),
    CALL("del b", CallDel, .key = "b"),
    CALL("get b", CallGet, .key = "b"),
    CALL("stat", CallStat),
};

static const struct Call kOneCursor[] = {
    GET("c0 first", 0, MDB_FIRST),
    GET("c0 last", 0, MDB_LAST),
    GET("c0 next", 0, MDB_NEXT),
    GET("c0 prev", 0, MDB_PREV),
    GET("c0 current", 0, MDB_GET_CURRENT),
    GET("c0 set b", 0, MDB_SET, .key = "b"),
    CURSOR_PUT("c0 put a 22", 0, 0, .key = "a", .value = "22"),
    CURSOR_PUT("c0 put b 22", 0, 0, .key = "b", .value = "22"),
    CURSOR_DEL("c0 del", 0),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("put b 22", CallPut, .key = "b", .value = "22"),
    CALL("del a", CallDel, .key = "a"),
    CALL("del b", CallDel, .key = "b"),
};

static const struct Call kPlaces[] = {
    GET("c0 first", 0, MDB_FIRST),
    GET("c0 next", 0, MDB_NEXT),
    GET("c0 prev", 0, MDB_PREV),
    CURSOR_PUT("c0 put a 22", 0, 0, .key = "a", .value = "22"),
    CURSOR_DEL("c0 del", 0),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("del a", CallDel, .key = "a"),
    CALL("del b", CallDel, .key = "b"),
};

static const struct Call kTwoCursors[] = {
    GET("c0 first", 0, MDB_FIRST),
    GET("c0 set b", 0, MDB_SET, .key = "b"),
    GET("c0 next", 0, MDB_NEXT),
    GET("c0 prev", 0, MDB_PREV),
    CURSOR_PUT("c0 put b 22", 0, 0, .key = "b", .value = "22"),
    CURSOR_DEL("c0 del", 0),
    GET("c1 last", 1, MDB_LAST),
    GET("c1 set b", 1, MDB_SET, .key = "b"),
    GET("c1 next", 1, MDB_NEXT),
    GET("c1 prev", 1, MDB_PREV),
    GET("c1 current", 1, MDB_GET_CURRENT),
    CURSOR_PUT("c1 put a L", 1, 0, .key = "a", .value = "L"),
    CURSOR_DEL("c1 del", 1),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("del b", CallDel, .key = "b"),
    CALL("drop", CallDrop),
};

/* While a nested transaction lives, its parent and the cursors of this one are not used. */
static const struct Call kNestedCalls[] = {
    CALL("nest", CallBegin, .forbids = kNested, .sets = kNested),
    CALL("commit", CallCommit, .op = 1, .needs = kNested, .clears = kNested | kCursor),
    CALL("abort", CallAbort, .op = 1, .needs = kNested, .clears = kNested | kCursor),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("put b L", CallPut, .key = "b", .value = "L"),
    CALL("del a", CallDel, .key = "a"),
    CALL("del b", CallDel, .key = "b"),
    CALL("get a", CallGet, .key = "a", .needs = kNested),
    GET("c0 first", 0, MDB_FIRST, .forbids = kNested),
    GET("c0 set b", 0, MDB_SET, .key = "b", .forbids = kNested),
    GET("c0 next", 0, MDB_NEXT, .forbids = kNested),
    GET("c0 prev", 0, MDB_PREV, .forbids = kNested),
    GET("c0 current", 0, MDB_GET_CURRENT, .forbids = kNested),
    CURSOR_DEL("c0 del", 0, .forbids = kNested),
    CALL("k open", CallOpenCursor, .at = kChild, .needs = kNested, .forbids = kCursor, .sets = kCursor),
    GET("k first", kChild, MDB_FIRST, .needs = kCursor),
    GET("k next", kChild, MDB_NEXT, .needs = kCursor),
    CURSOR_DEL("k del", kChild, .needs = kCursor),
    CALL("stat", CallStat),
};

static const struct Call kParent[] = {
    CALL("nest", CallBegin, .forbids = kNested, .sets = kNested),
    CALL("commit", CallCommit, .op = 1, .needs = kNested, .clears = kNested),
    CALL("abort", CallAbort, .op = 1, .needs = kNested, .clears = kNested),
    CALL("put a 22", CallPut, .key = "a", .value = "22"),
    CALL("del a", CallDel, .key = "a"),
    CALL("drop", CallDrop, .needs = kNested),
    GET("c0 set a", 0, MDB_SET, .key = "a", .forbids = kNested),
    GET("c0 next", 0, MDB_NEXT, .forbids = kNested),
    GET("c0 current", 0, MDB_GET_CURRENT, .forbids = kNested),
    CURSOR_DEL("c0 del", 0, .forbids = kNested),
};

static const struct Call kTransactions[] = {
    CALL("begin", CallBegin, .forbids = kWriter, .sets = kWriter),
    CALL("nest", CallBegin, .needs = kWriter, .forbids = kNested, .sets = kNested),
    CALL("commit", CallCommit, .op = 1, .needs = kWriter, .forbids = kNested, .clears = kWriter),
    CALL("commit", CallCommit, .op = 1, .needs = kNested, .clears = kNested),
    CALL("commit both", CallCommit, .op = 2, .needs = kNested, .clears = kWriter | kNested),
    CALL("abort", CallAbort, .op = 1, .needs = kWriter, .forbids = kNested, .clears = kWriter),
    CALL("abort", CallAbort, .op = 1, .needs = kNested, .clears = kNested),
    CALL("abort both", CallAbort, .op = 2, .needs = kNested, .clears = kWriter | kNested),
    CALL("put a 22", CallPut, .needs = kWriter, .key = "a", .value = "22"),
    CALL("put b L", CallPut, .needs = kWriter, .key = "b", .value = "L"),
    CALL("del a", CallDel, .needs = kWriter, .key = "a"),
    CALL("get a", CallGet, .needs = kWriter, .key = "a"),
    CALL("stat", CallStat, .needs = kWriter),
    CALL("drop", CallDrop, .needs = kWriter),
    CALL("r begin", CallReaderBegin, .forbids = kReading | kReset, .sets = kReading),
    CALL("r reset", CallReaderReset, .needs = kReading, .clears = kReading, .sets = kReset),
    CALL("r renew", CallReaderRenew, .needs = kReset, .clears = kReset, .sets = kReading),
    CALL("r get a", CallReaderGet, .needs = kReading, .key = "a"),
    CALL("r stat", CallReaderStat, .needs = kReading),
    CALL("r abort", CallReaderEnd, .needs = kReading, .clears = kReading),
    CALL("r abort", CallReaderEnd, .needs = kReset, .clears = kReset),
    CALL("r commit", CallReaderEnd, .op = 1, .needs = kReading, .clears = kReading),
};

/* After the renewal of a reader its cursors are renewed before they are used: LMDB's would show pages of the old
 * snapshot (docs/api/lmdb-differences.md). A cursor outlives its reader, and serves the next one after
 * mdb_cursor_renew. */
static const struct Call kReaderCalls[] = {
    CALL("r begin", CallReaderBegin, .forbids = kReading | kReset, .sets = kReading),
    CALL("r reset", CallReaderReset, .needs = kReading, .clears = kReading, .sets = kReset),
    CALL("r renew", CallReaderRenew, .needs = kReset, .clears = kReset, .sets = kReading | kStale),
    CALL("r commit", CallReaderEnd, .op = 1, .needs = kReading, .clears = kReading, .sets = kStale),
    CALL("r abort", CallReaderEnd, .needs = kReset, .clears = kReset, .sets = kStale),
    CALL("r get a", CallReaderGet, .needs = kReading, .key = "a"),
    CALL("r stat", CallReaderStat, .needs = kReading),
    CALL("c open", CallOpenCursor, .at = kReaders, .needs = kReading, .forbids = kCursor, .clears = kStale,
         .sets = kCursor),
    CALL("c renew", CallCursorRenew, .at = kReaders, .needs = kReading | kCursor, .clears = kStale),
    GET("c first", kReaders, MDB_FIRST, .needs = kCursor, .forbids = kStale),
    GET("c last", kReaders, MDB_LAST, .needs = kCursor, .forbids = kStale),
    GET("c next", kReaders, MDB_NEXT, .needs = kCursor, .forbids = kStale),
    GET("c prev", kReaders, MDB_PREV, .needs = kCursor, .forbids = kStale),
    GET("c current", kReaders, MDB_GET_CURRENT, .needs = kCursor, .forbids = kStale),
    GET("c set b", kReaders, MDB_SET, .key = "b", .needs = kCursor, .forbids = kStale),
    GET("c set_range b", kReaders, MDB_SET_RANGE, .key = "b", .needs = kCursor, .forbids = kStale),
    CALL("commit a 22", CallCommitted, .key = "a", .value = "22"),
    CALL("commit b L", CallCommitted, .key = "b", .value = "L"),
    CALL("commit del a", CallCommitted, .key = "a"),
};

/* A handle is closed, also by a drop, only while no reader lives. A reader opens one only beside no writer. */
static const struct Call kNames[] = {
    CALL("begin", CallBegin, .forbids = kWriter | kReaderOpened, .sets = kWriter),
    CALL("nest", CallBegin, .needs = kWriter, .forbids = kNested, .sets = kNested),
    CALL("commit", CallCommit, .op = 1, .needs = kWriter, .forbids = kNested, .clears = kWriter),
    CALL("commit", CallCommit, .op = 1, .needs = kNested, .clears = kNested),
    CALL("abort", CallAbort, .op = 1, .needs = kWriter, .forbids = kNested, .clears = kWriter),
    CALL("abort", CallAbort, .op = 1, .needs = kNested, .clears = kNested),
    CALL("open n", CallOpen, .needs = kWriter, .sets = kOpened),
    CALL("create n", CallOpen, .needs = kWriter, .flags = MDB_CREATE, .sets = kOpened),
    CALL("close n", CallClose, .needs = kOpened, .forbids = kWriter | kReading, .clears = kOpened),
    CALL("n put a 22", CallPut, .at = 1, .needs = kWriter | kOpened, .key = "a", .value = "22"),
    CALL("n del a", CallDel, .at = 1, .needs = kWriter | kOpened, .key = "a"),
    CALL("n get a", CallGet, .at = 1, .needs = kWriter | kOpened, .key = "a"),
    CALL("n stat", CallStat, .at = 1, .needs = kWriter | kOpened),
    CALL("n drop 0", CallDrop, .at = 1, .op = 0, .needs = kWriter | kOpened),
    CALL("n drop 1", CallDrop, .at = 1, .op = 1, .needs = kWriter | kOpened, .forbids = kReading, .clears = kOpened),
    CALL("put b 22", CallPut, .needs = kWriter, .key = "b", .value = "22"),
    CALL("stat", CallStat, .needs = kWriter),
    CALL("r begin", CallReaderBegin, .forbids = kReading, .sets = kReading),
    CALL("r open n", CallReaderOpen, .needs = kReading, .forbids = kWriter, .sets = kOpened | kReaderOpened),
    CALL("r n get a", CallReaderGet, .at = 1, .needs = kReading | kOpened, .key = "a"),
    CALL("r n stat", CallReaderStat, .at = 1, .needs = kReading | kOpened),
    CALL("r commit", CallReaderEnd, .op = 1, .needs = kReading, .clears = kReading | kReaderOpened),
    CALL("r abort", CallReaderEnd, .needs = kReading, .clears = kReading | kReaderOpened),
};

static void BeginWithCursors(void) {
  Must("begin", mdb_txn_begin(env, NULL, 0, &writers[depth++]));
  Must("cursor_open", mdb_cursor_open(Writer(), main_dbi, &cursors[0]));
  Must("cursor_open", mdb_cursor_open(Writer(), main_dbi, &cursors[1]));
}

#define CALLS(table) .calls = table, .call_count = sizeof table / sizeof table[0]
static const struct Family kFamilies[] = {
    {.name = "positions", CALLS(kPositions), .starts = "0 a ab abc Ab", .prepare = BeginWithCursors},
    {.name = "cursor", CALLS(kOneCursor), .starts = "0 a ab abc", .prepare = BeginWithCursors},
    {.name = "places", CALLS(kPlaces), .starts = "ab abc", .prepare = BeginWithCursors},
    {.name = "cursors", CALLS(kTwoCursors), .starts = "a ab abc", .prepare = BeginWithCursors},
    {.name = "nested", CALLS(kNestedCalls), .starts = "a ab abc", .prepare = BeginWithCursors},
    {.name = "parent", CALLS(kParent), .starts = "a ab", .prepare = BeginWithCursors},
    {.name = "transactions", CALLS(kTransactions), .starts = "0 a Ab"},
    {.name = "readers", CALLS(kReaderCalls), .starts = "0 a ab"},
    {.name = "names", CALLS(kNames), .starts = "0 n"},
};

/* ---- one path */

static void OpenEnvironment(const char* directory) {
  MDB_txn* txn;
  if (mkdir(directory, 0700) != 0) Must("mkdir", errno);
  Must("create", mdb_env_create(&env));
  Must("mapsize", mdb_env_set_mapsize(env, 64 << 20));
  Must("maxdbs", mdb_env_set_maxdbs(env, kDatabasesMax));
  Must("open", mdb_env_open(env, directory, MDB_NOSYNC | MDB_NOTLS, 0600));
  Must("begin", mdb_txn_begin(env, NULL, 0, &txn));
  Must("dbi_open", mdb_dbi_open(txn, NULL, 0, &main_dbi));
  Must("commit", mdb_txn_commit(txn));
}

static void CloseEnvironment(void) { mdb_env_close(env); }

/* A letter of the start is an item with the value 1, or L for a capital letter; n is a named database with one item. */
static void PutStart(MDB_txn* txn, char letter) {
  MDB_val key = {1, &letter}, data = Val("1");
  MDB_dbi dbi;
  if (letter == '0') return;
  if (letter == 'A') letter = 'a', data = Val("L");
  if (letter != 'n') {
    Must("put", mdb_put(txn, main_dbi, &key, &data, 0));
    return;
  }
  letter = 'a';
  Must("create", mdb_dbi_open(txn, "n", MDB_CREATE, &dbi));
  Must("put", mdb_put(txn, dbi, &key, &data, 0));
  named = dbi;
}

static void BeginPath(const char* start) {
  MDB_txn* txn;
  MDB_dbi dbi;
  Must("begin", mdb_txn_begin(env, NULL, 0, &txn));
  if (mdb_dbi_open(txn, "n", 0, &dbi) == 0) Must("drop", mdb_drop(txn, dbi, 1));
  for (const char* key = "abc"; *key != '\0'; ++key) {
    MDB_val val = {1, (void*)key};
    (void)mdb_del(txn, main_dbi, &val, NULL);
  }
  for (named = 0; *start != '\0'; ++start) PutStart(txn, *start);
  Must("commit", mdb_txn_commit(txn));
  if (named != 0) mdb_dbi_close(env, named);
  named = 0;
  Must("begin", mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
  start_id = mdb_txn_id(txn);
  mdb_txn_abort(txn);
  memset(saw_end, 0, sizeof saw_end);
  memset(is_doubtful, 0, sizeof is_doubtful);
  for (int i = 0; i < kCursors; ++i) is_nowhere[i] = 1;
}

static void ShowDatabase(MDB_txn* txn, MDB_dbi dbi) {
  MDB_cursor* cursor;
  MDB_val key, data;
  MDB_stat stat;
  Must("cursor_open", mdb_cursor_open(txn, dbi, &cursor));
  int code = mdb_cursor_get(cursor, &key, &data, MDB_FIRST);
  for (; code == 0; code = mdb_cursor_get(cursor, &key, &data, MDB_NEXT)) ShowItem(&key, &data);
  if (code != MDB_NOTFOUND) ShowCode(code);
  mdb_cursor_close(cursor);
  Must("stat", mdb_stat(txn, dbi, &stat));
  printf(" (%zu)", stat.ms_entries);
}

static void EndPath(void) {
  MDB_txn* txn;
  if (cursors[kReaders] != NULL) mdb_cursor_close(cursors[kReaders]);
  cursors[kReaders] = NULL;
  if (reader != NULL) mdb_txn_abort(reader);
  reader = NULL;
  while (depth > 0) EndWriters(1, 1);
  if (named != 0) mdb_dbi_close(env, named);
  named = 0;
  Must("begin", mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
  ShowId(txn);
  ShowDatabase(txn, main_dbi);
  if (mdb_dbi_open(txn, "n", 0, &named) == 0) ShowDatabase(txn, named); /* the abort closes the handle */
  named = 0;
  mdb_txn_abort(txn);
}

int main(int argc, char** argv) { return WalkMain(argc, argv, kFamilies, sizeof kFamilies / sizeof kFamilies[0]); }
