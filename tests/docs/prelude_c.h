/* What the C fragments of docs/api/c.md use without declaring it (tests/docs/interfaces.py). */
#include <mergedb/c.h>
#include <stdio.h>
#include <string.h>

static mergedb_error error;
static void* value;
static size_t size;
static void* window;
static int is_cancelled;

static inline int complain(const char* message) {
  fprintf(stderr, "%s\n", message);
  return 1;
}

/* After each call: an absent key is no error. */
static int failed;
static inline void note(void) {
  if (error.code != MERGEDB_OK && error.code != MERGEDB_NOT_FOUND) failed = complain(error.message);
}

static inline void use(const void* bytes, size_t length) { (void)bytes, (void)length; }

static inline int print(void* state, uint64_t done, uint64_t all) { return state == window && done <= all; }
