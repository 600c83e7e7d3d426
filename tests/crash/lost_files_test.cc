// Goal: files that the remaining part of a MANIFEST does not name are never deleted
// (docs/decisions/0036-manifest-end.md, rule 3), however often the opens that move them to lost/ are
// interrupted. Method: the last VersionEdit is torn; the process ends at every operation of the open that
// drops it, or that operation fails.
#include <gtest/gtest.h>

#include <map>

#include "base/coding.h"
#include "manifest/mirror_file.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;
using Bytes = std::map<std::string, std::string>;

const std::string kLost = SimulatedEnv::kPath + "/lost/";

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The files that an open may only move: not the WAL, which every open overwrites, and no files that it
// replaces.
bool MayOnlyMove(const std::string& name) {
  return name.ends_with(".tbl") || name.ends_with(".val") || name.starts_with("MANIFEST");
}

class LostFiles : public ::testing::Test {
 protected:
  // A process was killed after a flush, and both copies of the VersionEdit that names the last tables are
  // torn.
  void SetUp() override {
    SimulatedEnv sim;
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 10; ++j)
        ASSERT_OK(db->Put({}, "k" + std::to_string(10 * i + j), std::string(2000, static_cast<char>('a' + i))));
      ASSERT_OK(db->Flush());
    }
    ASSERT_OK(db->Put({}, "in the log", "v"));
    torn_ = sim.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1);
    for (const std::string& path : torn_->Files()) {
      if (NameOf(path).starts_with("MANIFEST")) TearLastRecord(path);
    }
    for (const std::string& path : torn_->Files()) {
      if (MayOnlyMove(NameOf(path))) before_[NameOf(path)] = *torn_->ReadWhole(path);
    }
  }

  void TearLastRecord(const std::string& path) {
    const std::string bytes = *torn_->ReadWhole(path);
    size_t last = 0;
    for (size_t at = 40; at + 8 < manifest::kPageBytes;) {
      const size_t length = base::LoadFixed32(bytes.data() + at + 4);
      if (length == 0) break;
      last = at;
      at += 8 + length;
    }
    for (const size_t copy : {size_t{0}, manifest::kPageBytes}) ASSERT_OK(torn_->FlipBit(path, copy + last, 0));
  }
  std::unique_ptr<SimulatedEnv> Torn() const {
    return std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = 2},
                                          torn_->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
  }

  // The bytes of each file are there, in place or in lost/ under some name.
  void ExpectAllThere(const SimulatedEnv& sim) const {
    Bytes now;
    for (const std::string& path : sim.files->Files()) now[path] = *sim.files->ReadWhole(path);
    for (const auto& [name, bytes] : before_) {
      const bool is_there = std::ranges::any_of(now, [&](const auto& file) {
        return file.second == bytes &&
               (file.first == SimulatedEnv::kPath + "/" + name || file.first.starts_with(kLost + name));
      });
      EXPECT_TRUE(is_there) << name << " was deleted";
    }
  }
  // Opens the files that an open left, until no work remains. `may_refuse`: the bytes of STAGING that the torn record
  // released may be gone, too.
  void ExpectAllThereAfterOpens(SimulatedEnv& sim, bool may_refuse = false) const {
    for (int i = 0; i < 3; ++i) {
      SCOPED_TRACE("open " + std::to_string(i));
      auto opened = sim.Open();
      if (!opened && may_refuse) {
        EXPECT_THAT(opened, StatusIs(Code::kCorruption, HasSubstr("WAL damaged")));
        return ExpectAllThere(sim);
      }
      ASSERT_OK_AND_ASSIGN(auto db, std::move(opened));
      std::string value;
      EXPECT_OK(db->Get({}, "k0", &value));
      EXPECT_OK(db->Close());
      ExpectAllThere(sim);
    }
    for (const std::string& path : sim.files->Files())
      EXPECT_NE(NameOf(path), "KEEP") << "the last open had nothing to move";
  }

  std::unique_ptr<FaultFileSystem> torn_;
  Bytes before_;
};

TEST_F(LostFiles, AreInTheirPlaceOrInLost) {
  ASSERT_EQ(before_.size(), 7u);  // three tables, three blob files and a MANIFEST
  const auto sim = Torn();
  ASSERT_OK_AND_ASSIGN(auto db, sim->Open());
  std::string report;
  ASSERT_TRUE(db->GetProperty("mergedb.recovery", &report));
  EXPECT_THAT(report, HasSubstr("moved to lost/"));
  ASSERT_OK(db->Close());
  ExpectAllThereAfterOpens(*sim);
}

TEST_F(LostFiles, StayWhenTheProcessOrThePowerFailsDuringTheOpen) {
  for (const CrashMode mode :
       {CrashMode::kKill, CrashMode::kMin, CrashMode::kNamesFull, CrashMode::kPrefixTorn, CrashMode::kBlockMix}) {
    const auto first = Torn();
    uint64_t images = 0;
    first->files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
      if (HasFailure()) return;
      SCOPED_TRACE(std::string(CrashModeName(mode)) + " before operation " + std::to_string(op) + ", " + what + " " +
                   path);
      const auto left = SimulatedEnv::After(*first, mode, CrashModel::kStrict, op);
      ExpectAllThereAfterOpens(*left, mode != CrashMode::kKill);
      ++images;
    });
    ASSERT_OK_AND_ASSIGN(auto db, first->Open());
    first->files->SetOpHook(nullptr);
    EXPECT_GT(images, 10u);
  }
}

TEST_F(LostFiles, StayWhenTheyCannotBeMoved) {
  for (const FileOp op : {FileOp::kRename, FileOp::kSyncDirectory}) {
    for (uint64_t nth = 1; nth < 5; ++nth) {
      SCOPED_TRACE(std::string(OpName(op)) + " " + std::to_string(nth));
      const auto sim = Torn();
      sim->files->AddFault(
          {.op = op, .path_contains = "lost", .nth = nth, .sticky = true, .status = Status::NoSpace("full")});
      ASSERT_OK_AND_ASSIGN(auto db, sim->Open());
      std::string report;
      ASSERT_TRUE(db->GetProperty("mergedb.recovery", &report));
      EXPECT_EQ(report.find("files were not moved: ") != std::string::npos, sim->files->faults_hit() > 0) << report;
      ASSERT_OK(db->Put({}, "after", "v"));
      ASSERT_OK(db->Close());
      sim->files->ClearFaults();
      ExpectAllThereAfterOpens(*sim);
    }
  }
}

// Once all files are in lost/, the remains of a later crash are removed as usual.
TEST_F(LostFiles, LaterOrphansAreRemoved) {
  const auto sim = Torn();
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(auto db, sim->Open());
    ASSERT_OK(db->Close());
    ASSERT_OK(sim->files->WriteWhole(SimulatedEnv::kPath + "/000900.tbl", "an orphan"));
  }
  ASSERT_OK_AND_ASSIGN(auto db, sim->Open());
  EXPECT_TRUE(sim->files->SizeOf(SimulatedEnv::kPath + "/000900.tbl").status().IsNotFound());
  EXPECT_TRUE(sim->files->SizeOf(kLost + "000900.tbl").status().IsNotFound());
}

}  // namespace
}  // namespace mergedb::testing
