// The objects behind the handles of lmdb.h. This folder translates LMDB's calls, flags and codes into the
// transactions, cursors and keyspaces of include/mergedb/. It makes no decision about data. src/txn tells it
// how long the bytes that a transaction shows stay valid.
//
//   MDB_env ─ DB                      MDB_txn ─ Root ─ Transaction         MDB_cursor ─ Cursor
//      └─ slots: MDB_dbi ─ Keyspace      └─ children share the Root: each is a savepoint of its Transaction
//
// In LMDB, returned bytes stay valid until the transaction writes or ends, because they lie in the map. Here, bytes
// in a mapped file or in a memtable are returned in place, and the transaction keeps the file or the memtable. All
// other bytes lie in memory that is reused when a cursor moves, so they are copied into the Root's arena, equal bytes
// once (docs/decisions/0068-lmdb-pointers.md).
// THREADS: as LMDB: all threads may use an env; a transaction and its objects serve one thread at a time.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "db/db_impl.h"
#include "lmdb.h"
#include "lmdb/names.h"
#include "mergedb/transaction.h"
#include "txn/transaction_impl.h"

namespace mergedb::lmdb {

inline constexpr MDB_dbi kFreeDbi = 0;  // LMDB's list of free pages: always empty
inline constexpr MDB_dbi kMainDbi = 1;
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kKeyBytesMax = 511;
inline constexpr unsigned kDupFlags = MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP | MDB_REVERSEDUP;
inline constexpr unsigned kDbiFlags = MDB_REVERSEKEY | MDB_INTEGERKEY | kDupFlags;

// The number of entries in a database, if it is known.
struct Count {
  bool is_known = false;
  uint64_t entries = 0;
};

// A database that has a handle. Slots never move, so reads and writes of data use them without a lock.
struct Slot {
  std::atomic<bool> is_open{false};
  // The program set a comparator for it, which was refused. Calls fail, because programs do not read that code, and
  // would take the bytewise order for theirs.
  std::atomic<bool> is_refused{false};
  std::string name;  // empty: the main database
  unsigned flags = 0;
  Keyspace keyspace;
  Count count;                // (env's mutex) as of the newest commit
  uint64_t changed_from = 0;  // (env's mutex) snapshots from this sequence on see `count`
  // The budget of plain puts for keeping the count: see MayCount. mdb_stat refills it.
  std::atomic<int64_t> count_credit{0};
};

// Memory for returned bytes. A reader's chunks live at least until its transaction ends (retained.cc); each write of a
// write transaction clears them. Equal bytes are kept once: a program may ask for one value any number of times.
class Arena {
 public:
  // So many bytes are kept without a search for equal ones: most transactions show less.
  static constexpr size_t kUnsharedBytes = size_t{64} << 10;
  char* Take(size_t bytes) {
    if (bytes > free_bytes_) Grow(bytes);
    char* const place = next_;
    next_ += bytes;
    free_bytes_ -= bytes;
    return place;
  }
  MDB_val Keep(std::string_view bytes) {
    static char never_null = 0;
    if (bytes.empty()) return {0, &never_null};
    if (kept_bytes_ >= kUnsharedBytes || bytes.size() > kUnsharedBytes) [[unlikely]]
      return KeepOnce(bytes);
    return {bytes.size(), Copy(bytes)};
  }
  void Clear();
  void KeepNewest(size_t chunks);  // frees all but the newest `chunks` chunks
  size_t memory_bytes() const;

 private:
  struct Copied {
    const char* at = nullptr;
    uint32_t bytes = 0;
    uint32_t hash = 0;
  };
  struct Chunk {
    std::unique_ptr<char[]> memory;
    size_t bytes = 0;
  };
  char* Copy(std::string_view bytes) {
    char* const place = Take(bytes.size());
    std::memcpy(place, bytes.data(), bytes.size());
    kept_bytes_ += bytes.size();
    return place;
  }
  MDB_val KeepOnce(std::string_view bytes);
  void GrowTable();
  void Grow(size_t bytes);

  std::vector<Chunk> chunks_;
  size_t kept_bytes_ = 0;
  std::vector<Copied> copies_;  // open addressing, a power of two; at most three quarters are used
  size_t copies_used_ = 0;
  char* next_ = nullptr;
  size_t free_bytes_ = 0;
};

// One Transaction, and the state that it shares with its nested transactions. After the transaction has ended,
// its Root is retained for a while (retained.cc), because returned bytes lie in it.
struct Root {
  std::unique_ptr<txn::TransactionImpl> transaction;
  Arena arena;
  read::PinnedTables kept;  // of the transaction, after it has ended
  std::string scratch;      // a value on its way into the arena

