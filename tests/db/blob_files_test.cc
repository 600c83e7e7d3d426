// Goal: a database with large values in blob files gives the same answers as any other, frees their space,
// keeps them while a reader may need them, and detects a wrong or missing blob file. Method: files in memory,
// background work run by the test.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "testing/counters.h"
#include "testing/simulated_db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing::blob_files_test {
namespace {

std::string Key(uint64_t i) { return NumberedKey("key", i, 6); }

class BlobFilesTest : public SimulatedDb {
 protected:
  // Every third value is small; the others differ in every put.
  void Put(uint64_t i) {
    std::string value = i % 3 == 0 ? "small" : std::string(300 + i % 700, static_cast<char>('a' + i % 26));
    value += std::to_string(++puts_);
    ASSERT_OK(db_->Put({}, Key(i), value));
    expected_[Key(i)] = value;
  }
  void Fill(uint64_t keys) {
    base::Random random(7);
    for (uint64_t i = 0; i < keys; ++i) Put(random.Uniform(keys));
    for (uint64_t i = 0; i < keys; ++i) Put(i);
  }
  void ExpectAll(const ReadOptions& read = {}) {
    for (const auto& [key, value] : expected_) {
      std::string found;
      ASSERT_OK(db_->Get(read, key, &found));
      ASSERT_EQ(found, value) << key;
    }
    auto it = db_->NewIterator({.read = read});
    auto at = expected_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++at) {
      ASSERT_NE(at, expected_.end());
      ASSERT_EQ(it->key(), at->first);
      ASSERT_EQ(it->value(), at->second);
    }
    ASSERT_OK(it->status());
    ASSERT_EQ(at, expected_.end());
    auto back = expected_.rbegin();
    for (it->SeekToLast(); it->Valid(); it->Prev(), ++back) {
      ASSERT_EQ(it->key(), back->first);
      ASSERT_EQ(it->value(), back->second);
    }
    ASSERT_EQ(back, expected_.rend());
  }
  std::vector<std::string> ValueFiles() const {
    std::vector<std::string> paths;
    for (const std::string& path : sim_.files->Files()) {
      if (path.ends_with(".val")) paths.push_back(path);
    }
    return paths;
  }
  std::string BytesOf(const std::string& path) const { return *sim_.files->ReadWhole(path); }
  void Overwrite(const std::string& path, uint64_t offset, std::string_view bytes) {
    auto file = sim_.files->Open(path, {.access = Access::kReadWrite});
    ASSERT_OK(file.status());
    ASSERT_OK((*file)->WriteAt(offset, bytes));
  }

  std::map<std::string, std::string> expected_;
  uint64_t puts_ = 0;
};

