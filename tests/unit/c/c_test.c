/* Goal: the C interface does what include/mergedb/c.h says, and no misuse of it crashes. Method: a plain C11
 * program that uses the shared library in the directory of its argument. The first failed expectation ends it with
 * exit code 1. */
#include <mergedb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static mergedb_error error;
static char path[512];

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: expected %s; last error: %d %s\n", __FILE__, __LINE__, #condition, error.code, \
              error.message);                                                                                \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)
#define EXPECT_OK(call) EXPECT((call) == MERGEDB_OK)
#define EXPECT_CODE(call, wanted) \
  EXPECT((call) == (wanted) && error.code == (wanted) && (error.message[0] != 0 || (wanted) == MERGEDB_NOT_FOUND))

static mergedb_slice slice(const char* text) {
  mergedb_slice made = {text, strlen(text)};
  return made;
}

static mergedb_code put(mergedb_db db, const char* key, const char* value) {
  return mergedb_put(db, NULL, key, strlen(key), value, strlen(value), &error);
}

static int has(mergedb_db db, const mergedb_read_options* options, const char* key, const char* expected) {
  void* value = NULL;
  size_t size = 0;
  mergedb_code code = mergedb_get(db, options, key, strlen(key), &value, &size, &error);
  int same = expected == NULL ? code == MERGEDB_NOT_FOUND && value == NULL
                              : code == MERGEDB_OK && size == strlen(expected) && strcmp(value, expected) == 0;
  mergedb_free(value);
  return same;
}

static mergedb_db open_fresh(void) {
  mergedb_db db = 0;
  mergedb_code code = mergedb_destroy(path, &error);
  EXPECT(code == MERGEDB_OK || code == MERGEDB_NOT_FOUND);
  mergedb_options options = {.struct_size = sizeof options, .mode = MERGEDB_MUST_NOT_EXIST, .memory_bytes = 16 << 20};
  EXPECT_OK(mergedb_open(path, &options, &db, &error));
  EXPECT(db != 0 && error.code == 0 && error.message[0] == 0);
  return db;
}

static void reads_what_was_written(void) {
  mergedb_db db = open_fresh();
  EXPECT_OK(put(db, "apple", "green"));
  mergedb_write_options synced = {.struct_size = sizeof synced, .durability = MERGEDB_SYNCED};
  EXPECT_OK(mergedb_put(db, &synced, "pear", 4, "", 0, &error));
  EXPECT_OK(mergedb_put(db, NULL, NULL, 0, "empty key", 9, &error));
  EXPECT(has(db, NULL, "apple", "green") && has(db, NULL, "pear", "") && has(db, NULL, "", "empty key"));
  EXPECT_OK(mergedb_delete(db, NULL, "apple", 5, &error));
  EXPECT_OK(mergedb_delete(db, NULL, "never there", 11, &error));
  EXPECT(has(db, NULL, "apple", NULL));

  char buffer[4] = "....";
  size_t size = 0;
  EXPECT_OK(mergedb_get_into(db, NULL, "", 0, buffer, sizeof buffer, &size, &error));
  EXPECT(size == 9 && memcmp(buffer, "empt", 4) == 0);
  EXPECT_OK(mergedb_get_into(db, NULL, "", 0, NULL, 0, &size, &error));
  EXPECT(size == 9);

  mergedb_slice keys[3] = {slice("pear"), slice("nothing"), slice("")};
  void* values[3];
  size_t sizes[3];
  int32_t codes[3];
  EXPECT_OK(mergedb_multi_get(db, NULL, keys, 3, values, sizes, codes, &error));
  EXPECT(codes[0] == MERGEDB_OK && sizes[0] == 0 && codes[1] == MERGEDB_NOT_FOUND && values[1] == NULL);
  EXPECT(codes[2] == MERGEDB_OK && sizes[2] == 9);
  for (int i = 0; i < 3; ++i) mergedb_free(values[i]);
  EXPECT_OK(mergedb_multi_get(db, NULL, NULL, 0, NULL, NULL, NULL, &error));
  EXPECT_OK(mergedb_close(db, &error));

  mergedb_options read_only = {.struct_size = sizeof read_only, .mode = MERGEDB_READ_ONLY};
  EXPECT_OK(mergedb_open(path, &read_only, &db, &error));
  EXPECT(has(db, NULL, "pear", "") && has(db, NULL, "apple", NULL));
  EXPECT(put(db, "pear", "x") != MERGEDB_OK);
  EXPECT_OK(mergedb_close(db, &error));
}

