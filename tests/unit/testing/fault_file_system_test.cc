// Goal: the simulated disk loses the bytes that a real one may lose, keeps those that a real one must keep,
// and can be steered to any result in between. Method: small scenarios, each with the results that
// crash_image.h allows.
#include "testing/fault_file_system.h"

#include <cstring>
#include <set>

#include "base/random.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::unique_ptr<File> Create(FileSystem& fs, const std::string& path, bool direct = false) {
  auto file = fs.Open(path, {.access = Access::kCreate, .direct = direct});
  EXPECT_OK(file);
  return std::move(file).value();
}

std::unique_ptr<File> OpenForWrite(FileSystem& fs, const std::string& path) {
  auto file = fs.Open(path, {.access = Access::kReadWrite});
  EXPECT_OK(file);
  return std::move(file).value();
}

// A file system with a durable directory /db.
class FaultFileSystemTest : public ::testing::Test {
 protected:
  FaultFileSystemTest() {
    EXPECT_OK(fs_.CreateDirectory("/db"));
    EXPECT_OK(fs_.SyncDirectory("/"));
  }
  // Creates a file that is durable in name and content.
  void MakeDurable(const std::string& path, std::string_view bytes) {
    const auto file = Create(fs_, path);
    EXPECT_OK(file->WriteAt(0, bytes));
    EXPECT_OK(file->Sync());
    EXPECT_OK(fs_.SyncDirectory("/db"));
  }
  std::string After(CrashMode mode, CrashModel model, uint64_t seed, const std::string& path) {
    const auto content = fs_.Crash(mode, model, seed)->ReadWhole(path);
    return content.has_value() ? content.value() : "missing";
  }

  FaultFileSystem fs_;
};

TEST_F(FaultFileSystemTest, ReadsBackWhatWasWritten) {
  const auto file = Create(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(5000, "world"));
  ASSERT_OK(file->WriteAt(0, "hello"));
  char out[16] = {};
  size_t got = 0;
  ASSERT_OK(file->ReadAt(4998, sizeof out, out, &got));
  EXPECT_EQ(std::string(out, got), std::string("\0\0world", 7));
  ASSERT_OK(file->ReadAt(9000, sizeof out, out, &got));
  EXPECT_EQ(got, 0u);
  EXPECT_THAT(file->Size(), IsOkAndHolds(5005u));
  ASSERT_OK(file->Truncate(3));
  ASSERT_OK(file->Truncate(6));
  EXPECT_THAT(fs_.ReadWhole("/db/a"), IsOkAndHolds(std::string("hel\0\0\0", 6)));
}

