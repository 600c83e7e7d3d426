// Goal: the tree that an open begins with has the changes of the MANIFEST and of the WAL, uses no number twice, and a
// recovery that fails leaves no file of its own. Method: databases in memory that were killed, and WALs by hand.
#include "db/recovery/recovered_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "format/batch.h"
#include "format/file_name.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"

namespace mergedb::db {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace mergedb::testing;

const std::string kTreeDirectory = SimulatedEnv::kPath;
using Files = std::map<std::string, std::string>;

class RecoveredTreeTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Store> NewStore(SimulatedEnv& sim) {
    Options options = sim.SmallOptions();
    EXPECT_OK(CheckOptions(&options));
    return std::make_unique<Store>(options, kTreeDirectory);
  }
  // The version of a tree that has no memtable yet.
  static version::VersionPtr VersionOf(const Store& store, Tree& tree) {
    tree.version_set.SwitchMemtable(std::make_shared<memtable::Memtable>(store.order, memtable::NewMemory(64 << 10)),
                                    {});
    return tree.version_set.Current()->version;
  }
  static Files FilesOf(const FaultFileSystem& files) {
    Files all;
    for (const std::string& path : files.Files()) all[path] = *files.ReadWhole(path);
    return all;
  }
  // A WAL of `frames` puts of 2 KB, and a MANIFEST that would name it.
  void WriteWal(int frames) {
    ASSERT_OK(sim_.files->CreateDirectory(kTreeDirectory));
    uint64_t next_file = 10;
    auto log = wal::Wal::Create({.file_system = sim_.files.get(),
                                 .executor = &sim_.executor,
                                 .directory = kTreeDirectory,
                                 .database_id = 7,
                                 .salt = 42,
                                 .buffer_bytes = 4 << 20,
                                 .allocate_number = [&] { return kv::FileNumber{next_file++}; },
                                 .reusable_segments = {}});
    ASSERT_OK(log.status());
    for (int frame = 0; frame < frames; ++frame) {
      std::string batch;
      format::AppendRecord(&batch, kv::Kind::kPut, "key" + std::to_string(1000 + frame), std::string(2000, 'v'));
      const std::string_view payload[] = {batch};
      ASSERT_OK((*log)->Append(payload, 1, true));
    }
    ASSERT_OK((*log)->MakeDurable());
    loaded_.database_id = 7;
    loaded_.version = std::make_shared<const version::Version>();
    loaded_.next_file = kv::FileNumber{next_file};
    loaded_.next_position = kv::Position{1};
    loaded_.wal_start = FirstOfEpoch(1, 42, 1);
  }

  SimulatedEnv sim_;
  std::unique_ptr<SimulatedEnv> after_kill_;
  manifest::Loaded loaded_;
};

// ---- a new tree -----------------------------------------------------------------------------------------------

TEST_F(RecoveredTreeTest, ANewTreeUsesNoNumberOfAFileThatIsThere) {
  ASSERT_OK(sim_.files->CreateDirectory(kTreeDirectory));
  ASSERT_OK(sim_.files->WriteWhole(kTreeDirectory + "/000041.tbl.1", "not a name of mergedb's"));
  ASSERT_OK(sim_.files->WriteWhole(kTreeDirectory + "/MANIFEST-000020", "of an open that was interrupted"));
  const auto store = NewStore(sim_);
  ASSERT_OK_AND_ASSIGN(const RecoveredTree recovered, CreateTree(*store));
  EXPECT_EQ(recovered.tree->version_set.next_file(), kv::FileNumber{21});
  EXPECT_TRUE(VersionOf(*store, *recovered.tree)->runs().empty());
  EXPECT_EQ(recovered.start.epoch, 1u);
  EXPECT_EQ(recovered.start.sequence, 1u);
}

