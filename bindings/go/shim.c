#include "shim.h"

#include <pthread.h>
#include <stdlib.h>

#include "_cgo_export.h"

static mergedb_write_options writing(int32_t durability, mergedb_keyspace in) {
  mergedb_write_options options = {.struct_size = sizeof options, .durability = durability, .keyspace = in};
  return options;
}

static mergedb_read_options reading(mergedb_keyspace in, mergedb_snapshot snapshot) {
  mergedb_read_options options = {.struct_size = sizeof options, .snapshot = snapshot, .keyspace = in};
  return options;
}

static mergedb_slice slice(const void* data, size_t size) {
  mergedb_slice made = {data, size};
  return made;
}

static void show_event(void* state, const mergedb_event* event) { goEvent((uintptr_t)state, (mergedb_event*)event); }

static void end_listener(void* state) { goListenerEnds((uintptr_t)state); }

mergedb_code shim_open(const char* path, const mergedb_options* options, uintptr_t listener, mergedb_db* db,
                       mergedb_error* error) {
  mergedb_options given = *options;
  mergedb_event_listener c_listener = {
      .struct_size = sizeof c_listener, .on_event = show_event, .destroy = end_listener, .state = (void*)listener};
  if (listener) given.listener = &c_listener;
  return mergedb_open(path, &given, db, error);
}

mergedb_code shim_put(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* key, size_t key_size,
                      const char* value, size_t value_size, mergedb_error* error) {
  mergedb_write_options options = writing(durability, in);
  return mergedb_put(db, &options, key, key_size, value, value_size, error);
}

mergedb_code shim_delete(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* key, size_t key_size,
                         mergedb_error* error) {
  mergedb_write_options options = writing(durability, in);
  return mergedb_delete(db, &options, key, key_size, error);
}

mergedb_code shim_delete_range(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* begin,
                               size_t begin_size, const char* end, size_t end_size, mergedb_error* error) {
  mergedb_write_options options = writing(durability, in);
  return mergedb_delete_range(db, &options, begin, begin_size, end, end_size, error);
}

mergedb_code shim_delete_prefix(mergedb_db db, int32_t durability, mergedb_keyspace in, const char* prefix, size_t size,
                                mergedb_error* error) {
  mergedb_write_options options = writing(durability, in);
  return mergedb_delete_prefix(db, &options, prefix, size, error);
}

mergedb_code shim_merge(mergedb_db db, mergedb_batch batch, mergedb_transaction transaction, int32_t durability,
                        mergedb_keyspace in, const char* key, size_t key_size, shim_operand numbers, const char* bytes,
                        size_t bytes_size, const char* delimiter, size_t delimiter_size, const char* name,
                        mergedb_error* error) {
  mergedb_operand operand = {.struct_size = sizeof operand,
                             .type = numbers.type,
                             .keep = numbers.keep,
                             .u64 = numbers.u64,
                             .i64 = numbers.i64,
                             .f64 = numbers.f64,
                             .bytes = slice(bytes, bytes_size),
                             .delimiter = slice(delimiter, delimiter_size),
                             .cap_bytes = numbers.cap_bytes,
                             .name = name};
  if (batch != 0) return mergedb_batch_merge(batch, key, key_size, &operand, error);
  if (transaction != 0) return mergedb_transaction_merge(transaction, in, key, key_size, &operand, error);
  mergedb_write_options options = writing(durability, in);
  return mergedb_merge(db, &options, key, key_size, &operand, error);
}

mergedb_code shim_write(mergedb_db db, int32_t durability, mergedb_batch batch, mergedb_error* error) {
  mergedb_write_options options = writing(durability, 0);
  return mergedb_write(db, &options, batch, error);
}

mergedb_code shim_get_into(mergedb_db db, mergedb_keyspace in, mergedb_snapshot snapshot, const char* key,
                           size_t key_size, char* buffer, size_t capacity, size_t* size, mergedb_error* error) {
  mergedb_read_options options = reading(in, snapshot);
  return mergedb_get_into(db, &options, key, key_size, buffer, capacity, size, error);
}

