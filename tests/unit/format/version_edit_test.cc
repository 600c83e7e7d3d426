// Goal: every VersionEdit decodes to itself; its bytes are those of docs/formats/manifest.md; other bytes are
// errors that name the place, and do no other harm.
#include "format/version_edit.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/random.h"
#include "format/file_name.h"

namespace mergedb::format::version_edit_test {
namespace {

FileMetaPtr NewFile() {
  return std::make_shared<const FileMeta>(FileMeta{
      .number = kv::FileNumber{12},
      .bytes = 4096,
      .unique_id = 0x1122334455667788,
      .entries = 300,
      .tombstones = 2,
      .raw_bytes = 5000,
      .smallest_sequence = 7,
      .largest_sequence = 306,
      .smallest = "apple",
      .largest = "plum",
      .values = {{.file = kv::FileNumber{7}, .bytes = 100}, {.file = kv::FileNumber{11}, .bytes = 4000}},
  });
}

VersionEdit FullEdit() {
  VersionEdit edit;
  edit.cuts.push_back({.position = kv::Position{9}, .bounds = {.lower = "b", .upper = {}}});
  edit.cuts.push_back({.position = kv::Position{8}, .bounds = {}});
  edit.adds.push_back(
      {.position = kv::Position{9}, .level = 1, .file = NewFile(), .bounds = {.lower = {}, .upper = "m"}});
  edit.levels.push_back({.position = kv::Position{9}, .level = kBottommostLevel});
  edit.blob_files.push_back({std::make_shared<const BlobFileMeta>(BlobFileMeta{.number = kv::FileNumber{11},
                                                                               .bytes = 8192,
                                                                               .unique_id = 0x99aabbccddeeff00,
                                                                               .records = 3,
                                                                               .record_bytes = 5000})});
  edit.database_id = 0x0102030405060708;
  edit.comparator = "mergedb.bytewise";
  edit.next_file = kv::FileNumber{13};
  edit.next_position = kv::Position{10};
  edit.last_sequence = 306;
  edit.wal_start = {.epoch = 2, .salt = 0xa1a2a3a4a5a6a7a8, .position = 65536, .chain = 0xdeadbeef, .sequence = 307};
  edit.wal_durable = 70000;
  edit.wal_segments = {kv::FileNumber{10}, kv::FileNumber{11}};
  edit.clean_wal_end = 70008;
  edit.flushed_sequence = 300;
  edit.key_marker = "\xff";
  edit.staging_bytes = 65536;
  edit.merge_operators = std::vector<std::string>{"a.b", "c"};
  return edit;
}

// FullEdit, field by field: tag, payload length, payload. Also in docs/formats/manifest.md.
// clang-format off
constexpr const char* kGolden[] = {
    "01" "04" "09" "01" "0162",
    "01" "02" "08" "00",
    "02" "24" "09" "01" "02" "016d" "0c" "8020" "8877665544332211" "ac02" "02" "8827" "07" "b202" "056170706c65"
    "04706c756d" "00",
    "03" "03" "09" "e807",
    "14" "0e" "0b" "8040" "00ffeeddccbbaa99" "03" "8827",
    "15" "06" "0c" "07" "64" "04" "a01f",
    "04" "08" "0807060504030201",
    "05" "10" "6d657267656462" "2e" "6279746577697365",
    "06" "01" "0d",
    "07" "01" "0a",
    "08" "02" "b202",
    "09" "12" "02" "a8a7a6a5a4a3a2a1" "808004" "efbeadde" "b302",
    "0a" "03" "f0a204",
    "0b" "02" "0a0b",
    "0c" "03" "f8a204",
    "10" "02" "ac02",
    "18" "01" "ff",
    "40" "03" "808004",
    "41" "06" "03612e62" "0163",
};
// clang-format on

std::string Field(uint32_t tag, std::string_view payload) {
  std::string bytes;
  base::AppendVarint32(&bytes, tag);
  base::AppendLengthPrefixed(&bytes, payload);
  return bytes;
}

std::string FromHexOrDie(std::string_view hex) {
  std::string bytes;
  EXPECT_TRUE(base::FromHex(hex, &bytes)) << hex;
  return bytes;
}

std::string GoldenHex() {
  std::string hex;
  for (const char* field : kGolden) hex += field;
  return hex;
}

Status DecodeStatus(std::string_view bytes) { return DecodeVersionEdit(bytes).status(); }

TEST(VersionEdit, IsTheBytesOfTheSpecification) { EXPECT_EQ(base::ToHex(EncodeVersionEdit(FullEdit())), GoldenHex()); }

TEST(VersionEdit, StoredBytesStillDecode) {
  const auto edit = DecodeVersionEdit(FromHexOrDie(GoldenHex()));
  ASSERT_TRUE(edit) << edit.status().ToString();
  EXPECT_TRUE(*edit == FullEdit()) << base::ToHex(EncodeVersionEdit(*edit));
}

// A file with range tombstones has tag 13 and a fact after its description. Also in docs/formats/manifest.md.
TEST(VersionEdit, AFileWithRangeTombstonesHasAFactOfItsOwn) {
  FileMeta file = *NewFile();
  file.range_tombstones = 3;
  file.largest_is_open = true;
  file.masked_bytes = 70'000;
  VersionEdit edit;
  edit.adds.push_back(
      {.position = kv::Position{9}, .level = 1, .file = std::make_shared<const FileMeta>(file), .bounds = {}});
  const std::string add =
      "09"
      "01"
      "00"
      "0c"
      "8020"
      "8877665544332211"
      "ac02"
      "02"
      "8827"
      "07"
      "b202"
      "056170706c65"
      "04706c756d"
      "00";
  EXPECT_EQ(base::ToHex(EncodeVersionEdit(edit)),
            "0d"
            "29" +
                add +
                "01"
                "05"
                "03"
                "01"
                "f0a204"
                "15"
                "06"
                "0c"
                "0764"
                "04a01f");
  const auto back = DecodeVersionEdit(EncodeVersionEdit(edit));
  ASSERT_TRUE(back) << back.status().ToString();
  EXPECT_TRUE(*back == edit) << base::ToHex(EncodeVersionEdit(*back));

  const auto decode = [&](std::string_view facts) {
    return DecodeStatus(Field(13, FromHexOrDie(add) + FromHexOrDie(facts)));
  };
  EXPECT_TRUE(decode("").ok());
  EXPECT_TRUE(decode("40"
                     "03"
                     "010203")
                  .ok())
      << "one of the future that may be skipped";
  EXPECT_TRUE(decode("3f"
                     "03"
                     "010203")
                  .IsNotSupported())
      << "one of the future that may not";
  EXPECT_TRUE(decode("01"
                     "03"
                     "00"
                     "01"
                     "05")
                  .IsCorruption())
      << "no range tombstones";
  EXPECT_TRUE(decode("01"
                     "03"
                     "03"
                     "02"
                     "05")
                  .IsCorruption())
      << "an unknown flag";
  EXPECT_TRUE(decode("01"
                     "04"
                     "03"
                     "01"
                     "05"
                     "05")
                  .IsCorruption())
      << "too long";
  EXPECT_TRUE(decode("01"
                     "02"
                     "03"
                     "01")
                  .IsCorruption())
      << "too short";
  EXPECT_TRUE(decode("01"
                     "05"
                     "03")
                  .IsCorruption())
      << "cut";
}

TEST(VersionEdit, OfNothingIsNoBytes) {
  EXPECT_EQ(EncodeVersionEdit({}), "");
  const auto edit = DecodeVersionEdit("");
  ASSERT_TRUE(edit);
  EXPECT_TRUE(*edit == VersionEdit());
}

TEST(VersionEdit, ExtremesComeBack) {
  VersionEdit edit;
  FileMeta file{.number = kv::FileNumber{kFileNumberMax},
                .bytes = UINT64_MAX,
                .unique_id = UINT64_MAX,
                .entries = UINT64_MAX,
                .tombstones = UINT64_MAX,
                .raw_bytes = UINT64_MAX,
                .smallest_sequence = 0,
                .largest_sequence = kv::kSequenceMax,
                .smallest = "",
                .largest = std::string(100000, '\xff')};
  edit.adds.push_back({.position = kv::Position{uint64_t{1} << 62},
                       .level = UINT32_MAX,
                       .file = std::make_shared<const FileMeta>(file),
                       .bounds = {.lower = "", .upper = ""}});
  edit.comparator = "";
  edit.wal_segments.emplace();
  edit.wal_start = {
      .epoch = UINT64_MAX, .salt = 0, .position = UINT64_MAX, .chain = UINT32_MAX, .sequence = kv::kSequenceMax};
  edit.last_sequence = 0;
  const auto decoded = DecodeVersionEdit(EncodeVersionEdit(edit));
  ASSERT_TRUE(decoded) << decoded.status().ToString();
  EXPECT_TRUE(*decoded == edit) << base::ToHex(EncodeVersionEdit(*decoded));
}

// Each number and each position must have a successor.
TEST(VersionEdit, RefusesNumbersWithoutASuccessor) {
  VersionEdit edit;
  edit.next_file = kv::FileNumber{kFileNumberMax + 1};
  EXPECT_TRUE(DecodeVersionEdit(EncodeVersionEdit(edit)).status().IsCorruption());
  edit = {};
  edit.next_position = kv::Position{UINT64_MAX};
  EXPECT_TRUE(DecodeVersionEdit(EncodeVersionEdit(edit)).status().IsCorruption());
}

TEST(VersionEdit, AnUnknownFieldBelow64NeedsANewerVersion) {
  for (const uint32_t tag : {0u, 40u, 63u}) {
    EXPECT_EQ(DecodeStatus(Field(tag, "x")).code(), Code::kNotSupported) << tag;
  }
}

TEST(VersionEdit, AnUnknownFieldFrom64UpIsSkipped) {
  const auto edit = DecodeVersionEdit(Field(99, "ignored") + EncodeVersionEdit(FullEdit()) + Field(UINT32_MAX, ""));
  ASSERT_TRUE(edit) << edit.status().ToString();
  EXPECT_TRUE(*edit == FullEdit());
}

TEST(VersionEdit, EveryTruncationIsAnErrorUnlessItEndsBetweenFields) {
  const std::string bytes = EncodeVersionEdit(FullEdit());
  size_t border = 0, field = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    const Status status = DecodeStatus(cut);
    if (length == border) {
      EXPECT_TRUE(status.ok()) << length << " " << status.ToString();
      border += std::string_view(kGolden[field++]).size() / 2;
    } else {
      EXPECT_TRUE(status.IsCorruption()) << length;
    }
  }
}

TEST(VersionEdit, EveryTruncatedOrLengthenedPayloadIsCorruption) {
  for (const char* golden : kGolden) {
    const std::string field = FromHexOrDie(golden);  // tags and lengths are one byte each
    const auto tag = static_cast<uint8_t>(field[0]);
    const std::string payload = field.substr(2);
    if (tag == 21) continue;  // refers to an earlier add: tested below
    const bool is_list =
        tag == 5 || tag == 11 || tag == 65 || tag == 24;  // any payload is a name, any varints or strings a list
    for (size_t length = 0; length < payload.size() && !is_list; ++length) {
      EXPECT_TRUE(DecodeStatus(Field(tag, payload.substr(0, length))).IsCorruption()) << golden << " " << length;
    }
    if (!is_list) { EXPECT_TRUE(DecodeStatus(Field(tag, payload + "\x01")).IsCorruption()) << golden; }
  }
  EXPECT_TRUE(DecodeStatus(Field(11, "\x80")).IsCorruption());
  EXPECT_TRUE(DecodeStatus(Field(24, "")).IsCorruption());
  EXPECT_TRUE(DecodeStatus(Field(24, std::string(17, 'm'))).IsCorruption());
}

TEST(VersionEdit, AFactStatedTwiceIsCorruption) {
  for (size_t index = 6; index < std::size(kGolden); ++index) {
    const std::string field = FromHexOrDie(kGolden[index]);
    EXPECT_TRUE(DecodeStatus(field).ok());
    EXPECT_TRUE(DecodeStatus(field + field).IsCorruption()) << kGolden[index];
  }
}

TEST(VersionEdit, ValuesOutOfRangeAreCorruption) {
  std::string sequence;
  base::AppendVarint64(&sequence, kv::kSequenceMax + 1);
  EXPECT_TRUE(DecodeStatus(Field(8, sequence)).IsCorruption());
  EXPECT_TRUE(DecodeStatus(Field(1, FromHexOrDie("0904"))).IsCorruption()) << "an unknown bounds flag";
  EXPECT_TRUE(DecodeStatus(Field(3, FromHexOrDie("09ffffffff1f"))).IsCorruption()) << "a level of 33 bits";

  const auto status_of = [](void (*spoil)(FileMeta*)) {
    FileMeta file = *NewFile();
    spoil(&file);
    VersionEdit edit;
    edit.adds.push_back({.position = kv::Position{1}, .file = std::make_shared<const FileMeta>(file), .bounds = {}});
    return DecodeStatus(EncodeVersionEdit(edit));
  };
  EXPECT_TRUE(status_of([](FileMeta*) {}).ok());
  EXPECT_TRUE(status_of([](FileMeta* file) { file->tombstones = file->entries + 1; }).IsCorruption());
  EXPECT_TRUE(status_of([](FileMeta* file) { file->smallest_sequence = file->largest_sequence + 1; }).IsCorruption());
  EXPECT_TRUE(status_of([](FileMeta* file) { file->largest_sequence = kv::kSequenceMax + 1; }).IsCorruption());

  FileMeta plain{.number = kv::FileNumber{1}, .entries = 1, .smallest = "a", .largest = "b"};
  VersionEdit edit;
  edit.adds.push_back({.position = kv::Position{1}, .file = std::make_shared<const FileMeta>(plain), .bounds = {}});
  std::string bytes = EncodeVersionEdit(edit);
  ASSERT_TRUE(DecodeStatus(bytes).ok());
  ASSERT_EQ(bytes.back(), '\0') << "the reserved number ends a file";
  bytes.back() = '\1';
  EXPECT_TRUE(DecodeStatus(bytes).IsNotSupported());
}

TEST(VersionEdit, ValueSharesAreOfATableBeforeThemAndInOrder) {
  VersionEdit edit;
  edit.adds.push_back({.position = kv::Position{1}, .file = NewFile(), .bounds = {}});
  const std::string table = EncodeVersionEdit(edit);
  const auto shares = [](std::string_view hex) { return Field(21, FromHexOrDie(hex)); };
  EXPECT_TRUE(DecodeStatus(table).ok());
  EXPECT_TRUE(DecodeStatus(table + shares("0c076404a01f")).ok()) << "said twice";
  EXPECT_TRUE(DecodeStatus(table + shares("0c0764")).IsCorruption()) << "said twice, and not the same";
  EXPECT_TRUE(DecodeStatus(shares("0c0764")).IsCorruption()) << "no such table yet";
  EXPECT_TRUE(DecodeStatus(table + shares("0d0764")).IsCorruption()) << "another table";
  EXPECT_TRUE(DecodeStatus(table + shares("0c07640064")).IsCorruption()) << "the same blob file twice";
  EXPECT_TRUE(DecodeStatus(table + shares("0c0764ffffffffffffffffff0164")).IsCorruption()) << "back to the start";
  EXPECT_TRUE(DecodeStatus(table + shares("0c07")).IsCorruption()) << "cut short";
  EXPECT_TRUE(DecodeStatus(Field(20, FromHexOrDie("0b"
                                                  "01"
                                                  "0000000000000000"
                                                  "03"
                                                  "02")))
                  .IsCorruption())
      << "more bytes of records than the file has";
}

// A compaction took the middle of a table. Two virtual tables, on both sides of the new table, show the rest.
TEST(VersionEdit, SharesOfATableAreThoseOfAllItsAdds) {
  FileMeta middle = *NewFile();
  middle.number = kv::FileNumber{13};
  middle.values = {{.file = kv::FileNumber{14}, .bytes = 5}};
  VersionEdit edit;
  for (const FileMetaPtr& file : {NewFile(), std::make_shared<const FileMeta>(middle), NewFile()}) {
    edit.adds.push_back({.position = kv::Position{1}, .file = file, .bounds = {}});
  }
  const auto decoded = DecodeVersionEdit(EncodeVersionEdit(edit));
  ASSERT_TRUE(decoded) << decoded.status().ToString();
  EXPECT_TRUE(*decoded == edit);
}

TEST(VersionEdit, AddsOfATableWithSharesSayTheSameOfIt) {
  FileMeta other = *NewFile();
  other.bytes += 4096;
  VersionEdit edit;
  edit.adds.push_back({.position = kv::Position{1}, .file = NewFile(), .bounds = {}});
  edit.adds.push_back({.position = kv::Position{1}, .file = std::make_shared<const FileMeta>(other), .bounds = {}});
  EXPECT_TRUE(DecodeStatus(EncodeVersionEdit(edit)).IsCorruption());
}

// Symptom: a MANIFEST of 7 MB kept every open, verify and repair busy for minutes. Cause: for each field of
// shares the decoder looped over all adds, and each add of the same table copied the shares.
TEST(VersionEdit, HostileSharesCostNoMoreThanTheirBytes) {
  constexpr uint64_t kAdds = 50'000;
  const auto add = [](uint64_t number) {
    FileMeta plain{.number = kv::FileNumber{number}, .entries = 1, .smallest = "a", .largest = "b"};
    return VersionEdit::Add{.position = kv::Position{1}, .file = std::make_shared<const FileMeta>(plain), .bounds = {}};
  };
  VersionEdit tables, slices;  // many tables; one table in many virtual tables
  for (uint64_t number = 1; number <= kAdds; ++number) {
    tables.adds.push_back(add(number));
    slices.adds.push_back(add(7));
  }
  const std::string empty = Field(21, "\x07");
  std::string often, shares(1, '\x07');
  for (int i = 0; i < 500'000; ++i) {
    often += empty;
    shares += "\x01\x01";
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(DecodeStatus(EncodeVersionEdit(tables) + often).ok());
  EXPECT_TRUE(DecodeStatus(EncodeVersionEdit(slices) + often).ok());
  EXPECT_TRUE(DecodeStatus(EncodeVersionEdit(slices) + Field(21, shares)).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(VersionEdit, AnErrorSaysFieldOffsetExpectedAndFound) {
  EXPECT_EQ(DecodeStatus(Field(6, "\x0d") + Field(3, "\x09")).ToString(),
            "Corruption: VersionEdit field 3 at offset 3: payload offset 1 of 1: expected a varint32, found the end");
  EXPECT_EQ(DecodeStatus("\x06\x05\x01").ToString(),
            "Corruption: VersionEdit offset 0 of 3: expected a tag, a length and as many bytes, found 060501");
}

TEST(VersionEdit, FlippedAndRandomBytesNeverDoMoreThanFail) {
  const uint64_t seed = 13;
  SCOPED_TRACE(seed);
  base::Random random(seed);
  const std::string bytes = EncodeVersionEdit(FullEdit());
  for (int round = 0; round < 3000; ++round) {
    std::string hostile = bytes;
    for (uint64_t flips = 1 + random.Uniform(4); flips > 0; --flips) {
      hostile[random.Uniform(hostile.size())] = static_cast<char>(random.Next());
    }
    if (random.OneIn(4)) hostile.resize(random.Uniform(hostile.size()));
    const auto edit = DecodeVersionEdit(hostile);
    if (edit) {  // then it is a valid VersionEdit
      const auto again = DecodeVersionEdit(EncodeVersionEdit(*edit));
      ASSERT_TRUE(again) << again.status().ToString();
      ASSERT_TRUE(*again == *edit);
    }
  }
}

}  // namespace
}  // namespace mergedb::format::version_edit_test
