// What range tombstones leave of a compaction's input: the versions that some snapshot, or the newest reader, still sees.
//
//   tombstone   [b . . . . . . . . m)#5      snapshot at 3
//   input       a#4   c#4   d#2   e#6   n#1
//   left        a#4         d#2   e#6   n#1         c#4: who sees it sees the tombstone, too. d#2: the snapshot does not.
//
// Forward only: SeekToFirst, Next. Tests: tests/unit/iterator/range_tombstone_filter_test.cc.
#pragma once

#include <cstdint>
#include <memory>

#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "kv/snapshot_stripes.h"

namespace mergedb::iterator {

// `tombstones` and `dropped`, which counts what is left out, outlive the iterator.
std::unique_ptr<kv::Iterator> NewRangeTombstoneFilter(const kv::Order& order, const kv::RangeTombstones& tombstones,
                                                      kv::Stripes stripes, std::unique_ptr<kv::Iterator> input,
                                                      uint64_t* dropped);

}  // namespace mergedb::iterator
