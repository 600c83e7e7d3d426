// Goal: the reader returns each written value by its blob index, from the file or the cache, compressed or
// not. A wrong blob index or a damaged file gives an error, never another value. Method: files in memory;
// every byte flipped, every length cut.
#include "blob/reader.h"

#include "tests/unit/blob/blob_rows.h"

namespace mergedb::blob {
namespace {

using testing::BytewiseOrder;
using testing::MemoryFiles;
using testing::SomeValues;
using testing::ValuePath;
using testing::ValueRow;
using testing::WriteValues;

std::string Get(const Reader& reader, const format::BlobIndex& reference, std::string_view key) {
  Found found;
  const Status status = reader.Get(reference, key, {}, &found);
  return status.ok() ? std::string(found.value) : std::string(CodeName(status.code()));
}

TEST(BlobReader, ReadsWhatWasWritten) {
  for (const Compression codec : {Compression::kNone, Compression::kSnappy, Compression::kZstd, Compression::kLz4}) {
    for (const bool is_direct : {false, true}) {
      MemoryFiles files;
      base::BlockCache blocks(1 << 20);
      auto rows = SomeValues(300, 5'000);
      rows.push_back({"", "of an empty key"});
      rows.push_back({"empty", ""});
      rows.push_back({"large", std::string(3 << 20, 'x')});
      const auto meta = WriteValues(&files, 7, &rows, {.compression = codec, .is_direct = is_direct});
      EXPECT_EQ(meta->records, rows.size());
      EXPECT_EQ(meta->bytes, files.bytes(ValuePath(7)).size());
      EXPECT_EQ(meta->bytes % 4096, 0u);
      if (codec != Compression::kNone) { EXPECT_LT(meta->bytes, 1u << 20) << "they repeat themselves"; }
      auto reader = Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), &blocks);
      ASSERT_TRUE(reader.has_value()) << reader.status().ToString();
      for (int round = 0; round < 2; ++round) {  // the second round reads from the cache, if the values fit
        for (const ValueRow& row : rows) EXPECT_EQ(Get(**reader, row.reference, row.key), row.value) << row.key;
      }
      EXPECT_TRUE((*reader)->CheckIntegrity().ok()) << (*reader)->CheckIntegrity().ToString();
    }
  }
}

// A read without checksums must not put damaged bytes into the cache for reads with checksums.
TEST(BlobReader, AValueThatWasReadWithoutChecksumsIsCachedOnlyIfItIsWhole) {
  for (const Compression codec : {Compression::kNone, Compression::kLz4}) {
    MemoryFiles files;
    base::BlockCache blocks(1 << 20);
    auto rows = SomeValues(3, 5'000);
    const auto meta = WriteValues(&files, 7, &rows, {.compression = codec});
    auto reader = Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), &blocks);
    ASSERT_TRUE(reader.has_value());
    char& byte = files.bytes(ValuePath(7))[rows[1].reference.offset + 40];
    Found found;
    byte ^= 1;
    (void)(*reader)->Get(rows[1].reference, rows[1].key, {.verify_checksums = false},
                         &found);  // the result of the damaged read does not matter
    EXPECT_EQ(Get(**reader, rows[1].reference, rows[1].key), "Corruption");
    byte ^= 1;
    ASSERT_TRUE((*reader)->Get(rows[1].reference, rows[1].key, {.verify_checksums = false}, &found).ok());
    byte ^= 1;
    EXPECT_EQ(Get(**reader, rows[1].reference, rows[1].key), rows[1].value) << "a whole value stays in the cache";
  }
}

// The bits of a mapped page may change on the disk after the first read.
TEST(BlobReader, AMappedFileIsReadInPlaceAndVerifiedAtEachRead) {
  for (const Compression codec : {Compression::kNone, Compression::kLz4}) {
    MemoryFiles files;
    base::BlockCache blocks(1 << 20);
    auto rows = SomeValues(20, 2'000);
    const auto meta = WriteValues(&files, 7, &rows, {.compression = codec});
    auto reader = Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), &blocks, nullptr, testing::Mapping());
    ASSERT_TRUE(reader.has_value());
    const uint64_t reads = files.reads;
    for (const ValueRow& row : rows) EXPECT_EQ(Get(**reader, row.reference, row.key), row.value) << row.key;
    if (codec == Compression::kNone) {
      EXPECT_EQ(files.reads, reads);
      EXPECT_EQ(blocks.bytes(), 0u);
    }
    EXPECT_EQ(Get(**reader, rows[1].reference, rows[2].key), "Corruption") << "the value of another key";
    if (codec != Compression::kNone) {
      EXPECT_GT(blocks.bytes(), 0u) << "decompressed values are cached";
      continue;
    }
    files.bytes(ValuePath(7))[rows[1].reference.offset + 40] ^= 1;
    EXPECT_EQ(Get(**reader, rows[1].reference, rows[1].key), "Corruption");
    EXPECT_EQ(Get(**reader, rows[2].reference, rows[2].key), rows[2].value);
  }
}

