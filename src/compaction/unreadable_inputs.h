// What compactions could not read. Picks leave it alone, so one damaged block costs only the compaction of its keys.
//
//   a job fails ──> Note: the file, and the keys of the block ──> In(version) ──> PickInput::unreadable
//                                                                   a file that is gone is forgotten
//   the pause is over ──> NextDue ──> the caller reads these keys ──> NoteProbe: forgotten, or a longer pause
//
// The pause doubles from 0.1 s (an error of the disk) or 5 s (damage) to 10 minutes. Where the caller has no cheap way
// to look (a blob file, or a failure of unknown cause), compactions are picked again when the pause is over. A pause
// ends with a tick of the background work, which comes once a second: only these keys wait for it.
//
// THREADS: any. Tests: tests/unit/compaction/unreadable_inputs_test.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/sync.h"
#include "compaction/failed_input.h"
#include "kv/order.h"
#include "mergedb/status.h"
#include "picker/compaction_pick.h"
#include "version/version.h"

namespace mergedb::compaction {

class UnreadableInputs {
 public:
  explicit UnreadableInputs(const kv::Order& order) : order_(order) {}

  // A job failed because of this input. True: nothing was known of the file.
  bool Note(const FailedInput& input, const Status& status, uint64_t now_nanos);
  // A job failed for another reason that lies in its inputs. True: nothing was known of this pick.
  bool NotePick(const picker::CompactionPick& pick, const Status& status, uint64_t now_nanos);

  // For PickInput::unreadable; null if everything is readable.
  std::shared_ptr<const picker::Unreadable> In(const version::Version& version) const;
  // Forgets the files and runs that the current version does not have. Calls `current` under the mutex. WHY: a file
  // that another thread notes meanwhile is in the version that `current` then returns.
  void Prune(const std::function<version::VersionPtr()>& current);

  // A table to read again.
  struct Probe {
    kv::FileNumber file{};
    std::vector<format::Bounds> keys;
  };
  // The next table whose pause is over; it has a pause again. Blob files and picks whose pause is over may be picked
  // again.
  std::optional<Probe> NextDue(uint64_t now_nanos);
  void NoteProbe(kv::FileNumber file, bool is_readable, uint64_t now_nanos);
  // Ends all pauses.
  void MakeDue();
  // From `now_nanos` to the end of the next pause; nothing if there is none.
  std::optional<uint64_t> NanosToNextDue(uint64_t now_nanos) const;

  // WHY relaxed: a pick that misses a new record fails once more.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  size_t count() const { return count_.load(std::memory_order_relaxed); }
  // Of the oldest record that blocks picks; OK if there is none.
  Status status() const;

 private:
  struct Record {
    FailedInput input;                  // of a pick: the file is 0
    std::vector<format::Bounds> keys;   // of a table; empty: all of its keys. Of a pick: its bounds
    std::vector<kv::Position> sources;  // of a pick
    Status status;
    uint64_t pause_nanos = 0;
    uint64_t due_nanos = 0;
    bool may_pick = false;  // the pause is over: the next pick tries it

    bool is_table() const { return sources.empty() && !input.is_blob_file; }
  };

  void Pause(Record* record, const Status& status, uint64_t now_nanos) REQUIRES_LOCK(mutex_);
  void AddTable(const version::Version& version, const Record& record, picker::Unreadable* unreadable) const;
  bool IsIn(const version::Version& version, const Record& record) const;
  // Records that may be picked do not count. If the next pick fails, it notes them again. Otherwise it makes most of
  // these inputs obsolete, and Prune forgets them.
  void NoteCountLocked() REQUIRES_LOCK(mutex_) {
    const auto count = std::ranges::count_if(records_, [](const Record& each) { return !each.may_pick; });
    count_.store(static_cast<size_t>(count), std::memory_order_relaxed);
  }

  const kv::Order order_;
  std::atomic<size_t> count_{0};
  mutable base::Mutex mutex_;
  std::vector<Record> records_ GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace mergedb::compaction
