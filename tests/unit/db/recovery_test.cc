// What a directory holds, and whether the tree's tables are there. The log's replay is tests/unit/log's and tests/crash's.
#include "db/recovery.h"

#include <gtest/gtest.h>

#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"

namespace mergedb::db {
namespace {

using testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("/d")); }
  void Write(const char* name, size_t bytes = 1) {
    ASSERT_OK(files_.WriteWhole(std::string("/d/") + name, std::string(bytes, 'x')));
  }
  testing::FaultFileSystem files_;
};

TEST_F(RecoveryTest, SortsFilesByKindAndPassesOverOthers) {
  for (const char* name : {"000003.tbl", "000007.seg", "MANIFEST-000009", "CURRENT", "LOCK", "STAGING", "notes", "12.tbl"}) Write(name);
  ASSERT_OK_AND_ASSIGN(const Inventory inventory, TakeInventory(&files_, "/d"));
  EXPECT_EQ(inventory.tables, std::vector<kv::FileNumber>{kv::FileNumber{3}});
  EXPECT_EQ(inventory.manifests, std::vector<kv::FileNumber>{kv::FileNumber{9}});
  EXPECT_TRUE(inventory.has_staging);
  EXPECT_EQ(inventory.largest, kv::FileNumber{9});
}

TEST_F(RecoveryTest, ListsAllTablesThatAreNotAsTheyWere) {
  ASSERT_OK_AND_ASSIGN(const tree::VersionPtr version,
                       testing::ParseTree(kv::Order(BytewiseComparator()),
                                          "position 9 level 0: 000012[a..f]1KB 000013[g..m]1KB 000014[n..z]1KB\n"));
  const size_t bytes = version->file_metas().front()->bytes;
  Write("000012.tbl", bytes);
  EXPECT_THAT(CheckFiles(&files_, "/d", *version),
              StatusIs(Code::kCorruption, AllOf(HasSubstr("000013.tbl: missing"), HasSubstr("000014.tbl: missing"))));
  Write("000013.tbl", bytes - 1);
  Write("000014.tbl", bytes);
  EXPECT_THAT(CheckFiles(&files_, "/d", *version), StatusIs(Code::kCorruption, HasSubstr("000013.tbl")));
  Write("000013.tbl", bytes);
  EXPECT_OK(CheckFiles(&files_, "/d", *version));
  files_.AddFault({.op = testing::Op::kSizeOf});
  EXPECT_THAT(CheckFiles(&files_, "/d", *version), StatusIs(Code::kIOError));
}

}  // namespace
}  // namespace mergedb::db
