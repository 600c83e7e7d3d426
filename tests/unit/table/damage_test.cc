// Goal: no damage to a table file ever shows wrong data: a read reports it, or it does no harm. No damage
// crashes the reader. Method: a small table; every bit of every byte flipped, every length cut, every page
// zeroed; then all reads are compared.
#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "format/table_layout.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::table {
namespace {

using testing::Bytewise;
using testing::MemoryFiles;
using testing::Row;

std::vector<Row> Rows() {
  std::vector<Row> rows;
  for (int i = 0; i < 30; ++i) {
    const std::string key = "key" + std::to_string(100 + i / 2);
    rows.push_back(
        {key, kv::MakeTag(static_cast<kv::Sequence>(100 - i), kv::Kind::kPut), "value " + std::to_string(i)});
  }
  return rows;
}

// A scan that skips unreadable parts shows whole rows in order, and reports it if rows are missing.
bool IsNoticedWhenPassedOver(const Reader& reader, const std::vector<Row>& rows, bool is_forward) {
  kv::SkippedErrors skipped;
  const auto it = reader.NewIterator({.skipped = &skipped});
  size_t at = is_forward ? 0 : rows.size(), shown = 0;
  for (is_forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); is_forward ? it->Next() : it->Prev(), ++shown) {
    const auto is_shown = [&](const Row& row) {
      return row.key == it->entry().key && row.tag == it->entry().tag && row.value == it->entry().value;
    };
    while (is_forward ? at < rows.size() && !is_shown(rows[at]) : at > 0 && !is_shown(rows[at - 1])) {
      is_forward ? ++at : --at;
    }
    EXPECT_NE(at, is_forward ? rows.size() : 0) << it->entry().key << " is out of order, or no row";
    if (at == (is_forward ? rows.size() : 0)) break;
    is_forward ? ++at : --at;
  }
  EXPECT_TRUE(it->status().ok());
  EXPECT_EQ(shown < rows.size(), !skipped.first().ok()) << shown << " of " << rows.size();
  return !skipped.first().ok();
}

// Reads everything; true if a read reports an error. Every row that is read must be right.
bool IsNoticed(MemoryFiles* files, const format::FileMetaPtr& meta, const std::vector<Row>& rows, bool is_mapped) {
  auto reader = Reader::Open(files, "7.tbl", meta, Bytewise(), nullptr, {.memory = testing::Mapping(is_mapped)});
  if (!reader) return true;
  bool is_noticed = !(*reader)->CheckIntegrity().ok();
  EXPECT_EQ((*reader)->range_tombstones().tombstones(), 6u);
  EXPECT_EQ((*reader)->range_tombstones().MaskingSequence(Bytewise(), "key103", kv::kSequenceMax), 300u);
  EXPECT_EQ((*reader)->range_tombstones().MaskingSequence(Bytewise(), "key103", 50), 7u);
  for (const Row& row : rows) {
    if (!(*reader)->MayContain(base::Hash64(row.key))) ADD_FAILURE() << "the filter denies " << row.key;
    Found found;
    const Status status = (*reader)->Get(row.key, kv::SequenceOf(row.tag), {}, &found);
    EXPECT_FALSE(status.IsNotFound());
    EXPECT_TRUE(!status.ok() || found.value == row.value) << row.key;
    is_noticed |= !status.ok();
  }
  for (const bool is_scan : {false, true}) {
    const auto it = is_scan ? (*reader)->NewScanIterator() : (*reader)->NewIterator({});
    size_t at = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++at) {
      EXPECT_LT(at, rows.size());
      EXPECT_TRUE(at >= rows.size() || it->entry().value == rows[at].value) << at;
    }
    is_noticed |= !it->status().ok();
    EXPECT_TRUE(at == rows.size() || !it->status().ok());
  }
  EXPECT_EQ(IsNoticedWhenPassedOver(**reader, rows, true), IsNoticedWhenPassedOver(**reader, rows, false));
  return is_noticed;
}