mergedb_code shim_multi_get(mergedb_db db, mergedb_keyspace in, mergedb_snapshot snapshot, const char* keys,
                            const size_t* key_sizes, size_t count, void** values, size_t* value_sizes, int32_t* codes,
                            mergedb_error* error) {
  mergedb_read_options options = reading(in, snapshot);
  mergedb_slice* slices = malloc(count * sizeof *slices + 1);
  if (!slices) abort();
  size_t offset = 0;
  for (size_t i = 0; i < count; offset += key_sizes[i++]) slices[i] = slice(keys + offset, key_sizes[i]);
  mergedb_code code = mergedb_multi_get(db, &options, slices, count, values, value_sizes, codes, error);
  free(slices);
  return code;
}

mergedb_code shim_iterator(mergedb_db db, mergedb_keyspace in, mergedb_snapshot snapshot, const char* prefix,
                           size_t prefix_size, const char* lower, size_t lower_size, int has_lower, const char* upper,
                           size_t upper_size, int has_upper, int keys_only, int fill_cache, mergedb_iterator* iterator,
                           mergedb_error* error) {
  const mergedb_slice from = slice(lower, lower_size), to = slice(upper, upper_size);
  mergedb_read_options read = reading(0, snapshot);
  read.fill_cache = fill_cache ? MERGEDB_DEFAULT : MERGEDB_NO;
  mergedb_iterator_options options = {.struct_size = sizeof options,
                                      .prefix = slice(prefix, prefix_size),
                                      .lower = has_lower ? &from : NULL,
                                      .upper = has_upper ? &to : NULL,
                                      .read = &read,
                                      .keys_only = keys_only ? MERGEDB_YES : MERGEDB_DEFAULT,
                                      .keyspace = in};
  return mergedb_iterator_create(db, &options, iterator, error);
}

mergedb_code shim_compact(mergedb_db db, mergedb_keyspace in, const char* lower, size_t lower_size, int has_lower,
                          const char* upper, size_t upper_size, int has_upper, mergedb_error* error) {
  const mergedb_slice from = slice(lower, lower_size), to = slice(upper, upper_size);
  if (in == 0) return mergedb_compact_range(db, has_lower ? &from : NULL, has_upper ? &to : NULL, error);
  return mergedb_keyspace_compact(db, in, has_lower ? &from : NULL, has_upper ? &to : NULL, error);
}

mergedb_code shim_approximate_size(mergedb_db db, const char* lower, size_t lower_size, const char* upper,
                                   size_t upper_size, uint64_t* bytes, mergedb_error* error) {
  const mergedb_slice from = slice(lower, lower_size), to = slice(upper, upper_size);
  return mergedb_approximate_sizes(db, &from, &to, 1, bytes, error);
}

mergedb_code shim_keyspace_change(mergedb_db db, int drops, int32_t durability, mergedb_keyspace keyspace,
                                  mergedb_error* error) {
  mergedb_write_options options = writing(durability, 0);
  return drops ? mergedb_keyspace_drop(db, &options, keyspace, error)
               : mergedb_keyspace_clear(db, &options, keyspace, error);
}

static int32_t progress_of_go(void* state, uint64_t bytes_done, uint64_t bytes_all) {
  return goCheckpointProgress((uintptr_t)state, bytes_done, bytes_all);
}

mergedb_code shim_checkpoint(mergedb_db db, const char* target, int may_link, int verify, uintptr_t progress,
                             mergedb_checkpoint_report* report, mergedb_error* error) {
  mergedb_checkpoint_options options = {.struct_size = sizeof options,
                                        .may_link = may_link ? MERGEDB_DEFAULT : MERGEDB_NO,
                                        .verify = verify ? MERGEDB_DEFAULT : MERGEDB_NO,
                                        .progress = progress ? progress_of_go : NULL,
                                        .state = (void*)progress};
  report->struct_size = sizeof *report;
  return mergedb_checkpoint(db, target, &options, report, error);
}

uintptr_t shim_thread(void) { return (uintptr_t)pthread_self(); }

struct metric_list {
  mergedb_metric* metrics;
  size_t capacity, count;
};

