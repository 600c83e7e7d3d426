// What range tombstones leave of a merge: the versions that no tombstone, of those that the reader sees, covers. Both
// directions.
//
//   newer   [b)#9 . . . . . . . . . . . . . . . . . (m
//   child 0            d#12
//   child 1    a#3  b#4 c#5 d#6 e#7 ...          l#2   n#1
//   shown      a#3         d#12                         n#1
//
// What covers a key is asked once for all keys up to the next border, not once a key. In a covered stretch the children
// that are older than the tombstone have nothing to show (I1): after a few steps they are moved to its far end at once. Newer
// ones may have, and are walked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"

namespace mergedb::iterator {

// The range tombstones of one memtable or one run, as a reader at some sequence sees them.
class MaskSource {
 public:
  virtual ~MaskSource() = default;
  // The views live until the next call.
  virtual Status Find(std::string_view key, kv::Mask* cover) = 0;
};

struct MaskingSequence {
  std::unique_ptr<MaskSource> source;
  // Children from this index on hold nothing but what is older than the source's tombstones, where they cover.
  size_t first_older = 0;
};

// `children` as for NewMergingIterator: newest first. Outside of [lower, upper) covered versions may be shown: nobody looks
// there.
struct MaskingInput {
  std::vector<std::unique_ptr<kv::Iterator>> children;
  std::vector<MaskingSequence> covers;
  std::optional<std::string> lower = {};
  std::optional<std::string> upper = {};
};
std::unique_ptr<kv::Iterator> NewMaskingIterator(const kv::Order& order, MaskingInput input);

}  // namespace mergedb::iterator
