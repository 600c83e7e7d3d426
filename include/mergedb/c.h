/* The C interface of mergedb, for C and for every language that can call C. A binding includes only this
 * header. Plain C11.
 *
 *     mergedb_db db = 0;
 *     mergedb_error error;
 *     if (mergedb_open("/tmp/example", NULL, &db, &error) != MERGEDB_OK) return complain(error.message);
 *     mergedb_put(db, NULL, "key", 3, "value", 5, &error);
 *     mergedb_close(db, &error);
 *
 * HANDLES. A database, iterator, snapshot, batch, report, transaction or cursor is a 64-bit number, not an
 * address: kind, slot and generation. Every call checks the handle. A handle that is closed, invalid, of
 * another kind, or inherited by fork returns MERGEDB_BAD_HANDLE and never touches memory. 0 is never a valid
 * handle. The caller closes every handle that it gets, in any order. An iterator or snapshot may be closed
 * after its database. Its other calls then return MERGEDB_SHUTTING_DOWN, except mergedb_snapshot_sequence.
 *
 * ERRORS are values. Every function that can fail returns a mergedb_code. Its last argument is a
 * mergedb_error of the caller, or NULL; the call fills it. The error needs no free and there is no hidden
 * state of the thread. After a failure the out-parameters hold 0 or NULL unless a function says otherwise. No
 * mistake of the caller causes an exception or an abort, except a pointer whose memory is smaller than its size says.
 *
 * BYTES go in as (pointer, size). The call copies them before it returns. If another thread changes them during
 * the call, what the call names gets a mixture; nothing else is touched. A NULL pointer is allowed if the
 * size is 0. Keys and values may contain any bytes. Sizes and limits are in bytes. Bytes that come out as
 * `void**` belong to the caller, who gives them to mergedb_free. Bytes that come out as mergedb_slice belong
 * to the iterator or cursor.
 *
 * STRUCTS begin with their own size, so that later versions can add fields: `mergedb_options o = {sizeof
 * o};`. A field that is 0 or NULL has its default. A NULL struct has all defaults. If a field that this
 * library does not know is not 0, the call returns MERGEDB_NOT_SUPPORTED.
 *
 * THREADS: any number of threads may use a database, snapshot or report at the same time. An iterator, a
 * batch, or a transaction with its cursors is for one thread at a time: a call that finds it in use returns
 * MERGEDB_BUSY.
 *
 * The promises behind the calls: docs/PROMISES.md. A tour: docs/api/c.md. Tested by tests/unit/c/c_test.c. */
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

/* ---- results --------------------------------------------------------------------------------------------------- */

typedef enum mergedb_code {
  MERGEDB_OK = 0,
  MERGEDB_NOT_FOUND = 1,        /* the key, the file or the database does not exist; an iterator has no more keys */
  MERGEDB_CORRUPTION = 2,       /* the stored bytes are not the bytes that were written */
  MERGEDB_INVALID_ARGUMENT = 3, /* the caller asked for something that can never work */
  MERGEDB_NOT_SUPPORTED = 4,    /* valid, but not supported by this build, file or compaction style */
  MERGEDB_IO_ERROR = 5,         /* the operating system returned an error */
  MERGEDB_NO_SPACE = 6,         /* the disk or the quota is full; writes work again when there is space */
  MERGEDB_BUSY = 7,             /* in use by another process, thread or transaction; try again */
  MERGEDB_CONFLICT = 8,         /* another write conflicts with the transaction */
  MERGEDB_ABORTED = 9,          /* the caller ended the operation, or the transaction has ended */
  MERGEDB_SHUTTING_DOWN = 10,   /* the database is closed or is closing */
  /* the operands of this key cannot be applied; other keys work; a put or delete repairs the key */
  MERGEDB_MERGE_FAILED = 11,
  MERGEDB_BAD_HANDLE = 100,   /* closed, invalid, of another kind, or from before a fork */
  MERGEDB_OUT_OF_MEMORY = 101 /* an allocation failed; if the call was a write, its outcome is unknown */
} mergedb_code;

/* The call fills the error that it gets. The caller owns it; nothing in it needs a free. */
typedef struct mergedb_error {
  int32_t code;            /* a mergedb_code */
  int32_t outcome_unknown; /* 1: the failed write may be present after the next open, completely or not at all */
  char message[504];       /* NUL-terminated, truncated if longer; "" after success, and if a key is absent */
} mergedb_error;

/* "NotFound", "Corruption", ...; "Unknown" for a number that is not a code. The text is static. */
MERGEDB_C_EXPORT const char* mergedb_code_name(int32_t code);

/* The version of the library at run time: "0.1.0". The text is static. */
MERGEDB_C_EXPORT const char* mergedb_version(void);

/* Frees bytes that a call of this header allocated. NULL is allowed. */
MERGEDB_C_EXPORT void mergedb_free(void* bytes);

/* ---- handles and bytes ------------------------------------------------------------------------------------- */

typedef uint64_t mergedb_db;
typedef uint64_t mergedb_iterator;
typedef uint64_t mergedb_snapshot;
typedef uint64_t mergedb_batch;
typedef uint64_t mergedb_report;
typedef uint64_t mergedb_transaction;
typedef uint64_t mergedb_cursor;

/* A keyspace: one of the ordered maps of a database. 0 is the default keyspace. It is a plain number and
 * needs no close. It means nothing in another database: there the same number is another keyspace, or none, and no
 * call can tell. */
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
  MERGEDB_READ_ONLY = 3 /* takes no lock and changes no byte */
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
  MERGEDB_PROCESS_CRASH = 0, /* survives kill -9 once the call returns */
  MERGEDB_SYNCED = 1,        /* also survives power loss, as does every logged write that committed before it */
  MERGEDB_NO_WAL = 2         /* not written to the WAL: durable after the next flush or close */
};

/* An order of keys. Many threads call `compare` at the same time, until the database, its iterators and its
 * snapshots are closed. Then `destroy` (may be NULL) is called once with `state`. If mergedb_open fails, it
 * calls `destroy`, too, unless it refuses the options themselves (INVALID_ARGUMENT or NOT_SUPPORTED with
 * "mergedb_options" or "mergedb_comparator" in the message).
 * `compare` returns < 0, 0 or > 0. It must be pure and total. It must not throw and must not call into mergedb. */
