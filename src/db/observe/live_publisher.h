// Publishes the state of an open database in its file LIVE (format/live_state.h), about once a second, for other
// processes: mergedb top, why and metrics. Each update opens the file, writes one slot of it and closes it.
//
//   1 s 1 s 1 s 1 s ... 1 s | 2 s  4 s   8 s       16 s            16 s     while counters change
//                                                                           when they stay: only a look, so an idle
//                                                                           database writes nothing
//
// Under a light load, an update is written every 30 s, and at each look that finds CURRENT held (env/hold.h): a reader
// asks so for the present state. If it asks again soon, the next looks write, too. A file that was deleted or cut is
// written at the next look. WHY: each write of the file makes ext4 commit its journal. Beside a batch of 500 B every
// 2.5 s, updates every 5 s were a quarter of what the device wrote. WHY CURRENT: it always exists and is never
// overwritten, while LIVE may be deleted, and is not written while it is held.
//
// A counter is published with its value at the beginning of the window, the last ten seconds. So a reader knows rates
// at once, and the rates of a process that was killed.
//
// An error of the file changes nothing else: the next update tries again. The file is written and not mapped. WHY: a
// store to a mapping kills the process if another program has shortened the file (docs/decisions/0054-live-state.md).
//
// THREADS: any. Lock order: mutex_ comes before the mutex of BackgroundScheduler (docs/INTERNALS.md). Shared, because
// the executor may hold work after Stop.
// Tests: tests/db/live_state_test.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/sync.h"
#include "format/live_state.h"
#include "mergedb/env.h"
#include "mergedb/result.h"

namespace mergedb::db {

class LivePublisher : public std::enable_shared_from_this<LivePublisher> {
 public:
  static constexpr uint64_t kPeriodNanos = 1'000'000'000;
  static constexpr uint64_t kLooksBetweenSlowUpdates = 30;
  static constexpr uint64_t kSlowPeriodNanos = kLooksBetweenSlowUpdates * kPeriodNanos;
  // Where the file system of the program cannot say whether a file is held.
  static constexpr uint64_t kLooksBetweenUnwatchedUpdates = 5;
  static constexpr uint64_t kPeriodNanosMax = 16 * kPeriodNanos;
  static constexpr uint64_t kWindowNanos = 10 * kPeriodNanos;

  // `describe` gives the state but for `update`, `process` and `times`, and without values at the beginning of the
  // window. It is called until Stop. WHY a function: only the whole database (db/db_impl.h) knows all of it.
  LivePublisher(const Env& env, std::string directory, std::function<format::LiveState()> describe);

  void Start();  // the first update comes after kPeriodNanos
  // No update runs afterwards. Removes LIVE, unless this process is a fork of the one that published.
  void Stop();

 private:
  struct Value {
    uint64_t value = 0;
    std::vector<format::LiveBucket> buckets;
  };
  struct Sample {  // the values of one update
    uint64_t nanos = 0;
    std::vector<Value> metrics;
  };

  static constexpr int kAskedAgainLooks = 4;

  struct Change {  // of counters
    bool is_any = false;
    uint64_t bytes = 0;  // the largest growth of a counter of bytes
  };

  void Arm(uint64_t nanos);
  void OnTimer() noexcept;
  void Update() REQUIRES_LOCK(mutex_);
  Change AddWindow(format::LiveState* state) REQUIRES_LOCK(mutex_);
  Status Write(const format::LiveState& state) REQUIRES_LOCK(mutex_);
  // True if an update is due before its time: a reader asks for it, or the file was deleted or cut.
  bool IsWanted() REQUIRES_LOCK(mutex_);

  const Env env_;
  const std::string directory_;
  const std::string path_;
  const std::function<format::LiveState()> describe_;
  const uint64_t slow_looks_;  // between two updates under a light load
  const uint64_t pid_;
  const uint64_t opened_unix_micros_;

  base::Mutex mutex_;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
  bool has_published_ GUARDED_BY(mutex_) = false;
  uint64_t update_ GUARDED_BY(mutex_);
  uint64_t period_nanos_ GUARDED_BY(mutex_) = kPeriodNanos;
  uint64_t unchanged_ GUARDED_BY(mutex_) = 0;  // updates since a counter changed
  uint32_t recent_ GUARDED_BY(mutex_) = ~0u;   // bit i: a counter changed at the look i looks ago
  bool is_slow_ GUARDED_BY(mutex_) = false;    // the file says that the next update follows after slow_looks_
  uint64_t skipped_ GUARDED_BY(mutex_) = 0;    // looks since the last update
  int looks_since_question_ GUARDED_BY(mutex_) = kAskedAgainLooks + 1;  // at most this
  int following_looks_ GUARDED_BY(mutex_) = 0;  // looks that write, because a reader asks again and again
  bool is_paused_ GUARDED_BY(mutex_) = false;   // the file says that no update follows until a counter changes
  format::LiveProcess process_ GUARDED_BY(mutex_);
  std::deque<Sample> samples_ GUARDED_BY(mutex_);  // the first one begins the window
};

// The last state that a process published in `directory`. NotFound if there is no file LIVE.
Result<format::LiveState> ReadLiveState(FileSystem* file_system, const std::string& directory);

}  // namespace mergedb::db
