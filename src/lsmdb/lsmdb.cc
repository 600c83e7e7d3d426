// LSMDB's interface. Each call is one or two calls of lmdb.h on the main database. Differences: a cursor stands
// nowhere after a write, directions are numbers, and to delete an absent key is no error.
#include "lsmdb.h"

#include <cerrno>
#include <new>

#include "base/elf_note.h"

struct LSMDB_env {
  MDB_env* env = nullptr;
};

struct LSMDB_cursor {
  LSMDB_txn* txn = nullptr;
  MDB_cursor* cursor = nullptr;
  bool is_placed = false;  // stands at a key
};

struct LSMDB_txn {
  LSMDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  unsigned flags = 0;
  bool is_reset = false;
  MDB_dbi dbi = 0;
  LSMDB_cursor* own = nullptr;  // made on demand
};

namespace {

constexpr unsigned kPutFlags = MDB_NOOVERWRITE | MDB_APPEND;

template <typename T>
int Make(T** out) noexcept {
  *out = new (std::nothrow) T;
  return *out == nullptr ? ENOMEM : 0;
}

// LMDB's functions do not write to their keys and data here, but their parameters are not const.
MDB_val* Unconst(const MDB_val* val) { return const_cast<MDB_val*>(val); }

void CloseOwn(LSMDB_txn* txn) {
  if (txn->own == nullptr) return;
  mdb_cursor_close(txn->own->cursor);
  delete txn->own;
  txn->own = nullptr;
}

int Write(LSMDB_txn* txn, const MDB_val* key, const MDB_val* data, unsigned flags) {
  if (flags & ~kPutFlags) return EINVAL;
  MDB_val copy = *data;  // MDB_NOOVERWRITE would store the existing value here
  return mdb_put(txn->txn, txn->dbi, Unconst(key), &copy, flags & MDB_NOOVERWRITE);
}

int Move(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, MDB_cursor_op op) {
  const int code = mdb_cursor_get(cursor->cursor, key, data, op);
  if (code == 0) cursor->is_placed = true;
  return code;
}

// MDB_SET: the key must exist. MDB_SET_RANGE: the first key at or behind it.
int SeekForward(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, MDB_cursor_op op) {
  const int code = Move(cursor, key, data, op);
  if (code != 0) cursor->is_placed = false;
  return code;
}

int SeekBackward(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data) {
  const MDB_val wanted = *key;
  int code = Move(cursor, key, data, MDB_SET_RANGE);
  if (code == MDB_NOTFOUND) {
    code = Move(cursor, key, data, MDB_LAST);
  } else if (code == 0 && mdb_cmp(cursor->txn->txn, cursor->txn->dbi, key, &wanted) != 0) {
    code = Move(cursor, key, data, MDB_PREV);
  }
  if (code != 0) cursor->is_placed = false;
  return code;
}

}  // namespace

// ---- environments

int lsmdb_env_create(LSMDB_env** out) {
  if (out == nullptr) return EINVAL;
  if (const int code = Make(out); code != 0) return code;
  const int code = mdb_env_create(&(*out)->env);
  if (code != 0) {
    delete *out;
    *out = nullptr;
  }
  return code;
}

int lsmdb_env_set_mapsize(LSMDB_env* env, size_t size) {
  return env == nullptr ? EINVAL : mdb_env_set_mapsize(env->env, size);
}

int lsmdb_env_open(LSMDB_env* env, const char* name, unsigned flags, mdb_mode_t mode) {
  return env == nullptr ? EINVAL : mdb_env_open(env->env, name, flags, mode);
}

void lsmdb_env_close(LSMDB_env* env) {
  if (env == nullptr) return;
  mdb_env_close(env->env);
  delete env;
}

// ---- transactions

