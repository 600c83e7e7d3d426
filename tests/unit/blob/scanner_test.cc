// Goal: values are right in any order of requests. In file order, forward or backward, the scanner reads them
// with few large reads. Method: files in memory that count reads.
#include "blob/scanner.h"

#include "base/random.h"
#include "tests/unit/blob/blob_rows.h"

namespace mergedb::blob {
namespace {

using testing::BytewiseOrder;
using testing::MemoryFiles;
using testing::SomeValues;
using testing::ValueRow;
using testing::WriteValues;

class ScannerTest : public ::testing::Test {
 protected:
  void Write(uint64_t number, size_t count, size_t value_bytes, Compression codec = Compression::kNone) {
    rows_.push_back(SomeValues(count, value_bytes));
    metas_.push_back(WriteValues(&files_, number, &rows_.back(), {.compression = codec}));
  }
  void Expect(Scanner& scanner, size_t file, size_t row) {
    const ValueRow& wanted = rows_[file][row];
    std::string_view value;
    const Status status = scanner.Read(*metas_[file], wanted.reference, wanted.key, &value);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(value, wanted.value);
  }

  MemoryFiles files_;
  Cache cache_{&files_, "", BytewiseOrder(), nullptr, 100};
  std::vector<std::vector<ValueRow>> rows_;
  std::vector<format::BlobFilePtr> metas_;
};

TEST_F(ScannerTest, InTheOrderOfTheFileReadsAreFewAndLarge) {
  Write(7, 2'000, 1'000);
  Scanner scanner(cache_, true);
  for (size_t i = 0; i < 2'000; ++i) Expect(scanner, 0, i);
  EXPECT_LE(files_.reads, 30u);
  files_.reads = 0;
  for (size_t i = 2'000; i-- > 0;) Expect(scanner, 0, i);
  EXPECT_LE(files_.reads, 30u) << "backward";
  EXPECT_GE(files_.hinted_reads + 3, files_.reads) << "the system reads ahead only forward";
}

TEST_F(ScannerTest, OverGapsOfWhatWasDroppedItReadsOn) {
  Write(7, 2'000, 1'000);
  Scanner scanner(cache_, true);
  for (size_t i = 0; i < 2'000; i += 3) Expect(scanner, 0, i);
  EXPECT_LE(files_.reads, 30u);
}

TEST_F(ScannerTest, ToAndFroBetweenFilesInOrderItReadsAheadInEach) {
  for (uint64_t number = 8; number < 12; ++number) Write(number, 1'000, 1'000);
  Scanner scanner(cache_, true);
  for (size_t i = 0; i < 1'000; ++i) {
    for (size_t file = 0; file < 4; ++file) Expect(scanner, file, i);
  }
  EXPECT_LE(files_.reads, 80u);
}

// As after a load with small write buffers.
TEST_F(ScannerTest, ToAndFroBetweenManyFilesInOrderItReadsAheadInEach) {
  constexpr size_t kFiles = 60;
  for (uint64_t number = 100; number < 100 + kFiles; ++number) Write(number, 200, 1'000);
  Scanner scanner(cache_, true);
  for (size_t i = 0; i < 200; ++i) {
    for (size_t file = 0; file < kFiles; ++file) Expect(scanner, file, i);
  }
  EXPECT_LE(files_.reads, 12 * kFiles) << "each file has 200 kB, and a window has 32 KiB";
}

TEST_F(ScannerTest, CountsValuesThatAreReadOneByOneButTheFirstOfASeek) {
  Write(7, 100, 1'000);
  Write(8, 100, 1'000);
  Write(9, 4, 200'000);
  Scanner scanner(cache_, true);
  for (size_t i = 0; i < 100; ++i) Expect(scanner, 0, i);
  EXPECT_EQ(scanner.scattered_bytes(), 0u) << "in order";
  scanner.NoteSeek();
  Expect(scanner, 1, 50);
  EXPECT_EQ(scanner.scattered_bytes(), 0u) << "the first of a seek";
  Expect(scanner, 1, 10);
  Expect(scanner, 1, 90);
  EXPECT_EQ(scanner.scattered_bytes(), rows_[1][10].reference.bytes + rows_[1][90].reference.bytes);
  const uint64_t before = scanner.scattered_bytes();
  Expect(scanner, 2, 2);
  Expect(scanner, 2, 0);
  EXPECT_EQ(scanner.scattered_bytes(), before) << "large values";
}

TEST_F(ScannerTest, ReadsAreSmallAtFirst) {
  Write(7, 1'000, 1'000);
  ASSERT_TRUE(cache_.Open(*metas_[0]));
  for (const size_t begin : {0, 500}) {
    Scanner scanner(cache_, true);
    files_.reads = 0;
    Expect(scanner, 0, begin);
    Expect(scanner, 0, begin + 1);
    Expect(scanner, 0, begin + 7);
    EXPECT_EQ(files_.reads, 2u) << "one value, then 8 KiB";
  }
}

TEST_F(ScannerTest, AnyOrderOverManyFilesIsRight) {
  const uint64_t seed = 3;
  SCOPED_TRACE(seed);
  base::Random random(seed);
  for (uint64_t number = 1; number <= 80; ++number) {
    Write(number, 50, 1 + random.Uniform(number == 9 ? 200'000 : 3'000),
          number % 3 == 0 ? Compression::kLz4 : Compression::kNone);
  }
  Scanner scanner(cache_, true);
  size_t file = 0, row = 0;
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t choice = random.Uniform(20);
    if (choice == 0) {
      file = random.Uniform(rows_.size());
      row = random.Uniform(50);
    } else if (choice < 10) {
      row = (row + 1) % 50;
    } else {
      row = (row + 49) % 50;
    }
    Expect(scanner, file, row);
  }
}

TEST_F(ScannerTest, DamageIsAnErrorAndNothingOfItStays) {
  Write(7, 200, 1'000);
  files_.bytes(testing::ValuePath(7))[rows_[0][100].reference.offset + 500] ^= 1;
  Scanner scanner(cache_, true);
  for (size_t i = 0; i < 200; ++i) {
    if (i != 100) {
      Expect(scanner, 0, i);
      continue;
    }
    std::string_view value;
    EXPECT_TRUE(scanner.Read(*metas_[0], rows_[0][i].reference, rows_[0][i].key, &value).IsCorruption());
  }
  std::string_view value;
  EXPECT_TRUE(scanner.Read(*metas_[0], rows_[0][5].reference, "another key", &value).IsCorruption());
}

TEST_F(ScannerTest, AReferenceBeyondTheFilesValuesIsCorruption) {
  Write(7, 20, 100);
  Scanner scanner(cache_, true);
  std::string_view value;
  const format::BlobIndex beyond{.file = kv::FileNumber{7}, .offset = metas_[0]->record_bytes, .bytes = 10};
  const Status status = scanner.Read(*metas_[0], beyond, "key", &value);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_NE(status.message().find("a blob index of 10 bytes"), std::string_view::npos) << status.ToString();
  Expect(scanner, 0, 5);
}

}  // namespace
}  // namespace mergedb::blob
