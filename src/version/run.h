// A sorted run: disjoint virtual tables in key order, at an explicit position. A larger position is newer.
//
//   position 9   [a . . . f)[f . . . . . m]      [q . . z]
//                 000012.tbl  000015.tbl          000012.tbl      a file may have several virtual tables
//
// A virtual table shows the keys of its file that lie in its bounds. Immutable.
//
// Disk space belongs to files, not to virtual tables: a file counts once, with its full size, until no virtual
// table shows it. A run therefore keeps the sum over the files that it shows whole, and a list of the few files
// that it shows in part. So a Version computes its sums from its runs without iterating over virtual tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "format/version_edit.h"
#include "kv/order.h"

namespace mergedb::version {

struct VirtualTable {
  format::FileMetaPtr file;
  format::Bounds bounds;  // a bound is set only if it hides keys of the file; Clip() ensures it

  // The smallest and the largest user key in it. The largest key is not included if `largest_is_open`.
  std::string_view smallest() const { return bounds.lower ? *bounds.lower : file->smallest; }
  std::string_view largest() const { return bounds.upper ? *bounds.upper : file->largest; }
  bool largest_is_open() const { return bounds.upper.has_value() || file->largest_is_open; }
  bool is_whole() const { return !bounds.lower && !bounds.upper; }

  // Returns whether all keys in it are before `key`.
  bool IsBefore(const kv::Order& order, std::string_view key) const {
    const int compared = order.CompareKeys(largest(), key);
    return largest_is_open() ? compared <= 0 : compared < 0;
  }
};

// The keys of `file` in `bounds`, or nullopt if no key can be in both.
std::optional<VirtualTable> Clip(const kv::Order& order, format::FileMetaPtr file, format::Bounds bounds);

bool Intersect(const kv::Order& order, const format::Bounds& a, const format::Bounds& b);
format::Bounds Intersection(const kv::Order& order, const format::Bounds& a, const format::Bounds& b);

// Sums over files.
struct Weight {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t value_bytes = 0;  // of the records that the files refer to
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  uint64_t range_tombstones = 0;
  uint64_t masked_bytes = 0;  // in older runs, masked by the range tombstones

  void Add(const format::FileMeta& file) {
    ++files;
    bytes += file.bytes;
    value_bytes += file.value_bytes();
    entries += file.entries;
    tombstones += file.tombstones;
    range_tombstones += file.range_tombstones;
    masked_bytes += file.masked_bytes;
  }
  void Add(const Weight& other) {
    files += other.files;
    bytes += other.bytes;
    value_bytes += other.value_bytes;
    entries += other.entries;
    tombstones += other.tombstones;
    range_tombstones += other.range_tombstones;
    masked_bytes += other.masked_bytes;
  }
};

// Adds `more` to `sums`. Both are sorted by file number.
void AddShares(const std::vector<format::BlobShare>& more, std::vector<format::BlobShare>* sums);

class Run {
 public:
  // REQUIRES: the virtual tables are clipped, in key order and disjoint.
  Run(kv::Position position, format::Level level, std::vector<VirtualTable> virtual_tables);
  // The same virtual tables at another level.
  Run(const Run& other, format::Level level) : Run(other) { level_ = level; }

  kv::Position position() const { return position_; }
  format::Level level() const { return level_; }
  const std::vector<VirtualTable>& virtual_tables() const { return virtual_tables_; }
  uint64_t bytes() const { return weight_.bytes; }  // of the files shown, each once
  uint64_t value_bytes() const { return weight_.value_bytes; }
  uint64_t bytes_with_values() const { return weight_.bytes + weight_.value_bytes; }
  uint64_t entries() const { return weight_.entries; }
  uint64_t tombstones() const { return weight_.tombstones; }
  uint64_t range_tombstones() const { return weight_.range_tombstones; }
  uint64_t masked_bytes() const { return weight_.masked_bytes; }

  const Weight& whole_weight() const { return whole_weight_; }                          // of files shown whole
  const std::vector<format::BlobShare>& whole_values() const { return whole_values_; }  // the shares of the same files
  // The files shown in part, sorted by number, each once.
  const std::vector<format::FileMetaPtr>& partial_files() const { return partial_files_; }

  // Indexes of the virtual tables whose files have range tombstones, ascending.
  const std::vector<uint32_t>& virtual_tables_with_ranges() const { return virtual_tables_with_ranges_; }

  // The virtual table that may show `key`, or null.
  const VirtualTable* Find(const kv::Order& order, std::string_view key) const;
  // Index of the first virtual table whose largest key is at or after `key`, or virtual_tables().size().
  size_t FindIndex(const kv::Order& order, std::string_view key) const;
  // The virtual tables that intersect [lower, upper), as an index range [first, last).
  std::pair<size_t, size_t> Overlap(const kv::Order& order, const format::Bounds& bounds) const;

 private:
  kv::Position position_;
  format::Level level_;
  std::vector<VirtualTable> virtual_tables_;
  std::vector<format::FileMetaPtr> partial_files_;
  std::vector<uint32_t> virtual_tables_with_ranges_;
  std::vector<format::BlobShare> whole_values_;
  Weight whole_weight_;
  Weight weight_;
};
using RunPtr = std::shared_ptr<const Run>;

}  // namespace mergedb::version
