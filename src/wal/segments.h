// The WAL segment files. A segment is one head block and a number of stream bytes, its capacity. It is written in full
// before its first use and recycled in place, so a sync has no metadata to write. A sync of a new file costs twice as
// much. The first segment is small, and each new one has twice the capacity of the one before, up to
// Options::segment_bytes: a database that writes little keeps small files.
//
//     live, oldest first                        free
//     |000004 [0, 16M)|000007 [16M, 32M)|       000005  000009        position p: file offset 4096 + (p - base)
//
// Reserve makes files until every byte below a position has its place. A commit that will be synced reserves before
// its frame enters the buffer, so a full disk stops it between two frames.
//
// The stream in the segments may have gaps: if tables hold all bytes below a mark, and no segment holds bytes above it,
// Restart continues at the mark.
//
// If a write fails, its segment ends there: the bytes go to another segment, which holds every position from there
// on. The new segment has a larger generation. If two segments hold a position, replay takes the larger generation.
//
// THREADS: the holder of the WAL writer (WalWriter::Hold) calls Write, Sync, Prepare, Abandon and Restart; methods
// marked (writer) REQUIRE it. Any thread calls the other methods.
// Lock order: creation_mutex_ (held while a file is made, so that two threads do not make two files), then
// mutex_ (the lists).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "wal/frame.h"
#include "wal/wal_options.h"

namespace mergedb::wal {

class Segments {
 public:
  // On an append-only file system (include/mergedb/env.h) a segment is made when its use begins, grows, and
  // is removed after its use. Its space is not reserved, so the write itself may find the disk full; callers
  // see only that a write may fail. is_direct: bypass the page cache. Positions and lengths of Write are then
  // multiples of kBlockBytes.
  Segments(const Options& options, bool is_direct, size_t free_bytes_min, Counters* counters);

  // Takes over whole segment files of earlier epochs; removes files that cannot be written again.
  Status Adopt(const std::vector<kv::FileNumber>& reusable);

  // Reserves space for all bytes below `position`. NoSpace or IOError if a file cannot be made.
  Status Reserve(uint64_t position);
  uint64_t capacity_max() const { return capacity_max_; }  // stream bytes of the largest segment
  uint64_t reserved_end() const;

  // If true, Write goes from front to back and writes no byte twice.
  bool is_appended() const { return is_appended_; }

  // (writer) Writes at `position` as many bytes as one segment takes, and returns their number. Bytes below
  // `from` were written before; they repeat to fill the block. On failure all positions from `from` on move
  // to another segment.
  Result<size_t> Write(uint64_t position, std::string_view bytes, uint64_t from);
  // (writer) Prepares a segment that holds `position`; a new segment begins at `from` or above.
  Status Prepare(uint64_t position, uint64_t from) { return Open(position, from).status(); }
  // (writer) Gives up all bytes that were written from `from` on.
  void Abandon(uint64_t from);
  // (writer) The next write begins at `mark`. An unused part of the newest segment is used again. REQUIRES: tables hold
  // all bytes below the mark, as a durable VersionEdit says; no segment holds bytes above it.
  void Restart(const Mark& mark);
  // (writer) Makes all written bytes durable. REQUIRES: no earlier call failed.
  Status Sync();

  // Segments that end at or below `position` become reusable. REQUIRES: the VersionEdit that lists the
  // segments of the last ListFrom is durable.
  void Release(uint64_t position);
  // (writer) After Restart, before the first write: gives back all files. The next segment is small again.
  void GiveBack();
  // (exclusive) Gives back the reusable files, but those that hold the positions up to `end`. False if there is none.
  bool GiveBackReusable(uint64_t end);
  // After the last Write: removes all files but those of the last ListFrom. REQUIRES: as Release.
  void RemoveUnneeded();
  std::vector<kv::FileNumber> numbers() const;
  // The segments that replay from `position` may need, for a VersionEdit to list. They stay until a later
  // edit is durable. kNothing: no replay needs a segment, and no more bytes come.
  std::vector<kv::FileNumber> ListFrom(uint64_t position);
  uint64_t bytes_on_disk() const;
  uint64_t live_bytes_on_disk() const;
  void Close();

 private:
  struct Segment {
    kv::FileNumber number{};
    std::unique_ptr<File> file;
    uint64_t capacity = 0;
    uint64_t start = 0;
    bool is_unsynced = false;   // (writer)
    bool is_abandoned = false;  // a write failed: takes no more bytes, is never reused
    bool is_used = false;       // has held stream bytes, now or in an earlier epoch

    uint64_t base() const { return RoundDown(start, kBlockBytes); }
    uint64_t limit() const { return base() + capacity; }
  };
  using SegmentPtr = std::shared_ptr<Segment>;
  std::string PathOf(kv::FileNumber number) const;
  SegmentPtr OpenAgain(kv::FileNumber number);
  Result<SegmentPtr> Create() REQUIRES_LOCK(creation_mutex_);
  Status FillWithZeros(const Segment& segment);
  Result<Segment*> Open(uint64_t position, uint64_t from);
  Status Activate(uint64_t start);
  Result<SegmentPtr> TakeFree();
  Status WriteHead(Segment* segment, uint64_t generation);
  bool RestartInPlace(const Mark& mark);
  bool IsRestart(uint64_t start) const;
  Status BeginAppending(const Segment& segment);
  Segment* Find(uint64_t position) const;
  void Remove(kv::FileNumber number);
  void RemoveUnlisted();
  void GiveBackSurplus();
  uint64_t FreeBytesLocked() const REQUIRES_LOCK(mutex_);
  bool IsListedLocked(kv::FileNumber number) const REQUIRES_LOCK(mutex_);
  uint64_t ReservedEndLocked() const REQUIRES_LOCK(mutex_);

  const Options options_;
  const bool is_direct_;
  const bool is_appended_;
  const uint64_t capacity_max_;
  const uint64_t free_bytes_max_;
  Counters* const counters_;

  uint64_t generation_ = 0;           // (writer)
  std::optional<Mark> restart_ = {};  // (writer) of the last Restart; bytes below it are in no segment

  base::Mutex creation_mutex_;
  uint64_t next_capacity_ GUARDED_BY(creation_mutex_);
  mutable base::Mutex mutex_;
  // By start, and by generation. Only the holder of the WAL writer adds.
  std::vector<SegmentPtr> live_ GUARDED_BY(mutex_);
  std::vector<SegmentPtr> free_ GUARDED_BY(mutex_);
  std::vector<kv::FileNumber> creating_ GUARDED_BY(mutex_);
  std::vector<SegmentPtr> retired_ GUARDED_BY(mutex_);  // to remove once no edit lists them
  // INVARIANT: a segment that a VersionEdit may list is not removed. Only live segments are listed, so no
  // later edit lists a retired one.
  std::set<kv::FileNumber> listed_ GUARDED_BY(mutex_);      // by the durable edit and later ones of unknown outcome
  std::vector<kv::FileNumber> listing_ GUARDED_BY(mutex_);  // the result of the last ListFrom
  uint64_t next_base_ GUARDED_BY(mutex_) = 0;               // where the next segment will begin
};

}  // namespace mergedb::wal
