// Compactions into the oldest run: to keep the space bound, to reach one run when idle, and to remove tombstones.
//
// A compaction takes a part of the keys of all runs at once; nothing is left above that part. The part is a
// few adjacent partitions with the largest gain for each byte of input. WHY this is cheaper than a compaction
// of all keys at the bound: a partition is compacted when twice the bound's share of bytes lies above it,
// while the average over the partitions keeps the bound.
#include <algorithm>

#include "picker/partitions.h"
#include "picker/styles.h"
#include "picker/survey.h"

namespace mergedb::picker {

// While writes come, SpaceLimit has twice the slack: compactions begin before writes must stop.
SpaceBound BoundOf(const PickInput& input) {
  switch (input.urgency) {
    case Urgency::kWriting:
      if (input.style == Style::kCascade) return {.factor = 1.5, .slack_bytes = kCascadeFlushes * FlushBytes(input)};
      return {.factor = 2.0, .slack_bytes = FlushedWidth(input) * FlushBytes(input)};
    case Urgency::kQuiet: return {.factor = 1.25};
    case Urgency::kIdle: return {.factor = 1.0};
  }
  return {};
}

namespace {

// A compaction of this many input bytes is worth its overhead. Flushed runs are not cut at borders, and their files
// become obsolete only when all partitions are done: a compaction that includes flushed runs takes more bytes.
constexpr uint64_t kStepBytesMin = 32 * kMebibyte;
constexpr uint64_t kFlushedStepBytes = 512 * kMebibyte;

// At kQuiet all cores are free for compactions, and a caller may wait for the end: the work is cut into this
// many parts if each part is large enough.
// MEASURED: db_bench mergerandom of 5 M into 1 M counters, six alternating runs, the wait for
// compactions at the end: 0.102 us an update with one part, 0.088 with four.
constexpr uint64_t kPartsWhenIdle = 4;
constexpr uint64_t kIdleStepBytesMin = 4 * kMebibyte;
constexpr uint64_t kPiecesOfPart = 4;

// The runs that a compaction into the oldest run can take now: the runs below all running compactions that do
// not include the oldest run.
std::optional<Span> FreeSuffix(const PickInput& input) {
  const auto& runs = input.version.runs();
  if (runs.size() < 2) return std::nullopt;
  Span span{.newest = 0, .oldest = runs.size() - 1};
  for (const RunningCompaction& running : input.running) {
    if (ReachesOldest(input, running)) continue;
    while (span.newest < span.oldest && runs[span.newest]->position() >= running.sources.back()) ++span.newest;
  }
  if (span.oldest - span.newest >= input.sources_max) span.newest = span.oldest + 1 - input.sources_max;
  if (span.newest == span.oldest) return std::nullopt;
  return span;
}

// Bytes in runs that are newer than the span and in a running compaction.
uint64_t BytesInWorkAbove(const PickInput& input, Span span) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < span.newest; ++i) {
    if (IsHeld(input, {i, i}, {})) bytes += input.version.runs()[i]->bytes_with_values();
  }
  return bytes;
}

// Leaves small flushed runs to their tier. A compaction of a part of their keys would keep their files on
// disk until the last partition is done, and would block the intra-tier compaction.
Span WithoutLightFlushedRuns(const PickInput& input, Span span, double allowed_upper) {
  const auto& runs = input.version.runs();
  Span rest = span;
  while (rest.newest < rest.oldest && runs[rest.newest]->level() == 0) ++rest.newest;
  const uint64_t flushed = BytesOf(input, span.newest, rest.newest);
  const uint64_t others = BytesOf(input, rest.newest, rest.oldest);
  return others >= flushed && static_cast<double>(flushed) <= allowed_upper / 2 ? rest : span;
}

// True if the span has enough flushed runs for PickIdleTier. They take part, so that they are compacted only once.
bool HasIdleTier(const PickInput& input, Span span) {
  const auto& runs = input.version.runs();
  return span.newest + kFlushedWhenIdle <= span.oldest && runs[span.newest + kFlushedWhenIdle - 1]->level() == 0;
}