// 0 means "no database" in a WAL segment.
TEST_F(RecoveredTreeTest, TheIdOfADatabaseIsNeverZero) {
  ASSERT_OK(sim_.files->CreateDirectory(kTreeDirectory));
  Options options = sim_.SmallOptions();
  uint64_t given = 0;
  options.env.entropy = [&] { return given++ < 3 ? 0 : given; };
  ASSERT_OK(CheckOptions(&options));
  Store store(options, kTreeDirectory);
  ASSERT_OK_AND_ASSIGN(const RecoveredTree recovered, CreateTree(store));
  EXPECT_EQ(recovered.tree->database_id, 4u);
}

TEST_F(RecoveredTreeTest, TheDirectoryOfANewTreeIsDurable) {
  ASSERT_OK(sim_.files->CreateDirectory(kTreeDirectory));
  const auto store = NewStore(sim_);
  ASSERT_OK(CreateTree(*store));
  const auto image = sim_.files->Crash(CrashMode::kMin, CrashModel::kStrict, 1);
  EXPECT_THAT(image->IsDirectory(kTreeDirectory), IsOkAndHolds(true));
  sim_.files->AddFault({.op = FileOp::kSyncDirectory});
  EXPECT_THAT(CreateTree(*store), StatusIs(Code::kIOError));
}

// ---- recovery -------------------------------------------------------------------------------------------------

TEST_F(RecoveredTreeTest, HasTheChangesOfTheWalInTablesWithNewNumbers) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, sim_.Open());
    ASSERT_OK(db->Put({}, "flushed", "1"));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Put({}, "logged", "2"));
    ASSERT_OK(db->Delete({}, "flushed"));
    after_kill_ = SimulatedEnv::After(sim_, CrashMode::kKill, CrashModel::kStrict, 1);
  }
  SimulatedEnv& sim = *after_kill_;
  ASSERT_OK(sim.files->WriteWhole(kTreeDirectory + "/000900.tbl", "a table that no commit names"));
  const Files before = FilesOf(*sim.files);
  const auto store = NewStore(sim);
  ASSERT_OK_AND_ASSIGN(const manifest::Loaded loaded, manifest::Load(sim.files.get(), kTreeDirectory, store->order));
  ASSERT_OK_AND_ASSIGN(const Inventory inventory, TakeInventory(sim.files.get(), kTreeDirectory));
  ASSERT_OK_AND_ASSIGN(const RecoveredTree recovered, RecoverTree(*store, loaded, inventory));
  EXPECT_EQ(recovered.start.epoch, loaded.wal_start.epoch + 1);
  EXPECT_EQ(recovered.start.sequence, 4u);
  EXPECT_EQ(store->snapshots->published(), 3u);
  EXPECT_EQ(recovered.tree->version_set.immutable_count(), 0u) << "all changes are in tables";
  kv::Sequence largest = 0;
  for (const auto& meta : recovered.tree->version_set.Current()->version->file_metas()) {
    largest = std::max(largest, meta->largest_sequence);
    if (meta->largest_sequence > 1) { EXPECT_GT(kv::ToInt(meta->number), 900u); }
  }
  EXPECT_EQ(largest, 3u);
  // Nothing that the database needs has changed.
  for (const auto& [path, bytes] : before) EXPECT_THAT(sim.files->ReadWhole(path), IsOkAndHolds(bytes)) << path;
}

