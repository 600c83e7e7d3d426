// Goal: new files go through the page cache if the files of the database have at most half of the free memory.
#include "db/state/page_cache_room.h"

#include <gtest/gtest.h>

#include "testing/fault_file_system.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

TEST(PageCacheRoom, IsForAllFilesOnceMoreAndForNewOnes) {
  const auto has_room = [](uint64_t free_bytes, uint64_t present, uint64_t bytes) {
    testing::FaultFileSystem files;
    files.SetFreeMemory(free_bytes);
    return PageCacheRoom(&files).HasRoom(present, bytes);
  };
  EXPECT_TRUE(has_room(429 * kMebibyte, 300 * kMebibyte, kMebibyte));
  EXPECT_FALSE(has_room(429 * kMebibyte - 1, 300 * kMebibyte, kMebibyte));
  EXPECT_FALSE(has_room(429 * kMebibyte, 0, 302 * kMebibyte)) << "one large file";
  EXPECT_FALSE(has_room(0, 0, 0)) << "not known";
}

TEST(PageCacheRoom, IsLookedAtAfter64MebibytesOfNewFiles) {
  testing::FaultFileSystem files;
  PageCacheRoom room(&files);
  for (const bool has_room : {true, false, true}) {
    files.SetFreeMemory(has_room ? 1'000 * kMebibyte : 1);
    EXPECT_EQ(room.HasRoom(0, kMebibyte), has_room);
    files.SetFreeMemory(has_room ? 1 : 1'000 * kMebibyte);
    for (int i = 0; i < 63; ++i) EXPECT_EQ(room.HasRoom(0, kMebibyte), has_room);
  }
}

}  // namespace
}  // namespace mergedb::db
