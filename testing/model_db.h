// The oracle: the answers that a database must give. It is as slow and simple as possible and shares no code with the
// engine, not even its encodings.
//
//     commits:  1: {put a=1}   2: {put b=1, del a}   3: {put a=2}
//     history:  a -> (1, "1") (2, deleted) (3, "2")     b -> (2, "1")
//     Get("a", at 2) = nothing     Scan(at 3) = a=2 b=1
//
// A snapshot is a commit number. A crash keeps the first P commits, in order: FindPrefix finds P for a recovered
// state, and Truncate makes the model continue from there.
// THREADS: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mergedb::testing {

class ModelDb {
 public:
  using Less = std::function<bool(const std::string&, const std::string&)>;
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  struct Change {
    std::string key;
    std::optional<std::string> value = {};  // nullopt: a delete
    std::optional<std::string> end = {};    // if set: deletes every key in [`key`, `end`)
    // If set: a merge. Computes the new value from the value before (nullopt: absent); `value` is ignored.
    std::function<std::string(const std::optional<std::string>& before)> merge = {};
  };
  struct Bounds {
    std::optional<std::string> lower = {};
    std::optional<std::string> upper = {};  // exclusive
  };

  explicit ModelDb(Less less = std::less<std::string>()) : less_(less), history_(less) {}

  // One atomic commit; later changes of a key win. Returns its number, from 1.
  uint64_t Commit(const std::vector<Change>& changes);
  uint64_t commits() const { return digests_.size() - 1; }

  // Reads of the state after the first `at` commits.
  std::optional<std::string> Get(const std::string& key, uint64_t at) const;
  Pairs Scan(uint64_t at, const Bounds& bounds) const;
  Pairs Scan(uint64_t at) const { return Scan(at, Bounds()); }
  Pairs ScanBackward(uint64_t at, const Bounds& bounds) const;
  Pairs ScanBackward(uint64_t at) const { return ScanBackward(at, Bounds()); }
  // Every key that a commit named, in order.
  std::vector<std::string> KeysEverUsed() const;

  // The largest P in [first, last] whose state is `pairs`; nullopt if no P is. REQUIRES: `pairs` is in key order.
  std::optional<uint64_t> FindPrefix(const Pairs& pairs, uint64_t first, uint64_t last) const;
  // Drops all commits after the first `commits`.
  void Truncate(uint64_t commits);

 private:
  struct Version {
    uint64_t commit;
    std::string key;  // as this commit spelled it: two spellings may be one key under `less`
    std::optional<std::string> value;
  };
  using Versions = std::vector<Version>;                                   // oldest first
  static const Version* VersionAt(const Versions& versions, uint64_t at);  // null: the key is absent

  void Set(const std::string& key, const std::optional<std::string>& value, uint64_t commit, uint64_t* digest);

  Less less_;
  std::map<std::string, Versions, Less> history_;
  std::vector<uint64_t> digests_ = {0};  // after each commit: the sum of the digests of all pairs
};

}  // namespace mergedb::testing
