// What the strategies ask of a tree: who is in the way, what weighs how much, which plan follows.
//
// Runs are named by their index in Version::runs(): 0 is the newest. A Span is a range of consecutive runs.
#pragma once

#include <cstdint>
#include <map>

#include "picker/compaction_pick.h"
#include "picker/picker.h"

namespace mergedb::picker {

struct Span {
  size_t newest = 0;  // both included; newest <= oldest
  size_t oldest = 0;
};

inline constexpr size_t kSourcesMax = 64;  // of one plan
inline constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// A plan over `span` and `bounds` would pass over the runs of one that runs now, on some of the same keys.
bool IsBlocked(const PickInput& input, Span span, const format::Bounds& bounds);
// No running plan passes over this run at all.
bool IsFree(const PickInput& input, size_t index);
// `busy` works on the oldest run; the others leave a part of the runs below them alone.
bool ReachesOldest(const PickInput& input, const RunningCompaction& running);

// A run older than the span shows a key between the first and the last one that the span shows in `bounds`.
bool AnyKeyBelow(const kv::Order& order, const version::Version& version, Span span, const format::Bounds& bounds);

// Runs that a plan may move instead of merging: no slice of one meets a slice of another, and no table is so small that it
// had better be merged (a table of less than a quarter of a flush).
bool CanMove(const PickInput& input, Span span);

// By how many slices of a run a file is shown.
class VirtualTableShares {
 public:
  explicit VirtualTableShares(const version::Run& run);
  uint64_t Of(const version::VirtualTable& virtual_table) const {
    return virtual_table.is_whole() ? 1 : counts_.at(virtual_table.file->number);
  }

 private:
  std::map<kv::FileNumber, uint64_t> counts_;  // of files shown in part
};

// Bytes of a run's files that show keys in `bounds`; a file shown by several slices of the run is shared among them.
uint64_t BytesWithin(const kv::Order& order, const version::Run& run, const format::Bounds& bounds);

// Bytes on disk over those after a full compaction that this pressure allows, and bytes allowed on top of it.
struct SpaceBound {
  double factor = 2.0;
  uint64_t slack_bytes = 0;
};
SpaceBound BoundOf(const PickInput& input);
// What cascade's own rules hold while somebody writes, merges in flight included.
SpaceBound CascadeBound(const PickInput& input);
// Bytes on disk, and `more`, above what `bound` allows. Of value files the records count, not what fills them up to whole pages.
uint64_t BytesOver(const PickInput& input, const SpaceBound& bound, uint64_t more = 0);
// As LiveBytesAtLeast, of tables alone.
uint64_t LiveTableBytesAtLeast(const version::Version& version);

// Size of a flushed table, with a default where it is not known.
uint64_t FlushBytes(const PickInput& input);

// How many flushed runs the smallest tier takes: 16; up to 64 while they are small, so that its merge makes about 64 MiB.
size_t FlushedWidth(const PickInput& input);

// A tree at rest is read: so few flushed runs are worth a merge.
inline constexpr size_t kFlushedAtRest = 8;

// A plan with sources, bounds, input_bytes and is_bottom filled in.
CompactionPick MakePick(const PickInput& input, Span span, format::Bounds bounds, format::Level target_level,
                        CompactionReason reason);

}  // namespace mergedb::picker
