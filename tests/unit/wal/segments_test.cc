// Goal: space is reserved to the byte, a write ends where its segment ends, and a segment is released only when replay
// needs none of its bytes. Method: segments of 8 KiB and positions around their ends. wal_test.cc has the same files
// under a whole WAL, with crashes and errors.
#include "wal/segments.h"

#include <gtest/gtest.h>

#include "testing/failing_allocation.h"
#include "tests/unit/wal/wal_fixture.h"

namespace mergedb::wal {
namespace {

using testing::StatusIs;

constexpr uint64_t kCapacity = 8192;

class SegmentsTest : public ::testing::Test {
 protected:
  SegmentsTest() { EXPECT_OK(files_.CreateDirectory(kDirectory)); }

  std::unique_ptr<Segments> Make(size_t segment_bytes = kCapacity, size_t free_bytes_min = 0) {
    Options options;
    options.file_system = &files_;
    options.directory = kDirectory;
    options.database_id = kDatabase;
    options.salt = 42;
    options.segment_bytes = segment_bytes;
    options.allocate_number = [this] { return kv::FileNumber{++last_number_}; };
    return std::make_unique<Segments>(options, false, free_bytes_min, &counters_);
  }
  // Segments with `count` segments that are full of bytes.
  std::unique_ptr<Segments> MakeFull(size_t count, size_t free_bytes_min = 0) {
    auto segments = Make(kCapacity, free_bytes_min);
    const std::string bytes(kCapacity, 'w');
    for (uint64_t i = 0; i < count; ++i) EXPECT_OK(segments->Write(i * kCapacity, bytes, i * kCapacity).status());
    return segments;
  }
  SegmentHead HeadOf(uint64_t number) {
    const auto bytes = files_.ReadWhole(format::SegmentPath(kDirectory, kv::FileNumber{number}));
    EXPECT_OK(bytes.status());
    const auto head = LoadSegmentHead(*bytes);
    EXPECT_OK(head.status());
    return head ? *head : SegmentHead{};
  }

