// What the classes of background work share: the database that they work on, their scheduler, what callers ask for,
// what a pick depends on, the backlog, and the counters.
//
// THREADS: any; a method named ...Locked needs the background mutex (background_mutex.h).
#pragma once

#include "db/background/background_counters.h"
#include "db/background/background_scheduler.h"
#include "db/background/compaction_requests.h"
#include "db/background/pick_inputs.h"
#include "db/background/write_controller.h"
#include "db/state/store.h"
#include "db/state/tree.h"
#include "write/write_delay.h"

namespace mergedb::db {

struct BackgroundState {
  // All of them outlive Background::Stop.
  BackgroundState(Store& of, Tree& tree_of, write::WriteDelay& write_delay, BackgroundScheduler& scheduler_of)
      : store(of),
        tree(tree_of),
        scheduler(scheduler_of),
        requests(of.options.env.clock),
        inputs(of.options, of.memory.memtable_bytes, of.order, *of.snapshots),
        controller(of.options, of.memory, {tree_of.version_set, *of.obsolete, of.stalls, tree_of.wal}, write_delay) {}

  Clock* clock() const { return store.options.env.clock; }
  version::VersionPtr CurrentVersion() const { return tree.version_set.Current()->version; }
  // The tree has changed: the controller looks at it again.
  void UpdateController() {
    const read::SuperVersionPtr super_version = tree.version_set.Current();
    controller.UpdateTree(*super_version, inputs.For(*super_version->version, {}, picker::Urgency::kWriting));
  }

  Store& store;
  Tree& tree;
  BackgroundScheduler& scheduler;
  CompactionRequests requests;
  PickInputs inputs;
  WriteController controller;
  BackgroundCounters counters;
};

}  // namespace mergedb::db
