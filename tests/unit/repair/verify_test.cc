// Goal: Verify refuses what it cannot judge, changes nothing, and says in one line what each damage means. Method: a
// database in memory; damages by hand.
#include <gtest/gtest.h>

#include "mergedb/repair.h"
#include "testing/status_matchers.h"
#include "testing/whole_database.h"

namespace mergedb {
namespace {

using ::testing::HasSubstr;
using namespace testing;

const std::string kDatabase = SimulatedEnv::kPath;

TEST(DamageText, HasPlaceAndKeysAsFarAsTheyAreKnown) {
  Damage damage{.file = "000012.tbl", .what = "missing"};
  EXPECT_EQ(ToText(damage), "000012.tbl: missing; no entry is lost");
  damage.bytes = 812;
  EXPECT_EQ(ToText(damage), "000012.tbl: offset 0, 812 bytes: missing; no entry is lost");
  damage.offset = 4096;
  EXPECT_EQ(ToText(damage), "000012.tbl: offset 4096, 812 bytes: missing; no entry is lost");
  damage.bytes = 0;
  EXPECT_EQ(ToText(damage), "000012.tbl: offset 4096: missing; no entry is lost");
  damage.offset = 0;
  damage.loses_entries = true;
  EXPECT_EQ(ToText(damage), "000012.tbl: missing; entries of any key may be lost");
  damage.smallest_key = "a\n";
  EXPECT_EQ(ToText(damage), "000012.tbl: missing; entries of keys from \"a\\x0a\" to the last may be lost");
  damage.largest_key = "";
  EXPECT_EQ(ToText(damage), "000012.tbl: missing; entries of keys from \"a\\x0a\" to \"\" may be lost");
  damage.smallest_key.reset();
  EXPECT_EQ(ToText(damage), "000012.tbl: missing; entries of keys from the first to \"\" may be lost");
  // Keys of damage that loses nothing are not mentioned.
  damage.loses_entries = false;
  EXPECT_EQ(ToText(damage), "000012.tbl: missing; no entry is lost");
}

class VerifyTest : public ::testing::Test {
 protected:
  static const WholeDatabase& Whole() {
    static const WholeDatabase database({.is_closed = false});
    return database;
  }
  const std::unique_ptr<SimulatedEnv> sim_ = Whole().Copy();
  const Options options_ = Whole().OptionsFor(*sim_);
};

TEST_F(VerifyTest, ReadsAllAndChangesNothing) {
  const uint64_t before = sim_->files->Fingerprint();
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(options_, kDatabase));
  EXPECT_TRUE(report.damages.empty());
  EXPECT_GT(report.tables, 0u);
  EXPECT_GT(report.entries, 0u);
  EXPECT_GT(report.wal_frames, 0u);
  EXPECT_EQ(sim_->files->Fingerprint(), before);
}

TEST_F(VerifyTest, DamageIsAReportAndNotAnError) {
  ASSERT_OK(sim_->files->Remove(kDatabase + "/CURRENT"));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(options_, kDatabase));
  ASSERT_EQ(report.damages.size(), 1u);
  EXPECT_EQ(ToText(report.damages.front()), "CURRENT: missing; no entry is lost");
}

TEST_F(VerifyTest, RefusesWhatItCannotJudge) {
  EXPECT_THAT(Verify(options_, "/nowhere"), StatusIs(Code::kNotFound));
  Options invalid = options_;
  invalid.block_bytes = 0;
  EXPECT_THAT(Verify(invalid, kDatabase), StatusIs(Code::kInvalidArgument));
  {
    ASSERT_OK_AND_ASSIGN(const auto db, Whole().Open(*sim_));
    EXPECT_THAT(Verify(options_, kDatabase), StatusIs(Code::kBusy));
  }
  EXPECT_OK(Verify(options_, kDatabase));
}

// Symptom: a repair by another user than the owner of the files moved an intact database to lost/.
TEST_F(VerifyTest, AFileThatTheUserMayNotReadIsNoDamage) {
  const WholeDatabase whole({.is_closed = false, .separates = true});
  const auto sim = whole.Copy();
  const Options options = whole.OptionsFor(*sim);
  const auto names = [&] { return *sim->files->List(kDatabase); };
  for (const std::string part : {"/CURRENT", "/MANIFEST", ".tbl", ".val", ".seg", "/STAGING"}) {
    SCOPED_TRACE(part);
    const auto before = names();
    sim->files->AddFault(
        {.op = FileOp::kOpen, .path_contains = part, .sticky = true, .status = Status::IOError("EACCES")});
    EXPECT_THAT(Verify(options, kDatabase), StatusIs(Code::kIOError, HasSubstr("nothing was changed")));
    EXPECT_THAT(Repair(options, kDatabase), StatusIs(Code::kIOError, HasSubstr("may read the files")));
    EXPECT_GT(sim->files->faults_hit(), 0u);
    sim->files->ClearFaults();
    EXPECT_EQ(names(), before);
  }
  EXPECT_OK(whole.Open(*sim));
}

// A program's own LevelDB Env named the tables .ldb: to Verify they would all be missing.
TEST_F(VerifyTest, TablesWithLevelDbsNamesAreNotTakenForMissing) {
  const std::string path = Whole().Files(".tbl").front();
  ASSERT_OK(sim_->files->Rename(path, path.substr(0, path.size() - 4) + ".ldb"));
  EXPECT_THAT(Verify(options_, kDatabase), StatusIs(Code::kNotSupported, HasSubstr("has LevelDB's file name")));
}

}  // namespace
}  // namespace mergedb