TEST_F(FaultFileSystemTest, KeepsTheRulesOfNames) {
  EXPECT_THAT(fs_.Open("/db/a", {}), StatusIs(Code::kNotFound));
  EXPECT_THAT(fs_.Open("/no/a", {.access = Access::kCreate}), StatusIs(Code::kNotFound));
  Create(fs_, "/db/a");
  EXPECT_THAT(fs_.Open("/db/a", {.access = Access::kCreate}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(fs_.Open("/db", {}), StatusIs(Code::kIOError));
  EXPECT_THAT(fs_.SizeOf("/db"), StatusIs(Code::kInvalidArgument));
  EXPECT_OK(fs_.CreateDirectory("/db"));
  EXPECT_THAT(fs_.CreateDirectory("/db/a"), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(fs_.RemoveDirectory("/db"), StatusIs(Code::kIOError));
  EXPECT_OK(fs_.Rename("/db/a", "/db/b"));
  EXPECT_THAT(fs_.Rename("/db/a", "/db/b"), StatusIs(Code::kNotFound));
  EXPECT_THAT(fs_.List("/db"), IsOkAndHolds(ElementsAre("b")));
  EXPECT_THAT(fs_.IsDirectory("/db"), IsOkAndHolds(true));
  EXPECT_THAT(fs_.IsDirectory("/nothing"), IsOkAndHolds(false));
  EXPECT_OK(fs_.Remove("/db/b"));
  EXPECT_OK(fs_.RemoveDirectory("/db"));
}

TEST_F(FaultFileSystemTest, RemovedFileLivesUntilItsHandleCloses) {
  MakeDurable("/db/a", "still here");
  auto file = OpenForWrite(fs_, "/db/a");
  ASSERT_OK(fs_.Remove("/db/a"));
  char out[10];
  size_t got = 0;
  ASSERT_OK(file->ReadAt(0, sizeof out, out, &got));
  EXPECT_EQ(std::string(out, got), "still here");
  EXPECT_EQ(fs_.bytes_used(), 4096u);
  ASSERT_OK(file->Close());
  EXPECT_EQ(fs_.bytes_used(), 0u);
}

TEST_F(FaultFileSystemTest, LockIsBusyUntilReleasedAndGoneAfterACrash) {
  ASSERT_OK_AND_ASSIGN(auto lock, fs_.Lock("/db/LOCK"));
  EXPECT_THAT(fs_.Lock("/db/LOCK"), StatusIs(Code::kBusy));
  const auto image = fs_.Crash(CrashMode::kKill, CrashModel::kStrict, 1);
  EXPECT_OK(image->Lock("/db/LOCK"));
  lock.reset();
  EXPECT_OK(fs_.Lock("/db/LOCK"));
}

// ---- crashes ----

TEST_F(FaultFileSystemTest, KillKeepsEverythingAndAPowerCutAfterItDoesNot) {
  MakeDurable("/db/a", "durable");
  ASSERT_OK(OpenForWrite(fs_, "/db/a")->WriteAt(0, "changed"));
  Create(fs_, "/db/new");
  const auto killed = fs_.Crash(CrashMode::kKill, CrashModel::kStrict, 1);
  EXPECT_THAT(killed->ReadWhole("/db/a"), IsOkAndHolds("changed"));
  EXPECT_THAT(killed->Files(), ElementsAre("/db/a", "/db/new"));
  const auto cut = killed->Crash(CrashMode::kMin, CrashModel::kStrict, 1);
  EXPECT_THAT(cut->ReadWhole("/db/a"), IsOkAndHolds("durable"));
  EXPECT_THAT(cut->Files(), ElementsAre("/db/a"));
}

TEST_F(FaultFileSystemTest, MinKeepsOnlyWhatWasSynced) {
  MakeDurable("/db/a", "durable");
  const auto file = OpenForWrite(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(7, " and more"));
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/a"), "durable");
  ASSERT_OK(file->Sync());
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/a"), "durable and more");
}

TEST_F(FaultFileSystemTest, StrictModelLosesANameWhoseDirectoryWasNotSynced) {
  const auto file = Create(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(0, "x"));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/a"), "missing");
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kJournaled, 1, "/db/a"), "x") << "its sync committed the journal";
}

TEST_F(FaultFileSystemTest, NamesMayComeBeforeOrAfterTheirData) {
  ASSERT_OK(Create(fs_, "/db/a")->WriteAt(0, "x"));
  EXPECT_EQ(After(CrashMode::kNamesFull, CrashModel::kStrict, 1, "/db/a"), "");
  MakeDurable("/db/b", "old");
  ASSERT_OK(OpenForWrite(fs_, "/db/b")->WriteAt(0, "new"));
  ASSERT_OK(fs_.Remove("/db/a"));
  EXPECT_EQ(After(CrashMode::kNamesMinDataFull, CrashModel::kStrict, 1, "/db/a"), "x") << "the removal is not durable";
  EXPECT_EQ(After(CrashMode::kNamesMinDataFull, CrashModel::kStrict, 1, "/db/b"), "new");
}

TEST_F(FaultFileSystemTest, RenameIsAtomicInEveryModeAndModel) {
  MakeDurable("/db/CURRENT", "one");
  MakeDurable("/db/tmp", "two");
  ASSERT_OK(fs_.Rename("/db/tmp", "/db/CURRENT"));
  for (const CrashMode mode : kPowerCutModes) {
    for (const CrashModel model : kCrashModels) {
      for (uint64_t seed = 0; seed < 20; ++seed) {
        const auto image = fs_.Crash(mode, model, seed);
        const std::string current = image->ReadWhole("/db/CURRENT").value();
        EXPECT_EQ(image->ReadWhole("/db/tmp").has_value(), current == "one") << CrashModeName(mode);
        EXPECT_TRUE(current == "one" || current == "two");
      }
    }
  }
  ASSERT_OK(fs_.SyncDirectory("/db"));
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/CURRENT"), "two");
}

TEST_F(FaultFileSystemTest, ASecondNameIsTheSameFileAndItsOwnEntry) {
  MakeDurable("/db/a", "one");
  ASSERT_OK(fs_.Link("/db/a", "/db/b"));
  EXPECT_THAT(fs_.Link("/db/a", "/db/b"), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(fs_.Link("/db/c", "/db/d"), StatusIs(Code::kNotFound));
  EXPECT_THAT(fs_.Open("/db/a", {.access = Access::kReuse}), StatusIs(Code::kInvalidArgument)) << "it has two names";
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/b"), "missing");
  ASSERT_OK(fs_.SyncDirectory("/db"));
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/b"), "one");
  ASSERT_OK(fs_.Remove("/db/a"));
  EXPECT_OK(fs_.Open("/db/b", {.access = Access::kReuse}));
  EXPECT_EQ(After(CrashMode::kKill, CrashModel::kStrict, 1, "/db/b"), "one");
}

TEST_F(FaultFileSystemTest, JournaledModelKeepsNameOpsInOrder) {
  for (const char* name : {"/db/1", "/db/2", "/db/3"}) Create(fs_, name);
  std::set<size_t> counts;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto files = fs_.Crash(CrashMode::kBlockMix, CrashModel::kJournaled, seed)->Files();
    counts.insert(files.size());
    for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(files[i], "/db/" + std::to_string(i + 1));
  }
  EXPECT_EQ(counts, (std::set<size_t>{0, 1, 2, 3}));
}

TEST_F(FaultFileSystemTest, StrictModelMayKeepAnySubsetOfNameOps) {
  Create(fs_, "/db/1");
  Create(fs_, "/db/2");
  std::set<std::vector<std::string>> outcomes;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    outcomes.insert(fs_.Crash(CrashMode::kPrefixTorn, CrashModel::kStrict, seed)->Files());
  }
  EXPECT_EQ(outcomes.size(), 4u);
}

