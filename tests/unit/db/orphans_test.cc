// Goal: an open removes files that no MANIFEST ever named, and keeps files that a dropped part of the MANIFEST may have
// named. Method: a tree of two tables and a blob file beside orphans of every kind, in memory; tables hold any bytes.
#include "db/recovery/orphans.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"

namespace mergedb::db {
namespace {

using ::testing::HasSubstr;
using namespace mergedb::testing;

const std::string kDirectory = "/db";

class OrphansTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(sim_.files->CreateDirectory(kDirectory));
    ASSERT_OK(sim_.files->SyncDirectory("/"));
    Options options = sim_.SmallOptions();
    ASSERT_OK(CheckOptions(&options));
    store_ = std::make_unique<Store>(options, kDirectory);
    ASSERT_OK_AND_ASSIGN(auto version, ParseTree(store_->order,
                                                 "position 9 level 0: 000012[a..f]1KB 000013[g..m]1KB{90:1MB}\n"
                                                 "values 90 1MB\n"));
    tree_ = std::make_unique<Tree>(
        *store_,
        Tree::Origin{
            .database_id = 7, .version = version, .next_file = kv::FileNumber{200}, .next_position = kv::Position{10}});
    tree_->version_set.SwitchMemtable(
        std::make_shared<memtable::Memtable>(store_->order, memtable::NewMemory(64 << 10)), {});
    for (const char* name : kLive) Write(name);
    for (const char* name : kUnnamed) Write(name);
    for (const char* name : kOfWal) Write(name);
    Write("notes.txt");
    ASSERT_OK(tree_->committer.Commit());
    ASSERT_OK_AND_ASSIGN(inventory_, TakeInventory(sim_.files.get(), kDirectory));
  }
  void Write(const std::string& name) {
    ASSERT_OK(sim_.files->WriteWhole(kDirectory + "/" + name, "bytes of " + name));
  }
  bool Has(const std::string& name) { return Holds(*sim_.files, name); }
  static bool Holds(const FaultFileSystem& files, const std::string& name) {
    return files.ReadWhole(kDirectory + "/" + name).has_value();
  }
  std::string ManifestName() {
    return format::PrintFileName(format::FileKind::kManifest, *tree_->committer.manifest_number());
  }
  void ExpectTheDatabase() {
    for (const char* name : kLive) EXPECT_TRUE(Has(name)) << name;
    EXPECT_TRUE(Has(ManifestName()));
    EXPECT_TRUE(Has("CURRENT"));
    EXPECT_TRUE(Has("notes.txt"));
  }
  Result<KeptOrphans> Prepare(bool with_wal) { return KeptOrphans::Prepare(*store_, *tree_, inventory_, with_wal); }

  static constexpr const char* kLive[] = {"000012.tbl", "000013.tbl", "000090.val"};
  static constexpr const char* kUnnamed[] = {"000014.tbl", "000091.val", "MANIFEST-000003"};
  static constexpr const char* kOfWal[] = {"000015.seg", "STAGING"};

  SimulatedEnv sim_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Tree> tree_;
  Inventory inventory_;
};

TEST_F(OrphansTest, FilesThatNoMetadataNamesAreRemovedAndTheWalStays) {
  RemoveOrphans(*store_, *tree_, inventory_, false);
  for (const char* name : kUnnamed) EXPECT_FALSE(Has(name)) << name;
  for (const char* name : kOfWal) EXPECT_TRUE(Has(name)) << name;
  ExpectTheDatabase();
}

// Tables may hold flushed changes of the part of the WAL that is lost.
TEST_F(OrphansTest, AfterATornWalOnlyOldManifestsAreRemoved) {
  RemoveOrphans(*store_, *tree_, inventory_, true);
  EXPECT_FALSE(Has("MANIFEST-000003"));
  EXPECT_TRUE(Has("000014.tbl"));
  EXPECT_TRUE(Has("000091.val"));
  ExpectTheDatabase();
}

TEST_F(OrphansTest, AFileThatCannotBeRemovedKeepsNoOther) {
  sim_.files->AddFault({.op = FileOp::kRemove, .path_contains = "000014.tbl", .sticky = true});
  RemoveOrphans(*store_, *tree_, inventory_, false);
  EXPECT_TRUE(Has("000014.tbl"));
  EXPECT_FALSE(Has("000091.val"));
}

