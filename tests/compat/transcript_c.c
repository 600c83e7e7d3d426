/* The behaviour of LevelDB's C interface, as text: all 68 functions. See tests/compat/transcript.cc. */
#include <leveldb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* directory;

/* Prints the message without the directory and frees it. */
static void say_error(const char* what, char** error) {
  char text[1000];
  const char* found;
  if (*error == NULL) {
    printf("%s: no error\n", what);
    return;
  }
  found = strstr(*error, directory);
  if (found == NULL) {
    snprintf(text, sizeof text, "%s", *error);
  } else {
    snprintf(text, sizeof text, "%.*sDIR%s", (int)(found - *error), *error, found + strlen(directory));
  }
  printf("%s: %s\n", what, text);
  leveldb_free(*error);
  *error = NULL;
}

static void say_bytes(const char* what, const char* bytes, size_t size) {
  if (bytes == NULL) {
    printf("%s: NULL %zu\n", what, size);
  } else {
    printf("%s: '%.*s' %zu\n", what, (int)size, bytes, size);
  }
}

static void say_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key) {
  char* error = NULL;
  size_t size = 99;
  char* value = leveldb_get(db, options, key, strlen(key), &size, &error);
  say_bytes(key, value, size);
  say_error("get", &error);
  leveldb_free(value);
}

static void say_iterator(const char* what, const leveldb_iterator_t* it) {
  size_t key_size;
  size_t value_size;
  const char* key;
  const char* value;
  if (!leveldb_iter_valid(it)) {
    printf("%s: not valid\n", what);
    return;
  }
  key = leveldb_iter_key(it, &key_size);
  value = leveldb_iter_value(it, &value_size);
  printf("%s: %.*s=%.*s\n", what, (int)key_size, key, (int)value_size, value);
}

static void visit_put(void* state, const char* k, size_t klen, const char* v, size_t vlen) {
  printf("%s put %.*s %.*s\n", (const char*)state, (int)klen, k, (int)vlen, v);
}
static void visit_delete(void* state, const char* k, size_t klen) {
  printf("%s delete %.*s\n", (const char*)state, (int)klen, k);
}

static void destroyed(void* state) { printf("destroyed %s\n", (const char*)state); }
static int compare(void* state, const char* a, size_t alen, const char* b, size_t blen) {
  const int order = memcmp(a, b, alen < blen ? alen : blen);
  (void)state;
  return order != 0 ? -order : alen < blen ? 1 : alen > blen ? -1 : 0;
}
static const char* comparator_name(void* state) {
  (void)state;
  return "test.reverse";
}

static unsigned char filter_answer = 1;
static char* create_filter(void* state, const char* const* keys, const size_t* sizes, int count, size_t* filter_size) {
  char* filter = malloc(4);
  (void)state, (void)keys, (void)sizes, (void)count;
  memcpy(filter, "fake", 4);
  *filter_size = 4;
  return filter;
}
static uint8_t key_may_match(void* state, const char* key, size_t size, const char* filter, size_t filter_size) {
  (void)state, (void)key, (void)size;
  if (filter_size != 4 || memcmp(filter, "fake", 4) != 0) printf("not the filter that was made\n");
  return filter_answer;
}
static const char* filter_name(void* state) {
  (void)state;
  return "test.filter";
}

static void fill(leveldb_t* db, const leveldb_writeoptions_t* options, int count) {
  char* error = NULL;
  for (int i = 0; i < count; ++i) {
    char key[20];
    snprintf(key, sizeof key, "%06d", i);
    leveldb_put(db, options, key, strlen(key), "value", 5, &error);
  }
  say_error("fill", &error);
}

