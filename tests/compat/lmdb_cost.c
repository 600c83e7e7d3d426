/* The cost of programs with many small transactions on LMDB's interface. The answers go to stdout and are the same with
 * every library. The costs go to stderr, one line a phase: its name, the count, microseconds of CPU and of wall-clock
 * time for each.
 *
 *     lmdb_cost DIRECTORY TIMES
 *
 * bench/lmdb_cost.py prints the costs of liblmdb and of the drop-in side by side; tests/compat/lmdb_test.py compares
 * the answers of a short run. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lmdb.h"

enum { kPutsATransaction = 1000, kLevelItemsMin = 5000, kDatabases = 4, kNamesMax = 16000 };

static MDB_env* env;
static uint32_t sum = 2166136261u; /* a checksum of all answers */

static void Must(const char* call, int code) {
  if (code == 0) return;
  printf("%s failed: %s\n", call, mdb_strerror(code));
  exit(2);
}

static double Seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_from, wall_from;
static void Start(void) {
  cpu_from = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  wall_from = Seconds(CLOCK_MONOTONIC);
}
static void End(const char* phase, long times) {
  const double cpu = Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_from, wall = Seconds(CLOCK_MONOTONIC) - wall_from;
  fprintf(stderr, "%-44s %9ld %10.3f %10.3f\n", phase, times, cpu / (double)times * 1e6, wall / (double)times * 1e6);
  printf("%s %ld %08x\n", phase, times, sum);
}

static void Add(const MDB_val* val) {
  for (size_t i = 0; i < val->mv_size; ++i) sum = (sum ^ ((const unsigned char*)val->mv_data)[i]) * 16777619u;
}

static MDB_txn* Begin(unsigned flags) {
  MDB_txn* txn;
  Must("begin", mdb_txn_begin(env, NULL, flags, &txn));
  return txn;
}
static MDB_dbi OpenDbi(MDB_txn* txn, const char* name) {
  MDB_dbi dbi;
  Must("dbi_open", mdb_dbi_open(txn, name, MDB_CREATE, &dbi));
  return dbi;
}
static size_t Entries(MDB_txn* txn, MDB_dbi dbi) {
  MDB_stat stat;
  Must("stat", mdb_stat(txn, dbi, &stat));
  return stat.ms_entries;
}

/* Scattered keys: a counter with its least significant byte first. Values of 16 bytes. */
static unsigned char key_bytes[8], value_bytes[16];
static MDB_val KeyOf(uint64_t number) {
  for (int i = 0; i < 8; ++i) key_bytes[i] = (unsigned char)(number >> (8 * i));
  return (MDB_val){sizeof key_bytes, key_bytes};
}
static MDB_val ValueOf(uint64_t number) {
  memcpy(value_bytes, &number, sizeof number);
  return (MDB_val){sizeof value_bytes, value_bytes};
}
static void Put(MDB_txn* txn, MDB_dbi dbi, uint64_t number) {
  MDB_val key = KeyOf(number), value = ValueOf(number);
  Must("put", mdb_put(txn, dbi, &key, &value, 0));
}

/* One database receives the puts. When it has several thousand keys, the program merges it with the second database
 * into the third, and empties both: a log-structured merge tree over LMDB, as in the original LSMDB. */
static void MergeLevels(MDB_txn* txn, MDB_dbi newer, MDB_dbi older, MDB_dbi into) {
  MDB_cursor *a, *b, *out;
  Must("cursor_open", mdb_cursor_open(txn, newer, &a));
  Must("cursor_open", mdb_cursor_open(txn, older, &b));
  Must("cursor_open", mdb_cursor_open(txn, into, &out));
  MDB_val ka, va, kb, vb;
  int more_a = mdb_cursor_get(a, &ka, &va, MDB_FIRST), more_b = mdb_cursor_get(b, &kb, &vb, MDB_FIRST);
  while (more_a == 0 || more_b == 0) {
    const int order = more_a != 0 ? 1 : more_b != 0 ? -1 : mdb_cmp(txn, newer, &ka, &kb);
    char bytes[64]; /* a cursor's data is valid until the next write */
    MDB_val key = order <= 0 ? ka : kb, value = order <= 0 ? va : vb;
    memcpy(bytes, key.mv_data, key.mv_size);
    memcpy(bytes + key.mv_size, value.mv_data, value.mv_size);
    key.mv_data = bytes;
    value.mv_data = bytes + key.mv_size;
    Must("cursor_put", mdb_cursor_put(out, &key, &value, MDB_APPEND));
    if (more_a == 0) more_a = mdb_cursor_get(a, &ka, &va, order <= 0 ? MDB_NEXT : MDB_GET_CURRENT);
    if (more_b == 0) more_b = mdb_cursor_get(b, &kb, &vb, order >= 0 ? MDB_NEXT : MDB_GET_CURRENT);
  }
  mdb_cursor_close(a);
  mdb_cursor_close(b);
  mdb_cursor_close(out);
  Must("drop", mdb_drop(txn, newer, 0));
  Must("drop", mdb_drop(txn, older, 0));
}

