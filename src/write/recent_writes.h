// The keys of recent writes. The commit of an optimistic transaction is checked against them.
//
//   commits    ... | #81-#90 | #91 | #92-#99 | pending            a chunk per commit group; keys and ranges, no values
//                  |<- WriteIndex ->|                             by key
//   transaction began at #90, checked ahead to #91  ->  in the exclusive section check #92-#99 and pending
//
// A writer only appends. CheckAhead first adds the new chunks to the index, outside of the exclusive section:
// the check then costs what the transaction read, not what other writers wrote since it began. The check in
// the exclusive section delays all writers, so it covers only the chunks after the check ahead.
//
// Without optimistic transactions nothing is recorded and nothing costs time. The first one starts the
// recording in an exclusive section, so that all earlier commits are published. The recording ends when the
// window is full and no transaction is left. The window is bounded: its oldest chunks are dropped, and a
// transaction that began before them fails with a conflict without a key.
//
// WHY not the memtables, which hold the newest writes anyway (docs/decisions/0006-transactions-room.md): a
// flush would take them away from every open transaction. Tests: tests/unit/write/recent_writes_test.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "kv/key.h"
#include "kv/order.h"
#include "mergedb/status.h"
#include "write/write_index.h"

namespace mergedb::write {

struct Change;

// The reads of one transaction.
class ReadCheck {
 public:
  virtual ~ReadCheck() = default;
  // Conflict if the transaction read a key of `written`: records of a batch (format/batch.h), DELETE for a
  // key and RANGE_DELETE for a range, whatever the write was.
  virtual Status CheckAgainst(std::string_view written) = 0;
  // Conflict if, according to the index, a key that the transaction read was written after `since`.
  virtual Status CheckAgainst(const WriteIndex& index, kv::Sequence since) = 0;

  // The transaction's reads include, or do not touch, all writes up to here. Initially the transaction's snapshot.
  kv::Sequence checked_to = 0;
};

class RecentWrites {
 public:
  // `bytes_max`: of the chunks plus their share of the index.
  RecentWrites(const kv::Order& order, size_t bytes_max) : bytes_max_(bytes_max), index_(order) {}

  // ---- For transactions. THREADS: any.

  // Counts a new transaction. True: the caller must call StartRecording, in an exclusive section, before it
  // takes the snapshot.
  bool Enter();
  void Leave();
  // OK, with checked_to advanced, or Conflict.
  Status CheckAhead(ReadCheck* reads);

  // ---- For the holder of the exclusive section.

  // Records all writes after `published` from now on.
  void StartRecording(kv::Sequence published);
  bool is_recording() const { return is_recording_.load(std::memory_order_acquire); }
  // Checks a member of a group. REQUIRES: Add was called for the members before it.
  Status Check(ReadCheck* reads);
  void Add(const Change& change);
  // The added writes are published, up to `last`, or were dropped. Call Publish before readers see them.
  void Publish(kv::Sequence last);
  void Discard();

  size_t bytes() const;  // held by the chunks

 private:
  struct Chunk {
    kv::Sequence last = 0;
    std::string written;
    size_t records = 0;
  };
  using ChunkPtr = std::shared_ptr<const Chunk>;
  static constexpr size_t kChunkOverheadBytes = 96;

  static size_t BytesOf(const Chunk& chunk) {
    return kChunkOverheadBytes + chunk.written.size() + chunk.records * WriteIndex::kKeyOverheadBytes;
  }
  // Returns the chunks after `sequence`, and the sequence from which on the chunks are complete.
  kv::Sequence NewerThan(kv::Sequence sequence, std::vector<ChunkPtr>* chunks) const;
  static Status CheckRemembered(kv::Sequence checked_to, kv::Sequence complete_from);
  kv::Sequence CatchUp() REQUIRES_LOCK(index_mutex_);
  void MakeRoom(size_t bytes) REQUIRES_LOCK(mutex_);
  void StopRecording() REQUIRES_LOCK(mutex_);

  const size_t bytes_max_;
  std::atomic<bool> is_recording_{false};
  std::string pending_;           // guarded by the exclusive section
  size_t pending_records_ = 0;    // guarded by the exclusive section
  bool is_pending_lost_ = false;  // guarded likewise; a batch of the group has more bytes than the window

  base::Mutex index_mutex_;  // before mutex_; never taken in the exclusive section
  WriteIndex index_ GUARDED_BY(index_mutex_);
  kv::Sequence indexed_to_ GUARDED_BY(index_mutex_) = 0;

  mutable base::Mutex mutex_;
  size_t transactions_ GUARDED_BY(mutex_) = 0;
  std::deque<ChunkPtr> chunks_ GUARDED_BY(mutex_);  // oldest first
  size_t bytes_ GUARDED_BY(mutex_) = 0;
  // All writes from here on are in chunks_.
  kv::Sequence complete_from_ GUARDED_BY(mutex_) = kv::kSequenceMax;
};

}  // namespace mergedb::write
