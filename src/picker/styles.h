// The strategies behind Pick. Each returns its most urgent compaction that can start now, or nothing.
#pragma once

#include <optional>

#include "picker/picker.h"

namespace mergedb::picker {

// Adjacent runs without a common key range become one run.
std::optional<CompactionPick> PickMove(const PickInput& input);

std::optional<CompactionPick> PickTier(const PickInput& input);  // lazy: a tier has its full number of runs
std::optional<CompactionPick> PickIdleTier(
    const PickInput& input);  // lazy: a few flushed runs, when writes have stopped
// lazy: a few runs of one level, whatever the urgency.
std::optional<CompactionPick> PickTierForReads(const PickInput& input);
format::Level LazyLevel(const PickInput& input, uint64_t bytes);
std::optional<CompactionPick> PickCascade(const PickInput& input);  // cascade: all of its rules
format::Level CascadeLevel(const PickInput& input, uint64_t bytes);

// Compact keys of all runs into the oldest run: to keep the space bound, or to reach one run when idle.
std::optional<CompactionPick> PickBottommost(const PickInput& input);
// Collect the blob files with most garbage, to keep the space bound.
std::optional<CompactionPick> PickBlobGarbage(const PickInput& input);
// Merge small blob files if there are many. Each flush with a few large values makes one.
std::optional<CompactionPick> PickSmallBlobs(const PickInput& input);
// Write the values of blob files in key order, if scans would gain from it.
std::optional<CompactionPick> PickBlobOrder(const PickInput& input);
// Compact the runs of a tier, or a partition of all runs into the oldest run, if seeks have paid for it.
std::optional<CompactionPick> PickForReads(const PickInput& input);
// True if the known garbage is at least three times the bytes above the oldest run: then compactions, which would find
// more garbage, must not delay its collection.
bool BlobGarbageComesFirst(const PickInput& input);
// Rewrite a part of the oldest run that tombstones dominate. At kIdle: any part with tombstones that can go.
std::optional<CompactionPick> PickTombstones(const PickInput& input);
// Rewrite the keys of tables that a run shows in part, to keep the space bound: such a table keeps its bytes, and
// refers to values in blob files, for keys that it no longer shows. An interrupted compaction leaves such tables.
std::optional<CompactionPick> PickPartialTables(const PickInput& input);
// True if the run shows tables in `bounds` whose tombstones can go when no older run is below them.
bool HasOldTombstones(const PickInput& input, const version::Run& run, const format::Bounds& bounds);

}  // namespace mergedb::picker
