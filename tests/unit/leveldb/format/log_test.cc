// Goal: a LevelDB log is read to its last whole record; a cut tail is a clean end; damage costs the rest of its
// block and is reported; written logs have LevelDB's bytes. Method: bytes that LevelDB wrote; then random
// records, cut and damaged.
#include "leveldb/format/log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "leveldb/format/batch.h"
#include "leveldb/format/edit.h"
#include "testing/status_matchers.h"
#include "tests/unit/leveldb/format/goldens.h"

namespace mergedb::leveldb_format {
namespace {

struct ReadBack {
  std::vector<std::string> records;
  std::vector<uint64_t> offsets;
  uint64_t damaged_bytes = 0;
  std::string why;
};

ReadBack Read(const std::string& bytes) {
  ReadBack found;
  LogReader reader(
      [&](uint64_t offset, size_t wanted, char* out, size_t* got) -> Status {
        *got = offset < bytes.size() ? std::min<size_t>(wanted, bytes.size() - offset) : 0;
        if (*got > 0) std::memcpy(out, bytes.data() + offset, *got);
        return {};
      },
      [&](uint64_t offset, uint64_t lost, std::string_view why) {
        EXPECT_LE(offset, bytes.size());
        found.damaged_bytes += lost;
        found.why += std::string(why) + "; ";
      });
  std::string_view record;
  while (reader.Next(&record)) {
    found.records.emplace_back(record);
    found.offsets.push_back(reader.record_offset());
  }
  EXPECT_OK(reader.status());
  return found;
}

std::string Write(const std::vector<std::string>& records) {
  LogWriter writer;
  std::string bytes;
  for (const std::string& record : records) writer.Append(record, &bytes);
  return bytes;
}

TEST(LevelDbLog, IsTheBytesThatLevelDbWrites) {
  for (const char* golden : {"raw", "snappy"}) {
    for (const auto& [name, bytes] : testing::LevelDbGolden(golden)) {
      if (name.find(".log") == std::string::npos && name.find("MANIFEST") == std::string::npos) continue;
      const ReadBack found = Read(bytes);
      EXPECT_EQ(found.damaged_bytes, 0u) << name;
      EXPECT_FALSE(found.records.empty()) << name;
      EXPECT_EQ(Write(found.records), bytes) << name;
    }
  }
}

TEST(LevelDbLog, MasksChecksums) {
  EXPECT_EQ(UnmaskCrc(MaskCrc(0x12345678)), 0x12345678u);
  EXPECT_NE(MaskCrc(0x12345678), 0x12345678u);
}

TEST(LevelDbLog, SplitsRecordsOverBlocks) {
  const std::vector<std::string> records = {std::string(100'000, 'a'), "", "b", std::string(kLogBlockBytes - 7, 'c'),
                                            "d"};
  const ReadBack found = Read(Write(records));
  EXPECT_EQ(found.records, records);
  EXPECT_EQ(found.damaged_bytes, 0u);
}

// If exactly a header fits in the block, LevelDB writes an empty first fragment.
TEST(LevelDbLog, FillsABlockToItsLastByte) {
  for (size_t left = 0; left < 20; ++left) {
    const std::vector<std::string> records = {std::string(kLogBlockBytes - 7 - left, 'a'), "second"};
    const std::string bytes = Write(records);
    EXPECT_EQ(Read(bytes).records, records) << left;
    if (left < 7) { EXPECT_EQ(bytes.size(), kLogBlockBytes + 7 + 6) << left; }
  }
}

TEST(LevelDbLog, ACutTailIsACleanEnd) {
  const std::vector<std::string> records = {"one", std::string(40'000, '2'), "three"};
  const std::string bytes = Write(records);
  for (size_t size = 0; size < bytes.size(); size += size < 100 || size + 100 > bytes.size() ? 1 : 37) {
    const ReadBack found = Read(bytes.substr(0, size));
    EXPECT_EQ(found.damaged_bytes, 0u) << size << " " << found.why;
    ASSERT_EQ(found.records.size(), size >= bytes.size() - 12 ? 2u : size >= 10 ? 1u : 0u) << size;
    for (size_t i = 0; i < found.records.size(); ++i) EXPECT_EQ(found.records[i], records[i]);
  }
}

TEST(LevelDbLog, DamageCostsTheRestOfItsBlockAndIsTold) {
  std::vector<std::string> records;
  for (int i = 0; i < 300; ++i)
    records.push_back(std::string(500, static_cast<char>('a' + i % 26)) + std::to_string(i));
  const std::string whole = Write(records);
  base::Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = whole;
    const size_t at = random.Uniform(bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Uniform(8)));
    const ReadBack found = Read(bytes);
    const bool is_told = found.damaged_bytes > 0;
    // Only records in the damaged block, or that begin or end there, may be missing.
    EXPECT_GE(found.records.size(), records.size() - 2 - kLogBlockBytes / 500) << at;
    size_t next = 0;
    for (const std::string& record : found.records) {
      while (next < records.size() && records[next] != record) ++next;
      ASSERT_LT(next++, records.size()) << "a record that was never written, byte " << at;
    }
    // In the last block a damaged length looks like a cut tail. Damage to zeros between fragments costs nothing.
    if (at < whole.size() / kLogBlockBytes * kLogBlockBytes) {
      EXPECT_TRUE(is_told || found.records.size() == records.size()) << at;
    }
  }
}

// The pages of a lost write read as zeros.
TEST(LevelDbLog, ZerosBeforeOtherBytesAreDamage) {
  constexpr size_t kPage = 4096;
  std::vector<std::string> records;
  // 8 fragments per page.
  for (int i = 0; i < 200; ++i) records.push_back(std::to_string(1000 + i) + std::string(501, 'r'));
  const std::string whole = Write(records);
  for (size_t page = 0; (page + 1) * kPage < whole.size(); ++page) {
    std::string bytes = whole;
    bytes.replace(page * kPage, kPage, kPage, '\0');
    const ReadBack found = Read(bytes);
    const size_t block_end = std::min(whole.size(), (page * kPage / kLogBlockBytes + 1) * kLogBlockBytes);
    EXPECT_EQ(found.damaged_bytes, block_end - page * kPage) << page << " " << found.why;
    EXPECT_EQ(found.records.size(), records.size() - (block_end - page * kPage) / 512) << page;
  }
  // Whole blocks of zeros.
  std::string bytes = whole;
  bytes.replace(10 * 512, 2 * kLogBlockBytes, 2 * kLogBlockBytes, '\0');
  EXPECT_EQ(Read(bytes).damaged_bytes, 3 * kLogBlockBytes - 10 * 512);
}

TEST(LevelDbLog, NoRecordGoesOnBehindZeros) {
  const std::vector<std::string> records = {std::string(20'000, 'a'), std::string(100'000, 'b'), "last"};
  const std::string whole = Write(records);
  for (const size_t begin : {kLogBlockBytes, 2 * kLogBlockBytes}) {
    std::string bytes = whole;
    bytes.replace(begin, kLogBlockBytes, kLogBlockBytes, '\0');
    const ReadBack found = Read(bytes);
    EXPECT_EQ(found.records, (std::vector<std::string>{records[0], records[2]}));
    EXPECT_GE(found.damaged_bytes, records[1].size()) << found.why;
  }
}

// A writer may allocate space beyond the end of the log.
TEST(LevelDbLog, ZerosAtTheEndAreNoDamage) {
  const std::vector<std::string> records = {"one", std::string(40'000, '2'), "three"};
  for (const size_t zeros : {1, 6, 7, 4096, 100'000}) {
    const ReadBack found = Read(Write(records) + std::string(zeros, '\0'));
    EXPECT_EQ(found.records, records) << zeros;
    EXPECT_EQ(found.damaged_bytes, 0u) << zeros << " " << found.why;
  }
}

TEST(LevelDbLog, ReadErrorsAreToldApart) {
  LogReader reader([](uint64_t, size_t, char*, size_t*) { return Status::IOError("no"); },
                   [](uint64_t, uint64_t, std::string_view) {});
  std::string_view record;
  EXPECT_FALSE(reader.Next(&record));
  EXPECT_THAT(reader.status(), testing::StatusIs(Code::kIOError));
}

// ---- records: write batches and version edits -------------------------------------------------------------

TEST(LevelDbBatch, ReadsWhatLevelDbWrote) {
  const auto files = testing::LevelDbGolden("raw");
  std::string shown, again;
  for (const std::string& record : Read(files.at("000004.log")).records) {
    BatchReader reader(record);
    std::string batch;
    AppendBatchHeader(&batch, reader.first_sequence(), reader.count());
    while (reader.Next()) {
      shown += kv::PrintKey(reader.key(), kv::MakeTag(reader.sequence(), reader.kind())) + "=" +
               std::string(reader.value()) + " ";
      AppendOperation(&batch, reader.kind(), reader.key(), reader.value());
    }
    EXPECT_OK(reader.status());
    EXPECT_EQ(batch, record);
  }
  EXPECT_EQ(shown, "apple#8,PUT=red fig#9,DELETE= grape#10,PUT=blue ");
}

TEST(LevelDbBatch, RefusesWhatIsNoBatch) {
  const auto status_of = [](std::string_view batch) {
    BatchReader reader(batch);
    while (reader.Next()) {}
    return reader.status();
  };
  std::string batch;
  AppendBatchHeader(&batch, 7, 2);
  AppendOperation(&batch, kv::Kind::kPut, "key", "value");
  EXPECT_THAT(status_of(batch), testing::StatusIs(Code::kCorruption, ::testing::HasSubstr("says that it has 2")));
  AppendOperation(&batch, kv::Kind::kDelete, "other", "");
  EXPECT_OK(status_of(batch));
  for (size_t size = 0; size < batch.size(); ++size)
    EXPECT_THAT(status_of(batch.substr(0, size)), testing::StatusIs(Code::kCorruption)) << size;
  EXPECT_THAT(status_of(batch + std::string("\x02\x01k", 3)), testing::StatusIs(Code::kCorruption));
  EXPECT_THAT(status_of(batch + std::string("\x00\x01k", 3)),
              testing::StatusIs(Code::kCorruption, ::testing::HasSubstr("more operations")));
  std::string beyond;
  AppendBatchHeader(&beyond, kv::kSequenceMax, 1);
  EXPECT_THAT(status_of(beyond), testing::StatusIs(Code::kCorruption));
}

TEST(LevelDbEdit, ReadsWhatLevelDbWrote) {
  const auto files = testing::LevelDbGolden("raw");
  State state;
  for (const std::string& record : Read(files.at("MANIFEST-000002")).records) {
    ASSERT_OK_AND_ASSIGN(const VersionEdit edit, DecodeVersionEdit(record));
    EXPECT_EQ(DecodeVersionEdit(EncodeVersionEdit(edit)).value(), edit);
    state.Apply(edit);
  }
  EXPECT_OK(state.Check());
  EXPECT_EQ(state.comparator, kBytewiseName);
  EXPECT_EQ(state.log, kv::FileNumber{4});
  ASSERT_EQ(state.levels[2].size(), 1u);
  const File& file = state.levels[2].at(kv::FileNumber{5});
  EXPECT_EQ(file.bytes, files.at("000005.ldb").size());
  std::string_view key;
  kv::Tag tag = 0;
  ASSERT_TRUE(SplitInternalKey(file.largest, &key, &tag));
  EXPECT_EQ(kv::PrintKey(key, tag), "fig#7,PUT");
}

TEST(LevelDbEdit, KnowsTheLevelsOfTheOriginalMergeDb) {
  std::string key;
  AppendInternalKey(&key, "k", kv::MakeTag(1, kv::Kind::kPut));
  VersionEdit edit;
  edit.added.emplace_back(22, File{.number = kv::FileNumber{9}, .bytes = 10, .smallest = key, .largest = key});
  edit.removed.emplace(3, kv::FileNumber{8});
  edit.pointers.emplace_back(1, key);
  edit.previous_log = kv::FileNumber{0};
  EXPECT_EQ(DecodeVersionEdit(EncodeVersionEdit(edit)).value(), edit);
  edit.added.front().first = 23;
  EXPECT_THAT(DecodeVersionEdit(EncodeVersionEdit(edit)), testing::StatusIs(Code::kCorruption));
}

TEST(LevelDbEdit, WhatAnEditRemovesAndAddsIsThere) {
  State state;
  VersionEdit edit;
  edit.added.emplace_back(0, File{.number = kv::FileNumber{9}, .bytes = 1, .smallest = "", .largest = ""});
  edit.removed.emplace(0, kv::FileNumber{9});
  state.Apply(edit);
  EXPECT_TRUE(state.levels[0].contains(kv::FileNumber{9}));
  edit.added.clear();
  state.Apply(edit);
  state.Apply(edit);
  EXPECT_TRUE(state.levels[0].empty());
  EXPECT_THAT(state.Check(), testing::StatusIs(Code::kCorruption));
}

TEST(LevelDbEdit, RefusesWhatIsCutOrUnknown) {
  for (const std::string& record : Read(testing::LevelDbGolden("raw").at("MANIFEST-000002")).records) {
    for (size_t size = 0; size < record.size(); ++size) {
      const auto cut = DecodeVersionEdit(record.substr(0, size));  // a cut between two fields is valid
      if (cut) { EXPECT_EQ(EncodeVersionEdit(*cut).size(), size); }
    }
    EXPECT_THAT(DecodeVersionEdit(record + '\x08'), testing::StatusIs(Code::kCorruption));
    EXPECT_THAT(DecodeVersionEdit(record + '\x40'), testing::StatusIs(Code::kCorruption));
  }
}

}  // namespace
}  // namespace mergedb::leveldb_format