// A forged MANIFEST may claim such a size.
TEST(BlobReader, ASizeThatTheFileDoesNotHaveAllocatesNothing) {
  MemoryFiles files;
  auto rows = SomeValues(3, 5'000);
  format::BlobFileMeta forged = *WriteValues(&files, 7, &rows);
  forged.bytes = forged.record_bytes = uint64_t{1} << 60;
  EXPECT_TRUE(Reader::Open(&files, ValuePath(7), forged, BytewiseOrder(), nullptr).status().IsCorruption());
  auto reader = Reader::OpenUnchecked(&files, ValuePath(7), forged, BytewiseOrder());
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(Get(**reader, rows[1].reference, rows[1].key), rows[1].value);
  format::BlobIndex far = rows[1].reference;
  far.bytes = 0xffff'ffff;
  EXPECT_EQ(Get(**reader, far, rows[1].key), "Corruption");
}

TEST(BlobReader, ReadsAFileThatOverwroteARecycledOne) {
  for (const size_t recycled_bytes : {size_t{0}, size_t{5'000}, size_t{4 << 20}}) {
    MemoryFiles files;
    auto spare = files.Open(ValuePath(7), {.access = Access::kCreate});
    ASSERT_TRUE(spare.has_value());
    ASSERT_TRUE((*spare)->WriteAt(0, std::string(recycled_bytes, 'x')).ok());
    auto rows = SomeValues(300, 5'000);
    const auto meta = WriteValues(&files, 7, &rows, {.is_reuse = true});
    EXPECT_EQ(files.bytes(ValuePath(7)).size(), meta->bytes);
    EXPECT_EQ(meta->bytes, format::BlobFileBytes(meta->record_bytes)) << "what is too much is cut off";
    EXPECT_EQ(files.bytes(ValuePath(7)).find("xxxx"), std::string::npos) << "nothing of the dead file is left";
    auto reader = Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), nullptr);
    ASSERT_TRUE(reader.has_value()) << reader.status().ToString();
    for (const ValueRow& row : rows) EXPECT_EQ(Get(**reader, row.reference, row.key), row.value) << row.key;
    EXPECT_TRUE((*reader)->CheckIntegrity().ok());
  }
}

TEST(BlobReader, AWrongBlobIndexIsCorruption) {
  for (const bool has_cache : {false, true}) {
    MemoryFiles files;
    base::BlockCache blocks(1 << 20);
    auto rows = SomeValues(20, 200);
    const auto meta = WriteValues(&files, 7, &rows);
    auto reader = Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), has_cache ? &blocks : nullptr);
    ASSERT_TRUE(reader.has_value());
    for (const ValueRow& row : rows) ASSERT_EQ(Get(**reader, row.reference, row.key), row.value);
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      EXPECT_EQ(Get(**reader, rows[i + 1].reference, rows[i].key), "Corruption") << "of another key";
    }
    const format::BlobIndex right = rows[5].reference;
    for (const int64_t by : {-1, 1, 8, 4096}) {
      format::BlobIndex wrong = right;
      wrong.offset += static_cast<uint64_t>(by);
      EXPECT_EQ(Get(**reader, wrong, rows[5].key), "Corruption") << by;
      if (has_cache) continue;  // the cache finds the value by its offset; it was checked when it was read
      wrong = right;
      wrong.bytes += static_cast<uint32_t>(by);
      EXPECT_EQ(Get(**reader, wrong, rows[5].key), "Corruption") << by;
    }
    EXPECT_EQ(Get(**reader, {.file = right.file, .offset = UINT64_MAX, .bytes = 100}, rows[5].key), "Corruption");
    EXPECT_EQ(Get(**reader, {.file = right.file, .offset = 0, .bytes = UINT32_MAX}, rows[5].key), "Corruption");
    EXPECT_EQ(Get(**reader, {.file = right.file, .offset = meta->record_bytes, .bytes = 10}, rows[5].key), "Corruption")
        << "padding is no value";
  }
}

