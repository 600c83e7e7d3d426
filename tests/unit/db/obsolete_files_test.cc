// Goal: a table becomes obsolete once, when its last holder releases it.
#include "db/state/obsolete_files.h"

#include <gtest/gtest.h>

#include "testing/failing_allocation.h"

namespace mergedb::db {
namespace {

format::FileMetaPtr Meta(uint64_t number, uint64_t bytes) {
  auto meta = std::make_shared<format::FileMeta>();
  meta->number = kv::FileNumber{number};
  meta->bytes = bytes;
  return meta;
}

TEST(ObsoleteFiles, RemovesWhatNobodyHolds) {
  auto obsolete = std::make_shared<ObsoleteFiles>();
  auto a = obsolete->Track(Meta(1, 100));
  auto same = a;
  auto b = obsolete->Track(Meta(2, 200));
  EXPECT_EQ(obsolete->bytes_on_disk(), 300u);
  a = nullptr;
  EXPECT_FALSE(obsolete->HasAny());
  same = nullptr;
  EXPECT_TRUE(obsolete->HasAny());
  const auto files = obsolete->Take();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].number, kv::FileNumber{1});
  EXPECT_TRUE(obsolete->Take().empty());
  EXPECT_EQ(obsolete->bytes_on_disk(), 300u);  // until it is removed
  EXPECT_EQ(obsolete->unpurged_bytes(), 100u);
  obsolete->NotePurged(files[0]);
  EXPECT_EQ(obsolete->unpurged_bytes(), 0u) << "recycled";
  EXPECT_EQ(obsolete->bytes_on_disk(), 300u);
  obsolete->Removed(files[0]);
  EXPECT_EQ(obsolete->bytes_on_disk(), 200u);
}

TEST(ObsoleteFiles, KeepsWhatCouldNotBeRemoved) {
  auto obsolete = std::make_shared<ObsoleteFiles>();
  obsolete->Track(Meta(1, 100));
  obsolete->PutBack(obsolete->Take().at(0));
  EXPECT_EQ(obsolete->Take().at(0).bytes, 100u);
}

TEST(ObsoleteFiles, OutlivesTheDatabase) {
  auto obsolete = std::make_shared<ObsoleteFiles>();
  auto held = obsolete->Track(Meta(1, 100));
  obsolete = nullptr;
  held = nullptr;
}

TEST(ObsoleteFiles, TheLastReleaseNeedsNoMemory) {
  auto obsolete = std::make_shared<ObsoleteFiles>();
  auto held = obsolete->Track(Meta(1, 100));
  testing::FailAllocation(1);
  held = nullptr;
  EXPECT_FALSE(testing::StopFailing());
  EXPECT_EQ(obsolete->Take().at(0).bytes, 100u);
}

}  // namespace
}  // namespace mergedb::db
