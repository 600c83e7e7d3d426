// A workload on one database, given as a list of letters, and the record of what a crash at any moment must leave.
//
//     p put   o overwrite or merge   d delete   b batch   s synced put   f flush   c compact   n put without WAL
//     r reopen   y sync the WAL   l large value   a a batch larger than a memtable   w background steps   t timers
//     v snapshot: take it, or check and release it   q wait for compactions   i 15 s idle: at most one run remains
//     e a batch with a range delete between two puts
//     x the changes of `b` as a transaction, plus changes that are rolled back to a savepoint; alternately a
//       single-writer and an optimistic transaction
//     g a group: one writer syncs, and six writers with different durabilities queue behind it
//
// The seed and the number of a step alone decide what the step writes. So a list of letters and a seed define a
// workload, and a prefix of the list does the same steps. A new kind of change needs a letter here and a Kind in
// crash_oracle.h.
//
// THREADS: any thread may call CutBooks. The steps run on one thread; `g` starts threads of its own.
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
#include "testing/simulated_env.h"

namespace mergedb::testing {

struct CutSetup {
  uint64_t seed = 1;
  Style style = Style::kLazy;
  bool use_mapping = true;
  bool is_append_only = false;  // an append-only file system; it does not map files
  std::string steps;
  // true: every value goes to a blob file; false: the limit of `geometry` or of SimulatedEnv::SmallOptions applies
  bool separates = false;
  // the keyspace that all steps use; then no transactions
  std::optional<Tenancy> tenancy = {};
  // sizes and limits; without it those of SimulatedEnv::SmallOptions
  std::optional<Geometry> geometry = {};
  // The events go to LOG, which is nearly full when the workload begins. Not on an append-only file system.
  bool has_log = false;
  // If not 0: the n-th sync of a file during the steps fails, once. The bytes that it covers never reach the disk.
  uint64_t failing_sync = 0;
};
inline constexpr std::string_view kNineSteps = "podbsfcnr";
inline constexpr std::string_view kAllSteps = "podbsfcnrylawtvqgexi";

Options OptionsFor(const CutSetup& setup, SimulatedEnv* sim);
Result<std::unique_ptr<DB>> OpenFor(const CutSetup& setup, SimulatedEnv* sim);

// The oracle, and which commits must survive a crash.
class CutBooks {
 public:
  uint64_t Begin(const std::vector<CrashOracle::Change>& changes, Durability durability);
  void Returned(uint64_t commit, Durability durability, const Status& status);
  uint64_t begun() const;
  // Called when SyncWal, Flush or Close has returned; `commit` was the last begun commit when the call began.
  void Synced(uint64_t commit);
  void Flushed(uint64_t commit);

  CrashOracle::Owed OwedAfter(CrashMode mode) const;
  // A copy, because the workload goes on.
  CrashOracle oracle() const;
  // Without a copy. The reference is valid while no step runs, or on the thread that runs the step.
  const CrashOracle& quiet_oracle() const { return oracle_; }

 private:
  mutable base::Mutex mutex_;
  CrashOracle oracle_ GUARDED_BY(mutex_);
  uint64_t returned_ GUARDED_BY(mutex_) = 0;  // the newest WAL commit that returned
  uint64_t durable_ GUARDED_BY(mutex_) = 0;   // the newest commit that a sync covers
  uint64_t flushed_ GUARDED_BY(mutex_) = 0;   // the newest commit that a flush covers, with or without WAL
};

class CutWorkload {
 public:
  // `on_return` runs after every call that returns. Together with the hook that the file system runs before every
  // operation, it also meets stores to mapped memory that happen between operations.
  CutWorkload(const CutSetup& setup, SimulatedEnv* sim, CutBooks* books, std::function<void()> on_return)
      : setup_(setup), sim_(sim), books_(books), on_return_(std::move(on_return)) {}

  // Each returns a description of the failure, or an empty string.
  std::string Open();
  std::string Step(size_t index);
  std::string Close();
  // For the hook of the file system: during this call a group forms.
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
  bool HasFaulted() const { return setup_.failing_sync > 0 && sim_->files->faults_hit() > 0; }

  const CutSetup setup_;
  SimulatedEnv* const sim_;
  CutBooks* const books_;
  const std::function<void()> on_return_;
  std::function<void()> at_operation_;  // set while a group forms
  std::unique_ptr<DB> db_;
  std::shared_ptr<const mergedb::Snapshot> snapshot_;
  CrashOracle::State at_snapshot_;
};

// The entries of a forward scan; `*status` is its result.
CrashOracle::State ReadForward(DB& db, const IteratorOptions& options, Status* status);

}  // namespace mergedb::testing
