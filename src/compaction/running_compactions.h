// Which keys of which runs are being merged. Picking runs without a lock on a Version that may be old by the time it ends, so a
// claim checks again: the sources are still there and consecutive, no running plan interleaves, and a plan that drops tombstones
// still has no older key below its sources.
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

class Ledger {
 public:
  explicit Ledger(const kv::Order& order) : order_(order) {}

  // False if the plan no longer fits; pick again.
  bool Claim(const picker::Plan& plan, const version::Version& version) {
    base::Lock lock(mutex_);
    const size_t newest = IndexOf(plan, version);
    if (newest == version.runs().size()) return false;
    const picker::Span span{.newest = newest, .oldest = newest + plan.sources.size() - 1};
    if (plan.is_bottom && picker::AnyKeyBelow(order_, version, span, plan.bounds)) return false;
    for (const picker::Busy& busy : busy_) {
      if (Interleaves(plan, busy)) return false;
    }
    busy_.push_back({.sources = plan.sources, .bounds = plan.bounds, .is_cleaning = !plan.cleaned.empty()});
    return true;
  }

  void Release(const picker::Plan& plan) {
    base::Lock lock(mutex_);
    for (auto busy = busy_.begin(); busy != busy_.end(); ++busy) {
      if (busy->sources != plan.sources || !(busy->bounds == plan.bounds)) continue;
      busy_.erase(busy);
      return;
    }
  }

  std::vector<picker::Busy> busy() const {
    base::Lock lock(mutex_);
    return busy_;
  }

 private:
  // Of the newest source; the number of runs if the sources are not all there, one behind the other.
  static size_t IndexOf(const picker::Plan& plan, const version::Version& version) {
    const auto& runs = version.runs();
    size_t newest = 0;
    while (newest < runs.size() && runs[newest]->position() != plan.sources.front()) ++newest;
    size_t at = newest;
    for (const kv::Position position : plan.sources) {
      if (at == runs.size() || runs[at]->position() != position) return runs.size();
      ++at;
    }
    return newest;
  }
  bool Interleaves(const picker::Plan& plan, const picker::Busy& busy) const {
    const bool is_apart = plan.sources.front() < busy.sources.back() || busy.sources.front() < plan.sources.back();
    return !is_apart && Overlap(plan.bounds, busy.bounds);
  }
  bool Overlap(const format::Bounds& a, const format::Bounds& b) const {
    const auto ends_before = [&](const format::Bounds& x, const format::Bounds& y) {
      return x.upper && y.lower && order_.CompareKeys(*x.upper, *y.lower) <= 0;
    };
    return !ends_before(a, b) && !ends_before(b, a);
  }

  const kv::Order order_;
  mutable base::Mutex mutex_;
  std::vector<picker::Busy> busy_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::compaction
