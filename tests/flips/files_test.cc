// Goal: no damage to the set of files is silent: files that are missing, alone or in any combination,
// swapped, older, from another database, or replaced by directories. A database that opens is right;
// otherwise the open changes nothing. Method: as bytes_test.cc.
#include <map>
#include <set>

#include "base/coding.h"
#include "base/crc32c.h"
#include "testing/seed.h"
#include "tests/flips/judge.h"

namespace mergedb::testing {
namespace {

constexpr size_t kSubsets = 200;  // in the short form

std::string KindOf(const std::string& path) {
  const std::string name = BaseName(path);
  return name.find('.') != std::string::npos ? name.substr(name.find('.')) : name.substr(0, name.find('-'));
}

class FilesTest : public FlipsTest {
 protected:
  // Only STAGING holds the frames that a killed process had staged. The MANIFEST records that STAGING exists,
  // and its size.
  bool IsTheOnlyWitness(const std::string& path) const { return !is_closed() && BaseName(path) == "STAGING"; }
};

TEST_P(FilesTest, NoticesAMissingFile) {
  for (const std::string& path : whole_.Files()) {
    SCOPED_TRACE(path + " removed");
    auto sim = whole_.Copy();
    ASSERT_OK(sim->files->Remove(path));
    const Verdict verdict = judge_.Check(*sim, path);
    const std::string kind = KindOf(path);
    const bool is_live_blob_file = kind == ".val" && is_closed();  // after a kill the MANIFEST may not name it yet
    if (kind == "CURRENT" || kind == "MANIFEST" || whole_.IsLiveTable(path) || IsTheOnlyWitness(path) ||
        is_live_blob_file) {
      EXPECT_EQ(verdict, Verdict::kRefused);
    }
  }
}

// After a kill only STAGING holds the newest commits; after a clean close it holds nothing else.
TEST_P(FilesTest, NoticesALostStagingFile) {
  if (is_closed()) {
    for (const std::string& file : whole_.Files()) EXPECT_FALSE(file.ends_with("STAGING")) << "Close removes it";
    return;
  }
  if (!whole_.shape().is_mapped) return;
  const std::string path = SimulatedEnv::kPath + "/STAGING", bytes = whole_.Bytes(path);
  for (const bool is_removed : {true, false}) {
    auto sim = whole_.Copy();
    ASSERT_OK(is_removed ? sim->files->Remove(path) : sim->files->WriteWhole(path, bytes.substr(bytes.size() / 2)));
    EXPECT_EQ(judge_.Check(*sim, path), Verdict::kRefused);
    const std::string found = is_removed ? "missing" : std::to_string(bytes.size() / 2) + " bytes";
    EXPECT_THAT(whole_.Open(*sim), StatusIs(Code::kCorruption, ::testing::HasSubstr("STAGING: " + found)));
    // The remedy in the message opens the database, without the commits that only STAGING held.
    ASSERT_OK(sim->files->WriteWhole(path, std::string(bytes.size(), '\0')));
    ASSERT_OK_AND_ASSIGN(auto db, whole_.Open(*sim));
    ModelDb::Pairs shown;
    auto it = db->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) shown.emplace_back(it->key(), it->value());
    ASSERT_OK(it->status());
    EXPECT_TRUE(whole_.model().FindPrefix(shown, whole_.durable(), whole_.model().commits()).has_value());
  }
}

TEST_P(FilesTest, NoticesMissingFilesInAnyCompany) {
  base::Random random(SeedOr(1));
  const std::vector<std::string> files = whole_.Files();
  const size_t all = size_t{1} << std::min<size_t>(files.size(), 16);
  for (size_t i = 1; i < (IsFullSize() ? all : std::min(kSubsets, all)); ++i) {
    const size_t subset = IsFullSize() ? i : random.Uniform(all);
    auto sim = whole_.Copy();
    std::string removed;
    for (size_t bit = 0; bit < files.size(); ++bit) {
      if ((subset >> bit & 1) == 0) continue;
      removed += files[bit] + " ";
      ASSERT_OK(sim->files->Remove(files[bit]));
    }
    SCOPED_TRACE("without " + removed);
    // A directory without any file of a database is not a damaged database but an empty directory.
    bool is_left = false;
    for (const std::string& path : sim->files->Files())
      is_left |= BaseName(path) != "LOCK" && KindOf(path) != "MANIFEST";
    if (is_left) judge_.Check(*sim, "");
    if (HasFailure()) return;
  }
}

TEST_P(FilesTest, NoticesADirectoryInAFilesPlace) {
  for (const std::string& path : whole_.Files()) {
    SCOPED_TRACE(path + " is a directory");
    auto sim = whole_.Copy();
    ASSERT_OK(sim->files->Remove(path));
    ASSERT_OK(sim->files->CreateDirectory(path));
    judge_.Check(*sim, path);
  }
}

TEST_P(FilesTest, NoticesSwappedFiles) {
  const std::vector<std::string> files = whole_.Files();
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = i + 1; j < files.size(); ++j) {
      if (IsTheOnlyWitness(files[i]) || IsTheOnlyWitness(files[j])) continue;
      SCOPED_TRACE(files[i] + " and " + files[j]);
      auto sim = whole_.Copy();
      ASSERT_OK(sim->files->WriteWhole(files[i], whole_.Bytes(files[j])));
      ASSERT_OK(sim->files->WriteWhole(files[j], whole_.Bytes(files[i])));
      const Verdict verdict = judge_.Check(*sim, "");
      if (whole_.IsLiveTable(files[i]) || whole_.IsLiveTable(files[j])) { EXPECT_NE(verdict, Verdict::kHarmless); }
      if (HasFailure()) return;
    }
  }
}

