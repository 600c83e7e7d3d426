/* LSMDB's interface over mergedb: programs written for lsmdb.c of 2015 compile and run unchanged. What it left out is
 * at the end.
 *
 * An environment is one ordered map; handles and codes are LMDB's (lmdb.h), so mdb_strerror tells what a code means.
 * Every function that returns int returns 0, a code of LMDB's, or a number of errno.h; a null handle is EINVAL. Where
 * the original asserted, or lost deletes, this does neither. Directions: 1 forward, -1 backward, 0 exactly.
 * THREADS: as LMDB. docs/api/lsmdb.md has what differs from the original. */
#ifndef MERGEDB_LSMDB_H_
#define MERGEDB_LSMDB_H_

#include <stdint.h>

#include "lmdb.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define MDB_RDWR 0 /* the opposite of MDB_RDONLY, for lsmdb_txn_begin */

typedef struct LSMDB_env LSMDB_env;
typedef struct LSMDB_txn LSMDB_txn;
typedef struct LSMDB_cursor LSMDB_cursor;
typedef uint8_t LSMDB_level;

int lsmdb_env_create(LSMDB_env** out);
int lsmdb_env_set_mapsize(LSMDB_env* env, size_t size);
int lsmdb_env_open(LSMDB_env* env, char const* name, unsigned flags,
                   mdb_mode_t mode); /* flags: of mdb_env_open, MDB_RDONLY too */
void lsmdb_env_close(LSMDB_env* env);

int lsmdb_txn_begin(LSMDB_env* env, LSMDB_txn* parent, unsigned flags, LSMDB_txn** out); /* MDB_RDONLY or MDB_RDWR */
int lsmdb_txn_commit(LSMDB_txn* txn);
void lsmdb_txn_abort(LSMDB_txn* txn);
void lsmdb_txn_reset(LSMDB_txn* txn);
int lsmdb_txn_renew(LSMDB_txn* txn);
int lsmdb_txn_get_flags(LSMDB_txn* txn, unsigned* flags);
int lsmdb_txn_cursor(LSMDB_txn* txn, LSMDB_cursor** out); /* the transaction's own; it ends with it */

int lsmdb_get(LSMDB_txn* txn, MDB_val const* key, MDB_val* data);
int lsmdb_put(LSMDB_txn* txn, MDB_val const* key, MDB_val const* data,
              unsigned flags);                     /* MDB_NOOVERWRITE; MDB_APPEND is a hint */
int lsmdb_del(LSMDB_txn* txn, MDB_val const* key); /* 0 also if it is not there */
int lsmdb_cmp(LSMDB_txn* txn, MDB_val const* a, MDB_val const* b);

int lsmdb_cursor_open(LSMDB_txn* txn, LSMDB_cursor** out);
void lsmdb_cursor_close(LSMDB_cursor* cursor);
int lsmdb_cursor_renew(LSMDB_txn* txn, LSMDB_cursor* cursor);
int lsmdb_cursor_clear(
    LSMDB_cursor* cursor); /* it stands nowhere then, as after lsmdb_cursor_put and lsmdb_cursor_del */
LSMDB_txn* lsmdb_cursor_txn(LSMDB_cursor* cursor);
/* MDB_GET_CURRENT, SET, SET_RANGE, FIRST, LAST, PREV, NEXT; others are EINVAL. */
int lsmdb_cursor_get(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, MDB_cursor_op op);
int lsmdb_cursor_current(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data); /* EINVAL if it stands nowhere */
int lsmdb_cursor_seek(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data,
                      int dir); /* 1: to the first key >= *key; -1: the last <= it */
int lsmdb_cursor_first(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data,
                       int dir); /* 1: the first key, -1: the last; 0: EINVAL */
int lsmdb_cursor_next(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, int dir);
int lsmdb_cursor_put(LSMDB_cursor* cursor, MDB_val const* key, MDB_val const* data, unsigned flags);
int lsmdb_cursor_del(LSMDB_cursor* cursor);

/* Merging goes on by itself: these check their arguments (EACCES in a read-only transaction) and need not be called. */
int lsmdb_compact(LSMDB_txn* txn, LSMDB_level level, size_t steps);
int lsmdb_autocompact(LSMDB_txn* txn);

/* ---- what the original had not */

char const* lsmdb_version(int* major, int* minor, int* patch); /* mergedb's; any pointer may be null */
int lsmdb_stat(LSMDB_txn* txn, MDB_stat* stat);                /* as mdb_stat */
int lsmdb_env_copy(LSMDB_env* env, char const* path);          /* as mdb_env_copy */
int lsmdb_env_sync(LSMDB_env* env);
int lsmdb_drop(LSMDB_txn* txn); /* every key, at the cost of one write */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* MERGEDB_LSMDB_H_ */
