// Goal: the bytes of frames and segment heads are those of docs/formats/wal.md, and each is valid in one
// place only. Method: no files; golden bytes and single changes.
#include "wal/frame.h"

#include "base/bytes.h"
#include "gtest/gtest.h"

namespace mergedb::wal {
namespace {

TEST(Frame, StandsInOnePlaceOfOneEpochOnly) {
  char frame[kFrameHeaderBytes];
  StoreFrameHeader(frame, MakeFrameHeader(SaltCrc(42), 4096, 100, 4000, 7));
  EXPECT_TRUE(HeaderBelongs(frame, SaltCrc(42), 4096));
  EXPECT_FALSE(HeaderBelongs(frame, SaltCrc(42), 4104));
  EXPECT_FALSE(HeaderBelongs(frame, SaltCrc(43), 4096));
  const FrameHeader header = LoadFrameHeader(frame);
  EXPECT_EQ(header.length, 100u);
  EXPECT_EQ(header.undurable, 96u);
  EXPECT_EQ(header.sequence, 7u);
}

TEST(Frame, ADistanceToTheDurableMarkThatDoesNotFitSaysNothing) {
  const auto mark_of = [](uint64_t position, uint64_t durable) {
    char frame[kFrameHeaderBytes];
    StoreFrameHeader(frame, MakeFrameHeader(SaltCrc(1), position, 0, durable, 1));
    return DurableMark(LoadFrameHeader(frame), position);
  };
  constexpr uint64_t kDurable = uint64_t{1} << 40;
  EXPECT_EQ(mark_of(kDurable, kDurable), kDurable);
  EXPECT_EQ(mark_of(kDurable + kUndurableMax, kDurable), kDurable);
  EXPECT_EQ(mark_of(kDurable + kUndurableMax + 1, kDurable), 0u);
  EXPECT_EQ(mark_of(kDurable + (uint64_t{9} << 30), kDurable), 0u);
}

TEST(Frame, ADurableMarkBelowTheStreamsBeginIsItsBegin) { EXPECT_EQ(DurableMark({.undurable = 9000}, 8), 0u); }

TEST(Frame, AnyChangedBitOfTheCheckedHeaderIsNoticed) {
  char frame[kFrameHeaderBytes];
  StoreFrameHeader(frame, MakeFrameHeader(SaltCrc(42), 8, 100, 0, 7));
  for (size_t bit = 4 * 8; bit < kFrameHeaderBytes * 8; ++bit) {
    frame[bit / 8] = static_cast<char>(frame[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(HeaderBelongs(frame, SaltCrc(42), 8)) << "bit " << bit;
    frame[bit / 8] = static_cast<char>(frame[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(Frame, BytesAreAsSpecified) {
  char frame[32] = {};
  std::memcpy(frame + kFrameHeaderBytes, "hello", 5);
  StoreFrameHeader(frame, MakeFrameHeader(SaltCrc(42), 64, 5, 56, 9));
  base::StoreFixed32(frame, FrameCrc(SaltCrc(42), frame, kFrameHeaderBytes + 5));
  EXPECT_EQ(FrameBytes(5), 32u);
  EXPECT_EQ(base::ToHex({frame, 32}), "5082c955b5cd40180500000008000000090000000000000068656c6c6f000000");
}

TEST(SegmentHead, RoundTrips) {
  char block[kBlockBytes];
  StoreSegmentHead(block,
                   {.database_id = 1, .epoch = 2, .salt_crc = 3, .generation = 4, .start = 5000, .capacity = 8192});
  const auto head = LoadSegmentHead({block, sizeof block});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->database_id, 1u);
  EXPECT_EQ(head->epoch, 2u);
  EXPECT_EQ(head->salt_crc, 3u);
  EXPECT_EQ(head->generation, 4u);
  EXPECT_EQ(head->start, 5000u);
  EXPECT_EQ(head->base(), 4096u);
  EXPECT_EQ(head->limit(), 4096u + 8192u);
  EXPECT_EQ(base::ToHex({block, 64}),
            "4d47444253454731010000000300000001000000000000000200000000000000"
            "04000000000000008813000000000000002000000000000000000000d360d595");
}

TEST(SegmentHead, SaysThatItsFileIsAppended) {
  char block[kBlockBytes];
  StoreSegmentHead(block, {.database_id = 1, .generation = 4, .capacity = 8192, .is_appended = true});
  const auto head = LoadSegmentHead({block, sizeof block});
  ASSERT_TRUE(head);
  EXPECT_TRUE(head->is_appended);
  EXPECT_EQ(base::ToHex({block + 56, 8}), "010000003e8da816");
  base::StoreFixed32(block + 56, 4);  // of a newer version
  base::StoreFixed32(block + 60, base::Crc32c({block, 60}));
  EXPECT_TRUE(LoadSegmentHead({block, sizeof block}).status().IsNotSupported());
}

TEST(SegmentHead, HoldsTheMarkAtItsStart) {
  char block[kBlockBytes];
  const SegmentHead head{.generation = 4, .start = 80, .capacity = 8192, .mark = {{.chain = 7, .sequence = 9}}};
  StoreSegmentHead(block, head);
  EXPECT_EQ(base::ToHex({block + 56, 28}), "020000000635138307000000000000000900000000000000dbe33e62");
  const auto found = LoadSegmentHead({block, sizeof block});
  ASSERT_TRUE(found && found->mark);
  EXPECT_EQ(found->mark->position, 80u);
  EXPECT_EQ(found->mark->chain, 7u);
  EXPECT_EQ(found->mark->sequence, 9u);
  for (size_t bit = 0; bit < size_t{84} * 8; ++bit) {
    block[bit / 8] = static_cast<char>(block[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(LoadSegmentHead({block, sizeof block})) << "bit " << bit;
    block[bit / 8] = static_cast<char>(block[bit / 8] ^ 1 << bit % 8);
  }
  EXPECT_TRUE(LoadSegmentHead({block, 83}).status().IsCorruption());
  StoreSegmentHead(block, {.capacity = 8192, .mark = {{.sequence = kv::kSequenceMax + 1}}});
  EXPECT_TRUE(LoadSegmentHead({block, sizeof block}).status().IsCorruption());
}

TEST(SegmentHead, OfAVersionToComeIsNotSupported) {
  char block[kBlockBytes];
  StoreSegmentHead(block, {.database_id = 1, .generation = 4, .capacity = 8192});
  base::StoreFixed32(block + 8, 2);
  base::StoreFixed32(block + 60, base::Crc32c({block, 60}));
  const Status status = LoadSegmentHead({block, sizeof block}).status();
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_EQ(status.message(), "segment version 2");
}

TEST(SegmentHead, AnyChangedBitIsNoticed) {
  char block[kBlockBytes];
  StoreSegmentHead(block,
                   {.database_id = 1, .epoch = 2, .salt_crc = 3, .generation = 4, .start = 5000, .capacity = 8192});
  for (size_t bit = 0; bit < 64 * 8; ++bit) {
    block[bit / 8] = static_cast<char>(block[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(LoadSegmentHead({block, sizeof block})) << "bit " << bit;
    block[bit / 8] = static_cast<char>(block[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(SegmentHead, CutShortIsCorruption) {
  char block[kBlockBytes];
  StoreSegmentHead(block, {.capacity = 4096});
  EXPECT_TRUE(LoadSegmentHead({block, 63}).status().IsCorruption());
}

TEST(SegmentHead, RefusesImpossibleCapacities) {
  char block[kBlockBytes];
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{100}, ~uint64_t{0} - 4095}) {
    StoreSegmentHead(block, {.capacity = capacity});
    EXPECT_TRUE(LoadSegmentHead({block, sizeof block}).status().IsCorruption());
  }
}

}  // namespace
}  // namespace mergedb::wal
