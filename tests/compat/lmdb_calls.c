/* The edge cases of LMDB's interface, each call printed with its answer: with liblmdb and with the drop-in the text is
 * the same (lmdb_test.py compares). lmdb_transcript.c is random and meets common cases; this program is a list: every
 * cursor operation in every state, flags and handles that are refused, data that is read after its transaction, reset
 * and renew, readers, the descriptor.
 *
 *     lmdb_calls DIRECTORY
 *
 * The text leaves out threads, process ids and addresses. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lmdb.h"

static MDB_env* env;
static MDB_dbi main_dbi, named;

static void Must(const char* call, int code) {
  if (code == 0) return;
  printf("%s failed: %s\n", call, mdb_strerror(code));
  exit(2);
}

/* One call a statement: C does not specify the order in which arguments are evaluated. */
static void Say(const char* name, int code) { printf(" %s %d", name, code); }

static MDB_val Val(const char* text) { return (MDB_val){strlen(text), (void*)text}; }
static void Show(const char* name, const MDB_val* val) {
  printf(" %s=%.*s", name, (int)val->mv_size, (const char*)val->mv_data);
}

static MDB_txn* Begin(unsigned flags) {
  MDB_txn* txn;
  Must("begin", mdb_txn_begin(env, NULL, flags, &txn));
  return txn;
}

static MDB_cursor* Open(MDB_txn* txn, MDB_dbi dbi) {
  MDB_cursor* cursor;
  Must("cursor_open", mdb_cursor_open(txn, dbi, &cursor));
  return cursor;
}

static void Put(MDB_txn* txn, MDB_dbi dbi, const char* key, const char* value) {
  MDB_val k = Val(key), v = Val(value);
  Must("put", mdb_put(txn, dbi, &k, &v, 0));
}

static const char* const kStates[] = {"fresh", "at b", "missed", "at the end", "deleted", "deleted all"};
enum { kStateCount = 6, kOpCount = 22 };

/* A cursor of the named database {a, b, d}, in the given state. */
static MDB_cursor* InState(MDB_txn* txn, MDB_dbi dbi, int state) {
  MDB_cursor* const cursor = Open(txn, dbi);
  MDB_val k = Val("b"), v;
  switch (state) {
    case 1: Must("set", mdb_cursor_get(cursor, &k, &v, MDB_SET)); break;
    case 2:
      k = Val("c");
      (void)mdb_cursor_get(cursor, &k, &v, MDB_SET);
      break;
    case 3:
      Must("last", mdb_cursor_get(cursor, &k, &v, MDB_LAST));
      (void)mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
      break;
    case 4:
      Must("set", mdb_cursor_get(cursor, &k, &v, MDB_SET));
      Must("del", mdb_cursor_del(cursor, 0));
      break;
    case 5:
      while (mdb_cursor_get(cursor, &k, &v, MDB_FIRST) == 0) Must("del", mdb_cursor_del(cursor, 0));
      break;
    default: break;
  }
  return cursor;
}

/* `given` selects the arguments: key and data, no data, no key, neither. */
static void GetEach(MDB_cursor* cursor, int op, int given) {
  MDB_val k = Val("b"), v = Val("B");
  const int code = mdb_cursor_get(cursor, given & 2 ? NULL : &k, given & 1 ? NULL : &v, (MDB_cursor_op)op);
  printf(" %d", code);
  if (code == 0 && !(given & 2)) Show("key", &k);
  if (code == 0 && !(given & 1)) Show("data", &v);
}

static void CursorOps(unsigned flags) {
  for (int state = 0; state < (flags ? 4 : kStateCount); ++state) {
    for (int op = -1; op < kOpCount; ++op) {
      printf("%s cursor, %s: op %d:", flags ? "reader's" : "writer's", kStates[state], op);
      for (int given = 0; given < 4; ++given) {
        /* LMDB does not check the key and data pointers of these operations: NULL crashes the process. */
        const int needs_key = op == MDB_FIRST || op == MDB_LAST;
        if (given >= 2 && needs_key) continue;
        MDB_txn* const txn = Begin(flags);
        MDB_cursor* const cursor = InState(txn, named, state);
        GetEach(cursor, op, given);
        mdb_cursor_close(cursor);
        mdb_txn_abort(txn);
      }
      printf("\n");
    }
  }
}

