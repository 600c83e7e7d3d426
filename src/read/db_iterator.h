// The cursor that a user holds: visible( uncovered( merging( memtables, runs ) ) ) over one SuperVersion, and the errors of a life that outlasts
// its database's. A transaction's own writes are one more child of the merge, newer than all others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "blob/cache.h"
#include "iterator/masking_iterator.h"
#include "iterator/tombstone_scan.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/program_operators.h"
#include "kv/skipped_errors.h"
#include "mergedb/iterator.h"
#include "read/pinned_tables.h"
#include "read/super_version.h"
#include "table/cache.h"

namespace mergedb::read {

struct DbIteratorContext {
  const kv::Order& order;
  table::Cache& tables;
  blob::Cache& values;
  // True once the database is closed; shared because the cursor may outlive the database.
  std::shared_ptr<const std::atomic<bool>> is_closed;
  // Keeps everything that the cursor uses alive (order, tables, and what they use); may be null in tests.
  std::shared_ptr<const void> keep;
  std::string_view directory = {};  // of the database, which `keep` keeps; for the next step that a Corruption names
  std::function<void()> on_release = {};                                // the cursor died: what it pinned may go
  std::function<void(iterator::TombstoneScan)> on_tombstone_scan = {};  // a move passed over very much that is deleted
  const kv::ProgramOperators* operators = nullptr;
  // Blocks and tables that cannot be read are passed over and the errors added here; it outlives the cursor. Null: the
  // cursor ends there.
  kv::SkippedErrors* skipped = nullptr;
  PinnedTables* kept =
      nullptr;  // mapped tables that are shown go here; it outlives the cursor. Null: a table is let go of when it was left
};

// What a transaction has written and not committed, over what the tree holds. Its sequences are larger than any of the tree's.
struct Overlay {
  std::unique_ptr<kv::Iterator> versions = nullptr;        // null: there is no overlay
  std::unique_ptr<iterator::MaskSource> covers = nullptr;  // null: no range deletes
  // Others may commit meanwhile: what the tree has that is newer than `sequence` is to be left out.
  bool is_shared = false;
};

// A cursor whose inside may be walked as well: for faces that would else pay for each of their calls with one of the cursor's.
class WalkableIterator : public Iterator {
 public:
  // `is_closed` as DbIteratorContext's; null: it is not asked.
  explicit WalkableIterator(std::shared_ptr<const std::atomic<bool>> is_closed = nullptr)
      : is_closed_(std::move(is_closed)) {}
  bool IsOpen() const { return is_closed_ == nullptr || !is_closed_->load(std::memory_order_acquire); }
  // What this cursor shows, one user key an entry. Moving one moves the other. It does not hear of a closed database: what it has pinned it
  // goes on showing. Lives as long as the cursor.
  virtual kv::Iterator& walk() = 0;

 private:
  const std::shared_ptr<const std::atomic<bool>> is_closed_;
};

std::unique_ptr<WalkableIterator> NewDbIterator(const DbIteratorContext& context, SuperVersionPtr super_version,
                                                kv::Sequence sequence, const IteratorOptions& options,
                                                Overlay overlay = {});

// What `lower`, `upper` and `prefix` say together.
format::Bounds BoundsOf(const IteratorOptions& options);

// Not valid, ever; status() says why.
std::unique_ptr<WalkableIterator> NewErrorIterator(Status status);

}  // namespace mergedb::read
