// The View and the MANIFEST: what a commit makes durable, and what a failed one leaves to the next.
#include "db/version_set.h"

#include <gtest/gtest.h>

#include "manifest/loader.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using testing::CrashMode;
using testing::CrashModel;
using testing::Op;

class ShapeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(files_.CreateDirectory("/d"));
    ASSERT_OK(files_.SyncDirectory("/"));
  }
  std::shared_ptr<memtable::Memtable> NewMemtable() {
    return std::make_shared<memtable::Memtable>(order_, memtable::NewMemory(64 << 10));
  }
  void WriteFile(const std::string& path, char fill) {
    auto file = files_.Open(path, {.access = Access::kCreate});
    EXPECT_OK(file.status());
    EXPECT_OK((*file)->WriteAt(0, std::string(5000, fill)));
  }
  // A table, and a value file that it refers to, in files that were written and never synced.
  format::ValueFilePtr NewValueFile() {
    const kv::FileNumber number = shape_.AllocateNumber();
    WriteFile(format::ValueFilePath("/d", number), 'v');
    return std::make_shared<format::ValueFileMeta>(
        format::ValueFileMeta{.number = number, .bytes = 5000, .records = 1, .record_bytes = 4000});
  }
  format::FileMetaPtr NewTable(const format::ValueFilePtr& values) {
    const kv::FileNumber number = shape_.AllocateNumber();
    WriteFile(format::TablePath("/d", number), 't');
    auto meta = std::make_shared<format::FileMeta>();
    meta->number = number;
    meta->bytes = 5000;
    meta->entries = meta->smallest_sequence = meta->largest_sequence = 1;
    meta->smallest = "a";
    meta->largest = "z";
    meta->values = {{.file = values->number, .bytes = 4000}};
    return meta;
  }
  void Flush(uint64_t end) {
    if (shape_.Current() == nullptr || shape_.Current()->active == nullptr) shape_.Seal(NewMemtable(), {});
    shape_.Seal(NewMemtable(), {.epoch = 1, .position = end, .sequence = end});
    const auto values = NewValueFile();
    ASSERT_OK(shape_.InstallFlush(NewTable(values), {values}));
  }
  Status Commit() {
    return shape_.Commit([](const Shape::LogStart&) { return Shape::LogFacts{}; }, std::nullopt, [this](const Shape::LogStart& start) { released_ = start; });
  }
  // Are the tables of the durable MANIFEST there, whole, after a power cut?
  void CheckPowerCut(size_t tables) {
    auto image = files_.Crash(CrashMode::kMin, CrashModel::kStrict, 1);
    ASSERT_OK_AND_ASSIGN(const manifest::Loaded loaded, manifest::Load(image.get(), "/d", order_));
    EXPECT_EQ(loaded.version->files().size(), tables);
    for (const auto& meta : loaded.version->file_metas()) {
      EXPECT_THAT(image->ReadWhole(format::TablePath("/d", meta->number)), testing::IsOkAndHolds(std::string(5000, 't')));
    }
    EXPECT_EQ(loaded.version->value_files().size(), tables);
    for (const auto& each : loaded.version->value_files()) {
      EXPECT_THAT(image->ReadWhole(format::ValueFilePath("/d", each.file->number)),
                  testing::IsOkAndHolds(std::string(5000, 'v')));
    }
  }

  testing::FaultFileSystem files_;
  const kv::Order order_{BytewiseComparator()};
  Shape::LogStart released_;
  std::vector<kv::FileNumber> replaced_;
  Shape shape_{{.file_system = &files_,
                .directory = "/d",
                .order = order_,
                .database_id = 7,
                .check_table = [](const std::string&, const format::FileMetaPtr&) { return Status(); },
                .check_value_file = [](const std::string&, const format::ValueFileMeta&) { return Status(); },
                .file_replaced = [this](kv::FileNumber number) { replaced_.push_back(number); }},
               std::make_shared<const version::Version>(),
               kv::FileNumber{10},
               kv::Position{1},
               {.epoch = 1, .sequence = 1}};
};