TEST_F(FaultFileSystemTest, PrefixTornCutsTheLastWriteAtASector) {
  MakeDurable("/db/a", "");
  const auto file = OpenForWrite(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(0, std::string(1000, 'a')));
  ASSERT_OK(file->WriteAt(1000, std::string(3000, 'b')));
  const std::string all = fs_.ReadWhole("/db/a").value();
  std::set<size_t> sizes;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::string after = After(CrashMode::kPrefixTorn, CrashModel::kStrict, seed, "/db/a");
    EXPECT_EQ(after, all.substr(0, after.size()));
    EXPECT_TRUE(after.size() % kSectorBytes == 0 || after.size() == 1000 || after.size() == 4000) << after.size();
    sizes.insert(after.size());
  }
  EXPECT_GT(sizes.size(), 5u);
}

TEST_F(FaultFileSystemTest, BlockMixChoosesForEachSector) {
  MakeDurable("/db/a", std::string(8 * kSectorBytes, 'o'));
  const auto file = OpenForWrite(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(0, std::string(8 * kSectorBytes, 'n')));
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string after = After(CrashMode::kBlockMix, CrashModel::kJournaled, seed, "/db/a");
    ASSERT_EQ(after.size(), 8 * kSectorBytes);
    std::string pattern;
    for (size_t sector = 0; sector < 8; ++sector) {
      const std::string_view bytes = std::string_view(after).substr(sector * kSectorBytes, kSectorBytes);
      EXPECT_EQ(bytes, std::string(kSectorBytes, bytes[0]));
      pattern += bytes[0];
    }
    outcomes.insert(pattern);
  }
  EXPECT_GT(outcomes.size(), 50u);
}