bool IsNoticed(MemoryFiles* files, const format::FileMetaPtr& meta, const std::vector<Row>& rows) {
  const bool by_reading = IsNoticed(files, meta, rows, false);
  EXPECT_EQ(IsNoticed(files, meta, rows, true), by_reading) << "a mapped table and one that is read";
  return by_reading;
}

class Damage : public ::testing::TestWithParam<Compression> {
 protected:
  void SetUp() override {
    const auto ranges = kv::RangeTombstones::Fragment(
        Bytewise(), {{"key", "key107", 200}, {"key103", "key2", 300}, {"key101", "key104", 7}}, kv::Stripes({50}),
        kv::RangeTombstones::Keys::kViews);
    meta_ = WriteTable(&files_, "7.tbl", Bytewise(), rows_,
                       {.compression = GetParam(), .block_bytes = 200, .range_tombstones = ranges});
    whole_ = files_.bytes("7.tbl");
    ASSERT_FALSE(IsNoticed(&files_, meta_, rows_));
  }
  void ExpectNoticed(std::string damaged, const std::string& what) {
    files_.bytes("7.tbl") = std::move(damaged);
    EXPECT_TRUE(IsNoticed(&files_, meta_, rows_)) << what;
  }

  const std::vector<Row> rows_ = Rows();
  MemoryFiles files_;
  format::FileMetaPtr meta_;
  std::string whole_;
};

TEST_P(Damage, EveryFlippedBitIsNoticed) {
  for (size_t at = 0; at < whole_.size(); ++at) {
    // Padding bytes are all alike: a few of them are enough.
    if (at > 1500 && at < 3900 && at % 97 != 0) continue;
    std::string damaged = whole_;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    ExpectNoticed(damaged, "byte " + std::to_string(at));
  }
}

TEST_P(Damage, EveryTruncationIsNoticed) {
  for (size_t bytes = 0; bytes < whole_.size(); bytes += bytes < 200 || bytes > 4000 ? 1 : 37) {
    ExpectNoticed(whole_.substr(0, bytes), "cut at " + std::to_string(bytes));
  }
}

TEST_P(Damage, ALongerFileIsNoticed) {
  ExpectNoticed(whole_ + "x", "one byte more");
  ExpectNoticed(whole_ + std::string(4096, '\0'), "a page more");
  ExpectNoticed(std::string(4096, '\0'), "zeros");
}

INSTANTIATE_TEST_SUITE_P(Codecs, Damage,
                         ::testing::Values(Compression::kNone, Compression::kSnappy, Compression::kLz4,
                                           Compression::kZstd));

TEST(Table, NoticesABlockInTheWrongPlaceAndAFileInThePlaceOfAnother) {
  MemoryFiles files;
  std::vector<Row> rows;
  for (int i = 0; i < 100; ++i) rows.push_back({std::to_string(100 + i), 1 << 8 | 1, std::string(100, 'v')});
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), rows, {.block_bytes = 1});
  std::string& bytes = files.bytes("7.tbl");
  const size_t block_bytes = 100 + 3 + 1 + 8 + 16 + 5;  // value, key, tag, offsets, tail, trailer
  std::string swapped =
      bytes.substr(block_bytes, block_bytes) + bytes.substr(0, block_bytes) + bytes.substr(2 * block_bytes);
  std::swap(bytes, swapped);
  auto reader = Reader::Open(&files, "7.tbl", meta, Bytewise(), nullptr);
  ASSERT_TRUE(reader.has_value());
  Found found;
  const Status status = (*reader)->Get("100", kv::kSequenceMax, {}, &found);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_NE(status.message().find("7.tbl: block at 0: checksum"), std::string_view::npos) << status.ToString();
  EXPECT_TRUE((*reader)->CheckIntegrity().IsCorruption());
}