int main(int count, char** arguments) {
  char* error = NULL;
  char path[500];
  (void)count;
  directory = arguments[1];
  snprintf(path, sizeof path, "%s/c", directory);

  leveldb_comparator_t* order = leveldb_comparator_create("comparator", destroyed, compare, comparator_name);
  leveldb_env_t* env = leveldb_create_default_env();
  leveldb_cache_t* cache = leveldb_cache_create_lru(100000);
  char* test_directory = leveldb_env_get_test_directory(env);
  printf("test directory: %d\n", test_directory != NULL);
  leveldb_free(test_directory);

  leveldb_options_t* options = leveldb_options_create();
  leveldb_options_set_error_if_exists(options, 1);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_env(options, env);
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_write_buffer_size(options, 100000);
  leveldb_options_set_paranoid_checks(options, 1);
  leveldb_options_set_max_open_files(options, 10);
  leveldb_options_set_block_size(options, 1024);
  leveldb_options_set_block_restart_interval(options, 8);
  leveldb_options_set_max_file_size(options, 3 << 20);
  leveldb_options_set_compression(options, leveldb_no_compression);
  leveldb_readoptions_t* reading = leveldb_readoptions_create();
  leveldb_readoptions_set_verify_checksums(reading, 1);
  leveldb_readoptions_set_fill_cache(reading, 0);
  leveldb_writeoptions_t* writing = leveldb_writeoptions_create();
  leveldb_writeoptions_set_sync(writing, 1);

  leveldb_destroy_db(options, path, &error);
  say_error("destroy absent", &error);
  leveldb_t* db = leveldb_open(options, path, &error);
  printf("open absent: %d\n", db != NULL);
  say_error("open absent", &error);
  error = strdup("an older message");
  db = leveldb_open(options, path, &error);
  say_error("open absent again", &error);
  leveldb_options_set_create_if_missing(options, 1);
  db = leveldb_open(options, path, &error);
  say_error("open", &error);
  say_get(db, reading, "foo");
  leveldb_put(db, writing, "foo", 3, "hello", 5, &error);
  say_error("put", &error);
  say_get(db, reading, "foo");
  leveldb_put(db, writing, "void", 4, "", 0, &error);
  say_get(db, reading, "void");
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_compact_range(db, "a", 1, "z", 1);
  say_get(db, reading, "foo");

  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  leveldb_writebatch_put(batch, "dropped", 7, "x", 1);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_put(batch, "bar", 3, "b", 1);
  leveldb_writebatch_put(batch, "box", 3, "c", 1);
  leveldb_writebatch_delete(batch, "bar", 3);
  leveldb_writebatch_t* more = leveldb_writebatch_create();
  leveldb_writebatch_put(more, "more", 4, "m", 1);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_iterate(batch, (void*)"batch", visit_put, visit_delete);
  leveldb_write(db, writing, batch, &error);
  say_error("write", &error);
  leveldb_writebatch_destroy(more);
  leveldb_writebatch_destroy(batch);
  say_get(db, reading, "bar");
  say_get(db, reading, "box");

  leveldb_iterator_t* it = leveldb_create_iterator(db, reading);
  say_iterator("not sought", it);
  leveldb_iter_seek_to_first(it), say_iterator("first", it);
  leveldb_iter_next(it), say_iterator("next", it);
  leveldb_iter_prev(it), say_iterator("prev", it);
  leveldb_iter_prev(it), say_iterator("prev", it);
  leveldb_iter_seek_to_last(it), say_iterator("last", it);
  leveldb_iter_seek(it, "c", 1), say_iterator("seek", it);
  leveldb_iter_get_error(it, &error);
  say_error("iterator", &error);
  leveldb_iter_destroy(it);

  const leveldb_snapshot_t* snapshot = leveldb_create_snapshot(db);
  leveldb_delete(db, writing, "foo", 3, &error);
  say_error("delete", &error);
  say_get(db, reading, "foo");
  leveldb_readoptions_set_snapshot(reading, snapshot);
  say_get(db, reading, "foo");
  leveldb_readoptions_set_snapshot(reading, NULL);
  say_get(db, reading, "foo");
  leveldb_release_snapshot(db, snapshot);

  fill(db, writing, 300);
  const char* starts[2] = {"000000", "x"};
  const size_t start_sizes[2] = {6, 1};
  const char* limits[2] = {"999999", "a"};
  const size_t limit_sizes[2] = {6, 1};
  uint64_t sizes[2] = {7, 7};
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_approximate_sizes(db, 2, starts, start_sizes, limits, limit_sizes, sizes);
  printf("sizes: %d %d\n", sizes[0] > 0, sizes[1] == 0);
  char* property = leveldb_property_value(db, "nosuchprop");
  printf("unknown property: %d\n", property == NULL);
  property = leveldb_property_value(db, "leveldb.stats");
  printf("stats: %.42s\n", property);
  leveldb_free(property);

  leveldb_t* again = leveldb_open(options, path, &error);
  printf("open twice: %d\n", again != NULL);
  say_error("open twice", &error);
  leveldb_close(db);
  again = leveldb_open(options, path, &error);
  say_error("exists", &error);
  leveldb_options_set_error_if_exists(options, 0);
  leveldb_repair_db(options, path, &error);
  say_error("repair", &error);
  db = leveldb_open(options, path, &error);
  say_error("repaired", &error);
  say_get(db, reading, "box");
  say_get(db, reading, "000123");
  leveldb_close(db);
  leveldb_options_set_comparator(options, order);
  db = leveldb_open(options, path, &error);
  say_error("another order", &error);
  leveldb_destroy_db(options, path, &error);
  say_error("destroy", &error);

  db = leveldb_open(options, path, &error);
  say_error("reverse", &error);
  fill(db, writing, 10);
  it = leveldb_create_iterator(db, reading);
  leveldb_iter_seek_to_first(it), say_iterator("first", it);
  leveldb_iter_seek(it, "0000055", 7), say_iterator("seek", it);
  leveldb_iter_destroy(it);
  leveldb_close(db);
  leveldb_destroy_db(options, path, &error);
  leveldb_options_destroy(options);
  leveldb_comparator_destroy(order);

  for (int own = 0; own < 2; ++own) {
    leveldb_filterpolicy_t* filter =
        own ? leveldb_filterpolicy_create("filter", destroyed, create_filter, key_may_match, filter_name)
            : leveldb_filterpolicy_create_bloom(10);
    options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_filter_policy(options, filter);
    db = leveldb_open(options, path, &error);
    say_error("filter", &error);
    leveldb_put(db, writing, "foo", 3, "foovalue", 8, &error);
    leveldb_put(db, writing, "bar", 3, "barvalue", 8, &error);
    leveldb_compact_range(db, NULL, 0, NULL, 0);
    filter_answer = 1;
    say_get(db, reading, "foo");
    say_get(db, reading, "bar");
    say_get(db, reading, "absent");
    filter_answer = 0;
    if (own) {
      say_get(db, reading, "foo");
      say_get(db, reading, "bar");
      filter_answer = 1;
      say_get(db, reading, "foo");
    }
    leveldb_close(db);
    leveldb_destroy_db(options, path, &error);
    say_error("destroy", &error);
    leveldb_options_destroy(options);
    leveldb_filterpolicy_destroy(filter);
  }

  leveldb_readoptions_destroy(reading);
  leveldb_writeoptions_destroy(writing);
  leveldb_cache_destroy(cache);
  leveldb_env_destroy(env);
  printf("version %d.%d\n", leveldb_major_version(), leveldb_minor_version());
  return 0;
}