TEST_F(BlobFilesTest, AnswersThroughFlushCompactionGarbageCollectionAndReopen) {
  Fill(2'000);
  for (uint64_t i = 0; i < 2'000; i += 2) Put(i);  // not all values of any blob file
  ASSERT_OK(db_->Flush());
  EXPECT_GT(Counter(*db_, "blob_files"), 0u);
  ExpectAll();
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_GT(Counter(*db_, "blob_bytes_moved"), 0u) << "half of what was put was overwritten";
  EXPECT_LE(Counter(*db_, "blob_bytes_garbage"), Counter(*db_, "blob_bytes_live") / 4);
  ExpectAll();
  EXPECT_OK(db_->CheckIntegrity());
  Reopen();
  ExpectAll();
  options_.mode = OpenMode::kReadOnly;
  Reopen();
  ExpectAll();
}

TEST_F(BlobFilesTest, OperandsAreFoldedOntoSeparatedValues) {
  Fill(1'000);
  ASSERT_OK(db_->Flush());
  EXPECT_GT(Counter(*db_, "blob_files"), 0u);
  auto before = db_->GetSnapshot();
  const auto expected_before = expected_;
  for (const std::string_view more : {"+", "-"}) {
    for (auto& [key, value] : expected_) {
      ASSERT_OK(db_->Merge({}, key, merge::Append(more)));
      value += more;
    }
    ExpectAll();
    ASSERT_OK(db_->Flush());
    ExpectAll();
  }
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ExpectAll();
  expected_ = expected_before;
  ExpectAll({.snapshot = before.get()});
  for (auto& [key, value] : expected_) value += "+-";
  before = nullptr;
  // A compaction now applies the operands to their base value.
  for (auto& [key, value] : expected_) {
    ASSERT_OK(db_->Merge({}, key, merge::Append("!")));
    value += "!";
  }
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_EQ(Counter(*db_, "entries_in_tables"), expected_.size());
  ExpectAll();
  EXPECT_OK(db_->CheckIntegrity());
  Reopen();
  ExpectAll();
}

TEST_F(BlobFilesTest, ARangeDeleteHidesSeparatedValuesAndGivesTheirSpaceBack) {
  Fill(2'000);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  const uint64_t live = Counter(*db_, "blob_bytes_live");
  ASSERT_OK(db_->DeleteRange({}, Key(500), Key(1'700)));
  for (uint64_t i = 500; i < 1'700; ++i) expected_.erase(Key(i));
  ASSERT_OK(db_->Merge({}, Key(1'000), merge::Append("new")));
  expected_[Key(1'000)] = "new";
  ExpectAll();
  ASSERT_OK(db_->Flush());
  ExpectAll();
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  ExpectAll();
  EXPECT_LT(Counter(*db_, "blob_bytes_live"), live / 2);
  EXPECT_LE(Counter(*db_, "blob_bytes_garbage"), live / 2);
  EXPECT_OK(db_->CheckIntegrity());
  Reopen();
  ExpectAll();
}

TEST_F(BlobFilesTest, TheOptionMayChangeFromOpenToOpen) {
  for (const size_t bytes_min : {0u, 500u, 64u, 0u, 1u, 5'000u}) {
    SCOPED_TRACE(bytes_min);
    options_.blob_value_bytes_min = bytes_min;
    Reopen();
    Fill(600);
    ExpectAll();
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    ASSERT_OK(db_->WaitForCompaction());
    ExpectAll();
    EXPECT_OK(db_->CheckIntegrity());
  }
}

TEST_F(BlobFilesTest, AFewLargeValuesStayInTheTable) {
  for (uint64_t i = 0; i < 2'000; ++i) ASSERT_OK(db_->Put({}, Key(i), "s"));
  ASSERT_OK(db_->Put({}, "large", std::string(300, 'l')));
  ASSERT_OK(db_->Flush());
  EXPECT_EQ(Counter(*db_, "blob_files"), 0u);
}

TEST_F(BlobFilesTest, ObsoleteBlobFilesAreRecycled) {
  options_.write_buffer_bytes = 512 << 10;
  options_.memory_bytes = 4 << 20;
  Reopen();
  for (int round = 0; round < 8; ++round) {
    Fill(3'000);
    sim_.executor.RunAll(1'000'000);
  }
  ExpectAll();
  const auto spares_were = Counter(*db_, "files_recycled");
  EXPECT_GT(spares_were, 0u) << Property(*db_, "counters");
  EXPECT_OK(db_->CheckIntegrity());
  Reopen();
  ExpectAll();
}

TEST_F(BlobFilesTest, KeysAloneReadNoBlobFile) {
  Fill(1'000);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  for (const std::string& path : ValueFiles()) Overwrite(path, 0, std::string(4'096, 'x'));
  auto it = db_->NewIterator({.keys_only = true});
  auto at = expected_.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++at) {
    ASSERT_EQ(it->key(), at->first);
    ASSERT_EQ(it->value(), "");
  }
  EXPECT_OK(it->status());
  EXPECT_EQ(at, expected_.end());
}

TEST_F(BlobFilesTest, SnapshotsAndIteratorsKeepTheValuesThatTheySee) {
  Fill(800);
  ASSERT_OK(db_->Flush());
  const auto snapshot = db_->GetSnapshot();
  auto it = db_->NewIterator();
  it->SeekToFirst();
  const auto then = expected_;
  for (uint64_t i = 0; i < 800; ++i) Put(i);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  const auto now = std::exchange(expected_, then);
  ExpectAll({.snapshot = snapshot.get()});
  auto at = then.begin();
  for (; it->Valid(); it->Next(), ++at) ASSERT_EQ(it->value(), at->second);
  EXPECT_OK(it->status());
  EXPECT_EQ(at, then.end());
  expected_ = now;
  ExpectAll();
}

TEST_F(BlobFilesTest, AnIteratorThatOutlivesTheDatabaseIsAnError) {
  Fill(300);
  ASSERT_OK(db_->Flush());
  auto it = db_->NewIterator();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  db_ = nullptr;
  EXPECT_FALSE(it->Valid());
  EXPECT_EQ(it->status().code(), Code::kShuttingDown);
}

TEST_F(BlobFilesTest, AMissingTruncatedOrForeignBlobFileFailsTheOpenOrTheRead) {
  Fill(1'000);
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  const auto paths = ValueFiles();
  ASSERT_GE(paths.size(), 2u);
  const std::string first = BytesOf(paths[0]);

  ASSERT_OK(sim_.files->Rename(paths[0], "/db/aside"));
  const Status missing = DB::Open(options_, SimulatedEnv::kPath).status();
  EXPECT_TRUE(missing.IsCorruption());
  EXPECT_NE(missing.message().find(paths[0] + ": missing"), std::string_view::npos) << missing.ToString();
  ASSERT_OK(sim_.files->Rename("/db/aside", paths[0]));

  auto file = sim_.files->Open(paths[0], {.access = Access::kReadWrite});
  ASSERT_OK((*file)->Truncate(first.size() - 4'096));
  EXPECT_TRUE(DB::Open(options_, SimulatedEnv::kPath).status().IsCorruption());
  ASSERT_OK((*file)->WriteAt(0, first));

  // An intact blob file, of the right size or not, but the wrong one: at the latest a read of its values
  // detects it.
  const std::string second = BytesOf(paths[1]);
  ASSERT_OK((*file)->Truncate(0));
  ASSERT_OK((*file)->WriteAt(0, second));
  auto db = DB::Open(options_, SimulatedEnv::kPath);
  if (db) {
    EXPECT_TRUE((*db)->CheckIntegrity().IsCorruption());
    for (const auto& [key, value] : expected_) {
      std::string found;
      const Status status = (*db)->Get({}, key, &found);
      EXPECT_TRUE(status.ok() ? found == value : status.IsCorruption()) << key << " " << status.ToString();
    }
  } else {
    EXPECT_TRUE(db.error().IsCorruption());
  }
}

// A missing file is an error of the database; it never makes a key NotFound.
TEST_F(BlobFilesTest, ABlobFileThatGoesAwayMeanwhileIsAnErrorAndNotAMissingKey) {
  Fill(1'000);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  Reopen();
  for (const std::string& path : ValueFiles()) ASSERT_OK(sim_.files->Remove(path));
  size_t errors = 0;
  for (const auto& [key, value] : expected_) {
    std::string found;
    const Status status = db_->Get({}, key, &found);
    if (status.ok()) continue;
    ASSERT_EQ(status.code(), Code::kIOError) << status.ToString();
    EXPECT_NE(status.message().find(".val"), std::string_view::npos) << status.ToString();
    ++errors;
  }
  EXPECT_GT(errors, expected_.size() / 4);
  auto it = db_->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) {}
  EXPECT_EQ(it->status().code(), Code::kIOError) << it->status().ToString();
}

// The copy is read before it replaces the file.
TEST_F(BlobFilesTest, OneWhoseSyncFailedIsReplacedByACopyThatCanBeRead) {
  for (uint64_t i = 0; i < 100; ++i) Put(i);
  sim_.files->AddFault({.op = FileOp::kSync, .path_contains = ".val"});
  EXPECT_THAT(db_->Flush(), StatusIs(Code::kIOError, ::testing::HasSubstr(".val: sync")));
  const std::vector<std::string> before = ValueFiles();
  // after the open of the file that is copied
  sim_.files->AddFault({.op = FileOp::kOpen, .path_contains = ".val", .nth = 2});
  EXPECT_THAT(db_->Flush(), StatusIs(Code::kIOError, ::testing::HasSubstr(".val: open")));
  EXPECT_EQ(ValueFiles(), before) << "the copy is gone";
  ASSERT_OK(db_->Flush());
  EXPECT_EQ(sim_.files->sync_after_failed_sync(), 0u);
  ExpectAll();
  const auto after = SimulatedEnv::After(sim_, CrashMode::kMin, CrashModel::kStrict, 1);
  db_ = nullptr;
  options_ = after->SmallOptions();
  Reopen();
  ExpectAll();
  db_ = nullptr;
}

TEST_F(BlobFilesTest, OrphansOfACrashAreRemovedAndOtherFilesAreLeftAlone) {
  Fill(500);
  ASSERT_OK(db_->Close());
  const auto paths = ValueFiles();
  for (const char* name : {"/db/900000.val", "/db/90.val", "/db/values.val"}) {
    auto file = sim_.files->Open(name, {.access = Access::kCreate});
    ASSERT_OK((*file)->WriteAt(0, "left behind"));
  }
  Reopen();
  const auto after = sim_.files->Files();
  EXPECT_EQ(std::count(after.begin(), after.end(), "/db/900000.val"), 0) << "a blob file that no edit names";
  EXPECT_EQ(std::count(after.begin(), after.end(), "/db/90.val"), 1) << "not a name of ours";
  EXPECT_EQ(std::count(after.begin(), after.end(), "/db/values.val"), 1);
  ExpectAll();
  db_ = nullptr;
  ASSERT_OK(DB::Destroy(options_, SimulatedEnv::kPath));
  for (const std::string& path : sim_.files->Files()) EXPECT_FALSE(path.ends_with("0.val") && path.size() > 12) << path;
}

TEST_F(BlobFilesTest, ApproximateSizesCountThem) {
  for (uint64_t i = 0; i < 2'000; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(1'000, 'v')));
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  const std::string middle = Key(1'000), end = Key(2'000);
  const auto sizes = db_->ApproximateSizes({{Key(0), end}, {Key(0), middle}, {middle, end}});
  EXPECT_NEAR(static_cast<double>(sizes[0]), 2e6, 2e5);
  EXPECT_NEAR(static_cast<double>(sizes[1]), 1e6, 4e5);  // by whole blocks of several hundred blob indexes
  EXPECT_NEAR(static_cast<double>(sizes[2]), 1e6, 4e5);  // by whole blocks of several hundred blob indexes
}

// Decision 0018: obsolete files are recycled, except files with a second name.
TEST(ValuesOnDisk, ABackupByHardLinksStaysAsItWas) {
  namespace fs = std::filesystem;
  const TempDirectory directory;
  const std::string path = directory / "db", backup = directory / "backup";
  Options options;
  options.memory_bytes = 8 << 20;
  options.write_buffer_bytes = 1 << 20;
  options.compression = {Compression::kNone, Compression::kNone};
  const auto value = [](uint64_t i, int round) { return std::string(1'000 + i % 100, static_cast<char>('a' + round)); };
  const auto fill = [&](int first, int last) {
    const auto db = DB::Open(options, path);
    ASSERT_OK(db.status());
    for (int round = first; round < last; ++round) {
      for (uint64_t i = 0; i < 12'000; ++i) ASSERT_OK((*db)->Put({}, Key(i * 17 % 12'000), value(i, round)));
    }
    ASSERT_OK((*db)->WaitForCompaction());
    EXPECT_GT(Counter(**db, "blob_files"), 0u);
    ::testing::Test::RecordProperty(
        "files_recycled",
        static_cast<int>(Counter(**db, "files_recycled")));  // usually some; the number depends on the threads
    ASSERT_OK((*db)->Close());
  };
  fill(0, 2);
  fs::create_directory(backup);
  size_t links = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    const fs::path target = fs::path(backup) / entry.path().filename();
    const bool is_immutable = entry.path().extension() == ".tbl" || entry.path().extension() == ".val";
    is_immutable ? fs::create_hard_link(entry.path(), target) : fs::copy(entry.path(), target);
    links += entry.path().extension() == ".val";
  }
  EXPECT_GT(links, 0u);
  fill(2, 8);
  const auto db = DB::Open(options, backup);
  ASSERT_OK(db.status());
  EXPECT_OK((*db)->CheckIntegrity());
  for (uint64_t i = 0; i < 12'000; ++i) {
    std::string found;
    ASSERT_OK((*db)->Get({}, Key(i * 17 % 12'000), &found));
    ASSERT_EQ(found, value(i, 1)) << i;
  }
}

}  // namespace
}  // namespace mergedb::testing::blob_files_test