static void CursorWrites(void) {
  static const unsigned kFlags[] = {0,
                                    MDB_NOOVERWRITE,
                                    MDB_NODUPDATA,
                                    MDB_CURRENT,
                                    MDB_APPEND,
                                    MDB_APPENDDUP,
                                    MDB_MULTIPLE,
                                    MDB_RESERVE | MDB_MULTIPLE,
                                    MDB_CURRENT | MDB_APPEND,
                                    MDB_CURRENT | MDB_NOOVERWRITE,
                                    MDB_CURRENT | MDB_NODUPDATA,
                                    1,
                                    8};
  for (int state = 0; state < 4; ++state) {
    for (size_t i = 0; i < sizeof kFlags / sizeof kFlags[0]; ++i) {
      if (kFlags[i] == MDB_CURRENT && state > 1) continue; /* the key must be the cursor's current key */
      MDB_txn* const txn = Begin(0);
      MDB_cursor* const cursor = InState(txn, named, state);
      MDB_val k = Val("b"), v[2] = {Val("new"), {1, NULL}};
      printf("cursor_put, %s, flags %x: %d;", kStates[state], kFlags[i], mdb_cursor_put(cursor, &k, v, kFlags[i]));
      MDB_val at, data;
      const int code = mdb_cursor_get(cursor, &at, &data, MDB_GET_CURRENT);
      printf(" then %d", code);
      if (code == 0) Show("key", &at), Show("data", &data);
      printf("\n");
      mdb_cursor_close(cursor);
      mdb_txn_abort(txn);
    }
    static const unsigned kDelFlags[] = {0, MDB_NODUPDATA, MDB_CURRENT, 1, MDB_APPEND};
    for (size_t i = 0; i < sizeof kDelFlags / sizeof kDelFlags[0]; ++i) {
      MDB_txn* const txn = Begin(0);
      MDB_cursor* const cursor = InState(txn, named, state);
      printf("cursor_del, %s, flags %x: %d\n", kStates[state], kDelFlags[i], mdb_cursor_del(cursor, kDelFlags[i]));
      mdb_txn_abort(txn);
    }
  }
  MDB_txn* const reader = Begin(MDB_RDONLY);
  MDB_cursor* const cursor = InState(reader, named, 1);
  MDB_val k = Val("b"), v = Val("new");
  size_t count;
  printf("reader's:");
  Say("cursor_put", mdb_cursor_put(cursor, &k, &v, 0));
  Say("with flags 1", mdb_cursor_put(cursor, &k, &v, 1));
  Say("cursor_del", mdb_cursor_del(cursor, 0));
  Say("with flags 1", mdb_cursor_del(cursor, 1));
  Say("count", mdb_cursor_count(cursor, &count));
  Say("into nothing", mdb_cursor_count(cursor, NULL));
  printf("\n");
  mdb_cursor_close(cursor);
  mdb_txn_abort(reader);
}

/* Databases that do not exist or are reserved, empty keys, invalid flags. */
static void Items(unsigned txn_flags) {
  const MDB_dbi dbis[] = {0, main_dbi, named, named + 1, 77};
  static const unsigned kFlags[] = {
      0, MDB_NOOVERWRITE, MDB_NODUPDATA, MDB_CURRENT, MDB_MULTIPLE, MDB_APPENDDUP, 1, 2, 4, 8, MDB_CREATE | 1};
  for (size_t d = 0; d < sizeof dbis / sizeof dbis[0]; ++d) {
    MDB_txn* txn = Begin(txn_flags);
    MDB_val k = Val("b"), none = {0, "x"}, v = {0, NULL}, text = Val("V");
    MDB_stat stat;
    unsigned flags = 0;
    printf("dbi %u, %s:", dbis[d], txn_flags ? "reader" : "writer");
    Say("get", mdb_get(txn, dbis[d], &k, &v));
    Say("of nothing", mdb_get(txn, dbis[d], &none, &v));
    Say("del", mdb_del(txn, dbis[d], &k, NULL));
    Say("of nothing", mdb_del(txn, dbis[d], &none, NULL));
    Say("once more", mdb_del(txn, dbis[d], &k, &text));
    Say("stat", mdb_stat(txn, dbis[d], &stat));
    Say("flags", mdb_dbi_flags(txn, dbis[d], &flags));
    Say("drop 2", mdb_drop(txn, dbis[d], 2));
    if (dbis[d] != main_dbi) Say("drop 0", mdb_drop(txn, dbis[d], 0)); /* a drop of the main database drops the names */
    printf(" put");
    mdb_txn_abort(txn);
    for (size_t i = 0; i < sizeof kFlags / sizeof kFlags[0]; ++i) {
      txn = Begin(txn_flags);
      MDB_val data = Val("new");
      k = Val("b");
      printf(" %x:%d", kFlags[i], mdb_put(txn, dbis[d], &k, &data, kFlags[i]));
      mdb_txn_abort(txn);
    }
    MDB_cursor* cursor = NULL;
    txn = Begin(txn_flags);
    const int code = mdb_cursor_open(txn, dbis[d], &cursor);
    printf(" cursor_open %d\n", code);
    if (code == 0) mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
  }
}

