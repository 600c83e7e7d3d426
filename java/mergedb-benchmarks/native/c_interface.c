/* The puts and gets of the JMH benchmarks through the C interface, without a JVM: what is left of the difference is the
 * cost of JNI.
 *
 *     c_interface DIRECTORY ENTRIES ITERATIONS
 *
 * prints one line of JSON: nanoseconds a put and a get, one number an iteration. Keys, values and options as in
 * java/mergedb-benchmarks/src/main/java. The directory must not be there; it is removed. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mergedb/c.h"

enum { KEY_BYTES = 16, VALUE_BYTES = 100, WARM_UP = 1, PART = 5 };

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void Check(mergedb_code code, const mergedb_error* error) {
  if (code == MERGEDB_OK) return;
  fprintf(stderr, "%s: %s\n", mergedb_code_name(code), error->message);
  exit(1);
}

static void Key(char* key, uint64_t number) {
  char text[KEY_BYTES + 1];
  snprintf(text, sizeof text, "%016" PRIx64, number * UINT64_C(0x9E3779B97F4A7C15));
  memcpy(key, text, KEY_BYTES);
}

static void PrintArray(const char* name, const double* numbers, int count) {
  printf("\"%s\": [", name);
  for (int i = 0; i < count; ++i) printf("%s%.1f", i == 0 ? "" : ", ", numbers[i]);
  printf("]");
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: c_interface DIRECTORY ENTRIES ITERATIONS\n"), 2;
  const char* const path = argv[1];
  const size_t entries = strtoull(argv[2], NULL, 10);
  const int iterations = atoi(argv[3]);
  if (entries < PART || iterations < 1)
    return fprintf(stderr, "ENTRIES must be at least 5, ITERATIONS at least 1\n"), 2;
  char* const keys = malloc(entries * KEY_BYTES);
  char* const sought = malloc(entries / PART * KEY_BYTES);
  double* const puts = calloc((size_t)iterations, sizeof *puts);
  double* const gets = calloc((size_t)iterations, sizeof *gets);
  if (keys == NULL || sought == NULL || puts == NULL || gets == NULL) return fprintf(stderr, "no memory\n"), 1;
  for (size_t i = 0; i < entries; ++i) Key(keys + i * KEY_BYTES, i);
  for (size_t i = 0; i < entries / PART; ++i) Key(sought + i * KEY_BYTES, i * 7919 % entries);
  char value[VALUE_BYTES];
  for (int i = 0; i < VALUE_BYTES; ++i) value[i] = (char)(i * 37);

  mergedb_error error;
  const mergedb_options options = {.struct_size = sizeof options,
                                   .memory_bytes = UINT64_C(384) << 20,
                                   .write_buffer_bytes = UINT64_C(64) << 20,
                                   .compression_upper = MERGEDB_COMPRESSION_NONE,
                                   .compression_bottom = MERGEDB_COMPRESSION_NONE};
  for (int round = -WARM_UP; round < iterations; ++round) {
    mergedb_db db = 0;
    Check(mergedb_open(path, &options, &db, &error), &error);
    double start = Now();
    for (size_t i = 0; i < entries; ++i) {
      Check(mergedb_put(db, NULL, keys + i * KEY_BYTES, KEY_BYTES, value, sizeof value, &error), &error);
    }
    if (round >= 0) puts[round] = (Now() - start) / (double)entries;
    Check(mergedb_compact_range(db, NULL, NULL, &error), &error);
    for (int pass = 0; pass < 2; ++pass) {  // the first one fills the cache
      start = Now();
      for (size_t i = 0; i < entries / PART; ++i) {
        void* found = NULL;
        size_t size = 0;
        Check(mergedb_get(db, NULL, sought + i * KEY_BYTES, KEY_BYTES, &found, &size, &error), &error);
        mergedb_free(found);
      }
    }
    if (round >= 0) gets[round] = (Now() - start) / (double)(entries / PART);
    Check(mergedb_close(db, &error), &error);
    Check(mergedb_destroy(path, &error), &error);
  }
  printf("{");
  PrintArray("put", puts, iterations);
  printf(", ");
  PrintArray("getHit", gets, iterations);
  printf("}\n");
  free(keys);
  free(sought);
  free(puts);
  free(gets);
  return 0;
}