  // Makes an MDB_val of bytes that the transaction, or a cursor of it, showed. Copies them unless they stay valid.
  MDB_val Give(std::string_view shown) {
    if (transaction->Lasts(shown)) return {shown.size(), const_cast<char*>(shown.data())};
    return arena.Keep(shown);
  }
  std::string key_scratch;
  // The last MDB_APPEND. If nothing was written since, a key behind this one is behind all keys.
  MDB_dbi appended_to = kFreeDbi;
  uint64_t appended_at = 0;  // number of writes of the transaction
  uint64_t appended_in = 0;  // their generation: writes may also be dropped
  std::string appended_key;

  // Ends the transaction. The returned bytes stay valid.
  void End();
  // Frees the returned bytes.
  void Forget();
};

// The Root of an ended transaction, and the thread that began the transaction.
struct Retained {
  uint64_t thread = 0;
  std::shared_ptr<Root> root;
  unsigned commits_seen = 0;
};
using RetainedList = std::list<Retained>;  // WHY: its elements move between lists without memory

enum class TxnState : uint8_t { kOpen, kReset, kFailed };

// What a write transaction changes beside the data. A child works on a copy.
struct Changes {
  std::map<MDB_dbi, Count> counts;  // of databases that it wrote to
  std::vector<MDB_dbi> opened;      // handles that it made; closed again if it aborts
  std::vector<MDB_dbi> dropped;     // handles that its commit closes
  uint64_t bytes = 0;               // put, approximately
};

}  // namespace mergedb::lmdb

struct MDB_env {
  unsigned flags = 0;
  bool is_open = false;
  unsigned generation = 0;  // of the process: the child of a fork has another one
  std::string path;
  std::string directory;
  size_t map_bytes = 1048576;
  unsigned readers_max = 126;
  MDB_dbi dbs_max = 0;
  void* user_context = nullptr;
  std::vector<mergedb::lmdb::Slot> slots;
  std::atomic<MDB_dbi> slots_used{2};
  std::atomic<bool> has_names{false};  // named databases may exist
  std::unique_ptr<mergedb::db::DbImpl> db;
  int fd = -1;
  std::atomic<uint64_t> open_pauses{0};  // times that mdb_env_open found the database open elsewhere, and slept

  mergedb::base::Mutex mutex;
  std::vector<MDB_txn*> roots GUARDED_BY(mutex);    // transactions that are open or reset
  unsigned readers_seen GUARDED_BY(mutex) = 0;      // the largest number of readers at once
  uint64_t last_id GUARDED_BY(mutex) = 0;           // of the newest commit
  MDB_txn* committing GUARDED_BY(mutex) = nullptr;  // announced, not published: see mergedb::lmdb::PublishSeen
  uint64_t committing_from GUARDED_BY(mutex) = 0;   // snapshots from this sequence on see its data
  uint64_t used_bytes GUARDED_BY(mutex) = 0;        // approximately; see mergedb::lmdb::CheckMap
  uint64_t measured_bytes GUARDED_BY(mutex) = 0;
  mergedb::lmdb::RetainedList retained GUARDED_BY(mutex);  // oldest first
  int64_t touched_second GUARDED_BY(mutex) = 0;            // clock second in which the time of data.mdb was last set
};

namespace mergedb::lmdb {
// The place of a cursor when a nested transaction began.
struct KeptPlace {
  MDB_cursor* cursor;
  bool is_placed, is_anchored;
  std::string key;
};
}  // namespace mergedb::lmdb

struct MDB_txn {
  MDB_env* env = nullptr;
  MDB_txn* parent = nullptr;
  MDB_txn* child = nullptr;
  unsigned flags = 0;
  std::atomic<mergedb::lmdb::TxnState> state =
      mergedb::lmdb::TxnState::kOpen;  // other threads read a reader's state in CheckReaders
  uint64_t id = 0;
  uint64_t thread = 0;  // that began it
  std::shared_ptr<mergedb::lmdb::Root> root;
  mergedb::lmdb::Changes changes;
  std::vector<MDB_cursor*> cursors;
  std::vector<mergedb::lmdb::KeptPlace> kept_places;  // nested: of the parents' cursors, for an abort
  mergedb::lmdb::RetainedList place;                  // one element, until the transaction ends: see Retain

  bool is_read_only() const { return (flags & MDB_RDONLY) != 0; }
  mergedb::txn::TransactionImpl& transaction() { return *root->transaction; }
};

