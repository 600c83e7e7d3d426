// Goal: an iterator gets the value that a blob index names, and only that one: an index that is malformed, that names a
// file outside of the version or that is of another key is Corruption that names the key. Method: versions of blob
// files in memory.
#include "read/blob_values.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "tests/unit/blob/blob_rows.h"
#include "version/version_builder.h"

namespace mergedb::read {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace mergedb::testing;

class BlobValuesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    format::VersionEdit edit;
    auto table = std::make_shared<format::FileMeta>();
    table->number = kv::FileNumber{5};
    table->bytes = 4096;
    table->entries = 20;
    table->smallest_sequence = table->largest_sequence = 1;
    table->smallest = "a";
    table->largest = "z";
    for (const uint64_t number : {7, 8}) {
      rows_.push_back(SomeValues(10, 300 * number));
      edit.blob_files.push_back({WriteValues(&files_, number, &rows_.back())});
      table->values.push_back({.file = kv::FileNumber{number}, .bytes = edit.blob_files.back().file->record_bytes});
    }
    edit.adds.push_back({.position = kv::Position{1}, .level = 0, .file = table, .bounds = {}});
    ASSERT_OK_AND_ASSIGN(version_, version::ApplyEdit(BytewiseOrder(), version::Version(), edit));
  }
  static std::string Encoded(const format::BlobIndex& reference) {
    char bytes[format::kBlobIndexBytesMax];
    return {bytes, format::EncodeBlobIndex(bytes, reference)};
  }
  // The value of an entry under `key` whose value is `index`.
  Result<std::string> Resolve(const std::string& key, const std::string& index, bool verify_checksums = true) {
    BlobValues values(*version_, cache_, verify_checksums);
    std::string_view value;
    RETURN_IF_ERROR(values.Resolve({.key = key, .tag = kTag, .value = index}, &value));
    return std::string(value);
  }

  static constexpr kv::Tag kTag = kv::MakeTag(9, kv::Kind::kPutBlobIndex);
  MemoryFiles files_;
  blob::Cache cache_{&files_, "", BytewiseOrder(), nullptr, 100};
  std::vector<std::vector<ValueRow>> rows_;
  version::VersionPtr version_;
};

TEST_F(BlobValuesTest, EachEntryGetsItsValueFromItsFile) {
  for (const auto& rows : rows_) {
    for (const ValueRow& row : rows) EXPECT_THAT(Resolve(row.key, Encoded(row.reference)), IsOkAndHolds(row.value));
  }
  // One object for a whole scan, to and fro between files.
  BlobValues values(*version_, cache_, true);
  for (size_t i = 0; i < 10; ++i) {
    for (const auto& rows : rows_) {
      const std::string index = Encoded(rows[i].reference);
      std::string_view value;
      ASSERT_OK(values.Resolve({.key = rows[i].key, .tag = kTag, .value = index}, &value));
      EXPECT_EQ(value, rows[i].value);
    }
  }
}

TEST_F(BlobValuesTest, AnIndexThatNamesNoFileOfTheVersionIsCorruptionWithTheKey) {
  format::BlobIndex reference = rows_[0][3].reference;
  reference.file = kv::FileNumber{99};
  EXPECT_THAT(Resolve("key\n", Encoded(reference)),
              StatusIs(Code::kCorruption, AllOf(HasSubstr(kv::PrintKey("key\n", kTag)), HasSubstr("blob file 99"))));
  for (const std::string& malformed : {std::string(), std::string("\x07"), Encoded(reference) + "x"}) {
    EXPECT_THAT(Resolve("key", malformed), StatusIs(Code::kCorruption, HasSubstr(kv::PrintKey("key", kTag))));
  }
}

// A value of another key would be a wrong answer without an error.
TEST_F(BlobValuesTest, TheRecordOfAnotherKeyIsCorruption) {
  for (const bool verify_checksums : {true, false}) {
    EXPECT_THAT(Resolve(rows_[0][4].key, Encoded(rows_[0][3].reference), verify_checksums),
                StatusIs(Code::kCorruption));
    format::BlobIndex of_other_file = rows_[0][3].reference;
    of_other_file.file = kv::FileNumber{8};
    EXPECT_THAT(Resolve(rows_[0][3].key, Encoded(of_other_file), verify_checksums), StatusIs(Code::kCorruption));
  }
}

TEST_F(BlobValuesTest, ADamagedValueIsFoundIfChecksumsAreVerified) {
  const ValueRow& row = rows_[1][2];
  files_.bytes(ValuePath(8))[row.reference.offset + row.reference.bytes - 1] ^= 1;
  EXPECT_THAT(Resolve(row.key, Encoded(row.reference), true), StatusIs(Code::kCorruption));
  EXPECT_OK(Resolve(row.key, Encoded(row.reference), false));
  EXPECT_OK(Resolve(rows_[1][3].key, Encoded(rows_[1][3].reference), true));
}

TEST_F(BlobValuesTest, TheFileOfAnIndexIsTheVersionsOwn) {
  format::BlobIndex reference;
  const std::string index = Encoded(rows_[1][0].reference);
  ASSERT_OK_AND_ASSIGN(const format::BlobFileMeta* const file,
                       BlobFileOf(*version_, {.key = "k", .tag = kTag, .value = index}, &reference));
  EXPECT_EQ(file, version_->FindBlobFile(kv::FileNumber{8}).get());
  EXPECT_EQ(reference, rows_[1][0].reference);
}

}  // namespace
}  // namespace mergedb::read
