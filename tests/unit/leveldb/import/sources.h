// What the tests of src/leveldb/import/ share: a directory in memory, LevelDB files made edit by edit and batch by
// batch, and entries as text: "k#7,PUT=value". tests/leveldb/leveldb_directory.h makes whole databases.
#pragma once

#include <string>
#include <vector>

#include "kv/iterator.h"
#include "leveldb/import/directory.h"
#include "leveldb/import/table_walk.h"
#include "testing/fault_file_system.h"
#include "tests/leveldb/leveldb_directory.h"

namespace mergedb::testing {

inline const std::string kHome = "/db";

inline KeyChange Put(const std::string& key, kv::Sequence sequence, const std::string& value) {
  return {.key = key, .sequence = sequence, .kind = kv::Kind::kPut, .value = value};
}
inline KeyChange Deleted(const std::string& key, kv::Sequence sequence) {
  return {.key = key, .sequence = sequence, .kind = kv::Kind::kDelete, .value = ""};
}

// A log of batches. The operations of a batch get consecutive sequences.
inline std::string LogOf(const std::vector<std::vector<KeyChange>>& batches) {
  std::string bytes;
  leveldb_format::LogWriter writer;
  for (const auto& batch : batches) {
    std::string record;
    leveldb_format::AppendBatchHeader(&record, batch.front().sequence, static_cast<uint32_t>(batch.size()));
    for (const KeyChange& change : batch)
      leveldb_format::AppendOperation(&record, change.kind, change.key, change.value);
    writer.Append(record, &bytes);
  }
  return bytes;
}

inline std::string ManifestOf(const std::vector<leveldb_format::VersionEdit>& edits) {
  std::string bytes;
  leveldb_format::LogWriter writer;
  for (const auto& edit : edits) writer.Append(leveldb_format::EncodeVersionEdit(edit), &bytes);
  return bytes;
}

// All facts without which LevelDB opens no database.
inline leveldb_format::VersionEdit FirstEdit(uint64_t log, uint64_t next_file, kv::Sequence last_sequence) {
  leveldb_format::VersionEdit edit;
  edit.comparator = std::string(leveldb_format::kBytewiseName);
  edit.log = kv::FileNumber{log};
  edit.next_file = kv::FileNumber{next_file};
  edit.last_sequence = last_sequence;
  return edit;
}

inline std::vector<std::string> Entries(kv::ForwardIterator& it) {
  std::vector<std::string> entries;
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    const kv::Entry& entry = it.entry();
    entries.push_back(kv::PrintKey(entry.key, entry.tag) + (entry.value.empty() ? "" : "=") + std::string(entry.value));
  }
  return entries;
}

class ImportTest : public ::testing::Test {
 protected:
  ImportTest() { EXPECT_OK(files_.CreateDirectory(kHome)); }

  void Write(const std::string& name, std::string_view bytes) {
    ASSERT_OK(files_.WriteWhole(kHome + "/" + name, bytes));
  }
  void Write(const Files& files) {
    for (const auto& [name, bytes] : files) Write(name, bytes);
  }
  void Remove(const std::string& name) { ASSERT_OK(files_.Remove(kHome + "/" + name)); }
  Files Now() { return ReadFiles(files_, kHome); }

  FaultFileSystem files_;
  const kv::Order order_{BytewiseComparator()};
};

}  // namespace mergedb::testing
