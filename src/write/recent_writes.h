// Which keys were written of late: what an optimistic transaction is checked against when it commits.
//
//   commits    ... | #81-#90 | #91 | #92-#99 | pending            a chunk a commit group; keys and ranges only, no values
//                  |<- WriteIndex ->|                             by key
//   transaction began at #90, checked ahead to #91  ->  in the turn it looks at #92-#99 and at what is pending
//
// Writers append, and that is all. Who checks (CheckAhead) first brings the index up to date with the chunks, outside of the turn:
// then the check costs what the transaction read, not what all others wrote since it began.
//
// Nothing is kept while there are no such transactions, and nothing costs anything then. The first one starts the recording,
// in a turn, so that what was committed before it is known to be published; it goes on until the window is full and nobody
// is left. The window is bounded: its oldest chunks go, and a transaction that began before them is a conflict without a key.
//
// A check in the turn keeps all writers waiting: it looks only at the chunks that came after the check ahead.
//
// WHY not the memtables, which hold the newest writes anyway (docs/decisions/0006-transactions-room.md): a flush would take
// them away from every transaction that is open. Tests: tests/unit/write/recent_writes_test.cc.
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

// What one transaction read, as the window asks it.
class ReadCheck {
 public:
  virtual ~ReadCheck() = default;
  // Conflict if one of these is of what was read: records of a batch (format/batch.h), DELETE for a key and RANGE_DELETE
  // for a range, whatever was done to them.
  virtual Status CheckAgainst(std::string_view written) = 0;
  // The same of what the index knows to have been written after `since`.
  virtual Status CheckAgainst(const WriteIndex& index, kv::Sequence since) = 0;

  // Writes up to here are in what it read, or were found not to touch it. At first the transaction's snapshot.
  kv::Sequence checked_to = 0;
};

class RecentWrites {
 public:
  // `bytes_max` is of the chunks with what the index takes for them.
  RecentWrites(const kv::Order& order, size_t bytes_max) : bytes_max_(bytes_max), index_(order) {}

  // ---- transactions. THREADS: any.

  // From now on there is one more. True: StartRecording is owed, in a turn, before its snapshot is taken.
  bool Enter();
  void Leave();
  // OK, with checked_to moved on, or Conflict.
  Status CheckAhead(ReadCheck* reads);

  // ---- the holder of the turn

  // Everything after `published` is recorded from here on.
  void StartRecording(kv::Sequence published);
  bool is_recording() const { return is_recording_.load(std::memory_order_acquire); }
  // Of a member of a group, after those before it.
  Status Check(ReadCheck* reads);
  void Add(const Change& change);
  // What was added is being published, up to `last`; or came to nothing. The former before readers see it.
  void Publish(kv::Sequence last);
  void Discard();

  size_t bytes() const;  // held

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
  // Those after `sequence`; and from where on all are there.
  kv::Sequence NewerThan(kv::Sequence sequence, std::vector<ChunkPtr>* chunks) const;
  static Status CheckRemembered(kv::Sequence checked_to, kv::Sequence complete_from);
  kv::Sequence CatchUp() REQUIRES_LOCK(index_mutex_);
  void MakeRoom(size_t bytes) REQUIRES_LOCK(mutex_);
  void StopRecording() REQUIRES_LOCK(mutex_);

  const size_t bytes_max_;
  std::atomic<bool> is_recording_{false};
  std::string pending_;           // (turn)
  size_t pending_records_ = 0;    // (turn)
  bool is_pending_lost_ = false;  // (turn) a batch of the group has more bytes than the window keeps

  base::Mutex index_mutex_;  // before mutex_; never taken in the turn
  WriteIndex index_ GUARDED_BY(index_mutex_);
  kv::Sequence indexed_to_ GUARDED_BY(index_mutex_) = 0;

  mutable base::Mutex mutex_;
  size_t transactions_ GUARDED_BY(mutex_) = 0;
  std::deque<ChunkPtr> chunks_ GUARDED_BY(mutex_);  // oldest first
  size_t bytes_ GUARDED_BY(mutex_) = 0;
  kv::Sequence complete_from_ GUARDED_BY(mutex_) = kv::kSequenceMax;  // all writes from here on are in chunks_
};

}  // namespace mergedb::write
