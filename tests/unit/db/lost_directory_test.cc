// Goal: a file that is moved to the lost directory has a name of its own there, and stays there whatever
// fails.
#include "db/state/lost_directory.h"

#include <gtest/gtest.h>

#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using testing::CrashMode;
using testing::CrashModel;
using testing::IsOkAndHolds;
using testing::StatusIs;

class AsideTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    ASSERT_OK(files_.SyncDirectory("/"));
  }
  testing::FaultFileSystem files_;
};

TEST_F(AsideTest, KeepsNamesApart) {
  for (const char* content : {"first", "second", "third"}) {
    ASSERT_OK(files_.WriteWhole("/d/000012.tbl", content));
    ASSERT_OK_AND_ASSIGN(LostDirectory aside, LostDirectory::Look(&files_, "/d"));
    ASSERT_OK(aside.Create());
    ASSERT_OK(aside.Move("000012.tbl"));
    ASSERT_OK(aside.Sync());
  }
  EXPECT_THAT(files_.ReadWhole("/d/lost/000012.tbl"), IsOkAndHolds("first"));
  EXPECT_THAT(files_.ReadWhole("/d/lost/000012.tbl.1"), IsOkAndHolds("second"));
  EXPECT_THAT(files_.ReadWhole("/d/lost/000012.tbl.2"), IsOkAndHolds("third"));
  ASSERT_OK_AND_ASSIGN(const LostDirectory aside, LostDirectory::Look(&files_, "/d"));
  EXPECT_EQ(aside.largest(), kv::FileNumber{12});
  EXPECT_EQ(aside.TargetOf("000012.tbl"), "lost/000012.tbl.3");
}

TEST_F(AsideTest, RefusesAFileInItsPlace) {
  ASSERT_OK(files_.WriteWhole("/d/lost", "somebody's"));
  EXPECT_THAT(LostDirectory::Look(&files_, "/d"), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(files_.ReadWhole("/d/lost"), IsOkAndHolds("somebody's"));
}

TEST_F(AsideTest, APowerCutLosesNothing) {
  ASSERT_OK(files_.WriteWhole("/d/000012.tbl", "bytes"));
  ASSERT_OK_AND_ASSIGN(LostDirectory aside, LostDirectory::Look(&files_, "/d"));
  std::vector<std::unique_ptr<testing::FaultFileSystem>> images;
  files_.SetOpHook([&](uint64_t op, const char*, const std::string&) {
    for (const CrashMode mode : testing::kPowerCutModes) {
      for (const CrashModel model : testing::kCrashModels) images.push_back(files_.Crash(mode, model, op));
    }
  });
  ASSERT_OK(aside.Create());
  ASSERT_OK(aside.Move("000012.tbl"));
  ASSERT_OK(aside.Sync());
  files_.SetOpHook(nullptr);
  ASSERT_GT(images.size(), 12u);
  for (const auto& image : images) {
    const auto here = image->ReadWhole("/d/000012.tbl"), there = image->ReadWhole("/d/lost/000012.tbl");
    EXPECT_TRUE((here && *here == "bytes") || (there && *there == "bytes"));
  }
}

}  // namespace
}  // namespace mergedb::db
