// FORMAT: a VersionEdit in LevelDB's MANIFEST (docs/formats/leveldb.md): the difference between two versions.
//
//   edit := (tag varint32, payload)*           an unknown tag is Corruption
//   1 comparator | 2 log number | 3 next file | 4 last sequence | 5 compaction pointer: level, key
//   6 removed file: level, number | 7 added file: level, number, bytes, smallest, largest | 9 previous log number
//
// LevelDB has 7 levels. The original MergeDB has 23, and only the level numbers in its edits show it.
//
// An internal key is a user key followed by its tag (kv/key.h) in 8 bytes. LevelDB has only the kinds 0 and 1.
// Tests: tests/unit/leveldb/format/log_test.cc.
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

namespace mergedb::leveldb_format {

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
  std::vector<std::pair<uint32_t, File>> added;  // applied after `removed`
  friend bool operator==(const VersionEdit&, const VersionEdit&) = default;
};
std::string EncodeVersionEdit(const VersionEdit& edit);
Result<VersionEdit> DecodeVersionEdit(std::string_view bytes);
// Returns whether the first tag that LevelDB does not know is one that only RocksDB writes: 10 to 13, 100 to 103,
// 200 to 203, 300, 400 to 410, or 8192 to 8300.
bool HasRocksDbTag(std::string_view bytes);

struct State {
  std::optional<std::string> comparator;
  std::optional<kv::FileNumber> log, previous_log, next_file;
  std::optional<kv::Sequence> last_sequence;
  std::vector<std::map<kv::FileNumber, File>> levels{kLevelsMax};

  // A file both removed and added is present afterwards. Removing an absent file is no error, as in LevelDB.
  void Apply(const VersionEdit& edit);
  // Corruption if a fact is missing without which LevelDB opens no database.
  Status Check() const;
};

void AppendInternalKey(std::string* out, std::string_view user_key, kv::Tag tag);
// Returns false if the key is too short or its kind is not one of LevelDB's.
[[nodiscard]] bool SplitInternalKey(std::string_view internal_key, std::string_view* user_key, kv::Tag* tag);

}  // namespace mergedb::leveldb_format
