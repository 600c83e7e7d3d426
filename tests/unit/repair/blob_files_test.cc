// Goal: repair knows which blob files are whole, reads the values that are intact out of those that are not, and names
// the keys of the others in a bounded list. Method: blob files in memory, damaged, cut, missing and swapped; blob
// indexes that do not fit.
#include "repair/blob_files.h"

#include <gtest/gtest.h>

#include "blob/writer.h"
#include "format/file_name.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::repair {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

constexpr kv::FileNumber kNumber{13}, kOther{14};

class BlobFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("dir")); }

  // Writes the values of keys a, b and c.
  format::BlobFilePtr Write(kv::FileNumber number) {
    auto writer = blob::Writer::Create(&files_, PathOf(number), number, 77, {});
    EXPECT_OK(writer.status());
    for (size_t i = 0; i < 3; ++i)
      EXPECT_OK((*writer)->Add(std::string(1, static_cast<char>('a' + i)), std::string(100, 'v'), &indexes_[i]));
    auto meta = (*writer)->Finish();
    EXPECT_OK(meta.status());
    return *meta;
  }
  static std::string PathOf(kv::FileNumber number) { return format::BlobFilePath("dir", number); }
  Result<std::string> Read(std::string_view key, format::BlobIndex index) const {
    char bytes[format::kBlobIndexBytesMax];
    format::BlobIndex decoded;
    std::string_view value;
    RETURN_IF_ERROR(found_.Read(key, {bytes, format::EncodeBlobIndex(bytes, index)}, &decoded, &value));
    EXPECT_EQ(decoded, index);
    return std::string(value);
  }
  const BlobFileFinding& Finding(kv::FileNumber number) const { return found_.found().at(number); }

  const std::string kValue = std::string(100, 'v');
  testing::FaultFileSystem files_;
  BlobFiles found_{&files_, "dir", kv::Order(BytewiseComparator())};
  format::BlobIndex indexes_[3];
};

TEST_F(BlobFilesTest, AWholeFileIsKnownByItsFooter) {
  const auto meta = Write(kNumber);
  ASSERT_OK(found_.Look(kNumber, nullptr));
  EXPECT_TRUE(found_.IsWhole(kNumber));
  EXPECT_EQ(*Finding(kNumber).meta, *meta);
  EXPECT_THAT(Read("b", indexes_[1]), IsOkAndHolds(kValue));
  EXPECT_FALSE(found_.IsWhole(kOther)) << "nobody looked";
}

TEST_F(BlobFilesTest, ADamagedValueCostsNoOther) {
  const auto meta = Write(kNumber);
  ASSERT_OK(files_.FlipBit(PathOf(kNumber), indexes_[1].offset + 50, 0));
  for (const format::BlobFilePtr& known : {format::BlobFilePtr(), meta}) {
    ASSERT_OK(found_.Look(kNumber, known));
    EXPECT_FALSE(found_.IsWhole(kNumber));
    EXPECT_THAT(Finding(kNumber).verdict, StatusIs(Code::kCorruption));
    EXPECT_THAT(Read("a", indexes_[0]), IsOkAndHolds(kValue));
    EXPECT_THAT(Read("b", indexes_[1]), StatusIs(Code::kCorruption));
    EXPECT_THAT(Read("c", indexes_[2]), IsOkAndHolds(kValue));
  }
}

TEST_F(BlobFilesTest, WithoutAFooterOnlyTheManifestKnowsAFile) {
  const auto meta = Write(kNumber);
  ASSERT_OK(files_.FlipBit(PathOf(kNumber), meta->bytes - 1, 0));
  ASSERT_OK(found_.Look(kNumber, nullptr));
  EXPECT_EQ(Finding(kNumber).meta, nullptr);
  EXPECT_FALSE(Finding(kNumber).can_be_opened);
  EXPECT_FALSE(found_.IsWhole(kNumber));
  EXPECT_THAT(Read("a", indexes_[0]), StatusIs(Code::kCorruption));
  ASSERT_OK(found_.Look(kNumber, meta));
  EXPECT_FALSE(found_.IsWhole(kNumber));
  EXPECT_THAT(Read("a", indexes_[0]), IsOkAndHolds(kValue));
}

TEST_F(BlobFilesTest, AFileTooShortForAFooterIsNone) {
  ASSERT_OK(files_.WriteWhole(PathOf(kNumber), std::string(format::kBlobFooterBytes - 1, 'x')));
  ASSERT_OK(found_.Look(kNumber, nullptr));
  EXPECT_THAT(Finding(kNumber).verdict, StatusIs(Code::kCorruption, HasSubstr("63 bytes are too few")));
  ASSERT_OK(files_.WriteWhole(PathOf(kNumber), std::string(format::kBlobFooterBytes, 'x')));
  ASSERT_OK(found_.Look(kNumber, nullptr));
  EXPECT_THAT(Finding(kNumber).verdict, StatusIs(Code::kCorruption, ::testing::Not(HasSubstr("too few"))));
}

