// What an optimistic transaction has read: keys, and stretches of keys in which it saw everything that is there, and so also
// what is not.
//
//   Get(k)                    {k}                 a key, there or not
//   cursor from b to d        [b, d]              both ends included; open where it came to the end of all keys
//   then on to f              [b, f]              one stretch
//
// A write is a conflict if its key is one of these, or its range meets one. That is all that serializability needs: a
// transaction whose reads are still what it would read now might as well have run now. Phantoms are keys written into a
// stretch.
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
  // Both included; none: as far as keys go. REQUIRES: lower up to upper.
  void AddStretch(OptionalKey lower, OptionalKey upper);

  bool empty() const { return keys_.empty() && stretches_.empty(); }
  size_t bytes() const { return bytes_; }
  static size_t BytesOf(size_t key_bytes) {
    return key_bytes + kOverheadBytes;
  }  // what one more key would add, at most

  Status CheckAgainst(std::string_view written) override;
  Status CheckAgainst(const write::WriteIndex& index, kv::Sequence since) override;
  // The key that the last conflict was about.
  const std::optional<std::string>& conflict() const { return conflict_; }

 private:
  static constexpr size_t kOverheadBytes = 96;
  using Limit = std::optional<std::string>;
  struct LowerLess {  // no limit stands before all
    kv::Order order;
    bool operator()(const Limit& a, const Limit& b) const {
      if (!a || !b) return !a && b;
      return order.CompareKeys(*a, *b) < 0;
    }
  };
  using Stretches = std::map<Limit, Limit, LowerLess>;  // lower -> upper; they do not meet
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
  Stretches::iterator last_;  // the one added to last: a cursor goes on where it was
  size_t bytes_ = 0;
  std::optional<std::string> conflict_;
};

}  // namespace mergedb::txn
