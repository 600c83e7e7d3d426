// The iterator that a user holds: UserIterator( MaskingIterator( MergingIterator( memtables, runs ) ) ) over one
// SuperVersion. The iterator may outlive its database; after Close it is not valid and its status is ShuttingDown.
// The own writes of a transaction are one more child of the merging iterator, newer than all others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/mapped_faults.h"
#include "blob/cache.h"
#include "env/latencies.h"
#include "env/slow_call.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/program_operators.h"
#include "kv/skipped_errors.h"
#include "mergedb/iterator.h"
#include "read/blob_values.h"
#include "read/heat.h"
#include "read/pinned_tables.h"
#include "read/read_observer.h"
#include "read/super_version.h"
#include "read/tree_iterator.h"
#include "table/cache.h"

namespace mergedb::read {

struct DbIteratorContext {
  const kv::Order& order;
  table::Cache& tables;
  blob::Cache& values;
  // True once the database is closed; shared because the iterator may outlive the database.
  std::shared_ptr<const std::atomic<bool>> is_closed;
  // Keeps everything alive that the iterator uses (order, tables, and what they use); may be null in tests.
  std::shared_ptr<const void> keep;
  // The database's directory, which `keep` keeps alive; a Corruption names it in its next step.
  std::string_view directory = {};
  // Explains an error in place of WithNextStep; `keep` keeps it alive; may be null.
  const std::function<Status(Status)>* explain = nullptr;
  ReadObserver* observer = nullptr;  // `keep` keeps it alive; may be null
  const kv::ProgramOperators* operators = nullptr;
  env::Latencies* latencies = nullptr;         // of seeks; `keep` keeps it alive; may be null
  const env::SlowCalls* slow_calls = nullptr;  // of seeks; as `latencies`; null if `latencies` is
  Heat* heat = nullptr;                        // of seeks; as `latencies`; null if `latencies` is
  // Blocks and tables that cannot be read are skipped, and their errors are added here; it outlives the iterator. Null:
  // the iterator ends at such an error.
  kv::SkippedErrors* skipped = nullptr;
  // The sources whose entries are shown are kept here, if their bytes last; it outlives the iterator. Null: the
  // iterator releases a table when it leaves the table.
  PinnedTables* kept = nullptr;
  const base::MappedFaults* faults = &base::no_mapped_faults;  // of the files that `tables` and `values` map
};

// An iterator that also gives access to its internal iterator. An interface on top of it uses that one, to
// save a virtual call in each of its own calls.
class InternalAccessIterator : public Iterator {
 public:
  // `is_closed` as in DbIteratorContext; null: always open.
  explicit InternalAccessIterator(std::shared_ptr<const std::atomic<bool>> is_closed = nullptr)
      : is_closed_(std::move(is_closed)) {}
  bool IsOpen() const { return is_closed_ == nullptr || !is_closed_->load(std::memory_order_acquire); }
  const std::shared_ptr<const std::atomic<bool>>& is_closed() const { return is_closed_; }
  // The internal iterator: it shows what this iterator shows, one entry per user key. Moving one moves the
  // other. It does not check whether the database is closed: it goes on showing what it has pinned. It lives
  // as long as this iterator.
  virtual kv::Iterator& internal() = 0;
  // As failed_key(), also if the status is Busy.
  virtual std::optional<std::string_view> unreadable_key() const { return failed_key(); }
  // As Prev, from unreadable_key().
  virtual void PrevFromUnreadable() { Prev(); }

 private:
  const std::shared_ptr<const std::atomic<bool>> is_closed_;
};

std::unique_ptr<InternalAccessIterator> NewDbIterator(const DbIteratorContext& context, SuperVersionPtr super_version,
                                                      kv::Sequence sequence, const IteratorOptions& options,
                                                      Overlay overlay = {});

// The bounds that `lower`, `upper` and `prefix` give together.
format::Bounds BoundsOf(const IteratorOptions& options);

// An iterator that is never valid; status() returns `status`.
std::unique_ptr<InternalAccessIterator> NewErrorIterator(Status status);

}  // namespace mergedb::read