TEST_F(FaultFileSystemTest, GrowthHasHolesOnlyInTheStrictModel) {
  MakeDurable("/db/a", "");
  ASSERT_OK(OpenForWrite(fs_, "/db/a")->WriteAt(0, std::string(8 * kSectorBytes, 'n')));
  int with_hole = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string ordered = After(CrashMode::kBlockMix, CrashModel::kJournaled, seed, "/db/a");
    EXPECT_EQ(ordered, std::string(ordered.size(), 'n'));
    with_hole += After(CrashMode::kBlockMix, CrashModel::kStrict, seed, "/db/a").find('\0') != std::string::npos;
  }
  EXPECT_GT(with_hole, 30);
}

TEST_F(FaultFileSystemTest, GarbageTailFillsTheGrowth) {
  MakeDurable("/db/a", "head");
  MakeDurable("/db/other", std::string(4096, 'z'));
  ASSERT_OK(OpenForWrite(fs_, "/db/a")->WriteAt(4, std::string(4092, 'n')));
  int with_garbage = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string after = After(CrashMode::kGarbageTail, CrashModel::kStrict, seed, "/db/a");
    ASSERT_EQ(after.size(), 4096u);
    EXPECT_EQ(after.substr(0, 4), "head");
    with_garbage += after.substr(4) != std::string(4092, 'n');
  }
  EXPECT_GT(with_garbage, 20);
}

TEST_F(FaultFileSystemTest, LostSyncTakesBackTheLastSyncOfOneFile) {
  MakeDurable("/db/a", "old");
  const auto file = OpenForWrite(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(0, "new"));
  ASSERT_OK(file->Sync());
  EXPECT_EQ(After(CrashMode::kLostSync, CrashModel::kStrict, 1, "/db/a"), "old");
}

TEST_F(FaultFileSystemTest, ImagesLiveOnTheirOwn) {
  MakeDurable("/db/a", "one");
  const auto image = fs_.Crash(CrashMode::kMin, CrashModel::kStrict, 1);
  ASSERT_OK(OpenForWrite(*image, "/db/a")->WriteAt(0, "two"));
  EXPECT_THAT(fs_.ReadWhole("/db/a"), IsOkAndHolds("one"));
  EXPECT_THAT(image->ReadWhole("/db/a"), IsOkAndHolds("two"));
  EXPECT_NE(fs_.Fingerprint(), image->Fingerprint());
  ASSERT_OK(OpenForWrite(*image, "/db/a")->WriteAt(0, "one"));
  EXPECT_EQ(fs_.Fingerprint(), image->Fingerprint());
}

TEST_F(FaultFileSystemTest, HookSeesEveryChangeBeforeItHappens) {
  std::vector<std::string> seen;
  std::vector<std::string> states;
  const uint64_t before = fs_.ops();
  fs_.SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    seen.push_back(std::to_string(op - before) + " " + what + " " + path);
    const auto content = fs_.Crash(CrashMode::kKill, CrashModel::kStrict, op)->ReadWhole("/db/a");
    states.push_back(content.has_value() ? content.value() : "missing");
  });
  const auto file = Create(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(0, "x"));
  ASSERT_OK(file->Sync());
  ASSERT_OK(fs_.SyncDirectory("/db"));
  EXPECT_THAT(seen, ElementsAre("1 create /db/a", "2 write /db/a", "3 sync /db/a", "4 syncdir /db"));
  EXPECT_THAT(states, ElementsAre("missing", "", "x", "x"));
}

// ---- errors ----

