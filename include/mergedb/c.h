/* mergedb for C, and for every language that can call C: the only header that a binding may include. Plain C11.
 *
 *     mergedb_db db = 0;
 *     mergedb_error error;
 *     if (mergedb_open("/tmp/example", NULL, &db, &error) != MERGEDB_OK) return complain(error.message);
 *     mergedb_put(db, NULL, "key", 3, "value", 5, &error);
 *     mergedb_close(db, &error);
 *
 * HANDLES. A database, iterator, snapshot, batch, report, transaction or cursor is a 64-bit number, not an address: kind, slot and generation.
 * Every call checks it, so a handle that is closed, closed twice, made up, of another kind, or inherited by fork is
 * answered with MERGEDB_BAD_HANDLE and never touches memory. 0 is no handle. Whoever got a handle closes it, in any
 * order: an iterator or snapshot may be closed after its database (its other calls then answer MERGEDB_SHUTTING_DOWN).
 *
 * ERRORS are values. Every function that can fail returns a mergedb_code, and takes as its last argument a
 * mergedb_error of the caller's, or NULL, which it fills: nothing to free, nothing in a thread's hidden state. After a
 * failure the out-parameters hold 0 or NULL unless a function says otherwise. No exception and no abort crosses this
 * face for what a caller can get wrong, except memory that is not what its size says.
 *
 * BYTES go in as (pointer, size) and are copied before the call returns; a NULL pointer is allowed where the size is 0.
 * Keys and values may hold any byte. Sizes and limits are in bytes. Bytes that come out as `void**` were allocated
 * for the caller: give them to mergedb_free. Bytes that come out as mergedb_slice belong to the iterator.
 *
 * STRUCTS begin with their own size, so that later versions can add fields: `mergedb_options o = {sizeof o};`. A field
 * that is 0 or NULL has its default; a NULL struct is all defaults. A field that this library does not know yet must be
 * 0, else the answer is MERGEDB_NOT_SUPPORTED.
 *
 * THREADS: databases, snapshots and reports may be used by any number of threads at once. An iterator or a batch is for one
 * thread at a time: a call that finds it in use returns MERGEDB_BUSY. So is a transaction together with its cursors.
 *
 * The promises behind the calls: docs/PROMISES.md. A tour: docs/api/c.md. Tested by tests/unit/c/c_test.c.
 */
#ifndef MERGEDB_C_H_
#define MERGEDB_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(MERGEDB_STATIC)
#define MERGEDB_C_EXPORT
#else
#define MERGEDB_C_EXPORT __attribute__((visibility("default")))
#endif

#define MERGEDB_VERSION_MAJOR 0
#define MERGEDB_VERSION_MINOR 1
#define MERGEDB_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- outcomes ---------------------------------------------------------------------------------------------- */

typedef enum mergedb_code {
  MERGEDB_OK = 0,
  MERGEDB_NOT_FOUND = 1,        /* the key, the file or the database is not there; an iterator has no more keys */
  MERGEDB_CORRUPTION = 2,       /* stored bytes are not what was written */
  MERGEDB_INVALID_ARGUMENT = 3, /* the caller asked for something that can never work */
  MERGEDB_NOT_SUPPORTED = 4,    /* valid, but not by this build, file or style */
  MERGEDB_IO_ERROR = 5,         /* the operating system refused */
  MERGEDB_NO_SPACE = 6,         /* the disk or the quota is full; goes away when space returns */
  MERGEDB_BUSY = 7,             /* somebody else holds it; try again */
  MERGEDB_CONFLICT = 8,         /* a transaction met another one's write */
  MERGEDB_ABORTED = 9,          /* given up */
  MERGEDB_SHUTTING_DOWN = 10,   /* the database is closed or closing */
  MERGEDB_MERGE_FAILED = 11,    /* this key's operands cannot be applied; others are fine, a put or delete heals it */
  MERGEDB_BAD_HANDLE = 100,     /* closed, made up, of another kind, or from before a fork */
  MERGEDB_OUT_OF_MEMORY = 101   /* an allocation failed; if the call was a write, its outcome is unknown */
} mergedb_code;

/* Filled by the call that it is passed to. The caller's; nothing in it needs freeing. */
typedef struct mergedb_error {
  int32_t code;            /* a mergedb_code */
  int32_t outcome_unknown; /* 1: the failed write may be there after the next open, whole or not at all */
  char message[504];       /* NUL-terminated; cut short if longer; "" after success, and where a key is not there */
} mergedb_error;

/* "NotFound", "Corruption", ...; "Unknown" for a number that is no code. Lives for ever. */
MERGEDB_C_EXPORT const char* mergedb_code_name(int32_t code);

/* "0.1.0": of the library at run time. Lives for ever. */
MERGEDB_C_EXPORT const char* mergedb_version(void);

/* Give back bytes that a call of this header allocated. NULL is fine. */
MERGEDB_C_EXPORT void mergedb_free(void* bytes);

/* ---- handles and bytes ------------------------------------------------------------------------------------- */

typedef uint64_t mergedb_db;
typedef uint64_t mergedb_iterator;
typedef uint64_t mergedb_snapshot;
typedef uint64_t mergedb_batch;
typedef uint64_t mergedb_report;
typedef uint64_t mergedb_transaction;
typedef uint64_t mergedb_cursor;