int lsmdb_txn_begin(LSMDB_env* env, LSMDB_txn* parent, unsigned flags, LSMDB_txn** out) {
  if (env == nullptr || out == nullptr) return EINVAL;
  LSMDB_txn* made = nullptr;
  if (const int code = Make(&made); code != 0) return code;
  made->env = env;
  made->flags = flags & MDB_RDONLY;
  int code = mdb_txn_begin(env->env, parent == nullptr ? nullptr : parent->txn, flags, &made->txn);
  if (code == 0) {
    code = mdb_dbi_open(made->txn, nullptr, 0, &made->dbi);
    if (code != 0) mdb_txn_abort(made->txn);
  }
  if (code != 0) {
    delete made;
    return code;
  }
  *out = made;
  return 0;
}

int lsmdb_txn_commit(LSMDB_txn* txn) {
  if (txn == nullptr) return EINVAL;
  CloseOwn(txn);
  const int code = mdb_txn_commit(txn->txn);
  delete txn;
  return code;
}

void lsmdb_txn_abort(LSMDB_txn* txn) {
  if (txn == nullptr) return;
  CloseOwn(txn);
  mdb_txn_abort(txn->txn);
  delete txn;
}

void lsmdb_txn_reset(LSMDB_txn* txn) {
  if (txn == nullptr) return;
  CloseOwn(txn);
  mdb_txn_reset(txn->txn);
  txn->is_reset = (txn->flags & MDB_RDONLY) != 0;
}

int lsmdb_txn_renew(LSMDB_txn* txn) {
  if (txn == nullptr) return EINVAL;
  const int code = mdb_txn_renew(txn->txn);
  if (code == 0) txn->is_reset = false;
  return code;
}

int lsmdb_txn_get_flags(LSMDB_txn* txn, unsigned* flags) {
  if (txn == nullptr || flags == nullptr) return EINVAL;
  *flags = txn->flags;
  return 0;
}

int lsmdb_txn_cursor(LSMDB_txn* txn, LSMDB_cursor** out) {
  if (txn == nullptr || out == nullptr) return EINVAL;
  if (txn->own == nullptr) {
    if (const int code = lsmdb_cursor_open(txn, &txn->own); code != 0) return code;
  }
  *out = txn->own;
  return 0;
}

// ---- items

int lsmdb_get(LSMDB_txn* txn, const MDB_val* key, MDB_val* data) {
  if (txn == nullptr) return EINVAL;
  return txn->is_reset ? MDB_BAD_TXN : mdb_get(txn->txn, txn->dbi, Unconst(key), data);
}

int lsmdb_put(LSMDB_txn* txn, const MDB_val* key, const MDB_val* data, unsigned flags) {
  return txn == nullptr || key == nullptr || data == nullptr ? EINVAL : Write(txn, key, data, flags);
}

int lsmdb_del(LSMDB_txn* txn, const MDB_val* key) {
  if (txn == nullptr || key == nullptr) return EINVAL;
  const int code = mdb_del(txn->txn, txn->dbi, Unconst(key), nullptr);
  return code == MDB_NOTFOUND ? 0 : code;
}

int lsmdb_cmp(LSMDB_txn* txn, const MDB_val* a, const MDB_val* b) {
  return txn == nullptr ? 0 : mdb_cmp(txn->txn, txn->dbi, a, b);
}

// ---- cursors

int lsmdb_cursor_open(LSMDB_txn* txn, LSMDB_cursor** out) {
  if (txn == nullptr || out == nullptr) return EINVAL;
  LSMDB_cursor* made = nullptr;
  if (const int code = Make(&made); code != 0) return code;
  made->txn = txn;
  if (const int code = mdb_cursor_open(txn->txn, txn->dbi, &made->cursor); code != 0) {
    delete made;
    return code;
  }
  *out = made;
  return 0;
}

void lsmdb_cursor_close(LSMDB_cursor* cursor) {
  if (cursor == nullptr) return;
  mdb_cursor_close(cursor->cursor);
  delete cursor;
}

int lsmdb_cursor_renew(LSMDB_txn* txn, LSMDB_cursor* cursor) {
  if (txn == nullptr || cursor == nullptr) return EINVAL;
  const int code = mdb_cursor_renew(txn->txn, cursor->cursor);
  if (code != 0) return code;
  cursor->txn = txn;
  cursor->is_placed = false;
  return 0;
}

int lsmdb_cursor_clear(LSMDB_cursor* cursor) {
  if (cursor == nullptr) return EINVAL;
  cursor->is_placed = false;
  return 0;
}

