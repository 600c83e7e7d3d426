#include "picker/picker.h"

#include <algorithm>

#include "picker/partitions.h"
#include "picker/styles.h"
#include "picker/survey.h"

namespace mergedb::picker {

namespace {

// WHY a ratio: a move copies the metadata of the run that it enters. With this ratio a long sequential load
// of small tables forms groups of 64, then of 4,096 tables, and copies the metadata of each table a few times
// instead of once a flush.
constexpr size_t kMoveRatioMax = 64;

bool IsWorthMoving(const PickInput& input, const version::Run& source, const version::Run& target) {
  return input.urgency != Urgency::kWriting ||
         target.virtual_tables().size() <= kMoveRatioMax * source.virtual_tables().size();
}

format::Level LevelAfterMove(const PickInput& input, const version::Run& source, const version::Run& target) {
  const uint64_t bytes = source.bytes_with_values() + target.bytes_with_values();
  const format::Level fitting = input.style == Style::kLazy ? LazyLevel(input, bytes) : CascadeLevel(input, bytes);
  return std::max({source.level() == format::kBottommostLevel ? 0 : source.level(), target.level(), fitting});
}

}  // namespace

std::optional<CompactionPick> PickMove(const PickInput& input) {
  const auto& runs = input.version.runs();
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    const Span pair{.newest = i, .oldest = i + 1};
    if (!IsWorthMoving(input, *runs[i], *runs[i + 1]) || !CanMove(input, pair)) continue;
    if (IsHeld(input, pair, {})) continue;
    CompactionPick pick =
        MakePick(input, pair, {}, LevelAfterMove(input, *runs[i], *runs[i + 1]), CompactionReason::kDisjoint);
    pick.is_move = true;
    return pick;
  }
  return std::nullopt;
}

std::optional<CompactionPick> Pick(const PickInput& input) {
  if (auto pick = PickMove(input)) return pick;
  if (auto pick = input.style == Style::kLazy ? PickTier(input) : PickCascade(input)) return pick;
  if (BlobGarbageComesFirst(input)) {
    auto pick = PickBlobGarbage(input);
    // WHY no other rule beside a running compaction: it holds the files, and another one would delay their collection.
    if (pick || !input.running.empty()) return pick;
  }
  if (auto pick = PickBottommost(input)) return pick;
  // While writes come, garbage collection starts early, but only after compaction: it would move values that
  // a compaction finds to be garbage.
  const bool may_collect = input.urgency != Urgency::kWriting || BytesOverBound(input) > 0;
  if (may_collect) {
    if (auto pick = PickBlobGarbage(input)) return pick;
  }
  if (auto pick = PickSmallBlobs(input)) return pick;
  if (auto pick = PickBlobOrder(input)) return pick;
  if (auto pick = PickTombstones(input)) return pick;
  if (auto pick = PickPartialTables(input)) return pick;
  if (auto pick = PickForReads(input)) return pick;
  return input.style == Style::kLazy ? PickIdleTier(input) : std::nullopt;
}

bool NeedsNoCompaction(const PickInput& input) { return input.running.empty() && !Pick(input); }

namespace {

uint64_t BytesOf(const version::Version& version) { return version.bytes() + version.record_bytes(); }

version::Weight WeightOf(const format::FileMeta& file) {
  version::Weight weight;
  weight.Add(file);
  return weight;
}

// The bytes of the run, of tables or with their values. A compaction that is not at its end shows its outputs beside
// the rest of the files that they replace: the smaller of the two is left out.
using BytesOfWeight = uint64_t (*)(const version::Weight&);
uint64_t BytesOfRun(const kv::Order& order, const version::Run& run, BytesOfWeight bytes_of) {
  uint64_t bytes = bytes_of(run.whole_weight());
  for (const format::FileMetaPtr& file : run.partial_files()) {
    const size_t first = run.FindIndex(order, file->smallest);
    uint64_t outputs = 0;
    for (size_t i = first; i < run.virtual_tables().size(); ++i) {
      const version::VirtualTable& virtual_table = run.virtual_tables()[i];
      if (order.CompareKeys(virtual_table.smallest(), file->largest) > 0) break;
      if (virtual_table.is_whole()) outputs += bytes_of(WeightOf(*virtual_table.file));
    }
    const uint64_t whole = bytes_of(WeightOf(*file));
    bytes += whole - std::min(whole, outputs);
  }
  return bytes;
}

uint64_t LiveAtLeast(const kv::Order& order, const version::Version& version, BytesOfWeight bytes_of) {
  uint64_t live = 0;
  uint64_t newer_tombstones = 0;
  uint64_t newer_masked_bytes = 0;
  for (const version::RunPtr& run : version.runs()) {
    const uint64_t puts = run->entries() - std::min(run->entries(), run->tombstones());
    const uint64_t left = puts - std::min(puts, newer_tombstones);
    if (run->entries() > 0 && run->bytes() > 0) {
      const double share = static_cast<double>(left) / static_cast<double>(run->entries());
      // masked_bytes is of tables and values together. As a share it holds for tables alone, too.
      const auto all = static_cast<double>(run->bytes_with_values());
      const double unmasked = std::max(0.0, share - static_cast<double>(newer_masked_bytes) / all);
      live = std::max(live, static_cast<uint64_t>(static_cast<double>(BytesOfRun(order, *run, bytes_of)) * unmasked));
    }
    newer_tombstones += run->tombstones();
    newer_masked_bytes += run->masked_bytes();
  }
  return live;
}

}  // namespace

