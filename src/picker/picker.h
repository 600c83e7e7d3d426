// What to do next: a pure function of the tree, the style's settings and what runs already.
//
//   Pick ── disjoint neighbours?     move one into the other, nothing is rewritten        (picker.cc)
//        ── the style's own rules:   lazy: tiers above one bottom run                     (lazy.cc)
//        │                           cascade: a binary counter of doubling levels         (cascade.cc)
//        ── over the space bound?    merge a part of the keys of all runs into the oldest (bottommost_picker.cc),
//        │                           or clean value files that hold garbage               (clean.cc)
//        ── tombstones dominate?     rewrite that part of the oldest run                  (bottommost_picker.cc)
//   PickTombstoneScan ── readers wade through deleted keys: merge those away                      (bottommost_picker.cc)
//
// Where tables refer to values in value files, a run weighs what its tables weigh and what they refer to: by that tiers are
// made and space is judged, while a merge costs what the tables weigh. Where they do not, all of it is as if there were none.
//
// Every plan takes bytes off what is above the oldest run, or tombstones off the oldest run, or garbage off value files, or
// lessens the number of runs: picking and merging ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/order.h"
#include "mergedb/options.h"
#include "picker/compaction_pick.h"
#include "version/version.h"

namespace mergedb::picker {

// How hard to work. Space bounds are bytes on disk over bytes after a full compaction.
enum class Urgency : uint8_t {
  kWriting,  // lazy: bound 2.0
  kQuiet,    // the pressure is off: 1.25; what WaitForCompaction waits for
  kIdle,     // nothing was asked for a while: one run
};

struct PickInput {
  const version::Version& version;
  std::span<const RunningCompaction> running;
  Style style = Style::kLazy;
  Urgency urgency = Urgency::kWriting;
  uint64_t flush_bytes = 0;  // size of a memtable
  // Of the last flushed table and its values, 0 if there is none. Outputs of merges are cut at it where they may be small: then
  // each can be written over what the other left (docs/decisions/0018-spare-files.md).
  uint64_t flushed_bytes = 0;
  // Of tables and values, surely left after a full compaction as far as is known beside the tree; 0: nothing is.
  uint64_t live_bytes_known = 0;
  const kv::Order& order;
  // Of the oldest snapshot: tombstones newer than it may have to stay. kSequenceMax if there is none.
  kv::Sequence oldest_snapshot = kv::kSequenceMax;
};

// The most urgent plan that can start now, or nothing.
std::optional<CompactionPick> Pick(const PickInput& input);

struct ManualPick {
  std::optional<CompactionPick> pick;  // none: nothing is left, or all that is left is blocked
  bool is_done = false;                // nothing is left: the keys lie in the oldest run alone
};
// Merge `bounds` of all runs into the oldest (CompactRange), by partitions: the next step of it that is not blocked.
// Runs newer than `newest` (written since the call began) are left alone.
// A step takes at most 64 runs, from the newest one with keys of the partition on. Where the oldest run is not among
// them, the keys come into the last run of the step, from which the next step goes on.
ManualPick PickManual(const PickInput& input, const format::Bounds& bounds, kv::Position newest);

// Merge `bounds`, where a reader found nothing but deleted keys, of all runs into the oldest. Nothing while other plans work on
// these keys, or where no merge takes all runs.
std::optional<CompactionPick> PickTombstoneScan(const PickInput& input, const format::Bounds& bounds);

// Nothing is owed at this pressure: no plan could start and nothing runs.
bool NeedsNoCompaction(const PickInput& input);

// Bytes on disk that the space bound of this pressure allows.
uint64_t BytesAllowed(const PickInput& input);
// Bytes on disk above what the space bound of this pressure allows: a debt for write_delay.h. Not lessened by what runs.
uint64_t BytesOverBound(const PickInput& input);
// Where that debt is at its maximum: what running merges may hold for a while, two partitions and half of a tier, and what
// cleaning moves at a time.
uint64_t BytesOverBoundMax(const PickInput& input);

// What is surely left after a full compaction: the largest run but for what newer tombstones may delete, or what is known.
uint64_t LiveBytesAtLeast(const PickInput& input);

}  // namespace mergedb::picker
