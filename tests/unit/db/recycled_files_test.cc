// Goal: files of obsolete tables are written again under another number. The pool can be emptied at any time,
// file by file.
#include "db/state/recycled_files.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using testing::IsOkAndHolds;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class RecycledFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("/db")); }

  // An obsolete table.
  format::DataFile Add(uint64_t number, uint64_t bytes) {
    auto file = files_.Open(format::TablePath("/db", kv::FileNumber{number}), {.access = Access::kCreate});
    EXPECT_OK(file.status());
    format::FileMeta meta;
    meta.number = kv::FileNumber{number};
    meta.bytes = bytes;
    obsolete_->Track(std::make_shared<const format::FileMeta>(meta));
    return obsolete_->Take().at(0);
  }
  std::vector<std::string> Names() {
    auto names = files_.List("/db");
    EXPECT_OK(names.status());
    std::sort(names->begin(), names->end());
    return *names;
  }

  testing::FaultFileSystem files_;
  std::shared_ptr<ObsoleteFiles> obsolete_ = std::make_shared<ObsoleteFiles>();
  RecycledFiles recycled_files_{&files_, "/db", *obsolete_, kv::FileNumber{9}};
};

using Names = std::vector<std::string>;

TEST_F(RecycledFilesTest, AFileBecomesTheNextTable) {
  EXPECT_TRUE(recycled_files_.Keep(Add(12, 2 * kMiB)));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000012.spare"}));
  EXPECT_EQ(obsolete_->bytes_on_disk(), 2 * kMiB) << "a spare is space on disk";
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{47}, 2 * kMiB}), IsOkAndHolds(true));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000047.tbl"}));
  EXPECT_EQ(obsolete_->bytes_on_disk(), 0u) << "the new table counts for itself";
  EXPECT_TRUE(recycled_files_.empty());
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{48}, 2 * kMiB}), IsOkAndHolds(false));
}

TEST_F(RecycledFilesTest, ATableBecomesABlobFileAndBack) {
  EXPECT_TRUE(recycled_files_.Keep(Add(12, 2 * kMiB)));
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kBlobFile, kv::FileNumber{47}, 2 * kMiB}), IsOkAndHolds(true));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000047.val"}));
  const auto values = obsolete_->Track(std::make_shared<const format::BlobFileMeta>(
      format::BlobFileMeta{.number = kv::FileNumber{47}, .bytes = 2 * kMiB}));
  EXPECT_TRUE(recycled_files_.Keep({format::FileKind::kBlobFile, values->number, values->bytes}));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000047.spare"}));
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{48}, 2 * kMiB}), IsOkAndHolds(true));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000048.tbl"}));
  EXPECT_EQ(obsolete_->bytes_on_disk(), 0u);
}

TEST_F(RecycledFilesTest, TakesTheNearestInSizeAndNoneThatIsMuchTooLarge) {
  ASSERT_TRUE(recycled_files_.Keep(Add(11, 2 * kMiB)));
  ASSERT_TRUE(recycled_files_.Keep(Add(12, 8 * kMiB)));
  ASSERT_TRUE(recycled_files_.Keep(Add(13, 4 * kMiB)));
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{47}, kMiB}), IsOkAndHolds(false))
      << "more than an eighth too large";
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{47}, 5 * kMiB}), IsOkAndHolds(true));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000011.spare", "000012.spare", "000047.tbl"}));
}

TEST_F(RecycledFilesTest, ATinyOneFitsHoweverLittleIsExpected) {
  ASSERT_TRUE(recycled_files_.Keep(Add(11, 4096)));
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{47}, 100}), IsOkAndHolds(true));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000047.tbl"}));
}

TEST_F(RecycledFilesTest, AreBoundedInNumberAndTheOldestSmallOnesGo) {
  ASSERT_TRUE(recycled_files_.Keep(Add(10, 2 * kMiB)));
  for (uint64_t number = 11; number < 1011; ++number) ASSERT_TRUE(recycled_files_.Keep(Add(number, 512 << 10)));
  const std::vector<std::string> names = Names();
  EXPECT_EQ(names.size(), RecycledFiles::kCountMax);
  EXPECT_EQ(names.front(), "000010.spare") << "it is not small";
  EXPECT_EQ(names.back(), "001010.spare");
  EXPECT_EQ(recycled_files_.removed(), 1001 - RecycledFiles::kCountMax);
  EXPECT_EQ(obsolete_->bytes_on_disk(), 2 * kMiB + (RecycledFiles::kCountMax - 1) * (kMiB / 2));
}

TEST_F(RecycledFilesTest, OfTooManyASmallOneIsRemovedFirstAndALargeOneOnlyWhenAsked) {
  ASSERT_TRUE(recycled_files_.Keep(Add(10, 2 * kMiB)));
  for (uint64_t number = 11; number < 11 + RecycledFiles::kCountMax; ++number)
    ASSERT_TRUE(recycled_files_.Keep(Add(number, kMiB)));
  EXPECT_EQ(recycled_files_.count(), RecycledFiles::kCountMax + 1) << "the removal of a large one takes long";
  ASSERT_TRUE(recycled_files_.Keep(Add(9, 512 << 10)));
  EXPECT_EQ(Names().front(), "000010.spare");
  EXPECT_EQ(recycled_files_.count(), RecycledFiles::kCountMax + 1);
  ASSERT_OK(files_.WriteWhole("/db/000009.spare", "left by a killed process"));
  recycled_files_.Adopt(kv::FileNumber{9});
  EXPECT_OK(recycled_files_.RemoveOldest());
  EXPECT_EQ(Names().front(), "000010.spare") << "the small one goes first";
  EXPECT_OK(recycled_files_.RemoveOldest());
  EXPECT_EQ(Names().front(), "000011.spare");
}