bool IsBusyAtOldest(const PickInput& input, const format::Bounds& bounds) {
  return std::ranges::any_of(input.running, [&](const RunningCompaction& running) {
    return ReachesOldest(input, running) && version::Intersect(input.order, running.bounds, bounds);
  });
}

// The partitions, which of them a running compaction has taken, and where the span has unreadable keys.
struct PartitionMap {
  std::vector<Partition> partitions;
  std::vector<bool> is_taken;
  std::vector<bool> is_unreadable;

  bool CanJoin(size_t i) const { return !is_taken[i] && !is_unreadable[i] && partitions[i].upper_bytes > 0; }
  double Score(size_t i) const { return partitions[i].GainBytes() / (partitions[i].input_bytes() + 1); }
};

PartitionMap Survey(const PickInput& input, Span span, uint64_t partition_bytes) {
  const auto& runs = input.version.runs();
  PartitionMap map{.partitions = PartitionsOf(input, partition_bytes), .is_taken = {}, .is_unreadable = {}};
  for (size_t i = span.newest; i < span.oldest; ++i) AddUpper(input.order, *runs[i], &map.partitions);
  for (const Partition& partition : map.partitions) {
    map.is_taken.push_back(IsBusyAtOldest(input, partition.bounds));
    map.is_unreadable.push_back(partition.is_unreadable && IsUnreadable(input, span, partition.bounds));
  }
  return map;
}

struct Part {
  size_t first;
  size_t last;  // included
};

// The largest input of one compaction, and the size of the pieces that it consists of.
struct Step {
  uint64_t bytes;
  uint64_t piece_bytes;
};

// REQUIRES: the span is not empty.
Step StepFor(const PickInput& input, Span span, uint64_t partition_bytes) {
  const bool has_flushed = input.version.runs()[span.newest]->level() == 0;
  const Step step{.bytes = has_flushed ? kFlushedStepBytes : std::max(2 * partition_bytes, kStepBytesMin),
                  .piece_bytes = partition_bytes};
  const uint64_t share = std::max(BytesOf(input, span.newest, span.oldest + 1) / kPartsWhenIdle, kIdleStepBytesMin);
  if (input.urgency != Urgency::kQuiet || share >= step.bytes) return step;
  return {.bytes = share, .piece_bytes = std::min(partition_bytes, share / kPiecesOfPart)};
}

// The partition with the best score, and neighbours with at least half of that score, up to `step_bytes`.
std::optional<Part> BestPart(const PartitionMap& map, uint64_t step_bytes) {
  std::optional<size_t> best;
  for (size_t i = 0; i < map.partitions.size(); ++i) {
    if (map.CanJoin(i) && (!best || map.Score(i) > map.Score(*best))) best = i;
  }
  if (!best) return std::nullopt;
  const double score_min = map.Score(*best) / 2;
  double bytes = map.partitions[*best].input_bytes();
  const auto joins = [&](size_t i) {
    if (!map.CanJoin(i) || map.Score(i) < score_min) return false;
    if (bytes + map.partitions[i].input_bytes() > static_cast<double>(step_bytes)) return false;
    bytes += map.partitions[i].input_bytes();
    return true;
  };
  Part part{.first = *best, .last = *best};
  while (part.last + 1 < map.partitions.size() && joins(part.last + 1)) ++part.last;
  while (part.first > 0 && joins(part.first - 1)) --part.first;
  return part;
}

CompactionPick PickFor(const PickInput& input, Span span, const PartitionMap& map, Part part,
                       uint64_t partition_bytes) {
  format::Bounds bounds{.lower = map.partitions[part.first].bounds.lower,
                        .upper = map.partitions[part.last].bounds.upper};
  const CompactionReason reason = input.urgency == Urgency::kIdle ? CompactionReason::kIdle : CompactionReason::kSpace;
  CompactionPick pick = MakePick(input, span, std::move(bounds), format::kBottommostLevel, reason);
  pick.output_file_bytes = OutputBytes(input, partition_bytes);
  for (size_t i = part.first + 1; i <= part.last; ++i) { pick.cut_keys.push_back(*map.partitions[i].bounds.lower); }
  return pick;
}