static void Levels(long puts) {
  MDB_txn* txn = Begin(0);
  const MDB_dbi newest = OpenDbi(txn, "newest");
  MDB_dbi older = OpenDbi(txn, "older"), spare = OpenDbi(txn, "spare");
  Must("commit", mdb_txn_commit(txn));
  Start();
  for (long i = 0; i < puts; i += kPutsATransaction) {
    txn = Begin(0);
    for (long k = 0; k < kPutsATransaction; ++k) Put(txn, newest, (uint64_t)(i + k));
    const size_t entries = Entries(txn, newest);
    sum = sum * 31 + (uint32_t)entries;
    if (entries >= kLevelItemsMin) {
      MergeLevels(txn, newest, older, spare);
      const MDB_dbi emptied = older;
      older = spare;
      spare = emptied;
      sum = sum * 31 + (uint32_t)Entries(txn, older);
    }
    Must("commit", mdb_txn_commit(txn));
  }
  End("puts, 1000 a transaction, merged in levels", puts);
  txn = Begin(MDB_RDONLY);
  MDB_cursor* cursor;
  Must("cursor_open", mdb_cursor_open(txn, older, &cursor));
  MDB_val key, value;
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) Add(&key), Add(&value);
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
}

static void SmallWrites(long puts, int a_transaction, int asks) {
  MDB_dbi dbis[kDatabases];
  MDB_txn* txn = Begin(0);
  for (int i = 0; i < kDatabases; ++i) {
    const char name[] = {'d', (char)('0' + i), (char)('a' + a_transaction % 26), '\0'};
    dbis[i] = OpenDbi(txn, name);
  }
  Must("commit", mdb_txn_commit(txn));
  Start();
  for (long i = 0; i < puts; i += a_transaction) {
    txn = Begin(0);
    for (int k = 0; k < a_transaction; ++k) Put(txn, dbis[(i + k) % kDatabases], (uint64_t)(i + k) * 2654435761u);
    if (asks) sum = sum * 31 + (uint32_t)Entries(txn, dbis[i % kDatabases]);
    Must("commit", mdb_txn_commit(txn));
  }
  char phase[64];
  snprintf(phase, sizeof phase, "puts, %d a transaction%s", a_transaction, asks ? ", counted" : "");
  End(phase, puts);
}

static void SmallReads(long reads) {
  MDB_txn* txn = Begin(0);
  const MDB_dbi dbi = OpenDbi(txn, "older");
  mdb_txn_abort(txn);
  Start();
  for (long i = 0; i < reads; ++i) {
    txn = Begin(MDB_RDONLY);
    MDB_val key = KeyOf((uint64_t)i * 7), value;
    if (mdb_get(txn, dbi, &key, &value) == 0) Add(&value);
    mdb_txn_abort(txn);
  }
  End("gets, a transaction each", reads);
  txn = Begin(MDB_RDONLY);
  MDB_cursor* cursor;
  Must("cursor_open", mdb_cursor_open(txn, dbi, &cursor));
  Start();
  for (long i = 0; i < reads; ++i) {
    mdb_txn_reset(txn);
    Must("renew", mdb_txn_renew(txn));
    Must("cursor_renew", mdb_cursor_renew(txn, cursor));
    MDB_val key = KeyOf((uint64_t)i * 7), value;
    if (mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE) == 0) Add(&key), Add(&value);
  }
  End("seeks of a cursor, renewed each time", reads);
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
}

static void Names(int names, int is_one_transaction) {
  static MDB_dbi dbis[kNamesMax];
  char phase[64], name[16];
  MDB_txn* txn = NULL;
  Start();
  for (int i = 0; i < names; ++i) {
    if (txn == NULL) txn = Begin(0);
    snprintf(name, sizeof name, "name%07d", i);
    dbis[i] = OpenDbi(txn, name);
    Put(txn, dbis[i], 1);
    if (is_one_transaction && i + 1 < names) continue;
    Must("commit", mdb_txn_commit(txn));
    txn = NULL;
  }
  snprintf(phase, sizeof phase, "names made of %d%s", names, is_one_transaction ? ", at once" : "");
  End(phase, names);
  Start();
  for (int i = 0; i < names; ++i) {
    if (txn == NULL) txn = Begin(0);
    Must("drop", mdb_drop(txn, dbis[i], 1));
    if (is_one_transaction && i + 1 < names) continue;
    Must("commit", mdb_txn_commit(txn));
    txn = NULL;
  }
  snprintf(phase, sizeof phase, "names dropped of %d%s", names, is_one_transaction ? ", at once" : "");
  End(phase, names);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long times = strtol(argv[2], NULL, 10);
  const int names = times / 10 < kNamesMax ? (int)(times / 10) : kNamesMax;
  Must("create", mdb_env_create(&env));
  Must("mapsize", mdb_env_set_mapsize(env, (size_t)1 << 30));
  Must("maxdbs", mdb_env_set_maxdbs(env, kNamesMax + 100));
  Must("open", mdb_env_open(env, argv[1], MDB_NOSYNC, 0600));
  Levels(times);
  SmallReads(times);
  SmallWrites(times, 1, 0);
  SmallWrites(times, 10, 0);
  SmallWrites(times, 100, 1);
  for (int part = 4; part >= 1; part /= 2) Names(names / part, 0);
  Names(names, 1);
  mdb_env_close(env);
  return 0;
}