TEST_F(FaultFileSystemTest, FaultHitsTheNthMatchingCall) {
  const auto file = Create(fs_, "/db/a.log");
  const auto other = Create(fs_, "/db/b.tbl");
  fs_.AddFault({.op = FileOp::kWrite, .path_contains = ".log", .nth = 2, .status = Status::IOError("dead sector")});
  EXPECT_OK(file->WriteAt(0, "1"));
  EXPECT_OK(other->WriteAt(0, "1"));
  EXPECT_THAT(file->WriteAt(1, "2"), StatusIs(Code::kIOError, HasSubstr("/db/a.log: write: dead sector")));
  EXPECT_OK(file->WriteAt(1, "3"));
  EXPECT_EQ(fs_.faults_hit(), 1u);
  EXPECT_THAT(fs_.ReadWhole("/db/a.log"), IsOkAndHolds("13"));
}

TEST_F(FaultFileSystemTest, StickyFaultStaysUntilCleared) {
  const auto file = Create(fs_, "/db/a");
  fs_.AddFault({.op = FileOp::kRead, .sticky = true});
  char out[1];
  size_t got;
  EXPECT_THAT(file->ReadAt(0, 1, out, &got), StatusIs(Code::kIOError));
  EXPECT_THAT(file->ReadAt(0, 1, out, &got), StatusIs(Code::kIOError));
  fs_.ClearFaults();
  EXPECT_OK(file->ReadAt(0, 1, out, &got));
}

TEST_F(FaultFileSystemTest, FailedWriteMayLeaveItsBeginning) {
  const auto file = Create(fs_, "/db/a");
  fs_.AddFault({.op = FileOp::kWrite, .partial_bytes = 3});
  EXPECT_THAT(file->WriteAt(0, "abcdef"), StatusIs(Code::kIOError));
  EXPECT_THAT(fs_.ReadWhole("/db/a"), IsOkAndHolds("abc"));
}

TEST_F(FaultFileSystemTest, RenameMayFailAfterItHappened) {
  MakeDurable("/db/a", "x");
  fs_.AddFault({.op = FileOp::kRename, .path_contains = "/db/b", .has_happened = true});
  EXPECT_THAT(fs_.Rename("/db/a", "/db/b"), StatusIs(Code::kIOError));
  EXPECT_THAT(fs_.Files(), ElementsAre("/db/b"));
}

TEST_F(FaultFileSystemTest, FailedSyncLosesItsBytes) {
  MakeDurable("/db/a", "....");
  const auto file = OpenForWrite(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(0, "A"));
  fs_.AddFault({.op = FileOp::kSync});
  EXPECT_THAT(file->Sync(), StatusIs(Code::kIOError));
  EXPECT_EQ(fs_.sync_after_failed_sync(), 0u);
  ASSERT_OK(file->WriteAt(2, "B"));
  EXPECT_OK(file->Sync()) << "the kernel has forgotten";
  EXPECT_EQ(fs_.sync_after_failed_sync(), 1u);
  EXPECT_THAT(fs_.ReadWhole("/db/a"), IsOkAndHolds("A.B."));
  for (const CrashMode mode : kPowerCutModes) EXPECT_EQ(After(mode, CrashModel::kStrict, 1, "/db/a"), "..B.");
  EXPECT_EQ(After(CrashMode::kKill, CrashModel::kStrict, 1, "/db/a"), "A.B.");
}

TEST_F(FaultFileSystemTest, FullDiskTakesWhatFitsAndComesBack) {
  fs_.SetCapacity(3 * 4096);
  const auto file = Create(fs_, "/db/a");
  ASSERT_OK(file->WriteAt(0, std::string(4096, 'a')));
  EXPECT_THAT(file->WriteAt(4096, std::string(4 * 4096, 'b')),
              StatusIs(Code::kNoSpace, HasSubstr("16384 bytes at 4096")));
  EXPECT_THAT(file->Size(), IsOkAndHolds(3 * 4096u));
  EXPECT_EQ(fs_.bytes_used(), 3 * 4096u);
  EXPECT_OK(file->WriteAt(0, "overwriting needs no space"));
  fs_.SetCapacity(4 * 4096);
  EXPECT_OK(file->WriteAt(3 * 4096, "x"));
  ASSERT_OK(file->Truncate(0));
  EXPECT_EQ(fs_.bytes_used(), 0u);
}

