// cascade: the rules of the original MergeDB. A binary counter of runs whose capacities double.
//
//   capacity(n) = 3 x flush x 2^n              L0 holds flushed runs; every other level holds one run or none
//
//   prefix:    L0 has 4 runs (8 above a running compaction) -> compact them and the levels after them into the first
//              empty level that holds the sum
//   adjacent:  four adjacent levels are full -> compact them into the first level that holds them, but above the
//              next full level
//   space:     the four runs above the oldest run (flushed runs do not count) exceed a quarter of it
//              -> compact these five runs into one
//
//   L0 oooo    L1 -  L2 --  L3 (empty)  L4 --------   :  L0+L1+L2 -> L3
//
// The space bound. Between compactions the four runs above the largest run stay below 1/4 of it, and the runs
// above those stay below 1/16 of its capacity. So bytes <= 1.25 x live + capacity(N)/16 + 16 flushes, and
// live >= the largest run. The simulator checks 1.5 x live + 24 flushes, running compactions included.
//
// If a compaction made a run smaller than expected (overwrites), the run counts at the first level that holds
// it, but always below the run above it. The order of runs follows from positions, never from levels.
//
// The runs newer than all runs of a running compaction are a tree of their own: inner compactions start while
// an outer one runs.
#include <algorithm>

#include "picker/partitions.h"
#include "picker/styles.h"
#include "picker/survey.h"

namespace mergedb::picker {

namespace {

constexpr size_t kFlushedRunsMax = 4;
constexpr size_t kFlushedRunsUrgent = 12;
constexpr size_t kAdjacentRuns = 4;
constexpr uint64_t kOutputBytes = 64 * kMebibyte;
constexpr format::Level kLevelMax = 30;

uint64_t CapacityOf(const PickInput& input, format::Level level) { return (3 * FlushBytes(input)) << level; }

// The newest runs that no compaction holds, each with the level at which it counts.
struct FreeLevels {
  std::vector<format::Level> levels;
  format::Level level_end = kLevelMax;  // the levels of results are smaller
  size_t flushed = 0;                   // number of runs at level 0
  // No running compaction will put a run below these: they are all runs, or the next one has unreadable keys.
  bool is_whole = false;

