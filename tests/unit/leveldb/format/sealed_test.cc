// Goal: a stored block is compressed only if that saves more than an eighth, and comes back as it was; a changed bit, a
// handle outside of the file and a footer that is none are errors. Method: blocks, handles and footers on both sides of
// each limit.
#include "leveldb/format/sealed.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include "base/random.h"
#include "testing/status_matchers.h"

namespace mergedb::leveldb_format {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

constexpr BlockCodec kRaw = {.compression = Compression::kNone};
constexpr BlockCodec kSnappy = {.compression = Compression::kSnappy};
constexpr BlockCodec kZstd = {.compression = Compression::kZstd};

std::string Seal(std::string_view block, const BlockCodec& codec) {
  std::string stored;
  const size_t contents = SealBlock(block, codec, &stored);
  EXPECT_EQ(contents + kBlockTrailerBytes, stored.size());
  return stored;
}

int CodecOf(const std::string& stored) { return stored[stored.size() - kBlockTrailerBytes]; }

std::string RandomBytes(base::Random* random, size_t bytes) {
  std::string made(bytes, '\0');
  for (char& c : made) c = static_cast<char>(random->Next());
  return made;
}

TEST(LevelDbStoredBlock, ComesBackAsItWas) {
  for (const std::string& block : {std::string(), std::string("x"), std::string(1 << 18, 'a')}) {
    for (const BlockCodec& codec : {kRaw, kSnappy, kZstd}) {
      const std::string stored = Seal(block, codec);
      EXPECT_TRUE(OpenBlock(stored, true).value() == block) << block.size() << " bytes, codec " << CodecOf(stored);
    }
  }
  EXPECT_EQ(CodecOf(Seal(std::string(1000, 'a'), kRaw)), 0);
  EXPECT_EQ(CodecOf(Seal(std::string(1000, 'a'), kSnappy)), 1);
  EXPECT_EQ(CodecOf(Seal(std::string(1000, 'a'), kZstd)), 2);
}

TEST(LevelDbStoredBlock, IsCompressedOnlyIfThatSavesMoreThanAnEighth) {
  base::Random random(1);
  const std::string hard = RandomBytes(&random, 512);
  int equal = 0, raw = 0, compressed = 0;
  for (size_t zeros = 0; zeros < 200; ++zeros) {
    const std::string block = hard + std::string(zeros, '\0');
    std::string alone;
    snappy::Compress(block.data(), block.size(), &alone);
    const size_t limit = block.size() - block.size() / 8;
    equal += alone.size() == limit;
    const bool is_compressed = CodecOf(Seal(block, kSnappy)) == 1;
    is_compressed ? ++compressed : ++raw;
    EXPECT_EQ(is_compressed, alone.size() < limit) << zeros;
  }
  EXPECT_GT(equal, 0);
  EXPECT_GT(raw, 0);
  EXPECT_GT(compressed, 0);
}

TEST(LevelDbStoredBlock, IsAppended) {
  std::string out = "before";
  SealBlock("block", kRaw, &out);
  EXPECT_EQ(out.substr(0, 11), "beforeblock");
  EXPECT_THAT(OpenBlock(out.substr(6), true), IsOkAndHolds("block"));
}

TEST(LevelDbStoredBlock, AnyChangedBitIsNoticedUnlessAskedNot) {
  const std::string stored = Seal("some bytes", kRaw);
  for (size_t bit = 0; bit < 8 * stored.size(); ++bit) {
    std::string changed = stored;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_THAT(OpenBlock(changed, true), StatusIs(Code::kCorruption, HasSubstr("checksum"))) << bit;
    if (bit / 8 != stored.size() - kBlockTrailerBytes) { EXPECT_OK(OpenBlock(changed, false)) << bit; }
  }
}

TEST(LevelDbStoredBlock, HasAWholeTrailerAndAKnownCodec) {
  EXPECT_THAT(OpenBlock(std::string(kBlockTrailerBytes - 1, '\0'), false),
              StatusIs(Code::kCorruption, HasSubstr("cut")));
  EXPECT_THAT(OpenBlock(std::string(kBlockTrailerBytes, '\0'), false), IsOkAndHolds(""));
  for (const char codec : {'\1', '\2', '\3', '\x80'}) {
    EXPECT_THAT(OpenBlock(std::string(1, codec) + std::string(4, '\0'), false), StatusIs(Code::kCorruption));
    EXPECT_THAT(OpenBlock("junk" + std::string(1, codec) + std::string(4, '\0'), false), StatusIs(Code::kCorruption));
  }
}

TEST(LevelDbStoredBlock, CutCompressedContentsAreCorruption) {
  for (const BlockCodec& codec : {kSnappy, kZstd}) {
    const std::string block(1000, 'a');
    const std::string stored = Seal(block, codec);
    const std::string trailer = stored.substr(stored.size() - kBlockTrailerBytes);
    for (size_t size = 0; size + kBlockTrailerBytes < stored.size(); ++size)
      EXPECT_THAT(OpenBlock(stored.substr(0, size) + trailer, false), StatusIs(Code::kCorruption)) << size;
  }
}

TEST(LevelDbHandle, ComesBackWithoutTheBytesBehindIt) {
  for (const Handle& handle : {Handle{}, Handle{127, 128}, Handle{UINT64_MAX, UINT64_MAX}}) {
    std::string bytes;
    AppendHandle(&bytes, handle);
    EXPECT_THAT(DecodeHandle(bytes), IsOkAndHolds(handle));
    EXPECT_THAT(DecodeHandle(bytes + "more"), IsOkAndHolds(handle));
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_THAT(DecodeHandle(std::string_view(bytes).substr(0, size)), StatusIs(Code::kCorruption)) << size;
  }
}

TEST(LevelDbHandle, LiesBeforeTheFooter) {
  constexpr uint64_t kLeast = kTableFooterBytes + kBlockTrailerBytes;  // a file with one empty block
  EXPECT_OK(CheckHandle({0, 0}, kLeast));
  EXPECT_THAT(CheckHandle({0, 0}, kLeast - 1), StatusIs(Code::kCorruption));
  EXPECT_THAT(CheckHandle({0, 0}, kTableFooterBytes - 1), StatusIs(Code::kCorruption));
  EXPECT_THAT(CheckHandle({0, 0}, 0), StatusIs(Code::kCorruption));
  EXPECT_THAT(CheckHandle({1, 0}, kLeast), StatusIs(Code::kCorruption));
  EXPECT_OK(CheckHandle({3, 4}, kLeast + 7));
  EXPECT_THAT(CheckHandle({4, 4}, kLeast + 7), StatusIs(Code::kCorruption));
  EXPECT_THAT(CheckHandle({3, 5}, kLeast + 7), StatusIs(Code::kCorruption));
  EXPECT_THAT(CheckHandle({UINT64_MAX, 2}, kLeast + 7), StatusIs(Code::kCorruption));
  EXPECT_THAT(CheckHandle({2, UINT64_MAX}, kLeast + 7), StatusIs(Code::kCorruption));
}

TEST(LevelDbHandle, AsksForNoMoreThanTheLimit) {
  constexpr uint64_t kHuge = uint64_t{1} << 40;
  EXPECT_OK(CheckHandle({0, kBlockBytesMax}, kHuge));
  EXPECT_THAT(CheckHandle({0, kBlockBytesMax + 1}, kHuge), StatusIs(Code::kNotSupported));
}

TEST(LevelDbTableFooter, HasItsSizeWhateverItsHandles) {
  for (const Handle& handle : {Handle{}, Handle{1, 300}, Handle{UINT64_MAX, UINT64_MAX}}) {
    const std::string bytes = EncodeTableFooter({.metaindex = handle, .index = {5, 6}});
    ASSERT_EQ(bytes.size(), kTableFooterBytes);
    ASSERT_OK_AND_ASSIGN(const TableFooter footer, DecodeTableFooter(bytes));
    EXPECT_EQ(footer.metaindex, handle);
    EXPECT_EQ(footer.index, (Handle{5, 6}));
  }
}

TEST(LevelDbTableFooter, IsNoneIfCutChangedOrWithoutHandles) {
  const std::string bytes = EncodeTableFooter({.metaindex = {1, 2}, .index = {3, 4}});
  EXPECT_THAT(DecodeTableFooter(bytes.substr(1)), StatusIs(Code::kCorruption, HasSubstr("too short")));
  EXPECT_THAT(DecodeTableFooter(""), StatusIs(Code::kCorruption, HasSubstr("too short")));
  for (size_t at = kTableFooterBytes - 8; at < kTableFooterBytes; ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_THAT(DecodeTableFooter(changed), StatusIs(Code::kCorruption, HasSubstr("magic"))) << at;
  }
  std::string endless = bytes;
  endless.replace(0, 11, 11, '\xff');  // a varint of more than 10 bytes
  EXPECT_THAT(DecodeTableFooter(endless), StatusIs(Code::kCorruption, HasSubstr("handle")));
}

}  // namespace
}  // namespace mergedb::leveldb_format
