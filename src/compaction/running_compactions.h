// The running compactions: which keys of which runs they hold. The picker works without a lock, on a version
// that may be old when it ends. So Claim checks the pick again: the sources exist and are consecutive, no running
// compaction interleaves, and below the sources of a pick that drops tombstones there is still no older key.
//
// THREADS: any.
#pragma once

#include <vector>

#include "base/sync.h"
#include "kv/order.h"
#include "picker/compaction_pick.h"
#include "picker/survey.h"
#include "version/version.h"

namespace mergedb::compaction {

class RunningCompactions {
 public:
  explicit RunningCompactions(const kv::Order& order) : order_(order) {}

  // False if the pick is out of date: pick again.
  bool Claim(const picker::CompactionPick& pick, const version::Version& version) {
    base::Lock lock(mutex_);
    const size_t newest = IndexOf(pick, version);
    if (newest == version.runs().size()) return false;
    const picker::Span span{.newest = newest, .oldest = newest + pick.sources.size() - 1};
    if (pick.is_bottommost && picker::AnyKeyBelow(order_, version, span, pick.bounds)) return false;
    for (const picker::RunningCompaction& running : running_) {
      if (Interleaves(pick, running)) return false;
    }
    running_.push_back(
        {.sources = pick.sources, .bounds = pick.bounds, .collects_blobs = !pick.blob_files_to_collect.empty()});
    return true;
  }

  void Unclaim(const picker::CompactionPick& pick) {
    base::Lock lock(mutex_);
    for (auto running = running_.begin(); running != running_.end(); ++running) {
      if (running->sources != pick.sources || !(running->bounds == pick.bounds)) continue;
      running_.erase(running);
      return;
    }
  }

  std::vector<picker::RunningCompaction> running() const {
    base::Lock lock(mutex_);
    return running_;
  }

 private:
  // The index of the newest source; the number of runs if the sources are not all there and consecutive.
  static size_t IndexOf(const picker::CompactionPick& pick, const version::Version& version) {
    const auto& runs = version.runs();
    size_t newest = 0;
    while (newest < runs.size() && runs[newest]->position() != pick.sources.front()) ++newest;
    size_t at = newest;
    for (const kv::Position position : pick.sources) {
      if (at == runs.size() || runs[at]->position() != position) return runs.size();
      ++at;
    }
    return newest;
  }
  bool Interleaves(const picker::CompactionPick& pick, const picker::RunningCompaction& running) const {
    const bool is_apart =
        pick.sources.front() < running.sources.back() || running.sources.front() < pick.sources.back();
    return !is_apart && version::Intersect(order_, pick.bounds, running.bounds);
  }

  const kv::Order order_;
  mutable base::Mutex mutex_;
  std::vector<picker::RunningCompaction> running_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::compaction
