// lazy: runs gather in tiers above one partitioned oldest run.
//
//   L0  o o o o o o o        flushed runs: 16 of them become one L1 run; up to 64 if flushes are small, so that the
//                            result has about 64 MiB; 8 if writes have stopped and the space bound holds
//   L1  -- -- --             each run is cut at the partition borders
//   L2  --------
//   bottom  [  ][  ][  ][  ][  ][  ][  ][  ]       at the space bound a partition takes in the keys above it

#include "picker/partitions.h"
#include "picker/styles.h"
#include "picker/survey.h"

namespace mergedb::picker {

namespace {

// MEASURED: the simulator, overwrites at 256 memtables: compactions read 2.9 entries a put with 16, 3.1 with
// 8; at 600 memtables 3.2 and 3.7. The cost: 28 runs on average instead of 25.
constexpr size_t kTierWidth = 16;
constexpr format::Level kTierMax = 8;
// WHY not 2: each merge of two runs would write the larger one again for little gain.
constexpr size_t kTierForReads = 4;

// Consecutive runs of one level that no compaction holds.
struct Tier {
  Span span;
  format::Level level;

  size_t count() const { return span.oldest - span.newest + 1; }
};

struct TierWidths {
  size_t flushed;
  size_t others = kTierWidth;
};

// Above the runs is one of their level that compactions leave alone. Then no more runs of this level will follow them.
bool IsBelowUnreadable(const PickInput& input, const Tier& tier) {
  if (tier.span.newest == 0) return false;
  const size_t above = tier.span.newest - 1;
  return input.version.runs()[above]->level() == tier.level && IsUnreadable(input, {above, above}, {});
}

std::optional<Tier> FullTier(const PickInput& input, const TierWidths& widths) {
  const auto& runs = input.version.runs();
  std::optional<Tier> found;
  for (size_t i = 0; i < runs.size();) {
    Tier tier{.span = {.newest = i, .oldest = i}, .level = runs[i]->level()};
    if (!IsFree(input, i++)) continue;
    while (i < runs.size() && runs[i]->level() == tier.level && IsFree(input, i)) tier.span.oldest = i++;
    const size_t width = IsBelowUnreadable(input, tier) ? 2 : tier.level == 0 ? widths.flushed : widths.others;
    if (tier.level == format::kBottommostLevel || tier.count() < width) continue;
    if (!found || tier.level < found->level) found = tier;
  }
  return found;
}

}  // namespace

format::Level LazyLevel(const PickInput& input, uint64_t bytes) {
  uint64_t tier_bytes = FlushedWidth(input) * FlushBytes(input);
  format::Level level = 0;
  for (; bytes >= tier_bytes && level < kTierMax; ++level) tier_bytes *= kTierWidth;
  return level;
}

namespace {

std::optional<CompactionPick> CompactTier(const PickInput& input, const TierWidths& widths) {
  const auto tier = FullTier(input, widths);
  if (!tier) return std::nullopt;
  const auto& runs = input.version.runs();
  Span span = tier->span;
  if (tier->count() > input.sources_max) span.newest = span.oldest + 1 - input.sources_max;
  const bool is_oldest = span.oldest + 1 == runs.size();
  const format::Level target_level = is_oldest ? format::kBottommostLevel : tier->level + 1;
  CompactionPick pick = MakePick(input, span, {}, target_level, CompactionReason::kTierFull);
  const version::Run& oldest = *runs.back();
  const uint64_t partition_bytes = PartitionBytes(is_oldest ? pick.input_bytes : oldest.bytes());
  pick.output_file_bytes = OutputBytes(input, partition_bytes);
  if (!is_oldest)
    pick.cut_keys = CutKeys(MakePartitions(oldest, partition_bytes), pick.input_bytes, pick.output_file_bytes);
  return pick;
}

}  // namespace

std::optional<CompactionPick> PickTier(const PickInput& input) {
  return CompactTier(input, {.flushed = FlushedWidth(input)});
}

std::optional<CompactionPick> PickIdleTier(const PickInput& input) {
  // Over the bound, PickBottommost compacts these runs together with the runs below them, unless these are unreadable.
  if (input.urgency == Urgency::kWriting) return std::nullopt;
  if (BytesOverBound(input) > 0 && UnreadableOf(input).empty()) return std::nullopt;
  return CompactTier(input, {.flushed = kFlushedWhenIdle});
}

std::optional<CompactionPick> PickTierForReads(const PickInput& input) {
  return CompactTier(input, {.flushed = kTierForReads, .others = kTierForReads});
}

}  // namespace mergedb::picker
