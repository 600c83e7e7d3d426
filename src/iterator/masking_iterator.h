// Hides the versions that range tombstones mask. An entry of the merged children is shown unless the reader
// sees a newer range tombstone over its key. Both directions.
//
//   tombstone      [b . . . . . . . . . . . . . . . m)#9
//   child 0                 d#12
//   child 1    a#3  b#4 c#5 d#6 e#7 ...          l#2   n#1
//   shown      a#3          d#12                       n#1
//
// The iterator asks for the mask once for all keys up to the next fragment border, not once a key. In a
// masked range the children older than the tombstone have nothing to show (invariant I1 in
// version/invariants.h), so after a few steps the iterator moves them to the end of the range at once. Newer
// children may have entries there; the iterator steps through them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"

namespace mergedb::iterator {

// The range tombstones of one memtable or one sorted run, as a reader at one sequence sees them.
class MaskSource {
 public:
  virtual ~MaskSource() = default;
  // Finds the mask over `key`. Its views live until the next call.
  virtual Status Find(std::string_view key, kv::Mask* mask) = 0;
};

struct MaskedChildren {
  std::unique_ptr<MaskSource> source;
  // In the ranges that the source masks, the children from this index on hold only older versions.
  size_t first_older = 0;
};

// `children`: newest first, as for NewMergingIterator. Outside [lower, upper) masked versions may be shown:
// the reader does not look there.
struct MaskingInput {
  std::vector<std::unique_ptr<kv::Iterator>> children;
  std::vector<MaskedChildren> masks;
  std::optional<std::string> lower = {};
  std::optional<std::string> upper = {};
};
std::unique_ptr<kv::Iterator> NewMaskingIterator(const kv::Order& order, MaskingInput input);

}  // namespace mergedb::iterator