typedef struct mergedb_comparator {
  size_t struct_size;
  const char* name; /* stored in the database; copied; change it when the order changes */
  int (*compare)(void* state, const void* a, size_t a_size, const void* b, size_t b_size);
  void (*destroy)(void* state);
  void* state;
} mergedb_comparator;

/* Receives the messages of a database: failed background work, data that an open had to drop. `log` gets one
 * line without a newline; the line is not NUL-terminated. Any thread may call it, several at the same time.
 * It must not call into mergedb. `destroy` (may be NULL) is called once with `state`, at the same time as
 * that of a comparator. */
typedef struct mergedb_logger {
  size_t struct_size;
  void (*log)(void* state, const char* line, size_t size);
  void (*destroy)(void* state);
  void* state;
} mergedb_logger;

/* The result of a function of a merge operator. Each call of `apply` or `combine` may set it, or fail it, at
 * most once, and must not keep the pointer. `data` is copied. */
typedef struct mergedb_merge_result mergedb_merge_result;
MERGEDB_C_EXPORT void mergedb_merge_result_set(mergedb_merge_result* result, const void* data, size_t size);
MERGEDB_C_EXPORT void mergedb_merge_result_fail(mergedb_merge_result* result, const char* message);

/* A program's own merge operator (include/mergedb/merge_operator.h): the meaning of operands of type
 * MERGEDB_PROGRAM with its name. Many threads call the functions at the same time, until the database, its
 * iterators and its snapshots are closed. Then `destroy` (may be NULL) is called once with `state`, as for a
 * comparator. The functions must be pure. They must not throw and must not call into mergedb. */
typedef struct mergedb_merge_operator {
  size_t struct_size;
  const char* name; /* 1 to 255 bytes; stored with each operand; copied */
  /* Applies `count` operands, oldest first, to `base` (NULL: the key has no value) and sets the result. If a
   * call sets no result, or fails it, reads of the key return MERGE_FAILED. */
  void (*apply)(void* state, mergedb_slice key, const mergedb_slice* base, const mergedb_slice* operands, size_t count,
                mergedb_merge_result* result);
  /* Sets one operand that has the effect of `older` and then `newer`. If there is no such operand, the call
   * sets nothing. NULL: operands are never combined. */
  void (*combine)(void* state, mergedb_slice key, mergedb_slice older, mergedb_slice newer,
                  mergedb_merge_result* result);
  void (*destroy)(void* state);
  void* state;
} mergedb_merge_operator;

/* A field of an event. `text` is NULL for a number. */
typedef struct mergedb_event_field {
  const char* name;
  uint64_t number;
  const char* text; /* followed by a NUL */
  size_t text_size;
} mergedb_event_field;

/* What a database did: docs/EVENTS.md. Everything in it lives for one call of `on_event`. */
typedef struct mergedb_event {
  size_t struct_size; /* set by the library; a field beyond it does not exist */
  int32_t kind;       /* MERGEDB_EVENT_... */
  const char* name;   /* "flush_begin", ... */
  uint64_t time_us;   /* microseconds since 1970 */
  const mergedb_event_field* fields;
  size_t field_count;
  const char* json; /* the event as a line of JSON, as LOG has it, followed by a NUL */
} mergedb_event;

enum {
  MERGEDB_EVENT_OPEN = 1,
  MERGEDB_EVENT_RECOVERY = 2,
  MERGEDB_EVENT_FLUSH_BEGIN = 3,
  MERGEDB_EVENT_FLUSH_END = 4,
  MERGEDB_EVENT_COMPACTION_BEGIN = 5,
  MERGEDB_EVENT_COMPACTION_END = 6,
  MERGEDB_EVENT_STALL_BEGIN = 7,
  MERGEDB_EVENT_STALL_END = 8,
  MERGEDB_EVENT_ERROR = 9,
  MERGEDB_EVENT_FILE_MADE = 10,
  MERGEDB_EVENT_FILE_REMOVED = 11,
  MERGEDB_EVENT_CHECKPOINT = 12,
  MERGEDB_EVENT_IMPORT = 13,
  MERGEDB_EVENT_SLOW_CALL = 14,
  MERGEDB_EVENT_CLOSE = 15
};

/* Gets the events of a database: include/mergedb/event_listener.h. One thread calls `on_event`, for one event at a
 * time. It holds no lock of the database, so `on_event` may block and may call the database. `destroy` (may be NULL) is
 * called once with `state`, after the last event. */
typedef struct mergedb_event_listener {
  size_t struct_size;
  void (*on_event)(void* state, const mergedb_event* event);
  void (*destroy)(void* state);
  void* state;
} mergedb_event_listener;

