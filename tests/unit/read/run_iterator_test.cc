// Goal: a run iterates like one sorted list, whatever its virtual tables are: several files, parts of one file,
// with bounds on top.
#include "read/run_iterator.h"

#include <gtest/gtest.h>

#include "tests/unit/compaction/tables.h"

namespace mergedb::read {
namespace {

using testing::OpenIterator;
using testing::OwnedEntry;
using testing::Tables;

OpenVirtualTable Opener(Tables& tables) {
  return [&tables](const version::VirtualTable& virtual_table) {
    auto reader = tables.cache->Open(virtual_table.file);
    if (!reader) return kv::NewEmptyIterator(reader.error());
    return (*reader)->NewIterator({}, *reader);
  };
}

// Writes the entries to tables of about 40 entries each. All versions of a key are in one table.
version::RunPtr MakeRun(Tables& tables, const std::vector<OwnedEntry>& entries) {
  std::vector<version::VirtualTable> virtual_tables;
  std::vector<OwnedEntry> part;
  const auto finish = [&] {
    if (!part.empty()) virtual_tables.push_back({.file = tables.Write(part), .bounds = {}});
    part.clear();
  };
  for (const OwnedEntry& entry : entries) {
    if (part.size() >= 40 && part.back().key != entry.key) finish();
    part.push_back(entry);
  }
  finish();
  return std::make_shared<const version::Run>(kv::Position{1}, 0, std::move(virtual_tables));
}

TEST(RunIterator, KeepsTheContract) {
  auto tables = std::make_shared<Tables>();
  testing::CheckIteratorContract({.build = [&](const std::vector<OwnedEntry>& entries) -> OpenIterator {
    return
        [tables, run = MakeRun(*tables, entries)] { return NewRunIterator(tables->order, run, {}, Opener(*tables)); };
  }});
}

// One file, shown by two virtual tables that meet at its middle key.
TEST(RunIterator, KeepsTheContractWithVirtualTablesOfAFile) {
  auto tables = std::make_shared<Tables>();
  testing::CheckIteratorContract({.build = [&](const std::vector<OwnedEntry>& entries) -> OpenIterator {
    std::vector<OwnedEntry> padded = entries;
    // A key "" at the beginning of the file, which no virtual table shows. Left out if the entries have that
    // key.
    padded.insert(padded.begin(), testing::PutEntry("", kv::kSequenceMax - 1, "hidden"));
    std::erase_if(padded, [&](const OwnedEntry& entry) {
      return entry.key.empty() && entry.value == "hidden" && !entries.empty() && entries[0].key.empty();
    });
    const bool has_padding = padded.size() > entries.size();
    std::vector<version::VirtualTable> virtual_tables;
    if (!entries.empty()) {
      const auto file = tables->Write(padded);
      const std::string middle = entries[entries.size() / 2].key;
      format::Bounds low{.upper = middle}, high{.lower = middle};
      if (has_padding) low.lower = entries[0].key;
      if (entries[0].key != middle) virtual_tables.push_back({file, low});
      virtual_tables.push_back({file, high});
    }
    return [tables, run = std::make_shared<const version::Run>(kv::Position{1}, 0, virtual_tables)] {
      return NewRunIterator(tables->order, run, {}, Opener(*tables));
    };
  }});
}

TEST(RunIterator, ShowsOnlyKeysWithinItsBoundsAndOpensNoOtherTable) {
  Tables tables;
  std::vector<OwnedEntry> entries;
  for (int i = 100; i < 300; ++i) entries.push_back(testing::PutEntry("k" + std::to_string(i), 7, "v"));
  const auto run = MakeRun(tables, entries);
  ASSERT_EQ(run->virtual_tables().size(), 5u);
  int opened = 0;
  auto it = NewRunIterator(tables.order, run, {.lower = "k150", .upper = "k170"},
                           [&](const version::VirtualTable& virtual_table) {
                             ++opened;
                             return Opener(tables)(virtual_table);
                           });
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->entry().key, "k150");
  int count = 0;
  for (; it->Valid(); it->Next()) ++count;
  EXPECT_EQ(count, 20);
  it->SeekToLast();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->entry().key, "k169");
  it->Seek("k999", kv::kTagMax);
  EXPECT_FALSE(it->Valid());
  it->Seek("a", kv::kTagMax);
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->entry().key, "k150");
  EXPECT_LE(opened, 4);
}

}  // namespace
}  // namespace mergedb::read