// The runs of the span below the unreadable ones. Nothing if that leaves only the oldest run, or all of them.
std::optional<Span> BelowUnreadable(const PickInput& input, Span span) {
  for (size_t i = span.oldest; i-- > span.newest;) {
    if (!IsUnreadable(input, {i, i}, {})) continue;
    return i + 1 < span.oldest ? std::optional(Span{.newest = i + 1, .oldest = span.oldest}) : std::nullopt;
  }
  return std::nullopt;
}

// The gain of the running compactions.
double GainOnTheWay(const PartitionMap& map) {
  double gain = 0;
  for (size_t i = 0; i < map.partitions.size(); ++i) {
    if (map.is_taken[i]) gain += map.partitions[i].GainBytes();
  }
  return gain;
}

}  // namespace

std::optional<CompactionPick> PickBottommost(const PickInput& input) {
  const bool is_idle = input.urgency == Urgency::kIdle;
  const auto over = static_cast<double>(BytesOverBound(input));
  if (!is_idle && over == 0) return std::nullopt;
  const auto free = FreeSuffix(input);
  if (!free) return std::nullopt;
  const uint64_t live = LiveBytesAtLeast(input);
  const double allowed_upper = (BoundOf(input).factor - 1) * static_cast<double>(live);
  const bool is_quiet = input.urgency == Urgency::kQuiet;
  // WHY wait: when the compactions above end, their result would need this compaction once more.
  if (is_quiet && static_cast<double>(BytesInWorkAbove(input, *free)) > allowed_upper) return std::nullopt;
  const bool takes_all = is_idle || (is_quiet && HasIdleTier(input, *free));
  Span span = takes_all ? *free : WithoutLightFlushedRuns(input, *free, allowed_upper);
  const uint64_t partition_bytes =
      PartitionBytes(std::max(LiveTableBytesAtLeast(input), input.version.runs().back()->bytes()));
  const Step step = StepFor(input, span, partition_bytes);
  PartitionMap map = Survey(input, span, step.piece_bytes);
  if (!is_idle && over <= GainOnTheWay(map)) return std::nullopt;
  auto part = BestPart(map, step.bytes);
  if (const auto below = part ? std::nullopt : BelowUnreadable(input, span)) {
    span = *below;
    map = Survey(input, span, step.piece_bytes);
    part = BestPart(map, step.bytes);
  }
  if (!part) return std::nullopt;
  return PickFor(input, span, map, *part, partition_bytes);
}

namespace {

// True if the file has tombstones that no snapshot needs: every snapshot sees all entries of the file.
bool HasDroppable(const PickInput& input, const format::FileMeta& file) {
  return (file.tombstones > 0 || file.range_tombstones > 0) && file.largest_sequence <= input.oldest_snapshot;
}

// The oldest run needs none of these tombstones; until kIdle up to a quarter of the entries may be
// tombstones. A range tombstone is in the oldest run because of a snapshot. That snapshot is gone, so the
// masked entries can go as well.
bool HasTooManyTombstones(const PickInput& input, const format::FileMeta& file) {
  if (!HasDroppable(input, file)) return false;
  return input.urgency == Urgency::kIdle || file.range_tombstones > 0 || file.tombstones > file.entries / 4;
}

}  // namespace

bool HasOldTombstones(const PickInput& input, const version::Run& run, const format::Bounds& bounds) {
  if (run.tombstones() == 0 && run.range_tombstones() == 0) return false;
  const auto [first, last] = run.Overlap(input.order, bounds);
  for (size_t i = first; i < last; ++i) {
    if (HasDroppable(input, *run.virtual_tables()[i].file)) return true;
  }
  return false;
}