TEST(BlobReader, AFileOfTheSameShapeInThePlaceOfAnotherIsNoticed) {
  MemoryFiles files;
  auto rows = SomeValues(20, 200), others = rows;
  const auto meta = WriteValues(&files, 7, &rows);
  const auto other = WriteValues(&files, 8, &others);
  std::swap(files.bytes(ValuePath(7)), files.bytes(ValuePath(8)));
  EXPECT_TRUE(Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), nullptr).status().IsCorruption());
  EXPECT_TRUE(Reader::Open(&files, ValuePath(8), *other, BytewiseOrder(), nullptr).status().IsCorruption());
}

class CaseFolding final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return Fold(a).compare(Fold(b)); }
  std::string_view Name() const override { return "reader_test.case"; }

 private:
  static std::string Fold(std::string_view text) {
    std::string folded(text);
    for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return folded;
  }
};

TEST(BlobReader, TakesKeysForEqualThatTheComparatorDoes) {
  MemoryFiles files;
  const CaseFolding folding;
  std::vector<ValueRow> rows{{"Apple", std::string(1'000, 'g')}};
  const auto meta = WriteValues(&files, 7, &rows);
  auto reader = Reader::Open(&files, ValuePath(7), *meta, kv::Order(&folding), nullptr);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(Get(**reader, rows[0].reference, "aPPLE"), rows[0].value);
  EXPECT_EQ(Get(**reader, rows[0].reference, "pear"), "Corruption");
}

// Reads everything; true if a read reports an error. Every value that is read must be right.
bool IsNoticed(MemoryFiles* files, const format::BlobFileMeta& meta, const std::vector<ValueRow>& rows) {
  auto reader = Reader::Open(files, ValuePath(7), meta, BytewiseOrder(), nullptr);
  if (!reader) return true;
  bool is_noticed = !(*reader)->CheckIntegrity().ok();
  for (const ValueRow& row : rows) {
    Found found;
    const Status status = (*reader)->Get(row.reference, row.key, {}, &found);
    EXPECT_TRUE(!status.ok() || found.value == row.value) << row.key;
    is_noticed |= !status.ok();
  }
  return is_noticed;
}

class BlobDamage : public ::testing::TestWithParam<Compression> {};
INSTANTIATE_TEST_SUITE_P(Codecs, BlobDamage, ::testing::Values(Compression::kNone, Compression::kLz4),
                         [](const auto& codec) { return codec.param == Compression::kNone ? "None" : "Lz4"; });

TEST_P(BlobDamage, EveryFlippedByteAndEveryOtherLengthIsNoticed) {
  MemoryFiles files;
  auto rows = SomeValues(12, 150);
  const auto meta = WriteValues(&files, 7, &rows, {.compression = GetParam()});
  const std::string whole = files.bytes(ValuePath(7));
  ASSERT_FALSE(IsNoticed(&files, *meta, rows));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    files.bytes(ValuePath(7)) = damaged;
    EXPECT_TRUE(IsNoticed(&files, *meta, rows)) << i;
  }
  for (size_t length = 0; length < whole.size(); length += 61) {
    files.bytes(ValuePath(7)) = whole.substr(0, length);
    EXPECT_TRUE(IsNoticed(&files, *meta, rows)) << length;
  }
  files.bytes(ValuePath(7)) = whole + std::string(4096, '\0');
  EXPECT_TRUE(IsNoticed(&files, *meta, rows));
  files.bytes(ValuePath(7)) = std::string(whole.size(), '\0');
  EXPECT_TRUE(IsNoticed(&files, *meta, rows));
}

TEST(BlobReader, AnErrorSaysFileAndOffset) {
  MemoryFiles files;
  auto rows = SomeValues(3, 150);
  const auto meta = WriteValues(&files, 7, &rows);
  files.bytes(ValuePath(7))[rows[1].reference.offset + 40] ^= 1;
  auto reader = Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), nullptr);
  Found found;
  const std::string text = (*reader)->Get(rows[1].reference, rows[1].key, {}, &found).ToString();
  EXPECT_NE(text.find("000007.val: value at " + std::to_string(rows[1].reference.offset)), std::string::npos) << text;
  EXPECT_EQ(Get(**reader, rows[2].reference, rows[2].key), rows[2].value) << "the others are whole";
}

