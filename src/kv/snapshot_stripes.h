// Snapshots cut the sequences into stripes. A snapshot, or a reader of the newest state, sees either all of a
// stripe or nothing of it. So if two versions of a key are in one stripe, no reader sees the older one.
//
//   snapshots            2       7
//   sequences      1  2  |  3 .. 7  |  8  9 ..
//   stripe            0  |     1    |    2
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "kv/key.h"

namespace mergedb::kv {

class Stripes {
 public:
  Stripes() = default;  // one stripe: there are no snapshots
  // REQUIRES: `snapshots` ascend.
  explicit Stripes(std::vector<Sequence> snapshots) : snapshots_(std::move(snapshots)) {
    DCHECK(std::is_sorted(snapshots_.begin(), snapshots_.end()), "snapshots are in ascending order");
  }

  // 0 is the oldest stripe.
  size_t Of(Sequence sequence) const {
    if (snapshots_.empty() || sequence <= snapshots_.front()) return 0;
    return static_cast<size_t>(std::lower_bound(snapshots_.begin(), snapshots_.end(), sequence) - snapshots_.begin());
  }

 private:
  std::vector<Sequence> snapshots_;
};

}  // namespace mergedb::kv
