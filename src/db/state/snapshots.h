// The live snapshots, and the published sequence: the newest one that readers can see.
//
// Snapshots::Get reads the published sequence and registers it under one mutex. A job calls Live under the same mutex
// after its inputs are fixed. So every snapshot is in the list, or is newer than all changes that the job may
// drop.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/schedule_point.h"
#include "base/sync.h"
#include "kv/key.h"
#include "mergedb/snapshot.h"

namespace mergedb::db {

// THREADS: any. Shared, because snapshots may outlive the database.
class Snapshots : public std::enable_shared_from_this<Snapshots> {
 public:
  kv::Sequence published() const {
    SCHEDULE_POINT("read the published sequence");
    return published_.load(std::memory_order_acquire);
  }
  // (exclusive section) Makes all changes up to `last` visible.
  void Publish(kv::Sequence last) {
    SCHEDULE_POINT("publish a sequence");
    published_.store(last, std::memory_order_release);
  }

  // A batch larger than a memtable is published after all of its pieces are in memtables. A reader takes its
  // SuperVersion after the snapshot, so the SuperVersion holds all pieces.
  std::shared_ptr<const Snapshot> Get(uint64_t now_nanos) {
    base::Lock lock(mutex_);
    const kv::Sequence sequence = published();
    const auto place = live_.insert({sequence, now_nanos});
    try {
      return std::make_shared<Registered>(shared_from_this(), sequence, now_nanos);
    } catch (...) {
      // Out of memory: no Registered exists that would drop it.
      live_.erase(place);
      throw;
    }
  }

  // Ascending. Includes the published sequence, which readers without a snapshot use.
  std::vector<kv::Sequence> Live() const {
    base::Lock lock(mutex_);
    std::vector<kv::Sequence> sequences;
    for (const auto& [sequence, since] : live_) {
      if (sequences.empty() || sequences.back() != sequence) sequences.push_back(sequence);
    }
    const kv::Sequence newest = published();
    if (sequences.empty() || sequences.back() < newest) sequences.push_back(newest);
    return sequences;
  }

  struct Oldest {
    size_t count = 0;
    kv::Sequence sequence = 0;
    uint64_t since_nanos = 0;
  };
  Oldest oldest() const {
    base::Lock lock(mutex_);
    if (live_.empty()) return {};
    return {live_.size(), live_.begin()->first, live_.begin()->second};
  }

  // True if `snapshot` is of this database.
  bool Owns(const Snapshot* snapshot) const {
    const auto* registered = dynamic_cast<const Registered*>(snapshot);
    return registered != nullptr && registered->home().get() == this;
  }

 private:
  class Registered final : public Snapshot {
   public:
    Registered(std::shared_ptr<Snapshots> home, kv::Sequence sequence, uint64_t since)
        : home_(std::move(home)), sequence_(sequence), since_(since) {}
    ~Registered() override { home_->Drop(sequence_, since_); }
    uint64_t sequence() const override { return sequence_; }
    const std::shared_ptr<Snapshots>& home() const { return home_; }

   private:
    const std::shared_ptr<Snapshots> home_;
    const kv::Sequence sequence_;
    const uint64_t since_;
  };

  void Drop(kv::Sequence sequence, uint64_t since) {
    base::Lock lock(mutex_);
    live_.erase(live_.find({sequence, since}));
  }

  std::atomic<kv::Sequence> published_{0};
  mutable base::Mutex mutex_;
  std::multiset<std::pair<kv::Sequence, uint64_t>> live_ GUARDED_BY(mutex_);  // (sequence, time it was taken)
};

}  // namespace mergedb::db
