// Goal: without a MANIFEST, the chain begins with the last range of positions that the segments of the newest epoch
// hold without a gap. Method: segments and frames made by hand. replay_test.cc salvages whole WALs from an origin.
#include <gtest/gtest.h>

#include "tests/unit/wal/wal_frames.h"

namespace mergedb::wal {
namespace {

class OriginTest : public ::testing::Test {
 protected:
  OriginTest() { EXPECT_OK(files_.CreateDirectory(kDirectory)); }

  struct Segment {
    uint64_t number = 7;
    uint64_t epoch = 1;
    uint64_t generation = 1;
    uint64_t start = 0;
    uint64_t capacity = 8192;
    uint64_t salt = 42;
    std::optional<Mark> mark = {};
  };
  // `bytes` are those of the stream from the segment's start on.
  void Write(const Segment& segment, const std::string& bytes = "") {
    const SegmentHead head{.database_id = kDatabase,
                           .epoch = segment.epoch,
                           .salt_crc = SaltCrc(segment.salt),
                           .generation = segment.generation,
                           .start = segment.start,
                           .capacity = segment.capacity,
                           .mark = segment.mark};
    std::string file(kBlockBytes + segment.capacity, '\0');
    StoreSegmentHead(file.data(), head);
    file.replace(kBlockBytes + segment.start - head.base(), bytes.size(), bytes);
    ASSERT_OK(files_.WriteWhole(format::SegmentPath(kDirectory, kv::FileNumber{segment.number}), file));
  }
  std::optional<Origin> Find() {
    auto found = FindOrigin(&files_, kDirectory);
    EXPECT_OK(found.status());
    return found ? *found : std::nullopt;
  }
  uint64_t FoundPosition() {
    const auto origin = Find();
    return origin ? origin->start.position : UINT64_MAX;
  }

  testing::FaultFileSystem files_;
};

TEST_F(OriginTest, OfAWholeEpochIsItsBegin) {
  Write({.number = 9, .generation = 1, .start = 0});
  Write({.number = 4, .generation = 2, .start = 8192});
  const auto origin = Find();
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(origin->database_id, kDatabase);
  EXPECT_EQ(origin->epoch, 1u);
  EXPECT_EQ(origin->start.position, 0u);
  EXPECT_EQ(origin->start.chain, kSaltCrc);
  EXPECT_EQ(origin->start.sequence, 1u);
  EXPECT_EQ(origin->unproved_bytes, 0u);
}

// The segment begins within a frame. The first header in it proves the frame behind it.
TEST_F(OriginTest, BehindAGapIsTheEndOfTheFirstFrame) {
  FrameStream stream({.position = 16'384 + 40, .chain = 5, .sequence = 300});
  const std::string frames = stream.Add(100);
  const Mark second = stream.end();
  Write({.number = 4, .generation = 1, .start = 0});
  Write({.number = 9, .generation = 3, .start = 16'384}, std::string(40, 'x') + frames + stream.Add(50));
  const auto origin = Find();
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(origin->start.position, second.position);
  EXPECT_EQ(origin->start.chain, second.chain);
  EXPECT_EQ(origin->start.sequence, 301u);
  EXPECT_EQ(origin->unproved_bytes, 40 + FrameBytes(100));
}

TEST_F(OriginTest, SegmentsThatTouchOrOverlapHaveNoGap) {
  Write({.number = 4, .generation = 1, .start = 0});
  Write({.number = 5, .generation = 2, .start = 5000});  // a write to the first segment failed; it ends at 12,288
  Write({.number = 6, .generation = 3, .start = 12'288});
  EXPECT_EQ(FoundPosition(), 0u);
  FrameStream stream({.position = 20'488, .chain = 5, .sequence = 300});
  Write({.number = 6, .generation = 3, .start = 12'296, .capacity = 4096});
  EXPECT_EQ(FoundPosition(), UINT64_MAX) << "eight bytes are missing, and no frame follows";
}

// The newest mark says where the chain begins: tables hold all before it, so no frame need be found.
TEST_F(OriginTest, IsTheNewestMark) {
  Write({.number = 4, .generation = 5, .start = 80, .mark = {{.chain = 7, .sequence = 9}}});
  Write({.number = 5, .generation = 6, .start = 5000, .mark = {{.chain = 8, .sequence = 90}}});
  Write({.number = 6, .generation = 7, .start = 8192});
  const auto origin = Find();
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(origin->start.position, 5000u);
  EXPECT_EQ(origin->start.chain, 8u);
  EXPECT_EQ(origin->start.sequence, 90u);
  EXPECT_EQ(origin->unproved_bytes, 0u);
}

TEST_F(OriginTest, AMarkBelowAGapSaysNothing) {
  Write({.number = 4, .generation = 5, .start = 80, .mark = {{.chain = 7, .sequence = 9}}});
  FrameStream stream({.position = 16'384, .chain = 5, .sequence = 300});
  Write({.number = 6, .generation = 7, .start = 16'384}, stream.Add(100));
  EXPECT_EQ(FoundPosition(), 16'384 + FrameBytes(100)) << "the segment between them is lost";
}

TEST_F(OriginTest, OnlySegmentsOfTheNewestEpochCount) {
  FrameStream stream({.position = 8192, .chain = 5, .sequence = 300});
  const std::string frame = stream.Add(100);
  Write({.number = 4, .epoch = 1, .start = 0});
  Write({.number = 5, .epoch = 2, .generation = 2, .start = 8192}, frame);
  EXPECT_EQ(FoundPosition(), 8192 + frame.size());
  Write({.number = 4, .epoch = 2, .start = 0});
  EXPECT_EQ(FoundPosition(), 0u);
}

TEST_F(OriginTest, ASegmentThatWasNeverUsedIsNone) {
  EXPECT_EQ(Find(), std::nullopt);
  Write({.number = 4, .epoch = 9, .generation = 0});
  EXPECT_EQ(Find(), std::nullopt);
  Write({.number = 5, .epoch = 2});
  EXPECT_EQ(Find()->epoch, 2u);
}

TEST_F(OriginTest, AHeaderOfAnotherSaltOrPlaceIsNoFrame) {
  FrameStream here({.position = 8192, .chain = 5, .sequence = 300});
  FrameStream elsewhere({.position = 8200, .chain = 5, .sequence = 300});
  Write({.start = 8192}, here.Add(100, SaltCrc(43)));
  EXPECT_EQ(FoundPosition(), UINT64_MAX);
  Write({.start = 8192}, elsewhere.Add(100));
  EXPECT_EQ(FoundPosition(), UINT64_MAX);
}

// Their checks are correct, so only the limits tell that no frame has such a header.
TEST_F(OriginTest, AnImpossibleHeaderIsNoFrame) {
  const auto with = [&](uint32_t length, kv::Sequence sequence) {
    std::string header(kFrameHeaderBytes, '\0');
    FrameHeader fields = MakeFrameHeader(kSaltCrc, 8192, length, 8192, sequence);
    fields.crc = 9;
    StoreFrameHeader(header.data(), fields);
    Write({.start = 8192}, header);
    return FoundPosition();
  };
  EXPECT_EQ(with(100, kv::kSequenceMax), 8192 + FrameBytes(100));
  EXPECT_EQ(with(100, kv::kSequenceMax + 1), UINT64_MAX);
  EXPECT_EQ(with(kPayloadBytesMax, 1), 8192 + FrameBytes(kPayloadBytesMax));
  EXPECT_EQ(with(kPayloadBytesMax + 1, 1), UINT64_MAX);
}

}  // namespace
}  // namespace mergedb::wal
