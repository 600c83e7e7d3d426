// Tables without a MANIFEST, and their compacted ranges: which versions of a key are obsolete, since a flush
// or a compaction took them as input (format::CompactedRange, docs/decisions/0015-repair.md).
//
//  keys               a . . . . . . . . . . . . . z
//  000009             k#5  m#6                     its entries from g to p are obsolete: they were inputs of the
//                                                  compaction that wrote 000014, which kept the live ones
//  000014: range      [g ....... p) 4 to 8
//  000014: entries    k#5c                         k#5 combined with a k#4 of another table: if 000009's k#5
//                                                  counted, too, it would count twice
//
// A compacted range is valid only where its table is intact: where the table has lost entries, the inputs stay live.
//
// THREADS: one at a time. Tests: tests/unit/repair/rebuild_test.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/table_layout.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"

namespace mergedb::repair {

// Both bounds inclusive. Without a value: no bound.
struct KeyRange {
  std::optional<std::string> smallest;
  std::optional<std::string> largest;
};

struct LooseTable {
  format::FileMetaPtr meta;                                   // of an intact file
  std::vector<format::CompactedRange> compacted_ranges = {};  // its compacted ranges,
  std::vector<KeyRange> lost_ranges = {};                     // except these keys, whose entries are lost
  // The age of the entries, if it is not the table's own number: the number of the table from which they
  // come. 0 for entries of the WAL: older than any compacted range.
  std::optional<kv::FileNumber> made_as = {};

  kv::FileNumber age() const { return made_as.value_or(meta->number); }
  bool HasLost(const kv::Order& order, std::string_view key) const;  // `key` is in one of `lost_ranges`
};

class CompactedInputs {
 public:
  // `tables` must outlive this object.
  CompactedInputs(const kv::Order& order, const std::vector<LooseTable>& tables);

  // The compacted ranges that may make versions of table `home` obsolete, by its age, origin, sequences and
  // keys. With empty bounds in home.meta: any keys.
  class On;
  On Against(const LooseTable& home) const;

 private:
  struct Range {
    const LooseTable* table;
    const format::CompactedRange* compacted_ranges;
  };

  const kv::Order order_;
  std::vector<Range> compacted_inputs_;
};

class CompactedInputs::On {
 public:
  bool empty() const { return later_.empty(); }
  // True if this version of the table is obsolete.
  bool IsObsolete(std::string_view key, kv::Sequence sequence) const;
  // Appends to *alive the parts of the table's tombstone that are not obsolete, as views of the tombstone and
  // of the compacted ranges.
  void AppendLive(const kv::RangeTombstone& tombstone, std::vector<kv::RangeTombstone>* alive) const;

 private:
  friend class CompactedInputs;
  On(const kv::Order& order, const LooseTable& home) : order_(order), home_(home) {}
  // An upper bound of the original sequence of a version whose sequence was set to 0.
  kv::Sequence SequenceLostAt(std::string_view key) const;
  bool MayConcern(const Range& later) const;
  void Cut(const Range& later, std::vector<kv::RangeTombstone>* pieces) const;

  const kv::Order order_;
  const LooseTable& home_;
  bool is_of_oldest_run_ = false;  // true: the table is of the oldest run
  std::vector<Range> later_;
};

}  // namespace mergedb::repair