TEST_F(FaultFileSystemTest, FlippedBitIsSeenNowAndAfterACrash) {
  MakeDurable("/db/a", "abc");
  ASSERT_OK(fs_.FlipBit("/db/a", 1, 0));
  EXPECT_THAT(fs_.ReadWhole("/db/a"), IsOkAndHolds("acc"));
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/a"), "acc");
}

TEST_F(FaultFileSystemTest, WriteWholeIsDurableAtOnce) {
  ASSERT_OK(fs_.WriteWhole("/db/a", "abc"));
  ASSERT_OK(fs_.WriteWhole("/db/a", "d"));
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/a"), "d");
}

TEST(FaultFileSystemDeathTest, StopsAtMisalignedDirectIo) {
  FaultFileSystem fs;
  const auto file = Create(fs, "/a", true);
  alignas(kDirectIoAlign) static char block[2 * kDirectIoAlign];
  EXPECT_OK(file->WriteAt(0, {block, kDirectIoAlign}));
  EXPECT_DEATH((void)file->WriteAt(512, {block, kDirectIoAlign}), "aligned");
  EXPECT_DEATH((void)file->WriteAt(0, {block, 100}), "aligned");
  EXPECT_DEATH((void)file->WriteAt(0, {block + 8, kDirectIoAlign}), "aligned");
}

// ---- mappings ----

class MappedFile : public FaultFileSystemTest {
 protected:
  static constexpr size_t kBytes = 16 * 1024;
  MappedFile() {
    MakeDurable("/db/STAGING", std::string(kBytes, '.'));
    file_ = OpenForWrite(fs_, "/db/STAGING");
    mapping_ = file_->Map(kBytes).value();
  }
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;
};

TEST_F(MappedFile, IsOneMemoryTwice) {
  ASSERT_EQ(mapping_->size(), kBytes);
  std::memcpy(mapping_->data() + kBytes - 2, "wrap", 4);
  EXPECT_EQ(std::string(mapping_->data(), 2), "ap");
  char out[2];
  size_t got;
  ASSERT_OK(file_->ReadAt(kBytes - 2, 2, out, &got));
  EXPECT_EQ(std::string(out, got), "wr");
  ASSERT_OK(file_->WriteAt(100, "!"));
  EXPECT_EQ(mapping_->data()[100], '!');
}

TEST_F(MappedFile, MustBeWhole) { EXPECT_THAT(file_->Map(4096), StatusIs(Code::kInvalidArgument)); }

TEST_F(MappedFile, GetsBlocksInPiecesAndGivesThemBack) {
  const auto file = Create(fs_, "/db/sparse");
  ASSERT_OK(file->Truncate(3 * 4096));
  ASSERT_OK_AND_ASSIGN(const auto mapping, file->Map(3 * 4096));
  const uint64_t before = fs_.bytes_used();
  ASSERT_OK(file->Allocate(0, 4096));
  ASSERT_OK(file->Allocate(4096, 4096));
  EXPECT_EQ(fs_.bytes_used(), before + 2 * 4096);
  fs_.SetCapacity(fs_.bytes_used());
  EXPECT_THAT(file->Allocate(2 * 4096, 4096), StatusIs(Code::kNoSpace));
  std::memset(mapping->data(), 'x', 2 * 4096);
  ASSERT_OK(file->Deallocate(0, 2 * 4096));
  EXPECT_EQ(std::string_view(mapping->data(), 3), std::string_view("\0\0\0", 3));
  EXPECT_EQ(fs_.bytes_used(), before);
}

TEST_F(MappedFile, StoreSurvivesAKillAtOnce) {
  mapping_->data()[5] = 'k';
  EXPECT_EQ(After(CrashMode::kKill, CrashModel::kStrict, 1, "/db/STAGING")[5], 'k');
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/STAGING")[5], '.');
  ASSERT_OK(file_->Sync());
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/STAGING")[5], 'k');
}