/* Which of a database's ordered maps a call is about. 0 is the default one. A number, which needs no closing. */
typedef uint32_t mergedb_keyspace;

typedef struct mergedb_slice {
  const void* data;
  size_t size;
} mergedb_slice;

/* ---- options ----------------------------------------------------------------------------------------------- */

/* For fields whose default is yes. */
enum { MERGEDB_DEFAULT = 0, MERGEDB_YES = 1, MERGEDB_NO = -1 };

enum {
  MERGEDB_CREATE_IF_MISSING = 0,
  MERGEDB_MUST_EXIST = 1,
  MERGEDB_MUST_NOT_EXIST = 2,
  MERGEDB_READ_ONLY = 3 /* takes no lock, changes no byte */
};
enum { MERGEDB_STYLE_DEFAULT = 0, MERGEDB_STYLE_LAZY = 1, MERGEDB_STYLE_CASCADE = 2 };
enum {
  MERGEDB_COMPRESSION_DEFAULT = 0,
  MERGEDB_COMPRESSION_NONE = 1,
  MERGEDB_COMPRESSION_SNAPPY = 2,
  MERGEDB_COMPRESSION_ZSTD = 3,
  MERGEDB_COMPRESSION_LZ4 = 4
};
enum {
  MERGEDB_PROCESS_CRASH = 0, /* survives kill -9 when the call returns */
  MERGEDB_SYNCED = 1,        /* and power loss, as does every write committed before it */
  MERGEDB_NO_LOG = 2         /* not logged: durable after the next flush or close */
};

/* An order of keys. `compare` is called by many threads at once, until the database, its iterators and its snapshots
 * are closed; then `destroy` (may be NULL) is called once with `state`. A mergedb_open that fails calls it too, unless
 * it refuses the options as such (INVALID_ARGUMENT or NOT_SUPPORTED naming "mergedb_options" or "mergedb_comparator").
 * `compare` must be pure and total, must not throw, and must not call into mergedb. */
typedef struct mergedb_comparator {
  size_t struct_size;
  const char* name; /* stored in the database; copied; change it when the order changes */
  int (*compare)(void* state, const void* a, size_t a_size, const void* b, size_t b_size);
  void (*destroy)(void* state);
  void* state;
} mergedb_comparator;

/* Who hears what a database has to say: failed background work, what an open had to drop. `log` gets one line, without a newline
 * and not NUL-terminated; it may be called by any thread, several at once, and must not call into mergedb. `destroy` (may be
 * NULL) is called once with `state`, when that of a comparator would be. */
typedef struct mergedb_logger {
  size_t struct_size;
  void (*log)(void* state, const char* line, size_t size);
  void (*destroy)(void* state);
  void* state;
} mergedb_logger;

/* Where a merge operator's functions put what they made: at most one call of either function for each of theirs. Not to
 * be kept. `data` is copied. */
typedef struct mergedb_merge_result mergedb_merge_result;
MERGEDB_C_EXPORT void mergedb_merge_result_set(mergedb_merge_result* result, const void* data, size_t size);
MERGEDB_C_EXPORT void mergedb_merge_result_fail(mergedb_merge_result* result, const char* message);

/* A program's own merge operator (include/mergedb/merge_operator.h): what operands of type MERGEDB_PROGRAM and of its
 * name do. The functions are called by many threads at once, until the database, its iterators and its snapshots are
 * closed; then `destroy` (may be NULL) is called once with `state`, as for a comparator. They must be pure, and must
 * not throw nor call into mergedb. */
typedef struct mergedb_merge_operator {
  size_t struct_size;
  const char* name; /* 1 to 255 bytes; stored with each operand; copied */
  /* Apply `count` operands, oldest first, to `base` (NULL: the key has no value), and set the result. A call that sets
   * none, or fails it, makes reads of the key MERGE_FAILED. */
  void (*apply)(void* state, mergedb_slice key, const mergedb_slice* base, const mergedb_slice* operands, size_t count,
                mergedb_merge_result* result);
  /* Set one operand that does what `older` and then `newer` do; or set nothing: there is none. NULL: there never is. */
  void (*combine)(void* state, mergedb_slice key, mergedb_slice older, mergedb_slice newer,
                  mergedb_merge_result* result);
  void (*destroy)(void* state);
  void* state;
} mergedb_merge_operator;

/* Meanings and defaults: include/mergedb/options.h. */
typedef struct mergedb_options {
  size_t struct_size;
  int32_t mode;                         /* MERGEDB_CREATE_IF_MISSING, ... */
  int32_t style;                        /* MERGEDB_STYLE_... */
  uint64_t memory_bytes;                /* default 256 MiB */
  uint64_t write_buffer_bytes;          /* default an eighth of memory_bytes */
  int32_t compression_upper;            /* MERGEDB_COMPRESSION_... */
  int32_t compression_bottom;           /* MERGEDB_COMPRESSION_... */
  int32_t bloom_bits_per_key;           /* default 10; -1: no filters */
  int32_t open_tables_max;              /* default 1,000 */
  uint64_t block_bytes;                 /* default 4,096 */
  uint64_t pause_us_max;                /* default 10,000 microseconds */
  int32_t finish_merges_on_close;       /* MERGEDB_YES: close waits for merges */
  int32_t use_mapped_staging;           /* MERGEDB_NO: one system call a commit group instead of a mapped file */
  const mergedb_comparator* comparator; /* NULL: bytewise */
  const mergedb_logger* logger;         /* NULL: silence */
  const mergedb_merge_operator* const* merge_operators; /* `merge_operator_count` pointers to a program's own */
  size_t merge_operator_count;
  int64_t separated_value_bytes_min; /* default 768; -1: values are never separated */
} mergedb_options;

