// The vocabulary of keys: a user key has versions, each with a sequence number and a kind; newest first.
//
//     user key ascending (the comparator), then tag descending
//     tag = sequence << 8 | kind
//
//     "apple"#7,PUT   "apple"#3,DELETE   "banana"#5,PUT
//
// FORMAT: Kind values are stored in logs and tables; they never change.
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
  kMerge = 2,        // the value is an operand (kv/operand.h), for what older versions say
  kRangeDelete = 3,  // the key is the range's begin, the value its end, not included; in logs and memtables only
  kPutRef = 4,       // a PUT whose value is a reference into a value file (kv/value_source.h); in tables only
  kMerged = 5,       // a put whose value merging made: typed (kv/operand.h); in tables only
};
inline constexpr Kind kKindMax = Kind::kMerged;

using Tag = uint64_t;
constexpr Tag MakeTag(Sequence sequence, Kind kind) { return sequence << 8 | static_cast<uint8_t>(kind); }
constexpr Sequence SequenceOf(Tag tag) { return tag >> 8; }
constexpr Kind KindOf(Tag tag) { return static_cast<Kind>(tag & 0xff); }
// Seeking to (key, SeekTag(s)) finds the newest version of key with a sequence up to s.
constexpr Tag SeekTag(Sequence sequence) { return sequence << 8 | 0xff; }
inline constexpr Tag kTagMax = ~Tag{0};

// Ids are types. Numbers of files are never used twice in the life of a database.
enum class FileNumber : uint64_t {};
constexpr uint64_t ToInt(FileNumber number) { return static_cast<uint64_t>(number); }
// Where a run stands: larger is newer. Stored in the MANIFEST, never derived.
enum class Position : uint64_t {};
constexpr uint64_t ToInt(Position position) { return static_cast<uint64_t>(position); }

// One version of one key, as every iterator shows it. The views belong to the iterator.
struct Entry {
  uint64_t prefix = 0;  // Order::Prefix(key)
  std::string_view key;
  Tag tag = 0;
  std::string_view value;
};

std::string_view KindName(Kind kind);  // "PUT"; "?" for a byte that is no kind

// "foo#7,PUT", with escapes; and back (nullopt if it is not one).
std::string PrintKey(std::string_view key, Tag tag);
struct ParsedKey {
  std::string key;
  Tag tag;
};
std::optional<ParsedKey> ParseKey(std::string_view text);

}  // namespace mergedb::kv