static int32_t take_metric(void* state, const mergedb_metric* metric) {
  struct metric_list* list = state;
  if (list->count < list->capacity) list->metrics[list->count] = *metric;
  ++list->count;
  return 1;
}

mergedb_code shim_metrics(mergedb_db db, mergedb_metric* metrics, size_t capacity, size_t* count,
                          mergedb_error* error) {
  struct metric_list list = {metrics, capacity, 0};
  mergedb_code code = mergedb_metrics(db, take_metric, &list, error);
  *count = list.count;
  return code;
}

mergedb_code shim_batch_put(mergedb_batch batch, const char* key, size_t key_size, const char* value, size_t value_size,
                            mergedb_error* error) {
  return mergedb_batch_put(batch, key, key_size, value, value_size, error);
}

mergedb_code shim_batch_delete(mergedb_batch batch, const char* key, size_t key_size, mergedb_error* error) {
  return mergedb_batch_delete(batch, key, key_size, error);
}

mergedb_code shim_batch_delete_range(mergedb_batch batch, const char* begin, size_t begin_size, const char* end,
                                     size_t end_size, mergedb_error* error) {
  return mergedb_batch_delete_range(batch, begin, begin_size, end, end_size, error);
}

mergedb_code shim_iterator_seek(mergedb_iterator iterator, int backwards, const char* key, size_t key_size,
                                mergedb_error* error) {
  return backwards ? mergedb_iterator_seek_for_prev(iterator, key, key_size, error)
                   : mergedb_iterator_seek(iterator, key, key_size, error);
}

mergedb_code shim_iterator_read(mergedb_iterator iterator, int backwards, char* buffer, size_t capacity, size_t* used,
                                size_t* count, mergedb_error* error) {
  return mergedb_iterator_read(iterator, backwards ? MERGEDB_YES : MERGEDB_NO, buffer, capacity, used, count, error);
}

mergedb_code shim_transaction_begin(mergedb_db db, int32_t kind, int32_t durability, uint64_t bytes_max,
                                    uint64_t wait_us_max, mergedb_snapshot snapshot, const char* name,
                                    mergedb_transaction* transaction, mergedb_error* error) {
  mergedb_transaction_options options = {.struct_size = sizeof options,
                                         .kind = kind,
                                         .durability = durability,
                                         .bytes_max = bytes_max,
                                         .wait_us_max = wait_us_max,
                                         .snapshot = snapshot,
                                         .name = name};
  return mergedb_transaction_begin(db, &options, transaction, error);
}

mergedb_code shim_transaction_get(mergedb_transaction transaction, mergedb_keyspace in, const char* key,
                                  size_t key_size, void** value, size_t* value_size, mergedb_error* error) {
  return mergedb_transaction_get(transaction, in, key, key_size, value, value_size, error);
}

mergedb_code shim_transaction_put(mergedb_transaction transaction, mergedb_keyspace in, const char* key,
                                  size_t key_size, const char* value, size_t value_size, mergedb_error* error) {
  return mergedb_transaction_put(transaction, in, key, key_size, value, value_size, error);
}

mergedb_code shim_transaction_delete(mergedb_transaction transaction, mergedb_keyspace in, const char* key,
                                     size_t key_size, mergedb_error* error) {
  return mergedb_transaction_delete(transaction, in, key, key_size, error);
}

mergedb_code shim_transaction_delete_range(mergedb_transaction transaction, mergedb_keyspace in, const char* begin,
                                           size_t begin_size, const char* end, size_t end_size, mergedb_error* error) {
  return mergedb_transaction_delete_range(transaction, in, begin, begin_size, end, end_size, error);
}

mergedb_code shim_cursor_move(mergedb_cursor cursor, int32_t to, const char* key, size_t key_size,
                              mergedb_error* error) {
  return mergedb_cursor_move(cursor, to, key, key_size, error);
}

mergedb_code shim_cursor_put(mergedb_cursor cursor, const char* value, size_t value_size, mergedb_error* error) {
  return mergedb_cursor_put(cursor, value, value_size, error);
}
