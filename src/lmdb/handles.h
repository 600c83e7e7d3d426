// What the handles of lmdb.h stand for. This folder translates: LMDB's calls, flags and codes into transactions, cursors and
// keyspaces of include/mergedb/, and asks src/txn how long what they show will live. It decides nothing about data.
//
//   MDB_env ─ DB                      MDB_txn ─ Root ─ Transaction         MDB_cursor ─ Cursor
//      └─ slots: MDB_dbi ─ Keyspace      └─ children share the Root: each is a savepoint of its Transaction
//
// LMDB's bytes live in its map until the transaction writes or ends. Ours do where they lie in a mapped table, which the transaction keeps;
// all others lie in memory that a cursor leaves when it moves, and are copied into the Root's arena (docs/decisions/0027-mapped-tables.md).
// THREADS: as LMDB: an env is for all threads, a transaction and what belongs to it for one at a time.
#pragma once

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "db/db_impl.h"
#include "lmdb.h"
#include "mergedb/transaction.h"
#include "txn/transaction_impl.h"

namespace mergedb::lmdb {

inline constexpr MDB_dbi kFreeDbi = 0;  // LMDB's list of free pages: always empty
inline constexpr MDB_dbi kMainDbi = 1;
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kKeyBytesMax = 511;
inline constexpr unsigned kDupFlags = MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP | MDB_REVERSEDUP;
inline constexpr unsigned kDbiFlags = MDB_REVERSEKEY | MDB_INTEGERKEY | kDupFlags;

// How many entries a database has: known, or to be counted.
struct Count {
  bool is_known = false;
  uint64_t entries = 0;
};

// A database that has a handle. Slots never move, so that the hot path reads them without a lock.
struct Slot {
  std::atomic<bool> is_open{false};
  std::string name;  // empty: the main one
  unsigned flags = 0;
  Keyspace keyspace;
  Count count;                // (env's mutex) as of the newest commit
  uint64_t changed_from = 0;  // (env's mutex) snapshots from this sequence on see that state
  // What plain puts may still spend on keeping the count: see MayCount. A call of mdb_stat fills it up again.
  std::atomic<int64_t> count_credit{0};
};

// Bytes given out. Chunks are kept until the transaction ends, or, if it writes, until it has.
class Arena {
 public:
  char* Take(size_t bytes) {
    if (bytes > free_bytes_) Grow(bytes);
    char* const place = next_;
    next_ += bytes;
    free_bytes_ -= bytes;
    return place;
  }
  MDB_val Keep(std::string_view bytes) {
    char* const place = Take(bytes.size() + 1);  // never null
    std::memcpy(place, bytes.data(), bytes.size());
    return {bytes.size(), place};
  }
  void Clear();
  void KeepNewest(size_t chunks);  // of what was given out, the rest goes

 private:
  void Grow(size_t bytes);

  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunk_bytes_ = 0;  // of the last one
  char* next_ = nullptr;
  size_t free_bytes_ = 0;
};

// One Transaction, and what the nested ones of a write transaction share. When the transaction has ended, what it gave out is retained for a
// while (retained.cc).
struct Root {
  std::unique_ptr<txn::TransactionImpl> transaction;
  Arena arena;
  read::KeptTables kept;  // of the transaction, once it has ended
  std::string scratch;    // a value on its way into the arena

  // What was shown by the transaction or a cursor of it, as LMDB gives it out.
  MDB_val Give(std::string_view shown) {
    if (transaction->Lasts(shown)) return {shown.size(), const_cast<char*>(shown.data())};
    return arena.Keep(shown);
  }
  std::string key_scratch;
  // The last MDB_APPEND: the next one is behind all keys if it is behind this one and nothing was written in between.
  MDB_dbi appended_to = kFreeDbi;
  uint64_t appended_at = 0;  // writes of the transaction
  std::string appended_key;

  // End the transaction. What it gave out stays.
  void End();
  // What it gave out goes.
  void Forget();
};

// What a transaction that has ended gave out, and to which thread.
struct Retained {
  uint64_t thread = 0;
  std::shared_ptr<Root> root;
  unsigned commits_left = 0;  // that it outlasts
};
using RetainedList = std::vector<Retained>;

enum class TxnState : uint8_t { kOpen, kReset, kFailed };

// What a write transaction changes beside the data; a child works on a copy.
struct Changes {
  std::map<MDB_dbi, Count> counts;  // of databases that it wrote to
  std::vector<MDB_dbi> opened;      // handles made by it: closed again should it abort
  std::vector<MDB_dbi> dropped;     // handles to be closed by its commit
  uint64_t bytes = 0;               // put, about
};

}  // namespace mergedb::lmdb