TEST_F(ShapeTest, ShowsAFlushAtOnceAndCommitsItLater) {
  Flush(100);
  EXPECT_EQ(shape_.Current()->version->files().size(), 1u);
  EXPECT_EQ(shape_.Current()->sealed.size(), 0u);
  EXPECT_TRUE(shape_.HasUncommitted());
  EXPECT_EQ(shape_.UncommittedLogBytes(), 100u);
  ASSERT_OK(Commit());
  EXPECT_FALSE(shape_.HasUncommitted());
  EXPECT_EQ(released_.position, 100u);
  EXPECT_EQ(shape_.UncommittedLogBytes(), 0u);
  CheckPowerCut(1);
}

TEST_F(ShapeTest, PutsANewerFlushAtANewerPosition) {
  Flush(100);
  Flush(200);
  const auto& runs = shape_.Current()->version->runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_GT(runs[0]->position(), runs[1]->position());
}

TEST_F(ShapeTest, ReplacesATableWhoseSyncFailed) {
  ASSERT_OK(Commit());
  Flush(100);
  files_.AddFault({.op = Op::kSync, .path_contains = ".tbl"});
  EXPECT_THAT(Commit(), testing::StatusIs(Code::kIOError));
  EXPECT_TRUE(shape_.HasUncommitted());
  ASSERT_OK(Commit());
  EXPECT_EQ(replaced_.size(), 1u);
  EXPECT_EQ(files_.sync_after_failed_sync(), 0u);
  CheckPowerCut(1);
}

TEST_F(ShapeTest, CommitsAfterAnyFailureWhatAPowerCutCannotTake) {
  for (uint64_t n = 1; n < 12; ++n) {
    SCOPED_TRACE("n " + std::to_string(n));
    Flush(100 * n);
    files_.AddFault({.op = Op::kAnyChange, .nth = n % 6 + 1});
    const bool failed = !Commit().ok();
    files_.ClearFaults();
    if (failed) {
      ASSERT_OK(Commit());
    }
    CheckPowerCut(n);
  }
  EXPECT_EQ(files_.sync_after_failed_sync(), 0u);
}

// Neither a flush nor a merge makes a tree that the next open would refuse.
TEST_F(ShapeTest, RefusesWhatDoesNotFitAndStaysAsItIs) {
  Flush(100);
  const read::ViewPtr before = shape_.Current();
  format::Edit edit;
  edit.adds.push_back({.position = before->version->runs().front()->position(), .level = 0, .file = NewTable(NewValueFile()), .bounds = {}});
  EXPECT_THAT(shape_.Install(edit), testing::StatusIs(Code::kCorruption, ::testing::HasSubstr("over another one")));
  EXPECT_EQ(shape_.Current(), before);

  shape_.Seal(NewMemtable(), {.epoch = 1, .position = 200, .sequence = 200});
  const auto values = NewValueFile();
  const auto table = NewTable(values);
  EXPECT_THAT(shape_.InstallFlush(table, {}), testing::StatusIs(Code::kCorruption, ::testing::HasSubstr("a table refers to it, and no edit added it")));
  EXPECT_EQ(shape_.Current()->version, before->version);
  EXPECT_EQ(shape_.Current()->sealed.size(), 1u) << "readers find it there";
  ASSERT_OK(shape_.InstallFlush(table, {values}));
  EXPECT_EQ(shape_.Current()->version->files().size(), 2u);
}

// A reader that took its View before a batch was put into several memtables may hold the first of them and not the last.
TEST_F(ShapeTest, AViewFromBeforeALargeBatchIsTooOld) {
  Flush(100);
  const read::ViewPtr before = shape_.Current();
  EXPECT_FALSE(shape_.IsTooOld(*before));
  shape_.Seal(NewMemtable(), {.epoch = 1, .position = 110, .sequence = 110});  // between two pieces
  const read::ViewPtr amid = shape_.Current();
  EXPECT_FALSE(shape_.IsTooOld(*amid)) << "the batch is not published";
  shape_.CountLargeBatch();
  EXPECT_TRUE(shape_.IsTooOld(*before));
  EXPECT_TRUE(shape_.IsTooOld(*amid));
  EXPECT_FALSE(shape_.IsTooOld(*shape_.Current()));
  Flush(200);
  EXPECT_FALSE(shape_.IsTooOld(*shape_.Current()));
}

}  // namespace
}  // namespace mergedb::db
