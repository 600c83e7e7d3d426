// cascade: the original MergeDB's rules. A binary counter of runs whose capacities double.
//
//   capacity(n) = 3 x flush x 2^n              L0 holds flushed runs, every other level one run or none
//
//   prefix:    L0 has 4 runs -> they and the levels after them, up to the first empty level that holds the sum
//   adjacent:  four adjacent levels are full -> they become one at the first level that holds them, below the next full one
//   space:     what is above the largest run exceeds a quarter of it -> the largest and the four after it become one
//
//   L0 oooo    L1 -  L2 --  L3 (empty)  L4 --------   :  L0+L1+L2 -> L3
//
// Its space bound. Between merges: the four runs after the largest stay below 1/4 of it, and those after them below 1/16 of
// its capacity. So bytes <= 1.25 x live + capacity(N)/16 + 16 flushes, and live >= the largest run; the simulator holds it
// to 1.5 x live + 24 flushes, merges in flight included.
//
// A run's level follows from its size when a merge made it smaller than planned (overwrites): it then counts at the first
// level that holds it, but always below the run above it. The order of runs never follows from levels: positions say it.
// The original lost writes by returning results to level 0 (facts: flaw 1) and by releasing inputs early (flaw 2); here cuts
// and positions make both impossible.
//
// Runs newer than those that a running plan holds are a tree of their own: inner merges start while an outer one runs.
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

}  // namespace

SpaceBound CascadeBound(const PickInput& input) { return {.factor = 1.5, .slack_bytes = 24 * FlushBytes(input)}; }

namespace {

// The runs that no plan holds, from the newest on, with the level at which each counts.
struct Ladder {
  std::vector<format::Level> levels;
  format::Level level_end = kLevelMax;  // results stay below it
  size_t flushed = 0;                   // number of runs at level 0

  size_t count() const { return levels.size(); }
};

// REQUIRES: `levels` holds those of all newer runs.
format::Level LevelOf(const PickInput& input, size_t index, const std::vector<format::Level>& levels) {
  const version::Run& run = *input.version.runs()[index];
  const format::Level above = index == 0 ? 0 : levels[index - 1];
  if (above == 0 && run.level() == 0 && run.bytes_with_values() <= CapacityOf(input, 0)) return 0;
  const format::Level fitting = CascadeLevel(input, run.bytes_with_values());
  return std::max(run.level() == 0 ? fitting : std::min(fitting, run.level()), above + 1);
}

Ladder MakeLadder(const PickInput& input) {
  const auto& runs = input.version.runs();
  Ladder ladder;
  size_t count = 0;
  while (count < runs.size() && IsFree(input, count)) ++count;
  for (size_t i = 0; i < runs.size() && (i <= count || !IsFree(input, i)); ++i) {
    ladder.levels.push_back(LevelOf(input, i, ladder.levels));
    if (i < count && ladder.levels[i] == 0) ++ladder.flushed;
  }
  // WHY the last held run's level: that is where the running plan's result goes, or above; the levels of its other sources
  // are free when it is done.
  if (count < runs.size()) ladder.level_end = ladder.levels.back();
  ladder.levels.resize(count);
  return ladder;
}

CompactionPick PlanFor(const PickInput& input, Span span, format::Level level, CompactionReason reason) {
  CompactionPick pick = MakePick(input, span, {}, level, reason);
  pick.output_file_bytes = std::clamp(pick.input_bytes / 16, 2 * kMebibyte, kOutputBytes);
  return pick;
}

uint64_t BytesOf(const PickInput& input, Span span) {
  uint64_t bytes = 0;
  for (size_t i = span.newest; i <= span.oldest; ++i) bytes += input.version.runs()[i]->bytes_with_values();
  return bytes;
}

std::optional<CompactionPick> PickSpace(const PickInput& input, const Ladder& ladder) {
  const auto& runs = input.version.runs();
  if (ladder.count() != runs.size() || runs.size() < 2) return std::nullopt;
  const size_t oldest = runs.size() - 1;
  const size_t newest = oldest - std::min(oldest, kAdjacentRuns);
  Span span{.newest = std::max(newest, ladder.flushed), .oldest = oldest};
  if (span.newest >= oldest) return std::nullopt;
  const uint64_t behind = BytesOf(input, {.newest = span.newest, .oldest = oldest - 1});
  if (behind <= runs[oldest]->bytes_with_values() / 4) return std::nullopt;
  return PlanFor(input, span, std::max(ladder.levels[oldest], CascadeLevel(input, BytesOf(input, span))),
                 CompactionReason::kSpace);
}

std::optional<CompactionPick> PickAdjacent(const PickInput& input, const Ladder& ladder) {
  for (size_t i = ladder.count(); i-- > ladder.flushed + kAdjacentRuns - 1;) {
    const Span span{.newest = i + 1 - kAdjacentRuns, .oldest = i};
    if (ladder.levels[span.oldest] - ladder.levels[span.newest] != kAdjacentRuns - 1) continue;
    const format::Level level_end = i + 1 < ladder.count() ? ladder.levels[i + 1] : ladder.level_end;
    const format::Level level = std::min(CascadeLevel(input, BytesOf(input, span)), level_end - 1);
    return PlanFor(input, span, std::max(level, ladder.levels[i]), CompactionReason::kAdjacentFull);
  }
  return std::nullopt;
}

std::optional<CompactionPick> PickPrefix(const PickInput& input, const Ladder& ladder) {
  const bool is_inner = ladder.count() < input.version.runs().size();
  if (ladder.flushed < (is_inner ? 2 * kFlushedRunsMax : kFlushedRunsMax)) return std::nullopt;
  uint64_t bytes = BytesOf(input, {.newest = 0, .oldest = ladder.flushed - 1});
  size_t next = ladder.flushed;  // the first run that is not in the prefix
  for (format::Level level = 1; level < ladder.level_end; ++level) {
    if (next < ladder.count() && ladder.levels[next] == level) {
      bytes += input.version.runs()[next++]->bytes_with_values();
    } else if (bytes < CapacityOf(input, level)) {
      return PlanFor(input, {.newest = 0, .oldest = next - 1}, level, CompactionReason::kPrefix);
    }
  }
  // No room below the running plan. Rather than let flushed runs pile up, take all that is free, at the last level.
  if (ladder.flushed < kFlushedRunsUrgent || ladder.level_end < 2) return std::nullopt;
  return PlanFor(input, {.newest = 0, .oldest = ladder.count() - 1}, ladder.level_end - 1, CompactionReason::kPrefix);
}

}  // namespace

format::Level CascadeLevel(const PickInput& input, uint64_t bytes) {
  format::Level level = 1;
  while (level < kLevelMax && CapacityOf(input, level) < bytes) ++level;
  return level;
}

std::optional<CompactionPick> PickCascade(const PickInput& input) {
  const Ladder ladder = MakeLadder(input);
  if (ladder.count() < 2) return std::nullopt;
  if (auto pick = PickPrefix(input, ladder)) return pick;
  if (auto pick = PickSpace(input, ladder)) return pick;
  return PickAdjacent(input, ladder);
}

}  // namespace mergedb::picker