struct MDB_env {
  unsigned flags = 0;
  bool is_open = false;
  unsigned generation = 0;  // of the process: a child of fork has another one
  std::string path;
  std::string directory;
  size_t map_bytes = 1048576;
  unsigned readers_max = 126;
  MDB_dbi dbs_max = 0;
  void* user_context = nullptr;
  std::vector<mergedb::lmdb::Slot> slots;
  std::atomic<MDB_dbi> slots_used{2};
  std::atomic<bool> has_names{false};  // there may be named databases
  std::unique_ptr<mergedb::db::DbImpl> db;
  int fd = -1;

  mergedb::base::Mutex mutex;
  std::vector<MDB_txn*> roots GUARDED_BY(mutex);    // transactions that are open or reset
  unsigned readers_seen GUARDED_BY(mutex) = 0;      // the most readers at once
  uint64_t last_id GUARDED_BY(mutex) = 0;           // of the newest commit
  MDB_txn* committing GUARDED_BY(mutex) = nullptr;  // announced, not published: see mergedb::lmdb::PublishSeen
  uint64_t committing_from GUARDED_BY(mutex) = 0;   // snapshots from this sequence on see its data
  uint64_t used_bytes GUARDED_BY(mutex) = 0;        // about; see mergedb::lmdb::CheckMap
  uint64_t measured_bytes GUARDED_BY(mutex) = 0;
  std::vector<mergedb::lmdb::Retained> retained GUARDED_BY(mutex);  // oldest first
  int64_t touched_second GUARDED_BY(mutex) = 0;  // of the clock, when the time of data.mdb was last set
};

struct MDB_txn {
  MDB_env* env = nullptr;
  MDB_txn* parent = nullptr;
  MDB_txn* child = nullptr;
  unsigned flags = 0;
  std::atomic<mergedb::lmdb::TxnState> state =
      mergedb::lmdb::TxnState::kOpen;  // of a reader, looked at by others who begin
  uint64_t id = 0;
  uint64_t thread = 0;  // that began it
  std::shared_ptr<mergedb::lmdb::Root> root;
  mergedb::lmdb::Changes changes;
  std::vector<MDB_cursor*> cursors;

  bool is_read_only() const { return (flags & MDB_RDONLY) != 0; }
  mergedb::txn::TransactionImpl& transaction() { return *root->transaction; }
};

// LMDB's position is a place in a page: after a delete it is that of the item behind, and stays with that item whatever is put between.
// include/mergedb/cursor.h's is the key that is gone, which is the same until then: AnchorGaps makes it so.
struct MDB_cursor {
  MDB_txn* txn = nullptr;  // null: its transaction has ended
  MDB_dbi dbi = 0;
  const mergedb::lmdb::Slot* slot = nullptr;  // of dbi
  std::unique_ptr<mergedb::txn::CursorImpl>
      cursor;  // null: of the list of free pages, or its transaction was reset since
  bool is_read_only = false;
  bool is_placed = false;    // not fresh
  bool is_in_gap = false;    // the item where it stood is gone: MDB_NEXT is the item behind the gap
  bool is_anchored = false;  // and `cursor` stands at that item already
  // It stands at `key`, and `cursor` goes there when that matters: after a put, a reset, or a move there that failed.
  bool is_pending = false;
  std::string key;  // as stored, where it stood last
};

namespace mergedb::lmdb {

// ---- codes.cc

int CodeOf(const Status& status);

// No exception leaves a call.
template <typename Body>
int Guard(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) { return ENOMEM; } catch (...) {
    return MDB_PANIC;
  }
}

#define LMDB_RETURN_IF_ERROR(expr)                                                  \
  do {                                                                              \
    if (const int returned_code = (expr); returned_code != 0) return returned_code; \
  } while (0)

// ---- txn.cc

extern std::atomic<unsigned> process_generation;
// Changes in the child of a fork. WHY relaxed: that has one thread.
inline unsigned ProcessGeneration() { return process_generation.load(std::memory_order_relaxed); }
// It can be used now, by this process, and (if asked) written to.
inline int CheckTxn(const MDB_txn* txn) {
  if (txn == nullptr) return EINVAL;
  if (txn->env == nullptr || txn->state != TxnState::kOpen || txn->child != nullptr) return MDB_BAD_TXN;
  return txn->env->generation == ProcessGeneration() ? 0 : MDB_BAD_TXN;
}
inline bool IsOpenDbi(const MDB_txn* txn, MDB_dbi dbi) {
  return dbi >= kMainDbi && dbi < txn->env->slots.size() && txn->env->slots[dbi].is_open;
}
// As CheckTxn, and the handle is one of a database. As in LMDB a handle that is none comes first, and a reader that was reset knows none.
inline int CheckDbi(const MDB_txn* txn, MDB_dbi dbi) {
  if (txn == nullptr) return EINVAL;
  if (txn->env == nullptr || txn->env->generation != ProcessGeneration()) return MDB_BAD_TXN;
  if (txn->state == TxnState::kReset || !IsOpenDbi(txn, dbi)) return EINVAL;
  return CheckTxn(txn);
}
int CheckWritable(const MDB_txn* txn, MDB_dbi dbi);  // as CheckDbi; EACCES for a reader
void EndAll(MDB_env* env);                           // for mdb_env_close
// A commit changes the newest id and the counts beside the data. Readers see the data, and the next writer begins,
// before the committing thread returns from Transaction::Commit. So the first transaction whose snapshot includes the
// data publishes the id and the counts when it begins. If no transaction does, the committing thread publishes them.
// `sequence`: of the snapshot. REQUIRES: env->mutex is held.
void PublishSeen(MDB_env* env, uint64_t sequence, RetainedList* gone);
void CloseSlot(MDB_env* env, MDB_dbi dbi);