TEST_P(FilesTest, NoticesFilesOfAnotherTime) {
  for (const std::string& path : whole_.Files()) {
    const auto older = whole_.earlier().ReadWhole(path);
    // Only the WAL holds the writes since the last VersionEdit; without STAGING only its newest segment holds
    // them.
    const bool is_newest_segment = !is_closed() && !whole_.shape().is_mapped && EndsWith(path, ".seg");
    if (!older || IsTheOnlyWitness(path) || is_newest_segment) continue;
    SCOPED_TRACE(path + " as it was before");
    auto sim = whole_.Copy();
    ASSERT_OK(sim->files->WriteWhole(path, *older));
    judge_.Check(*sim, "");
  }
}

TEST_P(FilesTest, NoticesFilesOfAnotherDatabase) {
  WholeDatabase::Shape shape = whole_.shape();
  shape.seed = 77;
  const WholeDatabase other(shape);
  for (const std::string& path : whole_.Files()) {
    for (const std::string& source : other.Files()) {
      if (KindOf(path) != KindOf(source) || IsTheOnlyWitness(path)) continue;
      if (KindOf(path) == "CURRENT" || KindOf(path) == "LOCK") continue;  // they hold no more than a number
      SCOPED_TRACE(path + " replaced by another database's " + source);
      auto sim = whole_.Copy();
      ASSERT_OK(sim->files->WriteWhole(path, other.Bytes(source)));
      EXPECT_TRUE(judge_.Check(*sim, "") != Verdict::kHarmless || KindOf(path) != "MANIFEST");
      if (HasFailure()) return;
    }
  }
}

TEST_P(FilesTest, LeavesForeignFilesAlone) {
  WholeDatabase::Shape shape = whole_.shape();
  shape.seed = 78;
  const WholeDatabase other(shape);
  auto sim = whole_.Copy();
  const std::map<std::string, std::string> foreign = {
      {"/notes.txt", "mine"},      {"/CURRENT.bak", "x"},
      {"/000001.sst", "s"},        {"/MANIFEST-", "m"},
      {"/000012 (1).tbl", "copy"}, {"/1.tbl", "t"},
      {"/000099.tbl.old", "o"},    {"/.DS_Store", "d"},
      {"/LOCK.old", ""},           {"/000900.seg", other.Bytes(other.Files(".seg").front())}};
  for (const auto& [name, bytes] : foreign) ASSERT_OK(sim->files->WriteWhole(SimulatedEnv::kPath + name, bytes));
  ASSERT_OK(sim->files->CreateDirectory(SimulatedEnv::kPath + "/000901.tbl.d"));
  EXPECT_EQ(judge_.Check(*sim, ""), Verdict::kHarmless);
  EXPECT_EQ(judge_.Check(*sim, ""), Verdict::kHarmless);
  for (const auto& [name, bytes] : foreign)
    EXPECT_THAT(sim->files->ReadWhole(SimulatedEnv::kPath + name), IsOkAndHolds(bytes)) << name;
}

TEST_P(FilesTest, RefusesAFutureFormat) {
  for (const std::string& path : whole_.Files()) {
    if (KindOf(path) != "MANIFEST") continue;
    std::string bytes = whole_.Bytes(path);
    for (const size_t at : {size_t{0}, size_t{32} << 10}) {  // both copies of the header
      base::StoreFixed32(bytes.data() + at + 16, 2);
      base::StoreFixed32(bytes.data() + at + 32, base::Crc32c(std::string_view(bytes).substr(at, 32)));
    }
    auto sim = whole_.Copy();
    ASSERT_OK(sim->files->WriteWhole(path, bytes));
    const uint64_t before = sim->files->Fingerprint();
    EXPECT_THAT(whole_.Open(*sim), StatusIs(Code::kNotSupported));
    EXPECT_EQ(sim->files->Fingerprint(), before);
  }
}

class OtherComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "test.other"; }
};

TEST_P(FilesTest, RefusesAnotherComparator) {
  OtherComparator other;
  auto sim = whole_.Copy();
  Options options = whole_.OptionsFor(*sim);
  options.comparator = &other;
  const uint64_t before = sim->files->Fingerprint();
  EXPECT_THAT(DB::Open(options, SimulatedEnv::kPath), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(sim->files->Fingerprint(), before);
}

INSTANTIATE_FOR(FilesTest, kEndings);
INSTANTIATE_FOR(FilesTest, kEndingsWithBlobFiles);

// A long WAL is flushed in pieces during replay; replay meets the damaged end only after that.
TEST(LongWal, LeavesNothingBehindWhenItsEndIsDamaged) {
  SimulatedEnv sim({.seed = 5});
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  for (int i = 0; i < 300; ++i) ASSERT_OK(db->Put({}, "k" + std::to_string(i), std::string(1000, 'v')));
  ASSERT_OK(db->Put({.durability = Durability::kSynced}, "last", std::string(100, 'l')));
  ASSERT_OK(db->Close());
  int flips = 0;
  for (const std::string& path : sim.files->Files()) {
    const std::string bytes = *sim.files->ReadWhole(path);
    const size_t at = bytes.find("llllllll");
    if (at == std::string::npos || EndsWith(path, ".tbl")) continue;
    ASSERT_OK(sim.files->FlipBit(path, at, 0));
    ++flips;
  }
  ASSERT_GT(flips, 0);
  const uint64_t before = sim.files->Fingerprint();
  EXPECT_THAT(sim.Open(), StatusIs(Code::kCorruption));
  EXPECT_EQ(sim.files->Fingerprint(), before);
}

}  // namespace
}  // namespace mergedb::testing
