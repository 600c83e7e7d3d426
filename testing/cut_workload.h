// A workload of single letters on one database, with the books that say what a crash at any moment owes.
//
//     p put   o overwrite, or merge   d delete   b batch   s synced put   f flush   c compact   n put without log   r reopen
//     y sync the log   l large value   a batch larger than a memtable   w background steps   t timers
//     v snapshot: take, check, let go   q wait until merges rest   i nothing for a while: all of it comes to rest
//     e a batch with a range delete between two puts
//     x what `b` writes as a transaction, with more that is rolled back to a savepoint; by turns a single writer and optimistic
//     g a group: one writer syncs, three of different durabilities queue up behind it
//
// What a step writes follows from the seed and the step's number alone, so a list of letters and a seed are a whole workload,
// and dropping its tail changes nothing of its head. A new kind of change gets a letter here and a Kind in crash_oracle.h.
//
// THREADS: the books may be asked from any thread; steps run on one, but for `g`, which has its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sync.h"
#include "mergedb/db.h"
#include "mergedb/transaction.h"
#include "testing/crash_oracle.h"
#include "testing/geometry.h"
#include "testing/keyspace_db.h"
#include "testing/world.h"

namespace mergedb::testing {

struct CutSetup {
  uint64_t seed = 1;
  Style style = Style::kLazy;
  bool use_mapping = true;
  bool is_append_only = false;  // the file system; then nothing is mapped either
  std::string steps;
  bool separates = false;  // every value goes to a value file; else those of some size do, once they fill one
  std::optional<Tenancy> tenancy = {};    // the database's keyspace that all steps are about; without transactions
  std::optional<Geometry> geometry = {};  // sizes and limits; without it those of World::SmallOptions
  uint64_t failing_sync =
      0;  // the n-th sync of a file in the steps fails, once; what it covered never reaches the disk
};
inline constexpr std::string_view kNineSteps = "podbsfcnr";
inline constexpr std::string_view kAllSteps = "podbsfcnrylawtvqgexi";

Options OptionsFor(const CutSetup& setup, World* world);
Result<std::unique_ptr<DB>> OpenFor(const CutSetup& setup, World* world);

// The oracle and what was promised so far.
class CutBooks {
 public:
  uint64_t Begin(const std::vector<CrashOracle::Change>& changes, Durability durability);
  void Returned(uint64_t commit, Durability durability, const Status& status);
  uint64_t begun() const;
  // SyncWal, Flush or Close returned; `commit` was the last one when it was called.
  void Synced(uint64_t commit);
  void Flushed(uint64_t commit);

  CrashOracle::Owed OwedAfter(CrashMode mode) const;
  // A copy: the workload goes on.
  CrashOracle oracle() const;
  // The same without the copy. The reference is good while no step runs, or on the thread whose call is under way.
  const CrashOracle& quiet_oracle() const { return oracle_; }

 private:
  mutable base::Mutex mutex_;
  CrashOracle oracle_ GUARDED_BY(mutex_);
  uint64_t returned_ GUARDED_BY(mutex_) = 0;  // the newest logged commit that returned
  uint64_t durable_ GUARDED_BY(mutex_) = 0;   // the newest that a synced call covers
  uint64_t flushed_ GUARDED_BY(mutex_) = 0;   // the newest that a flush covers, log or not
};

class CutWorkload {
 public:
  // `on_return` is called after every call that returned, beside the hook of the file system before every operation: stores
  // to mapped memory happen in between.
  CutWorkload(const CutSetup& setup, World* world, CutBooks* books, std::function<void()> on_return)
      : setup_(setup), world_(world), books_(books), on_return_(std::move(on_return)) {}

  // Each returns what went wrong; empty if nothing.
  std::string Open();
  std::string Step(size_t index);
  std::string Close();
  // For the hook of the file system: the moment at which a group forms.
  void AtOperation() {
    if (at_operation_) at_operation_();
  }

 private:
  struct Draft {
    std::vector<CrashOracle::Change> changes;
    Durability durability = Durability::kProcessCrash;
    std::optional<TransactionKind> transaction = {};
  };
  uint64_t Draw(size_t index, uint64_t salt, uint64_t bound) const;
  std::string FreshKey(size_t index, uint64_t salt) const;
  std::string HotKey(size_t index) const;
  std::string Value(size_t index, uint64_t salt, size_t bytes) const;
  Draft DraftFor(char letter, size_t index) const;
  Status Commit(const Draft& draft, uint64_t commit);
  Status CommitTransaction(const Draft& draft);
  std::string Write(const Draft& draft);
  std::string WriteAsGroup(size_t index);
  std::string Snapshot();
  std::string Rest();
  std::string CheckLive();
  std::string Outcome(const char* what, const Status& status);
  bool HasFaulted() const { return setup_.failing_sync > 0 && world_->files->faults_hit() > 0; }

  const CutSetup setup_;
  World* const world_;
  CutBooks* const books_;
  const std::function<void()> on_return_;
  std::function<void()> at_operation_;  // set while a group is to form
  std::unique_ptr<DB> db_;
  std::shared_ptr<const mergedb::Snapshot> snapshot_;
  CrashOracle::State at_snapshot_;
};

// What iteration shows, forward; `*status` is its outcome.
CrashOracle::State ReadForward(DB& db, const IteratorOptions& options, Status* status);

}  // namespace mergedb::testing