/* Meanings and defaults: include/mergedb/options.h. */
typedef struct mergedb_options {
  /* options: begin fields (scripts/options.toml) */
  size_t struct_size;
  /* What an open does if there is a database, or none; MERGEDB_CREATE_IF_MISSING, ...; default: CREATE_IF_MISSING */
  int32_t mode;
  /* How background compactions arrange the data; MERGEDB_STYLE_LAZY, ...; default: LAZY */
  int32_t style;
  /* The memory for write buffers and the block cache together; default: 256 MiB */
  uint64_t memory_bytes;
  /* Unflushed writes may take twice this many bytes of memory_bytes, standby memtable included; default: an eighth
   * of memory_bytes */
  uint64_t write_buffer_bytes;
  /* The codec of new upper tables, which are rewritten soon; MERGEDB_COMPRESSION_NONE, ...; default: LZ4 */
  int32_t compression_upper;
  /* The codec of new bottommost tables, which stay; MERGEDB_COMPRESSION_NONE, ...; default: LZ4 */
  int32_t compression_bottom;
  /* Bits per key of the tables' bloom filters; default: 10; -1: no filters */
  int32_t bloom_bits_per_key;
  /* The maximum of open tables; half as many blob files may be open, too; default: 1,000 */
  int32_t open_tables_max;
  /* The target size of a table's blocks before compression; default: 4,096 */
  uint64_t block_bytes;
  /* The maximum delay of a put while the disk keeps up with the writes; default: 10,000 microseconds */
  uint64_t write_delay_us_max;
  /* Close waits for running compactions; MERGEDB_YES or MERGEDB_NO; default: no */
  int32_t finish_compactions_on_close;
  /* Records go to a WAL buffer in a mapped file if the file system allows it, so a put needs no system call;
   * MERGEDB_YES or MERGEDB_NO; default: yes */
  int32_t use_mapped_wal_buffer;
  /* The order of keys; NULL: bytewise */
  const mergedb_comparator* comparator;
  /* Gets the messages of the database: failed background work, and what an open had to drop; in C++ a member of env;
   * NULL: no messages */
  const mergedb_logger* logger;
  /* The program's own merge operators, by name; in C `merge_operator_count` pointers to them; NULL: only the
   * built-in ones */
  const mergedb_merge_operator* const* merge_operators;
  size_t merge_operator_count;
  /* Values of at least this many bytes are written once, to a blob file, and tables refer to them; default: 768; -1:
   * all values are stored in tables */
  int64_t blob_value_bytes_min;
  /* An unsynced write is durable (it survives a power loss) at most this long after the call; default: 5,000
   * milliseconds; -1: no limit in time */
  int64_t wal_sync_interval_ms;
  /* Gets the events of the database (docs/EVENTS.md); NULL: no listener */
  const mergedb_event_listener* listener;
  /* The files LOG and LOG.old of the directory hold the newest events as lines of JSON, at most this many bytes
   * together; default: no LOG is written */
  uint64_t log_bytes_max;
  /* A call that takes at least this long becomes an event with its breakdown; default: calls are not measured */
  uint64_t slow_call_us;
  /* Tables and blob files up to this many bytes together are mapped into memory and read in place; default: half of
   * the machine's memory; -1: no file is mapped */
  int64_t mapped_read_bytes_max;
  /* The space that a busy database reuses stays allocated when it is at rest, for benchmarks of the steady state;
   * MERGEDB_YES or MERGEDB_NO; default: no */
  int32_t keep_space_at_rest;
  int32_t reserved; /* 0 */
  /* options: end */
} mergedb_options;

typedef struct mergedb_write_options {
  size_t struct_size;
  int32_t durability; /* MERGEDB_PROCESS_CRASH, ... */
  /* of the key or range; 0: the default keyspace. 0 for mergedb_write: a batch names its keyspaces */
  mergedb_keyspace keyspace;
} mergedb_write_options;

typedef struct mergedb_read_options {
  size_t struct_size;
  mergedb_snapshot snapshot; /* 0: the newest state; else a snapshot of the same database */
  int32_t verify_checksums;  /* MERGEDB_NO: do not verify checksums */
  int32_t fill_cache;        /* MERGEDB_NO: do not add blocks to the block cache, for large scans */
  mergedb_keyspace keyspace; /* of the keys; 0: the default keyspace. 0 for an iterator, which has its own field */
  int32_t reserved;          /* 0 */
} mergedb_read_options;

typedef struct mergedb_iterator_options {
  size_t struct_size;
  mergedb_slice prefix; /* show only keys that begin with these bytes; bytewise comparator only; size 0: all keys */
  const mergedb_slice* lower; /* inclusive lower bound; NULL: no bound */
  const mergedb_slice* upper; /* exclusive upper bound; NULL: no bound */
  const mergedb_read_options* read;
  int32_t keys_only; /* MERGEDB_YES: values are empty and are not read */
  mergedb_keyspace keyspace;
} mergedb_iterator_options;

/* ---- a database -------------------------------------------------------------------------------------------- */

/* Opens the database in the directory `path` (NUL-terminated) and stores its handle in *db. A failed open
 * changes no byte of any data file. Errors: NOT_FOUND, BUSY (another process has the database open, or no thread can be
 * started), CORRUPTION, INVALID_ARGUMENT (the options contradict each other or the database), NOT_SUPPORTED (a foreign
 * database, or one of a newer version), IO_ERROR, NO_SPACE. */
MERGEDB_C_EXPORT mergedb_code mergedb_open(const char* path, const mergedb_options* options, mergedb_db* db,
                                           mergedb_error* error);

/* Makes the WAL durable, stops background work and releases the lock. From the start of this call the handle
 * is bad, whatever the call returns, except BUSY. It waits for calls of other threads that are in progress; a call that
 * waits for a transaction returns SHUTTING_DOWN, and the writes of open transactions are lost. Close every open
 * database before the program ends, else only the promise for kill -9 holds. BUSY: a callback of this database (`take`
 * of mergedb_metrics, `progress` of mergedb_checkpoint, ...) called mergedb_close; the database stays open. */
MERGEDB_C_EXPORT mergedb_code mergedb_close(mergedb_db db, mergedb_error* error);

/* Removes the files of the database, and the directory if it is empty then. Errors: NOT_FOUND (`path` has no
 * database), BUSY (the database is open), IO_ERROR. */
MERGEDB_C_EXPORT mergedb_code mergedb_destroy(const char* path, mergedb_error* error);

/* ---- writing ----------------------------------------------------------------------------------------------- */

/* Sets the value of `key`. A key has at most 8 MiB, a value at most 1 GiB; larger ones return
 * INVALID_ARGUMENT. */
MERGEDB_C_EXPORT mergedb_code mergedb_put(mergedb_db db, const mergedb_write_options* options, const void* key,
                                          size_t key_size, const void* value, size_t value_size, mergedb_error* error);

/* Deletes `key`. OK if the key is absent. */
MERGEDB_C_EXPORT mergedb_code mergedb_delete(mergedb_db db, const mergedb_write_options* options, const void* key,
                                             size_t key_size, mergedb_error* error);

/* Deletes every key in [begin, end), at the cost of one write. If begin equals end, nothing is deleted.
 * INVALID_ARGUMENT if begin is after end in the comparator's order. */
MERGEDB_C_EXPORT mergedb_code mergedb_delete_range(mergedb_db db, const mergedb_write_options* options,
                                                   const void* begin, size_t begin_size, const void* end,
                                                   size_t end_size, mergedb_error* error);

/* Deletes every key that begins with `prefix`. Requires the bytewise comparator. INVALID_ARGUMENT if the
 * prefix is empty or has only 0xff bytes, since no key is greater than all keys with this prefix. */
MERGEDB_C_EXPORT mergedb_code mergedb_delete_prefix(mergedb_db db, const mergedb_write_options* options,
                                                    const void* prefix, size_t prefix_size, mergedb_error* error);
