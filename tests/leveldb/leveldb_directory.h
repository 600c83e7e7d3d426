// A LevelDB directory made by hand, in memory: any version in any table of any level or in any log, also
// where LevelDB would not put it; and its contents: of each key the version with the largest sequence.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "leveldb/format/batch.h"
#include "leveldb/format/edit.h"
#include "leveldb/format/log.h"
#include "leveldb/format/name.h"
#include "leveldb/format/table.h"
#include "mergedb/db.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {

using Shown = std::map<std::string, std::string>;
using Files = std::map<std::string, std::string>;  // name -> bytes

inline Shown Scan(DB& db) {
  Shown shown;
  const auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) shown[std::string(it->key())] = it->value();
  EXPECT_OK(it->status());
  return shown;
}

struct KeyChange {
  std::string key;
  kv::Sequence sequence = 0;
  kv::Kind kind = kv::Kind::kPut;
  std::string value;
};

class LevelDbDirectory {
 public:
  explicit LevelDbDirectory(const Comparator* comparator = BytewiseComparator()) : order_(comparator), user_(order_) {}

  leveldb_format::TableOptions table_options = {.block_bytes = 300};
  bool has_old_names = false;  // tables are named .sst

  // Returns the table's number.
  uint64_t AddTable(uint32_t level, std::vector<KeyChange> changes, uint64_t number = 0) {
    if (number == 0) number = next_++;
    next_ = std::max(next_, number + 1);
    std::sort(changes.begin(), changes.end(),
              [&](const KeyChange& a, const KeyChange& b) { return internal_.Compare(Internal(a), Internal(b)) < 0; });
    std::string bytes;
    leveldb_format::TableBuilder builder(internal_, table_options, [&](std::string_view part) {
      bytes += part;
      return Status();
    });
    for (const KeyChange& change : changes) {
      builder.Add(Internal(change), change.value);
      Show(change);
    }
    EXPECT_OK(builder.Finish());
    const auto kind = has_old_names ? leveldb_format::NameKind::kOldTable : leveldb_format::NameKind::kTable;
    files_[leveldb_format::PrintName(kind, kv::FileNumber{number})] = bytes;
    edit_.added.emplace_back(level, leveldb_format::File{.number = kv::FileNumber{number},
                                                         .bytes = bytes.size(),
                                                         .smallest = Internal(changes.front()),
                                                         .largest = Internal(changes.back())});
    return number;
  }

  // Adds a log of batches whose changes have consecutive sequences. Returns the log's number.
  uint64_t AddLog(const std::vector<std::vector<KeyChange>>& batches) {
    const uint64_t number = next_++;
    leveldb_format::LogWriter writer;
    std::string& bytes = files_[leveldb_format::PrintName(leveldb_format::NameKind::kLog, kv::FileNumber{number})];
    for (const auto& batch : batches) {
      std::string record;
      leveldb_format::AppendBatchHeader(&record, batch.empty() ? 1 : batch.front().sequence,
                                        static_cast<uint32_t>(batch.size()));
      for (const KeyChange& change : batch) {
        leveldb_format::AppendOperation(&record, change.kind, change.key, change.value);
        Show(change);
      }
      writer.Append(record, &bytes);
    }
    first_log_ = std::min(first_log_, number);
    return number;
  }

  // All files, including CURRENT and MANIFEST.
  Files Finish() {
    const kv::FileNumber manifest{next_++};
    edit_.comparator =
        order_.is_bytewise() ? std::string(leveldb_format::kBytewiseName) : std::string(order_.comparator()->Name());
    edit_.log = kv::FileNumber{std::min(first_log_, next_)};
    edit_.previous_log = kv::FileNumber{0};
    edit_.next_file = kv::FileNumber{next_};
    edit_.last_sequence = last_sequence_;
    Files files = files_;
    std::string& bytes = files[leveldb_format::PrintName(leveldb_format::NameKind::kManifest, manifest)];
    leveldb_format::LogWriter().Append(leveldb_format::EncodeVersionEdit(edit_), &bytes);
    files["CURRENT"] = leveldb_format::EncodeCurrent(manifest);
    files["LOCK"] = "";
    files["LOG"] = "text for people\n";
    return files;
  }
  Shown shown() const {
    Shown shown;
    for (const auto& [key, change] : newest_) {
      if (change.kind == kv::Kind::kPut) shown[key] = change.value;
    }
    return shown;
  }
  uint64_t next_file() const { return next_; }
  kv::Sequence last_sequence() const { return last_sequence_; }
  leveldb_format::VersionEdit& edit() { return edit_; }

 private:
  static std::string Internal(const KeyChange& change) {
    std::string key;
    leveldb_format::AppendInternalKey(&key, change.key, kv::MakeTag(change.sequence, change.kind));
    return key;
  }
  void Show(const KeyChange& change) {
    KeyChange& newest = newest_[change.key];
    if (change.sequence >= newest.sequence) newest = change;
    last_sequence_ = std::max(last_sequence_, change.sequence);
  }

  const kv::Order order_;
  const leveldb_format::UserOrder user_;
  const leveldb_format::InternalOrder internal_{user_};
  Files files_;
  leveldb_format::VersionEdit edit_;
  uint64_t next_ = 2;
  uint64_t first_log_ = UINT64_MAX;
  kv::Sequence last_sequence_ = 0;
  std::map<std::string, KeyChange> newest_;
};

// Every sequence once, each in a random table or log.
inline LevelDbDirectory RandomDirectory(uint64_t seed, size_t changes, size_t keys) {
  base::Random random(seed);
  LevelDbDirectory directory;
  std::vector<std::vector<KeyChange>> homes(1 + random.Uniform(12));
  std::vector<std::vector<KeyChange>> log;
  for (kv::Sequence sequence = 1; sequence <= changes; ++sequence) {
    KeyChange change{.key = "k" + std::to_string(random.Uniform(keys)),
                     .sequence = sequence,
                     .kind = random.Uniform(4) == 0 ? kv::Kind::kDelete : kv::Kind::kPut,
                     .value = ""};
    if (change.kind == kv::Kind::kPut) change.value = std::to_string(sequence) + std::string(random.Uniform(60), 'v');
    const size_t home = random.Uniform(homes.size() + 2);
    if (home < homes.size()) {
      homes[home].push_back(change);
    } else if (!log.empty() && log.back().back().sequence + 1 == sequence && random.Uniform(2) == 0) {
      log.back().push_back(change);
    } else {
      log.push_back({change});
    }
  }
  for (auto& home : homes) {
    if (!home.empty()) directory.AddTable(static_cast<uint32_t>(random.Uniform(leveldb_format::kLevelsMax)), home);
  }
  const size_t half = random.Uniform(log.size() + 1);
  directory.AddLog({log.begin(), log.begin() + static_cast<ptrdiff_t>(half)});
  directory.AddLog({log.begin() + static_cast<ptrdiff_t>(half), log.end()});
  return directory;
}

inline void WriteFiles(FaultFileSystem* file_system, const std::string& directory, const Files& files) {
  ASSERT_OK(file_system->CreateDirectory(directory));
  ASSERT_OK(file_system->SyncDirectory("/"));
  for (const auto& [name, bytes] : files) ASSERT_OK(file_system->WriteWhole(directory + "/" + name, bytes));
}
inline Files ReadFiles(const FaultFileSystem& file_system, const std::string& directory) {
  Files files;
  for (const std::string& path : file_system.Files()) {
    if (path.starts_with(directory + "/")) files[path.substr(directory.size() + 1)] = *file_system.ReadWhole(path);
  }
  return files;
}

}  // namespace mergedb::testing