TEST_F(RecoveredTreeTest, ARecoveryThatFailsRemovesTheTablesThatItWrote) {
  WriteWal(200);
  const Files before = FilesOf(*sim_.files);
  std::set<std::string> made;
  sim_.files->SetOpHook([&](uint64_t, const char* what, const std::string& path) {
    if (std::string_view(what) == OpName(FileOp::kCreate)) made.insert(path);
  });
  // The MANIFEST names a table with a change that neither it nor the WAL has.
  const auto store = NewStore(sim_);
  ASSERT_OK_AND_ASSIGN(loaded_.version, ParseTree(store->order, "position 90 level 0: 000005[a..f]1KB\n"));
  loaded_.next_position = kv::Position{91};
  ASSERT_OK_AND_ASSIGN(const Inventory inventory, TakeInventory(sim_.files.get(), kTreeDirectory));
  EXPECT_THAT(RecoverTree(*store, loaded_, inventory),
              StatusIs(Code::kCorruption, AllOf(HasSubstr("/db/000005.tbl: has sequence 900"),
                                                HasSubstr("the last sequence of MANIFEST and WAL is 200"))));
  EXPECT_FALSE(made.empty()) << "a part of the WAL was flushed";
  EXPECT_EQ(FilesOf(*sim_.files), before);
  EXPECT_EQ(store->snapshots->published(), 0u);
}

TEST_F(RecoveredTreeTest, TheNextSequenceNeverPassesTheLargest) {
  WriteWal(1);
  loaded_.last_sequence = kv::kSequenceMax;
  const auto store = NewStore(sim_);
  ASSERT_OK_AND_ASSIGN(const Inventory inventory, TakeInventory(sim_.files.get(), kTreeDirectory));
  ASSERT_OK_AND_ASSIGN(const RecoveredTree recovered, RecoverTree(*store, loaded_, inventory));
  EXPECT_EQ(recovered.start.sequence, kv::kSequenceMax);
  EXPECT_EQ(store->snapshots->published(), kv::kSequenceMax);
}

// ---- parts ----------------------------------------------------------------------------------------------------

TEST_F(RecoveredTreeTest, TheNewerOfManifestAndWalIsPublished) {
  for (const auto& [of_manifest, of_wal] : {std::pair(50, 20), std::pair(20, 50)}) {
    const auto store = NewStore(sim_);
    loaded_.version = std::make_shared<const version::Version>();
    loaded_.last_sequence = static_cast<kv::Sequence>(of_manifest);
    Replayed replayed;
    replayed.last_sequence = static_cast<kv::Sequence>(of_wal);
    EXPECT_THAT(PublishReplayed(*store, loaded_, replayed), IsOkAndHolds(50u));
    EXPECT_EQ(store->snapshots->published(), 50u);
    ASSERT_OK_AND_ASSIGN(loaded_.version, ParseTree(store->order, "position 5 level 0: 000005[a..f]1KB\n"));
    EXPECT_OK(PublishReplayed(*store, loaded_, replayed)) << "the table holds sequence 50";
  }
}

// A file becomes obsolete when its last user releases it, so the tree of an open must track those of the MANIFEST.
TEST_F(RecoveredTreeTest, FilesOfTheManifestBecomeObsoleteWhenTheTreeGoes) {
  const auto store = NewStore(sim_);
  ASSERT_OK_AND_ASSIGN(loaded_.version, ParseTree(store->order,
                                                  "position 9 level 0: 000012[a..f)1KB 000012[q..z]\n"
                                                  "position 3 level bottom: 000007[a..zz]1KB{90:1MB}\n"
                                                  "values 90 1MB\n"));
  loaded_.next_position = kv::Position{10};
  loaded_.key_marker = "\x01p";
  ASSERT_OK_AND_ASSIGN(auto tree, TakeTree(*store, loaded_, kv::FileNumber{100}));
  EXPECT_EQ(VersionOf(*store, *tree)->ToString(), loaded_.version->ToString());
  ASSERT_NE(store->key_map(), nullptr);
  EXPECT_EQ(store->key_map()->reserved_prefix(), "\x01p");
  EXPECT_TRUE(store->obsolete->Take().empty());
  tree = nullptr;
  std::set<uint64_t> numbers;
  for (const auto& obsolete : store->obsolete->Take()) numbers.insert(kv::ToInt(obsolete.number));
  EXPECT_EQ(numbers, (std::set<uint64_t>{7, 12, 90})) << "each file once, however many virtual tables show it";
}

}  // namespace
}  // namespace mergedb::db
