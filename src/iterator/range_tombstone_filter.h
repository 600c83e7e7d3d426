// Drops from the input of a compaction the versions that range tombstones mask for every snapshot and for the
// newest reader.
//
//   tombstone   [b . . . . . . . . m)#5      snapshot at 3
//   input       a#4   c#4   d#2   e#6   n#1
//   output      a#4         d#2   e#6   n#1
//
// c#4 is dropped: every reader that sees it also sees the tombstone. d#2 stays: the snapshot sees it and does
// not see the tombstone.
//
// Tests: tests/unit/iterator/range_tombstone_filter_test.cc.
#pragma once

#include <cstdint>
#include <memory>

#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "kv/snapshot_stripes.h"

namespace mergedb::iterator {

// `tombstones` and `dropped` outlive the iterator. *dropped counts the dropped versions.
std::unique_ptr<kv::ForwardIterator> NewRangeTombstoneFilter(const kv::Order& order,
                                                             const kv::RangeTombstones& tombstones, kv::Stripes stripes,
                                                             std::unique_ptr<kv::ForwardIterator> input,
                                                             uint64_t* dropped);

}  // namespace mergedb::iterator
