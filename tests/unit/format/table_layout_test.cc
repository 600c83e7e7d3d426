// Goal: trailer, footer and properties have the documented bytes, and all damage to them is detected.
#include "format/table_layout.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/crc32c.h"

namespace mergedb::format {
namespace {

Footer SomeFooter() {
  return {.unique_id = 0x1122334455667788,
          .file_bytes = 8192,
          .data_bytes = 4000,
          .filter_bytes = 70,
          .index_bytes = 60,
          .properties_bytes = 50};
}

TEST(Footer, HasTheseBytes) {
  EXPECT_EQ(base::ToHex(EncodeFooter(SomeFooter())),
            "8877665544332211"                                  // unique id
            "0020000000000000"                                  // file bytes
            "a00f000000000000"                                  // data bytes
            "4600000000000000"                                  // filter bytes
            "3c00000000000000"                                  // index bytes
            "3200000000000000"                                  // properties bytes
            "000000000000000000000000000000000000000000000000"  // reserved
            "7e201227"                                          // checksum
            "01000000"                                          // version
            "6d657267656462207461626c650d0a1a");                // "mergedb table\r\n\x1a"
}

TEST(Footer, GoesBothWays) {
  Footer back;
  ASSERT_TRUE(DecodeFooter(EncodeFooter(SomeFooter()), 8192, &back).ok());
  EXPECT_EQ(back, SomeFooter());
}

TEST(Footer, OfATableWithRangeTombstonesIsOfVersion2) {
  Footer footer = SomeFooter();
  footer.data_bytes = 3900;
  footer.range_tombstone_bytes = 100;
  const std::string bytes = EncodeFooter(footer);
  EXPECT_EQ(base::ToHex(bytes.substr(48, 24)),
            "6400000000000000"
            "00000000000000000000000000000000");
  EXPECT_EQ(base::ToHex(bytes.substr(76, 4)), "02000000");
  Footer back;
  ASSERT_TRUE(DecodeFooter(bytes, 8192, &back).ok());
  EXPECT_EQ(back, footer);
  EXPECT_EQ(back.index_offset(), 3900u + 70 + 100);
}

TEST(Footer, NoticesEveryChangedByte) {
  Footer footer = SomeFooter();
  footer.range_tombstone_bytes = 100;
  const std::string bytes = EncodeFooter(footer);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      Footer back;
      EXPECT_FALSE(DecodeFooter(damaged, 8192, &back).ok()) << at;
    }
  }
}

TEST(Footer, RefusesAFileOfAnotherSize) {
  Footer back;
  EXPECT_TRUE(DecodeFooter(EncodeFooter(SomeFooter()), 4096, &back).IsCorruption());
  EXPECT_TRUE(DecodeFooter(EncodeFooter(SomeFooter()), 12288, &back).IsCorruption());
}

TEST(Footer, RefusesSectionsThatDoNotFit) {
  for (uint64_t Footer::*section : {&Footer::data_bytes, &Footer::filter_bytes, &Footer::range_tombstone_bytes,
                                    &Footer::index_bytes, &Footer::properties_bytes}) {
    for (const uint64_t bytes : {uint64_t{8192}, ~uint64_t{0}, ~uint64_t{0} - 4000}) {
      Footer footer = SomeFooter();
      footer.*section = bytes;
      Footer back;
      EXPECT_TRUE(DecodeFooter(EncodeFooter(footer), 8192, &back).IsCorruption());
    }
  }
}

TEST(Footer, RefusesAFileThatEndsBeforeItsLastBlock) {
  Footer footer = SomeFooter();
  footer.file_bytes = 5000;
  footer.data_bytes = 4700;
  Footer back;
  const Status status = DecodeFooter(EncodeFooter(footer), 5000, &back);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_NE(status.message().find("minimum file size for its sections: expected 8192, found 5000"), std::string::npos)
      << status.ToString();
}

TEST(Footer, NamesTheVersionOfANewerProgram) {
  std::string bytes = EncodeFooter(SomeFooter());
  bytes[76] = 9;
  Footer back;
  EXPECT_TRUE(DecodeFooter(bytes, 8192, &back).IsCorruption()) << "no program wrote this";
  base::StoreFixed32(bytes.data() + 72, base::Crc32c(bytes.substr(0, 72) + bytes.substr(76)));
  const Status status = DecodeFooter(bytes, 8192, &back);
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_NE(status.message().find("format 9"), std::string_view::npos) << status.ToString();
}

TEST(Part, KnowsItsPlace) {
  const std::string payload = "some payload";
  const Place place{.unique_id = 7, .offset = 4096};
  std::string stored = payload + std::string(kTrailerBytes, '\0');
  StoreTrailer(stored.data() + payload.size(), payload, Compression::kLz4, place);
  Part part;
  ASSERT_TRUE(OpenPart(stored, place, true, &part).ok());
  EXPECT_EQ(part.payload, payload);
  EXPECT_EQ(part.codec, Compression::kLz4);
  EXPECT_TRUE(OpenPart(stored, {.unique_id = 8, .offset = 4096}, true, &part).IsCorruption()) << "another file";
  EXPECT_TRUE(OpenPart(stored, {.unique_id = 7, .offset = 8192}, true, &part).IsCorruption()) << "another place";
  for (size_t at = 0; at < stored.size(); ++at) {
    std::string damaged = stored;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_TRUE(OpenPart(damaged, place, true, &part).IsCorruption()) << at;
  }
  for (size_t size = 0; size < kTrailerBytes; ++size) {
    EXPECT_TRUE(OpenPart(stored.substr(0, size), place, false, &part).IsCorruption()) << size;
  }
}

