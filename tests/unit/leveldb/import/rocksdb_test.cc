// Goal: each thing that only RocksDB makes is evidence, and nothing that merely looks alike is; a file that cannot be
// read is an error, never "no RocksDB". Method: single files in memory. tests/leveldb/rocksdb_test.cc has whole
// directories, under every call.
#include "leveldb/import/rocksdb.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "tests/unit/leveldb/import/sources.h"

namespace mergedb::leveldb_import {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace mergedb::testing;

constexpr uint64_t kRocksDbMagic = 0x88e241b785f4cff7;
constexpr uint64_t kLevelDbMagic = 0xdb4775248b80fb57;

std::string TableWith(uint64_t magic) {
  std::string bytes = "blocks ";
  base::AppendFixed64(&bytes, magic);
  return bytes;
}

// A MANIFEST whose last edit, after `edits` edits of LevelDB's, begins with `tag`.
std::string ManifestWith(uint32_t tag, int edits) {
  std::string bytes;
  leveldb_format::LogWriter writer;
  for (int i = 0; i < edits; ++i) writer.Append(leveldb_format::EncodeVersionEdit(FirstEdit(1, 2, 3)), &bytes);
  std::string last;
  base::AppendVarint32(&last, tag);
  writer.Append(last + '\x01', &bytes);
  return bytes;
}

class RocksDbTest : public ImportTest {
 protected:
  // The evidence in a directory that holds this file; empty: none.
  std::string Find(const std::string& name, const std::string& bytes) {
    Write(name, bytes);
    const auto found = FindRocksDb(&files_, kHome, *files_.List(kHome));
    EXPECT_OK(found.status()) << name;
    Remove(name);
    return found && *found ? **found : "";
  }
};

TEST_F(RocksDbTest, WhatOnlyRocksDbMakesIsEvidence) {
  EXPECT_EQ(Find("OPTIONS-000007", ""), "OPTIONS-000007 exists");
  EXPECT_EQ(Find("IDENTITY", "0d5b6e2c-77f1-4d9e-9f0a-B33B1D1C2F11"), "IDENTITY exists");
  EXPECT_EQ(Find("IDENTITY", "0d5b6e2c-77f1-4d9e-9f0a-b33b1d1c2f11\n"), "IDENTITY exists");
  EXPECT_EQ(Find("LOG", "2026/11/23-01:43:23 13469 RocksDB version: 7.8.3\nmore\n"), "LOG says so");
  EXPECT_EQ(Find("000009.sst", TableWith(kRocksDbMagic)), "000009.sst is a table of RocksDB's");
  EXPECT_EQ(Find("MANIFEST-000005", ManifestWith(103, 0)), "MANIFEST-000005 holds edits that only RocksDB makes");
  EXPECT_EQ(Find("MANIFEST-000005", ManifestWith(8200, 40)), "MANIFEST-000005 holds edits that only RocksDB makes");
}

TEST_F(RocksDbTest, WhatLooksAlikeIsNone) {
  const std::string id = "0d5b6e2c-77f1-4d9e-9f0a-b33b1d1c2f11";
  const Files none = {{"OPTIONS-", ""},
                      {"OPTIONS-000007.dbtmp", ""},
                      {"OPTIONS", ""},
                      {"IDENTITY", id.substr(1)},
                      {"LOG", "2026/11/23-01:43:23 Recovering log #3\n"},
                      {"LOG.old", "RocksDB version: 7.8.3\n"},
                      {"000008.sst", TableWith(kLevelDbMagic)},
                      {"000009.sst", TableWith(kRocksDbMagic) + "x"},
                      {"000010.sst", "short"},
                      {"000011.ldb", TableWith(kRocksDbMagic)},
                      {"MANIFEST-000005", ManifestOf({FirstEdit(1, 2, 3)})},
                      {"MANIFEST-000006", ManifestWith(8, 1)},
                      {"MANIFEST-000007", "no log at all"}};
  for (const auto& [name, bytes] : none) EXPECT_EQ(Find(name, bytes), "") << name;
  for (const std::string& text : {id + "f", id + "\nx", "x" + id.substr(1), std::string(36, 'g')})
    EXPECT_EQ(Find("IDENTITY", text), "") << text;
}

// A directory may be a copy: every kind of evidence is found without the others, among files of LevelDB's.
TEST_F(RocksDbTest, TheEvidenceIsFoundAmongOtherFiles) {
  LevelDbDirectory directory;
  directory.has_old_names = true;
  for (int i = 0; i < 5; ++i) directory.AddTable(1, {Put("k" + std::to_string(i), 1, "v")});
  Write(directory.Finish());
  EXPECT_EQ(Find("000001.txt", TableWith(kRocksDbMagic)), "");
  EXPECT_EQ(Find("999999.sst", TableWith(kRocksDbMagic)), "999999.sst is a table of RocksDB's");
  EXPECT_EQ(Find("MANIFEST-999999", ManifestWith(201, 3)), "MANIFEST-999999 holds edits that only RocksDB makes");
}

TEST_F(RocksDbTest, AFileThatCannotBeReadIsAnError) {
  const Files files = {{"IDENTITY", "x"}, {"LOG", "x"}, {"000009.sst", "12345678"}, {"MANIFEST-000005", "x"}};
  for (const auto& [name, bytes] : files) {
    for (const FileOp op : {FileOp::kOpen, FileOp::kRead}) {
      Write(name, bytes);
      files_.AddFault({.op = op, .path_contains = name, .sticky = true});
      EXPECT_THAT(FindRocksDb(&files_, kHome, {name}), StatusIs(Code::kIOError)) << name << " " << OpName(op);
      files_.ClearFaults();
      Remove(name);
      // The list may be older than the directory.
      ASSERT_OK_AND_ASSIGN(const auto gone, FindRocksDb(&files_, kHome, {name}));
      EXPECT_FALSE(gone) << name;
    }
  }
}

TEST_F(RocksDbTest, TheRefusalHasTheEvidenceAndTheWayOut) {
  EXPECT_THAT(RocksDbRefusal("/srv/data", "LOG says so"),
              StatusIs(Code::kNotSupported, AllOf(HasSubstr("/srv/data: "), HasSubstr("RocksDB (LOG says so)"),
                                                  HasSubstr("nothing was changed"), HasSubstr("Copy its entries"))));
}

}  // namespace
}  // namespace mergedb::leveldb_import
