// Where the keys of keyspaces stand in the one tree that all share (docs/formats/keyspaces.md).
//
//   key of a named keyspace          marker | id | key
//   key of the default keyspace      key                          as it is,
//                                    marker | 0xff | key          unless it begins with the marker
//
//   the tree   "apple"  "pear" ... | marker 00 ...catalog | marker 05 "a" | marker 06 "b" | marker ff marker... | ...
//                                  |<--------------- the region of the named ones ------->|
//
// The marker begins no other key: it was chosen so when the first keyspace was made, and since then keys of the default
// keyspace that begin with it are moved out of the way, in order. A tree key is always some prefix and then the caller's key,
// so that the way back is a substr.
//
// FORMAT: id := 1 byte below 0xf0 | 0xf0 + n, n bytes big-endian, n from 1 to 4, no leading zeroes. It never begins with 0xff.
//
// Bytewise order only. Tests: tests/unit/kv/key_map_test.cc. THREADS: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mergedb::kv {

using KeyspaceId = uint32_t;
inline constexpr KeyspaceId kDefaultKeyspace = 0;
inline constexpr size_t kMarkerBytesMax = 16;

class KeyMap {
 public:
  // REQUIRES: a marker of 1 to kMarkerBytesMax bytes.
  explicit KeyMap(std::string marker);

  const std::string& marker() const { return marker_; }

  // What stands before the keys of a named keyspace, or (id 0) of the catalog.
  std::string Prefix(KeyspaceId id) const;

  // The key's place in the tree: `key` itself, or made in *scratch.
  std::string_view ToTree(KeyspaceId keyspace, std::string_view key, std::string* scratch) const;
  struct Place {
    KeyspaceId keyspace = kDefaultKeyspace;
    std::string_view key;
    bool is_catalog = false;  // a record of ours
  };
  Place FromTree(std::string_view tree_key) const;
  // Only for those who know that it is of the default keyspace, or of a named one and no record of the catalog.
  std::string_view KeyOf(std::string_view tree_key) const { return FromTree(tree_key).key; }

  bool BeginsWithMarker(std::string_view key) const { return key.starts_with(marker_); }
  // In the region of the named keyspaces and the catalog?
  bool IsNamed(std::string_view tree_key) const {
    return BeginsWithMarker(tree_key) && tree_key.size() > marker_.size() && tree_key[marker_.size()] != kMoved;
  }
  const std::string& named_lower() const { return marker_; }
  const std::string& named_upper() const { return moved_; }

  // Half open; nullopt is open. As callers give them, and as one or two stretches of the tree: those of the default keyspace
  // leave the region of the named ones out.
  struct Range {
    std::optional<std::string> lower;
    std::optional<std::string> upper;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Range> ToTreeRanges(KeyspaceId keyspace, const Range& range) const;

 private:
  static constexpr char kMoved = '\xff';

  const std::string marker_;
  const std::string moved_;  // marker, 0xff
};

}  // namespace mergedb::kv