/* The database of free pages before any page was freed. Later LMDB keeps private items in it. */
static void FreeList(void) {
  MDB_txn* const txn = Begin(MDB_RDONLY);
  for (int op = 0; op < kOpCount; ++op) {
    MDB_cursor* const cursor = Open(txn, 0);
    size_t id = 5;
    MDB_val k = {sizeof id, &id}, v = Val("B");
    printf("free list: op %d:", op);
    Say("get", mdb_cursor_get(cursor, &k, &v, (MDB_cursor_op)op));
    printf(" dbi %u, its own txn %d\n", mdb_cursor_dbi(cursor), mdb_cursor_txn(cursor) == txn);
    mdb_cursor_close(cursor);
  }
  MDB_cursor* const cursor = Open(txn, 0);
  size_t count;
  MDB_val k = Val("b"), v = Val("B");
  printf("free list:");
  Say("put", mdb_cursor_put(cursor, &k, &v, 0));
  Say("del", mdb_cursor_del(cursor, 0));
  Say("count", mdb_cursor_count(cursor, &count));
  mdb_txn_reset(txn);
  Say("reset", mdb_cursor_get(cursor, &k, &v, MDB_FIRST));
  Must("renew", mdb_txn_renew(txn));
  Say("renewed", mdb_cursor_get(cursor, &k, &v, MDB_FIRST));
  Say("cursor_renew", mdb_cursor_renew(txn, cursor));
  Say("next", mdb_cursor_get(cursor, &k, &v, MDB_NEXT));
  printf("\n");
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
}

static void ResetAndRenew(void) {
  for (int state = 0; state < 4; ++state) {
    for (int op = 0; op < kOpCount; ++op) {
      MDB_txn* const txn = Begin(MDB_RDONLY);
      MDB_cursor* const cursor = InState(txn, named, state);
      mdb_txn_reset(txn);
      printf("reset, %s:", kStates[state]);
      GetEach(cursor, op, 0);
      Must("renew", mdb_txn_renew(txn));
      printf(", renewed: op %d:", op);
      GetEach(cursor, op, 0);
      GetEach(cursor, MDB_GET_CURRENT, 0);
      GetEach(cursor, MDB_NEXT, 0);
      mdb_cursor_close(cursor);
      mdb_txn_abort(txn);
      printf("\n");
    }
  }
}

/* Values and keys are read after their transaction has ended, as Postfix does. */
static void AfterTheEnd(void) {
  for (int how = 0; how < 4; ++how) {
    MDB_txn* const txn = Begin(how == 3 ? 0 : MDB_RDONLY);
    MDB_val k = Val("d"), value, at, data;
    Must("get", mdb_get(txn, named, &k, &value));
    MDB_cursor* const cursor = Open(txn, named);
    Must("first", mdb_cursor_get(cursor, &at, &data, MDB_FIRST));
    if (how == 0 || how == 3) mdb_cursor_close(cursor), mdb_txn_abort(txn);
    if (how == 1) mdb_cursor_close(cursor), Must("commit", mdb_txn_commit(txn));
    if (how == 2) mdb_txn_reset(txn);
    void* noise[16];
    for (int i = 0; i < 16; ++i) memset(noise[i] = malloc((size_t)64 << i % 8), 'x', (size_t)64 << i % 8);
    printf("after the end %d:", how);
    Show("value", &value), Show("at", &at), Show("data", &data);
    printf("\n");
    for (int i = 0; i < 16; ++i) free(noise[i]);
    if (how == 2) mdb_cursor_close(cursor), mdb_txn_abort(txn);
  }
}

