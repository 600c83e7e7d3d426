// When keys were written last: the window of recent writes in the order of keys, for who asks about many of them.
//
//   apple -> #93    banana -> #81    cherry -> #97        ranges  [b, d)#90
//
// Writers never pay for it: whoever checks a transaction brings it up to date first (recent_writes.h). Of a key only the newest
// write counts, since the question is always whether there is one after some sequence.
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
  // What a key takes here beside its bytes, about.
  static constexpr size_t kKeyOverheadBytes = 96;

  explicit WriteIndex(const kv::Order& order) : order_(order), newest_(Less{order}) {}

  // Records as RecentWrites keeps them, of a commit that ended with sequence `last`. REQUIRES: `last` ascends.
  void Add(std::string_view written, kv::Sequence last);
  // Nobody will ask about what was written before `first` any more.
  void Forget(kv::Sequence first);

  bool IsWritten(std::string_view key, kv::Sequence since) const;
  // Some key of the stretch, ends included and open if none, that was written after `since`; of a range its first key there.
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
