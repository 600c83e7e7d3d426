// The strategies behind Pick. Each finds its most urgent plan that can start now, or nothing.
#pragma once

#include <optional>

#include "picker/picker.h"

namespace mergedb::picker {

// Adjacent runs without a common key range become one.
std::optional<CompactionPick> PickMove(const PickInput& input);

std::optional<CompactionPick> PickTier(const PickInput& input);  // lazy: a tier that has its number of runs
std::optional<CompactionPick> PickTierAtRest(
    const PickInput& input);  // lazy: a few flushed runs, when writes have stopped
format::Level LazyLevel(const PickInput& input, uint64_t bytes);
std::optional<CompactionPick> PickCascade(const PickInput& input);  // cascade: all of its rules
format::Level CascadeLevel(const PickInput& input, uint64_t bytes);

// Merge keys of all runs into the oldest one: because the space bound asks for it, or to settle into one run.
std::optional<CompactionPick> PickBottommost(const PickInput& input);
// Clean the value files with most garbage because the space bound asks for it.
std::optional<CompactionPick> PickCleaning(const PickInput& input);
// Known garbage is more than merging could find: cleaning is what helps, and merges must not keep it waiting.
bool CleaningComesFirst(const PickInput& input);
// Live bytes that one plan moves at most: new value files stand beside the old ones until it is done. 0 without values.
uint64_t CleaningBytesMax(const version::Version& version);
// Rewrite a part of the oldest run that tombstones dominate; any that has some at kIdle.
std::optional<CompactionPick> PickTombstones(const PickInput& input);
// The run shows tables in `bounds` whose tombstones could go if nothing were below.
bool HasOldTombstones(const PickInput& input, const version::Run& run, const format::Bounds& bounds);

}  // namespace mergedb::picker