static void writes_batches_whole(void) {
  mergedb_db db = open_fresh();
  mergedb_batch batch = 0, more = 0;
  EXPECT_OK(mergedb_batch_create(&batch, &error));
  EXPECT_OK(mergedb_batch_create(&more, &error));
  EXPECT_OK(mergedb_batch_put(batch, "a", 1, "1", 1, &error));
  EXPECT_OK(mergedb_batch_put(more, "b", 1, "2", 1, &error));
  EXPECT_OK(mergedb_batch_delete(more, "a", 1, &error));
  EXPECT_OK(mergedb_batch_append(batch, more, &error));
  uint64_t count = 0, bytes = 0;
  EXPECT_OK(mergedb_batch_size(batch, &count, &bytes, &error));
  EXPECT(count == 3 && bytes >= 5);
  EXPECT_OK(mergedb_write(db, NULL, batch, &error));
  EXPECT(has(db, NULL, "a", NULL) && has(db, NULL, "b", "2"));
  EXPECT_OK(mergedb_batch_clear(batch, &error));
  EXPECT_OK(mergedb_batch_size(batch, &count, NULL, &error));
  EXPECT(count == 0);
  EXPECT_CODE(mergedb_batch_append(batch, batch, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_batch_close(batch, &error));
  EXPECT_OK(mergedb_batch_close(more, &error));
  EXPECT_CODE(mergedb_write(db, NULL, batch, &error), MERGEDB_BAD_HANDLE);
  EXPECT_OK(mergedb_close(db, &error));
}

static void deletes_ranges(void) {
  mergedb_db db = open_fresh();
  const char* keys[] = {"a", "b", "c", "d", "user:1", "user:2"};
  for (int i = 0; i < 6; ++i) EXPECT_OK(put(db, keys[i], "v"));
  EXPECT_OK(mergedb_delete_range(db, NULL, "b", 1, "d", 1, &error));
  EXPECT(has(db, NULL, "a", "v") && has(db, NULL, "b", NULL) && has(db, NULL, "c", NULL) && has(db, NULL, "d", "v"));
  EXPECT_OK(mergedb_delete_range(db, NULL, "a", 1, "a", 1, &error));
  EXPECT_CODE(mergedb_delete_range(db, NULL, "d", 1, "a", 1, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_delete_range(db, NULL, NULL, 1, "a", 1, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_delete_prefix(db, NULL, "user:", 5, &error));
  EXPECT(has(db, NULL, "user:1", NULL) && has(db, NULL, "user:2", NULL) && has(db, NULL, "d", "v"));
  EXPECT_CODE(mergedb_delete_prefix(db, NULL, "", 0, &error), MERGEDB_INVALID_ARGUMENT);

  mergedb_batch batch = 0;
  EXPECT_OK(mergedb_batch_create(&batch, &error));
  EXPECT_OK(mergedb_batch_put(batch, "b", 1, "1", 1, &error));
  EXPECT_OK(mergedb_batch_delete_range(batch, "a", 1, "z", 1, &error));
  EXPECT_OK(mergedb_batch_put(batch, "c", 1, "2", 1, &error));
  EXPECT_OK(mergedb_write(db, NULL, batch, &error));
  EXPECT(has(db, NULL, "a", NULL) && has(db, NULL, "b", NULL) && has(db, NULL, "c", "2") && has(db, NULL, "d", NULL));
  EXPECT_OK(mergedb_batch_delete_range(batch, "z", 1, "a", 1, &error));
  EXPECT_CODE(mergedb_write(db, NULL, batch, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_batch_close(batch, &error));
  EXPECT_OK(mergedb_close(db, &error));
}

static void walk(mergedb_db db, const mergedb_iterator_options* options, int backward, const char* expected) {
  mergedb_iterator it = 0;
  char seen[256] = "";
  EXPECT_OK(mergedb_iterator_create(db, options, &it, &error));
  mergedb_slice key, value;
  EXPECT_CODE(mergedb_iterator_entry(it, &key, &value, &error), MERGEDB_NOT_FOUND);
  EXPECT_CODE(mergedb_iterator_next(it, &error), MERGEDB_NOT_FOUND);
  mergedb_code code = backward ? mergedb_iterator_seek_to_last(it, &error) : mergedb_iterator_seek_to_first(it, &error);
  while (code == MERGEDB_OK) {
    EXPECT_OK(mergedb_iterator_entry(it, &key, &value, &error));
    strncat(seen, key.data, key.size);
    strcat(seen, " ");
    code = backward ? mergedb_iterator_prev(it, &error) : mergedb_iterator_next(it, &error);
  }
  EXPECT(code == MERGEDB_NOT_FOUND);
  if (strcmp(seen, expected) != 0) {
    fprintf(stderr, "saw \"%s\", expected \"%s\"\n", seen, expected);
    exit(1);
  }
  EXPECT_OK(mergedb_iterator_close(it, &error));
}

static void iterates_within_bounds_both_ways(void) {
  mergedb_db db = open_fresh();
  const char* keys[] = {"a", "ba", "bb", "bc", "c"};
  for (int i = 0; i < 5; ++i) EXPECT_OK(put(db, keys[i], "v"));
  walk(db, NULL, 0, "a ba bb bc c ");
  walk(db, NULL, 1, "c bc bb ba a ");
  mergedb_slice lower = slice("ba"), upper = slice("bc");
  mergedb_iterator_options bounded = {.struct_size = sizeof bounded, .lower = &lower, .upper = &upper};
  walk(db, &bounded, 0, "ba bb ");
  walk(db, &bounded, 1, "bb ba ");
  mergedb_iterator_options prefixed = {.struct_size = sizeof prefixed, .prefix = slice("b")};
  walk(db, &prefixed, 0, "ba bb bc ");
  walk(db, &prefixed, 1, "bc bb ba ");

  mergedb_iterator it = 0;
  mergedb_slice key, value;
  EXPECT_OK(mergedb_iterator_create(db, NULL, &it, &error));
  EXPECT_OK(mergedb_iterator_seek(it, "bbb", 3, &error));
  EXPECT_OK(mergedb_iterator_entry(it, &key, NULL, &error));
  EXPECT(key.size == 2 && memcmp(key.data, "bc", 2) == 0);
  EXPECT_OK(mergedb_iterator_seek_for_prev(it, "bbb", 3, &error));
  EXPECT_OK(mergedb_iterator_entry(it, &key, &value, &error));
  EXPECT(memcmp(key.data, "bb", 2) == 0 && value.size == 1);
  EXPECT_CODE(mergedb_iterator_seek(it, "d", 1, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_iterator_close(it, &error));
  EXPECT_OK(mergedb_close(db, &error));
}

// Appends to `seen` the keys that one mergedb_iterator_read copies, each followed by its value and a space.
// Returns the code.
static mergedb_code read_entries(mergedb_iterator it, int32_t backwards, size_t capacity, char* seen, size_t* used) {
  char buffer[256];
  size_t count = 7;
  const mergedb_code code = mergedb_iterator_read(it, backwards, buffer, capacity, used, &count, &error);
  size_t offset = 0;
  seen[0] = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t sizes[2];
    memcpy(sizes, buffer + offset, sizeof sizes);
    strncat(seen, buffer + offset + sizeof sizes, sizes[0] + sizes[1]);
    strcat(seen, " ");
    offset += sizeof sizes + sizes[0] + sizes[1];
  }
  EXPECT(count == 0 || offset == *used);
  return code;
}

static void reads_many_entries_by_one_call(void) {
  mergedb_db db = open_fresh();
  const char* keys[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 4; ++i) EXPECT_OK(put(db, keys[i], i == 1 ? "" : "12"));  // an entry takes 11 bytes, b 9
  mergedb_iterator it = 0;
  char seen[64];
  size_t used = 7;
  EXPECT_OK(mergedb_iterator_create(db, NULL, &it, &error));
  EXPECT_CODE(read_entries(it, 0, 100, seen, &used), MERGEDB_NOT_FOUND);
  EXPECT(used == 0);

  EXPECT_OK(mergedb_iterator_seek_to_first(it, &error));
  EXPECT_OK(read_entries(it, 0, 10, seen, &used));
  EXPECT(seen[0] == 0 && used == 11);  // a does not fit
  EXPECT_OK(read_entries(it, 0, 20, seen, &used));
  EXPECT(strcmp(seen, "a12 b ") == 0 && used == 20);
  EXPECT_OK(read_entries(it, 0, 100, seen, &used));
  EXPECT(strcmp(seen, "c12 d12 ") == 0 && used == 22);
  EXPECT_CODE(read_entries(it, 0, 100, seen, &used), MERGEDB_NOT_FOUND);

  EXPECT_OK(mergedb_iterator_seek_to_last(it, &error));
  EXPECT_OK(read_entries(it, MERGEDB_YES, 30, seen, &used));
  EXPECT(strcmp(seen, "d12 c12 ") == 0);
  EXPECT_OK(read_entries(it, MERGEDB_YES, 30, seen, &used));
  EXPECT(strcmp(seen, "b a12 ") == 0);
  EXPECT_CODE(read_entries(it, MERGEDB_YES, 30, seen, &used), MERGEDB_NOT_FOUND);

  // The next call returns the error; the entries before it are not lost.
  mergedb_operand add = {.struct_size = sizeof add, .type = MERGEDB_ADD_U64, .u64 = 1};
  EXPECT_OK(mergedb_merge(db, NULL, "c", 1, &add, &error));
  EXPECT_OK(mergedb_iterator_close(it, &error));
  EXPECT_OK(mergedb_iterator_create(db, NULL, &it, &error));
  EXPECT_OK(mergedb_iterator_seek_to_first(it, &error));
  EXPECT_OK(read_entries(it, 0, 100, seen, &used));
  EXPECT(strcmp(seen, "a12 b ") == 0);
  EXPECT_CODE(read_entries(it, 0, 100, seen, &used), MERGEDB_MERGE_FAILED);
  EXPECT_OK(mergedb_iterator_next(it, &error));
  EXPECT_OK(read_entries(it, 0, 100, seen, &used));
  EXPECT(strcmp(seen, "d12 ") == 0);

  size_t count = 0;
  EXPECT_CODE(mergedb_iterator_read(it, 0, NULL, 1, &used, &count, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_iterator_read(it, 0, seen, 1, NULL, &count, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_iterator_read(it, 0, seen, 1, &used, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_iterator_close(it, &error));
  EXPECT_OK(mergedb_close(db, &error));
}

static void reads_as_of_a_snapshot(void) {
  mergedb_db db = open_fresh();
  mergedb_snapshot snapshot = 0;
  uint64_t sequence = 99;
  EXPECT_OK(put(db, "k", "old"));
  EXPECT_OK(mergedb_snapshot_create(db, &snapshot, &error));
  EXPECT_OK(mergedb_snapshot_sequence(snapshot, &sequence, &error));
  EXPECT(sequence == 1);
  EXPECT_OK(put(db, "k", "new"));
  EXPECT_OK(put(db, "z", "later"));
  mergedb_read_options then = {.struct_size = sizeof then, .snapshot = snapshot};
  EXPECT(has(db, &then, "k", "old") && has(db, NULL, "k", "new") && has(db, &then, "z", NULL));
  mergedb_iterator_options options = {.struct_size = sizeof options, .read = &then};
  walk(db, &options, 0, "k ");
  EXPECT_OK(mergedb_snapshot_close(snapshot, &error));
  EXPECT_CODE(mergedb_snapshot_close(snapshot, &error), MERGEDB_BAD_HANDLE);
  void* value;
  size_t size;
  EXPECT_CODE(mergedb_get(db, &then, "k", 1, &value, &size, &error), MERGEDB_BAD_HANDLE);
  EXPECT_OK(mergedb_close(db, &error));
}

static void verifies_and_repairs(void) {
  mergedb_db db = open_fresh();
  for (int i = 0; i < 2000; ++i) {
    char key[16];
    snprintf(key, sizeof key, "%08d", i);
    EXPECT_OK(put(db, key, "a value that takes some room on the disk"));
  }
  mergedb_slice lower = slice("0"), upper = slice("1");
  uint64_t bytes = 0;
  EXPECT_OK(mergedb_sync_wal(db, &error));
  EXPECT_OK(mergedb_flush(db, &error));
  EXPECT_OK(mergedb_approximate_sizes(db, &lower, &upper, 1, &bytes, &error));
  EXPECT(bytes > 1000);
  EXPECT_OK(mergedb_compact_range(db, &lower, &upper, &error));
  EXPECT_OK(mergedb_compact_range(db, NULL, NULL, &error));
  EXPECT_OK(mergedb_wait(db, &error));
  EXPECT_OK(mergedb_check(db, &error));
  char* text = NULL;
  EXPECT_OK(mergedb_get_property(db, "mergedb.stats", &text, &error));
  EXPECT(text != NULL && text[0] != 0);
  mergedb_free(text);
  EXPECT_CODE(mergedb_get_property(db, "no.such", &text, &error), MERGEDB_NOT_FOUND);
  EXPECT(text == NULL);
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_OK(mergedb_destroy(path, &error));
  EXPECT_CODE(mergedb_destroy(path, &error), MERGEDB_NOT_FOUND);
}

struct seen_events {
  int count, destroyed;
  int has_flush;
};

static void see_event(void* state, const mergedb_event* event) {
  struct seen_events* seen = state;
  EXPECT(event->struct_size == sizeof *event);
  EXPECT(event->kind >= MERGEDB_EVENT_OPEN && event->kind <= MERGEDB_EVENT_CLOSE && event->time_us > 0);
  EXPECT(strlen(event->name) > 0 && strstr(event->json, event->name) != NULL && event->json[0] == '{');
  for (size_t i = 0; i < event->field_count; ++i) {
    const mergedb_event_field* field = &event->fields[i];
    EXPECT(strlen(field->name) > 0 && strstr(event->json, field->name) != NULL);
    if (field->text != NULL) EXPECT(strlen(field->text) == field->text_size);
    if (event->kind == MERGEDB_EVENT_FLUSH_END && strcmp(field->name, "status") == 0)
      seen->has_flush |= strcmp(field->text, "OK") == 0;
  }
  ++seen->count;
}

static void end_events(void* state) { ++((struct seen_events*)state)->destroyed; }

static void tells_events(void) {
  struct seen_events seen = {0};
  mergedb_event_listener listener = {
      .struct_size = sizeof listener, .on_event = see_event, .destroy = end_events, .state = &seen};
  mergedb_options options = {
      .struct_size = sizeof options, .listener = &listener, .log_bytes_max = 1 << 20, .slow_call_us = 1};
  mergedb_db db = 0;
  EXPECT_OK(mergedb_open(path, &options, &db, &error));
  EXPECT_OK(put(db, "k", "v"));
  EXPECT_OK(mergedb_flush(db, &error));
  for (int i = 0; i < 20; ++i) {
    void* value = NULL;
    size_t size = 0;
    EXPECT_OK(mergedb_get(db, NULL, "k", 1, &value, &size, &error));
    mergedb_free(value);
  }
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT(seen.count > 3 && seen.has_flush && seen.destroyed == 1);
  EXPECT_OK(mergedb_destroy(path, &error));
  listener.on_event = NULL;
  EXPECT_CODE(mergedb_open(path, &options, &db, &error), MERGEDB_INVALID_ARGUMENT);
  listener.on_event = see_event;
  options.log_bytes_max = 100;
  EXPECT_CODE(mergedb_open(path, &options, &db, &error), MERGEDB_INVALID_ARGUMENT);
}

static void counts_where_time_goes(void) {
  mergedb_db db = open_fresh();
  mergedb_perf perf = {.struct_size = sizeof perf};
  EXPECT_CODE(mergedb_perf_end(&perf, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_perf_begin(&error));
  EXPECT_CODE(mergedb_perf_begin(&error), MERGEDB_BUSY);
  EXPECT_OK(put(db, "k", "v"));
  EXPECT_CODE(mergedb_perf_end(NULL, &error), MERGEDB_INVALID_ARGUMENT);
  mergedb_perf small = {.struct_size = 8};
  EXPECT_CODE(mergedb_perf_end(&small, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_perf_end(&perf, &error));
  EXPECT(perf.struct_size == sizeof perf && perf.wal_nanos > 0 && perf.memtable_nanos > 0);
  EXPECT(perf.device_reads == 0);
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_OK(mergedb_destroy(path, &error));
}

static void traces_calls(void) {
  mergedb_db db = open_fresh();
  char trace[600];
  snprintf(trace, sizeof trace, "%s.trace", path);
  unlink(trace);
  mergedb_trace_report report = {.struct_size = sizeof report};
  EXPECT_CODE(mergedb_end_trace(db, &report, &error), MERGEDB_INVALID_ARGUMENT);
  const mergedb_trace_options options = {
      .struct_size = sizeof options, .record_values = MERGEDB_YES, .bytes_max = 1 << 20};
  EXPECT_OK(mergedb_start_trace(db, trace, &options, &error));
  EXPECT_CODE(mergedb_start_trace(db, trace, NULL, &error), MERGEDB_BUSY);
  EXPECT_OK(put(db, "k", "v"));
  EXPECT_OK(put(db, "l", "v"));
  EXPECT_OK(mergedb_end_trace(db, &report, &error));
  EXPECT(report.operations == 2 && report.lost == 0 && report.bytes > 48 && report.is_full == 0);
  EXPECT_CODE(mergedb_start_trace(db, trace, NULL, &error), MERGEDB_INVALID_ARGUMENT); /* the file exists */
  EXPECT(unlink(trace) == 0);
  EXPECT_OK(mergedb_start_trace(db, trace, NULL, &error));
  EXPECT_OK(mergedb_end_trace(db, NULL, &error));
  EXPECT(unlink(trace) == 0);
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_CODE(mergedb_start_trace(db, trace, NULL, &error), MERGEDB_BAD_HANDLE);
  EXPECT_OK(mergedb_destroy(path, &error));
}

struct seen_metrics {
  int count, count_max;
  uint64_t writes;
};

static int32_t see_metric(void* state, const mergedb_metric* metric) {
  struct seen_metrics* seen = state;
  EXPECT(metric->struct_size == sizeof *metric);
  EXPECT(strlen(metric->name) > 0 && strlen(metric->unit) > 0 && strlen(metric->help) > 0);
  EXPECT(strspn(metric->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(metric->name));
  EXPECT(metric->type == MERGEDB_COUNTER || metric->type == MERGEDB_GAUGE);
  if (strcmp(metric->name, "writes") == 0) {
    EXPECT(strcmp(metric->unit, "count") == 0 && metric->type == MERGEDB_COUNTER);
    seen->writes = metric->value;
  }
  return ++seen->count < seen->count_max;
}

static int32_t see_histogram(void* state, const mergedb_histogram* histogram) {
  struct seen_metrics* seen = state;
  EXPECT(histogram->struct_size == sizeof *histogram);
  EXPECT(strlen(histogram->name) > 0 && strlen(histogram->help) > 0 && histogram->sample_interval > 0);
  uint64_t count = 0;
  for (size_t i = 0; i < histogram->buckets; ++i) count += histogram->bucket_counts[i];
  EXPECT(count == histogram->count);
  EXPECT(histogram->p50 <= histogram->p99 && histogram->p99 <= histogram->p99_9);
  EXPECT(histogram->p99_9 <= histogram->max && histogram->max <= histogram->sum);
  if (strcmp(histogram->name, "wal_sync_latency_nanos") == 0) seen->writes = histogram->count;
  return ++seen->count < seen->count_max;
}

static void lists_metrics(void) {
  mergedb_db db = open_fresh();
  for (int i = 0; i < 3; ++i) EXPECT_OK(put(db, "k", "v"));
  struct seen_metrics seen = {.count_max = 1000};
  EXPECT_OK(mergedb_metrics(db, see_metric, &seen, &error));
  EXPECT(seen.count > 60 && seen.writes == 3);
  struct seen_metrics few = {.count_max = 2};
  EXPECT_CODE(mergedb_metrics(db, see_metric, &few, &error), MERGEDB_ABORTED);
  EXPECT(few.count == 2);
  EXPECT_CODE(mergedb_metrics(db, NULL, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_sync_wal(db, &error));
  struct seen_metrics histograms = {.count_max = 1000};
  EXPECT_OK(mergedb_histograms(db, see_histogram, &histograms, &error));
  EXPECT(histograms.count == 8 && histograms.writes >= 1);
  struct seen_metrics one = {.count_max = 1};
  EXPECT_CODE(mergedb_histograms(db, see_histogram, &one, &error), MERGEDB_ABORTED);
  EXPECT(one.count == 1);
  EXPECT_CODE(mergedb_histograms(db, NULL, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  char* text = NULL;
  EXPECT_OK(mergedb_get_property(db, "mergedb.prometheus", &text, &error));
  EXPECT(strstr(text, "\n# TYPE mergedb_writes_total counter\n") != NULL);
  mergedb_free(text);
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_CODE(mergedb_metrics(db, see_metric, &seen, &error), MERGEDB_BAD_HANDLE);
  EXPECT_OK(mergedb_destroy(path, &error));
}

struct closing {
  mergedb_db outer, inner; /* the databases whose calls run the callbacks */
  int closes;
};

/* A close would wait for the call that runs the callback. */
static int32_t cannot_close(struct closing* closing) {
  mergedb_db both[2] = {closing->outer, closing->inner};
  for (int i = 0; i < 2; ++i) {
    EXPECT_CODE(mergedb_close(both[i], &error), MERGEDB_BUSY);
    EXPECT(strstr(error.message, "callback") != NULL);
    ++closing->closes;
  }
  return 1;
}

static int32_t close_in_progress(void* state, uint64_t done, uint64_t all) {
  (void)done, (void)all;
  return cannot_close(state);
}

static int32_t close_in_histogram(void* state, const mergedb_histogram* histogram) {
  (void)histogram;
  cannot_close(state);
  return 0;
}

/* Runs a callback of the inner database within one of the outer one. */
static int32_t close_in_metric(void* state, const mergedb_metric* metric) {
  (void)metric;
  struct closing* closing = state;
  EXPECT_CODE(mergedb_histograms(closing->inner, close_in_histogram, state, &error), MERGEDB_ABORTED);
  return 0;
}

static void a_callback_cannot_close_its_database(void) {
  char copy[600], second[600];
  snprintf(copy, sizeof copy, "%s.copy", path);
  snprintf(second, sizeof second, "%s.second", path);
  mergedb_db db = open_fresh(), other = 0;
  EXPECT_OK(mergedb_open(second, NULL, &other, &error));
  EXPECT_OK(put(db, "k", "v"));
  struct closing closing = {.outer = db, .inner = other};
  EXPECT_CODE(mergedb_metrics(db, close_in_metric, &closing, &error), MERGEDB_ABORTED);
  EXPECT(closing.closes == 2);
  closing.inner = db;
  mergedb_checkpoint_options options = {
      .struct_size = sizeof options, .progress = close_in_progress, .state = &closing};
  EXPECT_OK(mergedb_checkpoint(db, copy, &options, NULL, &error));
  EXPECT(closing.closes > 2);
  EXPECT_OK(put(db, "k", "still open"));
  EXPECT_OK(mergedb_close(other, &error));
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_OK(mergedb_destroy(path, &error));
  EXPECT_OK(mergedb_destroy(second, &error));
  EXPECT_OK(mergedb_destroy(copy, &error));
}

static int destroyed_comparators;
static int reversed(void* state, const void* a, size_t a_size, const void* b, size_t b_size) {
  (void)state;
  int order = memcmp(b, a, a_size < b_size ? a_size : b_size);
  return order != 0 ? order : a_size < b_size ? 1 : a_size > b_size ? -1 : 0;
}
static void count_destroyed(void* state) { ++*(int*)state; }

static void keeps_a_callers_order(void) {
  mergedb_comparator order = {sizeof order, "test.reversed", reversed, count_destroyed, &destroyed_comparators};
  mergedb_options options = {.struct_size = sizeof options, .comparator = &order};
  mergedb_db db = 0;
  EXPECT_OK(mergedb_open(path, &options, &db, &error));
  EXPECT_OK(put(db, "a", "1"));
  EXPECT_OK(put(db, "b", "2"));
  walk(db, NULL, 0, "b a ");
  mergedb_iterator it = 0;
  EXPECT_OK(mergedb_iterator_create(db, NULL, &it, &error));
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT(destroyed_comparators == 0);
  EXPECT_OK(mergedb_iterator_close(it, &error));
  EXPECT(destroyed_comparators == 1);
  EXPECT_CODE(mergedb_open(path, NULL, &db, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT(db == 0);
  options.mode = MERGEDB_MUST_NOT_EXIST;
  EXPECT(mergedb_open(path, &options, &db, &error) != MERGEDB_OK);
  EXPECT(destroyed_comparators == 2);
}

static int destroyed_loggers;
static char logged[256];

static void keep_line(void* state, const char* line, size_t size) {
  (void)state;
  snprintf(logged, sizeof logged, "%.*s", (int)size, line);
}
static void count_destroyed_logger(void* state) { ++*(int*)state; }

static void tells_a_callers_logger(void) {
  mergedb_close(open_fresh(), &error);
  mergedb_logger logger = {sizeof logger, keep_line, count_destroyed_logger, &destroyed_loggers};
  mergedb_options options = {.struct_size = sizeof options, .logger = &logger};
  mergedb_db db = 0;
  EXPECT_OK(mergedb_open(path, &options, &db, &error));
  EXPECT_OK(put(db, "k", "v"));
  char lock[600];
  snprintf(lock, sizeof lock, "%s/LOCK", path);
  EXPECT(unlink(lock) == 0); /* then no file is changed any more */
  EXPECT(mergedb_flush(db, &error) != MERGEDB_OK);
  EXPECT(strncmp(logged, "background: ", 12) == 0);
  EXPECT(destroyed_loggers == 0);
  mergedb_close(db, &error);
  EXPECT(destroyed_loggers == 1);
  logger.log = NULL;
  EXPECT_CODE(mergedb_open(path, &options, &db, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT(destroyed_loggers == 1);
}

static void refuses_bad_handles(void) {
  mergedb_db db = open_fresh();
  mergedb_iterator it = 0;
  mergedb_snapshot snapshot = 0;
  uint64_t sequence;
  EXPECT_OK(put(db, "k", "v"));
  EXPECT_OK(mergedb_iterator_create(db, NULL, &it, &error));
  EXPECT_OK(mergedb_snapshot_create(db, &snapshot, &error));

  const uint64_t forged[] = {0, 1, 42, UINT64_MAX, (uint64_t)(uintptr_t)&db, it, snapshot, db + 1, db ^ (1ull << 32)};
  for (size_t i = 0; i < sizeof forged / sizeof *forged; ++i) {
    EXPECT_CODE(put(forged[i], "k", "x"), MERGEDB_BAD_HANDLE);
    EXPECT_CODE(mergedb_close(forged[i], &error), MERGEDB_BAD_HANDLE);
  }
  EXPECT_CODE(mergedb_iterator_next(db, &error), MERGEDB_BAD_HANDLE);
  EXPECT_CODE(mergedb_snapshot_sequence(it, &sequence, &error), MERGEDB_BAD_HANDLE);
  EXPECT_CODE(mergedb_batch_clear(snapshot, &error), MERGEDB_BAD_HANDLE);

  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_CODE(mergedb_close(db, &error), MERGEDB_BAD_HANDLE);
  EXPECT_CODE(put(db, "k", "x"), MERGEDB_BAD_HANDLE);
  EXPECT(mergedb_put(db, NULL, "k", 1, "x", 1, NULL) == MERGEDB_BAD_HANDLE);
  EXPECT_CODE(mergedb_iterator_seek_to_first(it, &error), MERGEDB_SHUTTING_DOWN);
  EXPECT_OK(mergedb_snapshot_sequence(snapshot, &sequence, &error));
  EXPECT_OK(mergedb_iterator_close(it, &error));
  EXPECT_CODE(mergedb_iterator_close(it, &error), MERGEDB_BAD_HANDLE);
  EXPECT_OK(mergedb_snapshot_close(snapshot, &error));

  mergedb_db again = 0;
  EXPECT_OK(mergedb_open(path, NULL, &again, &error));
  EXPECT(again != db);
  EXPECT_CODE(put(db, "k", "x"), MERGEDB_BAD_HANDLE);
  EXPECT(has(again, NULL, "k", "v"));
  EXPECT_OK(mergedb_close(again, &error));
}

static void refuses_bad_arguments(void) {
  mergedb_db db = open_fresh(), other = 0;
  void* value = &db;
  size_t size = 7;
  EXPECT_CODE(mergedb_put(db, NULL, NULL, 3, "v", 1, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_put(db, NULL, "k", 1, NULL, 1, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_get(db, NULL, "k", 1, NULL, &size, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_get(db, NULL, "k", 1, &value, &size, &error), MERGEDB_NOT_FOUND);
  EXPECT(value == NULL && size == 0);
  EXPECT_CODE(mergedb_open(NULL, NULL, &other, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_open(path, NULL, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_open(path, NULL, &other, &error), MERGEDB_BUSY);

  mergedb_options options = {.struct_size = 3};
  EXPECT_CODE(mergedb_open(path, &options, &other, &error), MERGEDB_INVALID_ARGUMENT);
  mergedb_options bad_mode = {.struct_size = sizeof bad_mode, .mode = 17};
  EXPECT_CODE(mergedb_open(path, &bad_mode, &other, &error), MERGEDB_INVALID_ARGUMENT);
  struct {
    mergedb_write_options known;
    uint64_t future;
  } newer = {{.struct_size = sizeof newer}, 0};
  EXPECT_OK(mergedb_put(db, &newer.known, "k", 1, "v", 1, &error));
  newer.future = 1;
  EXPECT_CODE(mergedb_put(db, &newer.known, "k", 1, "v", 1, &error), MERGEDB_NOT_SUPPORTED);
  mergedb_write_options older = {.struct_size = sizeof(size_t), .durability = 99};
  EXPECT_OK(mergedb_put(db, &older, "k", 1, "v", 1, &error));
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_CODE(mergedb_destroy(NULL, &error), MERGEDB_INVALID_ARGUMENT);
}

static void refuses_a_snapshot_of_another_database(void) {
  mergedb_db db = open_fresh(), other = 0;
  mergedb_snapshot snapshot = 0;
  char other_path[600];
  snprintf(other_path, sizeof other_path, "%s.other", path);
  EXPECT_OK(mergedb_open(other_path, NULL, &other, &error));
  EXPECT_OK(mergedb_snapshot_create(other, &snapshot, &error));
  mergedb_read_options options = {.struct_size = sizeof options, .snapshot = snapshot};
  void* value;
  size_t size;
  EXPECT_CODE(mergedb_get(db, &options, "k", 1, &value, &size, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_snapshot_close(snapshot, &error));
  EXPECT_OK(mergedb_close(other, &error));
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_OK(mergedb_destroy(other_path, &error));
}

static mergedb_operand operand_of(int32_t type) {
  mergedb_operand made = {.struct_size = sizeof made, .type = type};
  return made;
}

static void merge(mergedb_db db, const char* key, const mergedb_operand* operand) {
  EXPECT_OK(mergedb_merge(db, NULL, key, strlen(key), operand, &error));
}

static uint64_t number_at(mergedb_db db, const char* key) {
  unsigned char bytes[8] = {0};
  size_t size = 0;
  EXPECT_OK(mergedb_get_into(db, NULL, key, strlen(key), bytes, sizeof bytes, &size, &error));
  EXPECT(size == 8);
  uint64_t number = 0;
  for (int i = 7; i >= 0; --i) number = number << 8 | bytes[i];
  return number;
}

static void merges_without_reading(void) {
  mergedb_db db = open_fresh();
  EXPECT_OK(mergedb_add_u64(db, NULL, "n", 1, 40, &error));
  EXPECT_OK(mergedb_add_u64(db, NULL, "n", 1, 2, &error));
  EXPECT(number_at(db, "n") == 42);

  mergedb_operand append = operand_of(MERGEDB_APPEND);
  append.delimiter = slice(",");
  append.cap_bytes = 6;
  for (const char* each = "a\0b\0c\0d\0"; *each; each += 2) {
    append.bytes = slice(each);
    merge(db, "list", &append);
  }
  EXPECT(has(db, NULL, "list", ",b,c,d"));

  mergedb_operand patch = operand_of(MERGEDB_JSON_PATCH);
  patch.bytes = slice("{\"a\":1,\"b\":null}");
  merge(db, "json", &patch);
  EXPECT(has(db, NULL, "json", "{\"a\":1}"));

  mergedb_operand last = operand_of(MERGEDB_LAST);
  last.u64 = 7;
  last.bytes = slice("seven");
  merge(db, "last", &last);
  last.u64 = 5;
  last.bytes = slice("five");
  merge(db, "last", &last);
  EXPECT(has(db, NULL, "last", "seven"));

  mergedb_operand named = operand_of(MERGEDB_PROGRAM);
  named.name = "uint64add";
  named.bytes = (mergedb_slice){"\1\0\0\0\0\0\0", 8};
  merge(db, "n", &named);
  EXPECT(number_at(db, "n") == 43);
  mergedb_operand encoded = operand_of(MERGEDB_ENCODED);
  encoded.bytes = (mergedb_slice){"\1\1\0\0\0\0\0\0", 9};
  merge(db, "n", &encoded);
  EXPECT(number_at(db, "n") == 44);

  mergedb_batch batch = 0;
  EXPECT_OK(mergedb_batch_create(&batch, &error));
  mergedb_operand max = operand_of(MERGEDB_MAX_I64);
  max.i64 = -5;
  EXPECT_OK(mergedb_batch_merge(batch, "max", 3, &max, &error));
  EXPECT_OK(mergedb_batch_merge(batch, "n", 1, &encoded, &error));
  EXPECT_OK(mergedb_write(db, NULL, batch, &error));
  EXPECT_OK(mergedb_batch_close(batch, &error));
  EXPECT((int64_t)number_at(db, "max") == -5 && number_at(db, "n") == 45);

  void* value = NULL;
  size_t size = 0;
  append.bytes = slice("x");
  merge(db, "n", &append);
  EXPECT_CODE(mergedb_get(db, NULL, "n", 1, &value, &size, &error), MERGEDB_MERGE_FAILED);
  EXPECT(strstr(error.message, "append meets u64") != NULL);
  EXPECT_OK(put(db, "n", "healed"));
  EXPECT(has(db, NULL, "n", "healed"));

  mergedb_operand bad = operand_of(77);
  EXPECT_CODE(mergedb_merge(db, NULL, "k", 1, &bad, &error), MERGEDB_INVALID_ARGUMENT);
  bad = operand_of(MERGEDB_PROGRAM);
  EXPECT_CODE(mergedb_merge(db, NULL, "k", 1, &bad, &error), MERGEDB_INVALID_ARGUMENT);
  bad = operand_of(MERGEDB_JSON_PATCH);
  EXPECT_CODE(mergedb_merge(db, NULL, "k", 1, &bad, &error), MERGEDB_INVALID_ARGUMENT);
  bad = operand_of(MERGEDB_APPEND);
  bad.bytes.size = 3;
  EXPECT_CODE(mergedb_merge(db, NULL, "k", 1, &bad, &error), MERGEDB_INVALID_ARGUMENT);
  bad = operand_of(MERGEDB_ADD_U64);
  bad.struct_size = 3;
  EXPECT_CODE(mergedb_merge(db, NULL, "k", 1, &bad, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_merge(db, NULL, "k", 1, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_close(db, &error));
}

static int destroyed_operators;
static void goes_on_past_a_key_that_cannot_be_read(void) {
  mergedb_db db = open_fresh();
  const char* keys[] = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) EXPECT_OK(put(db, keys[i], "abc"));
  mergedb_batch batch = 0;
  mergedb_operand add = operand_of(MERGEDB_ADD_U64);
  add.u64 = 1;
  EXPECT_OK(mergedb_batch_create(&batch, &error));
  EXPECT_OK(mergedb_batch_put(batch, "b", 1, "abc", 3, &error));
  EXPECT_OK(mergedb_batch_merge(batch, "b", 1, &add, &error));
  EXPECT_OK(mergedb_write(db, NULL, batch, &error));
  EXPECT_OK(mergedb_batch_close(batch, &error));
  mergedb_iterator it = 0;
  mergedb_slice key = {NULL, 7};
  EXPECT_OK(mergedb_iterator_create(db, NULL, &it, &error));
  EXPECT_CODE(mergedb_iterator_failed_key(it, &key, &error), MERGEDB_NOT_FOUND);
  EXPECT(key.data == NULL && key.size == 0);
  EXPECT_CODE(mergedb_iterator_failed_key(it, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_iterator_seek_to_first(it, &error));
  for (int back = 0; back < 2; ++back) {
    EXPECT_CODE(back ? mergedb_iterator_prev(it, &error) : mergedb_iterator_next(it, &error), MERGEDB_MERGE_FAILED);
    EXPECT_CODE(mergedb_iterator_entry(it, &key, NULL, &error), MERGEDB_MERGE_FAILED);
    EXPECT_OK(mergedb_iterator_failed_key(it, &key, &error));
    EXPECT(key.size == 1 && memcmp(key.data, "b", 1) == 0);
    EXPECT_OK(back ? mergedb_iterator_prev(it, &error) : mergedb_iterator_next(it, &error));
    EXPECT_CODE(mergedb_iterator_failed_key(it, &key, &error), MERGEDB_NOT_FOUND);
    EXPECT_OK(mergedb_iterator_entry(it, &key, NULL, &error));
    EXPECT(key.size == 1 && memcmp(key.data, back ? "a" : "c", 1) == 0);
  }
  EXPECT_OK(mergedb_iterator_close(it, &error));
  EXPECT_OK(mergedb_close(db, &error));
}

static void count_destroyed_operator(void* state) { ++*(int*)state; }

/* The value is the base, then each operand followed by '!'. An operand "fail" fails. */
static void shout(void* state, mergedb_slice key, const mergedb_slice* base, const mergedb_slice* operands,
                  size_t count, mergedb_merge_result* result) {
  (void)state;
  (void)key;
  char text[64];
  size_t size = 0;
  if (base != NULL) memcpy(text, base->data, size = base->size);
  for (size_t i = 0; i < count; ++i) {
    if (operands[i].size == 4 && memcmp(operands[i].data, "fail", 4) == 0) {
      mergedb_merge_result_fail(result, "as asked");
      return;
    }
    if (operands[i].size == 0) return; /* sets no result */
    memcpy(text + size, operands[i].data, operands[i].size);
    size += operands[i].size;
    text[size++] = '!';
  }
  mergedb_merge_result_set(result, text, size);
}

static void runs_a_callers_operator(void) {
  EXPECT_OK(mergedb_close(open_fresh(), &error));
  mergedb_merge_operator shouting = {.struct_size = sizeof shouting,
                                     .name = "test.shout",
                                     .apply = shout,
                                     .destroy = count_destroyed_operator,
                                     .state = &destroyed_operators};
  const mergedb_merge_operator* operators[] = {&shouting};
  mergedb_options options = {.struct_size = sizeof options, .merge_operators = operators, .merge_operator_count = 1};
  mergedb_db db = 0;
  EXPECT_OK(mergedb_open(path, &options, &db, &error));
  mergedb_operand operand = operand_of(MERGEDB_PROGRAM);
  operand.name = "test.shout";
  operand.bytes = slice("hi");
  merge(db, "k", &operand);
  EXPECT_OK(mergedb_flush(db, &error));
  operand.bytes = slice("ho");
  merge(db, "k", &operand);
  EXPECT(has(db, NULL, "k", "hi!ho!"));
  operand.bytes = slice("fail");
  merge(db, "k", &operand);
  void* value = NULL;
  size_t size = 0;
  EXPECT_CODE(mergedb_get(db, NULL, "k", 1, &value, &size, &error), MERGEDB_MERGE_FAILED);
  EXPECT(strstr(error.message, "as asked") != NULL);
  operand.bytes = slice("");
  merge(db, "empty", &operand);
  EXPECT_CODE(mergedb_get(db, NULL, "empty", 5, &value, &size, &error), MERGEDB_MERGE_FAILED);
  EXPECT(destroyed_operators == 0);
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT(destroyed_operators == 1);

  EXPECT_OK(mergedb_open(path, NULL, &db, &error)); /* without the operator */
  EXPECT_CODE(mergedb_get(db, NULL, "k", 1, &value, &size, &error), MERGEDB_NOT_SUPPORTED);
  EXPECT(strstr(error.message, "test.shout") != NULL);
  char* names = NULL;
  EXPECT_OK(mergedb_get_property(db, "mergedb.merge_operators", &names, &error));
  EXPECT(strcmp(names, "test.shout\n") == 0);
  mergedb_free(names);
  EXPECT_OK(mergedb_close(db, &error));

  shouting.apply = NULL;
  EXPECT_CODE(mergedb_open(path, &options, &db, &error), MERGEDB_INVALID_ARGUMENT);
  shouting.apply = shout;
  shouting.name = "max";
  EXPECT_CODE(mergedb_open(path, &options, &db, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT(destroyed_operators == 2);
}

static int32_t count_progress(void* state, uint64_t done, uint64_t all) {
  int* calls = state;
  ++*calls;
  return done <= all;
}

static int32_t give_up(void* state, uint64_t done, uint64_t all) {
  (void)state, (void)done, (void)all;
  return 0;
}

static uint64_t damages_of(mergedb_report report) {
  mergedb_report_totals totals = {.struct_size = sizeof totals};
  EXPECT_OK(mergedb_report_count(report, &totals, &error));
  return totals.damages;
}

static void damage_current(void) {
  char name[600];
  snprintf(name, sizeof name, "%s/CURRENT", path);
  FILE* file = fopen(name, "w");
  EXPECT(file != NULL && fputs("gone", file) >= 0 && fclose(file) == 0);
}

static void finds_and_repairs_damage(void) {
  mergedb_db db = open_fresh();
  EXPECT_OK(put(db, "apple", "green"));
  EXPECT_OK(mergedb_flush(db, &error));
  mergedb_report report = 7;
  EXPECT_CODE(mergedb_verify(path, NULL, &report, &error), MERGEDB_BUSY);
  EXPECT(report == 0);
  EXPECT_OK(mergedb_close(db, &error));

  int calls = 0;
  mergedb_repair_options options = {.struct_size = sizeof options, .progress = count_progress, .state = &calls};
  EXPECT_OK(mergedb_verify(path, &options, &report, &error));
  mergedb_report_totals totals = {.struct_size = sizeof totals};
  EXPECT_OK(mergedb_report_count(report, &totals, &error));
  EXPECT(totals.damages == 0 && totals.tables == 1 && totals.entries == 1 && totals.bytes > 0 && calls > 0);
  const char* text = "";
  EXPECT_CODE(mergedb_report_text(report, MERGEDB_DAMAGES, 0, &text, &error), MERGEDB_NOT_FOUND);
  EXPECT(text == NULL);
  EXPECT_OK(mergedb_report_close(report, &error));
  EXPECT_CODE(mergedb_report_text(report, MERGEDB_DAMAGES, 0, &text, &error), MERGEDB_BAD_HANDLE);

  damage_current();
  EXPECT_OK(mergedb_verify(path, NULL, &report, &error));
  mergedb_damage damage = {.struct_size = sizeof damage};
  EXPECT_OK(mergedb_report_damage(report, MERGEDB_DAMAGES, 0, &damage, &error));
  EXPECT(strcmp(damage.file, "CURRENT") == 0 && damage.loses_entries == 0 && damage.has_smallest_key == 0);
  EXPECT_OK(mergedb_report_text(report, MERGEDB_DAMAGES, 0, &text, &error));
  EXPECT(strstr(text, "CURRENT: ") == text && strstr(text, damage.what) != NULL);
  EXPECT_CODE(mergedb_report_damage(report, MERGEDB_NOTES, 0, &damage, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_report_text(report, 4, 0, &text, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_report_text(report, 0, 0, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  damage.struct_size = 8;
  EXPECT_CODE(mergedb_report_damage(report, MERGEDB_DAMAGES, 0, &damage, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_report_close(report, &error));
  EXPECT_CODE(mergedb_report_close(report, &error), MERGEDB_BAD_HANDLE);

  options.dry_run = MERGEDB_YES;
  EXPECT_OK(mergedb_repair(path, &options, &report, &error));
  EXPECT(damages_of(report) == 1);
  EXPECT_OK(mergedb_report_close(report, &error));
  options.progress = give_up;
  EXPECT_CODE(mergedb_repair(path, &options, &report, &error), MERGEDB_ABORTED);
  EXPECT_OK(mergedb_repair(path, NULL, &report, &error));
  EXPECT_OK(mergedb_report_text(report, MERGEDB_ACTIONS, 0, &text, &error));
  EXPECT_CODE(mergedb_report_text(report, MERGEDB_LOSSES, 0, &text, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_report_close(report, &error));
  EXPECT_OK(mergedb_verify(path, NULL, &report, &error));
  EXPECT(damages_of(report) == 0);
  EXPECT_OK(mergedb_report_close(report, &error));
  EXPECT_OK(mergedb_open(path, NULL, &db, &error));
  EXPECT(has(db, NULL, "apple", "green"));
  EXPECT_OK(mergedb_close(db, &error));

  EXPECT_CODE(mergedb_verify("/nowhere/at/all", NULL, &report, &error), MERGEDB_NOT_FOUND);
  EXPECT_CODE(mergedb_verify(path, NULL, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  options.reserved = 1;
  EXPECT_CODE(mergedb_verify(path, &options, &report, &error), MERGEDB_INVALID_ARGUMENT);
}

static void copies_while_it_is_open(void) {
  char copy[600], partial[620];
  snprintf(copy, sizeof copy, "%s.copy", path);
  snprintf(partial, sizeof partial, "%s.partial", copy);
  mergedb_destroy(copy, NULL);
  mergedb_db db = open_fresh(), copied = 0;
  EXPECT_OK(put(db, "apple", "green"));
  EXPECT_OK(mergedb_flush(db, &error));
  EXPECT_OK(put(db, "pear", "in memory"));

  mergedb_checkpoint_options options = {.struct_size = sizeof options, .progress = give_up};
  mergedb_checkpoint_report report = {.struct_size = sizeof report};
  EXPECT_CODE(mergedb_checkpoint(db, copy, &options, &report, &error), MERGEDB_ABORTED);
  EXPECT(report.files == 0 && access(copy, F_OK) != 0);
  EXPECT_CODE(mergedb_open(copy, &(mergedb_options){.struct_size = sizeof(mergedb_options), .mode = MERGEDB_MUST_EXIST},
                           &copied, &error),
              MERGEDB_NOT_FOUND);

  int calls = 0;
  options = (mergedb_checkpoint_options){
      .struct_size = sizeof options, .may_link = MERGEDB_NO, .progress = count_progress, .state = &calls};
  EXPECT_OK(mergedb_checkpoint(db, copy, &options, &report, &error));
  EXPECT(report.files == 2 && report.linked == 0 && report.copied + report.kept == 2 && report.bytes > 0 &&
         report.sequence == 2);
  EXPECT(calls > 0 && access(partial, F_OK) != 0);
  EXPECT_OK(put(db, "apple", "eaten"));
  EXPECT_OK(mergedb_open(copy, NULL, &copied, &error));
  EXPECT(has(copied, NULL, "apple", "green") && has(copied, NULL, "pear", "in memory"));
  EXPECT_OK(mergedb_close(copied, &error));

  EXPECT_CODE(mergedb_checkpoint(db, copy, NULL, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_destroy(copy, &error));
  EXPECT_OK(mergedb_checkpoint(db, copy, NULL, NULL, &error));
  EXPECT_OK(mergedb_destroy(copy, &error));
  EXPECT_CODE(mergedb_checkpoint(db, "", NULL, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_checkpoint(db, NULL, NULL, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_checkpoint(db, "/nowhere/at/all", NULL, NULL, &error), MERGEDB_NOT_FOUND);
  options.may_link = 2;
  EXPECT_CODE(mergedb_checkpoint(db, copy, &options, NULL, &error), MERGEDB_INVALID_ARGUMENT);
  report.struct_size = 8;
  EXPECT_CODE(mergedb_checkpoint(db, copy, NULL, &report, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_CODE(mergedb_checkpoint(db, copy, NULL, NULL, &error), MERGEDB_BAD_HANDLE);
  EXPECT(access(copy, F_OK) != 0 && access(partial, F_OK) != 0);
}

static void refuses_handles_in_the_child_of_a_fork(void) {
  mergedb_db db = open_fresh();
  pid_t child = fork();
  if (child == 0) _exit(put(db, "k", "from the child") == MERGEDB_BAD_HANDLE ? 0 : 1);
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT_OK(put(db, "k", "from the parent"));
  EXPECT_OK(mergedb_close(db, &error));
}

static int stands_at(mergedb_cursor cursor, const char* key, const char* value) {
  mergedb_slice k, v;
  if (mergedb_cursor_entry(cursor, &k, &v, &error) != MERGEDB_OK) return 0;
  return k.size == strlen(key) && memcmp(k.data, key, k.size) == 0 && v.size == strlen(value) &&
         memcmp(v.data, value, v.size) == 0;
}

static void keeps_keyspaces_apart(void) {
  mergedb_db db = open_fresh();
  mergedb_keyspace users = 0, again = 0;
  EXPECT_CODE(mergedb_keyspace_open(db, NULL, "users", 5, &users, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_keyspace_create(db, "users", 5, MERGEDB_DEFAULT, &users, &error));
  EXPECT_CODE(mergedb_keyspace_create(db, "users", 5, MERGEDB_NO, &again, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_keyspace_create(db, "users", 5, MERGEDB_YES, &again, &error));
  EXPECT(users != 0 && users == again);
  const mergedb_write_options in_users = {.struct_size = sizeof in_users, .keyspace = users};
  const mergedb_read_options of_users = {.struct_size = sizeof of_users, .keyspace = users};
  EXPECT_OK(put(db, "a", "default"));
  EXPECT_OK(mergedb_put(db, &in_users, "a", 1, "1", 1, &error));
  EXPECT_OK(mergedb_add_u64(db, &in_users, "n", 1, 5, &error));
  EXPECT_OK(mergedb_delete(db, &in_users, "n", 1, &error));
  EXPECT_OK(mergedb_put(db, &in_users, "p1", 2, "1", 1, &error));
  EXPECT_OK(mergedb_delete_prefix(db, &in_users, "p", 1, &error));
  mergedb_batch batch = 0;
  EXPECT_OK(mergedb_batch_create(&batch, &error));
  EXPECT_OK(mergedb_batch_set_keyspace(batch, users, &error));
  EXPECT_OK(mergedb_batch_put(batch, "b", 1, "2", 1, &error));
  EXPECT_OK(mergedb_batch_set_keyspace(batch, 0, &error));
  EXPECT_OK(mergedb_batch_put(batch, "b", 1, "3", 1, &error));
  EXPECT_CODE(mergedb_write(db, &in_users, batch, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_write(db, NULL, batch, &error));
  EXPECT_OK(mergedb_batch_close(batch, &error));
  void* value = NULL;
  size_t size = 0;
  EXPECT_OK(mergedb_get(db, &of_users, "b", 1, &value, &size, &error));
  EXPECT(size == 1 && memcmp(value, "2", 1) == 0);
  mergedb_free(value);
  const mergedb_iterator_options scan = {.struct_size = sizeof scan, .keyspace = users};
  mergedb_iterator it = 0;
  EXPECT_OK(mergedb_iterator_create(db, &scan, &it, &error));
  EXPECT_OK(mergedb_iterator_seek_to_first(it, &error));
  EXPECT_OK(mergedb_iterator_next(it, &error));
  EXPECT_CODE(mergedb_iterator_next(it, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_iterator_close(it, &error));
  EXPECT_OK(mergedb_keyspace_compact(db, users, NULL, NULL, &error));

  mergedb_transaction transaction = 0;
  EXPECT_OK(mergedb_transaction_begin(db, NULL, &transaction, &error));
  mergedb_keyspace items = 0;
  EXPECT_OK(mergedb_transaction_keyspace_create(transaction, "items", 5, MERGEDB_DEFAULT, &items, &error));
  EXPECT_OK(mergedb_transaction_put(transaction, items, "i", 1, "1", 1, &error));
  EXPECT_OK(mergedb_transaction_keyspace_clear(transaction, users, &error));
  mergedb_keyspace_entry* entries = NULL;
  EXPECT_OK(mergedb_transaction_keyspace_list(transaction, &entries, &size, &error));
  EXPECT(size == 2 && entries[0].keyspace == items && entries[1].name.size == 5 &&
         memcmp(entries[1].name.data, "users", 5) == 0);
  mergedb_free(entries);
  EXPECT_OK(mergedb_transaction_commit(transaction, &error));
  EXPECT_OK(mergedb_transaction_close(transaction, &error));
  EXPECT_CODE(mergedb_get(db, &of_users, "b", 1, &value, &size, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_keyspace_drop(db, NULL, users, &error));
  EXPECT_CODE(mergedb_keyspace_drop(db, NULL, users, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_put(db, &in_users, "a", 1, "1", 1, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_keyspace_list(db, NULL, &entries, &size, &error));
  EXPECT(size == 1 && entries[0].keyspace == items);
  mergedb_free(entries);
  EXPECT_OK(mergedb_close(db, &error));
}

static void commits_transactions_whole(void) {
  mergedb_db db = open_fresh();
  EXPECT_OK(put(db, "a", "1"));
  mergedb_transaction_options options = {.struct_size = sizeof options, .name = "test", .durability = MERGEDB_SYNCED};
  mergedb_transaction transaction = 0;
  EXPECT_OK(mergedb_transaction_begin(db, &options, &transaction, &error));
  EXPECT_CODE(put(db, "a", "outside"), MERGEDB_BUSY);
  EXPECT_OK(mergedb_transaction_put(transaction, 0, "b", 1, "2", 1, &error));
  EXPECT_OK(mergedb_transaction_set_savepoint(transaction, &error));
  EXPECT_OK(mergedb_transaction_delete_range(transaction, 0, "a", 1, "z", 1, &error));
  EXPECT_OK(mergedb_transaction_rollback_to_savepoint(transaction, &error));
  EXPECT_CODE(mergedb_transaction_release_savepoint(transaction, &error), MERGEDB_INVALID_ARGUMENT);
  mergedb_operand append = {.struct_size = sizeof append, .type = MERGEDB_APPEND, .bytes = slice("!")};
  EXPECT_OK(mergedb_transaction_merge(transaction, 0, "b", 1, &append, &error));
  void* value = NULL;
  size_t size = 0;
  EXPECT_OK(mergedb_transaction_get(transaction, 0, "b", 1, &value, &size, &error));
  EXPECT(size == 2 && memcmp(value, "2!", 2) == 0);
  mergedb_free(value);
  EXPECT_CODE(mergedb_transaction_put(transaction, 7, "b", 1, "2", 1, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_OK(mergedb_transaction_delete(transaction, 0, "a", 1, &error));
  uint64_t sequence = 0, writes = 0, bytes = 0;
  EXPECT_OK(mergedb_transaction_size(transaction, &sequence, &writes, &bytes, &error));
  EXPECT(sequence == 1 && writes == 3 && bytes > 0);
  EXPECT(has(db, NULL, "b", NULL) && has(db, NULL, "a", "1"));
  EXPECT_OK(mergedb_transaction_commit(transaction, &error));
  EXPECT(has(db, NULL, "b", "2!") && has(db, NULL, "a", NULL));
  EXPECT_CODE(mergedb_transaction_commit(transaction, &error), MERGEDB_ABORTED);
  EXPECT_OK(mergedb_transaction_close(transaction, &error));
  EXPECT_CODE(mergedb_transaction_rollback(transaction, &error), MERGEDB_BAD_HANDLE);
  EXPECT_OK(mergedb_close(db, &error));
}

static void names_the_key_of_a_conflict(void) {
  mergedb_db db = open_fresh();
  mergedb_transaction_options options = {.struct_size = sizeof options, .kind = MERGEDB_OPTIMISTIC};
  mergedb_transaction transaction = 0;
  EXPECT_OK(mergedb_transaction_begin(db, &options, &transaction, &error));
  void* key = NULL;
  size_t size = 0;
  mergedb_keyspace keyspace = 9;
  EXPECT_CODE(mergedb_transaction_get(transaction, 0, "a", 1, &key, &size, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_transaction_put(transaction, 0, "b", 1, "2", 1, &error));
  EXPECT_OK(put(db, "a", "1"));
  EXPECT_CODE(mergedb_transaction_conflict(transaction, &keyspace, &key, &size, &error), MERGEDB_NOT_FOUND);
  EXPECT_CODE(mergedb_transaction_commit(transaction, &error), MERGEDB_CONFLICT);
  EXPECT_OK(mergedb_transaction_conflict(transaction, &keyspace, &key, &size, &error));
  EXPECT(keyspace == 0 && size == 1 && memcmp(key, "a", 1) == 0);
  mergedb_free(key);
  EXPECT_OK(mergedb_transaction_close(transaction, &error));
  EXPECT(has(db, NULL, "b", NULL));

  options.kind = 5;
  EXPECT_CODE(mergedb_transaction_begin(db, &options, &transaction, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT(transaction == 0);
  mergedb_snapshot snapshot = 0;
  EXPECT_OK(mergedb_snapshot_create(db, &snapshot, &error));
  EXPECT_OK(put(db, "a", "2"));
  options.kind = MERGEDB_READ_ONLY_TRANSACTION;
  options.snapshot = snapshot;
  EXPECT_OK(mergedb_transaction_begin(db, &options, &transaction, &error));
  EXPECT_OK(mergedb_transaction_get(transaction, 0, "a", 1, &key, &size, &error));
  EXPECT(size == 1 && memcmp(key, "1", 1) == 0);
  mergedb_free(key);
  EXPECT_CODE(mergedb_transaction_put(transaction, 0, "a", 1, "3", 1, &error), MERGEDB_NOT_SUPPORTED);
  EXPECT_OK(mergedb_snapshot_close(snapshot, &error));
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_CODE(mergedb_transaction_get(transaction, 0, "a", 1, &key, &size, &error), MERGEDB_SHUTTING_DOWN);
  EXPECT_OK(mergedb_transaction_close(transaction, &error));
}

static void moves_cursors_with_lmdbs_positions(void) {
  mergedb_db db = open_fresh();
  EXPECT_OK(put(db, "a", "1"));
  EXPECT_OK(put(db, "c", "3"));
  mergedb_transaction transaction = 0;
  mergedb_cursor cursor = 0, other = 0;
  EXPECT_OK(mergedb_transaction_begin(db, NULL, &transaction, &error));
  EXPECT_OK(mergedb_cursor_open(transaction, 0, &cursor, &error));
  EXPECT_OK(mergedb_cursor_open(transaction, 0, &other, &error));
  EXPECT_CODE(mergedb_cursor_move(cursor, MERGEDB_TO_CURRENT, NULL, 0, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_cursor_move(cursor, 99, NULL, 0, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_cursor_move(cursor, MERGEDB_TO_KEY, NULL, 5, &error), MERGEDB_INVALID_ARGUMENT);
  EXPECT_CODE(mergedb_cursor_entry(cursor, NULL, NULL, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_cursor_move(cursor, MERGEDB_TO_FIRST, NULL, 0, &error));
  EXPECT(stands_at(cursor, "a", "1"));
  EXPECT_OK(mergedb_transaction_put(transaction, 0, "b", 1, "2", 1, &error));
  EXPECT_OK(mergedb_cursor_move(cursor, MERGEDB_TO_NEXT, NULL, 0, &error));
  EXPECT(stands_at(cursor, "b", "2"));
  EXPECT_OK(mergedb_cursor_put(cursor, "two", 3, &error));
  EXPECT_OK(mergedb_cursor_move(cursor, MERGEDB_TO_CURRENT, NULL, 0, &error));
  EXPECT(stands_at(cursor, "b", "two"));
  EXPECT_OK(mergedb_cursor_delete(cursor, &error));
  EXPECT_OK(mergedb_cursor_move(cursor, MERGEDB_TO_PREV, NULL, 0, &error));
  EXPECT(stands_at(cursor, "a", "1"));
  EXPECT_CODE(mergedb_cursor_move(cursor, MERGEDB_TO_KEY, "b", 1, &error), MERGEDB_NOT_FOUND);
  EXPECT_OK(mergedb_cursor_move(cursor, MERGEDB_TO_KEY_OR_NEXT, "b", 1, &error));
  EXPECT(stands_at(cursor, "c", "3"));
  EXPECT_OK(mergedb_cursor_move(cursor, MERGEDB_TO_KEY_OR_PREV, "b", 1, &error));
  EXPECT(stands_at(cursor, "a", "1"));
  EXPECT_OK(mergedb_cursor_move(cursor, MERGEDB_TO_LAST, NULL, 0, &error));
  EXPECT(stands_at(cursor, "c", "3"));
  EXPECT_OK(mergedb_cursor_close(other, &error));
  EXPECT_OK(mergedb_transaction_close(transaction, &error));
  EXPECT_CODE(mergedb_cursor_move(cursor, MERGEDB_TO_NEXT, NULL, 0, &error), MERGEDB_ABORTED);
  EXPECT_OK(mergedb_close(db, &error));
  EXPECT_OK(mergedb_cursor_close(cursor, &error));
  EXPECT_CODE(mergedb_cursor_close(cursor, &error), MERGEDB_BAD_HANDLE);
}

static void names_codes_and_version(void) {
  char expected[32];
  snprintf(expected, sizeof expected, "%d.%d.%d", MERGEDB_VERSION_MAJOR, MERGEDB_VERSION_MINOR, MERGEDB_VERSION_PATCH);
  EXPECT(strcmp(mergedb_version(), expected) == 0);
  EXPECT(strcmp(mergedb_code_name(MERGEDB_CORRUPTION), "Corruption") == 0);
  EXPECT(strcmp(mergedb_code_name(MERGEDB_BAD_HANDLE), "BadHandle") == 0);
  EXPECT(strcmp(mergedb_code_name(-5), "Unknown") == 0);
  mergedb_free(NULL);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  snprintf(path, sizeof path, "%s", argv[1]);
  names_codes_and_version();
  reads_what_was_written();
  writes_batches_whole();
  deletes_ranges();
  iterates_within_bounds_both_ways();
  reads_many_entries_by_one_call();
  reads_as_of_a_snapshot();
  verifies_and_repairs();
  lists_metrics();
  a_callback_cannot_close_its_database();
  tells_events();
  counts_where_time_goes();
  traces_calls();
  keeps_a_callers_order();
  tells_a_callers_logger();
  merges_without_reading();
  goes_on_past_a_key_that_cannot_be_read();
  runs_a_callers_operator();
  finds_and_repairs_damage();
  copies_while_it_is_open();
  keeps_keyspaces_apart();
  commits_transactions_whole();
  names_the_key_of_a_conflict();
  moves_cursors_with_lmdbs_positions();
  refuses_bad_handles();
  refuses_bad_arguments();
  refuses_a_snapshot_of_another_database();
  refuses_handles_in_the_child_of_a_fork();
  EXPECT_OK(mergedb_destroy(path, &error));
  puts("ok");
  return 0;
}