// A misdirected write, or a block from the freed space of a deleted table, leaves such a block: whole, in its
// place, from another file.
TEST(Table, NoticesABlockOfAnotherTableInItsPlace) {
  MemoryFiles files;
  const auto rows = [](char value) {
    std::vector<Row> made;
    for (int i = 0; i < 100; ++i) made.push_back({std::to_string(100 + i), 1 << 8 | 1, std::string(100, value)});
    return made;
  };
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), rows('v'), {.block_bytes = 1});
  WriteTable(&files, "8.tbl", Bytewise(), rows('w'), {.block_bytes = 1, .unique_id = testing::kUniqueId + 1});
  constexpr size_t kBlocksBytes = 1000;  // some whole blocks
  files.bytes("7.tbl").replace(0, kBlocksBytes, files.bytes("8.tbl"), 0, kBlocksBytes);
  auto reader = Reader::Open(&files, "7.tbl", meta, Bytewise(), nullptr);
  ASSERT_TRUE(reader.has_value());
  Found found;
  EXPECT_TRUE((*reader)->Get("100", kv::kSequenceMax, {}, &found).IsCorruption());
  EXPECT_TRUE((*reader)->CheckIntegrity().IsCorruption());
}

TEST(Table, SkipsChecksumsOnlyWhenAsked) {
  MemoryFiles files;
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), {{"key", 1 << 8 | 1, "value"}});
  files.bytes("7.tbl")[0] = 'V';
  auto reader = Reader::Open(&files, "7.tbl", meta, Bytewise(), nullptr);
  ASSERT_TRUE(reader.has_value());
  Found found;
  EXPECT_TRUE((*reader)->Get("key", kv::kSequenceMax, {}, &found).IsCorruption());
  ASSERT_TRUE((*reader)->Get("key", kv::kSequenceMax, {.verify_checksums = false}, &found).ok());
  EXPECT_EQ(found.value, "Value");
}

// A read without checksums must not put damaged bytes into the cache for reads with checksums.
TEST(Table, ABlockThatWasReadWithoutChecksumsIsCachedOnlyIfItIsWhole) {
  for (const Compression codec : {Compression::kNone, Compression::kLz4}) {
    MemoryFiles files;
    const std::string value(200, 'v');
    const auto meta = WriteTable(&files, "7.tbl", Bytewise(), {{"key", 1 << 8 | 1, value}}, {.compression = codec});
    base::BlockCache cache(1 << 20);
    auto reader = Reader::Open(&files, "7.tbl", meta, Bytewise(), &cache);
    ASSERT_TRUE(reader.has_value());
    const char right = files.bytes("7.tbl")[5];
    Found found;
    files.bytes("7.tbl")[5] ^= 1;
    (void)(*reader)->Get("key", kv::kSequenceMax, {.verify_checksums = false},
                         &found);  // the result of the damaged read does not matter
    EXPECT_TRUE((*reader)->Get("key", kv::kSequenceMax, {}, &found).IsCorruption());
    files.bytes("7.tbl")[5] = right;
    ASSERT_TRUE((*reader)->Get("key", kv::kSequenceMax, {.verify_checksums = false}, &found).ok());
    files.bytes("7.tbl")[5] ^= 1;
    ASSERT_TRUE((*reader)->Get("key", kv::kSequenceMax, {}, &found).ok()) << "a whole block stays in the cache";
    EXPECT_EQ(found.value, value);
  }
}

TEST(Table, NamesTheVersionOfANewerProgram) {
  MemoryFiles files;
  const auto meta = WriteTable(&files, "7.tbl", Bytewise(), {{"key", 1 << 8 | 1, "value"}});
  std::string& bytes = files.bytes("7.tbl");
  const size_t footer = bytes.size() - format::kFooterBytes;
  bytes[footer + 76] = 3;
  base::StoreFixed32(bytes.data() + footer + 72, base::Crc32c(bytes.substr(footer, 72) + bytes.substr(footer + 76)));
  const Status status = Reader::Open(&files, "7.tbl", meta, Bytewise(), nullptr).status();
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_NE(status.message().find("format 3"), std::string_view::npos) << status.ToString();
}

}  // namespace
}  // namespace mergedb::table