// ---- retained.cc

// What LMDB gave out can be read until its page is used again, and programs do so. So what an ended transaction gave out is kept until the
// next one begins on its thread or its handle, but at most for kCommitsOutlasted commits, since it keeps tables and memory.
inline constexpr unsigned kCommitsOutlasted = 2;
// Of what was copied, as many chunks of up to a megabyte are kept: the newest.
inline constexpr size_t kChunksRetained = 16;
// REQUIRES: env->mutex is held. What goes is moved to *gone, to be destroyed when it no longer is.
void Retain(MDB_env* env, uint64_t thread, const std::shared_ptr<Root>& root, RetainedList* gone);
void ForgetOf(MDB_env* env, uint64_t thread, const Root* root, RetainedList* gone);
void ForgetAfterCommit(MDB_env* env, RetainedList* gone);

// ---- cursor.cc

void RestCursor(
    MDB_cursor* cursor);  // its reader is reset: it keeps its place, and goes on there when the reader is renewed

// ---- data.cc

// An LMDB key as it is stored: with MDB_INTEGERKEY most significant byte first, with MDB_REVERSEKEY backwards, so that the order of
// bytes is LMDB's; and back. The result may lie in *scratch.
std::string_view TurnedKey(const Slot& slot, std::string_view key, std::string* scratch);
inline std::string_view StoredKey(const Slot& slot, std::string_view key, std::string* scratch) {
  return slot.flags & (MDB_INTEGERKEY | MDB_REVERSEKEY) ? TurnedKey(slot, key, scratch) : key;
}
int CheckKey(const Slot& slot, const MDB_val* key);  // to be put
inline int CheckWantedKey(const MDB_val* key) {
  return key->mv_size == 0 || key->mv_data == nullptr ? MDB_BAD_VALSIZE : 0;
}
inline std::string_view View(const MDB_val& val) { return {static_cast<const char*>(val.mv_data), val.mv_size}; }
// A view, in the root's scratch or where it lies.
Status GetValue(MDB_txn* txn, MDB_dbi dbi, std::string_view stored_key, std::string_view* value);
int PutItem(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data, unsigned flags);
// MDB_INCOMPATIBLE for a key of the main database that stands for a named one, or why that cannot be told.
int RefuseName(MDB_txn* txn, MDB_dbi dbi, std::string_view key);
// Before a key is put: cursors in gaps take hold of the item behind. After one was deleted: cursors that stood there are in a gap.
void AnchorGaps(MDB_txn* txn, MDB_dbi dbi);
void NoteDeleted(MDB_txn* txn, MDB_dbi dbi, std::string_view stored_key);
Count& Touch(MDB_txn* txn, MDB_dbi dbi);
void CountChange(MDB_txn* txn, MDB_dbi dbi, int64_t change);
void ForgetCount(MDB_txn* txn, MDB_dbi dbi);
// A program that asks for the count of a database between its puts is spared a walk each time: a plain put looks whether its key is there. It may do
// so for as much as a walk would cost, and after that only if the count was asked for again: a program that asks once and then loads does not pay.
inline constexpr int64_t kCountCreditMin = int64_t{1} << 16;  // steps of a walk
bool MayCount(MDB_txn* txn, MDB_dbi dbi, size_t value_bytes);
// A code for a write that failed, which may leave the transaction fit for nothing but abort.
int WriteFailed(MDB_txn* txn, const Status& status);

// ---- place.cc

// Make `env->directory` of `path` and look at what is there: LMDB's own files are refused, an archive of mdb_env_copyfd is unpacked.
int PreparePlace(MDB_env* env, const char* path, mdb_mode_t mode);
int MarkPlace(MDB_env* env, mdb_mode_t mode);  // data.mdb, lock.mdb: once it is open
void TouchPlace(
    MDB_env* env);  // after a commit: LMDB's programs look at the time of data.mdb. REQUIRES: env->mutex is held

}  // namespace mergedb::lmdb