  size_t count() const { return levels.size(); }
};

// REQUIRES: `levels` holds the levels of all newer runs.
format::Level LevelOf(const PickInput& input, size_t index, const std::vector<format::Level>& levels) {
  const version::Run& run = *input.version.runs()[index];
  const format::Level above = index == 0 ? 0 : levels[index - 1];
  if (above == 0 && run.level() == 0 && run.bytes_with_values() <= CapacityOf(input, 0)) return 0;
  const format::Level fitting = CascadeLevel(input, run.bytes_with_values());
  return std::max(run.level() == 0 ? fitting : std::min(fitting, run.level()), above + 1);
}

FreeLevels MakeFreeLevels(const PickInput& input) {
  const auto& runs = input.version.runs();
  FreeLevels free_levels;
  size_t count = 0;
  while (count < runs.size() && IsFree(input, count)) ++count;
  for (size_t i = 0; i < runs.size() && (i <= count || !IsFree(input, i)); ++i) {
    free_levels.levels.push_back(LevelOf(input, i, free_levels.levels));
    if (i < count && free_levels.levels[i] == 0) ++free_levels.flushed;
  }
  // WHY the level of the last held run: the running compaction puts its result there or above. The levels of
  // its other sources are free when it ends.
  free_levels.is_whole = count == runs.size() || !IsHeld(input, {count, count}, {});
  if (!free_levels.is_whole) free_levels.level_end = free_levels.levels.back();
  free_levels.levels.resize(count);
  return free_levels;
}

// With fewer sources than the rule wants, the newest runs become one.
CompactionPick PickFor(const PickInput& input, Span span, format::Level level, CompactionReason reason) {
  if (span.oldest - span.newest >= input.sources_max) {
    span.oldest = span.newest + input.sources_max - 1;
    const uint64_t bytes = BytesOf(input, span.newest, span.oldest + 1);
    level = bytes <= CapacityOf(input, 0) ? 0 : std::min(level, CascadeLevel(input, bytes));
  }
  CompactionPick pick = MakePick(input, span, {}, level, reason);
  pick.output_file_bytes = std::clamp(pick.input_bytes / 16, 2 * kMebibyte, kOutputBytes);
  return pick;
}

std::optional<CompactionPick> PickSpace(const PickInput& input, const FreeLevels& free_levels) {
  const auto& runs = input.version.runs();
  if (!free_levels.is_whole || free_levels.count() < 2) return std::nullopt;
  const size_t oldest = free_levels.count() - 1;
  const size_t newest = oldest - std::min(oldest, kAdjacentRuns);
  Span span{.newest = std::max(newest, free_levels.flushed), .oldest = oldest};
  if (span.newest >= oldest) return std::nullopt;
  const uint64_t behind = BytesOf(input, span.newest, oldest);
  if (behind <= runs[oldest]->bytes_with_values() / 4) return std::nullopt;
  return PickFor(input, span,
                 std::max(free_levels.levels[oldest], CascadeLevel(input, BytesOf(input, span.newest, oldest + 1))),
                 CompactionReason::kSpace);
}

std::optional<CompactionPick> PickAdjacent(const PickInput& input, const FreeLevels& free_levels) {
  for (size_t i = free_levels.count(); i-- > free_levels.flushed + kAdjacentRuns - 1;) {
    const Span span{.newest = i + 1 - kAdjacentRuns, .oldest = i};
    if (free_levels.levels[span.oldest] - free_levels.levels[span.newest] != kAdjacentRuns - 1) continue;
    const format::Level level_end = i + 1 < free_levels.count() ? free_levels.levels[i + 1] : free_levels.level_end;
    const format::Level level = std::min(CascadeLevel(input, BytesOf(input, span.newest, i + 1)), level_end - 1);
    return PickFor(input, span, std::max(level, free_levels.levels[i]), CompactionReason::kAdjacentFull);
  }
  return std::nullopt;
}

std::optional<CompactionPick> PickPrefix(const PickInput& input, const FreeLevels& free_levels) {
  const bool is_inner = !free_levels.is_whole;
  if (free_levels.flushed < (is_inner ? 2 * kFlushedRunsMax : kFlushedRunsMax)) return std::nullopt;
  uint64_t bytes = BytesOf(input, 0, free_levels.flushed);
  size_t next = free_levels.flushed;  // the first run that is not in the prefix
  for (format::Level level = 1; level < free_levels.level_end; ++level) {
    if (next < free_levels.count() && free_levels.levels[next] == level) {
      bytes += input.version.runs()[next++]->bytes_with_values();
    } else if (bytes < CapacityOf(input, level)) {
      return PickFor(input, {.newest = 0, .oldest = next - 1}, level, CompactionReason::kPrefix);
    }
  }
  // No level above the running compaction has room. If too many flushed runs wait, compact all free runs into
  // the last free level.
  if (free_levels.flushed < kFlushedRunsUrgent || free_levels.level_end < 2) return std::nullopt;
  return PickFor(input, {.newest = 0, .oldest = free_levels.count() - 1}, free_levels.level_end - 1,
                 CompactionReason::kPrefix);
}

}  // namespace

format::Level CascadeLevel(const PickInput& input, uint64_t bytes) {
  format::Level level = 1;
  while (level < kLevelMax && CapacityOf(input, level) < bytes) ++level;
  return level;
}

std::optional<CompactionPick> PickCascade(const PickInput& input) {
  const FreeLevels free_levels = MakeFreeLevels(input);
  if (free_levels.count() < 2) return std::nullopt;
  if (auto pick = PickPrefix(input, free_levels)) return pick;
  if (auto pick = PickSpace(input, free_levels)) return pick;
  return PickAdjacent(input, free_levels);
}

}  // namespace mergedb::picker
