// Passes what iterators report to the background work of their database. Iterators may outlive the database: the
// reports end with Close, which waits for those in progress, so that no report meets a part of the database that is
// destroyed.
//
//     state   number of reports in progress, and the bit kClosed
//
// Tests: tests/race/iterator_race_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#include "base/schedule_point.h"
#include "base/sync.h"
#include "db/background/background.h"
#include "read/read_observer.h"

namespace mergedb::db {

// WHY a lack of memory is ignored: an iterator also reports in its destructor, and compactions begin a little later
// without the report.
class ReadsToBackground final : public read::ReadObserver {
 public:
  // `background` lives until Stop returns.
  explicit ReadsToBackground(Background& background) : background_(background) {}

  void NoteTombstoneScan(iterator::TombstoneScan scan) override {
    Tell([&] {
      background_.RequestScanCompaction({.lower = std::move(scan.lower), .upper = std::move(scan.upper)}, scan.entries);
    });
  }
  void NoteScatteredValues(uint64_t bytes) override {
    Tell([&] { background_.NoteScatteredValues(bytes); });
  }
  void NoteRunVisits(uint64_t visits) override {
    Tell([&] { background_.NoteRunVisits(visits); });
  }

  // Returns when no report is in progress; later ones do nothing.
  void Stop() {
    SCHEDULE_POINT("the reports of iterators end");
    base::Lock lock(mutex_);
    state_.fetch_or(kClosed);
    while (state_.load() != kClosed) none_left_.Wait(lock);
  }

 private:
  static constexpr uint64_t kClosed = uint64_t{1} << 63;

  template <typename Act>
  void Tell(const Act& act) {
    SCHEDULE_POINT("an iterator reports");
    if ((state_.fetch_add(1) & kClosed) == 0) {
      SCHEDULE_POINT("an iterator is reporting");
      try {
        act();
      } catch (const std::bad_alloc&) {}
    }
    SCHEDULE_POINT("an iterator has reported");
    if (state_.fetch_sub(1) != (kClosed | 1)) return;
    base::Lock lock(mutex_);
    none_left_.NotifyAll();
  }

  Background& background_;
  std::atomic<uint64_t> state_{0};
  base::Mutex mutex_;
  base::CondVar none_left_;
};

}  // namespace mergedb::db
