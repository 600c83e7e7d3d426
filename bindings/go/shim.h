/* The calls of mergedb/c.h as Go needs them. cgo may not pass a Go struct that points to Go memory, so these functions
 * take the fields and make the structs in C. Bytes are `const char*`: for a `void*`, cgo checks the whole Go object in
 * which the bytes are, and refuses a byte array beside a pointer. */
#ifndef BINDINGS_GO_SHIM_H_
#define BINDINGS_GO_SHIM_H_

#include <mergedb/c.h>

typedef struct shim_operand {
  int32_t type;
  int32_t keep;
  uint64_t u64;
  int64_t i64;
  double f64;
  uint64_t cap_bytes;
} shim_operand;

/* As mergedb_open; `listener` is a handle of Go, or 0: no listener. */
mergedb_code shim_open(const char* path, const mergedb_options* options, uintptr_t listener, mergedb_db* db,
                       mergedb_error* error);
mergedb_code shim_put(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* key, size_t key_size,
                      const char* value, size_t value_size, mergedb_error* error);
mergedb_code shim_delete(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* key, size_t key_size,
                         mergedb_error* error);
mergedb_code shim_delete_range(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* begin,
                               size_t begin_size, const char* end, size_t end_size, mergedb_error* error);
mergedb_code shim_delete_prefix(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* prefix, size_t size,
                                mergedb_error* error);
/* `batch` 0 and `transaction` 0: a merge of the database. */
mergedb_code shim_merge(mergedb_db db, mergedb_batch batch, mergedb_transaction transaction, int32_t durability,
                        mergedb_keyspace in, const char* key, size_t key_size, shim_operand numbers, const char* bytes,
                        size_t bytes_size, const char* delimiter, size_t delimiter_size, const char* name,
                        mergedb_error* error);
mergedb_code shim_write(mergedb_db db, int32_t durability, mergedb_batch batch, mergedb_error* error);
mergedb_code shim_get_into(mergedb_db db, mergedb_keyspace in, mergedb_snapshot snapshot, const char* key,
                           size_t key_size, char* buffer, size_t capacity, size_t* size, mergedb_error* error);
/* `keys` has all keys, one after the other. Give *values to mergedb_free after each of its elements. */
mergedb_code shim_multi_get(mergedb_db db, mergedb_keyspace in, mergedb_snapshot snapshot, const char* keys,
                            const size_t* key_sizes, size_t count, void** values, size_t* value_sizes, int32_t* codes,
                            mergedb_error* error);
mergedb_code shim_iterator(mergedb_db db, mergedb_keyspace in, mergedb_snapshot snapshot, const char* prefix,
                           size_t prefix_size, const char* lower, size_t lower_size, int has_lower, const char* upper,
                           size_t upper_size, int has_upper, int keys_only, int fill_cache, mergedb_iterator* iterator,
                           mergedb_error* error);
mergedb_code shim_compact(mergedb_db db, mergedb_keyspace in, const char* lower, size_t lower_size, int has_lower,
                          const char* upper, size_t upper_size, int has_upper, mergedb_error* error);
mergedb_code shim_approximate_size(mergedb_db db, const char* lower, size_t lower_size, const char* upper,
                                   size_t upper_size, uint64_t* bytes, mergedb_error* error);
mergedb_code shim_keyspace_change(mergedb_db db, int drops, int32_t durability, mergedb_keyspace keyspace,
                                  mergedb_error* error);
/* `progress` is a handle of Go; 0: no calls. */
mergedb_code shim_checkpoint(mergedb_db db, const char* target, int may_link, int verify, uintptr_t progress,
                             mergedb_checkpoint_report* report, mergedb_error* error);
/* A number that no other thread of the process has. */
uintptr_t shim_thread(void);
/* Stores at most `capacity` metrics, and the number of all in *count. */
mergedb_code shim_metrics(mergedb_db db, mergedb_metric* metrics, size_t capacity, size_t* count, mergedb_error* error);

mergedb_code shim_batch_put(mergedb_batch batch, const char* key, size_t key_size, const char* value, size_t value_size,
                            mergedb_error* error);
mergedb_code shim_batch_delete(mergedb_batch batch, const char* key, size_t key_size, mergedb_error* error);
mergedb_code shim_batch_delete_range(mergedb_batch batch, const char* begin, size_t begin_size, const char* end,
                                     size_t end_size, mergedb_error* error);
mergedb_code shim_iterator_seek(mergedb_iterator iterator, int backwards, const char* key, size_t key_size,
                                mergedb_error* error);
mergedb_code shim_iterator_read(mergedb_iterator iterator, int backwards, char* buffer, size_t capacity, size_t* used,
                                size_t* count, mergedb_error* error);
mergedb_code shim_transaction_begin(mergedb_db db, int32_t kind, int32_t durability, uint64_t bytes_max,
                                    uint64_t wait_us_max, mergedb_snapshot snapshot, const char* name,
                                    mergedb_transaction* transaction, mergedb_error* error);
mergedb_code shim_transaction_get(mergedb_transaction transaction, mergedb_keyspace in, const char* key,
                                  size_t key_size, void** value, size_t* value_size, mergedb_error* error);
mergedb_code shim_transaction_put(mergedb_transaction transaction, mergedb_keyspace in, const char* key,
                                  size_t key_size, const char* value, size_t value_size, mergedb_error* error);
mergedb_code shim_transaction_delete(mergedb_transaction transaction, mergedb_keyspace in, const char* key,
                                     size_t key_size, mergedb_error* error);
mergedb_code shim_transaction_delete_range(mergedb_transaction transaction, mergedb_keyspace in, const char* begin,
                                           size_t begin_size, const char* end, size_t end_size, mergedb_error* error);
mergedb_code shim_cursor_move(mergedb_cursor cursor, int32_t to, const char* key, size_t key_size,
                              mergedb_error* error);
mergedb_code shim_cursor_put(mergedb_cursor cursor, const char* value, size_t value_size, mergedb_error* error);

#endif
