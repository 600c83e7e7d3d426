#include "repair/compacted_inputs.h"

#include <algorithm>

namespace mergedb::repair {
namespace {

bool IsIn(const kv::Order& order, const format::Bounds& bounds, std::string_view key) {
  return (!bounds.lower || order.CompareKeys(*bounds.lower, key) <= 0) &&
         (!bounds.upper || order.CompareKeys(key, *bounds.upper) < 0);
}

kv::OptionalKey ViewOf(const std::optional<std::string>& key) { return key ? kv::OptionalKey(*key) : std::nullopt; }

// Appends the parts of the piece below `lower` (null: no such part) and from `upper` on (null: no such part).
void AppendOutside(const kv::Order& order, const kv::RangeTombstone& piece, kv::OptionalKey lower,
                   kv::OptionalKey upper, std::vector<kv::RangeTombstone>* out) {
  const auto append = [&](std::string_view begin, std::string_view end) {
    if (order.CompareKeys(begin, end) < 0) out->push_back({.begin = begin, .end = end, .sequence = piece.sequence});
  };
  if (lower) append(piece.begin, order.CompareKeys(*lower, piece.end) < 0 ? *lower : piece.end);
  if (upper) append(order.CompareKeys(*upper, piece.begin) > 0 ? *upper : piece.begin, piece.end);
}

}  // namespace

bool LooseTable::HasLost(const kv::Order& order, std::string_view key) const {
  return std::ranges::any_of(lost_ranges, [&](const KeyRange& lost) {
    return (!lost.smallest || order.CompareKeys(*lost.smallest, key) <= 0) &&
           (!lost.largest || order.CompareKeys(key, *lost.largest) <= 0);
  });
}

CompactedInputs::CompactedInputs(const kv::Order& order, const std::vector<LooseTable>& tables) : order_(order) {
  for (const LooseTable& table : tables) {
    for (const format::CompactedRange& compacted_ranges : table.compacted_ranges)
      compacted_inputs_.push_back({&table, &compacted_ranges});
  }
}

CompactedInputs::On CompactedInputs::Against(const LooseTable& home) const {
  On on(order_, home);
  for (const format::CompactedRange& compacted_ranges : home.compacted_ranges)
    on.is_of_oldest_run_ |= compacted_ranges.from == 0;
  for (const Range& later : compacted_inputs_) {
    if (on.MayConcern(later)) on.later_.push_back(later);
  }
  return on;
}

// Decides without a read of the table. WHY only compacted ranges of tables younger than `home`: if `home` is
// younger, it may have its entries from that table.
bool CompactedInputs::On::MayConcern(const Range& later) const {
  const format::FileMeta& meta = *home_.meta;
  const format::CompactedRange& range = *later.compacted_ranges;
  if (home_.age() >= later.table->age()) return false;
  if (!is_of_oldest_run_ && meta.smallest_sequence > range.sequence) return false;
  if (meta.largest_sequence < range.from) return false;
  if (meta.smallest.empty() && meta.largest.empty()) return true;
  return (!range.bounds.lower || order_.CompareKeys(*range.bounds.lower, meta.largest) <= 0) &&
         (!range.bounds.upper || order_.CompareKeys(meta.smallest, *range.bounds.upper) < 0);
}

bool CompactedInputs::On::IsObsolete(std::string_view key, kv::Sequence sequence) const {
  const kv::Sequence most = sequence == 0 && !later_.empty() ? SequenceLostAt(key) : sequence;
  return std::any_of(later_.begin(), later_.end(), [&](const Range& later) {
    const format::CompactedRange& range = *later.compacted_ranges;
    // WHY a range above the oldest run (from > 0) never matches sequence 0: the table of the range still has
    // whatever hides the version. If both tables come from the oldest run, the older one was an input of the
    // younger one, as a whole.
    const bool has_it = range.from > 0 ? range.from <= sequence && sequence <= range.sequence
                                       : is_of_oldest_run_ || most <= range.sequence;
    return has_it && IsIn(order_, range.bounds, key) && !later.table->HasLost(order_, key);
  });
}

kv::Sequence CompactedInputs::On::SequenceLostAt(std::string_view key) const {
  for (const format::CompactedRange& own : home_.compacted_ranges) {
    if (IsIn(order_, own.bounds, key)) return own.sequence;
  }
  return 0;
}

// Keeps the parts of the pieces outside of the compacted range, and in the keys that the range excludes.
// WHY the largest key of an excluded range counts as compacted: the end of a tombstone is exclusive, and
// there may be no key just after the largest one.
void CompactedInputs::On::Cut(const Range& later, std::vector<kv::RangeTombstone>* pieces) const {
  std::vector<kv::RangeTombstone> left;
  for (const kv::RangeTombstone& piece : *pieces) {
    const format::Bounds& bounds = later.compacted_ranges->bounds;
    AppendOutside(order_, piece, ViewOf(bounds.lower), ViewOf(bounds.upper), &left);
    for (const KeyRange& range : later.table->lost_ranges) {
      kv::RangeTombstone inner = piece;
      for (const kv::OptionalKey lower : {ViewOf(bounds.lower), ViewOf(range.smallest)}) {
        if (lower && order_.CompareKeys(*lower, inner.begin) > 0) inner.begin = *lower;
      }
      for (const kv::OptionalKey upper : {ViewOf(bounds.upper), ViewOf(range.largest)}) {
        if (upper && order_.CompareKeys(*upper, inner.end) < 0) inner.end = *upper;
      }
      if (order_.CompareKeys(inner.begin, inner.end) < 0) left.push_back(inner);
    }
  }
  *pieces = std::move(left);
}

void CompactedInputs::On::AppendLive(const kv::RangeTombstone& tombstone,
                                     std::vector<kv::RangeTombstone>* alive) const {
  std::vector<kv::RangeTombstone> pieces = {tombstone};
  for (const Range& later : later_) {
    if (pieces.empty()) return;
    const format::CompactedRange& range = *later.compacted_ranges;
    const bool has_it = (range.from == 0 && is_of_oldest_run_) ||
                        (range.from <= tombstone.sequence && tombstone.sequence <= range.sequence);
    if (has_it) Cut(later, &pieces);
  }
  alive->insert(alive->end(), pieces.begin(), pieces.end());
}

}  // namespace mergedb::repair