  testing::FaultFileSystem files_;
  Counters counters_;
  uint64_t last_number_ = 0;
};

TEST_F(SegmentsTest, HoldWholeBlocks) {
  EXPECT_EQ(Make(0)->capacity_max(), 4096u);
  EXPECT_EQ(Make(4096)->capacity_max(), 4096u);
  EXPECT_EQ(Make(4097)->capacity_max(), 8192u);
}

TEST_F(SegmentsTest, ReserveMakesAFileForEachCapacityThatIsBegun) {
  const auto segments = Make();
  const auto files_for = [&](uint64_t position) {
    EXPECT_OK(segments->Reserve(position));
    return files_.Files().size();
  };
  EXPECT_EQ(files_for(0), 0u);
  EXPECT_EQ(files_for(1), 1u);
  EXPECT_EQ(files_for(kCapacity), 1u);
  EXPECT_EQ(files_for(kCapacity + 1), 2u);
  EXPECT_EQ(files_for(5), 2u);
  EXPECT_EQ(segments->reserved_end(), 2 * kCapacity);
  EXPECT_EQ(segments->bytes_on_disk(), 2 * (kCapacity + 4096));
}

TEST_F(SegmentsTest, AWriteEndsWhereItsSegmentEnds) {
  const auto segments = Make();
  EXPECT_EQ(*segments->Write(0, std::string(8000, 'a'), 0), 8000u);
  EXPECT_EQ(*segments->Write(8000, std::string(500, 'b'), 8000), 192u);
  EXPECT_EQ(*segments->Write(8192, std::string(308, 'b'), 8192), 308u);
  ASSERT_OK_AND_ASSIGN(const std::string first, files_.ReadWhole("/db/000001.seg"));
  EXPECT_EQ(first.substr(4096), std::string(8000, 'a') + std::string(192, 'b'));
  ASSERT_OK_AND_ASSIGN(const std::string second, files_.ReadWhole("/db/000002.seg"));
  EXPECT_EQ(second.substr(4096, 309), std::string(308, 'b') + '\0');
  EXPECT_EQ(HeadOf(2).start, 8192u);
  EXPECT_EQ(HeadOf(2).generation, 2u);
}

TEST_F(SegmentsTest, ListsTheSegmentsThatReachBeyondAPosition) {
  const auto segments = MakeFull(3);
  EXPECT_EQ(segments->ListFrom(0).size(), 3u);
  EXPECT_EQ(segments->ListFrom(kCapacity - 1).size(), 3u);
  EXPECT_EQ(segments->ListFrom(kCapacity).size(), 2u);
  EXPECT_EQ(segments->ListFrom(2 * kCapacity).size(), 1u);
  EXPECT_EQ(segments->ListFrom(3 * kCapacity).size(), 1u) << "the last one, which takes the next bytes";
  EXPECT_EQ(segments->ListFrom(kNothing).size(), 0u) << "no more bytes come";
}

TEST_F(SegmentsTest, ReleasesASegmentThatEndsAtThePosition) {
  const auto segments = MakeFull(3);
  EXPECT_EQ(segments->reserved_end(), 3 * kCapacity);
  segments->Release(kCapacity - 1);
  EXPECT_EQ(segments->reserved_end(), 3 * kCapacity);
  segments->Release(kCapacity);
  EXPECT_EQ(segments->reserved_end(), 4 * kCapacity) << "it takes bytes again";
  segments->Release(UINT64_MAX);
  EXPECT_EQ(segments->reserved_end(), 5 * kCapacity) << "the last one stays";
  EXPECT_EQ(files_.Files().size(), 3u);
}

TEST_F(SegmentsTest, KeepsEightReleasedOnesOrAsManyAsTheBufferNeeds) {
  const auto kept = [&](size_t count, size_t free_bytes_min) {
    const size_t before = files_.Files().size();
    MakeFull(count, free_bytes_min)->Release(UINT64_MAX);
    return files_.Files().size() - before - 1;
  };
  EXPECT_EQ(kept(9, 0), 8u);
  EXPECT_EQ(kept(10, 0), 8u);
  EXPECT_EQ(kept(12, 9 * kCapacity), 10u) << "one more than the buffer fills";
}

TEST_F(SegmentsTest, AFailedWriteGoesOnInASegmentThatBeginsThere) {
  const auto segments = Make();
  ASSERT_OK(segments->Write(0, std::string(5000, 'a'), 0).status());
  files_.AddFault({.op = testing::FileOp::kWrite});
  EXPECT_THAT(segments->Write(5000, std::string(100, 'b'), 5000), StatusIs(Code::kIOError));
  EXPECT_EQ(segments->reserved_end(), 4096u) << "the block of position 5000 is written again";
  EXPECT_EQ(*segments->Write(4096, std::string(1004, 'c'), 5000), 1004u);
  EXPECT_EQ(HeadOf(2).start, 5000u);
  EXPECT_EQ(HeadOf(2).generation, 2u);
  EXPECT_EQ(segments->ListFrom(5000).size(), 1u);
  EXPECT_EQ(segments->ListFrom(4999).size(), 2u);
}

TEST_F(SegmentsTest, AWriteThatFailsAtTheStartOfASegmentGivesItUp) {
  const auto segments = MakeFull(1);
  ASSERT_OK(segments->Prepare(kCapacity, kCapacity));
  files_.AddFault({.op = testing::FileOp::kWrite});
  EXPECT_THAT(segments->Write(kCapacity, "b", kCapacity), StatusIs(Code::kIOError));
  EXPECT_EQ(segments->ListFrom(0).size(), 1u) << "it holds nothing";
  EXPECT_EQ(*segments->Write(kCapacity, "b", kCapacity), 1u);
  EXPECT_EQ(HeadOf(3).start, kCapacity);
}

// A small database has small files.
TEST_F(SegmentsTest, TheFirstIsSmallAndEachNewOneTwiceAsLarge) {
  const auto segments = Make(size_t{1} << 20);
  std::vector<uint64_t> ends;
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(segments->Reserve(segments->reserved_end() + 1));
    ends.push_back(segments->reserved_end() >> 10);
  }
  EXPECT_EQ(ends, (std::vector<uint64_t>{64, 192, 448, 960, 1984, 3008}));
  EXPECT_EQ(segments->bytes_on_disk(), (3008 << 10) + 6 * 4096);
}

TEST_F(SegmentsTest, ARestartUsesTheNewestSegmentAgainFromTheMarkOn) {
  const auto segments = MakeFull(2);
  const Mark mark{.position = 100'008, .chain = 5, .sequence = 77};
  segments->Restart(mark);
  segments->Release(mark.position);
  EXPECT_EQ(HeadOf(2).start, mark.position);
  EXPECT_EQ(HeadOf(2).generation, 3u);
  EXPECT_EQ(HeadOf(2).mark->chain, 5u);
  EXPECT_EQ(segments->reserved_end(), HeadOf(2).limit() + kCapacity) << "the first one is free";
  const uint64_t block = 98'304;
  EXPECT_EQ(*segments->Write(block, std::string(3000, 'r'), mark.position), 3000u);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, files_.ReadWhole("/db/000002.seg"));
  EXPECT_EQ(bytes.substr(4096, 3001), std::string(3000, 'r') + 'w');
  EXPECT_EQ(files_.Files().size(), 2u);
}

TEST_F(SegmentsTest, ARestartThatFailsGoesOnInANewSegment) {
  const auto segments = MakeFull(1);
  files_.AddFault({.op = testing::FileOp::kWrite});
  const Mark mark{.position = 100'008, .chain = 5, .sequence = 77};
  segments->Restart(mark);
  ASSERT_OK(segments->Write(mark.position, "r", mark.position).status());
  EXPECT_EQ(HeadOf(2).start, mark.position);
  EXPECT_EQ(HeadOf(2).mark->sequence, 77u);
}

TEST_F(SegmentsTest, GivesAllFilesBackThatNoEditLists) {
  const auto segments = MakeFull(3);
  segments->Release(2 * kCapacity);
  EXPECT_EQ(segments->ListFrom(2 * kCapacity).size(), 1u);
  segments->Release(2 * kCapacity);
  segments->Restart({.position = 3 * kCapacity});
  segments->GiveBack();
  EXPECT_EQ(files_.Files(), (std::vector<std::string>{"/db/000003.seg"})) << "the durable edit lists it";
  ASSERT_OK(segments->Prepare(3 * kCapacity, 3 * kCapacity));
  EXPECT_EQ(segments->ListFrom(3 * kCapacity), (std::vector<kv::FileNumber>{kv::FileNumber{4}}));
  segments->Release(3 * kCapacity);
  EXPECT_EQ(files_.Files(), (std::vector<std::string>{"/db/000004.seg"}));
}

TEST_F(SegmentsTest, AfterTheLastWriteOnlyListedFilesStay) {
  const auto segments = MakeFull(3);
  ASSERT_OK(segments->Reserve(5 * kCapacity));
  EXPECT_EQ(segments->ListFrom(kCapacity).size(), 2u);
  segments->RemoveUnneeded();
  EXPECT_EQ(files_.Files(), (std::vector<std::string>{"/db/000002.seg", "/db/000003.seg"}));
  EXPECT_EQ(segments->ListFrom(kNothing).size(), 0u);
  segments->RemoveUnneeded();
  EXPECT_TRUE(files_.Files().empty());
}

// Of an earlier epoch: segments that were used and are not larger than new ones. Others are removed.
TEST_F(SegmentsTest, AdoptsUsedFilesUpToItsSize) {
  {
    const auto earlier = MakeFull(2);
    ASSERT_OK(earlier->Reserve(3 * kCapacity));
  }
  const auto adopts = [&](size_t segment_bytes, const std::vector<kv::FileNumber>& numbers) {
    const auto segments = Make(segment_bytes);
    EXPECT_OK(segments->Adopt(numbers));
    return segments->reserved_end() / kCapacity;
  };
  EXPECT_EQ(adopts(kCapacity, {kv::FileNumber{1}, kv::FileNumber{2}, kv::FileNumber{3}}), 2u);
  EXPECT_EQ(files_.Files(), (std::vector<std::string>{"/db/000001.seg", "/db/000002.seg"})) << "3 was never used";
  EXPECT_EQ(adopts(2 * kCapacity, {kv::FileNumber{1}}), 1u);
  EXPECT_EQ(adopts(kCapacity / 2, {kv::FileNumber{1}}), 0u);
  EXPECT_EQ(files_.Files(), (std::vector<std::string>{"/db/000002.seg"}));
  EXPECT_EQ(adopts(kCapacity, {kv::FileNumber{9}}), 0u) << "there is no such file";
}

// If the memory runs out in the thread that releases, other threads look at the lists until the process has ended.
TEST_F(SegmentsTest, ListsHaveNoNullPointerAfterALackOfMemory) {
  const auto fail_each = [&](auto act) {
    for (int64_t n = 1;; ++n) {
      auto segments = MakeFull(6, 3 * kCapacity);
      (void)segments->ListFrom(4 * kCapacity);
      (void)segments->ListFrom(2 * kCapacity);
      try {
        testing::FailAllocation(n);
        act(*segments);
      } catch (const std::bad_alloc&) {}
      const bool has_failed = testing::StopFailing();
      EXPECT_GE(segments->numbers().size(), 1u);
      EXPECT_GT(segments->bytes_on_disk(), 0u);
      EXPECT_OK(segments->Sync());
      if (!has_failed) return;
    }
  };
  fail_each([](Segments& segments) {
    segments.Release(4 * kCapacity);
    (void)segments.ListFrom(5 * kCapacity);
    segments.Release(5 * kCapacity);
  });
  fail_each([](Segments& segments) { segments.RemoveUnneeded(); });
}

}  // namespace
}  // namespace mergedb::wal
