// Goal: a frame of this epoch away from its position is found up to the largest distance, and other bytes are not taken
// for one. Method: frames made by hand, moved by each distance around the limits, and random bytes.
#include "wal/displaced_frames.h"

#include <gtest/gtest.h>

#include "tests/unit/wal/wal_frames.h"

namespace mergedb::wal {
namespace {

// Replay reached this mark: the frames before it are gone.
constexpr Mark MarkAt(uint64_t position) { return {.position = position, .chain = 0x1234, .sequence = 100}; }
constexpr Mark kEnd = MarkAt(uint64_t{1} << 20);

std::string Junk(size_t bytes, uint64_t seed = 1) { return PayloadOf(seed, bytes + 8).substr(8, bytes); }

// Two frames behind `end` were moved by `distance` bytes towards larger positions.
bool FindsFramesMovedForward(const Mark& end, uint64_t distance) {
  FrameStream stream(end);
  const std::string bytes = std::string(distance, '\0') + stream.AddFrames(2, 100);
  return HoldsDisplacedFrame(bytes, end.position, end, kSaltCrc);
}

// Two frames behind `distance` missing bytes moved to `end`.
bool FindsFramesMovedBack(const Mark& end, uint64_t distance) {
  FrameStream stream({.position = end.position + distance, .chain = 7, .sequence = end.sequence + 1});
  return HoldsDisplacedFrame(stream.AddFrames(2, 100), end.position, end, kSaltCrc);
}

TEST(DisplacedFrame, IsFoundUpToTheLargestDistance) {
  for (const uint64_t distance : {uint64_t{1}, uint64_t{7}, uint64_t{8}, uint64_t{300}, kDisplacedBytesMax}) {
    EXPECT_TRUE(FindsFramesMovedForward(kEnd, distance)) << distance;
  }
  EXPECT_FALSE(FindsFramesMovedForward(kEnd, kDisplacedBytesMax + 1));
  for (const uint64_t distance : {uint64_t{8}, uint64_t{304}, kDisplacedBytesMax}) {
    EXPECT_TRUE(FindsFramesMovedBack(kEnd, distance)) << distance;
  }
  EXPECT_FALSE(FindsFramesMovedBack(kEnd, kDisplacedBytesMax + 8));
}

// The high half of the position is tried, the low half is calculated from the check.
TEST(DisplacedFrame, IsFoundAcrossAMultipleOf4Gibibytes) {
  constexpr uint64_t kFourGibi = uint64_t{1} << 32;
  EXPECT_TRUE(FindsFramesMovedForward(MarkAt(kFourGibi - 8), 64));
  EXPECT_TRUE(FindsFramesMovedBack(MarkAt(kFourGibi - 8), 64));
  EXPECT_TRUE(FindsFramesMovedForward(MarkAt(5 * kFourGibi), 64));
  EXPECT_TRUE(FindsFramesMovedForward(MarkAt(0), 64)) << "the stream begins here";
}

TEST(DisplacedFrame, IsConfirmedByTheNextFrameOrByTheChain) {
  FrameStream stream(kEnd);
  const std::string first = stream.Add(100), second = stream.Add(100), third = stream.Add(100);
  const auto finds = [](const std::string& frames) {
    return HoldsDisplacedFrame(std::string(16, '\0') + frames, kEnd.position, kEnd, kSaltCrc);
  };
  EXPECT_TRUE(finds(first)) << "it follows the end of the chain";
  EXPECT_FALSE(finds(first.substr(0, 120))) << "cut short, and nothing follows";
  EXPECT_FALSE(finds(second)) << "its predecessor is lost";
  EXPECT_TRUE(finds(second + third));
  EXPECT_TRUE(finds(second + third.substr(0, kFrameHeaderBytes))) << "the header of the next one is enough";
  EXPECT_FALSE(finds(second + third.substr(0, kFrameHeaderBytes - 1)));
  EXPECT_FALSE(finds(second + Junk(200)));
}

TEST(DisplacedFrame, IsOfThisEpochAndNotBeforeTheEnd) {
  FrameStream stream(kEnd);
  const std::string bytes = std::string(16, '\0') + stream.AddFrames(2, 100);
  EXPECT_FALSE(HoldsDisplacedFrame(bytes, kEnd.position, kEnd, SaltCrc(43))) << "another salt";
  Mark end = kEnd;
  EXPECT_TRUE(HoldsDisplacedFrame(bytes, kEnd.position, end, kSaltCrc));
  end.sequence = 101;
  EXPECT_FALSE(HoldsDisplacedFrame(bytes, kEnd.position, end, kSaltCrc)) << "replay has seen sequence 100";
  end = kEnd;
  end.position += 8;
  EXPECT_FALSE(HoldsDisplacedFrame(bytes.substr(0, 16 + FrameBytes(100)), kEnd.position, end, kSaltCrc))
      << "its position was before the end";
}

// The WAL buffer is a ring: its bytes lie in two parts, which may meet anywhere in a header or in a frame.
TEST(DisplacedFrame, IsFoundInTwoPartsLikeInOne) {
  FrameStream stream(kEnd);
  const std::string first = stream.Add(100), second = stream.Add(60), third = stream.Add(60);
  const std::string before = Junk(70), after = Junk(50, 2);
  for (const std::string& frames :
       {first, second + third, second, first.substr(0, 120), second + third.substr(0, kFrameHeaderBytes - 1)}) {
    const std::string bytes = before + frames + after;
    const bool is_found = HoldsDisplacedFrame(bytes, kEnd.position, kEnd, kSaltCrc);
    EXPECT_EQ(is_found, frames == first || frames == second + third);
    for (size_t middle = 0; middle <= bytes.size(); ++middle) {
      const std::string_view all = bytes;
      EXPECT_EQ(HoldsDisplacedFrame(all.substr(0, middle), all.substr(middle), kEnd.position, kEnd, kSaltCrc), is_found)
          << frames.size() << " bytes of frames, the parts meet at " << middle;
    }
  }
}

TEST(DisplacedFrame, IsNoneInFewOrRandomBytes) {
  EXPECT_FALSE(HoldsDisplacedFrame("", kEnd.position, kEnd, kSaltCrc));
  EXPECT_FALSE(HoldsDisplacedFrame(std::string(kFrameHeaderBytes, '\0'), kEnd.position, kEnd, kSaltCrc));
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_FALSE(HoldsDisplacedFrame(Junk(32 << 10, seed), kEnd.position, kEnd, kSaltCrc)) << "seed " << seed;
  }
}

// The search skips zeros by several bytes at a time.
TEST(DisplacedFrame, IsFoundAfterAnyNumberOfZeros) {
  for (const kv::Sequence first : {kv::Sequence{0}, kEnd.sequence, kv::Sequence{1} << 55}) {
    Mark end = kEnd;
    end.sequence = first;
    FrameStream stream(end);
    const std::string frames = stream.AddFrames(2, 1);
    for (size_t zeros = 1; zeros <= 80; ++zeros) {
      EXPECT_TRUE(HoldsDisplacedFrame(std::string(zeros, '\0') + frames, end.position, end, kSaltCrc))
          << zeros << " zeros before a frame of sequence " << first;
    }
  }
}

// The header of the frame at the end of the chain, with `put_in` bytes inserted behind its first `front` bytes.
bool FindsSplitHeader(size_t front, size_t put_in, const Mark& end = kEnd, uint32_t salt_crc = kSaltCrc) {
  FrameStream stream(kEnd);
  std::string bytes = stream.Add(100);
  bytes.insert(front, Junk(put_in));
  return HoldsSplitHeader(bytes, end, salt_crc);
}

TEST(SplitHeader, IsFoundWhereverUpTo256BytesWereInserted) {
  for (const size_t put_in : {1, 256}) {
    for (const size_t front : {size_t{1}, size_t{8}, kFrameHeaderBytes - 1}) {
      EXPECT_TRUE(FindsSplitHeader(front, put_in)) << front << " " << put_in;
    }
  }
  EXPECT_FALSE(FindsSplitHeader(8, 257));
}

TEST(SplitHeader, IsNoneOfAnotherPlaceOrEpoch) {
  EXPECT_FALSE(FindsSplitHeader(8, 16, MarkAt(kEnd.position + 8)));
  EXPECT_FALSE(FindsSplitHeader(8, 16, kEnd, SaltCrc(43)));
  Mark later = kEnd;
  later.sequence = 101;
  EXPECT_FALSE(FindsSplitHeader(8, 16, later));
  EXPECT_FALSE(HoldsSplitHeader("", kEnd, kSaltCrc));
}

// The bytes end with the last byte of the header.
TEST(SplitHeader, NeedsAllBytesOfTheHeader) {
  FrameStream stream(kEnd);
  std::string bytes = stream.Add(100).substr(0, kFrameHeaderBytes);
  bytes.insert(10, Junk(5));
  EXPECT_TRUE(HoldsSplitHeader(bytes, kEnd, kSaltCrc));
  bytes.pop_back();
  EXPECT_FALSE(HoldsSplitHeader(bytes, kEnd, kSaltCrc));
}

}  // namespace
}  // namespace mergedb::wal
