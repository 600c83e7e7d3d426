// All versions of a SuperVersion in key order: MaskingIterator( MergingIterator( memtables, runs ) ). The user iterator
// stands on top of it (read/db_iterator.h), and a point read of a key with very many operands (read/lookup.cc).
// Tests: tests/unit/read/db_iterator_test.cc.
#pragma once

#include <memory>

#include "format/version_edit.h"
#include "iterator/masking_iterator.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "read/pinned_tables.h"
#include "read/super_version.h"
#include "table/cache.h"

namespace mergedb::read {

struct TreeIteratorContext {
  const kv::Order& order;
  table::Cache& tables;
  PinnedTables* kept = nullptr;  // as in DbIteratorContext
};

// The uncommitted writes of a transaction, over the tree. Their sequences are larger than all of the tree's.
struct Overlay {
  std::unique_ptr<kv::Iterator> versions = nullptr;       // null: there is no overlay
  std::unique_ptr<iterator::MaskSource> masks = nullptr;  // null: no range deletes
  // Other writers may commit during the transaction: the tree's versions newer than `sequence` must be left out.
  bool is_shared = false;
};

// Merges all sources that have keys in `bounds`, newest first, and hides what range tombstones mask. What `context` and
// `super_version` refer to outlives the iterator.
std::unique_ptr<kv::Iterator> NewTreeIterator(const TreeIteratorContext& context, const SuperVersion& super_version,
                                              kv::Sequence sequence, const format::Bounds& bounds,
                                              const table::ReadControl& control, Overlay overlay = {});

}  // namespace mergedb::read