TEST_F(BlobFilesTest, AnotherFileInItsPlaceIsNotBelieved) {
  Write(kNumber);
  ASSERT_OK(files_.Rename(PathOf(kNumber), PathOf(kOther)));
  ASSERT_OK(found_.Look(kOther, nullptr));
  EXPECT_THAT(Finding(kOther).verdict, StatusIs(Code::kCorruption, HasSubstr("number of blob file 13")));
  EXPECT_EQ(Finding(kOther).meta, nullptr);
}

TEST_F(BlobFilesTest, AMissingFileIsAFindingAndNoError) {
  const auto meta = Write(kNumber);
  ASSERT_OK(files_.Remove(PathOf(kNumber)));
  for (const format::BlobFilePtr& known : {format::BlobFilePtr(), meta}) {
    EXPECT_OK(found_.Look(kNumber, known));
    EXPECT_FALSE(found_.IsWhole(kNumber));
    EXPECT_FALSE(Finding(kNumber).can_be_opened);
    EXPECT_FALSE(Read("a", indexes_[0]).has_value());
  }
  indexes_[0].file = kOther;
  EXPECT_THAT(Read("a", indexes_[0]), StatusIs(Code::kCorruption, HasSubstr("missing"))) << "nobody looked for it";
}

TEST_F(BlobFilesTest, WithoutADescriptorItIsBusyAndNothingIsDecided) {
  const auto meta = Write(kNumber);
  files_.SetDescriptorsMax(0);
  EXPECT_THAT(found_.Look(kNumber, nullptr), StatusIs(Code::kBusy));
  EXPECT_THAT(found_.Look(kNumber, meta), StatusIs(Code::kBusy));
  files_.SetDescriptorsMax(10);
  EXPECT_OK(found_.Look(kNumber, meta));
  EXPECT_TRUE(found_.IsWhole(kNumber));
}

TEST_F(BlobFilesTest, ABlobIndexThatDoesNotFitReadsNothing) {
  Write(kNumber);
  ASSERT_OK(found_.Look(kNumber, nullptr));
  EXPECT_THAT(Read("b", indexes_[0]), StatusIs(Code::kCorruption)) << "the value of another key";
  format::BlobIndex index = indexes_[1];
  ++index.offset;
  EXPECT_THAT(Read("b", index), StatusIs(Code::kCorruption));
  index = indexes_[1];
  --index.bytes;
  EXPECT_THAT(Read("b", index), StatusIs(Code::kCorruption));
  index = indexes_[2];
  index.bytes = UINT32_MAX;
  EXPECT_THAT(Read("c", index), StatusIs(Code::kCorruption));
  format::BlobIndex decoded;
  std::string_view value;
  EXPECT_FALSE(found_.Read("b", "", &decoded, &value).ok());
}

class LostValuesTest : public ::testing::Test {
 protected:
  void Add(const std::string& key, kv::FileNumber file = kNumber) {
    lost_.Add(key, {.file = file, .offset = 8, .bytes = 9}, Status::Corruption("checksum"));
  }
  static std::string Keys(const Damage& damage) { return *damage.smallest_key + ".." + *damage.largest_key; }

  LostValues lost_;
};

TEST_F(LostValuesTest, AdjacentKeysAreOneDamage) {
  Add("a");
  Add("b");
  Add("c");
  lost_.Pass();
  Add("e");
  const auto damages = lost_.Take();
  ASSERT_EQ(damages.size(), 2u);
  EXPECT_EQ(Keys(damages[0]), "a..c");
  EXPECT_EQ(damages[0].bytes, 0u) << "of several values the bytes are unknown";
  EXPECT_EQ(damages[0].file, "000013.val");
  EXPECT_EQ(damages[0].what, "checksum");
  EXPECT_TRUE(damages[0].loses_entries);
  EXPECT_EQ(Keys(damages[1]), "e..e");
  EXPECT_EQ(damages[1].offset, 8u);
  EXPECT_EQ(damages[1].bytes, 9u);
}

TEST_F(LostValuesTest, EachFileIsADamageOfItsOwn) {
  Add("a");
  Add("b", kOther);
  Add("c");
  EXPECT_EQ(lost_.Take().size(), 3u);
}

TEST_F(LostValuesTest, AMissingFileIsCalledMissing) {
  lost_.Add("a", {.file = kNumber}, Status::NotFound("no such file"));
  EXPECT_EQ(lost_.Take().front().what, "missing");
}

TEST_F(LostValuesTest, TheLastDamageOfAFullListTakesAllThatFollow) {
  for (int i = 0; i < 1002; ++i) {
    Add(std::to_string(10'000 + i), i % 2 == 0 ? kNumber : kOther);
    lost_.Pass();
  }
  const auto damages = lost_.Take();
  ASSERT_EQ(damages.size(), 1000u);
  EXPECT_EQ(Keys(damages[998]), "10998..10998");
  EXPECT_EQ(Keys(damages[999]), "10999..11001");
}

}  // namespace
}  // namespace mergedb::repair
