// Shows what a compaction keeps: of each key the versions that a snapshot or the newest reader still needs.
//
//   sequences    9   8 | 6   5   3 | 2   1        | = snapshots at 7 and 2; one version is kept per stripe
//   kept         9       6           2
//
// A DELETE at the bottom (no older version of its key can exist) and below every snapshot is dropped. A PUT,
// blob index or MERGED version there gets sequence 0. Duplicates (same key, same tag) become one entry.
//
// Operands are folded within their stripe. If the stripe holds a base, they are folded onto it. Otherwise, if the
// stripe is at the bottom and below every snapshot, they are folded onto nothing. The result of both is one PUT or
// MERGED. In all other stripes the operands are combined with each other as far as their types allow. If a fold
// fails (an operator is missing or fails, or the value of the base cannot be read), the operands and the base stay.
//
//   sequences    MERGE 9   MERGE 8   PUT 7 | MERGE 5   MERGE 3   | = a snapshot at 6
//   kept         PUT 9                     | MERGE 5
#pragma once

#include <cstdint>
#include <memory>

#include "kv/fold.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/snapshot_stripes.h"
#include "kv/value_source.h"

namespace mergedb::iterator {

struct CompactionIteratorOptions {
  kv::Stripes stripes = {};
  bool is_bottommost = false;                       // no older version of an input key exists outside of the input
  const kv::ProgramOperators* operators = nullptr;  // outlives the iterator; may be null
  // Reads the values of bases that are blob indexes; outlives the iterator. Null: operands above a blob index stay,
  // even at the bottom.
  kv::ValueSource* values = nullptr;
};

struct CompactionIteratorCounts {
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t hidden = 0;      // dropped: a newer version in the same stripe, or folded into one
  uint64_t tombstones = 0;  // dropped at the bottom
  uint64_t masked = 0;      // dropped by the input: range_tombstone_filter.h
};

// `counts` outlives the iterator.
std::unique_ptr<kv::ForwardIterator> NewCompactionIterator(const kv::Order& order, CompactionIteratorOptions options,
                                                           std::unique_ptr<kv::ForwardIterator> input,
                                                           CompactionIteratorCounts* counts);

}  // namespace mergedb::iterator
