/* LMDB's interface, as of liblmdb 0.9.24, over mergedb: programs written for it compile unchanged, and those linked
 * with liblmdb.so.0 run unchanged. An environment is a mergedb database; named databases are its keyspaces.
 *
 * What each call means is said by LMDB's own documentation; this header says only what is different. All of it, with
 * reasons: docs/api/lmdb-differences.md. In short:
 *   - files: a directory of mergedb's, also with MDB_NOSUBDIR; LMDB's own data.mdb is refused (mdb_dump | mergedb
 *     load);
 *   - one process at a time has it open for writing; mdb_env_open waits for it about 5 s, then returns EBUSY.
 *     MDB_RDONLY sees the state at its open;
 *   - MDB_DUPSORT and its kin are MDB_INCOMPATIBLE, as are mdb_set_compare and mdb_set_dupsort, after which all calls
 *     on that handle are MDB_INCOMPATIBLE;
 *   - ms_entries may cost a walk over the keys; counts of pages mean nothing.
 * THREADS: as LMDB. No C++ exception leaves a call. */
#ifndef MERGEDB_LMDB_H_
#define MERGEDB_LMDB_H_
#define _LMDB_H_ /* as LMDB's own header, which must not follow this one */

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef mode_t mdb_mode_t;
typedef int mdb_filehandle_t;

#define MDB_VERSION_MAJOR 0
#define MDB_VERSION_MINOR 9
#define MDB_VERSION_PATCH 24
#define MDB_VERINT(a, b, c) (((a) << 24) | ((b) << 16) | (c))
#define MDB_VERSION_FULL MDB_VERINT(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH)
#define MDB_VERSION_DATE "July 24, 2019"
#define MDB_VERSTR(a, b, c, d) "LMDB " #a "." #b "." #c ": (" d ")"
#define MDB_VERFOO(a, b, c, d) MDB_VERSTR(a, b, c, d)
#define MDB_VERSION_STRING MDB_VERFOO(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH, MDB_VERSION_DATE)

typedef struct MDB_env MDB_env;
typedef struct MDB_txn MDB_txn;
typedef struct MDB_cursor MDB_cursor;
typedef unsigned int MDB_dbi;

/* Bytes that a call takes or gives. Bytes that it gives stay valid until the transaction writes or ends. As with LMDB
 * they can be read a while longer: until the thread or the handle begins its next transaction, at most until the third
 * commit since. */
typedef struct MDB_val {
  size_t mv_size;
  void* mv_data;
} MDB_val;

typedef int(MDB_cmp_func)(const MDB_val* a, const MDB_val* b);
typedef void(MDB_rel_func)(MDB_val* item, void* oldptr, void* newptr, void* relctx);
typedef void MDB_assert_func(MDB_env* env, const char* msg);
typedef int(MDB_msg_func)(const char* msg, void* ctx);

/* mdb_env_open. No effect: FIXEDMAP, NORDAHEAD, NOMEMINIT, and of WRITEMAP all but that MAPASYNC goes with it. */
#define MDB_FIXEDMAP 0x01
#define MDB_NOSUBDIR 0x4000
#define MDB_NOSYNC 0x10000
#define MDB_RDONLY 0x20000
#define MDB_NOMETASYNC 0x40000 /* as MDB_NOSYNC: there is no meta page to leave out */
#define MDB_WRITEMAP 0x80000
#define MDB_MAPASYNC 0x100000
#define MDB_NOTLS 0x200000
#define MDB_NOLOCK 0x400000
#define MDB_NORDAHEAD 0x800000
#define MDB_NOMEMINIT 0x1000000

/* mdb_dbi_open. DUPSORT, DUPFIXED, INTEGERDUP, REVERSEDUP: MDB_INCOMPATIBLE. */
#define MDB_REVERSEKEY 0x02
#define MDB_DUPSORT 0x04
#define MDB_INTEGERKEY 0x08
#define MDB_DUPFIXED 0x10
#define MDB_INTEGERDUP 0x20
#define MDB_REVERSEDUP 0x40
#define MDB_CREATE 0x40000