typedef struct mergedb_write_options {
  size_t struct_size;
  int32_t durability;        /* MERGEDB_PROCESS_CRASH, ... */
  mergedb_keyspace keyspace; /* that the key or range is of; 0: the default one. A batch says it itself */
} mergedb_write_options;

typedef struct mergedb_read_options {
  size_t struct_size;
  mergedb_snapshot snapshot; /* 0: as of now; else one of the same database */
  int32_t verify_checksums;  /* MERGEDB_NO: trust the disk */
  int32_t fill_cache;        /* MERGEDB_NO: leave the block cache as it is, for large scans */
  mergedb_keyspace keyspace; /* that the keys are of; 0: the default one. An iterator has a field of its own */
  int32_t reserved;          /* 0 */
} mergedb_read_options;

typedef struct mergedb_iterator_options {
  size_t struct_size;
  mergedb_slice prefix;       /* only keys that begin with these bytes; bytewise order only; size 0: all keys */
  const mergedb_slice* lower; /* smallest key shown; NULL: open */
  const mergedb_slice* upper; /* first key not shown; NULL: open */
  const mergedb_read_options* read;
  int32_t keys_only; /* MERGEDB_YES: values are empty, and not read */
  mergedb_keyspace keyspace;
} mergedb_iterator_options;

/* ---- a database -------------------------------------------------------------------------------------------- */

/* Open the database in directory `path` (NUL-terminated) and put its handle in *db. A failed open changes no byte of
 * any data file. Errors: NOT_FOUND, BUSY (another process has it open), CORRUPTION, INVALID_ARGUMENT (options that
 * contradict each other or the database), NOT_SUPPORTED (foreign, or of a newer version), IO_ERROR, NO_SPACE. */
MERGEDB_C_EXPORT mergedb_code mergedb_open(const char* path, const mergedb_options* options, mergedb_db* db,
                                           mergedb_error* error);

/* Make the log durable, stop background work and release the lock. From the start of this call on the handle is
 * bad, whatever is returned; calls that other threads are in are waited for. Close every open database before
 * the program ends, else only the promise of kill -9 holds. */
MERGEDB_C_EXPORT mergedb_code mergedb_close(mergedb_db db, mergedb_error* error);

/* Remove the database's own files, and the directory if that leaves it empty. Errors: NOT_FOUND (no database there),
 * BUSY (it is open), IO_ERROR. */
MERGEDB_C_EXPORT mergedb_code mergedb_destroy(const char* path, mergedb_error* error);

/* ---- writing ----------------------------------------------------------------------------------------------- */

/* Set `key` to `value`. Keys up to 8 MiB, values up to 1 GiB; larger ones are INVALID_ARGUMENT. */
MERGEDB_C_EXPORT mergedb_code mergedb_put(mergedb_db db, const mergedb_write_options* options, const void* key,
                                          size_t key_size, const void* value, size_t value_size, mergedb_error* error);

/* Remove `key`. OK if it is not there. */
MERGEDB_C_EXPORT mergedb_code mergedb_delete(mergedb_db db, const mergedb_write_options* options, const void* key,
                                             size_t key_size, mergedb_error* error);

/* Remove every key from `begin` on and before `end`; costs what one write costs. Nothing if the two are equal,
 * INVALID_ARGUMENT if begin is after end in the comparator's order. */
MERGEDB_C_EXPORT mergedb_code mergedb_delete_range(mergedb_db db, const mergedb_write_options* options,
                                                   const void* begin, size_t begin_size, const void* end,
                                                   size_t end_size, mergedb_error* error);

/* Remove every key that begins with these bytes. Bytewise comparator only; INVALID_ARGUMENT for a prefix that is empty
 * or has no byte but 0xff: no key comes after its range. */
MERGEDB_C_EXPORT mergedb_code mergedb_delete_prefix(mergedb_db db, const mergedb_write_options* options,
                                                    const void* prefix, size_t prefix_size, mergedb_error* error);
/* What to merge into a key: include/mergedb/merge.h says what each does, and what values they make and need. A type uses
 * the fields that stand behind it; the others must be 0. */
