// Keys and their versions. A user key has versions; each has a sequence number and a kind. Newer versions come first.
//
//     user key ascending (the comparator), then tag descending
//     tag = sequence << 8 | kind
//
//     "apple"#7,PUT   "apple"#3,DELETE   "banana"#5,PUT
//
// FORMAT: WALs and tables store the values of Kind; the values never change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mergedb::kv {

using Sequence = uint64_t;  // one per change, from 1; 0 marks a version older than every snapshot
inline constexpr Sequence kSequenceMax = (uint64_t{1} << 56) - 1;

enum class Kind : uint8_t {
  kDelete = 0,
  kPut = 1,
  kMerge = 2,         // the value is a merge operand (kv/operand.h) for the older versions
  kRangeDelete = 3,   // the key is the begin of the range, the value its end (exclusive); in WALs and memtables only
  kPutBlobIndex = 4,  // a PUT whose value is a blob index (kv/value_source.h); in tables only
  kMerged = 5,        // a PUT whose value a fold made: typed (kv/operand.h); in tables and folds of memtables only
};
inline constexpr Kind kKindMax = Kind::kMerged;

using Tag = uint64_t;
constexpr Tag MakeTag(Sequence sequence, Kind kind) { return sequence << 8 | static_cast<uint8_t>(kind); }
constexpr Sequence SequenceOf(Tag tag) { return tag >> 8; }
constexpr Kind KindOf(Tag tag) { return static_cast<Kind>(tag & 0xff); }
// A seek to (key, SeekTag(s)) finds the newest version of the key with a sequence of at most s.
constexpr Tag SeekTag(Sequence sequence) { return sequence << 8 | 0xff; }
inline constexpr Tag kTagMax = ~Tag{0};

// Ids are types of their own. A database never uses a file number twice.
enum class FileNumber : uint64_t {};
constexpr uint64_t ToInt(FileNumber number) { return static_cast<uint64_t>(number); }
// The position of a sorted run: a larger one is newer. The MANIFEST stores it; it is never derived.
enum class Position : uint64_t {};
constexpr uint64_t ToInt(Position position) { return static_cast<uint64_t>(position); }

// One version of one key, as iterators show it. The views belong to the iterator.
struct Entry {
  uint64_t prefix = 0;  // Order::Prefix(key)
  std::string_view key;
  Tag tag = 0;
  std::string_view value;
};

std::string_view KindName(Kind kind);  // "PUT"; "?" for an unknown kind

std::string PrintKey(std::string_view key, Tag tag);  // "foo#7,PUT", with escapes

}  // namespace mergedb::kv
