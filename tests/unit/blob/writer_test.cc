// Goal: records lie one behind the other, compressed only where that helps, and the file ends aligned with a footer
// that tells what it has. Method: a few values in a file in memory; the bytes of each record are decoded again.
// reader_test.cc tests full disks and recycled files.
#include "blob/writer.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "testing/status_matchers.h"
#include "tests/unit/blob/blob_rows.h"

namespace mergedb::blob {
namespace {

using testing::MemoryFiles;

constexpr char kPath[] = "13.val";

class BlobWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<Writer> Create(Compression compression = Compression::kNone) {
    auto writer = Writer::Create(&files_, kPath, kv::FileNumber{13}, 77, {.compression = compression});
    EXPECT_OK(writer.status());
    return std::move(*writer);
  }
  format::BlobRecord RecordAt(const format::BlobIndex& index) {
    format::BlobRecord record;
    const std::string_view bytes = std::string_view(files_.bytes(kPath)).substr(index.offset, index.bytes);
    EXPECT_OK(format::OpenRecord(bytes, {.unique_id = 77, .offset = index.offset}, true, &record));
    return record;
  }

  MemoryFiles files_;
};

TEST_F(BlobWriterTest, PutsRecordsOneBehindTheOther) {
  const auto writer = Create();
  format::BlobIndex first, empty, last;
  ASSERT_OK(writer->Add("first", "1", &first));
  ASSERT_OK(writer->Add("", "", &empty));
  ASSERT_OK(writer->Add("last", std::string(10'000, 'x'), &last));
  EXPECT_EQ(first.offset, 0u);
  EXPECT_EQ(empty.offset, first.bytes);
  EXPECT_EQ(empty.bytes, format::kRecordBytesMin);
  EXPECT_EQ(last.offset, empty.offset + empty.bytes);
  EXPECT_EQ(writer->record_bytes(), last.offset + last.bytes);
  ASSERT_OK(writer->Finish());
  EXPECT_EQ(RecordAt(first).key, "first");
  EXPECT_EQ(RecordAt(first).stored, "1");
  EXPECT_EQ(RecordAt(empty).stored, "");
  EXPECT_EQ(RecordAt(last).stored.size(), 10'000u);
}

TEST_F(BlobWriterTest, CompressesOnlyWhatGetsSmaller) {
  const auto writer = Create(Compression::kLz4);
  base::Random random(1);
  std::string hard(5'000, '\0');
  for (char& c : hard) c = static_cast<char>(random.Next());
  format::BlobIndex easy_index, hard_index;
  ASSERT_OK(writer->Add("easy", std::string(5'000, 'x'), &easy_index));
  ASSERT_OK(writer->Add("hard", hard, &hard_index));
  ASSERT_OK(writer->Finish());
  EXPECT_EQ(RecordAt(easy_index).codec, Compression::kLz4);
  EXPECT_LT(easy_index.bytes, 500u);
  EXPECT_EQ(RecordAt(hard_index).codec, Compression::kNone);
  EXPECT_EQ(RecordAt(hard_index).stored, hard);
}

TEST_F(BlobWriterTest, EndsAlignedWithItsDescription) {
  for (const size_t value_bytes : {size_t{1}, size_t{4096 - 64 - 8}, size_t{4096 - 64 - 8 + 1}, size_t{4096}}) {
    const auto writer = Create();
    format::BlobIndex index;
    ASSERT_OK(writer->Add("", std::string(value_bytes, 'x'), &index));
    ASSERT_OK_AND_ASSIGN(const format::BlobFilePtr meta, writer->Finish());
    EXPECT_EQ(meta->records, 1u);
    EXPECT_EQ(meta->record_bytes, index.bytes);
    EXPECT_EQ(meta->bytes, index.bytes + format::kBlobFooterBytes <= 4096 ? 4096u : 8192u) << value_bytes;
    const std::string& bytes = files_.bytes(kPath);
    ASSERT_EQ(bytes.size(), meta->bytes);
    format::BlobFileMeta decoded;
    ASSERT_OK(format::DecodeBlobFooter(std::string_view(bytes).substr(bytes.size() - format::kBlobFooterBytes),
                                       bytes.size(), &decoded));
    EXPECT_EQ(decoded, *meta);
    ASSERT_OK(files_.Remove(kPath));
  }
}

TEST_F(BlobWriterTest, OverwritesNoFileUnlessToldTo) {
  (void)Create();
  EXPECT_FALSE(Writer::Create(&files_, kPath, kv::FileNumber{13}, 77, {}).has_value());
}

}  // namespace
}  // namespace mergedb::blob
