// Goal: files of mergedb with LevelDB's names get their own; a file of another kind of database is described.
// tests/leveldb tests imports.
#include "db/recovery/import.h"

#include <gtest/gtest.h>

#include "format/table_layout.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"
#include "wal/frame.h"

namespace mergedb::db {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

class ImportTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("/d")); }
  void Write(const char* name, size_t bytes = 1) {
    ASSERT_OK(files_.WriteWhole(std::string("/d/") + name, std::string(bytes, 'x')));
  }
  testing::FaultFileSystem files_;
};

// AdoptFiles renames the files that a LevelDB Env has named, if they are tables of the tree or segments of this
// database. It leaves other files alone.
TEST_F(ImportTest, GivesFilesWithLevelDbsNamesTheirOwn) {
  manifest::Loaded loaded;
  loaded.database_id = 7;
  ASSERT_OK_AND_ASSIGN(loaded.version, testing::ParseTree(kv::Order(BytewiseComparator()),
                                                          "position 9 level 0: 000012[a..f]1KB 000013[g..m]1KB\n"));
  for (const char* name : {"000012.ldb", "000013.tbl", "000013.ldb", "000014.ldb", "000016.log"}) Write(name);
  std::string segment(wal::kBlockBytes, 0);
  wal::StoreSegmentHead(segment.data(), {.database_id = 7, .generation = 1, .capacity = 8192, .is_appended = true});
  ASSERT_OK(files_.WriteWhole("/d/000015.log", segment));
  wal::StoreSegmentHead(segment.data(), {.database_id = 8, .generation = 1, .capacity = 8192, .is_appended = true});
  ASSERT_OK(files_.WriteWhole("/d/000017.log", segment));

  ASSERT_OK_AND_ASSIGN(Inventory inventory, TakeInventory(&files_, "/d"));
  EXPECT_THAT(AdoptFiles(&files_, "/d", inventory, &loaded, false).status(),
              StatusIs(Code::kNotSupported, HasSubstr("000012.ldb")));
  ASSERT_OK_AND_ASSIGN(const bool is_any, AdoptFiles(&files_, "/d", inventory, &loaded, true));
  EXPECT_TRUE(is_any);
  EXPECT_THAT(files_.Files(),
              ::testing::UnorderedElementsAre("/d/000012.tbl", "/d/000013.tbl", "/d/000013.ldb", "/d/000014.ldb",
                                              "/d/000015.seg", "/d/000016.log", "/d/000017.log"));
  ASSERT_OK_AND_ASSIGN(inventory, TakeInventory(&files_, "/d"));
  ASSERT_OK_AND_ASSIGN(const bool is_more, AdoptFiles(&files_, "/d", inventory, &loaded, false));
  EXPECT_FALSE(is_more);
}

TEST_F(ImportTest, WithoutAManifestFilesSayWhoseTheyAre) {
  for (const char* name : {"000012.ldb", "000013.ldb", "000016.log"}) Write(name);
  ASSERT_OK(files_.WriteWhole("/d/000014.ldb", "blocks" + std::string(format::kTableMagic)));
  std::string segment(wal::kBlockBytes, 0);
  wal::StoreSegmentHead(segment.data(), {.database_id = 7, .generation = 1, .capacity = 8192, .is_appended = true});
  ASSERT_OK(files_.WriteWhole("/d/000015.log", segment));
  ASSERT_OK_AND_ASSIGN(const Inventory inventory, TakeInventory(&files_, "/d"));
  EXPECT_THAT(AdoptFiles(&files_, "/d", inventory, nullptr, false).status(),
              StatusIs(Code::kNotSupported, HasSubstr("000014.ldb")));
  ASSERT_OK_AND_ASSIGN(const bool is_any, AdoptFiles(&files_, "/d", inventory, nullptr, true));
  EXPECT_TRUE(is_any);
  EXPECT_THAT(files_.Files(), ::testing::UnorderedElementsAre("/d/000012.ldb", "/d/000013.ldb", "/d/000014.tbl",
                                                              "/d/000015.seg", "/d/000016.log"));
}

// Without CURRENT, tables and logs with entries show that a LevelDB database lost its CURRENT.
TEST_F(ImportTest, DescribesLevelDbsTablesAndItsLogsThatAreNotEmpty) {
  Write("000003.log", 0);
  for (const char* name : {"000003.log", "MANIFEST-000002", "LOCK", "000004.tbl", "notes"})
    EXPECT_THAT(DescribeForeignFile(&files_, "/d", name), IsOkAndHolds("")) << name;
  Write("000003.log");
  for (const char* name : {"000003.log", "000005.ldb", "000006.sst"})
    EXPECT_THAT(DescribeForeignFile(&files_, "/d", name), IsOkAndHolds(HasSubstr(std::string("LevelDB's ") + name)));
  EXPECT_THAT(manifest::Load(&files_, "/d", kv::Order(BytewiseComparator()), DescribeForeignFile),
              StatusIs(Code::kCorruption, HasSubstr("CURRENT: missing, but LevelDB's 000003.log exists")));
  EXPECT_THAT(manifest::Load(&files_, "/d", kv::Order(BytewiseComparator())), StatusIs(Code::kNotFound));
}

}  // namespace
}  // namespace mergedb::db
