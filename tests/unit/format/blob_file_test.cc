// Goal: blob indexes, records and footers decode to themselves; their bytes are those of docs/formats/blob.md; a
// record is valid only at the place where it was written; other bytes are errors.
#include "format/blob_file.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "base/random.h"

namespace mergedb::format {
namespace {

constexpr Place kPlace{.unique_id = 0x1122334455667788, .offset = 0};

std::string Record(std::string_view key, std::string_view stored, const Place& place = kPlace,
                   Compression codec = Compression::kNone) {
  char head[kRecordHeadBytesMax];
  std::string record(head, StoreRecordHead(head, key, stored, codec, place));
  return record.append(key).append(stored);
}

std::string Reference(const BlobIndex& reference) {
  char bytes[kBlobIndexBytesMax];
  return {bytes, EncodeBlobIndex(bytes, reference)};
}

const BlobFileMeta kFile{
    .number = kv::FileNumber{13}, .bytes = 8192, .unique_id = 0x1122334455667788, .records = 3, .record_bytes = 5000};

TEST(BlobFile, IsTheBytesOfTheSpecification) {
  EXPECT_EQ(base::ToHex(Record("apple", "green")),
            "25a9dce9"
            "000505"
            "6170706c65"
            "677265656e");
  EXPECT_EQ(base::ToHex(Reference({.file = kv::FileNumber{13}, .offset = 0, .bytes = 17})), "0d0011");
  EXPECT_EQ(base::ToHex(EncodeBlobFooter(kFile)),
            "8877665544332211"
            "0020000000000000"
            "0d00000000000000"
            "0300000000000000"
            "8813000000000000"
            "4c2358a2"
            "01000000"
            "6d6572676564622076616c75650d0a1a");
}

TEST(BlobFile, RecordsComeBack) {
  const std::string long_key(70'000, 'k'), long_value(300'000, 'v');
  for (const std::string& key : {std::string(), std::string("a"), long_key}) {
    for (const std::string& value : {std::string(), std::string("b"), long_value}) {
      const std::string bytes = Record(key, value);
      BlobRecord record;
      ASSERT_TRUE(OpenRecord(bytes, kPlace, true, &record).ok());
      EXPECT_EQ(record.key, key);
      EXPECT_EQ(record.stored, value);
      EXPECT_EQ(record.codec, Compression::kNone);
      uint64_t record_bytes = 0;
      ASSERT_TRUE(ReadRecordBytes(std::string_view(bytes).substr(0, kRecordHeadBytesMax), &record_bytes).ok());
      EXPECT_EQ(record_bytes, bytes.size());
    }
  }
  EXPECT_EQ(Record("", "").size(), kRecordBytesMin);
}

TEST(BlobFile, BlobIndexesComeBack) {
  for (const BlobIndex& reference :
       {BlobIndex{.file = kv::FileNumber{1}, .offset = 0, .bytes = kRecordBytesMin},
        BlobIndex{.file = kv::FileNumber{UINT64_MAX}, .offset = UINT64_MAX, .bytes = UINT32_MAX}}) {
    BlobIndex back;
    const std::string bytes = Reference(reference);
    ASSERT_TRUE(DecodeBlobIndex(bytes, &back).ok());
    EXPECT_EQ(back, reference);
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_TRUE(DecodeBlobIndex(bytes.substr(0, length), &back).IsCorruption()) << length;
    }
    EXPECT_TRUE(DecodeBlobIndex(bytes + "x", &back).IsCorruption());
  }
  BlobIndex back;
  EXPECT_TRUE(
      DecodeBlobIndex(Reference({.file = kv::FileNumber{1}, .bytes = kRecordBytesMin - 1}), &back).IsCorruption());
}

TEST(BlobFile, ARecordPassesOnlyWhereItWasWritten) {
  const std::string bytes = Record("key", "value", {.unique_id = 7, .offset = 100});
  BlobRecord record;
  EXPECT_TRUE(OpenRecord(bytes, {.unique_id = 7, .offset = 100}, true, &record).ok());
  EXPECT_TRUE(OpenRecord(bytes, {.unique_id = 8, .offset = 100}, true, &record).IsCorruption());
  EXPECT_TRUE(OpenRecord(bytes, {.unique_id = 7, .offset = 101}, true, &record).IsCorruption());
  EXPECT_TRUE(OpenRecord(bytes, {}, false, &record).ok()) << "nobody asked for the checksum";
}

TEST(BlobFile, EveryFlippedBitAndEveryOtherLengthOfARecordIsAnError) {
  const std::string bytes = Record("key", std::string(300, 'v'));
  BlobRecord record;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(OpenRecord(damaged, kPlace, true, &record).IsCorruption()) << bit;
    (void)OpenRecord(damaged, kPlace, false, &record);  // only to detect memory errors
  }
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_TRUE(OpenRecord(std::string_view(bytes).substr(0, length), kPlace, true, &record).IsCorruption()) << length;
  }
  EXPECT_TRUE(OpenRecord(bytes + "x", kPlace, true, &record).IsCorruption());
}

TEST(BlobFile, AnUnknownCodecNeedsANewerVersion) {
  BlobRecord record;
  const std::string bytes = Record("key", "value", kPlace, static_cast<Compression>(9));
  EXPECT_EQ(OpenRecord(bytes, kPlace, true, &record).code(), Code::kNotSupported);
}

TEST(BlobFile, FootersComeBackAndDamageToThemIsAnError) {
  const std::string bytes = EncodeBlobFooter(kFile);
  BlobFileMeta file;
  ASSERT_TRUE(DecodeBlobFooter(bytes, 8192, &file).ok());
  EXPECT_EQ(file, kFile);
  EXPECT_TRUE(DecodeBlobFooter(bytes, 12288, &file).IsCorruption()) << "a file of another size";
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(DecodeBlobFooter(damaged, 8192, &file).IsCorruption()) << bit << ": not a newer version";
  }
  BlobFileMeta too_much = kFile;
  too_much.record_bytes = 8192 - kBlobFooterBytes + 1;
  EXPECT_TRUE(DecodeBlobFooter(EncodeBlobFooter(too_much), 8192, &file).IsCorruption());
  too_much.record_bytes = UINT64_MAX;
  EXPECT_TRUE(DecodeBlobFooter(EncodeBlobFooter(too_much), 8192, &file).IsCorruption());
}

TEST(BlobFile, ANewerFormatIsNotSupported) {
  std::string bytes = EncodeBlobFooter(kFile);
  bytes[44] = 2;
  BlobFileMeta file;
  EXPECT_TRUE(DecodeBlobFooter(bytes, 8192, &file).IsCorruption()) << "no program wrote this";
  base::StoreFixed32(bytes.data() + 40, base::Crc32c(bytes.substr(0, 40) + bytes.substr(44)));
  EXPECT_EQ(DecodeBlobFooter(bytes, 8192, &file).code(), Code::kNotSupported);
}

}  // namespace
}  // namespace mergedb::format
