// Flushes immutable memtables, the oldest first, and has the standby memtable allocated after each flush, the first
// time and the first time after a rest without one.
//
// After 5 s without writes it makes the active memtable immutable, so that scans read a single run, if the memtable has
// at least 1/64 of the tree's bytes, or if the WAL then frees its files (WriteHost::BeginIdleFlush). WHY 1/64: the
// flushed table is compacted into the one run next, which may rewrite the whole run.
//
// THREADS: any; a method named ...Locked needs the background mutex. One thread at a time calls Run.
#pragma once

#include "db/background/background_parts.h"
#include "db/background/background_scheduler.h"
#include "db/background/compaction_requests.h"
#include "db/background/compaction_runner.h"
#include "db/background/pick_inputs.h"
#include "db/background/write_controller.h"

namespace mergedb::db {

class FlushRunner {
 public:
  FlushRunner(const BackgroundParts& parts, BackgroundScheduler& scheduler, const CompactionRequests& requests,
              const CompactionRunner& compactions, PickInputs& inputs, WriteController& controller,
              BackgroundCounters& counters);

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

  const BackgroundParts& parts_;
  BackgroundScheduler& scheduler_;
  const CompactionRequests& requests_;
  const CompactionRunner& compactions_;
  PickInputs& inputs_;
  WriteController& controller_;
  BackgroundCounters& counters_;
  HotKey hot_key_;

  bool standby_is_wanted_ GUARDED_BY(background_mutex) = false;
  bool may_switch_ GUARDED_BY(background_mutex) = false;
};

}  // namespace mergedb::db