uint64_t LiveBytesAtLeast(const PickInput& input) {
  const version::Version& version = input.version;
  return std::max(LiveAtLeast(input.order, version,
                              [](const version::Weight& weight) { return weight.bytes + weight.value_bytes; }),
                  std::min(input.live_bytes_known, BytesOf(version)));
}

uint64_t LiveTableBytesAtLeast(const PickInput& input) {
  return LiveAtLeast(input.order, input.version, [](const version::Weight& weight) { return weight.bytes; });
}

namespace {

uint64_t AllowedBy(const SpaceBound& bound, const PickInput& input) {
  return static_cast<uint64_t>(bound.factor * static_cast<double>(LiveBytesAtLeast(input)) +
                               static_cast<double>(bound.slack_bytes)) +
         BytesBlocked(input);
}

}  // namespace

uint64_t BytesOver(const PickInput& input, const SpaceBound& bound, uint64_t more) {
  const uint64_t bytes = BytesOf(input.version) + more;
  return bytes - std::min(bytes, AllowedBy(bound, input));
}

uint64_t BytesAllowed(const PickInput& input) { return AllowedBy(BoundOf(input), input); }

uint64_t SpaceLimit(const PickInput& input) {
  SpaceBound bound = BoundOf(input);
  bound.slack_bytes *= 2;
  return AllowedBy(bound, input) +
         std::max(2 * PartitionBytes(LiveTableBytesAtLeast(input)), CollectedBytesMax(input.version));
}

uint64_t BytesOverBound(const PickInput& input) { return BytesOver(input, BoundOf(input)); }

uint64_t BytesOverBoundMax(const PickInput& input) {
  const uint64_t partition_bytes = PartitionBytes(LiveTableBytesAtLeast(input));
  const uint64_t flushes = input.style == Style::kCascade ? kCascadeFlushes : FlushedWidth(input) / 2;
  return 2 * partition_bytes + flushes * FlushBytes(input) + CollectedBytesMax(input.version);
}

ManualPick PickManual(const PickInput& input, const format::Bounds& bounds, kv::Position newest) {
  ManualPick pick{.pick = std::nullopt, .is_done = true};
  const auto& runs = input.version.runs();
  const auto first = std::ranges::find_if(runs, [&](const version::RunPtr& run) { return run->position() <= newest; });
  if (first == runs.end()) return pick;
  const version::Run& oldest = *runs.back();
  const uint64_t partition_bytes = PartitionBytes(oldest.bytes());
  for (const Partition& partition : PartitionsOf(input, partition_bytes)) {
    if (!version::Intersect(input.order, partition.bounds, bounds)) continue;
    format::Bounds part = version::Intersection(input.order, partition.bounds, bounds);
    const auto newest_owing = std::find_if(first, runs.end() - 1, [&](const version::RunPtr& run) {
      const auto [begin, end] = run->Overlap(input.order, part);
      return begin < end;
    });
    if (newest_owing == runs.end() - 1 && !HasOldTombstones(input, oldest, part)) continue;
    pick.is_done = false;
    Span span{.newest = static_cast<size_t>(newest_owing - runs.begin()), .oldest = runs.size() - 1};
    span.oldest = std::min(span.oldest, span.newest + input.sources_max - 1);
    if (IsBlocked(input, span, part)) continue;
    // If the oldest run is the target, it gets the bottommost level. A run above it keeps its level.
    const bool is_oldest = span.oldest == runs.size() - 1;
    const format::Level level = is_oldest ? format::kBottommostLevel : runs[span.oldest]->level();
    pick.pick = MakePick(input, span, std::move(part), level, CompactionReason::kManual);
    pick.pick->output_file_bytes = OutputBytes(input, partition_bytes);
    return pick;
  }
  return pick;
}

// MEASURED: docs/decisions/0061-reads-pay-for-compactions.md.
uint64_t RunVisitsFor(uint64_t input_bytes) {
  constexpr uint64_t kBytesPerVisit = 300;
  return std::max(input_bytes / kBytesPerVisit, kRunVisitsMin);
}

std::optional<CompactionPick> PickForReads(const PickInput& input) {
  const auto& runs = input.version.runs();
  if (runs.size() < 2 || input.extra_run_visits < kRunVisitsMin) return std::nullopt;
  std::optional<CompactionPick> pick;
  if (input.style == Style::kLazy) pick = PickTierForReads(input);
  if (!pick) pick = PickManual(input, {}, runs.front()->position()).pick;
  if (!pick || RunVisitsFor(pick->input_bytes) > input.extra_run_visits) return std::nullopt;
  pick->reason = CompactionReason::kReads;
  return pick;
}

}  // namespace mergedb::picker
