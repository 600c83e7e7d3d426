// Questions that the strategies ask about a version: what blocks a compaction, how large the parts are, and
// how to build the pick.
//
// A run is named by its index in Version::runs(): 0 is the newest. A Span is a range of consecutive runs.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "picker/compaction_pick.h"
#include "picker/picker.h"

namespace mergedb::picker {

struct Span {
  size_t newest = 0;  // both included; newest <= oldest
  size_t oldest = 0;
};

inline constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// True if a running compaction overlaps `span` and `bounds` in both positions and keys.
bool IsHeld(const PickInput& input, Span span, const format::Bounds& bounds);
// True if the runs of `span` have unreadable keys in `bounds`.
bool IsUnreadable(const PickInput& input, Span span, const format::Bounds& bounds);
// One of the two.
bool IsBlocked(const PickInput& input, Span span, const format::Bounds& bounds);
// True if no running compaction has this run in its range of positions, and if all of its keys are readable.
bool IsFree(const PickInput& input, size_t index);
// The unreadable keys of all runs; empty if there are none.
std::span<const UnreadableKeys> UnreadableOf(const PickInput& input);
// True if `running` includes the oldest run. All other compactions leave at least the oldest run alone.
bool ReachesOldest(const PickInput& input, const RunningCompaction& running);

// True if a run older than the span shows a key between the smallest and the largest key that the span shows
// in `bounds`.
bool AnyKeyBelow(const kv::Order& order, const version::Version& version, Span span, const format::Bounds& bounds);

// True if the runs can move instead of being rewritten: no virtual tables of two of them overlap, and the tables of
// all runs but the oldest have on average at least a quarter of `flush_bytes` (smaller tables are better compacted).
bool CanMove(const PickInput& input, Span span);

// The number of virtual tables of a run that show the same file.
class VirtualTableShares {
 public:
  explicit VirtualTableShares(const version::Run& run);
  uint64_t Of(const version::VirtualTable& virtual_table) const {
    return virtual_table.is_whole() ? 1 : counts_.at(virtual_table.file->number);
  }

 private:
  std::map<kv::FileNumber, uint64_t> counts_;  // of files that the run shows in part
};

// The bytes of the files that show keys in `bounds`. A file with several virtual tables in the run counts in shares.
uint64_t BytesWithin(const kv::Order& order, const version::Run& run, const format::Bounds& bounds);

// The bytes of the runs from index `begin` up to `end`, with the values that they refer to.
uint64_t BytesOf(const PickInput& input, size_t begin, size_t end);

// The allowed bytes on disk: `factor` times the bytes after a full compaction, plus `slack_bytes`.
struct SpaceBound {
  double factor = 2.0;
  uint64_t slack_bytes = 0;
};
SpaceBound BoundOf(const PickInput& input);
// The rules of cascade keep 1.5 times the live data and twice as many flushes, running compactions included.
inline constexpr uint64_t kCascadeFlushes = 12;
// Bytes on disk plus `more`, above what `bound` allows. Of blob files only the records count, not the page padding.
uint64_t BytesOver(const PickInput& input, const SpaceBound& bound, uint64_t more = 0);
// As LiveBytesAtLeast, for tables alone.
uint64_t LiveTableBytesAtLeast(const PickInput& input);

// PickInput::flush_bytes, or 4 MiB if it is not known.
uint64_t FlushBytes(const PickInput& input);

// The number of flushed runs in a full level 0: 16; up to 64 if flushes are small, so that its compaction
// writes 64 MiB.
size_t FlushedWidth(const PickInput& input);

// The number of flushed runs that is worth a compaction when no writes come: reads then gain most from fewer runs.
inline constexpr size_t kFlushedWhenIdle = 8;

// A pick with sources, bounds, target_level, reason, input_bytes and is_bottommost filled in.
CompactionPick MakePick(const PickInput& input, Span span, format::Bounds bounds, format::Level target_level,
                        CompactionReason reason);

}  // namespace mergedb::picker
