// Goal: CheckIntegrity follows each blob index of a table to its value: files that are intact one by one may
// not belong together. Method: a table with valid checksums whose blob indexes refer to values of other keys,
// and a MANIFEST that counts them wrongly.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "format/blob_file.h"
#include "format/file_name.h"
#include "manifest/loader.h"
#include "manifest/mirror_file.h"
#include "mergedb/merge.h"
#include "table/reader.h"
#include "table/writer.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "tests/unit/kv/iterator_contract.h"

namespace mergedb::testing::blob_indexes_test {
namespace {

using ::testing::HasSubstr;

const kv::Order kOrder(BytewiseComparator());

class BlobIndexesTest : public ::testing::Test {
 protected:
  // One table; all values are in blob files.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options_, SimulatedEnv::kPath));
    for (int i = 100; i < 200; ++i)
      ASSERT_OK(db->Put({}, "key" + std::to_string(i), std::to_string(i) + std::string(500, 'v')));
    ASSERT_OK(db->CompactRange(nullptr, nullptr));
    ASSERT_OK(db->Close());
    ASSERT_OK_AND_ASSIGN(const auto loaded, manifest::Load(sim_.files.get(), SimulatedEnv::kPath, kOrder));
    ASSERT_EQ(loaded.version->runs().size(), 1u);
    run_ = loaded.version->runs().front();
    manifest_ = loaded.manifest;
    ASSERT_EQ(run_->virtual_tables().size(), 1u);
    table_ = run_->virtual_tables().front().file;
    ASSERT_FALSE(table_->values.empty());
  }

  // Replaces the table's contents; its description in the MANIFEST stays the same.
  void WriteTableAnew(const std::function<void(std::vector<OwnedEntry>*)>& change) {
    FaultFileSystem* const files = sim_.files.get();
    const std::string path = format::TablePath(SimulatedEnv::kPath, table_->number);
    ASSERT_OK_AND_ASSIGN(const auto reader, table::Reader::Open(files, path, table_, kOrder, nullptr));
    std::vector<OwnedEntry> entries;
    const auto it = reader->NewScanIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      entries.push_back({std::string(it->entry().key), it->entry().tag, std::string(it->entry().value)});
    }
    ASSERT_EQ(entries.size(), 100u);
    change(&entries);
    ASSERT_OK(files->Remove(path));
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         table::Writer::Create(
                             files, path, table_->number, table_->unique_id, kOrder,
                             {.bloom_bits_per_key = options_.bloom_bits_per_key, .block_bytes = options_.block_bytes}));
    for (const OwnedEntry& entry : entries) ASSERT_OK(writer->Add(ViewOf(entry, kOrder)));
    ASSERT_OK(writer->Finish());
    ASSERT_OK(writer->Sync());
  }

  // Adds a VersionEdit that replaces the table's description.
  void DescribeAnew(const format::FileMeta& meta) {
    FaultFileSystem* const files = sim_.files.get();
    const std::string path = format::ManifestPath(SimulatedEnv::kPath, manifest_);
    std::vector<std::string> records;
    ASSERT_OK_AND_ASSIGN(const auto contents, manifest::ReadMirror(files, path, [&](std::string_view record) {
                           records.emplace_back(record);
                           return Status();
                         }));
    format::VersionEdit edit;
    edit.cuts.push_back({.position = run_->position(), .bounds = {}});
    edit.adds.push_back({.position = run_->position(),
                         .level = run_->level(),
                         .file = std::make_shared<const format::FileMeta>(meta),
                         .bounds = {}});
    ASSERT_OK_AND_ASSIGN(const auto before, format::DecodeVersionEdit(records.back()));
    edit.clean_wal_end = before.clean_wal_end;
    records.push_back(format::EncodeVersionEdit(edit));
    ASSERT_OK(files->Remove(path));
    ASSERT_OK_AND_ASSIGN(const auto writer, manifest::MirrorWriter::Create(files, path, contents.identity));
    for (const std::string& record : records) ASSERT_OK(writer->Append(record));
  }

  Status Check() {
    auto db = DB::Open(options_, SimulatedEnv::kPath);
    EXPECT_OK(db.status());
    return db ? (*db)->CheckIntegrity() : Status();
  }

  SimulatedEnv sim_;
  Options options_ = sim_.SmallOptions();
  version::RunPtr run_;
  format::FileMetaPtr table_;
  kv::FileNumber manifest_{};
};

TEST_F(BlobIndexesTest, WholeOnesPass) {
  WriteTableAnew([](std::vector<OwnedEntry>*) {});
  EXPECT_OK(Check());
}

TEST_F(BlobIndexesTest, OnesThatLeadToAnotherKeysValueFailTheCheck) {
  WriteTableAnew([](std::vector<OwnedEntry>* entries) { std::swap((*entries)[10].value, (*entries)[11].value); });
  EXPECT_THAT(Check(), StatusIs(Code::kCorruption));
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options_, SimulatedEnv::kPath));
  std::string value;
  EXPECT_OK(db->Get({}, "key100", &value));
  EXPECT_THAT(db->Get({}, "key110", &value), StatusIs(Code::kCorruption));
}

TEST_F(BlobIndexesTest, OnesThatAddUpToSomethingElseFailTheCheck) {
  format::FileMeta meta = *table_;
  --meta.values.front().bytes;
  DescribeAnew(meta);
  EXPECT_THAT(Check(), StatusIs(Code::kCorruption));
}

