// FORMAT: an edit of LevelDB's MANIFEST (docs/formats/leveldb.md): the difference between two of its trees.
//
//   edit := (tag varint32, what it says)*      an unknown tag is Corruption, to LevelDB and to us
//   1 comparator | 2 log number | 3 next file | 4 last sequence | 5 where a level's next compaction begins
//   6 a file goes: level, number | 7 a file comes: level, number, bytes, smallest, largest | 9 log number before
//
// LevelDB has 7 levels, the original MergeDB has 23 and says so nowhere but here.
//
// An internal key is a user key and its tag (kv/key.h) in 8 bytes; kinds are 0 and 1, LevelDB's only ones.
// Tests: tests/unit/format/leveldb_log_test.cc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/key.h"
#include "mergedb/result.h"

namespace mergedb::format::leveldb {

inline constexpr uint32_t kLevels = 7;
inline constexpr uint32_t kLevelsMax = 23;  // of the original MergeDB
inline constexpr std::string_view kBytewiseName = "leveldb.BytewiseComparator";
inline constexpr size_t kInternalTagBytes = 8;

struct File {
  kv::FileNumber number{};
  uint64_t bytes = 0;
  std::string smallest, largest;  // internal keys
  friend bool operator==(const File&, const File&) = default;
};

struct VersionEdit {
  std::optional<std::string> comparator;
  std::optional<kv::FileNumber> log, previous_log, next_file;
  std::optional<kv::Sequence> last_sequence;
  std::vector<std::pair<uint32_t, std::string>> pointers;
  std::set<std::pair<uint32_t, kv::FileNumber>> removed;
  std::vector<std::pair<uint32_t, File>> added;  // after what is removed
  friend bool operator==(const VersionEdit&, const VersionEdit&) = default;
};
std::string EncodeVersionEdit(const VersionEdit& edit);
Result<VersionEdit> DecodeVersionEdit(std::string_view bytes);
// Is there a tag that only RocksDB writes, behind what LevelDB understands? 10 to 13, 100 to 103, 200 to 203, 300, 400 and on, 8192 and on.
bool HasRocksDbTag(std::string_view bytes);

// What a MANIFEST says, all its edits applied.
struct State {
  std::optional<std::string> comparator;
  std::optional<kv::FileNumber> log, previous_log, next_file;
  std::optional<kv::Sequence> last_sequence;
  std::vector<std::map<kv::FileNumber, File>> levels{kLevelsMax};

  // What an edit both removes and adds is there afterwards. A file that goes need not have been there: LevelDB does not ask.
  void Apply(const VersionEdit& edit);
  // The facts without which LevelDB opens nothing are there.
  Status Check() const;
};

void AppendInternalKey(std::string* out, std::string_view user_key, kv::Tag tag);
// False: too short, or of a kind that is not LevelDB's.
[[nodiscard]] bool SplitInternalKey(std::string_view internal_key, std::string_view* user_key, kv::Tag* tag);

}  // namespace mergedb::format::leveldb
