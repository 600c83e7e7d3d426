// What the operations of a trace have in common: kinds, rates, hot keys, working set, sizes, reuse.
//
// The reuse distance of an access is the number of other keys that were accessed since the last access of its key. An
// LRU cache of n keys serves exactly the accesses with a distance below n. Point accesses count: gets, puts, deletes
// and merges, those in batches and multi_gets included.
//
// Memory: the distinct keys. Tests: tests/db/trace_command_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "command.h"
#include "sizes.h"
#include "trace/reader.h"

namespace mergedb::tool {

// Counts the keys between two accesses of a key, in a tree of sums over the order of the last accesses.
class ReuseDistances {
 public:
  // The id of a key is a number from 0 on; a new key has the next number.
  void Access(uint32_t key);
  // counts()[i]: accesses whose distance has i bits, which is below 2^i.
  const std::array<uint64_t, 65>& counts() const { return counts_; }
  uint64_t first_accesses() const { return places_.size(); }

 private:
  void Add(size_t place, int64_t change);
  uint64_t SumUpTo(size_t place) const;  // of the places before it
  void Renumber();

  std::vector<size_t> places_;  // by key: the place of its last access
  std::vector<uint32_t> sums_;  // a Fenwick tree: one for each place that is the last access of a key
  size_t next_place_ = 0;
  std::array<uint64_t, 65> counts_{};
};

class TraceAnalysis {
 public:
  void Add(const trace::Operation& operation);

  nlohmann::ordered_json ToJson(const std::string& file, uint64_t hot_keys, HexOption format,
                                const trace::Reader& reader) const;
  void PrintText(const std::string& file, uint64_t hot_keys, HexOption format, const trace::Reader& reader) const;

 private:
  struct OfKind {
    uint64_t calls = 0;
    uint64_t elements = 0;  // in batches and multi_gets
    uint64_t missed = 0;    // NotFound: gets of absent keys
    uint64_t failed = 0;    // other errors
    uint64_t in_transactions = 0;
    uint64_t steps = 0;
    std::unique_ptr<base::Histogram> micros;
  };
  struct OfKey {
    uint32_t id = 0;
    uint64_t reads = 0;
    uint64_t writes = 0;
  };
  using Key = std::pair<uint32_t, std::string>;  // keyspace and key
  struct HashOfKey {
    size_t operator()(const Key& key) const;
  };

  void AccessKey(const trace::Operation& operation);
  std::vector<std::pair<const Key*, const OfKey*>> HotKeys(uint64_t limit) const;
  double Seconds(const trace::Reader& reader) const;
  uint64_t PeakOfSecond() const;

  std::array<OfKind, trace::kOpKindMax + 1> kinds_;
  uint64_t calls_ = 0, reads_ = 0, writes_ = 0, last_micros_ = 0, lost_ = 0;
  std::set<uint32_t> threads_;
  std::map<uint64_t, uint64_t> calls_of_second_;
  std::unordered_map<Key, OfKey, HashOfKey> keys_;
  ReuseDistances reuse_;
  Sizes key_sizes_, written_sizes_, read_sizes_;
};

}  // namespace mergedb::tool