/* The types of operands. include/mergedb/merge.h describes each of them, and the values that they need and
 * make. The comment of a type names the fields that it uses; all other fields must be 0. */
enum {
  MERGEDB_ADD_U64 = 1,         /* u64; the value is 8 bytes, little-endian, for all numbers */
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
  MERGEDB_PROGRAM = 30,        /* name, bytes; RocksDB's names work, too: uint64add, stringappend, max, put, bytesxor */
  MERGEDB_ENCODED = 1000       /* bytes: an encoded operand (docs/formats/merge.md) */
};
enum { MERGEDB_KEEP_NEWEST = 0, MERGEDB_KEEP_OLDEST = 1 };

typedef struct mergedb_operand {
  size_t struct_size;
  int32_t type; /* MERGEDB_ADD_U64, ... */
  int32_t keep; /* which bytes stay when `cap_bytes` cuts the value: MERGEDB_KEEP_... */
  uint64_t u64;
  int64_t i64;
  double f64;
  mergedb_slice bytes;
  mergedb_slice delimiter; /* stands between the old value and the appended bytes */
  uint64_t cap_bytes;      /* the value is cut to this many bytes; 0: no limit */
  const char* name;
} mergedb_operand;

/* Applies `operand` to the value of `key` without reading the value, which may be absent. */
MERGEDB_C_EXPORT mergedb_code mergedb_merge(mergedb_db db, const mergedb_write_options* options, const void* key,
                                            size_t key_size, const mergedb_operand* operand, mergedb_error* error);

/* mergedb_merge with MERGEDB_ADD_U64: adds `delta` to a counter. */
MERGEDB_C_EXPORT mergedb_code mergedb_add_u64(mergedb_db db, const mergedb_write_options* options, const void* key,
                                              size_t key_size, uint64_t delta, mergedb_error* error);

/* Applies a batch atomically: all of its changes become visible and survive a crash, or none of them. The
 * batch stays unchanged. */
MERGEDB_C_EXPORT mergedb_code mergedb_write(mergedb_db db, const mergedb_write_options* options, mergedb_batch batch,
                                            mergedb_error* error);

