// The compaction picker: a pure function of the version, the settings of the style and the running compactions.
//
//   Pick ── disjoint neighbours?     move one run into the other; nothing is rewritten          (picker.cc)
//        ── the rules of the style:  lazy: tiers above one oldest run                           (lazy.cc)
//        │                           cascade: a binary counter of doubling levels               (cascade.cc)
//        ── over the space bound?    compact a part of the keys of all runs into the oldest run (bottommost_picker.cc)
//        │                           or, before it if more garbage is known there: blob files   (blob_picker.cc)
//        ── garbage in blob files?   collect it: early while writes come only over the bound   (blob_picker.cc)
//        ── small blob files?        join them                                                  (blob_picker.cc)
//        ── scans read scattered     write the values again in key order                        (blob_picker.cc)
//           values?
//        ── tombstones dominate?     rewrite that part of the oldest run                        (bottommost_picker.cc)
//        ── still over the bound?    rewrite what is left of tables that are shown in part      (bottommost_picker.cc)
//        ── searches visit runs?     compact the runs that they pay for                         (picker.cc)
//        ── lazy, no writes?         compact a tier that is not full                            (lazy.cc)
//
// What compactions failed to read (PickInput::unreadable) blocks picks as a running compaction does. The partitions end
// at its keys, and tiers at its runs, so all other keys are compacted. The bytes that cannot be compacted because of it
// count as allowed.
//
//   PickTombstoneScan ── a scan met many deleted keys: compact them away                        (bottommost_picker.cc)
//
// If tables refer to values in blob files, the size of a run is the bytes of its tables plus the bytes of the values
// that they refer to. Tiers and the space bound use this size. The cost of a compaction is the bytes of tables alone.
//
// Picking terminates: each pick removes bytes above the oldest run, tombstones from the oldest run, tables that are
// shown in part or garbage from blob files, or it reduces the number of runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kv/order.h"
#include "mergedb/options.h"
#include "picker/compaction_pick.h"
#include "version/version.h"

namespace mergedb::picker {

// How hard to work. A space bound is the ratio of bytes on disk to bytes after a full compaction.
enum class Urgency : uint8_t {
  kWriting,  // writes come; lazy: bound 2.0
  kQuiet,    // no writes for a short time: bound 1.25; WaitForCompaction waits for this state
  kIdle,     // no writes for a longer time: one run
};

inline constexpr size_t kSourcesMax = 64;  // of one compaction

struct PickInput {
  const version::Version& version;
  std::span<const RunningCompaction> running;
  Style style = Style::kLazy;
  Urgency urgency = Urgency::kWriting;
  uint64_t flush_bytes = 0;  // size of a memtable
  // Bytes of the last flushed table and its values; 0 if there was no flush. Compactions cut their outputs at
  // this size where small outputs are allowed: a new file can then recycle an old one
  // (docs/decisions/0018-recycled-files.md).
  uint64_t flushed_bytes = 0;
  // Lower bound of the bytes after a full compaction, from the live sample (tables and values); 0: not known.
  uint64_t live_bytes_known = 0;
  // Bytes of values that scans read one by one since the last compaction for them, because the values are not in key
  // order.
  uint64_t scattered_bytes = 0;
  // Sorted runs that seeks have visited beside the first one, less what compactions for them have cost.
  uint64_t extra_run_visits = 0;
  const kv::Order& order;
  // Of the oldest snapshot: newer tombstones may have to stay. kSequenceMax without snapshots.
  kv::Sequence oldest_snapshot = kv::kSequenceMax;
  // No compaction touches it, except that runs move. Null: everything is readable.
  std::shared_ptr<const Unreadable> unreadable = nullptr;
  // Of one compaction; fewer than kSourcesMax while file descriptors are short. At least 2.
  size_t sources_max = kSourcesMax;
};

// The most urgent compaction that can start now, or nothing.
std::optional<CompactionPick> Pick(const PickInput& input);

// The price of the smallest compaction for reads.
inline constexpr uint64_t kRunVisitsMin = 16'384;
// The visits that pay for a compaction of `input_bytes` for reads.
uint64_t RunVisitsFor(uint64_t input_bytes);

// True if scans have met so many scattered values that a compaction for them pays.
bool NeedsBlobOrder(const PickInput& input);

struct ManualPick {
  // Empty: no work is left, or running compactions or unreadable inputs block all of it.
  std::optional<CompactionPick> pick;
  bool is_done = false;  // no work is left: only the oldest run holds the keys
};
// The next step of CompactRange that is not blocked: compact `bounds` of all runs into the oldest run, one
// partition at a time. Runs newer than `newest` (written after the call began) do not take part. A step takes
// at most 64 runs, beginning with the newest run that has keys in the partition. If the oldest run is not
// among them, the keys go into the last run of the step, and the next step continues from there.
ManualPick PickManual(const PickInput& input, const format::Bounds& bounds, kv::Position newest);

// Compact `bounds`, where a scan found only deleted keys, of all runs into the oldest run. Nothing if a
// running compaction works on these keys, or if the version has more runs than one compaction takes.
std::optional<CompactionPick> PickTombstoneScan(const PickInput& input, const format::Bounds& bounds);

// True if no compaction runs and none can start at this urgency.
bool NeedsNoCompaction(const PickInput& input);

// Bytes on disk that the space bound of this urgency allows.
uint64_t BytesAllowed(const PickInput& input);
// The most bytes of tables, blob files and recycled files at any moment while writes come (docs/PROMISES.md): the bound
// of the style, a second full level 0 while it is compacted, and two partitions or, if that is more, what one
// collection of blob files moves. REQUIRES: the urgency is kWriting.
uint64_t SpaceLimit(const PickInput& input);
// Bytes on disk above the space bound of this urgency: a backlog for write_delay.h. Running compactions do
// not lower it.
uint64_t BytesOverBound(const PickInput& input);
// The maximum of that backlog: the bytes that running compactions may hold for a while (two partitions, and
// half of a level 0 or, for cascade, half of its flushes), plus the bytes that one blob garbage collection moves.
uint64_t BytesOverBoundMax(const PickInput& input);

// The live bytes that one collection of blob files moves at most. The old and the new blob files exist together until
// it ends. 0 without blob files.
uint64_t CollectedBytesMax(const version::Version& version);

// A lower bound of the bytes after a full compaction: the largest run less the bytes that newer tombstones
// may delete, or `live_bytes_known` if that is more.
uint64_t LiveBytesAtLeast(const PickInput& input);

}  // namespace mergedb::picker