TEST(BlobWriter, AFullDiskIsAnError) {
  MemoryFiles files;
  auto writer = Writer::Create(&files, ValuePath(7), kv::FileNumber{7}, 1, {});
  ASSERT_TRUE(writer.has_value());
  files.writes_left = 0;
  format::BlobIndex reference;
  Status status;
  for (int i = 0; i < 30 && status.ok(); ++i) status = (*writer)->Add("key", std::string(100'000, 'v'), &reference);
  EXPECT_EQ(status.code(), Code::kNoSpace);
}

// The buffer holds 1 MiB. It may end anywhere in the second record, the padding or the footer: a failed write
// of the buffer always fails the file.
TEST(BlobWriter, AFullDiskIsAnErrorWhereverItsBufferEnds) {
  constexpr size_t kBuffer = 1 << 20;
  for (size_t behind = 0; behind < 4400; behind += behind < 160 ? 1 : 53) {
    SCOPED_TRACE(behind);
    MemoryFiles files;
    files.writes_left = 0;
    auto writer = Writer::Create(&files, ValuePath(7), kv::FileNumber{7}, 1, {});
    ASSERT_TRUE(writer.has_value());
    format::BlobIndex reference;
    Status status = (*writer)->Add("key", std::string(kBuffer - behind, 'v'), &reference);
    if (status.ok()) status = (*writer)->Add("another key", "value", &reference);
    if (status.ok()) status = (*writer)->Finish().status();
    EXPECT_EQ(status.code(), Code::kNoSpace) << status.ToString();
    EXPECT_EQ(status.message(), "files in memory are full");
  }
}

// ---- bytes with valid checksums ---------------------------------------------------------------------------

// A valid file of one record, except that `stored` is no compressed value.
format::BlobFileMeta ForgeValues(MemoryFiles* files, std::string_view stored, format::BlobIndex* reference) {
  char head[format::kRecordHeadBytesMax];
  const size_t head_bytes =
      format::StoreRecordHead(head, "key", stored, Compression::kLz4, {.unique_id = 1, .offset = 0});
  std::string bytes = std::string(head, head_bytes) + "key" + std::string(stored);
  format::BlobFileMeta meta{.number = kv::FileNumber{7}, .unique_id = 1};
  meta.records = 1;
  meta.record_bytes = bytes.size();
  meta.bytes = format::BlobFileBytes(bytes.size());
  *reference = {.file = meta.number, .offset = 0, .bytes = static_cast<uint32_t>(bytes.size())};
  bytes.resize(meta.bytes - format::kBlobFooterBytes);
  bytes += format::EncodeBlobFooter(meta);
  EXPECT_TRUE(files->Open(ValuePath(7), {.access = Access::kCreate}).has_value());
  files->bytes(ValuePath(7)) = bytes;
  return meta;
}

TEST(ForgedValues, ThatCannotBeDecompressedAreCorruption) {
  const std::string claims_100_bytes("\x64\0\0\0", 4);
  for (const std::string& stored : {std::string(10, '\xff'), claims_100_bytes + std::string(10, '\xff')}) {
    MemoryFiles files;
    base::BlockCache blocks(1 << 20);
    format::BlobIndex reference;
    const format::BlobFileMeta meta = ForgeValues(&files, stored, &reference);
    for (base::BlockCache* const cache : {static_cast<base::BlockCache*>(nullptr), &blocks}) {
      auto reader = Reader::Open(&files, ValuePath(7), meta, BytewiseOrder(), cache);
      ASSERT_TRUE(reader.has_value()) << reader.status().ToString();
      for (const Status& status : {[&] {
                                     Found found;
                                     return (*reader)->Get(reference, "key", {}, &found);
                                   }(),
                                   (*reader)->CheckIntegrity()}) {
        EXPECT_TRUE(status.IsCorruption()) << status.ToString();
        EXPECT_NE(status.message().find("000007.val: value at 0"), std::string_view::npos) << status.ToString();
      }
    }
  }
}

TEST(BlobErrors, EachReadThatFailsIsAnErrorOfTheCheck) {
  MemoryFiles files;
  auto rows = SomeValues(40, 200'000);  // more bytes than one read holds
  const auto meta = WriteValues(&files, 7, &rows);
  auto reader = Reader::Open(&files, ValuePath(7), *meta, BytewiseOrder(), nullptr);
  ASSERT_TRUE(reader.has_value());
  uint64_t failed = 0;
  for (;; ++failed) {
    files.reads_left = failed;
    const Status status = (*reader)->CheckIntegrity();
    if (status.ok()) break;
    EXPECT_EQ(status.code(), Code::kIOError) << status.ToString();
    EXPECT_NE(status.message().find("000007.val"), std::string_view::npos) << status.ToString();
    ASSERT_LT(failed, 1000u);
  }
  EXPECT_GT(failed, 5u);
}

}  // namespace
}  // namespace mergedb::blob
