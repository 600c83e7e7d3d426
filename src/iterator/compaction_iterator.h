// What a compaction keeps: of each key, the versions that some snapshot (or the newest reader) still needs.
//
//   sequences    9   8 | 6   5   3 | 2   1        | = snapshots at 7 and 2... one version survives per stripe
//   kept         9       6           2
//
// A DELETE that reaches the bottom (nothing older can exist below its key) goes, below every snapshot; a version at the
// bottom, below every snapshot, gets sequence 0. Duplicates (same key, same tag) collapse into one.
//
// Operands are folded within their stripe: onto the base that they meet there, or, at the bottom and below every snapshot,
// onto nothing, into one PUT or MERGED; else with each other, as far as their types allow. What cannot be folded, since an
// operator is missing or fails, stays as it is, base included; so does a base whose value cannot be read.
//
//   sequences    MERGE 9   MERGE 8   PUT 7 | MERGE 5   MERGE 3   | = a snapshot at 6
//   kept         PUT 9                     | MERGE 5
//
// Forward only: SeekToFirst / Seek, Next. Forward is all that a compaction needs; Prev asserts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kv/fold.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/value_source.h"

namespace mergedb::iterator {

struct CompactionIteratorOptions {
  std::vector<kv::Sequence> snapshots = {};  // ascending; what live snapshots can see
  bool is_bottom = false;                    // no older version of any key of the input exists outside of the input
  const kv::ProgramOperators* operators = nullptr;  // outlives the iterator; null: none
  // Values of bases that are PUT_REF; outlives the iterator. Null: operands on them stay, even at the bottom.
  kv::ValueSource* values = nullptr;
};

struct CompactionIteratorCounts {
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t hidden = 0;      // dropped: a newer version in the same stripe, or folded into one
  uint64_t tombstones = 0;  // dropped at the bottom
  uint64_t covered = 0;     // dropped before they came here: range_tombstone_filter.h
};

// `counts` outlives the iterator.
std::unique_ptr<kv::Iterator> NewCompactionIterator(const kv::Order& order, CompactionIteratorOptions options,
                                                    std::unique_ptr<kv::Iterator> input,
                                                    CompactionIteratorCounts* counts);

}  // namespace mergedb::iterator
