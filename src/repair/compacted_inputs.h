// Loose tables, and what they say of each other: which versions of a key are dead since a flush or a merge took them in
// (format::CompactedRange, docs/decisions/0015-repair.md).
//
//   keys          a . . . . . . . . . . . . . z
//   000009                k#5  m#6              its entries between g and p are dead: whoever wrote 000014 met them all, and
//   000014 claims         [g ....... p) 4 to 8  kept what counted
//   000014 has            k#5c                  k#5, combined with a k#4 of another table: to show 000009's too would count twice
//
// A claim is as good as the table that makes it: where entries of it are lost, what it took in lives.
//
// THREADS: none of it is for two threads at once. Tests: tests/unit/repair/rebuild_test.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/table_layout.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"

namespace mergedb::repair {

// Both ends included; a missing one is open.
struct KeyRange {
  std::optional<std::string> smallest;
  std::optional<std::string> largest;
};

struct LooseTable {
  format::FileMetaPtr meta;                                   // of a file that is whole
  std::vector<format::CompactedRange> compacted_ranges = {};  // what it claims,
  std::vector<KeyRange> unclaimed = {};                       // but not of these keys: entries of them are lost
  // The number of the table whose entries these are, which tells their age; if not its own. 0 for the log's: older than any claim.
  std::optional<kv::FileNumber> made_as = {};

  kv::FileNumber age() const { return made_as.value_or(meta->number); }
};

class CompactedInputs {
 public:
  // `tables` outlives it.
  CompactedInputs(const kv::Order& order, const std::vector<LooseTable>& tables);

  // The claims that may concern a table: its age, origin, sequences and keys count. Without a smallest key: any keys.
  class On;
  On Against(const LooseTable& home) const;

 private:
  struct Claim {
    const LooseTable* table;
    const format::CompactedRange* compacted_ranges;
  };

  const kv::Order order_;
  std::vector<Claim> compacted_inputs_;
};

class CompactedInputs::On {
 public:
  bool empty() const { return later_.empty(); }
  // A version that the table has.
  bool IsDead(std::string_view key, kv::Sequence sequence) const;
  // Appends to *alive what claims leave of the table's tombstone, as views of it and of the claims.
  void AppendAlive(const kv::RangeTombstone& tombstone, std::vector<kv::RangeTombstone>* alive) const;

 private:
  friend class CompactedInputs;
  On(const kv::Order& order, const LooseTable& home) : order_(order), home_(home) {}
  // What lost its sequence has at most this one.
  kv::Sequence SequenceLostAt(std::string_view key) const;
  bool MayConcern(const Claim& later) const;
  void Cut(const Claim& later, std::vector<kv::RangeTombstone>* pieces) const;

  const kv::Order order_;
  const LooseTable& home_;
  bool is_of_bottom_ = false;  // of the oldest run
  std::vector<Claim> later_;
};

}  // namespace mergedb::repair