TEST_F(BlobIndexesTest, OnesThatAreNoneFailWhoMeetsThem) {
  WriteTableAnew([](std::vector<OwnedEntry>* entries) { (*entries)[10].value = "\xff"; });
  EXPECT_THAT(Check(), StatusIs(Code::kCorruption));
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options_, SimulatedEnv::kPath));
  std::string value;
  EXPECT_THAT(db->Get({}, "key110", &value), StatusIs(Code::kCorruption));
  EXPECT_OK(db->Get({}, "key100", &value));
  const auto it = db->NewIterator();
  it->Seek("key110");
  EXPECT_FALSE(it->Valid());
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption));
  ASSERT_OK(db->Merge({}, "key110", merge::Append("more")));
  EXPECT_THAT(db->Get({}, "key110", &value), StatusIs(Code::kCorruption));
  EXPECT_THAT(db->CompactRange(nullptr, nullptr), StatusIs(Code::kCorruption))
      << "the merge would have to count what it refers to";
}

// A compaction that copied the blob index would produce a tree without the file.
TEST_F(BlobIndexesTest, OneThatLeadsToNoFileEndsTheCompactionAtItsReleaseOrItsEnd) {
  WriteTableAnew([](std::vector<OwnedEntry>* entries) {
    char bytes[format::kBlobIndexBytesMax];
    (*entries)[10].value.assign(
        bytes, format::EncodeBlobIndex(bytes, {.file = kv::FileNumber{9'999}, .offset = 0, .bytes = 50}));
  });
  EXPECT_THAT(Check(), StatusIs(Code::kCorruption, HasSubstr("blob file 9999")));
  for (const int more : {1, 3'000}) {
    SCOPED_TRACE(more);
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options_, SimulatedEnv::kPath));
    for (int i = 0; i < more; ++i)
      ASSERT_OK(db->Put({}, "key" + std::to_string(100'000 + i * 7 % 80'000), std::string(500, 'w')));
    EXPECT_THAT(db->CompactRange(nullptr, nullptr),
                StatusIs(Code::kCorruption, HasSubstr("blob file 9999: a table refers to it")));
    std::string value;
    EXPECT_THAT(db->Get({}, "key110", &value), StatusIs(Code::kCorruption, HasSubstr("blob file 9999")));
    EXPECT_OK(db->Get({}, "key111", &value));
    EXPECT_OK(db->Get({}, "key100000", &value));
  }
}

// A check reads each table twice: the whole table, and the values of its blob indexes.
TEST_F(BlobIndexesTest, NoneIsTakenForWholeThatCannotBeRead) {
  auto db = DB::Open(options_, SimulatedEnv::kPath);
  ASSERT_OK(db.status());
  uint64_t failed = 0;
  for (uint64_t nth = 1;; ++nth) {
    // WHY from then on: a window that cannot be read is read again block by block.
    sim_.files->AddFault({.op = FileOp::kRead, .path_contains = ".tbl", .nth = nth, .sticky = true});
    const uint64_t hits = sim_.files->faults_hit();
    const Status status = (*db)->CheckIntegrity();
    const bool was_hit = sim_.files->faults_hit() > hits;
    sim_.files->ClearFaults();
    if (!was_hit) break;
    ++failed;
    EXPECT_THAT(status, StatusIs(Code::kIOError, HasSubstr(".tbl")));
  }
  EXPECT_GT(failed, 2u);
  EXPECT_OK((*db)->CheckIntegrity());
}

// More tables than may be open: the check opens tables again for their blob indexes.
TEST_F(BlobIndexesTest, NoneIsTakenForWholeWhoseTableCannotBeOpenedAgain) {
  options_.open_tables_max = 16;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options_, SimulatedEnv::kPath));
  for (int i = 0; i < 40; ++i) {  // disjoint key ranges, so that no compaction rewrites them
    ASSERT_OK(db->Put({}, "table" + std::to_string(100 + i), std::string(500, 'v')));
    ASSERT_OK(db->Flush());
  }
  uint64_t tables = 0, failed = 0;
  for (const std::string& path : sim_.files->Files()) tables += path.ends_with(".tbl") ? 1 : 0;
  ASSERT_GT(tables, 2 * options_.open_tables_max);
  for (uint64_t nth = 1;; ++nth) {
    sim_.files->AddFault({.op = FileOp::kOpen, .path_contains = ".tbl", .nth = nth});
    const Status status = db->CheckIntegrity();
    const bool was_hit = sim_.files->faults_hit() > failed;
    sim_.files->ClearFaults();
    if (!was_hit) break;
    ++failed;
    EXPECT_THAT(status, StatusIs(Code::kIOError, HasSubstr(".tbl")));
  }
  EXPECT_GT(failed, tables) << "some were opened twice";
  EXPECT_OK(db->CheckIntegrity());
}

TEST_F(BlobIndexesTest, ADamagedBlobFileFailsTheCheck) {
  const std::string path = format::BlobFilePath(SimulatedEnv::kPath, table_->values.front().file);
  ASSERT_OK(sim_.files->FlipBit(path, 300, 4));
  EXPECT_THAT(Check(), StatusIs(Code::kCorruption, HasSubstr(path)));
}

}  // namespace
}  // namespace mergedb::testing::blob_indexes_test