TEST_F(MappedFile, PowerCutMixesMomentsBySector) {
  const std::string old(kSectorBytes, '.');
  std::memset(mapping_->data(), '1', kBytes);
  Create(fs_, "/db/tick");  // an operation: the file system remembers the content at this moment
  std::memset(mapping_->data(), '2', kBytes);
  std::set<char> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string after = After(CrashMode::kBlockMix, CrashModel::kStrict, seed, "/db/STAGING");
    ASSERT_EQ(after.size(), kBytes);
    for (size_t offset = 0; offset < kBytes; offset += kSectorBytes) {
      EXPECT_EQ(after.substr(offset, kSectorBytes), std::string(kSectorBytes, after[offset]));
      seen.insert(after[offset]);
    }
  }
  EXPECT_EQ(seen, (std::set<char>{'.', '1', '2'}));
}

TEST_F(MappedFile, StoresStayUnsyncedAfterUnmapping) {
  mapping_->data()[5] = 'k';
  mapping_.reset();
  EXPECT_EQ(fs_.ReadWhole("/db/STAGING").value()[5], 'k');
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/STAGING")[5], '.');
  ASSERT_OK(file_->Sync());
  EXPECT_EQ(After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/STAGING")[5], 'k');
}

TEST_F(MappedFile, FailedSyncLosesStoresUntilThePageIsStoredToAgain) {
  mapping_->data()[0] = 'x';
  mapping_->data()[4096] = 'x';
  fs_.AddFault({.op = FileOp::kSync});
  EXPECT_FALSE(file_->Sync().ok());
  mapping_->data()[4097] = 'y';
  EXPECT_OK(file_->Sync());
  const std::string after = After(CrashMode::kMin, CrashModel::kStrict, 1, "/db/STAGING");
  EXPECT_EQ(after[0], '.');
  EXPECT_EQ(after.substr(4096, 2), "xy");
}

TEST(FaultFileSystem, RefusesToMapWhereTold) {
  FaultFileSystem fs({.allow_mapping = false});
  const auto file = Create(fs, "/a");
  ASSERT_OK(file->WriteAt(0, std::string(4096, 'x')));
  EXPECT_THAT(file->Map(4096), StatusIs(Code::kNotSupported));
}

// ---- random ----

// In every mode a synced byte is kept, and every other byte is one that was once at its place, a zero, or
// garbage of the file's growth.
TEST(FaultFileSystem, KeepsEverySyncedByteUnderRandomOperations) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    FaultFileSystem fs;
    const auto file = Create(fs, "/a");
    ASSERT_OK(fs.SyncDirectory("/"));
    std::string durable;
    std::vector<std::pair<uint64_t, uint64_t>> dirty;  // [begin, end) since the sync
    for (int step = 0; step < 60; ++step) {
      if (random.OneIn(8)) {
        ASSERT_OK(file->Sync());
        durable = fs.ReadWhole("/a").value();
        dirty.clear();
      } else {
        const uint64_t offset = random.Uniform(20'000);
        const std::string bytes(random.Uniform(3000), static_cast<char>('a' + random.Uniform(26)));
        ASSERT_OK(file->WriteAt(offset, bytes));
        dirty.emplace_back(offset / kSectorBytes * kSectorBytes, offset + bytes.size() + kSectorBytes);
      }
      const CrashMode mode = kPowerCutModes[random.Uniform(std::size(kPowerCutModes))];
      const CrashModel model = kCrashModels[random.Uniform(2)];
      std::string after = fs.Crash(mode, model, random.Next())->ReadWhole("/a").value();
      ASSERT_GE(after.size(), durable.size());
      std::string before = durable;
      after.resize(before.size());
      for (const auto& [begin, end] : dirty) {
        for (uint64_t i = begin; i < std::min<uint64_t>(end, before.size()); ++i) after[i] = before[i] = 0;
      }
      ASSERT_EQ(after, before) << CrashModeName(mode);
    }
  }
}

}  // namespace
}  // namespace mergedb::testing