struct Listing {
  int calls, stop_at;
};
static int List(const char* text, void* context) {
  struct Listing* const listing = context;
  ++listing->calls;
  const int is_reader = strspn(text, " 0123456789") > 9;
  const char* const last = strrchr(text, ' ');
  printf(" [%zu lines%s%s]", strlen(text) == 0 ? 0 : (size_t)(strchr(text, '\n') == text + strlen(text) - 1 ? 1 : 2),
         is_reader ? " reader" : " ", is_reader ? (strcmp(last, " -\n") == 0 ? " resting" : " at work") : text);
  return listing->calls == listing->stop_at ? -7 : listing->calls + 100;
}

static void Readers(void) {
  MDB_txn* readers[3];
  for (int open = 0; open <= 3; ++open) {
    for (int stop_at = 0; stop_at < 3; ++stop_at) {
      struct Listing listing = {0, stop_at};
      printf("readers %d:", open);
      const int code = mdb_reader_list(env, List, &listing);
      printf(" calls %d answer %d\n", listing.calls, code);
    }
    if (open < 3) readers[open] = Begin(MDB_RDONLY);
    if (open == 1) mdb_txn_reset(readers[0]);
  }
  int dead = 9;
  Say("reader_check", mdb_reader_check(env, &dead));
  printf(" dead %d\n", dead);
  for (int i = 0; i < 3; ++i) mdb_txn_abort(readers[i]);
}