TEST(Part, RefusesAnUnknownCodec) {
  std::string stored = "x" + std::string(kTrailerBytes, '\0');
  StoreTrailer(stored.data() + 1, "x", static_cast<Compression>(9), {});
  Part part;
  EXPECT_TRUE(OpenPart(stored, {}, true, &part).IsNotSupported());
}

Properties SomeProperties() {
  Properties properties;
  properties.meta.number = kv::FileNumber{12};
  properties.meta.unique_id = 99;
  properties.meta.entries = 1000;
  properties.meta.tombstones = 3;
  properties.meta.raw_bytes = 123'456;
  properties.meta.smallest_sequence = 5;
  properties.meta.largest_sequence = kv::kSequenceMax;
  properties.meta.smallest = std::string("a\0b", 3);
  properties.meta.largest = "zebra";
  properties.meta.range_tombstones = 17;
  properties.meta.largest_is_open = true;
  properties.comparator = "mergedb.bytewise";
  properties.writer = "test";
  return properties;
}

TEST(Properties, GoBothWays) {
  Properties back;
  ASSERT_TRUE(DecodeProperties(EncodeProperties(SomeProperties()), &back).ok());
  EXPECT_EQ(back, SomeProperties());
}

TEST(Properties, CompactedRangesAreDecodedAndInvalidOnesRefused) {
  for (const Bounds& bounds : {Bounds{}, Bounds{.lower = "a", .upper = {}}, Bounds{.lower = {}, .upper = ""},
                               Bounds{.lower = "a", .upper = "z"}}) {
    Properties properties = SomeProperties();
    for (const kv::Sequence from : {kv::Sequence{0}, kv::Sequence{1}, kv::kSequenceMax}) {
      properties.compacted_ranges = {CompactedRange{.from = from, .sequence = kv::kSequenceMax, .bounds = bounds},
                                     CompactedRange{.sequence = 1}};
      Properties back;
      ASSERT_TRUE(DecodeProperties(EncodeProperties(properties), &back).ok());
      EXPECT_EQ(back, properties);
    }
  }
  const std::string sequence = std::string("\x07\0\0\0\0\0\0\0", 8);
  for (const std::string& payload :
       {std::string(), sequence, sequence + "\x08", sequence + "\x04", sequence + "\x04" + std::string(8, '\0'),
        sequence + "\x04\x08" + std::string(7, '\0'), sequence + "\x01", sequence + "\x01\x05" + "ab",
        sequence + std::string("\0x", 2), std::string(8, '\xff') + std::string("\0", 1)}) {
    std::string bytes = EncodeProperties(SomeProperties());
    base::AppendVarint32(&bytes, 65);
    base::AppendLengthPrefixed(&bytes, payload);
    Properties back;
    EXPECT_TRUE(DecodeProperties(bytes, &back).IsCorruption()) << base::ToHex(payload);
  }
}

// FORMAT: the bytes of docs/formats/table.md.
TEST(Properties, CompactedRangesAreStoredInThisFormat) {
  Properties properties = SomeProperties();
  const size_t before = EncodeProperties(properties).size();
  properties.compacted_ranges = {{.sequence = 0x0102030405, .bounds = {.lower = "apple", .upper = "b"}}};
  EXPECT_EQ(base::ToHex(EncodeProperties(properties).substr(before)),
            "4111"
            "0504030201000000"
            "03"
            "056170706c65"
            "0162");
  properties.compacted_ranges = {{.from = 0x0605, .sequence = 0x0102030405, .bounds = {}}};
  EXPECT_EQ(base::ToHex(EncodeProperties(properties).substr(before)),
            "4111"
            "0504030201000000"
            "04"
            "0506000000000000");
}

TEST(Properties, TheProgramsFilterPolicyIsStoredSo) {
  Properties properties = SomeProperties();
  const std::string before = EncodeProperties(properties);
  properties.filter_policy = "own";
  const std::string bytes = EncodeProperties(properties);
  const size_t at = bytes.find(std::string("\x0e\x03own", 5));
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::string(bytes).erase(at, 5), before);
  Properties back;
  ASSERT_TRUE(DecodeProperties(bytes, &back).ok());
  EXPECT_EQ(back, properties);
}

TEST(Properties, AreSafeOnEveryTruncation) {
  const std::string bytes = EncodeProperties(SomeProperties());
  for (size_t size = 0; size < bytes.size(); ++size) {
    Properties back;
    const Status status = DecodeProperties(bytes.substr(0, size), &back);
    EXPECT_TRUE(status.ok() || status.IsCorruption()) << size;
  }
}

TEST(Properties, SkipUnknownTagsOnlyFrom64Up) {
  std::string bytes = EncodeProperties(SomeProperties());
  base::AppendVarint32(&bytes, 70);
  base::AppendLengthPrefixed(&bytes, "of the future");
  Properties back;
  EXPECT_TRUE(DecodeProperties(bytes, &back).ok());
  for (const uint32_t tag : {63u, 10u}) {  // 10 is reserved
    std::string newer = bytes;
    base::AppendVarint32(&newer, tag);
    base::AppendLengthPrefixed(&newer, "not to be skipped");
    EXPECT_TRUE(DecodeProperties(newer, &back).IsNotSupported()) << tag;
  }
}

}  // namespace
}  // namespace mergedb::format
