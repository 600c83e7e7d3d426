/* All short histories of a C interface: a walk over every legal path of calls up to a length, for lmdb_paths.c and
 * leveldb_paths.c. Each path begins with a known content, and its answers are one line:
 *
 *     start ab; c0 first; c0 del; c0 next = 0 a:1; 0; 0 b:1 | b:1
 *
 * A family is a table of calls. A call is legal where the state, a set of bits that the program names, has the bits
 * that the call needs and none that it forbids. The table is in the program, so two libraries get the same paths, and
 * paths_test.py compares the lines. The paths come in the order of their length: the first difference is a shortest
 * one.
 *
 *     PROGRAM DIRECTORY FAMILY LENGTH [PATHS_MAX SEED]    all paths of at most LENGTH calls; if there are more than
 *                                                         PATHS_MAX of a length, every n-th, and SEED selects the first
 *     PROGRAM DIRECTORY FAMILY --path 'start ab; c0 first; c0 del; c0 next'       one path
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCallsMax = 16, kPathsPerEnvironment = 250 };

struct Call {
  const char* text;                      /* unique among the calls that are legal in one state */
  void (*run)(const struct Call* call);  /* makes the call and prints its answer */
  unsigned needs, forbids, clears, sets; /* bits of the state */
  int at;                                /* which cursor, transaction, iterator, ... */
  const char *key, *value;
  int op;
  unsigned flags;
};

struct Family {
  const char* name;
  const struct Call* calls;
  size_t call_count;
  const char* starts;    /* contents, separated by blanks */
  void (*prepare)(void); /* opens what each path uses; may be NULL */
};

/* The program defines these. */
static void OpenEnvironment(const char* directory);
static void CloseEnvironment(void);
static void BeginPath(const char* start);
static void EndPath(void); /* prints the content that the path leaves, and ends all handles */

struct Walk {
  const char* directory;
  const struct Family* family;
  char start[16];
  size_t length;
  const struct Call* path[kCallsMax];
  int is_counting;
  uint64_t found, every, first, run; /* the paths of one length */
  uint64_t environments;
};

static void RunPath(struct Walk* walk, size_t length) {
  if (walk->run++ % kPathsPerEnvironment == 0) {
    char directory[600];
    if (walk->environments > 0) CloseEnvironment();
    snprintf(directory, sizeof directory, "%s/%llu", walk->directory, (unsigned long long)walk->environments++);
    OpenEnvironment(directory);
  }
  printf("start %s", walk->start);
  for (size_t i = 0; i < length; ++i) printf("; %s", walk->path[i]->text);
  BeginPath(walk->start);
  if (walk->family->prepare != NULL) walk->family->prepare();
  for (size_t i = 0; i < length; ++i) {
    printf(i == 0 ? " =" : ";");
    walk->path[i]->run(walk->path[i]);
  }
  printf(" |");
  EndPath();
  printf("\n");
}

static int IsLegal(const struct Call* call, unsigned state) {
  return (state & call->needs) == call->needs && (state & call->forbids) == 0;
}

static void VisitPaths(struct Walk* walk, size_t depth, unsigned state) {
  if (depth == walk->length) {
    if (walk->found++ % walk->every == walk->first && !walk->is_counting) RunPath(walk, depth);
    return;
  }
  for (size_t i = 0; i < walk->family->call_count; ++i) {
    const struct Call* const call = &walk->family->calls[i];
    if (!IsLegal(call, state)) continue;
    walk->path[depth] = call;
    VisitPaths(walk, depth + 1, (state & ~call->clears) | call->sets);
  }
}

static void VisitStarts(struct Walk* walk) {
  walk->found = 0;
  for (const char* start = walk->family->starts; *start != '\0'; start += strspn(start, " ")) {
    const size_t size = strcspn(start, " ");
    snprintf(walk->start, sizeof walk->start, "%.*s", (int)size, start);
    VisitPaths(walk, 0, 0);
    start += size;
  }
}

/* The smallest prime that is at least `least`. WHY a prime: the last call of the paths would repeat with the period of
 * the number of calls, and with a common divisor some calls would never come last. */
static uint64_t PrimeFrom(uint64_t least) {
  for (uint64_t n = least < 2 ? 2 : least;; ++n) {
    uint64_t divisor = 2;
    while (divisor * divisor <= n && n % divisor != 0) ++divisor;
    if (divisor * divisor > n) return n;
  }
}

static void WalkAll(struct Walk* walk, size_t length_max, uint64_t paths_max, uint64_t seed) {
  for (walk->length = 1; walk->length <= length_max; ++walk->length) {
    walk->every = 1;
    walk->first = 0;
    walk->is_counting = 1;
    VisitStarts(walk);
    if (walk->found > paths_max) walk->every = PrimeFrom((walk->found + paths_max - 1) / paths_max);
    walk->first = seed % walk->every;
    walk->is_counting = 0;
    printf("# %s: %llu paths of %zu calls", walk->family->name, (unsigned long long)walk->found, walk->length);
    if (walk->every > 1) {
      printf(", every %llu. from %llu", (unsigned long long)walk->every, (unsigned long long)walk->first);
    }
    printf("\n");
    VisitStarts(walk);
  }
}

/* Runs the path of this text. Returns 2 if it is not legal. */
static int WalkOne(struct Walk* walk, const char* text) {
  size_t length = 0;
  unsigned state = 0;
  int used = 0;
  if (sscanf(text, "start %15[^; ]%n", walk->start, &used) != 1) {
    fprintf(stderr, "'%s': expected 'start CONTENT; CALL; ...'\n", text);
    return 2;
  }
  for (text += used; *text != '\0'; ++length) {
    text += strspn(text, "; ");
    const size_t size = strcspn(text, ";");
    const struct Call* found = NULL;
    for (size_t i = 0; i < walk->family->call_count; ++i) {
      const struct Call* const call = &walk->family->calls[i];
      if (strlen(call->text) == size && memcmp(call->text, text, size) == 0 && IsLegal(call, state)) found = call;
    }
    if (found == NULL || length == kCallsMax) {
      fprintf(stderr, "'%.*s': not a call of family %s, or not legal here\n", (int)size, text, walk->family->name);
      return 2;
    }
    walk->path[length] = found;
    state = (state & ~found->clears) | found->sets;
    text += size;
  }
  RunPath(walk, length);
  return 0;
}

static int WalkMain(int argc, char** argv, const struct Family* families, size_t family_count) {
  struct Walk walk = {0};
  int result = 0;
  if (argc < 4) return 2;
  walk.directory = argv[1];
  for (size_t i = 0; i < family_count; ++i) {
    if (strcmp(families[i].name, argv[2]) == 0) walk.family = &families[i];
  }
  if (walk.family == NULL) return 2;
  if (strcmp(argv[3], "--path") == 0) {
    if (argc < 5) return 2;
    result = WalkOne(&walk, argv[4]);
  } else {
    WalkAll(&walk, strtoul(argv[3], NULL, 10), argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX,
            argc > 5 ? strtoull(argv[5], NULL, 0) : 0);
  }
  if (walk.environments > 0) CloseEnvironment();
  return result;
}
