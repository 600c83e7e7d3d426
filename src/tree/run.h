// A sorted run: slices that do not overlap, in key order, at an explicit position. Larger position is newer.
//
//   position 9   [a . . . f)[f . . . . . m]      [q . . z]
//                 000012.tbl  000015.tbl          000012.tbl      a file may be shown in several slices
//
// A slice shows the keys of its file that lie in its bounds. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "format/version_edit.h"
#include "kv/order.h"

namespace mergedb::tree {

struct Slice {
  format::FileMetaPtr file;
  format::Bounds bounds;  // clipped to what the file holds by the two functions below

  // The smallest and largest user keys that may show. The largest is not included if `largest_is_open`.
  std::string_view smallest() const;
  std::string_view largest() const;
  bool largest_is_open() const;
  // Share of the file's bytes; exact for a whole file, else the file's bytes (a file counts whole until no slice
  // shows it).
  bool is_whole() const { return !bounds.lower && !bounds.upper; }
};

class Run {
 public:
  Run(kv::Position position, format::Level level, std::vector<Slice> slices)
      : position_(position), level_(level), slices_(std::move(slices)) {}

  kv::Position position() const { return position_; }
  format::Level level() const { return level_; }
  const std::vector<Slice>& slices() const { return slices_; }
  uint64_t bytes() const;    // of the files shown, each once
  uint64_t entries() const;

  // The slice that may show `key`, or null.
  const Slice* Find(const kv::Order& order, std::string_view key) const;
  // Index of the first slice whose largest key is at or after `key`; slices().size() if none.
  size_t FindIndex(const kv::Order& order, std::string_view key) const;
  // Slices that intersect [lower, upper), as an index range [first, last).
  std::pair<size_t, size_t> Overlap(const kv::Order& order, const format::Bounds& bounds) const;

 private:
  kv::Position position_;
  format::Level level_;
  std::vector<Slice> slices_;
};
using RunPtr = std::shared_ptr<const Run>;

}  // namespace mergedb::tree