/* The descriptor serves for locks, as in Postfix. */
static void Descriptor(void) {
  int fd = -2;
  Must("get_fd", mdb_env_get_fd(env, &fd));
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  struct stat stat;
  printf("descriptor: writable %d", (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
  Say("write lock", fcntl(fd, F_SETLK, &lock));
  lock.l_type = F_RDLCK;
  Say("read lock", fcntl(fd, F_SETLK, &lock));
  Say("flock", flock(fd, LOCK_EX | LOCK_NB));
  Say("unflock", flock(fd, LOCK_UN));
  Say("fstat", fstat(fd, &stat));
  Say("fsync", fsync(fd));
  Say("cloexec", fcntl(fd, F_SETFD, FD_CLOEXEC));
  printf(" regular %d mode %o\n", S_ISREG(stat.st_mode) != 0, (unsigned)stat.st_mode & 0777);
  lock.l_type = F_WRLCK;
  Must("lock", fcntl(fd, F_SETLK, &lock));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(fcntl(fd, F_SETLK, &lock) == 0 ? 1 : errno == EAGAIN || errno == EACCES ? 0 : 2);
  int status = -1;
  waitpid(child, &status, 0);
  printf("another process's lock is refused: %d\n", WEXITSTATUS(status) == 0);
  lock.l_type = F_UNLCK;
  Must("unlock", fcntl(fd, F_SETLK, &lock));
}

static void BeforeOpen(void) {
  const char* path = "?";
  int fd = -2, dead = 9;
  unsigned flags = 77;
  struct Listing listing = {0, 0};
  printf("before open:");
  Say("path", mdb_env_get_path(env, &path));
  printf(" %s", path == NULL ? "none" : path);
  Say("fd", mdb_env_get_fd(env, &fd));
  printf(" %d", fd);
  Say("flags", mdb_env_get_flags(env, &flags));
  printf(" %x", flags);
  Say("readers", mdb_reader_list(env, List, &listing));
  Say("check", mdb_reader_check(env, &dead));
  printf(" dead %d\n", dead);
}

static void Ended(void) {
  MDB_txn* txn = Begin(0);
  MDB_txn* child;
  MDB_val k = Val("b"), v;
  MDB_cursor* cursor = NULL;
  Must("child", mdb_txn_begin(env, txn, 0, &child));
  MDB_stat stat;
  MDB_dbi dbi;
  printf("with a child:");
  Say("get", mdb_get(txn, named, &k, &v));
  Say("put", mdb_put(txn, named, &k, &k, 0));
  Say("del", mdb_del(txn, named, &k, NULL));
  Say("cursor_open", mdb_cursor_open(txn, named, &cursor));
  Say("drop", mdb_drop(txn, named, 0));
  Say("stat", mdb_stat(txn, named, &stat));
  Say("dbi_open", mdb_dbi_open(txn, "named", 0, &dbi));
  mdb_txn_abort(txn);
  txn = Begin(MDB_RDONLY);
  mdb_txn_reset(txn);
  printf("\nreset:");
  Say("get", mdb_get(txn, named, &k, &v));
  Say("put", mdb_put(txn, named, &k, &k, 0));
  Say("del", mdb_del(txn, named, &k, NULL));
  Say("cursor_open", mdb_cursor_open(txn, named, &cursor));
  Say("stat", mdb_stat(txn, named, &stat));
  Say("dbi_open", mdb_dbi_open(txn, "named", 0, &dbi));
  Say("renew", mdb_txn_renew(txn));
  Say("again", mdb_txn_renew(txn));
  printf("\n");
  mdb_txn_abort(txn);
}

/* The item of a named database in the main database: it can be read, and only mdb_drop removes it. A refused delete
 * leaves the transaction unusable; a commit of such a child makes its parent unusable, too. */
static void SayLeft(MDB_txn* txn) {
  MDB_val k = Val("b"), v;
  Say("get", mdb_get(txn, main_dbi, &k, &v));
  Say("commit", mdb_txn_commit(txn));
  printf("\n");
}

static void NameItems(void) {
  static const unsigned kFlags[] = {0, MDB_NOOVERWRITE, MDB_APPEND, MDB_RESERVE};
  printf("name items");
  MDB_val k = Val("named"), v;
  MDB_txn* txn = Begin(0);
  Say("get", mdb_get(txn, main_dbi, &k, &v));
  printf(" %d bytes", (int)v.mv_size);
  SayLeft(txn);
  for (int uses_cursor = 0; uses_cursor < 2; ++uses_cursor) {
    for (int i = 0; i < 4; ++i) {
      txn = Begin(0);
      v = Val("value");
      if (uses_cursor) {
        Say("cursor_put", mdb_cursor_put(Open(txn, main_dbi), &k, &v, kFlags[i]));
      } else {
        Say("put", mdb_put(txn, main_dbi, &k, &v, kFlags[i]));
      }
      if (i != 3) printf(" %d bytes", (int)v.mv_size);
      SayLeft(txn);
    }
    txn = Begin(0);
    MDB_cursor* const cursor = Open(txn, main_dbi);
    Say("set", mdb_cursor_get(cursor, &k, &v, MDB_SET));
    Say("del", uses_cursor ? mdb_cursor_del(cursor, 0) : mdb_del(txn, main_dbi, &k, NULL));
    SayLeft(txn);
  }
  for (int commits = 0; commits < 2; ++commits) {
    txn = Begin(0);
    MDB_txn* child;
    Must("begin", mdb_txn_begin(env, txn, 0, &child));
    Say("del", mdb_del(child, main_dbi, &k, NULL));
    if (commits) {
      Say("commit", mdb_txn_commit(child));
    } else {
      mdb_txn_abort(child);
    }
    SayLeft(txn);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Must("create", mdb_env_create(&env));
  BeforeOpen();
  Must("maxdbs", mdb_env_set_maxdbs(env, 4));
  Must("open", mdb_env_open(env, argv[1], MDB_NOSYNC | MDB_NOTLS, 0600));
  MDB_envinfo empty;
  Must("info", mdb_env_info(env, &empty));
  printf("last page of an empty environment %d\n", (int)empty.me_last_pgno);
  MDB_txn* const txn = Begin(0);
  Must("dbi_open", mdb_dbi_open(txn, NULL, 0, &main_dbi));
  Must("dbi_open", mdb_dbi_open(txn, "named", MDB_CREATE, &named));
  Put(txn, main_dbi, "b", "B");
  Put(txn, named, "a", "A");
  Put(txn, named, "b", "B");
  Put(txn, named, "d", "D");
  Must("commit", mdb_txn_commit(txn));
  FreeList();
  Readers();
  Descriptor();
  CursorOps(0);
  CursorOps(MDB_RDONLY);
  CursorWrites();
  Items(0);
  Items(MDB_RDONLY);
  ResetAndRenew();
  AfterTheEnd();
  NameItems();
  Ended();
  mdb_env_close(env);
  return 0;
}
