// What an optimistic transaction has read: single keys, and key ranges. In a range it saw every key that
// exists, and so also which keys do not exist.
//
//   Get(k)                    {k}                 a key, existing or not
//   cursor from b to d        [b, d]              both ends included; open where the cursor reached the end of all keys
//   then on to f              [b, f]              one range
//
// A write conflicts if its key is one of these keys or lies in one of these ranges, or if its range overlaps
// one of them. That is all that serializability needs: a transaction whose reads would return the same now
// could have run now. A phantom is a key written into a range.
//
// Tests: tests/unit/txn/read_set_test.cc. THREADS: one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/hash.h"
#include "kv/order.h"
#include "write/recent_writes.h"

namespace mergedb::txn {

class ReadSet final : public write::ReadCheck {
 public:
  using OptionalKey = std::optional<std::string_view>;

  explicit ReadSet(const kv::Order& order) : order_(order), stretches_(LowerLess{order}), last_(stretches_.end()) {}

  void AddKey(std::string_view key);
  // Both ends included; nullopt: no limit. REQUIRES: lower is not after upper.
  void AddStretch(OptionalKey lower, OptionalKey upper);

  bool empty() const { return keys_.empty() && stretches_.empty(); }
  size_t bytes() const { return bytes_; }
  // The most that one more key adds.
  static size_t BytesOf(size_t key_bytes) { return key_bytes + kOverheadBytes; }

  Status CheckAgainst(std::string_view written) override;
  Status CheckAgainst(const write::WriteIndex& index, kv::Sequence since) override;
  // The key of the last conflict.
  const std::optional<std::string>& conflict() const { return conflict_; }

 private:
  static constexpr size_t kOverheadBytes = 96;
  using Limit = std::optional<std::string>;
  struct LowerLess {  // no limit comes first
    kv::Order order;
    bool operator()(const Limit& a, const Limit& b) const {
      if (!a || !b) return !a && b;
      return order.CompareKeys(*a, *b) < 0;
    }
  };
  using Stretches = std::map<Limit, Limit, LowerLess>;  // lower -> upper; the ranges do not overlap
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return base::Hash64(key); }
  };

  Status Conflict() const;
  bool EndsBefore(const Limit& upper, const Limit& lower) const;
  bool Grow(OptionalKey lower, OptionalKey upper);
  std::optional<std::string> Touched(std::string_view key) const;
  std::optional<std::string> TouchedIn(std::string_view begin, std::string_view end) const;

  const kv::Order order_;
  std::unordered_set<std::string, Hash, std::equal_to<>> keys_;  // under the bytewise order only
  Stretches stretches_;
  Stretches::iterator last_;  // the range added last: a cursor goes on from there
  size_t bytes_ = 0;
  std::optional<std::string> conflict_;
};

}  // namespace mergedb::txn