/* A batch belongs to no database and may be written to several. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_create(mergedb_batch* batch, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_put(mergedb_batch batch, const void* key, size_t key_size,
                                                const void* value, size_t value_size, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_delete(mergedb_batch batch, const void* key, size_t key_size,
                                                   mergedb_error* error);
/* Deletes also the keys of the range that earlier changes of the batch put, and no key of later changes. If a
 * range begins after its end, mergedb_write refuses the batch. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_delete_range(mergedb_batch batch, const void* begin, size_t begin_size,
                                                         const void* end, size_t end_size, mergedb_error* error);
/* As mergedb_merge. If mergedb_merge would refuse the operand, mergedb_write refuses the batch. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_merge(mergedb_batch batch, const void* key, size_t key_size,
                                                  const mergedb_operand* operand, mergedb_error* error);
/* Adds the changes of `source` after those of `batch`. The two must be different batches. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_append(mergedb_batch batch, mergedb_batch source, mergedb_error* error);
/* The next changes are for this keyspace. Before the first such call, and after mergedb_batch_clear, changes
 * are for the default keyspace. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_set_keyspace(mergedb_batch batch, mergedb_keyspace keyspace,
                                                         mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_clear(mergedb_batch batch, mergedb_error* error);
/* The number of changes, and their bytes in the WAL. Either pointer may be NULL. */
MERGEDB_C_EXPORT mergedb_code mergedb_batch_size(mergedb_batch batch, uint64_t* count, uint64_t* bytes,
                                                 mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_batch_close(mergedb_batch batch, mergedb_error* error);

/* ---- reading ----------------------------------------------------------------------------------------------- */

/* Stores a copy of the value in *value. After OK it is never NULL; a NUL follows it that *value_size does not
 * count. Give it to mergedb_free. NOT_FOUND if the key is absent. */
MERGEDB_C_EXPORT mergedb_code mergedb_get(mergedb_db db, const mergedb_read_options* options, const void* key,
                                          size_t key_size, void** value, size_t* value_size, mergedb_error* error);

/* As mergedb_get, but into memory of the caller: copies at most `capacity` bytes. *value_size is the size of
 * the whole value. If it is larger than `capacity`, the copy is truncated: call again with a larger buffer. */
MERGEDB_C_EXPORT mergedb_code mergedb_get_into(mergedb_db db, const mergedb_read_options* options, const void* key,
                                               size_t key_size, void* buffer, size_t capacity, size_t* value_size,
                                               mergedb_error* error);

/* Reads `count` keys as of one moment. codes[i] is the result of key i. If it is OK, values[i] is as of
 * mergedb_get; free each of them. Else values[i] is NULL. Returns OK if every code is OK or NOT_FOUND, else
 * the first other code. If the whole call fails, no code is OK. The caller owns the arrays; values,
 * value_sizes and codes have `count` elements. */
MERGEDB_C_EXPORT mergedb_code mergedb_multi_get(mergedb_db db, const mergedb_read_options* options,
                                                const mergedb_slice* keys, size_t count, void** values,
                                                size_t* value_sizes, int32_t* codes, mergedb_error* error);

/* A snapshot: a state of the database that stays readable until the snapshot is closed. Everything that it
 * can see stays on disk until then. */
MERGEDB_C_EXPORT mergedb_code mergedb_snapshot_create(mergedb_db db, mergedb_snapshot* snapshot, mergedb_error* error);
/* The snapshot sees all writes with a sequence number up to this one. */
MERGEDB_C_EXPORT mergedb_code mergedb_snapshot_sequence(mergedb_snapshot snapshot, uint64_t* sequence,
                                                        mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_snapshot_close(mergedb_snapshot snapshot, mergedb_error* error);

/* ---- iterators: every move returns its result ---------------------------------------------------------------------
 *
 *     mergedb_code code = mergedb_iterator_seek_to_first(it, &error);
 *     for (; code == MERGEDB_OK; code = mergedb_iterator_next(it, &error)) {
 *       mergedb_slice key, value;
 *       mergedb_iterator_entry(it, &key, &value, NULL);
 *     }
 *     if (code != MERGEDB_NOT_FOUND) return complain(error.message);
 *
 * A move returns OK if the iterator stands at a key, NOT_FOUND if there is no key in that direction, and any
 * other code after an error. An iterator shows the database as of its creation, or as of its snapshot.
 *
 * If the error concerns one key alone (MERGE_FAILED, for example), mergedb_iterator_failed_key names the key,
 * and next and prev continue from it. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_create(mergedb_db db, const mergedb_iterator_options* options,
                                                      mergedb_iterator* iterator, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek_to_first(mergedb_iterator iterator, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek_to_last(mergedb_iterator iterator, mergedb_error* error);
/* Moves to the first key at or after `key`. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek(mergedb_iterator iterator, const void* key, size_t key_size,
                                                    mergedb_error* error);
/* Moves to the last key at or before `key`. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_seek_for_prev(mergedb_iterator iterator, const void* key,
                                                             size_t key_size, mergedb_error* error);
/* If the iterator stands neither at a key nor at a failed key, next and prev return NOT_FOUND and do nothing. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_next(mergedb_iterator iterator, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_prev(mergedb_iterator iterator, mergedb_error* error);
/* The key and the value at which the iterator stands. Either pointer may be NULL. The slices are valid until
 * the iterator moves or is closed. NOT_FOUND if the iterator does not stand at a key. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_entry(mergedb_iterator iterator, mergedb_slice* key,
                                                     mergedb_slice* value, mergedb_error* error);
/* After a failed move: if the value of one key cannot be read, the call returns OK and *key is that key. It
 * is valid until the iterator moves or is closed. NOT_FOUND if the move did not fail, or failed for another reason. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_failed_key(mergedb_iterator iterator, mergedb_slice* key,
                                                          mergedb_error* error);
/* Copies many entries into memory of the caller: the entry at which the iterator stands and the entries after
 * it (before it, if `backwards` is MERGEDB_YES), as long as the next entry fits into `capacity` bytes. The
 * iterator moves past each copied entry. The format of an entry: the key's size and the value's size, each a
 * uint32_t in the machine's byte order, the key, and the value, without padding.
 * OK: *count entries in *used bytes. If *count is 0, the current entry does not fit, and *used is the size
 * that it needs. NOT_FOUND: the iterator does not stand at a key. Any other code: the error of the last move.
 * An error after the first entry is returned by the next call. */
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_read(mergedb_iterator iterator, int32_t backwards, void* buffer,
                                                    size_t capacity, size_t* used, size_t* count, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_iterator_close(mergedb_iterator iterator, mergedb_error* error);

/* ---- transactions -------------------------------------------------------------------------------------------------
 *
 *     mergedb_transaction transaction = 0;
 *     mergedb_transaction_begin(db, NULL, &transaction, &error);
 *     mergedb_transaction_put(transaction, 0, "key", 3, "value", 5, &error);
 *     mergedb_code code = mergedb_transaction_commit(transaction, &error);
 *     mergedb_transaction_close(transaction, NULL);
 *
 * A transaction reads the database as of one moment, together with its own writes, and then commits all of
 * its writes atomically, or none. The kinds, the conflicts and the cost of an open transaction:
 * include/mergedb/transaction.h. */
enum {
  MERGEDB_SINGLE_WRITER = 0, /* one at a time; all other writes wait; never conflicts */
  MERGEDB_OPTIMISTIC = 1,    /* does not wait; the commit checks the read set for conflicts */
  MERGEDB_READ_ONLY_TRANSACTION = 2
};

typedef struct mergedb_transaction_options {
  size_t struct_size;
  int32_t kind;              /* MERGEDB_SINGLE_WRITER, ... */
  int32_t durability;        /* durability of the commit: MERGEDB_PROCESS_CRASH, ... */
  uint64_t bytes_max;        /* maximum memory for its writes and its read set, in bytes; default 256 MiB */
  uint64_t wait_us_max;      /* single writer: maximum wait for the previous one, in microseconds; 0: no limit */
  mergedb_snapshot snapshot; /* read-only: the state to read; 0: the newest state */
  const char* name;          /* for property "mergedb.transactions"; copied; may be NULL */
} mergedb_transaction_options;

/* BUSY: another single writer did not end within wait_us_max, or it belongs to this thread. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_begin(mergedb_db db, const mergedb_transaction_options* options,
                                                        mergedb_transaction* transaction, mergedb_error* error);
/* Commits and ends the transaction, whatever the call returns; close the handle after it. CONFLICT: nothing was
 * written. One exception: beside another call on the transaction it returns BUSY, and the transaction stays open. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_commit(mergedb_transaction transaction, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_rollback(mergedb_transaction transaction, mergedb_error* error);
/* Closes the handle; rolls back unless committed. Cursors that are still open return ABORTED. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_close(mergedb_transaction transaction, mergedb_error* error);

/* As mergedb_get, mergedb_put and so on. ABORTED: the transaction has ended. NO_SPACE: the call would exceed
 * bytes_max; it changes nothing. */
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

/* Savepoints, a stack. Rollback and release return INVALID_ARGUMENT if there is no savepoint. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_set_savepoint(mergedb_transaction transaction, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_rollback_to_savepoint(mergedb_transaction transaction,
                                                                        mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_release_savepoint(mergedb_transaction transaction,
                                                                    mergedb_error* error);

/* After a commit that returned CONFLICT: a copy of the conflicting key, as of mergedb_get. NOT_FOUND if there
 * was no conflict, or if its key is unknown since the database no longer remembers the writes from the
 * transaction's start. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_conflict(mergedb_transaction transaction, mergedb_keyspace* keyspace,
                                                           void** key, size_t* key_size, mergedb_error* error);
/* The sequence number of its snapshot, the number of its writes, and the bytes that count against bytes_max.
 * Any pointer may be NULL. */
MERGEDB_C_EXPORT mergedb_code mergedb_transaction_size(mergedb_transaction transaction, uint64_t* sequence,
                                                       uint64_t* writes, uint64_t* bytes, mergedb_error* error);

/* The moves of a cursor: include/mergedb/cursor.h. The three moves with a key use `key`, the other moves
 * ignore it. */
enum {
  MERGEDB_TO_FIRST = 1,
  MERGEDB_TO_LAST = 2,
  MERGEDB_TO_NEXT = 3,
  MERGEDB_TO_PREV = 4,
  MERGEDB_TO_KEY = 5,         /* to this key; if absent NOT_FOUND, and the cursor stands at the first key after it */
  MERGEDB_TO_KEY_OR_NEXT = 6, /* to the first key at or after this one */
  MERGEDB_TO_KEY_OR_PREV = 7, /* to the last key at or before this one */
  MERGEDB_TO_CURRENT = 8      /* stays at its key; after a delete, to the key after the gap */
};
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_open(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                                  mergedb_cursor* cursor, mergedb_error* error);
/* OK: the cursor stands at a key. NOT_FOUND: there is no key in that direction. ABORTED: the transaction has
 * ended. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_move(mergedb_cursor cursor, int32_t to, const void* key, size_t key_size,
                                                  mergedb_error* error);
/* The key and the value at which the cursor stands. Either pointer may be NULL. The slices are valid until
 * the cursor moves or is closed, or the transaction writes or ends. NOT_FOUND if the cursor does not stand at
 * a key; after a write, move to MERGEDB_TO_CURRENT first. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_entry(mergedb_cursor cursor, mergedb_slice* key, mergedb_slice* value,
                                                   mergedb_error* error);
/* Sets the value of the key at which the cursor stands. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_put(mergedb_cursor cursor, const void* value, size_t value_size,
                                                 mergedb_error* error);
/* Deletes the key at which the cursor stands, or the key after the gap. */
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_delete(mergedb_cursor cursor, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_cursor_close(mergedb_cursor cursor, mergedb_error* error);

/* ---- named keyspaces: include/mergedb/keyspace.h ------------------------------------------------------------------
 *
 *     mergedb_keyspace users = 0;
 *     mergedb_keyspace_create(db, "users", 5, MERGEDB_YES, &users, &error);
 *     mergedb_write_options in_users = {.struct_size = sizeof in_users, .keyspace = users};
 *     mergedb_put(db, &in_users, "alice", 5, "...", 3, &error);
 *
 * Keyspaces require the bytewise comparator. Create and drop are writes: atomic, and part of their transaction. */

/* A name has 1 to 1,024 bytes. If the name exists and `may_exist` is MERGEDB_YES, the call returns that
 * keyspace; else INVALID_ARGUMENT. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_create(mergedb_db db, const void* name, size_t name_size,
                                                      int32_t may_exist, mergedb_keyspace* keyspace,
                                                      mergedb_error* error);
/* NOT_FOUND if no keyspace has this name. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_open(mergedb_db db, const mergedb_read_options* options,
                                                    const void* name, size_t name_size, mergedb_keyspace* keyspace,
                                                    mergedb_error* error);
typedef struct mergedb_keyspace_entry {
  mergedb_slice name;
  mergedb_keyspace keyspace;
} mergedb_keyspace_entry;
/* All named keyspaces, sorted by name. *entries is one allocation, names included; give it to mergedb_free. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_list(mergedb_db db, const mergedb_read_options* options,
                                                    mergedb_keyspace_entry** entries, size_t* count,
                                                    mergedb_error* error);
/* Drop: removes the keyspace with all of its keys. Clear: deletes all of its keys. Each is one write.
 * INVALID_ARGUMENT for the default keyspace and for a keyspace that is already dropped. The keyspace in the
 * options must be 0. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_drop(mergedb_db db, const mergedb_write_options* options,
                                                    mergedb_keyspace keyspace, mergedb_error* error);
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_clear(mergedb_db db, const mergedb_write_options* options,
                                                     mergedb_keyspace keyspace, mergedb_error* error);
/* As mergedb_compact_range. */
MERGEDB_C_EXPORT mergedb_code mergedb_keyspace_compact(mergedb_db db, mergedb_keyspace keyspace,
                                                       const mergedb_slice* lower, const mergedb_slice* upper,
                                                       mergedb_error* error);
/* The same calls as part of a transaction: other readers see the changes after the commit. NOT_SUPPORTED for
 * the first keyspace of a database in an optimistic transaction. */
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

/* ---- maintenance ----------------------------------------------------------------------------------------------- */

/* After OK, everything that was written before the call is in tables and durable. */
MERGEDB_C_EXPORT mergedb_code mergedb_flush(mergedb_db db, mergedb_error* error);

/* After OK, every write that returned before the call survives a power loss. */
MERGEDB_C_EXPORT mergedb_code mergedb_sync_wal(mergedb_db db, mergedb_error* error);

/* Compacts the keys of [*lower, *upper) into the bottommost run, and waits for it. A NULL bound is open. */
MERGEDB_C_EXPORT mergedb_code mergedb_compact_range(mergedb_db db, const mergedb_slice* lower,
                                                    const mergedb_slice* upper, mergedb_error* error);

/* Waits until no background work is pending. */
MERGEDB_C_EXPORT mergedb_code mergedb_wait(mergedb_db db, mergedb_error* error);

/* Estimates the bytes on disk of each range [lowers[i], uppers[i]). Unflushed writes do not count. The arrays
 * have `count` elements; the caller owns them. */
MERGEDB_C_EXPORT mergedb_code mergedb_approximate_sizes(mergedb_db db, const mergedb_slice* lowers,
                                                        const mergedb_slice* uppers, size_t count, uint64_t* bytes,
                                                        mergedb_error* error);

/* A property as NUL-terminated text; give it to mergedb_free: "mergedb.stats", "mergedb.runs",
 * "mergedb.counters", "mergedb.recovery", ... (the list is in include/mergedb/db.h). NOT_FOUND if the name is
 * unknown. */
MERGEDB_C_EXPORT mergedb_code mergedb_get_property(mergedb_db db, const char* name, char** value, mergedb_error* error);

/* Reads and checks every byte of every live table and blob file. CORRUPTION: the first damage found. */
MERGEDB_C_EXPORT mergedb_code mergedb_check(mergedb_db db, mergedb_error* error);

/* ---- metrics: include/mergedb/metrics.h ------------------------------------------------------------------------ */

enum {
  MERGEDB_COUNTER = 1, /* only grows; 0 after each open */
  MERGEDB_GAUGE = 2    /* a present value, which grows and shrinks, or a maximum */
};

/* A counter or gauge. The texts are static: they live as long as the library is loaded. */
typedef struct mergedb_metric {
  size_t struct_size; /* set by the library; a field beyond it does not exist */
  const char* name;   /* lower-case letters, digits and "_" */
  const char* unit;   /* of the value: "count", "bytes", "nanoseconds", "nanoseconds per KiB" or "0 or 1" */
  const char* help;   /* one sentence: what the value says */
  int32_t type;       /* MERGEDB_COUNTER or MERGEDB_GAUGE */
  uint64_t value;
} mergedb_metric;

/* Calls `take` for each metric of the database, by the calling thread, in the order of property "mergedb.counters". If
 * `take` returns 0, the call ends with ABORTED. The struct belongs to the library and lives for one call of `take`.
 * `state` is passed on; it may be NULL. In `take`, mergedb_close of this database returns BUSY. docs/METRICS.md lists
 * all metrics. A database that is open read-only has only those of its files and its own reads. For texts: properties
 * "mergedb.stats.json" and "mergedb.prometheus". */
MERGEDB_C_EXPORT mergedb_code mergedb_metrics(mergedb_db db, int32_t (*take)(void* state, const mergedb_metric* metric),
                                              void* state, mergedb_error* error);

/* The latencies of one operation since the open, in nanoseconds. The texts are static. */
typedef struct mergedb_histogram {
  size_t struct_size;       /* set by the library; a field beyond it does not exist */
  const char* name;         /* lower-case letters, digits and "_" */
  const char* help;         /* one sentence: what is measured */
  uint64_t sample_interval; /* one of so many calls is measured, and counts as so many; 1: each call */
  uint64_t count;           /* of calls */
  uint64_t sum;             /* of their times */
  uint64_t p50;
  uint64_t p99;
  uint64_t p99_9;
  uint64_t max; /* of the measured calls */
  /* The buckets that are not empty, ascending: bucket_counts[i] calls took at most bucket_uppers[i], and longer than
   * the bucket before. The last bucket also holds all longer calls. */
  const uint64_t* bucket_uppers;
  const uint64_t* bucket_counts;
  size_t buckets;
} mergedb_histogram;

/* Calls `take` for each latency histogram of the database; rules and errors as for mergedb_metrics. The arrays live for
 * one call of `take`. docs/METRICS.md says what is measured, and the errors of the values. */
MERGEDB_C_EXPORT mergedb_code mergedb_histograms(mergedb_db db,
                                                 int32_t (*take)(void* state, const mergedb_histogram* histogram),
                                                 void* state, mergedb_error* error);

/* Where the time of calls goes: include/mergedb/perf_context.h. */
typedef struct mergedb_perf {
  size_t struct_size;
  uint64_t queue_wait_nanos;
  uint64_t wal_nanos;
  uint64_t memtable_nanos;
  uint64_t wait_nanos;
  uint64_t memtables_searched;
  uint64_t runs_visited;
  uint64_t filters_checked;
  uint64_t filters_useful;
  uint64_t block_cache_hits;
  uint64_t block_cache_misses;
  uint64_t device_reads;
  uint64_t device_read_bytes;
  uint64_t device_read_nanos;
  uint64_t tombstones_skipped;
} mergedb_perf;

/* From now on the calls of this thread are counted, from 0. BUSY: they are counted already. */
MERGEDB_C_EXPORT mergedb_code mergedb_perf_begin(mergedb_error* error);
/* Ends the counting and fills *perf, whose struct_size the caller has set. INVALID_ARGUMENT: it has not begun, or the
 * struct is too small; in that case the counting goes on. */
MERGEDB_C_EXPORT mergedb_code mergedb_perf_end(mergedb_perf* perf, mergedb_error* error);

/* ---- traces: include/mergedb/trace.h ------------------------------------------------------------------------------
 *
 * A file of the calls on a database, with their times. docs/TRACE.md says what is recorded and what it costs. */
typedef struct mergedb_trace_options {
  size_t struct_size;
  uint32_t sampling;     /* one of so many keys and iterators is recorded; 0: all */
  int32_t record_values; /* 1: the bytes of values of up to 1 MiB; 0: their sizes */
  uint64_t bytes_max;    /* the trace ends when its file would exceed this size; 0: 1 GiB */
} mergedb_trace_options;

typedef struct mergedb_trace_report {
  size_t struct_size;  /* set by the caller */
  uint64_t operations; /* in the trace; a batch counts as one */
  uint64_t lost;       /* left out, because the file could not be written as fast, or a batch was too large */
  uint64_t bytes;      /* of the file */
  int32_t is_full;     /* 1: the trace ended at bytes_max */
} mergedb_trace_report;

/* Begins to record the calls on `db` to the new file `path` (NUL-terminated). Errors: INVALID_ARGUMENT (the options, or
 * the file exists), BUSY (a trace was started and not ended), IO_ERROR, NO_SPACE, SHUTTING_DOWN. If the file cannot be
 * written later, the trace ends, and no call fails for that reason. */
MERGEDB_C_EXPORT mergedb_code mergedb_start_trace(mergedb_db db, const char* path, const mergedb_trace_options* options,
                                                  mergedb_error* error);
/* Ends the trace; mergedb_close does so, too. After OK, and after IO_ERROR or NO_SPACE of the file, *report is filled;
 * `report` may be NULL. INVALID_ARGUMENT: no trace was started, or the struct is too small; then the trace goes on. */
MERGEDB_C_EXPORT mergedb_code mergedb_end_trace(mergedb_db db, mergedb_trace_report* report, mergedb_error* error);

/* ---- checkpoints: include/mergedb/checkpoint.h --------------------------------------------------------------------
 *
 *     mergedb_checkpoint_report report = {.struct_size = sizeof report};
 *     mergedb_code code = mergedb_checkpoint(db, "/backup/monday", NULL, &report, &error);
 *     if (code != MERGEDB_OK) return complain(error.message);
 *
 * A checkpoint is a copy of the database in another directory, made while the database is read and written.
 * It contains everything that was written before the call, and whole batches only. */
typedef struct mergedb_checkpoint_options {
  size_t struct_size;
  /* MERGEDB_NO: copy every byte, so that damage to one file does not affect the other database. Default: hard
   * links if both directories are on one file system */
  int32_t may_link;
  int32_t verify; /* MERGEDB_NO: do not read the copy back before the rename */
  /* Called from time to time, by the calling thread, with the bytes copied and verified so far and the total.
   * If it returns 0, the call ends with ABORTED. May be NULL. Must not call into mergedb; mergedb_close of this
   * database returns BUSY. */
  int32_t (*progress)(void* state, uint64_t bytes_done, uint64_t bytes_all);
  void* state;
} mergedb_checkpoint_options;

typedef struct mergedb_checkpoint_report {
  size_t struct_size; /* set by the caller */
  uint64_t files;     /* tables and blob files in the copy */
  uint64_t linked;    /* of these files: hard links */
  uint64_t copied;    /* of these files: copied, or written from memtables */
  uint64_t kept;      /* of these files: kept from an earlier, interrupted call */
  uint64_t bytes;     /* total size of these files, in bytes */
  uint64_t sequence;  /* the copy contains all writes up to this sequence number */
} mergedb_checkpoint_report;

/* `target` (NUL-terminated) must be absent or an empty directory; its parent directory must exist. The copy
 * has the name `target`.partial until it is complete, verified and durable. After a failure `target` is
 * unchanged, and another call continues with the finished part. `report` may be NULL. Errors:
 * INVALID_ARGUMENT (`target` is not empty), CORRUPTION (a file is damaged), IO_ERROR, NO_SPACE, ABORTED,
 * SHUTTING_DOWN. */
MERGEDB_C_EXPORT mergedb_code mergedb_checkpoint(mergedb_db db, const char* target,
                                                 const mergedb_checkpoint_options* options,
                                                 mergedb_checkpoint_report* report, mergedb_error* error);

/* ---- verify and repair: include/mergedb/repair.h and docs/verify-and-repair.md say what is found and kept ----
 *
 *     mergedb_report report = 0;
 *     if (mergedb_verify("/srv/data", NULL, &report, &error) != MERGEDB_OK) return complain(error.message);
 *     const char* line;
 *     for (size_t i = 0; mergedb_report_text(report, MERGEDB_DAMAGES, i, &line, NULL) == MERGEDB_OK; ++i) puts(line);
 *     mergedb_report_close(report, NULL);
 *
 * Both calls work on a directory that mergedb_open refuses. No process may have the database open. */
typedef struct mergedb_repair_options {
  size_t struct_size;
  /* the comparator must be that of the database; the program's merge operators let a repair fold their operands */
  const mergedb_options* options;
  /* Called from time to time, by the calling thread, with the bytes read so far and the total. If it returns
   * 0, the call ends with ABORTED. May be NULL. Must not call into mergedb. */
  int32_t (*progress)(void* state, uint64_t bytes_done, uint64_t bytes_all);
  void* state;
  int32_t dry_run;  /* only mergedb_repair. MERGEDB_YES: report what it would do and lose, and change nothing */
  int32_t reserved; /* 0 */
} mergedb_repair_options;

/* Finds every damage and changes nothing. OK if verify could run: the report lists the damages. Errors:
 * NOT_FOUND (no database), BUSY (the database is open), INVALID_ARGUMENT (another comparator), NOT_SUPPORTED
 * (a newer version made the database), ABORTED. */
MERGEDB_C_EXPORT mergedb_code mergedb_verify(const char* path, const mergedb_repair_options* options,
                                             mergedb_report* report, mergedb_error* error);

/* Repairs the database so that it opens again. Damaged files are moved to `lost` in its directory. If the
 * repair is interrupted at any point, call it again. Errors as mergedb_verify, and IO_ERROR, NO_SPACE:
 * nothing is lost, call it again. */
MERGEDB_C_EXPORT mergedb_code mergedb_repair(const char* path, const mergedb_repair_options* options,
                                             mergedb_report* report, mergedb_error* error);

/* The lists of a report. The report of mergedb_verify has no losses and no actions. */
enum {
  MERGEDB_DAMAGES = 0, /* bytes that are missing or differ from the bytes that were written */
  MERGEDB_LOSSES = 1,  /* the damages that lose entries */
  MERGEDB_ACTIONS = 2, /* actions that a repair did, or would do */
  MERGEDB_NOTES = 3    /* other facts */
};

/* One line of a list, for people: "000012.tbl: offset 4096, 812 bytes: ...". The report owns the text; it is
 * valid until the report is closed. NOT_FOUND if `index` is not less than the length of the list. */
MERGEDB_C_EXPORT mergedb_code mergedb_report_text(mergedb_report report, int32_t list, size_t index, const char** text,
                                                  mergedb_error* error);

typedef struct mergedb_damage {
  size_t struct_size;       /* set by the caller */
  const char* file;         /* file name in the directory */
  const char* what;         /* what was expected and what was found */
  uint64_t offset;          /* offset of the first damaged byte */
  uint64_t bytes;           /* number of damaged bytes; 0: unknown, or the whole file */
  int32_t loses_entries;    /* 0: another copy is intact, or the bytes can be rebuilt */
  int32_t has_smallest_key; /* 0: the lost keys have no lower bound */
  /* 0: the lost keys have no upper bound */
  int32_t has_largest_key;
  int32_t reserved;
  mergedb_slice smallest_key; /* the keys of the entries that may be lost, both bounds inclusive */
  mergedb_slice largest_key;
} mergedb_damage;

/* An element of MERGEDB_DAMAGES or MERGEDB_LOSSES, for programs. The report owns the texts and keys in
 * *damage; they are valid until the report is closed. NOT_FOUND as above. */
MERGEDB_C_EXPORT mergedb_code mergedb_report_damage(mergedb_report report, int32_t list, size_t index,
                                                    mergedb_damage* damage, mergedb_error* error);

typedef struct mergedb_report_totals {
  size_t struct_size; /* set by the caller */
  uint64_t damages;   /* lengths of the four lists */
  uint64_t losses;
  uint64_t actions;
  uint64_t notes;
  uint64_t tables;  /* tables that verify read */
  uint64_t entries; /* entries in these tables */
  /* WAL frames that verify read */
  uint64_t wal_frames;
  uint64_t bytes;         /* bytes of all files that verify read */
  uint64_t entries_saved; /* entries that repair saved from damaged tables and from the WAL */
} mergedb_report_totals;
MERGEDB_C_EXPORT mergedb_code mergedb_report_count(mergedb_report report, mergedb_report_totals* totals,
                                                   mergedb_error* error);

MERGEDB_C_EXPORT mergedb_code mergedb_report_close(mergedb_report report, mergedb_error* error);

#ifdef __cplusplus
}
#endif

#endif /* MERGEDB_C_H_ */