/* mdb_put, mdb_cursor_put */
#define MDB_NOOVERWRITE 0x10
#define MDB_NODUPDATA 0x20
#define MDB_CURRENT 0x40
#define MDB_RESERVE 0x10000 /* fill it in before the next call on the transaction */
#define MDB_APPEND 0x20000
#define MDB_APPENDDUP 0x40000
#define MDB_MULTIPLE 0x80000

#define MDB_CP_COMPACT 0x01

/* A C program may pass any number as an operation. With a fixed type every number is a valid value in C++ too. */
#ifdef __cplusplus
typedef enum MDB_cursor_op : unsigned int {
#else
typedef enum MDB_cursor_op {
#endif
  MDB_FIRST,
  MDB_FIRST_DUP,
  MDB_GET_BOTH,
  MDB_GET_BOTH_RANGE,
  MDB_GET_CURRENT,
  MDB_GET_MULTIPLE,
  MDB_LAST,
  MDB_LAST_DUP,
  MDB_NEXT,
  MDB_NEXT_DUP,
  MDB_NEXT_MULTIPLE,
  MDB_NEXT_NODUP,
  MDB_PREV,
  MDB_PREV_DUP,
  MDB_PREV_NODUP,
  MDB_SET,
  MDB_SET_KEY,
  MDB_SET_RANGE,
  MDB_PREV_MULTIPLE
} MDB_cursor_op;

#define MDB_SUCCESS 0
#define MDB_KEYEXIST (-30799)
#define MDB_NOTFOUND (-30798)
#define MDB_PAGE_NOTFOUND (-30797)
#define MDB_CORRUPTED (-30796)
#define MDB_PANIC (-30795)
#define MDB_VERSION_MISMATCH (-30794)
#define MDB_INVALID (-30793)
#define MDB_MAP_FULL (-30792)
#define MDB_DBS_FULL (-30791)
#define MDB_READERS_FULL (-30790)
#define MDB_TLS_FULL (-30789)
#define MDB_TXN_FULL (-30788)
#define MDB_CURSOR_FULL (-30787)
#define MDB_PAGE_FULL (-30786)
#define MDB_MAP_RESIZED (-30785)
#define MDB_INCOMPATIBLE (-30784)
#define MDB_BAD_RSLOT (-30783)
#define MDB_BAD_TXN (-30782)
#define MDB_BAD_VALSIZE (-30781)
#define MDB_BAD_DBI (-30780)
#define MDB_LAST_ERRCODE MDB_BAD_DBI

typedef struct MDB_stat {
  unsigned int ms_psize; /* 4096 */
  unsigned int ms_depth; /* this and the next two: of a tree that could hold as much */
  size_t ms_branch_pages;
  size_t ms_leaf_pages;
  size_t ms_overflow_pages; /* 0 */
  size_t ms_entries;        /* exact; a walk over the keys unless it is known from before */
} MDB_stat;

typedef struct MDB_envinfo {
  void* me_mapaddr; /* NULL */
  size_t me_mapsize;
  size_t me_last_pgno; /* about: bytes of tables in pages */
  size_t me_last_txnid;
  unsigned int me_maxreaders;
  unsigned int me_numreaders;
} MDB_envinfo;

/* ---- environments */

char* mdb_version(int* major, int* minor, int* patch);
char* mdb_strerror(int err);
int mdb_env_create(MDB_env** env);
int mdb_env_open(MDB_env* env, const char* path, unsigned int flags, mdb_mode_t mode);
int mdb_env_copy(MDB_env* env, const char* path);
int mdb_env_copyfd(MDB_env* env,
                   mdb_filehandle_t fd); /* a tar archive, which mdb_env_open takes where it expects data.mdb */
int mdb_env_copy2(MDB_env* env, const char* path, unsigned int flags);
int mdb_env_copyfd2(MDB_env* env, mdb_filehandle_t fd, unsigned int flags);
int mdb_env_stat(MDB_env* env, MDB_stat* stat);
int mdb_env_info(MDB_env* env, MDB_envinfo* stat);
int mdb_env_sync(MDB_env* env, int force);
void mdb_env_close(MDB_env* env); /* ends transactions that are left */
int mdb_env_set_flags(MDB_env* env, unsigned int flags, int onoff);
int mdb_env_get_flags(MDB_env* env, unsigned int* flags);
int mdb_env_get_path(MDB_env* env, const char** path);
int mdb_env_get_fd(MDB_env* env, mdb_filehandle_t* fd); /* of data.mdb: for locks, fstat and fsync. It holds no data */
int mdb_env_set_mapsize(MDB_env* env, size_t size);     /* how much may be written until MDB_MAP_FULL, about */
int mdb_env_set_maxreaders(MDB_env* env, unsigned int readers);
int mdb_env_get_maxreaders(MDB_env* env, unsigned int* readers);
int mdb_env_set_maxdbs(MDB_env* env, MDB_dbi dbs);
int mdb_env_get_maxkeysize(MDB_env* env);
int mdb_env_set_userctx(MDB_env* env, void* ctx);
void* mdb_env_get_userctx(MDB_env* env);
int mdb_env_set_assert(MDB_env* env, MDB_assert_func* func); /* never called */
int mdb_reader_list(MDB_env* env, MDB_msg_func* func, void* ctx);
int mdb_reader_check(MDB_env* env, int* dead); /* 0: readers of other processes are not known */

/* ---- transactions */

int mdb_txn_begin(MDB_env* env, MDB_txn* parent, unsigned int flags, MDB_txn** txn);
MDB_env* mdb_txn_env(MDB_txn* txn);
size_t mdb_txn_id(MDB_txn* txn);
int mdb_txn_commit(MDB_txn* txn);
void mdb_txn_abort(MDB_txn* txn);
void mdb_txn_reset(MDB_txn* txn);
int mdb_txn_renew(MDB_txn* txn);

/* ---- databases */

#define mdb_open(txn, name, flags, dbi) mdb_dbi_open(txn, name, flags, dbi)
#define mdb_close(env, dbi) mdb_dbi_close(env, dbi)
int mdb_dbi_open(MDB_txn* txn, const char* name, unsigned int flags, MDB_dbi* dbi);
int mdb_stat(MDB_txn* txn, MDB_dbi dbi, MDB_stat* stat);
int mdb_dbi_flags(MDB_txn* txn, MDB_dbi dbi, unsigned int* flags);
void mdb_dbi_close(MDB_env* env, MDB_dbi dbi);
int mdb_drop(MDB_txn* txn, MDB_dbi dbi, int del);
int mdb_set_compare(MDB_txn* txn, MDB_dbi dbi, MDB_cmp_func* cmp); /* MDB_INCOMPATIBLE */
int mdb_set_dupsort(MDB_txn* txn, MDB_dbi dbi, MDB_cmp_func* cmp); /* MDB_INCOMPATIBLE */
int mdb_set_relfunc(MDB_txn* txn, MDB_dbi dbi, MDB_rel_func* rel); /* never called, as in LMDB */
int mdb_set_relctx(MDB_txn* txn, MDB_dbi dbi, void* ctx);

/* ---- items */

int mdb_get(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data);
int mdb_put(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data, unsigned int flags);
int mdb_del(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data);
int mdb_cmp(MDB_txn* txn, MDB_dbi dbi, const MDB_val* a, const MDB_val* b);
int mdb_dcmp(MDB_txn* txn, MDB_dbi dbi, const MDB_val* a, const MDB_val* b);

int mdb_cursor_open(MDB_txn* txn, MDB_dbi dbi, MDB_cursor** cursor);
void mdb_cursor_close(MDB_cursor* cursor);
int mdb_cursor_renew(MDB_txn* txn, MDB_cursor* cursor);
MDB_txn* mdb_cursor_txn(MDB_cursor* cursor);
MDB_dbi mdb_cursor_dbi(MDB_cursor* cursor);
int mdb_cursor_get(MDB_cursor* cursor, MDB_val* key, MDB_val* data, MDB_cursor_op op);
int mdb_cursor_put(MDB_cursor* cursor, MDB_val* key, MDB_val* data, unsigned int flags);
int mdb_cursor_del(MDB_cursor* cursor, unsigned int flags);
int mdb_cursor_count(MDB_cursor* cursor, size_t* countp); /* MDB_INCOMPATIBLE */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* MERGEDB_LMDB_H_ */
