// A lazy walk of one run: opens a table when the walk reaches its slice, and shows the keys in the slice's bounds only.
//
//   run      [a . . f)[f . . . m]      [q . . z]
//   walk      -------> ----------       ------->     one table open at a time
#pragma once

#include <functional>
#include <memory>

#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/skipped_errors.h"
#include "table/cache.h"
#include "version/run.h"

namespace mergedb::read {

// How the walk gets at a slice's table: through the block cache for readers, in large pieces for compactions.
using OpenVirtualTable = std::function<std::unique_ptr<kv::Iterator>(const version::VirtualTable& virtual_table)>;

// The slices that intersect `bounds`, and of those only the keys in `bounds`. `run` is kept alive. With `skipped`, which must
// outlive the result, slices whose table cannot be opened are passed over; without it the walk ends at the error.
std::unique_ptr<kv::Iterator> NewRunIterator(const kv::Order& order, version::RunPtr run, format::Bounds bounds,
                                             OpenVirtualTable open, kv::SkippedErrors* skipped = nullptr);

}  // namespace mergedb::read