// KEEP is durable before the commit that replaces the damaged MANIFEST, and no file has moved before it.
TEST_F(OrphansTest, TheMarkerIsDurableBeforeAnythingMoves) {
  ASSERT_OK_AND_ASSIGN(const KeptOrphans kept, Prepare(true));
  const auto image = sim_.files->Crash(CrashMode::kMin, CrashModel::kStrict, 1);
  EXPECT_TRUE(Holds(*image, "KEEP"));
  for (const char* name : kUnnamed) EXPECT_TRUE(Holds(*image, name)) << name;
  for (const char* name : kOfWal) EXPECT_TRUE(Holds(*image, name)) << name;
}

class MovedOrphansTest : public OrphansTest, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutTheWal, MovedOrphansTest, ::testing::Bool());

TEST_P(MovedOrphansTest, KeptFilesAreDurableInLostBeforeTheMarkerGoes) {
  const bool with_wal = GetParam();
  ASSERT_OK_AND_ASSIGN(KeptOrphans kept, Prepare(with_wal));
  int images = 0;
  sim_.files->SetOpHook([&](uint64_t op, const char* what, const std::string&) {
    if (std::string_view(what) != OpName(FileOp::kRemove)) return;
    ++images;
    const auto image = sim_.files->Crash(CrashMode::kMin, CrashModel::kStrict, op);
    EXPECT_TRUE(Holds(*image, "KEEP"));
    for (const char* name : kUnnamed) EXPECT_TRUE(Holds(*image, "lost/" + std::string(name))) << name;
  });
  kept.Move();
  sim_.files->SetOpHook(nullptr);
  EXPECT_EQ(images, 1) << "the removal of KEEP";
  EXPECT_FALSE(Has("KEEP"));
  for (const char* name : kUnnamed) {
    EXPECT_FALSE(Has(name)) << name;
    EXPECT_THAT(sim_.files->ReadWhole(kDirectory + "/lost/" + name), IsOkAndHolds("bytes of " + std::string(name)));
  }
  for (const char* name : kOfWal) {
    EXPECT_EQ(Has(name), !with_wal) << name;
    EXPECT_EQ(Has("lost/" + std::string(name)), with_wal) << name;
  }
  ExpectTheDatabase();
  EXPECT_THAT(kept.report(), HasSubstr(with_wal ? "/db: 5 files" : "/db: 3 files"));
}

TEST_F(OrphansTest, AFileThatCannotMoveStaysAndSoDoesTheMarker) {
  for (const Fault& fault : {Fault{.op = FileOp::kRename, .path_contains = "000091.val", .sticky = true},
                             Fault{.op = FileOp::kSyncDirectory, .path_contains = "lost", .sticky = true}}) {
    SCOPED_TRACE(OpName(fault.op));
    ASSERT_OK_AND_ASSIGN(KeptOrphans kept, Prepare(false));
    sim_.files->AddFault(fault);
    kept.Move();
    sim_.files->ClearFaults();
    EXPECT_TRUE(Has("KEEP"));
    EXPECT_THAT(kept.report(), HasSubstr("files were not moved: IOError"));
    EXPECT_EQ(Has("000091.val"), fault.op == FileOp::kRename);
    EXPECT_FALSE(Has("000014.tbl")) << "the others moved";
    ExpectTheDatabase();
    // The next open finds KEEP.
    ASSERT_OK_AND_ASSIGN(inventory_, TakeInventory(sim_.files.get(), kDirectory));
    EXPECT_TRUE(inventory_.has_keep_marker);
  }
  ASSERT_OK_AND_ASSIGN(KeptOrphans kept, Prepare(false));
  kept.Move();
  EXPECT_FALSE(Has("KEEP"));
  EXPECT_TRUE(Has("lost/000091.val"));
}

TEST_F(OrphansTest, WithoutADurableMarkerNothingIsPrepared) {
  for (const FileOp op : {FileOp::kCreate, FileOp::kWrite, FileOp::kSync}) {
    sim_.files->AddFault({.op = op, .path_contains = "KEEP"});
    EXPECT_THAT(Prepare(true), StatusIs(Code::kIOError)) << OpName(op);
    sim_.files->ClearFaults();
    (void)sim_.files->Remove(kDirectory + "/KEEP");
  }
}

}  // namespace
}  // namespace mergedb::db
