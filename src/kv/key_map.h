// Maps the keys of keyspaces to keys of the one tree that all keyspaces share (docs/formats/keyspaces.md).
//
//   key of a named keyspace          prefix | id | key
//   key of the default keyspace      key                          unchanged,
//                                    prefix | 0xff | key          unless it begins with the reserved prefix
//
//   the tree   "apple"  "pear" ... | prefix 00 ...records | prefix 05 "a" | prefix 06 "b" | prefix ff prefix... | ...
//                                  |<-------------- region of the named keyspaces ------->|
//
// The reserved prefix is a byte string that began no key when the first keyspace was created. Keys of the default
// keyspace that begin with it move behind the region and keep their order. Id 0 has the engine's records of
// the keyspaces. A tree key is always a prefix followed by the caller's key, so the way back is a substr.
//
// FORMAT: id := 1 byte below 0xf0 | 0xf0 + n, n bytes big-endian, n from 1 to 4, no leading zeroes. It never
// begins with 0xff.
//
// REQUIRES: the bytewise order. Tests: tests/unit/kv/key_map_test.cc. THREADS: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::kv {

using KeyspaceId = uint32_t;
inline constexpr KeyspaceId kDefaultKeyspace = 0;
inline constexpr size_t kReservedPrefixBytesMax = 16;

class KeyMap {
 public:
  // REQUIRES: a reserved prefix of 1 to kReservedPrefixBytesMax bytes.
  explicit KeyMap(std::string reserved_prefix);

  const std::string& reserved_prefix() const { return reserved_prefix_; }

  // The prefix of all keys of a named keyspace or, for id 0, of the keyspace records.
  std::string Prefix(KeyspaceId id) const;

  // The key's place in the tree: `key` itself, or a key made in *scratch.
  std::string_view ToTree(KeyspaceId keyspace, std::string_view key, std::string* scratch) const;
  struct Place {
    KeyspaceId keyspace = kDefaultKeyspace;
    std::string_view key;
    bool is_keyspace_record = false;  // a keyspace record of the engine
  };
  Place FromTree(std::string_view tree_key) const;
  // REQUIRES: the key is no keyspace record.
  std::string_view KeyOf(std::string_view tree_key) const {
    return BeginsWithReservedPrefix(tree_key) ? FromTree(tree_key).key : tree_key;
  }

  // WHY the first byte on its own: it decides for nearly all keys, and starts_with calls memcmp. MEASURED: a step of a
  // scan of 100 B values in the default keyspace, beside a named one: 29.1 ns, 432 instructions; without 31.4 ns, 472.
  bool BeginsWithReservedPrefix(std::string_view key) const {
    return !key.empty() && key[0] == reserved_prefix_[0] && key.starts_with(reserved_prefix_);
  }
  // True if the key lies in the region of the named keyspaces and keyspace records.
  bool IsNamed(std::string_view tree_key) const {
    return BeginsWithReservedPrefix(tree_key) && tree_key.size() > reserved_prefix_.size() &&
           tree_key[reserved_prefix_.size()] != kMoved;
  }
  const std::string& named_lower() const { return reserved_prefix_; }
  const std::string& named_upper() const { return moved_; }

  // Half open; nullopt means no bound. ToTreeRanges turns a caller's range into one or two ranges of the
  // tree: a range of the default keyspace leaves out the region of the named keyspaces.
  struct Range {
    std::optional<std::string> lower;
    std::optional<std::string> upper;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Range> ToTreeRanges(KeyspaceId keyspace, const Range& range) const;

 private:
  static constexpr char kMoved = '\xff';

  const std::string reserved_prefix_;
  const std::string moved_;  // reserved_prefix_, then 0xff
};

}  // namespace mergedb::kv