TEST_F(RecycledFilesTest, RemovesTheOneThatWasKeptFirst) {
  ASSERT_TRUE(recycled_files_.Keep(Add(12, 2 * kMiB)));
  ASSERT_TRUE(recycled_files_.Keep(Add(11, kMiB)));
  EXPECT_OK(recycled_files_.RemoveOldest());
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000011.spare"}));
  EXPECT_EQ(recycled_files_.bytes(), kMiB);
  EXPECT_EQ(obsolete_->bytes_on_disk(), kMiB);
  EXPECT_EQ(recycled_files_.removed(), 1u);
  EXPECT_OK(recycled_files_.RemoveOldest());
  EXPECT_OK(recycled_files_.RemoveOldest()) << "there is none";
  EXPECT_EQ(recycled_files_.removed(), 2u);
}

TEST_F(RecycledFilesTest, TakesOverWhatAKilledProcessLeft) {
  ASSERT_OK(files_.WriteWhole("/db/000012.spare", std::string(kMiB, 'x')));
  recycled_files_.Adopt(kv::FileNumber{12});
  EXPECT_EQ(obsolete_->bytes_on_disk(), kMiB);
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{47}, kMiB}), IsOkAndHolds(true));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000047.tbl"}));
  EXPECT_EQ(obsolete_->bytes_on_disk(), 0u);
  recycled_files_.Adopt(kv::FileNumber{13});
  EXPECT_TRUE(recycled_files_.empty()) << "it is not there";
}

TEST_F(RecycledFilesTest, AFileOfAnEarlierOpenIsNotRecycled) {
  EXPECT_FALSE(recycled_files_.Keep(Add(8, kMiB))) << "an iterator of that open may map it";
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000008.tbl"})) << "the caller removes it";
  EXPECT_TRUE(recycled_files_.empty());
  EXPECT_TRUE(recycled_files_.Keep(Add(9, kMiB))) << "the first file of this open";
}

TEST_F(RecycledFilesTest, AFileThatAReaderHoldsIsRemovedAndTheNextOneTaken) {
  const auto held = Add(11, kMiB), other = Add(12, kMiB);
  auto reader = files_.OpenHeld("/db/000011.tbl");
  ASSERT_OK(reader.status());
  EXPECT_TRUE(recycled_files_.Keep(held));
  EXPECT_TRUE(recycled_files_.Keep(other));
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{47}, kMiB}), IsOkAndHolds(true));
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000047.tbl"})) << "of file 12";
  EXPECT_EQ(recycled_files_.reused(), 1u);
  EXPECT_EQ(recycled_files_.removed(), 1u);
  EXPECT_EQ(obsolete_->bytes_on_disk(), 0u);
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{48}, kMiB}), IsOkAndHolds(false));
  size_t got = 0;
  EXPECT_OK(reader->file->ReadAt(0, 0, nullptr, &got)) << "the reader goes on";
}

TEST_F(RecycledFilesTest, KeepsWhatCouldNotBeRemoved) {
  ASSERT_TRUE(recycled_files_.Keep(Add(12, 2 * kMiB)));
  files_.AddFault({.op = testing::FileOp::kRemove});
  EXPECT_FALSE(recycled_files_.RemoveOldest().ok());
  EXPECT_EQ(recycled_files_.bytes(), 2 * kMiB);
  EXPECT_OK(recycled_files_.RemoveAll());
  EXPECT_EQ(obsolete_->bytes_on_disk(), 0u);
}

TEST_F(RecycledFilesTest, OneThatCannotBeRemovedDoesNotKeepTheOthers) {
  for (uint64_t number = 11; number < 14; ++number) ASSERT_TRUE(recycled_files_.Keep(Add(number, kMiB)));
  files_.AddFault({.op = testing::FileOp::kRemove, .path_contains = "000011", .sticky = true});
  EXPECT_FALSE(recycled_files_.RemoveOldest().ok());
  EXPECT_OK(recycled_files_.RemoveOldest());
  EXPECT_OK(recycled_files_.RemoveOldest());
  EXPECT_EQ(Names(), (::mergedb::db::Names{"000011.spare"}));
  EXPECT_FALSE(recycled_files_.RemoveOldest().ok()) << "it is tried again";
  EXPECT_EQ(recycled_files_.bytes(), kMiB);
}

TEST_F(RecycledFilesTest, RemovesAllOfThem) {
  ASSERT_TRUE(recycled_files_.Keep(Add(11, 2 * kMiB)));
  ASSERT_TRUE(recycled_files_.Keep(Add(12, 8 * kMiB)));
  EXPECT_OK(recycled_files_.RemoveAll());
  EXPECT_TRUE(Names().empty());
  EXPECT_EQ(obsolete_->bytes_on_disk(), 0u);
}

TEST_F(RecycledFilesTest, AFailedRenameLeavesAnOrphanAtMost) {
  const auto obsolete = Add(11, 2 * kMiB);
  ASSERT_OK(files_.Remove("/db/000011.tbl"));
  EXPECT_FALSE(recycled_files_.Keep(obsolete)) << "it is not there";
  EXPECT_TRUE(recycled_files_.empty());
  ASSERT_TRUE(recycled_files_.Keep(Add(12, 2 * kMiB)));
  ASSERT_OK(files_.Remove("/db/000012.spare"));
  EXPECT_THAT(recycled_files_.Reuse({format::FileKind::kTable, kv::FileNumber{47}, 2 * kMiB}), IsOkAndHolds(false));
  EXPECT_TRUE(Names().empty());
}

}  // namespace
}  // namespace mergedb::db
