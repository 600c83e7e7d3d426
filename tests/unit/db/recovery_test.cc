// Goal: recovery finds the files of a directory and checks that the tables of the tree are there.
// tests/unit/wal and tests/crash test the replay of the WAL.
#include "db/recovery/recovery.h"

#include <gtest/gtest.h>

#include "format/batch.h"
#include "testing/fault_file_system.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"
#include "wal/wal.h"

namespace mergedb::db {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

class RecoveryTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("/d")); }
  void Write(const char* name, size_t bytes = 1) {
    ASSERT_OK(files_.WriteWhole(std::string("/d/") + name, std::string(bytes, 'x')));
  }
  testing::FaultFileSystem files_;
};

TEST_F(RecoveryTest, SortsFilesByKindAndPassesOverOthers) {
  for (const char* name :
       {"000003.tbl", "000007.seg", "MANIFEST-000009", "CURRENT", "LOCK", "STAGING", "notes", "12.tbl"})
    Write(name);
  ASSERT_OK_AND_ASSIGN(const Inventory inventory, TakeInventory(&files_, "/d"));
  EXPECT_EQ(inventory.tables, std::vector<kv::FileNumber>{kv::FileNumber{3}});
  EXPECT_EQ(inventory.manifests, std::vector<kv::FileNumber>{kv::FileNumber{9}});
  EXPECT_TRUE(inventory.has_staging);
  EXPECT_EQ(inventory.largest, kv::FileNumber{9});
}

TEST_F(RecoveryTest, ListsAllTablesThatAreNotAsTheyWere) {
  ASSERT_OK_AND_ASSIGN(const version::VersionPtr version,
                       testing::ParseTree(kv::Order(BytewiseComparator()),
                                          "position 9 level 0: 000012[a..f]1KB 000013[g..m]1KB 000014[n..z]1KB\n"));
  const size_t bytes = version->file_metas().front()->bytes;
  Write("000012.tbl", bytes);
  EXPECT_THAT(CheckFiles(&files_, "/d", *version),
              StatusIs(Code::kCorruption, AllOf(HasSubstr("000013.tbl: missing"), HasSubstr("000014.tbl: missing"))));
  Write("000013.tbl", bytes - 1);
  Write("000014.tbl", bytes);
  EXPECT_THAT(CheckFiles(&files_, "/d", *version), StatusIs(Code::kCorruption, HasSubstr("000013.tbl")));
  ASSERT_OK(files_.Remove("/d/000013.tbl"));
  ASSERT_OK(files_.CreateDirectory("/d/000013.tbl"));
  EXPECT_THAT(CheckFiles(&files_, "/d", *version),
              StatusIs(Code::kCorruption, HasSubstr("; /d/000013.tbl: stat: not a regular file")));
  ASSERT_OK(files_.RemoveDirectory("/d/000013.tbl"));
  Write("000013.tbl", bytes);
  EXPECT_OK(CheckFiles(&files_, "/d", *version));
  files_.AddFault({.op = testing::FileOp::kSizeOf});
  EXPECT_THAT(CheckFiles(&files_, "/d", *version), StatusIs(Code::kIOError));
}

// A forged WAL: the checks of the frames fit, but their records repeat sequences or exceed the largest
// sequence. A memtable relies on versions that arrive in order.
TEST_F(RecoveryTest, RefusesSequencesOutOfOrder) {
  for (const kv::Sequence first : {kv::Sequence{1}, kv::kSequenceMax - 2}) {
    testing::SimulatedEnv sim;
    ASSERT_OK(sim.files->CreateDirectory("/d"));
    Options options = sim.SmallOptions();
    ASSERT_OK(CheckOptions(&options));
    std::string batch;
    for (const char* key : {"a", "b", "a"}) format::AppendRecord(&batch, kv::Kind::kPut, key, "value");
    uint64_t next_file = 10;
    {
      auto log = wal::Wal::Create({.file_system = sim.files.get(),
                                   .executor = &sim.executor,
                                   .directory = "/d",
                                   .database_id = 7,
                                   .salt = 42,
                                   .first_sequence = first,
                                   .buffer_bytes = 32 << 10,
                                   .segment_bytes = 64 << 10,
                                   .allocate_number = [&] { return kv::FileNumber{next_file++}; },
                                   .reusable_segments = {}});
      ASSERT_OK(log.status());
      for (int frame = 0; frame < 2; ++frame) {
        const std::string_view payload[] = {batch};
        ASSERT_OK((*log)->Append(payload, 1, false));  // a false number of records
      }
      ASSERT_OK((*log)->MakeDurable());
    }
    Store store(options, "/d");
    manifest::Loaded loaded;
    loaded.database_id = 7;
    loaded.wal_start = {.epoch = 1, .salt = 42, .position = 0, .chain = 0, .sequence = first};
    EXPECT_THAT(ReplayWal(store, loaded, nullptr), StatusIs(Code::kCorruption, HasSubstr("follows sequence")));
  }
}

}  // namespace
}  // namespace mergedb::db
