// Goal: batches have the bytes of docs/formats/batch.md. A reader shows all records or names the place of the
// error.
#include "format/batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/random.h"
#include "mergedb/merge.h"
#include "mergedb/write_batch.h"

namespace mergedb::format {
namespace {

// The example of docs/formats/batch.md: PUT, 5 bytes of key, 10 of value; DELETE, 6 bytes of key; RANGE_DELETE,
// 6 bytes of begin, 3 of end.
constexpr char kGolden[] =
    "01050a"
    "6170706c65"
    "677265656e2074617274"
    "0006"
    "62616e616e61"
    "030603"
    "636865727279"
    "666967";

std::vector<std::string> Read(std::string_view rep, Status* status) {
  std::vector<std::string> records;
  BatchReader reader(rep);
  while (reader.Next()) {
    records.push_back(std::string(kv::KindName(reader.kind())) + " " + base::Escape(reader.key()) + "=" +
                      base::Escape(reader.value()));
  }
  *status = reader.status();
  EXPECT_FALSE(reader.Next()) << "the end stays the end";
  return records;
}

TEST(Batch, IsTheBytesOfTheSpecification) {
  WriteBatch batch;
  batch.Put("apple", "green tart");
  batch.Delete("banana");
  batch.DeleteRange("cherry", "fig");
  EXPECT_EQ(base::ToHex(batch.rep()), kGolden);
  EXPECT_EQ(batch.count(), 3u);
}

TEST(Batch, ReadsWhatWasWritten) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  batch.Put("", std::string(200, 'v'));
  batch.Put(std::string(300, 'k'), "");
  EXPECT_EQ(batch.count(), 4u);
  Status status;
  const auto records = Read(batch.rep(), &status);
  EXPECT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0], "PUT a=1");
  EXPECT_EQ(records[1], "DELETE b=");
}

TEST(Batch, OfNothingIsNoBytes) {
  Status status;
  EXPECT_TRUE(Read("", &status).empty());
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(WriteBatch().bytes(), 0u);
}

TEST(Batch, RecordsAreAsLongAsRecordBytesSays) {
  const std::string bytes(20000, 'x');
  for (const kv::Kind kind : {kv::Kind::kPut, kv::Kind::kDelete, kv::Kind::kRangeDelete, kv::Kind::kMerge}) {
    for (const size_t key_bytes : {0u, 1u, 127u, 128u, 16384u}) {
      for (const size_t value_bytes : {0u, 1u, 127u, 128u, 16383u, 20000u}) {
        const std::string_view key = std::string_view(bytes).substr(0, key_bytes);
        const std::string_view value = std::string_view(bytes).substr(0, value_bytes);
        std::string record;
        AppendRecord(&record, kind, key, value);
        ASSERT_EQ(record.size(), RecordBytes(kind, key_bytes, value_bytes));
        ASSERT_LE(record.size(), kRecordHeaderBytesMax + key_bytes + value_bytes);
        BatchReader reader(record);
        ASSERT_TRUE(reader.Next());
        ASSERT_EQ(reader.kind(), kind);
        ASSERT_EQ(reader.key(), key);
        ASSERT_EQ(reader.value(), kind == kv::Kind::kDelete ? std::string_view() : value);
        ASSERT_FALSE(reader.Next());
        ASSERT_TRUE(reader.status().ok()) << reader.status().ToString();
      }
    }
  }
}

TEST(Batch, AppendsAnotherAndItself) {
  WriteBatch first, second;
  first.Put("a", "1");
  second.Delete("b");
  first.Append(second);
  first.Append(first);
  EXPECT_EQ(first.count(), 4u);
  Status status;
  EXPECT_EQ(Read(first.rep(), &status), (std::vector<std::string>{"PUT a=1", "DELETE b=", "PUT a=1", "DELETE b="}));
  first.Clear();
  EXPECT_EQ(first.count(), 0u);
  EXPECT_EQ(first.bytes(), 0u);
}

TEST(Batch, VisitShowsTheRecordsInOrder) {
  struct Listing : WriteBatch::Visitor {
    void Put(std::string_view key, std::string_view value) override {
      text.append(key).append("=").append(value) += ";";
    }
    void Delete(std::string_view key) override { text.append("-").append(key) += ";"; }
    void DeleteRange(std::string_view begin, std::string_view end) override {
      text.append("-").append(begin).append("..").append(end) += ";";
    }
    void Merge(std::string_view key, std::string_view operand) override {
      text.append(key).append("~").append(merge::Print(operand)) += ";";
    }
    std::string text;
  } listing;
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  batch.DeleteRange("c", "f");
  batch.Merge("c", merge::AddU64(2));
  EXPECT_TRUE(batch.Visit(listing).ok());
  EXPECT_EQ(listing.text, "a=1;-b;-c..f;c~add-u64 2;");
}

