// Transactions: begin, nested write transactions as savepoints, commit, abort, reset and renew.
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/current.h"
#include "base/hash.h"
#include "lmdb/handles.h"

namespace mergedb::lmdb {

namespace {

constexpr unsigned kBeginFlags = MDB_RDONLY | MDB_NOSYNC | MDB_NOMETASYNC;
constexpr size_t kChunkBytesMin = size_t{4} << 10;
constexpr size_t kChunkBytesMax = size_t{1} << 20;
constexpr size_t kClearedBytesMax = size_t{16} << 20;  // a chunk that Clear keeps

// WHY not pthread_self: a thread that has ended may have left a reader, and a new thread may get its pthread_t.
uint64_t ThisThread() { return base::ThreadNumber(); }

int CheckReaders(MDB_env* env, uint64_t thread) REQUIRES_LOCK(env->mutex) {
  unsigned readers = 0;
  for (const MDB_txn* each : env->roots) {
    if (!each->is_read_only() || each->state != TxnState::kOpen) continue;
    if (!(env->flags & MDB_NOTLS) && each->thread == thread) return MDB_BAD_RSLOT;
    ++readers;
  }
  if (readers >= env->readers_max) return MDB_READERS_FULL;
  env->readers_seen = std::max(env->readers_seen, readers + 1);
  return 0;
}

TransactionOptions OptionsOf(const MDB_env* env, unsigned flags) {
  const unsigned all = env->flags | flags;
  const bool is_lazy = (all & (MDB_NOSYNC | MDB_NOMETASYNC)) || ((all & MDB_WRITEMAP) && (all & MDB_MAPASYNC));
  return {.kind = flags & MDB_RDONLY ? TransactionKind::kReadOnly : TransactionKind::kSingleWriter,
          .durability = is_lazy ? Durability::kProcessCrash : Durability::kSynced,
          .bytes_max = kBatchBytesMax,
          .name = "lmdb"};
}

// Takes a snapshot, or the writers' lock.
Status BeginRoot(MDB_txn* txn) {
  auto& transaction = txn->root->transaction;
  if (transaction != nullptr) return transaction->BeginAgain();
  ASSIGN_OR_RETURN(transaction, txn::TransactionImpl::Begin(*txn->env->db, txn->env->db->transactions(),
                                                            OptionsOf(txn->env, txn->flags)));
  return {};
}

int NoteBegun(MDB_env* env, MDB_txn* txn, const Status& status, RetainedList* gone) REQUIRES_LOCK(env->mutex) {
  if (!status.ok()) return CodeOf(status);
  PublishSeen(env, txn->transaction().sequence(), gone);
  // WHY: a writer holds the writers' lock here, so an announced commit that its snapshot does not include has failed.
  if (!txn->is_read_only()) env->committing = nullptr;
  ForgetOf(env, txn->thread, txn->root.get(), gone);
  txn->id = env->last_id + (txn->is_read_only() ? 0 : 1);
  if (txn->state != TxnState::kReset) env->roots.push_back(txn);
  txn->state = TxnState::kOpen;
  return 0;
}

// Begins a transaction without a parent. WHY a reader begins under the mutex: it does not wait, and locks the
// mutex only once. A writer may wait for the writers' lock, so it takes the mutex afterwards.
int Start(MDB_txn* txn) {
  MDB_env* const env = txn->env;
  if (txn->place.empty()) txn->place.emplace_back();
  txn->thread = ThisThread();
  RetainedList gone;  // destroyed after the lock is released
  if (!txn->is_read_only()) {
    const Status begun = BeginRoot(txn);
    base::Lock lock(env->mutex);
    return NoteBegun(env, txn, begun, &gone);
  }
  base::Lock lock(env->mutex);
  LMDB_RETURN_IF_ERROR(CheckReaders(env, txn->thread));
  return NoteBegun(env, txn, BeginRoot(txn), &gone);
}

int StartChild(MDB_txn* txn) {
  txn->kept_places = KeepPlaces(txn->parent);
  if (const Status status = txn->transaction().SetSavepoint(); !status.ok()) return CodeOf(status);
  txn->id = txn->parent->id;
  txn->changes = txn->parent->changes;
  txn->changes.opened.clear();
  txn->parent->child = txn;
  return 0;
}

// As in LMDB, the cursors of a write transaction end with it, and the program closes those of a reader.
void ReleaseCursors(MDB_txn* txn) {
  for (MDB_cursor* cursor : txn->cursors) {
    cursor->cursor = nullptr;
    cursor->txn = nullptr;
    if (!cursor->is_read_only) delete cursor;
  }
  txn->cursors.clear();
}

void LeaveEnvironment(MDB_txn* txn) {
  if (txn->env == nullptr) return;
  RetainedList gone;
  base::Lock lock(txn->env->mutex);
  std::erase(txn->env->roots, txn);
  if (txn->env->generation == ProcessGeneration()) Retain(txn->env, &txn->place, txn->thread, txn->root, &gone);
}

// In the child of a fork, the objects of the parent's threads are not destroyed: they leak.
void Abandon(MDB_txn* txn) {
  for (MDB_cursor* cursor : txn->cursors) (void)cursor->cursor.release();
  if (txn->root != nullptr) (void)txn->root->transaction.release();
  txn->env = nullptr;
}

void Free(MDB_txn* txn) {
  if (txn->env != nullptr && txn->env->generation != ProcessGeneration()) Abandon(txn);
  ReleaseCursors(txn);
  if (txn->parent != nullptr) {
    txn->parent->child = nullptr;
  } else {
    LeaveEnvironment(txn);
  }
  delete txn;
}

int CommitChild(MDB_txn* txn) {
  MDB_txn* const parent = txn->parent;
  auto opened = parent->changes.opened;
  opened.insert(opened.end(), txn->changes.opened.begin(), txn->changes.opened.end());
  const Status status = txn->transaction().ReleaseSavepoint();
  parent->changes = std::move(txn->changes);
  parent->changes.opened = std::move(opened);
  Free(txn);
  return CodeOf(status);
}

// WHY not the transaction's own sequence: the creation of a named database may take a sequence before the commit.
// WHY + 1: no other transaction commits until this one has ended.
void AnnounceCommit(MDB_txn* txn) {
  MDB_env* const env = txn->env;
  const uint64_t before = env->db->GetSnapshot()->sequence();
  base::Lock lock(env->mutex);
  env->committing = txn;
  env->committing_from = before + 1;
}

// Needs no memory: the commit may be durable already.
void Publish(MDB_env* env, RetainedList* gone) REQUIRES_LOCK(env->mutex) {
  const MDB_txn* const txn = std::exchange(env->committing, nullptr);
  env->last_id = txn->id;
  env->used_bytes += txn->changes.bytes;
  TouchPlace(env);
  ForgetAfterCommit(env, gone);
  for (const auto& [dbi, count] : txn->changes.counts) {
    env->slots[dbi].count = count;
    env->slots[dbi].changed_from = env->committing_from;
  }
}

// Publishes the announced commit, or withdraws it if it failed. Does nothing if another transaction has published it.
void EndCommit(MDB_txn* txn, bool is_committed) {
  MDB_env* const env = txn->env;
  RetainedList gone;
  base::Lock lock(env->mutex);
  if (env->committing != txn) return;
  if (is_committed) Publish(env, &gone);
  env->committing = nullptr;
}

// Memory may run out before the commit, and not after it: Publish and Free need none.
int CommitAnnounced(MDB_txn* txn) {
  if (txn->transaction().writes() > 0) AnnounceCommit(txn);
  txn->root->kept = txn->transaction().TakeKept();
  return CodeOf(txn->transaction().Commit());
}

int CommitRoot(MDB_txn* txn) {
  const int code = Guard([txn] { return CommitAnnounced(txn); });
  EndCommit(txn, code == 0);
  for (const MDB_dbi dbi : code == 0 ? txn->changes.dropped : txn->changes.opened) CloseSlot(txn->env, dbi);
  txn->root->End();  // if memory ran out: it still has the writers' lock
  Free(txn);
  return code;
}

void Abort(MDB_txn* txn) {
  if (txn->child != nullptr) Abort(txn->child);
  if (txn->env != nullptr && txn->env->generation == ProcessGeneration()) {
    for (const MDB_dbi dbi : txn->changes.opened) CloseSlot(txn->env, dbi);
    if (txn->parent != nullptr) {
      (void)txn->transaction().RollbackToSavepoint();
      RestorePlaces(txn->parent, &txn->kept_places);
      txn->root->appended_to = kFreeDbi;  // another key may be the last one now, at the same number of writes
    } else {
      txn->root->End();
    }
  }
  Free(txn);
}

// A nested transaction that cannot be committed for want of memory is aborted.
int CommitOrAbortChild(MDB_txn* txn) {
  try {
    return CommitChild(txn);
  } catch (const std::bad_alloc&) {
    Abort(txn);
    return ENOMEM;
  }
}

}  // namespace

std::atomic<unsigned> process_generation{0};
[[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { ++process_generation; });

void Arena::Clear() {
  kept_bytes_ = copies_used_ = 0;
  if (!copies_.empty()) [[unlikely]]
    copies_ = {};
  if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
  if (chunks_.empty()) return;
  if (chunks_.back().bytes > kClearedBytesMax) chunks_.clear();
  next_ = chunks_.empty() ? nullptr : chunks_.back().memory.get();
  free_bytes_ = chunks_.empty() ? 0 : chunks_.back().bytes;
}

void Arena::KeepNewest(size_t chunks) {
  copies_ = {};
  copies_used_ = 0;
  if (chunks_.size() > chunks) chunks_.erase(chunks_.begin(), chunks_.end() - static_cast<ptrdiff_t>(chunks));
}

size_t Arena::memory_bytes() const {
  size_t bytes = copies_.size() * sizeof(Copied);
  for (const Chunk& chunk : chunks_) bytes += chunk.bytes;
  return bytes;
}

void Arena::Grow(size_t bytes) {
  const size_t before = chunks_.empty() ? 0 : chunks_.back().bytes;
  const size_t chunk_bytes = std::max(bytes, std::clamp(2 * before, kChunkBytesMin, kChunkBytesMax));
  chunks_.push_back({.memory = std::make_unique_for_overwrite<char[]>(chunk_bytes), .bytes = chunk_bytes});
  next_ = chunks_.back().memory.get();
  free_bytes_ = chunk_bytes;
}

MDB_val Arena::KeepOnce(std::string_view bytes) {
  if (4 * copies_used_ >= 3 * copies_.size()) GrowTable();
  const auto hash = static_cast<uint32_t>(base::Hash64(bytes));
  size_t at = hash & (copies_.size() - 1);
  for (; copies_[at].at != nullptr; at = (at + 1) & (copies_.size() - 1)) {
    const Copied& copied = copies_[at];
    if (copied.hash == hash && std::string_view(copied.at, copied.bytes) == bytes)
      return {bytes.size(), const_cast<char*>(copied.at)};
  }
  char* const place = Copy(bytes);
  copies_[at] = {.at = place, .bytes = static_cast<uint32_t>(bytes.size()), .hash = hash};
  ++copies_used_;
  return {bytes.size(), place};
}

void Arena::GrowTable() {
  std::vector<Copied> larger(std::max<size_t>(16, 2 * copies_.size()));
  for (const Copied& each : copies_) {
    if (each.at == nullptr) continue;
    size_t at = each.hash & (larger.size() - 1);
    while (larger[at].at != nullptr) at = (at + 1) & (larger.size() - 1);
    larger[at] = each;
  }
  copies_ = std::move(larger);
}

int CheckHandleWritable(const MDB_txn* txn, MDB_dbi dbi) {
  const int code = CheckHandle(txn, dbi);
  return code != EINVAL && txn->is_read_only() ? EACCES : code;
}

int CheckWritable(const MDB_txn* txn, MDB_dbi dbi) {
  const int code = CheckHandleWritable(txn, dbi);
  return code != 0 ? code : CheckOrder(txn->env->slots[dbi]);
}

void PublishSeen(MDB_env* env, uint64_t sequence, RetainedList* gone) {
  if (env->committing != nullptr && sequence >= env->committing_from) Publish(env, gone);
}

void EndAll(MDB_env* env) {
  std::vector<MDB_txn*> roots;
  RetainedList gone;
  {
    base::Lock lock(env->mutex);
    roots.swap(env->roots);
    gone.swap(env->retained);
  }
  for (MDB_txn* root : roots) {
    for (MDB_txn* each = root; each != nullptr; each = each->child) {
      for (MDB_cursor* cursor : each->cursors) cursor->cursor = nullptr;
      each->env = nullptr;
    }
    root->root->transaction = nullptr;
    root->root->kept.Clear();
    root->root->arena = Arena();
  }
}

}  // namespace mergedb::lmdb

using namespace mergedb::lmdb;

int mdb_txn_begin(MDB_env* env, MDB_txn* parent, unsigned int flags, MDB_txn** txn) {
  return Guard([&]() -> int {
    if (env == nullptr || txn == nullptr || !env->is_open || env->generation != ProcessGeneration()) return EINVAL;
    flags &= kBeginFlags;
    if (env->flags & MDB_RDONLY & ~flags) return EACCES;
    if (parent != nullptr) {
      if (parent->is_read_only()) return EINVAL;
      if (flags & MDB_RDONLY) return MDB_BAD_TXN;
      LMDB_RETURN_IF_ERROR(CheckTxn(parent));
    }
    auto made = std::make_unique<MDB_txn>();
    made->env = env;
    made->parent = parent;
    made->flags = flags;
    made->root = parent != nullptr ? parent->root : std::make_shared<Root>();
    LMDB_RETURN_IF_ERROR(parent != nullptr ? StartChild(made.get()) : Start(made.get()));
    *txn = made.release();
    return 0;
  });
}

MDB_env* mdb_txn_env(MDB_txn* txn) { return txn == nullptr ? nullptr : txn->env; }
size_t mdb_txn_id(MDB_txn* txn) { return txn == nullptr ? 0 : txn->id; }

int mdb_txn_commit(MDB_txn* txn) {
  return Guard([&]() -> int {
    if (txn == nullptr) return EINVAL;
    if (txn->child != nullptr) {
      if (const int code = mdb_txn_commit(txn->child); code != 0) {
        Abort(txn);
        return code;
      }
    }
    const int code = txn->is_read_only() && txn->state == TxnState::kReset ? 0 : CheckTxn(txn);
    // As in LMDB, a commit hands the failure on, and an abort does not.
    if (txn->state == TxnState::kFailed && txn->parent != nullptr) txn->parent->state = TxnState::kFailed;
    if (code != 0 || txn->is_read_only()) {
      if (code == 0) txn->changes.opened.clear();  // handles that a reader opened stay open
      Abort(txn);
      return code;
    }
    return txn->parent != nullptr ? CommitOrAbortChild(txn) : CommitRoot(txn);
  });
}

void mdb_txn_abort(MDB_txn* txn) {
  if (txn != nullptr) (void)Guard([&] { return Abort(txn), 0; });
}

void mdb_txn_reset(MDB_txn* txn) {
  (void)Guard([&] {
    if (txn == nullptr || !txn->is_read_only() || CheckTxn(txn) != 0) return 0;
    for (MDB_cursor* cursor : txn->cursors) RestCursor(cursor);
    txn->root->End();  // mdb_txn_renew begins it again
    txn->state = TxnState::kReset;
    RetainedList gone;
    mergedb::base::Lock lock(txn->env->mutex);
    Retain(txn->env, &txn->place, txn->thread, txn->root, &gone);
    return 0;
  });
}

int mdb_txn_renew(MDB_txn* txn) {
  return Guard([&]() -> int {
    if (txn == nullptr || !txn->is_read_only() || txn->state != TxnState::kReset) return EINVAL;
    if (txn->env == nullptr || txn->env->generation != ProcessGeneration()) return EINVAL;
    return Start(txn);
  });
}
