// Flushes immutable memtables, the oldest first. After each flush, and if the writing side asks for the first standby
// memtable (also after a rest), it has the standby memtable allocated.
//
// After 5 s without writes it makes the active memtable immutable, so that scans read a single run, if the memtable has
// at least 1/64 of the tree's bytes, or if the WAL then frees its files (WriteHost::BeginIdleFlush). WHY 1/64: the
// flushed table is compacted into the one run next, which may rewrite the whole run.
//
// THREADS: any; a method named ...Locked needs the background mutex. One thread at a time calls Run.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/sync.h"
#include "db/background/background_state.h"
#include "db/background/compaction_runner.h"

namespace mergedb::db {

// What the writing side does for background work. WHY functions: WriteHost (db/access) is on a higher floor.
struct WriterCallbacks {
  std::function<void()> make_standby;                   // WriteHost::MakeStandby
  std::function<void(bool is_worth_it)> flush_if_idle;  // WriteHost::BeginIdleFlush
};

// The key with the most versions in the memtable that was flushed last. THREADS: any.
class HotKey {
 public:
  void Set(std::string key) {
    base::Lock lock(mutex_);
    key_ = std::move(key);
  }
  std::string Get() const {
    base::Lock lock(mutex_);
    return key_;
  }

 private:
  mutable base::Mutex mutex_;
  std::string key_ GUARDED_BY(mutex_);
};

class FlushRunner {
 public:
  FlushRunner(BackgroundState& state, const CompactionRunner& compactions, WriterCallbacks writers)
      : state_(state),
        store_(state.store),
        tree_(state.tree),
        compactions_(compactions),
        writers_(std::move(writers)) {}

  bool IsWantedLocked() const REQUIRES_LOCK(background_mutex);
  void Run();

  // The task that makes the active memtable immutable: once after each tick, since an active writer prevents it.
  BackgroundScheduler::Task NextIdleSwitchLocked() REQUIRES_LOCK(background_mutex);
  // Makes the first standby memtable, also after a rest. Later ones follow each flush.
  void WantStandbyLocked() REQUIRES_LOCK(background_mutex) { standby_is_wanted_ = true; }
  void TickLocked() REQUIRES_LOCK(background_mutex) { may_switch_ = true; }
  const HotKey& hot_key() const { return hot_key_; }

 private:
  Status Flush();
  bool IsWorthSwitchingLocked() const REQUIRES_LOCK(background_mutex);

  BackgroundState& state_;
  Store& store_;
  Tree& tree_;
  const CompactionRunner& compactions_;
  const WriterCallbacks writers_;
  HotKey hot_key_;

  bool standby_is_wanted_ GUARDED_BY(background_mutex) = false;
  bool may_switch_ GUARDED_BY(background_mutex) = false;
};

}  // namespace mergedb::db
