// The files under the stream. A segment is one block of head and a fixed number of stream bytes, fully written before it
// is used and recycled in place, so that a sync has no metadata to write: a sync of a fresh file costs twice as much.
//
//     live, oldest first                        free
//     |000004 [0, 16M)|000007 [16M, 32M)|       000005  000009        position p: file offset 4096 + (p - base)
//
// Room is owned before it is promised: Reserve makes files until every byte below a position has its place, so the disk can
// fill up only between two frames, never under one that is staged.
//
// A write that fails ends its segment: the bytes go to another one, which speaks for every position from there on. Its
// generation is larger, and of two segments that hold a position replay believes the larger generation.
//
// THREADS: Write, Sync, Prepare and Abandon belong to whoever holds the drain; the rest is for any thread. Lock order:
// creation_mutex_ (held while a file is made, so that two threads do not make two), then mutex_ (the lists).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "wal/frame.h"
#include "wal/wal.h"

namespace mergedb::wal {

class Segments {
 public:
  // On an append-only file system (include/mergedb/env.h) a segment is made when it is used, grows, and is removed after its use.
  // Room for it is not owned beforehand, so a full disk is met by the write; nothing but that it may fail changes for the caller.
  // is_direct: past the page cache; then positions and lengths of Write are multiples of kBlockBytes.
  Segments(const Options& options, bool is_direct, size_t free_bytes_min, Wal::Counters* counters);

  // Take over whole segment files of earlier epochs; remove what cannot be written again.
  Status Adopt(const std::vector<kv::FileNumber>& reusable);

  // Own room for all bytes below `position`. NoSpace or IOError if a file cannot be made.
  Status Reserve(uint64_t position);
  uint64_t capacity() const { return capacity_; }  // stream bytes of one segment
  uint64_t reserved_end() const;

  bool is_appended() const { return is_appended_; }  // Write goes from front to back and repeats nothing

  // (drain) Write at `position` as much as one segment takes; returns how much. Bytes below `from` were written before
  // and are repeated to fill the block. On failure all positions from `from` on move to another segment.
  Result<size_t> Write(uint64_t position, std::string_view bytes, uint64_t from);
  // (drain) Have a segment ready that holds `position`, new from `from` on.
  Status Prepare(uint64_t position, uint64_t from) { return Open(position, from).status(); }
  // (drain) Give up what was written from `from` on.
  void Abandon(uint64_t from);
  // (drain) All that was written is durable. After a failure: never again.
  Status Sync();

  // Segments that end at or below `position` become reusable. REQUIRES: the edit that lists what the last ListFrom returned is durable.
  void Release(uint64_t position);
  std::vector<kv::FileNumber> numbers() const;
  // The segments that replay from `position` may need, for a MANIFEST edit to list. They stay until a later edit is durable.
  std::vector<kv::FileNumber> ListFrom(uint64_t position);
  uint64_t bytes_on_disk() const;
  void Close();

 private:
  struct Segment {
    kv::FileNumber number{};
    std::unique_ptr<File> file;
    uint64_t start = 0;
    bool is_unsynced = false;   // (drain)
    bool is_abandoned = false;  // a write failed: takes no more, is never reused
    bool is_used = false;       // has held something, now or in an earlier epoch

    uint64_t base() const { return RoundDown(start, kBlockBytes); }
  };
  using SegmentPtr = std::shared_ptr<Segment>;
  std::string PathOf(kv::FileNumber number) const;
  SegmentPtr OpenAgain(kv::FileNumber number);
  Result<SegmentPtr> Create();
  Status FillWithZeros(File* file);
  Result<Segment*> Open(uint64_t position, uint64_t from);
  Status Activate(uint64_t start);
  Result<SegmentPtr> TakeFree();
  Status WriteHead(Segment* segment, uint64_t generation);
  Status BeginAppending(const Segment& segment);
  Segment* Find(uint64_t position) const;
  void Remove(kv::FileNumber number);
  void RemoveUnlisted();
  void GiveBackSurplus();
  bool IsListedLocked(kv::FileNumber number) const REQUIRES_LOCK(mutex_);
  uint64_t ReservedEndLocked() const REQUIRES_LOCK(mutex_);

  const Options options_;
  const bool is_direct_;
  const bool is_appended_;
  const uint64_t capacity_;
  const size_t free_count_max_;
  Wal::Counters* const counters_;

  uint64_t generation_ = 0;  // (drain)

  base::Mutex creation_mutex_;
  mutable base::Mutex mutex_;
  std::vector<SegmentPtr> live_ GUARDED_BY(mutex_);  // by start, and by generation; only the drain adds
  std::vector<SegmentPtr> free_ GUARDED_BY(mutex_);
  std::vector<kv::FileNumber> creating_ GUARDED_BY(mutex_);
  std::vector<kv::FileNumber> retired_ GUARDED_BY(mutex_);  // to be removed once no edit lists them
  // INVARIANT: a segment that an edit may list is not removed. Only live segments are listed, so a retired one is never listed anew.
  std::set<kv::FileNumber> listed_ GUARDED_BY(mutex_);      // by the durable edit, and by later ones of unknown outcome
  std::vector<kv::FileNumber> listing_ GUARDED_BY(mutex_);  // what the last ListFrom returned
  uint64_t next_base_ GUARDED_BY(mutex_) = 0;               // where the next segment will begin
};

}  // namespace mergedb::wal