enum {
  MERGEDB_ADD_U64 = 1,         /* u64; the value is 8 bytes, little-endian, as of all numbers */
  MERGEDB_ADD_I64 = 2,         /* i64; a sum out of range reads as the nearest int64_t */
  MERGEDB_ADD_I64_FAILING = 3, /* i64; a sum out of range is an error of the key */
  MERGEDB_ADD_F64 = 4,         /* f64 */
  MERGEDB_MAX_U64 = 5,         /* u64 */
  MERGEDB_MAX_I64 = 6,         /* i64 */
  MERGEDB_MAX_F64 = 7,         /* f64 */
  MERGEDB_MAX_BYTES = 8,       /* bytes */
  MERGEDB_MIN_U64 = 9,         /* u64 */
  MERGEDB_MIN_I64 = 10,        /* i64 */
  MERGEDB_MIN_F64 = 11,        /* f64 */
  MERGEDB_MIN_BYTES = 12,      /* bytes */
  MERGEDB_AND = 13,            /* bytes */
  MERGEDB_OR = 14,             /* bytes */
  MERGEDB_XOR = 15,            /* bytes */
  MERGEDB_APPEND = 16,         /* bytes, delimiter, cap_bytes, keep */
  MERGEDB_FIRST = 17,          /* bytes, u64: the timestamp */
  MERGEDB_LAST = 18,           /* bytes, u64: the timestamp */
  MERGEDB_JSON_PATCH = 19,     /* bytes */
  MERGEDB_PUT_BYTES = 20,      /* bytes */
  MERGEDB_PROGRAM = 30,        /* name, bytes; RocksDB's names are known: uint64add, stringappend, max, put, bytesxor */
  MERGEDB_ENCODED = 1000       /* bytes: an operand as docs/formats/merge.md says */
};
enum { MERGEDB_KEEP_NEWEST = 0, MERGEDB_KEEP_OLDEST = 1 };

typedef struct mergedb_operand {
  size_t struct_size;
  int32_t type; /* MERGEDB_ADD_U64, ... */
  int32_t keep; /* which bytes stay when `cap_bytes` cuts: MERGEDB_KEEP_... */
  uint64_t u64;
  int64_t i64;
  double f64;
  mergedb_slice bytes;
  mergedb_slice delimiter; /* goes before what is appended to a value */
  uint64_t cap_bytes;      /* 0: no cap */
  const char* name;
} mergedb_operand;

/* Apply `operand` to the value of `key` without reading it, whether there is one or not. */
MERGEDB_C_EXPORT mergedb_code mergedb_merge(mergedb_db db, const mergedb_write_options* options, const void* key,
                                            size_t key_size, const mergedb_operand* operand, mergedb_error* error);

/* The commonest: a counter. */
MERGEDB_C_EXPORT mergedb_code mergedb_add_u64(mergedb_db db, const mergedb_write_options* options, const void* key,
                                              size_t key_size, uint64_t delta, mergedb_error* error);

/* Apply a batch: all of it becomes visible and survives a crash, or none. The batch is left as it is. */
MERGEDB_C_EXPORT mergedb_code mergedb_write(mergedb_db db, const mergedb_write_options* options, mergedb_batch batch,
                                            mergedb_error* error);

/* A batch belongs to no database and may be written to several. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_create(mergedb_batch* batch, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_put(mergedb_batch batch, const void* key, size_t key_size,
                                                const void* value, size_t value_size, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_delete(mergedb_batch batch, const void* key, size_t key_size,
                                                   mergedb_error* error);
/* Removes what earlier changes of the batch put into the range as well, and nothing of later ones. mergedb_write refuses
 * a batch in which a range begins after its end. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_delete_range(mergedb_batch batch, const void* begin, size_t begin_size,
                                                         const void* end, size_t end_size, mergedb_error* error);
/* As mergedb_merge. An operand that it would refuse makes mergedb_write refuse the batch. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_merge(mergedb_batch batch, const void* key, size_t key_size,
                                                  const mergedb_operand* operand, mergedb_error* error);
/* Add the changes of `source` after those of `batch`; the two must not be the same. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_append(mergedb_batch batch, mergedb_batch source, mergedb_error* error);
/* The changes that follow are of this keyspace; until the first such call, and after mergedb_batch_clear, of the default one. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_set_keyspace(mergedb_batch batch, mergedb_keyspace keyspace,
                                                         mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_clear(mergedb_batch batch, mergedb_error* error);
/* How many changes it holds, and how many bytes they take in the log. Either pointer may be NULL. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_size(mergedb_batch batch, uint64_t* count, uint64_t* bytes,
                                                 mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_close(mergedb_batch batch, mergedb_error* error);

/* ---- reading ----------------------------------------------------------------------------------------------- */

/* Put a copy of the value in *value (give it to mergedb_free; never NULL after OK, and followed by a NUL that
 * *value_size does not count). NOT_FOUND if the key is not there. */
MERGEDB_C_EXPORT mergedb_code mergedb_get(mergedb_db db, const mergedb_read_options* options, const void* key,
                                          size_t key_size, void** value, size_t* value_size, mergedb_error* error);

/* The same into the caller's memory: at most `capacity` bytes are copied, and *value_size is the whole value's size. If
 * that is more than `capacity`, the value was cut: call again with more. */
MERGEDB_C_EXPORT mergedb_code mergedb_get_into(mergedb_db db, const mergedb_read_options* options, const void* key,
                                               size_t key_size, void* buffer, size_t capacity, size_t* value_size,
                                               mergedb_error* error);

/* `count` keys as of one moment. codes[i] says how key i went; values[i] is then as of mergedb_get, each to be freed,
 * and NULL if codes[i] is not OK. Returns OK if every code is OK or NOT_FOUND, else the first other one. If the
 * call failed as a whole, no code is OK. The three arrays have `count` elements and are the caller's. */
