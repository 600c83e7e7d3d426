// The last write of each key: the window of recent writes in key order, for checks of many keys.
//
//   apple -> #93    banana -> #81    cherry -> #97        ranges  [b, d)#90
//
// The index costs a writer nothing: the check of a transaction updates it first (recent_writes.h). Only the
// newest write of a key is kept, because the question is always whether a write came after some sequence.
//
// Tests: tests/unit/write/write_index_test.cc. THREADS: one at a time.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key.h"
#include "kv/order.h"

namespace mergedb::write {

class WriteIndex {
 public:
  // The approximate bytes of an index entry beside the key's bytes.
  static constexpr size_t kKeyOverheadBytes = 96;

  explicit WriteIndex(const kv::Order& order) : order_(order), newest_(Less{order}) {}

  // Adds the records of a commit that ended with sequence `last`, in the format of RecentWrites. REQUIRES:
  // `last` ascends.
  void Add(std::string_view written, kv::Sequence last);
  // Drops writes before `first`. REQUIRES: no later question is about them.
  void Forget(kv::Sequence first);

  bool IsWritten(std::string_view key, kv::Sequence since) const;
  // A key in [lower, upper] (no bound: open) that was written after `since`; of a range tombstone, its first
  // key there.
  std::optional<std::string> FindWritten(std::optional<std::string_view> lower, std::optional<std::string_view> upper,
                                         kv::Sequence since) const;

  size_t bytes() const { return bytes_; }

 private:
  struct Less {
    using is_transparent = void;
    kv::Order order;
    bool operator()(std::string_view a, std::string_view b) const { return order.CompareKeys(a, b) < 0; }
  };
  struct Range {
    std::string begin;
    std::string end;  // not included
    kv::Sequence last;
  };

  const kv::Order order_;
  std::map<std::string, kv::Sequence, Less> newest_;
  std::vector<Range> ranges_;  // oldest first
  size_t bytes_ = 0;
};

}  // namespace mergedb::write