// LMDB's position is a place in a page: after a delete it is the place of the next item, and it stays with that
// item if keys are put in between. A cursor of include/mergedb/cursor.h stays at the deleted key. Both are
// equal until a key is put, and AnchorGaps keeps them equal then.
struct MDB_cursor {
  MDB_txn* txn = nullptr;  // null: its transaction has ended
  MDB_dbi dbi = 0;
  const mergedb::lmdb::Slot* slot = nullptr;  // of dbi
  // Null: on the list of free pages, its reader was reset, its database was dropped or a nested transaction aborted.
  std::unique_ptr<mergedb::txn::CursorImpl> cursor;
  bool is_read_only = false;
  bool is_placed = false;    // false: the cursor is new, or stands nowhere
  bool is_in_gap = false;    // its item was deleted: MDB_NEXT is the item behind the gap
  bool is_anchored = false;  // in a gap: `cursor` already stands at that item
  // The cursor stands at `key`, or if it is anchored in the gap before `key`, but `cursor` must still move there: after
  // a put, a reset, the abort of a nested transaction, or a move that failed.
  bool is_pending = false;
  std::string key;  // in stored form: the last position
};

namespace mergedb::lmdb {

// ---- codes.cc

int CodeOf(const Status& status);

// Catches all exceptions, since no exception may leave a call.
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
// Differs in the child of a fork. WHY relaxed: the child has only one thread when it changes.
inline unsigned ProcessGeneration() { return process_generation.load(std::memory_order_relaxed); }
// Checks that this process can use the transaction now. CheckWritable checks also that it may write.
inline int CheckTxn(const MDB_txn* txn) {
  if (txn == nullptr) return EINVAL;
  if (txn->env == nullptr || txn->state != TxnState::kOpen || txn->child != nullptr) return MDB_BAD_TXN;
  return txn->env->generation == ProcessGeneration() ? 0 : MDB_BAD_TXN;
}
inline bool IsOpenDbi(const MDB_txn* txn, MDB_dbi dbi) {
  return dbi >= kMainDbi && dbi < txn->env->slots.size() && txn->env->slots[dbi].is_open;
}
// As CheckTxn; also checks that the handle is open. As in LMDB, a bad handle is reported before a bad
// transaction, and for a reader that was reset every handle is bad.
inline int CheckHandle(const MDB_txn* txn, MDB_dbi dbi) {
  if (txn == nullptr) return EINVAL;
  if (txn->env == nullptr || txn->env->generation != ProcessGeneration()) return MDB_BAD_TXN;
  if (txn->state == TxnState::kReset || !IsOpenDbi(txn, dbi)) return EINVAL;
  return CheckTxn(txn);
}
// MDB_INCOMPATIBLE if a comparator was refused for this handle.
inline int CheckOrder(const Slot& slot) { return slot.is_refused ? MDB_INCOMPATIBLE : 0; }
// As CheckHandle and CheckOrder.
inline int CheckDbi(const MDB_txn* txn, MDB_dbi dbi) {
  const int code = CheckHandle(txn, dbi);
  return code != 0 ? code : CheckOrder(txn->env->slots[dbi]);
}
int CheckHandleWritable(const MDB_txn* txn, MDB_dbi dbi);  // as CheckHandle; EACCES for a reader
int CheckWritable(const MDB_txn* txn, MDB_dbi dbi);        // as CheckDbi; EACCES for a reader
void EndAll(MDB_env* env);                                 // for mdb_env_close
// A commit changes the newest id and the counts as well as the data. Readers see the data, and the next writer
// begins, before Transaction::Commit returns in the committing thread. So the first transaction whose snapshot
// includes the data publishes the id and the counts when it begins. If no transaction does, the committing
// thread publishes them. `sequence`: of the snapshot.
void PublishSeen(MDB_env* env, uint64_t sequence, RetainedList* gone) REQUIRES_LOCK(env->mutex);
void CloseSlot(MDB_env* env, MDB_dbi dbi);

// ---- retained.cc

// In LMDB, bytes stay readable until their page is reused, and programs rely on that. So the bytes of an ended
// transaction are kept until the next transaction begins on its thread or its handle, but for at most
// kCommitsOutlasted commits, because they keep tables and memory.
inline constexpr unsigned kCommitsOutlasted = 2;
// Of the arena, the newest chunks are kept, up to this number. A chunk has up to 1 MiB, or more for one larger item.
inline constexpr size_t kChunksRetained = 16;
// Released roots move to *gone; the caller destroys them after it released the mutex.
// Takes the element from *place, so it needs no memory; does nothing if *place is empty or the root is retained
// already.
void Retain(MDB_env* env, RetainedList* place, uint64_t thread, const std::shared_ptr<Root>& root, RetainedList* gone)
    REQUIRES_LOCK(env->mutex);
void ForgetOf(MDB_env* env, uint64_t thread, const Root* root, RetainedList* gone) REQUIRES_LOCK(env->mutex);
void ForgetAfterCommit(MDB_env* env, RetainedList* gone) REQUIRES_LOCK(env->mutex);

// ---- cursor.cc

// Call when the database was dropped: as in LMDB, the cursors on it stand nowhere, those of the parents, too.
void ForgetPlaces(MDB_txn* txn, MDB_dbi dbi);
// The places of the cursors of `txn` and its parents, before a nested transaction begins; and back, after its abort.
// RestorePlaces takes the keys, and does not fail.
std::vector<KeptPlace> KeepPlaces(MDB_txn* txn);
void RestorePlaces(MDB_txn* txn, std::vector<KeptPlace>* kept);
// Call when the cursor's reader is reset: the cursor keeps its position for the renewed reader.
void RestCursor(MDB_cursor* cursor);

// ---- data.cc

// An LMDB key as it is stored, so that the order of bytes is LMDB's order: with MDB_INTEGERKEY the most
// significant byte comes first, with MDB_REVERSEKEY the bytes are reversed. The same function converts back.
// The result may lie in *scratch.
std::string_view TurnedKey(const Slot& slot, std::string_view key, std::string* scratch);
inline std::string_view StoredKey(const Slot& slot, std::string_view key, std::string* scratch) {
  return slot.flags & (MDB_INTEGERKEY | MDB_REVERSEKEY) ? TurnedKey(slot, key, scratch) : key;
}
int CheckKey(const Slot& slot, const MDB_val* key);  // for a put
inline int CheckWantedKey(const MDB_val* key) {
  return key->mv_size == 0 || key->mv_data == nullptr ? MDB_BAD_VALSIZE : 0;
}
inline std::string_view ToStringView(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}
// *value is a view of the root's scratch, or of the place where the bytes lie.
Status GetValue(MDB_txn* txn, MDB_dbi dbi, std::string_view stored_key, std::string_view* value);
int PutItem(MDB_txn* txn, MDB_dbi dbi, MDB_val* key, MDB_val* data, unsigned flags);
// As RefuseName (lmdb/names.h), and as in LMDB only an abort of the transaction follows.
int RefuseDeleteOfName(MDB_txn* txn, MDB_dbi dbi, std::string_view key);
// AnchorGaps: call before a put; cursors in gaps move to the item behind. NoteDeleted: call after a delete;
// cursors at the deleted key are in a gap.
void AnchorGaps(MDB_txn* txn, MDB_dbi dbi);
void NoteDeleted(MDB_txn* txn, MDB_dbi dbi, std::string_view stored_key);
uint64_t NumberOf(DB& db, const char* property);  // 0 if the property is not there
Count& Touch(MDB_txn* txn, MDB_dbi dbi);
void CountChange(MDB_txn* txn, MDB_dbi dbi, int64_t change);
void ForgetCount(MDB_txn* txn, MDB_dbi dbi);
// If the count of entries is not known, mdb_stat reads all keys. To keep the count known, a plain put looks up
// whether its key exists. It does so only while the database has credit: each mdb_stat grants credit for one count
// of all keys. So a program that calls mdb_stat once and then loads data pays for at most about one more count.
inline constexpr int64_t kCountCreditMin = int64_t{1} << 16;  // one unit: one key of a count
bool MayCount(MDB_txn* txn, MDB_dbi dbi, size_t value_bytes);
// The code for a failed write. The transaction may be unusable afterwards, except for abort.
int WriteFailed(MDB_txn* txn, const Status& status);

// ---- place.cc

// Makes `env->directory` from `path` and checks its contents: refuses LMDB's own files, and unpacks an archive
// of mdb_env_copyfd.
int PreparePlace(MDB_env* env, const char* path);
// The queue of the processes that want to open the database for writing. It is in lock.mdb, as locks on its first
// bytes: each process holds a lock on one byte, and moves to the byte before when that is free. The kernel removes a
// process that dies. Without that file, or without locks, everyone is first.
class OpenQueue {
 public:
  explicit OpenQueue(const MDB_env* env);
  ~OpenQueue();
  OpenQueue(const OpenQueue&) = delete;
  OpenQueue& operator=(const OpenQueue&) = delete;
  // Moves up to the first place, or as far as the places before are free; does not wait. True: it is first.
  bool MoveUp();

 private:
  static constexpr int kPlaces = 64;
  int fd_ = -1;
  int place_ = kPlaces;  // behind all places
};
int MarkPlace(MDB_env* env, mdb_mode_t mode);  // makes data.mdb and lock.mdb; call after open
// Call after a commit: programs look at the time of data.mdb.
void TouchPlace(MDB_env* env) REQUIRES_LOCK(env->mutex);

}  // namespace mergedb::lmdb
