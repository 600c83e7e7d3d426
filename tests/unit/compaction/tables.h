// Tables in memory, with the objects that write, open and read them: for the tests of compaction/ and read/.
#pragma once

#include <gtest/gtest.h>

#include <functional>
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

class Tables : private compaction::FileOwner {
 public:
  explicit Tables(const Comparator* comparator = BytewiseComparator()) : order(comparator) {
    EXPECT_OK(files.CreateDirectory("dir"));
    cache = table::Cache::New(&files, "dir", order, &blocks, 100);
    values = std::make_unique<blob::Cache>(&files, "dir", order, &blocks, 100);
  }

  // From now on a file is removed when the last pointer to its description is gone, as in a database.
  void RemoveWhatNobodyNames() { removes_files_ = true; }

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
  compaction::TableFactory factory{
      .file_system = &files, .directory = "dir", .order = order, .block_bytes = 256, .owner = *this, .entropy = [this] {
        return last_number + 100;
      }};
  std::function<Result<bool>(const format::DataFile& file)> reuse;  // null: there are no recycled files
  std::unique_ptr<table::Cache> cache;
  std::unique_ptr<blob::Cache> values;

 private:
  kv::FileNumber AllocateNumber() override { return kv::FileNumber{++last_number}; }
  Result<bool> Reuse(const format::DataFile& file) override { return reuse ? reuse(file) : Result<bool>(false); }
  format::FileMetaPtr Track(const format::FileMetaPtr& table) override { return Tracked(table); }
  format::BlobFilePtr Track(const format::BlobFilePtr& blob_file) override { return Tracked(blob_file); }
  template <class Meta>
  std::shared_ptr<const Meta> Tracked(const std::shared_ptr<const Meta>& meta) {
    if (!removes_files_) return meta;
    return {new Meta(*meta), [this](const Meta* last) {
              EXPECT_OK(files.Remove(format::DataFileOf(*last).PathIn("dir")));
              delete last;
            }};
  }

  bool removes_files_ = false;
};

inline OwnedEntry PutEntry(std::string key, kv::Sequence sequence, std::string value) {
  return {std::move(key), kv::MakeTag(sequence, kv::Kind::kPut), std::move(value)};
}
inline OwnedEntry DeleteEntry(std::string key, kv::Sequence sequence) {
  return {std::move(key), kv::MakeTag(sequence, kv::Kind::kDelete), ""};
}

}  // namespace mergedb::testing
