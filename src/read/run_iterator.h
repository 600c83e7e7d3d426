// A lazy iterator over one sorted run: it opens a table when it reaches the table's virtual table, and shows
// only the keys within the virtual table's bounds.
//
//   run      [a . . f)[f . . . m]      [q . . z]
//   scan      -------> ----------       ------->     one table open at a time
#pragma once

#include <functional>
#include <memory>

#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/skipped_errors.h"
#include "table/cache.h"
#include "version/run.h"

namespace mergedb::read {

// Makes the iterator over a virtual table: through the block cache for readers, in large pieces for compactions.
using OpenVirtualTable = std::function<std::unique_ptr<kv::Iterator>(const version::VirtualTable& virtual_table)>;

// Shows the keys of `run` in `bounds`. Keeps `run` alive. With `skipped`, which outlives the result, virtual
// tables that cannot be opened are skipped; without it the iterator ends at the error.
std::unique_ptr<kv::Iterator> NewRunIterator(const kv::Order& order, version::RunPtr run, format::Bounds bounds,
                                             OpenVirtualTable open, kv::SkippedErrors* skipped = nullptr);

}  // namespace mergedb::read
