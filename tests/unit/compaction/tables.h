// Tables in memory, with the objects that write, open and read them: for the tests of compaction/ and read/.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/block_cache.h"
#include "blob/cache.h"
#include "compaction/outputs.h"
#include "table/cache.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"
#include "tests/unit/kv/iterator_contract.h"
#include "version/run.h"

namespace mergedb::testing {

class Tables {
 public:
  explicit Tables(const Comparator* comparator = BytewiseComparator()) : order(comparator) {
    EXPECT_OK(files.CreateDirectory("dir"));
    cache = table::Cache::New(&files, "dir", order, &blocks, 100);
    values = std::make_unique<blob::Cache>(&files, "dir", order, &blocks, 100);
  }

  // From now on a file is removed when the last pointer to its description is gone, as in a database.
  void RemoveWhatNobodyNames() {
    factory.track = [this](const format::FileMetaPtr& meta) { return Tracked(format::FileKind::kTable, *meta); };
    factory.track_values = [this](const format::BlobFilePtr& meta) {
      return Tracked(format::FileKind::kBlobFile, *meta);
    };
  }

  // Writes one table; `entries` are in order.
  format::FileMetaPtr Write(const std::vector<OwnedEntry>& entries) {
    compaction::Outputs outputs(factory, {});
    for (const OwnedEntry& entry : entries) EXPECT_OK(outputs.Add(ViewOf(entry, order)));
    EXPECT_OK(outputs.Finish());
    return outputs.Take().at(0);
  }
  std::vector<OwnedEntry> Read(const format::FileMetaPtr& meta) {
    auto reader = cache->Open(meta);
    EXPECT_OK(reader.status());
    std::vector<OwnedEntry> entries;
    auto it = (*reader)->NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      entries.push_back({std::string(it->entry().key), it->entry().tag, std::string(it->entry().value)});
    }
    EXPECT_OK(it->status());
    return entries;
  }
  size_t files_there() const { return files.Files().size(); }

  const kv::Order order;
  FaultFileSystem files;
  base::BlockCache blocks{1 << 20};
  uint64_t last_number = 0;
  compaction::TableFactory factory{.file_system = &files,
                                   .directory = "dir",
                                   .order = order,
                                   .block_bytes = 256,
                                   .allocate_number = [this] { return kv::FileNumber{++last_number}; },
                                   .entropy = [this] { return last_number + 100; },
                                   .track = [](const format::FileMetaPtr& meta) { return meta; },
                                   .track_values = [](const format::BlobFilePtr& meta) { return meta; }};
  std::unique_ptr<table::Cache> cache;
  std::unique_ptr<blob::Cache> values;

 private:
  template <class Meta>
  std::shared_ptr<const Meta> Tracked(format::FileKind kind, const Meta& meta) {
    return {new Meta(meta), [this, kind](const Meta* last) {
              EXPECT_OK(files.Remove(format::FilePath("dir", kind, last->number)));
              delete last;
            }};
  }
};

inline OwnedEntry PutEntry(std::string key, kv::Sequence sequence, std::string value) {
  return {std::move(key), kv::MakeTag(sequence, kv::Kind::kPut), std::move(value)};
}
inline OwnedEntry DeleteEntry(std::string key, kv::Sequence sequence) {
  return {std::move(key), kv::MakeTag(sequence, kv::Kind::kDelete), ""};
}

}  // namespace mergedb::testing