MERGEDB_C_EXPORT mergedb_code mergedb_multi_get(mergedb_db db, const mergedb_read_options* options,
                                                const mergedb_slice* keys, size_t count, void** values,
                                                size_t* value_sizes, int32_t* codes, mergedb_error* error);

/* A state of the database to read from, until it is closed. What it can see stays on disk meanwhile. */
MERGEDB_C_EXPORT mergedb_code mergedb_snapshot_create(mergedb_db db, mergedb_snapshot* snapshot, mergedb_error* error);
/* Writes with a sequence number up to this one are visible. */
MERGEDB_C_EXPORT mergedb_code mergedb_snapshot_sequence(mergedb_snapshot snapshot, uint64_t* sequence,
                                                        mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_snapshot_close(mergedb_snapshot snapshot, mergedb_error* error);

/* ---- iterators: every move says where it got to -------------------------------------------------------------
 *
 *     mergedb_code code = mergedb_iterator_seek_to_first(it, &error);
 *     for (; code == MERGEDB_OK; code = mergedb_iterator_next(it, &error)) {
 *       mergedb_slice key, value;
 *       mergedb_iterator_entry(it, &key, &value, NULL);
 *     }
 *     if (code != MERGEDB_NOT_FOUND) return complain(error.message);
 *
 * A move returns OK if the iterator now stands at a key, NOT_FOUND if there is none that way, and any other code if it
 * could not tell. An iterator shows the database as it was when it was made, or its snapshot.
 *
 * If the error is of one key alone (MERGE_FAILED, say), mergedb_iterator_failed_key names the key, and next and prev go on
 * from it. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_create(mergedb_db db, const mergedb_iterator_options* options,
                                                      mergedb_iterator* iterator, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek_to_first(mergedb_iterator iterator, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek_to_last(mergedb_iterator iterator, mergedb_error* error);
/* To the first key at or after `key`. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek(mergedb_iterator iterator, const void* key, size_t key_size,
                                                    mergedb_error* error);
/* To the last key at or before `key`. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek_for_prev(mergedb_iterator iterator, const void* key,
                                                             size_t key_size, mergedb_error* error);
/* NOT_FOUND, and nothing else happens, if the iterator stands neither at a key nor at a failed one. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_next(mergedb_iterator iterator, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_prev(mergedb_iterator iterator, mergedb_error* error);
/* The key and value where it stands; either pointer may be NULL. The slices live until the iterator moves or is
 * closed. NOT_FOUND if it does not stand at a key. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_entry(mergedb_iterator iterator, mergedb_slice* key,
                                                     mergedb_slice* value, mergedb_error* error);
/* After a move that failed: OK, and *key is the key whose value cannot be read, if that was the reason. It lives until the
 * iterator moves or is closed. NOT_FOUND if the move did not fail, or for another reason. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_failed_key(mergedb_iterator iterator, mergedb_slice* key,
                                                          mergedb_error* error);
/* Copy entries into the caller's memory, many by one call: the entry where the iterator stands and those after it (before it, if
 * `backwards` is MERGEDB_YES), until `capacity` bytes do not hold the next one. The iterator moves behind each. An entry
 * is the key's size and the value's size, a uint32_t each in the machine's byte order, the key, and the value, without padding.
 * OK: *count entries in *used bytes; if *count is 0, the entry where it stands does not fit, and *used is what it needs.
 * NOT_FOUND: the iterator does not stand at a key. Any other code: that of the move that brought it where it is; an error
 * that is met after the first entry is left to the next call. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_read(mergedb_iterator iterator, int32_t backwards, void* buffer,
                                                    size_t capacity, size_t* used, size_t* count, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_close(mergedb_iterator iterator, mergedb_error* error);

/* ---- transactions ------------------------------------------------------------------------------------------
 *
 *     mergedb_transaction transaction = 0;
 *     mergedb_transaction_begin(db, NULL, &transaction, &error);
 *     mergedb_transaction_put(transaction, 0, "key", 3, "value", 5, &error);
 *     mergedb_code code = mergedb_transaction_commit(transaction, &error);
 *     mergedb_transaction_close(transaction, NULL);
 *
 * Reads as of one moment, its own writes among them; then all of its writes at once, or none. What the kinds do, what
 * is a conflict, and what it costs to leave one open: include/mergedb/transaction.h. End them before mergedb_close,
 * which waits for calls that wait for them. */
enum {
  MERGEDB_SINGLE_WRITER = 0, /* one at a time, others' writes wait; never conflicts */
  MERGEDB_OPTIMISTIC = 1,    /* waits for nobody; what it read is checked at the commit */
  MERGEDB_READ_ONLY_TRANSACTION = 2
};

typedef struct mergedb_transaction_options {
  size_t struct_size;
  int32_t kind;              /* MERGEDB_SINGLE_WRITER, ... */
  int32_t durability;        /* of the commit: MERGEDB_PROCESS_CRASH, ... */
  uint64_t bytes_max;        /* most memory for its writes and reads; default 256 MiB */
  uint64_t wait_us_max;      /* single writer: how long to wait for the one before, in microseconds; 0: however long */
  mergedb_snapshot snapshot; /* read-only: read as of this one; 0: as of now */
  const char* name;          /* for property "mergedb.transactions"; copied; NULL: none */
} mergedb_transaction_options;

/* BUSY: another single writer was not done within wait_us_max, or is this very thread's. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_begin(mergedb_db db, const mergedb_transaction_options* options,
                                                        mergedb_transaction* transaction, mergedb_error* error);
/* Ends it, whatever is returned; the handle is still to be closed. CONFLICT: nothing was written. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_commit(mergedb_transaction transaction, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_rollback(mergedb_transaction transaction, mergedb_error* error);
/* Rolls back what was not committed. Cursors that are left answer ABORTED. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_close(mergedb_transaction transaction, mergedb_error* error);

/* As mergedb_get, mergedb_put and so on. After its end: ABORTED. NO_SPACE: bytes_max would be exceeded. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_get(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                                      const void* key, size_t key_size, void** value,
                                                      size_t* value_size, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_put(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                                      const void* key, size_t key_size, const void* value,
                                                      size_t value_size, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_delete(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                                         const void* key, size_t key_size, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_delete_range(mergedb_transaction transaction,
                                                               mergedb_keyspace keyspace, const void* begin,
                                                               size_t begin_size, const void* end, size_t end_size,
                                                               mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_merge(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                                        const void* key, size_t key_size,
                                                        const mergedb_operand* operand, mergedb_error* error);

/* A stack of places to go back to. Roll back and release are INVALID_ARGUMENT if there is none. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_set_savepoint(mergedb_transaction transaction, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_rollback_to_savepoint(mergedb_transaction transaction,
                                                                        mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_release_savepoint(mergedb_transaction transaction,
                                                                    mergedb_error* error);

/* After a commit that returned CONFLICT: a copy of the key that it was about, as of mergedb_get. NOT_FOUND if there was
 * no conflict, or none with a key: what was written since the transaction began is no longer remembered. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_conflict(mergedb_transaction transaction, mergedb_keyspace* keyspace,
                                                           void** key, size_t* key_size, mergedb_error* error);
/* Its snapshot's sequence, how many writes it holds, and the bytes that count against bytes_max. Any pointer may be NULL. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_size(mergedb_transaction transaction, uint64_t* sequence,
                                                       uint64_t* writes, uint64_t* bytes, mergedb_error* error);

/* Where a cursor goes: include/mergedb/cursor.h. The three that take a key use it, the others do not look at it. */
enum {
  MERGEDB_TO_FIRST = 1,
  MERGEDB_TO_LAST = 2,
  MERGEDB_TO_NEXT = 3,
  MERGEDB_TO_PREV = 4,
  MERGEDB_TO_KEY = 5,         /* to this key; else NOT_FOUND, and it stands at the first one after it */
  MERGEDB_TO_KEY_OR_NEXT = 6, /* to the first key at or after this one */
  MERGEDB_TO_KEY_OR_PREV = 7, /* to the last key at or before this one */
  MERGEDB_TO_CURRENT = 8      /* where it stands; after a delete the key behind the gap */
};
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_open(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                                  mergedb_cursor* cursor, mergedb_error* error);
/* OK: it stands at a key. NOT_FOUND: there is none that way. ABORTED: its transaction has ended. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_move(mergedb_cursor cursor, int32_t to, const void* key, size_t key_size,
                                                  mergedb_error* error);
/* The key and value where it stands; either pointer may be NULL. The slices live until the cursor moves or is closed,
 * or the transaction writes or ends. NOT_FOUND if it does not stand at a key; after a write, move to MERGEDB_TO_CURRENT. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_entry(mergedb_cursor cursor, mergedb_slice* key, mergedb_slice* value,
                                                   mergedb_error* error);
/* Set the value of the key where it stands. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_put(mergedb_cursor cursor, const void* value, size_t value_size,
                                                 mergedb_error* error);
/* Delete the key where it stands, or the one behind the gap. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_delete(mergedb_cursor cursor, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_close(mergedb_cursor cursor, mergedb_error* error);

/* ---- named keyspaces: include/mergedb/keyspace.h -----------------------------------------------------------
 *
 *     mergedb_keyspace users = 0;
 *     mergedb_keyspace_create(db, "users", 5, MERGEDB_YES, &users, &error);
 *     mergedb_write_options in_users = {.struct_size = sizeof in_users, .keyspace = users};
 *     mergedb_put(db, &in_users, "alice", 5, "...", 3, &error);
 *
 * Bytewise databases only. Creating and dropping are writes: atomic, and in transactions part of them. */

/* A name has 1 to 1,024 bytes. INVALID_ARGUMENT if there is one of this name, unless `may_exist` is MERGEDB_YES: then that
 * is the result. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_create(mergedb_db db, const void* name, size_t name_size,
                                                      int32_t may_exist, mergedb_keyspace* keyspace,
                                                      mergedb_error* error);
/* NOT_FOUND if there is none of this name. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_open(mergedb_db db, const mergedb_read_options* options,
                                                    const void* name, size_t name_size, mergedb_keyspace* keyspace,
                                                    mergedb_error* error);
typedef struct mergedb_keyspace_entry {
  mergedb_slice name;
  mergedb_keyspace keyspace;
} mergedb_keyspace_entry;
/* All of them, by name: *entries is one allocation, names included, to be given to mergedb_free. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_list(mergedb_db db, const mergedb_read_options* options,
                                                    mergedb_keyspace_entry** entries, size_t* count,
                                                    mergedb_error* error);
/* The keyspace and all that is in it, or all that is in it, by one write. INVALID_ARGUMENT for the default one, and for one
 * that was dropped before. The options' own keyspace must be 0. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_drop(mergedb_db db, const mergedb_write_options* options,
                                                    mergedb_keyspace keyspace, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_clear(mergedb_db db, const mergedb_write_options* options,
                                                     mergedb_keyspace keyspace, mergedb_error* error);
/* As mergedb_compact_range. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_compact(mergedb_db db, mergedb_keyspace keyspace,
                                                       const mergedb_slice* lower, const mergedb_slice* upper,
                                                       mergedb_error* error);
/* As part of a transaction: there for others once it is committed. NOT_SUPPORTED for a database's first keyspace in an
 * optimistic transaction. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_keyspace_create(mergedb_transaction transaction, const void* name,
                                                                  size_t name_size, int32_t may_exist,
                                                                  mergedb_keyspace* keyspace, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_keyspace_open(mergedb_transaction transaction, const void* name,
                                                                size_t name_size, mergedb_keyspace* keyspace,
                                                                mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_keyspace_list(mergedb_transaction transaction,
                                                                mergedb_keyspace_entry** entries, size_t* count,
                                                                mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_keyspace_drop(mergedb_transaction transaction,
                                                                mergedb_keyspace keyspace, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_keyspace_clear(mergedb_transaction transaction,
                                                                 mergedb_keyspace keyspace, mergedb_error* error);

/* ---- care -------------------------------------------------------------------------------------------------- */

/* Everything written before the call is in tables and durable when this returns OK. */
MERGEDB_C_EXPORT mergedb_code mergedb_flush(mergedb_db db, mergedb_error* error);

/* Every write that returned before the call survives power loss when this returns OK. */
MERGEDB_C_EXPORT mergedb_code mergedb_sync_log(mergedb_db db, mergedb_error* error);

/* Merge the keys of [*lower, *upper) into the bottom run; NULL ends are open. Waits. */
MERGEDB_C_EXPORT mergedb_code mergedb_compact_range(mergedb_db db, const mergedb_slice* lower,
                                                    const mergedb_slice* upper, mergedb_error* error);

/* Wait until no background work is owed. */
MERGEDB_C_EXPORT mergedb_code mergedb_wait(mergedb_db db, mergedb_error* error);

/* About how many bytes on disk each range [lowers[i], uppers[i]) takes; unflushed writes are not counted. The arrays
 * have `count` elements and are the caller's. */
MERGEDB_C_EXPORT mergedb_code mergedb_approximate_sizes(mergedb_db db, const mergedb_slice* lowers,
                                                        const mergedb_slice* uppers, size_t count, uint64_t* bytes,
                                                        mergedb_error* error);

/* A property as NUL-terminated text, to be given to mergedb_free: "mergedb.stats", "mergedb.runs", "mergedb.counters",
 * "mergedb.recovery", ... (include/mergedb/db.h has the list). NOT_FOUND if the name is unknown. */
MERGEDB_C_EXPORT mergedb_code mergedb_get_property(mergedb_db db, const char* name, char** value, mergedb_error* error);

/* Read every byte of every live table and check it. CORRUPTION: the first damage found. */
MERGEDB_C_EXPORT mergedb_code mergedb_check(mergedb_db db, mergedb_error* error);

/* ---- copies: include/mergedb/checkpoint.h --------------------------------------------------------------------
 *
 *     mergedb_checkpoint_report report = {.struct_size = sizeof report};
 *     if (mergedb_checkpoint(db, "/backup/monday", NULL, &report, &error) != MERGEDB_OK) return complain(error.message);
 *
 * A database of its own in another directory, made while this one is read and written: everything that was written before the
 * call, and whole batches only. */
typedef struct mergedb_checkpoint_options {
  size_t struct_size;
  int32_t
      may_link; /* MERGEDB_NO: copy every byte, so that damage to one file is not damage to both. Default: second names
                     * (hard links) where one file system holds both */
  int32_t verify; /* MERGEDB_NO: do not read the copy back before it takes its name */
  /* Called now and then, by the calling thread, with bytes taken and verified so far and in all; 0 gives up (ABORTED). NULL:
   * nobody asks. Must not call into mergedb. */
  int32_t (*progress)(void* state, uint64_t bytes_done, uint64_t bytes_all);
  void* state;
} mergedb_checkpoint_options;

typedef struct mergedb_checkpoint_report {
  size_t struct_size; /* set by the caller */
  uint64_t files;     /* tables and value files */
  uint64_t linked;    /* of them: second names */
  uint64_t copied;    /* of them: copied, or written from what was in memory */
  uint64_t kept;      /* of them: there already, from a call that was interrupted */
  uint64_t bytes;     /* of all of them */
  uint64_t sequence;  /* writes up to this one are in the copy */
} mergedb_checkpoint_report;

/* `target` (NUL-terminated) must not be there, or be an empty directory; its parent must. It is `target`.partial until it is whole,
 * verified and durable; after a failure `target` is as it was, and another call goes on with what is there. `report` may be
 * NULL. Errors: INVALID_ARGUMENT (something is there), CORRUPTION (a file is damaged), IO_ERROR, NO_SPACE, ABORTED, SHUTTING_DOWN. */
MERGEDB_C_EXPORT mergedb_code mergedb_checkpoint(mergedb_db db, const char* target,
                                                 const mergedb_checkpoint_options* options,
                                                 mergedb_checkpoint_report* report, mergedb_error* error);

/* ---- a damaged database: include/mergedb/care.h and docs/CARE.md say what is found and what is kept ------------
 *
 *     mergedb_report report = 0;
 *     if (mergedb_verify("/srv/data", NULL, &report, &error) != MERGEDB_OK) return complain(error.message);
 *     const char* line;
 *     for (size_t i = 0; mergedb_report_text(report, MERGEDB_DAMAGES, i, &line, NULL) == MERGEDB_OK; ++i) puts(line);
 *     mergedb_report_close(report, NULL);
 *
 * Both work on a directory that mergedb_open refuses, and that nobody has open. */
typedef struct mergedb_care_options {
  size_t struct_size;
  const mergedb_options*
      options; /* the comparator must be the database's; programs' merge operators fold what they can */
  /* Called now and then with bytes read so far and in all; 0 gives up (ABORTED). NULL: nobody asks. Must not call into mergedb. */
  int32_t (*progress)(void* state, uint64_t bytes_done, uint64_t bytes_all);
  void* state;
  int32_t dry_run;  /* mergedb_repair alone. MERGEDB_YES: say what would be done and lost, and do nothing */
  int32_t reserved; /* 0 */
} mergedb_care_options;

/* Find every damage; change nothing. OK if that could be tried: the report has what was found. Errors: NOT_FOUND (there is no
 * database), BUSY (it is open), INVALID_ARGUMENT (another comparator), NOT_SUPPORTED (a newer version made it), ABORTED. */
MERGEDB_C_EXPORT mergedb_code mergedb_verify(const char* path, const mergedb_care_options* options,
                                             mergedb_report* report, mergedb_error* error);

/* Make it open again; what is damaged is moved to the directory's "lost". Interrupted at any point, call it again. Errors as
 * mergedb_verify, and IO_ERROR, NO_SPACE: nothing was lost, call it again. */
MERGEDB_C_EXPORT mergedb_code mergedb_repair(const char* path, const mergedb_care_options* options,
                                             mergedb_report* report, mergedb_error* error);

/* The lists of a report. A verified database has no losses and no actions. */
enum {
  MERGEDB_DAMAGES = 0, /* what is not as it was written */
  MERGEDB_LOSSES = 1,  /* those damages that lose entries: what a repair gave up */
  MERGEDB_ACTIONS = 2, /* what a repair did, or would do */
  MERGEDB_NOTES = 3    /* what to know besides */
};

/* One line of a list, for people: "000012.tbl: offset 4096, 812 bytes: ...". It is the report's and lives as long. NOT_FOUND
 * if the list has no `index`-th line. */
MERGEDB_C_EXPORT mergedb_code mergedb_report_text(mergedb_report report, int32_t list, size_t index, const char** text,
                                                  mergedb_error* error);

typedef struct mergedb_damage {
  size_t struct_size;       /* set by the caller */
  const char* file;         /* its name in the directory */
  const char* what;         /* what was expected and what was found */
  uint64_t offset;          /* of the first byte concerned */
  uint64_t bytes;           /* how many; 0: not known, or the whole file */
  int32_t loses_entries;    /* 0: another copy is whole, or it can be made anew */
  int32_t has_smallest_key; /* 0: that end of the lost keys is open */
  int32_t has_largest_key;
  int32_t reserved;
  mergedb_slice smallest_key; /* keys of the entries that may be lost, both ends included */
  mergedb_slice largest_key;
} mergedb_damage;

/* The same of MERGEDB_DAMAGES or MERGEDB_LOSSES, for programs. What *damage points to is the report's and lives as long. */
MERGEDB_C_EXPORT mergedb_code mergedb_report_damage(mergedb_report report, int32_t list, size_t index,
                                                    mergedb_damage* damage, mergedb_error* error);

typedef struct mergedb_report_totals {
  size_t struct_size; /* set by the caller */
  uint64_t damages;   /* in that list */
  uint64_t losses;
  uint64_t actions;
  uint64_t notes;
  uint64_t tables;  /* that verify read, */
  uint64_t entries; /* in them, */
  uint64_t log_frames;
  uint64_t bytes;         /* and of all files */
  uint64_t entries_saved; /* that repair took out of damaged tables, and of the log */
} mergedb_report_totals;
MERGEDB_C_EXPORT mergedb_code mergedb_report_count(mergedb_report report, mergedb_report_totals* totals,
                                                   mergedb_error* error);

MERGEDB_C_EXPORT mergedb_code mergedb_report_close(mergedb_report report, mergedb_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MERGEDB_C_H_ */