namespace {

// The keys from virtual table `first` of the run up to virtual table `end`.
format::Bounds KeysOf(const version::Run& run, size_t first, size_t end) {
  const auto& virtual_tables = run.virtual_tables();
  format::Bounds bounds{.lower = std::string(virtual_tables[first].smallest())};
  if (end < virtual_tables.size()) bounds.upper = virtual_tables[end].smallest();
  return bounds;
}

// The part of the bounds before the unreadable keys or, if there is none, behind them. Nothing if no part is left.
std::optional<format::Bounds> ReadablePart(const PickInput& input, format::Bounds bounds) {
  for (const UnreadableKeys& each : UnreadableOf(input)) {
    if (!version::Intersect(input.order, each.bounds, bounds)) continue;
    const bool begins_before =
        each.bounds.lower && (!bounds.lower || input.order.CompareKeys(*bounds.lower, *each.bounds.lower) < 0);
    if (begins_before) {
      bounds.upper = each.bounds.lower;
    } else if (each.bounds.upper) {
      bounds.lower = each.bounds.upper;
    } else {
      return std::nullopt;
    }
  }
  return bounds;
}

// Compacts the first wanted virtual tables in a row of run `index`, up to kStepBytesMin, within that run.
template <class IsWanted>
std::optional<CompactionPick> PickInRun(const PickInput& input, size_t index, CompactionReason reason,
                                        const IsWanted& is_wanted) {
  const Span span{.newest = index, .oldest = index};
  const version::Run& run = *input.version.runs()[index];
  const auto& virtual_tables = run.virtual_tables();
  const auto is_taken = [&](size_t i) {
    return is_wanted(virtual_tables[i]) && !IsUnreadable(input, span, KeysOf(run, i, i + 1));
  };
  for (size_t i = 0; i < virtual_tables.size();) {
    if (!is_taken(i)) {
      ++i;
      continue;
    }
    const size_t first = i;
    uint64_t bytes = 0;
    for (; i < virtual_tables.size() && bytes < kStepBytesMin && is_taken(i); ++i) {
      bytes += virtual_tables[i].file->bytes;
    }
    format::Bounds bounds = KeysOf(run, first, i);
    if (IsBlocked(input, span, bounds)) continue;
    CompactionPick pick = MakePick(input, span, std::move(bounds), run.level(), reason);
    pick.output_file_bytes = OutputBytes(input, PartitionBytes(run.bytes()));
    return pick;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CompactionPick> PickTombstones(const PickInput& input) {
  const auto& runs = input.version.runs();
  if (runs.empty() || (runs.back()->tombstones() == 0 && runs.back()->range_tombstones() == 0)) return std::nullopt;
  return PickInRun(input, runs.size() - 1, CompactionReason::kTombstones,
                   [&](const version::VirtualTable& each) { return HasTooManyTombstones(input, *each.file); });
}

// WHY none while a compaction runs: it shows its inputs in part until it ends.
std::optional<CompactionPick> PickPartialTables(const PickInput& input) {
  if (!input.running.empty() || BytesOverBound(input) == 0) return std::nullopt;
  for (size_t i = 0; i < input.version.runs().size(); ++i) {
    if (input.version.runs()[i]->partial_files().empty()) continue;
    auto pick = PickInRun(input, i, CompactionReason::kSpace,
                          [](const version::VirtualTable& each) { return !each.is_whole(); });
    if (pick) return pick;
  }
  return std::nullopt;
}

std::optional<CompactionPick> PickTombstoneScan(const PickInput& input, const format::Bounds& bounds) {
  const auto& runs = input.version.runs();
  if (runs.empty() || runs.size() > input.sources_max) return std::nullopt;
  const Span span{.newest = 0, .oldest = runs.size() - 1};
  const auto part = ReadablePart(input, bounds);
  if (!part || IsBlocked(input, span, *part)) return std::nullopt;
  CompactionPick pick = MakePick(input, span, *part, runs.back()->level(), CompactionReason::kTombstoneScan);
  if (pick.input_bytes == 0) return std::nullopt;
  pick.output_file_bytes = OutputBytes(input, PartitionBytes(runs.back()->bytes()));
  return pick;
}

}  // namespace mergedb::picker