LSMDB_txn* lsmdb_cursor_txn(LSMDB_cursor* cursor) { return cursor == nullptr ? nullptr : cursor->txn; }

int lsmdb_cursor_get(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, MDB_cursor_op op) {
  switch (op) {
    case MDB_GET_CURRENT: return lsmdb_cursor_current(cursor, key, data);
    case MDB_SET: return lsmdb_cursor_seek(cursor, key, data, 0);
    case MDB_SET_RANGE: return lsmdb_cursor_seek(cursor, key, data, 1);
    case MDB_FIRST: return lsmdb_cursor_first(cursor, key, data, 1);
    case MDB_LAST: return lsmdb_cursor_first(cursor, key, data, -1);
    case MDB_PREV: return lsmdb_cursor_next(cursor, key, data, -1);
    case MDB_NEXT: return lsmdb_cursor_next(cursor, key, data, 1);
    default: return EINVAL;
  }
}

int lsmdb_cursor_current(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data) {
  if (cursor == nullptr || !cursor->is_placed) return EINVAL;
  return mdb_cursor_get(cursor->cursor, key, data, MDB_GET_CURRENT);
}

int lsmdb_cursor_seek(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, int dir) {
  if (cursor == nullptr || key == nullptr) return EINVAL;
  if (dir < 0) return SeekBackward(cursor, key, data);
  return SeekForward(cursor, key, data, dir == 0 ? MDB_SET : MDB_SET_RANGE);
}

int lsmdb_cursor_first(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, int dir) {
  if (cursor == nullptr || dir == 0) return EINVAL;
  return Move(cursor, key, data, dir > 0 ? MDB_FIRST : MDB_LAST);
}

int lsmdb_cursor_next(LSMDB_cursor* cursor, MDB_val* key, MDB_val* data, int dir) {
  if (cursor == nullptr || dir == 0) return EINVAL;
  if (!cursor->is_placed) return lsmdb_cursor_first(cursor, key, data, dir);
  return Move(cursor, key, data, dir > 0 ? MDB_NEXT : MDB_PREV);
}

int lsmdb_cursor_put(LSMDB_cursor* cursor, const MDB_val* key, const MDB_val* data, unsigned flags) {
  if (cursor == nullptr || key == nullptr || data == nullptr) return EINVAL;
  cursor->is_placed = false;
  return Write(cursor->txn, key, data, flags);
}

int lsmdb_cursor_del(LSMDB_cursor* cursor) {
  if (cursor == nullptr || !cursor->is_placed) return EINVAL;
  cursor->is_placed = false;
  return mdb_cursor_del(cursor->cursor, 0);
}

// ---- compaction, and the rest

int lsmdb_compact(LSMDB_txn* txn, LSMDB_level, size_t) { return lsmdb_autocompact(txn); }

int lsmdb_autocompact(LSMDB_txn* txn) {
  if (txn == nullptr) return EINVAL;
  return txn->flags & MDB_RDONLY ? EACCES : 0;
}

const char* lsmdb_version(int* major, int* minor, int* patch) {
  if (major != nullptr) *major = MERGEDB_VERSION_MAJOR;
  if (minor != nullptr) *minor = MERGEDB_VERSION_MINOR;
  if (patch != nullptr) *patch = MERGEDB_VERSION_PATCH;
  return "LSMDB on mergedb " MERGEDB_PROJECT_VERSION;
}

int lsmdb_stat(LSMDB_txn* txn, MDB_stat* stat) { return txn == nullptr ? EINVAL : mdb_stat(txn->txn, txn->dbi, stat); }
int lsmdb_env_copy(LSMDB_env* env, const char* path) { return env == nullptr ? EINVAL : mdb_env_copy(env->env, path); }
int lsmdb_env_sync(LSMDB_env* env) { return env == nullptr ? EINVAL : mdb_env_sync(env->env, 1); }
int lsmdb_drop(LSMDB_txn* txn) { return txn == nullptr ? EINVAL : mdb_drop(txn->txn, txn->dbi, 0); }
