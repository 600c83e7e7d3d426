// The cursor that a user holds: visible( uncovered( merging( memtables, runs ) ) ) over one View, and the errors of a life that outlasts
// its database's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "kv/order.h"
#include "kv/program_operators.h"
#include "mergedb/iterator.h"
#include "read/view.h"
#include "stream/wade.h"
#include "table/cache.h"
#include "values/cache.h"

namespace mergedb::read {

struct DbIteratorContext {
  const kv::Order& order;
  table::Cache& tables;
  values::Cache& values;
  // True once the database is closed; shared because the cursor may outlive the database.
  std::shared_ptr<const std::atomic<bool>> is_closed;
  // Keeps everything that the cursor uses alive (order, tables, and what they use); may be null in tests.
  std::shared_ptr<const void> keep;
  std::function<void()> on_release = {};  // the cursor died: what it pinned may go
  std::function<void(stream::Wade)> on_wade = {};  // a move passed over very much that is deleted
  const kv::ProgramOperators* operators = nullptr;
};

std::unique_ptr<Iterator> NewDbIterator(const DbIteratorContext& context, ViewPtr view, kv::Sequence sequence,
                                        const IteratorOptions& options);

// Not valid, ever; status() says why.
std::unique_ptr<Iterator> NewErrorIterator(Status status);

}  // namespace mergedb::read