TEST(Batch, VisitStopsAtAKeyspaceThatTheVisitorDoesNotKnow) {
  struct Counting : WriteBatch::Visitor {
    void Put(std::string_view, std::string_view) override { ++puts; }
    void Delete(std::string_view) override {}
    void DeleteRange(std::string_view, std::string_view) override {}
    void Merge(std::string_view, std::string_view) override {}
    int puts = 0;
  } counting;
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put(Keyspace(5), "b", "2");
  const Status status = batch.Visit(counting);
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_NE(status.message().find("keyspace 5"), std::string::npos) << status.ToString();
  EXPECT_EQ(counting.puts, 1);
}

TEST(BatchReader, ACutBatchIsCorruptionUnlessCutBetweenRecords) {
  WriteBatch batch;
  batch.Put("apple", "green");
  const size_t border = batch.bytes();
  batch.Delete("banana");
  for (size_t length = 0; length < batch.bytes(); ++length) {
    const std::string cut(batch.rep().substr(0, length));
    Status status;
    const size_t whole = Read(cut, &status).size();
    EXPECT_EQ(whole, length >= border ? 1u : 0u) << length;
    EXPECT_EQ(status.ok(), length == 0 || length == border) << length;
    EXPECT_EQ(status.IsCorruption(), !status.ok()) << length;
  }
}

TEST(BatchReader, SaysOffsetExpectedAndFound) {
  std::string bytes;
  AppendRecord(&bytes, kv::Kind::kDelete, "ab", {});
  bytes += "\x01\x05\x02xyz";
  Status status;
  EXPECT_EQ(Read(bytes, &status).size(), 1u);
  EXPECT_EQ(status.ToString(),
            "Corruption: batch record at offset 4: expected 5 + 2 bytes, found 01050278797a and 6 bytes in all");
}

TEST(BatchReader, AnUnknownKindIsCorruption) {
  Status status;
  for (const char* bytes : {"\x05\x01\x01kv", "\x06\x01\x01kv", "\x7f\x01\x01kv", "\xff\x01\x01kv"}) {
    EXPECT_TRUE(Read(bytes, &status).empty());
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  }
}

TEST(BatchReader, ReservedKindsAndKeyspacesAreNotSupportedYet) {
  Status status;
  for (const char* bytes : {"\x04\x01\x01kv", "\x81\x01\x01\x01kv", "\x83\x01\x01\x01kv", "\x80\x01\x01k"}) {
    EXPECT_TRUE(Read(bytes, &status).empty());
    EXPECT_EQ(status.code(), Code::kNotSupported) << status.ToString();
  }
}

TEST(BatchReader, LengthsThatWouldOverflowAreCorruption) {
  std::string bytes = "\x01";
  base::AppendVarint32(&bytes, UINT32_MAX);
  base::AppendVarint32(&bytes, UINT32_MAX);
  Status status;
  EXPECT_TRUE(Read(bytes, &status).empty());
  EXPECT_TRUE(status.IsCorruption());
  bytes = "\x01";
  base::AppendVarint64(&bytes, uint64_t{1} << 32);  // does not fit in 32 bits; must not be read as length 0
  bytes += std::string(3, '\0');
  EXPECT_TRUE(Read(bytes, &status).empty());
  EXPECT_TRUE(status.IsCorruption());
}

TEST(BatchReader, RandomBytesEndInOkOrAnErrorAndStayInBounds) {
  const uint64_t seed = 12;
  SCOPED_TRACE(seed);
  base::Random random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(random.Uniform(40), '\0');
    for (char& c : bytes) c = static_cast<char>(random.OneIn(2) ? random.Uniform(6) : random.Next());
    BatchReader reader(bytes);
    size_t shown = 0;
    while (reader.Next()) {
      shown += RecordBytes(reader.kind(), reader.key().size(), reader.value().size());
      ASSERT_LE(reader.key().data() + reader.key().size(), bytes.data() + bytes.size());
      ASSERT_LE(reader.value().data() + reader.value().size(), bytes.data() + bytes.size());
    }
    ASSERT_LE(shown, bytes.size());
    if (shown == bytes.size()) { ASSERT_TRUE(reader.status().ok()); }
  }
}

}  // namespace
}  // namespace mergedb::format
