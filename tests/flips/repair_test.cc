// Goal: a repair produces a database that opens and is intact, from any damage; everything that it shows was
// once committed; everything that it does not show lies in a key range that the repair reports as lost; and
// no byte of the files is deleted. If a kill or a power cut interrupts it at any operation, it can be run
// again, with the same result.
// Method: as bytes_test.cc; each damaged copy is repaired, verified, opened, read and compared.
#include <map>
#include <set>

#include "mergedb/merge.h"
#include "mergedb/merge_operator.h"
#include "testing/seed.h"
#include "tests/flips/judge.h"

namespace mergedb::testing {
namespace {

constexpr size_t kFlipsOfAFile = 10, kFlipsOfAFileFull = 1000;

std::string First(const WholeDatabase& whole, const std::string& part) {
  for (const std::string& path : whole.Files()) {
    if (path.find(part) != std::string::npos && (part != ".tbl" || whole.IsLiveTable(path))) return path;
  }
  return "";
}
using Files = std::map<std::string, std::string>;  // name -> bytes

// The same files, all of them durable: a later power cut takes nothing of them.
std::unique_ptr<FaultFileSystem> DurableCopy(const FaultFileSystem& files) {
  auto copy = std::make_unique<FaultFileSystem>();
  EXPECT_OK(copy->CreateDirectory(SimulatedEnv::kPath));
  EXPECT_OK(copy->SyncDirectory("/"));
  for (const std::string& path : files.Files()) EXPECT_OK(copy->WriteWhole(path, *files.ReadWhole(path)));
  return copy;
}

Files Snapshot(const FaultFileSystem& files) {
  Files found;
  for (const std::string& path : files.Files()) found[path] = *files.ReadWhole(path);
  return found;
}

class RepairTest : public FlipsTest {
 protected:
  RepairTest() : random_(SeedOr(1)) {
    for (uint64_t at = 1; at <= whole_.model().commits(); ++at) {
      for (auto& [key, value] : whole_.model().Scan(at)) {
        ever_[key].insert(value);
        if (key[0] != 'k' || value.find('+') != std::string::npos) merged_.insert(key);
      }
    }
  }

  static bool IsLost(const std::string& key, const RepairReport& report) {
    const auto is_torn = [](const std::string& note) {  // not damage: every open drops it and reports it
      return note.find("torn tail") != std::string::npos || note.find("last frame is damaged") != std::string::npos;
    };
    if (std::any_of(report.notes.begin(), report.notes.end(), is_torn)) return true;
    return std::any_of(report.losses.begin(), report.losses.end(), [&](const Damage& loss) {
      return (!loss.smallest_key || *loss.smallest_key <= key) && (!loss.largest_key || key <= *loss.largest_key);
    });
  }

  // All bytes from before are there, or in lost/, under some name. Tables that the repair itself made may be
  // gone.
  void ExpectNothingDeleted(const Files& before, const FaultFileSystem& files) {
    std::multimap<std::string, std::string> after;  // bytes by kind of path
    for (const auto& [path, bytes] : Snapshot(files)) after.emplace(BaseName(path), bytes);
    for (const auto& [path, bytes] : before) {
      const std::string name = BaseName(path);
      const bool is_right_current = name == "CURRENT" && bytes == whole_.Bytes(path);  // a new CURRENT replaces it
      if (name == "LOCK" || name == "REPAIR" || is_right_current) continue;
      const bool is_there = std::any_of(after.begin(), after.end(), [&](const auto& each) {
        return each.first.substr(0, name.size()) == name && each.second == bytes;
      });
      EXPECT_TRUE(is_there) << path << " is gone";
    }
  }

  // The contents of the repaired database.
  ModelDb::Pairs Read(SimulatedEnv& sim) {
    ModelDb::Pairs found;
    const auto verified = Verify(whole_.OptionsFor(sim), SimulatedEnv::kPath);
    EXPECT_OK(verified.status());
    if (verified) {
      EXPECT_TRUE(verified->damages.empty()) << "not whole after the repair: " << ToText(verified->damages.front());
    }
    auto db = whole_.Open(sim);
    EXPECT_OK(db.status());
    if (!db) return found;
    auto it = (*db)->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace_back(it->key(), it->value());
    EXPECT_OK(it->status());
    // The database accepts writes.
    EXPECT_OK((*db)->Put({.durability = Durability::kSynced}, "zz", "after"));
    EXPECT_OK((*db)->Close());
    return found;
  }

  void ExpectJustified(const ModelDb::Pairs& found, const RepairReport& report) {
    const std::map<std::string, std::string> shown(found.begin(), found.end());
    for (const auto& [key, value] : shown) {
      // A folded value may have lost its base.
      EXPECT_TRUE(ever_[key].contains(value) || (merged_.contains(key) && IsLost(key, report)))
          << key << ": a value that nobody wrote";
    }
    const std::map<std::string, std::string> expected(whole_.expected().begin(), whole_.expected().end());
    for (const std::string& key : whole_.model().KeysEverUsed()) {
      const auto is = shown.find(key), should = expected.find(key);
      const bool is_right =
          is == shown.end() ? should == expected.end() : should != expected.end() && is->second == should->second;
      EXPECT_TRUE(is_right || IsLost(key, report)) << key << " differs, and no loss is reported";
    }
  }

  // The files that go to lost/.
  static std::set<std::string> MovesOf(const RepairReport& report) {
    std::set<std::string> moves;
    for (const std::string& action : report.actions)
      if (action.find(" -> ") != std::string::npos) moves.insert(action);
    return moves;
  }

  // Returns the contents after the repair.
  ModelDb::Pairs RepairAndCheck(SimulatedEnv& sim, const std::string& path) {
    Options options = whole_.OptionsFor(sim);
    const Files before = Snapshot(*sim.files);
    const auto planned = Repair(options, SimulatedEnv::kPath, {.dry_run = true});
    EXPECT_EQ(Snapshot(*sim.files), before) << "a dry run changed something";
    auto repaired = Repair(options, SimulatedEnv::kPath);
    if (!repaired) {
      EXPECT_EQ(BaseName(path), "LOCK") << repaired.error().ToString();
      return {};
    }
    EXPECT_OK(planned.status());
    if (planned) {
      EXPECT_EQ(planned->losses.size(), repaired->losses.size());
      EXPECT_THAT(MovesOf(*repaired), ::testing::IsSupersetOf(MovesOf(*planned)));
    }
    ExpectNothingDeleted(before, *sim.files);
    const auto again = Repair(options, SimulatedEnv::kPath);
    EXPECT_OK(again.status());
    if (again) { EXPECT_TRUE(again->damages.empty() && again->actions.empty()) << "repaired, and damaged again"; }
    ModelDb::Pairs found = Read(sim);
    ExpectJustified(found, *repaired);
    last_ = std::move(*repaired);
    return found;
  }

  base::Random random_;
  std::map<std::string, std::set<std::string>> ever_;
  std::set<std::string> merged_;
  RepairReport last_;
};

TEST_P(RepairTest, LeavesAWholeDatabaseAlone) {
  auto sim = whole_.Copy();
  const Files before = Snapshot(*sim->files);
  ASSERT_OK_AND_ASSIGN(const RepairReport report, Repair(whole_.OptionsFor(*sim), SimulatedEnv::kPath));
  EXPECT_TRUE(report.damages.empty() && report.losses.empty() && report.actions.empty());
  EXPECT_EQ(Snapshot(*sim->files), before);
}

TEST_P(RepairTest, SavesWhatAChangedByteLeaves) {
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(1)));
  for (const std::string& path : whole_.Files()) {
    const std::string bytes = whole_.Bytes(path);
    std::vector<size_t> written;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != 0) written.push_back(i);
    }
    for (size_t i = 0; i < (IsFullSize() ? kFlipsOfAFileFull : kFlipsOfAFile) && !written.empty(); ++i) {
      const size_t offset = written[random_.Uniform(written.size())];
      SCOPED_TRACE(path + " at " + std::to_string(offset));
      auto sim = whole_.Copy();
      ASSERT_OK(sim->files->FlipBit(path, offset, static_cast<int>(random_.Uniform(8))));
      RepairAndCheck(*sim, path);
      if (HasFailure()) return;
    }
  }
}

TEST_P(RepairTest, SavesWhatACutLeaves) {
  for (const std::string& path : whole_.Files()) {
    const std::string bytes = whole_.Bytes(path);
    for (const size_t length :
         {size_t{0}, size_t{1}, size_t{100}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 96, bytes.size() - 1}) {
      if (length >= bytes.size()) continue;
      SCOPED_TRACE(path + " of " + std::to_string(bytes.size()) + " cut at " + std::to_string(length));
      auto sim = whole_.Copy();
      ASSERT_OK(sim->files->WriteWhole(path, bytes.substr(0, length)));
      RepairAndCheck(*sim, path);
      if (HasFailure()) return;
    }
  }
}

TEST_P(RepairTest, GoesOnWithoutMissingFiles) {
  for (const std::string& path : whole_.Files()) {
    for (const bool is_directory : {false, true}) {
      SCOPED_TRACE(path + (is_directory ? " is a directory" : " is missing"));
      auto sim = whole_.Copy();
      ASSERT_OK(sim->files->Remove(path));
      if (is_directory) { ASSERT_OK(sim->files->CreateDirectory(path)); }
      const ModelDb::Pairs found = RepairAndCheck(*sim, path);
      const bool is_recoverable = BaseName(path) == "CURRENT" || BaseName(path).substr(0, 8) == "MANIFEST";
      if (is_recoverable) { EXPECT_TRUE(found == whole_.expected()) << "tables and log were whole"; }
      if (HasFailure()) return;
    }
  }
}

TEST_P(RepairTest, ManyDamagesAtOnce) {
  for (int round = 0; round < (IsFullSize() ? 600 : 10); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    auto sim = whole_.Copy();
    std::string touched;
    for (const std::string& path : whole_.Files()) {
      if (BaseName(path) == "LOCK") continue;
      const std::string bytes = whole_.Bytes(path);
      switch (random_.Uniform(6)) {
        case 0: ASSERT_OK(sim->files->Remove(path)); break;
        case 1: ASSERT_OK(sim->files->WriteWhole(path, bytes.substr(0, random_.Uniform(bytes.size() + 1)))); break;
        case 2:
          for (uint64_t hits = 1 + random_.Uniform(4); hits > 0 && !bytes.empty(); --hits) {
            ASSERT_OK(sim->files->FlipBit(path, random_.Uniform(std::min<size_t>(bytes.size(), 8192)), 3));
          }
          break;
        default: continue;
      }
      touched += BaseName(path) + " ";
    }
    SCOPED_TRACE(touched);
    bool is_left = false;
    for (const std::string& path : sim->files->Files()) is_left |= BaseName(path) != "LOCK";
    if (is_left) RepairAndCheck(*sim, "CURRENT");
    if (HasFailure()) return;
  }
}

TEST_P(RepairTest, RefusesAnOpenDatabaseAndAnotherComparator) {
  auto sim = whole_.Copy();
  Options options = whole_.OptionsFor(*sim);
  ASSERT_OK_AND_ASSIGN(auto db, whole_.Open(*sim));
  EXPECT_THAT(Repair(options, SimulatedEnv::kPath), StatusIs(Code::kBusy));
  EXPECT_THAT(Verify(options, SimulatedEnv::kPath), StatusIs(Code::kBusy));
  ASSERT_OK(db->Close());
  EXPECT_THAT(Repair(options, "/nowhere"), StatusIs(Code::kNotFound));
  ASSERT_OK(sim->files->CreateDirectory("/empty"));
  EXPECT_THAT(Repair(options, "/empty"), StatusIs(Code::kNotFound));
  EXPECT_TRUE(sim->files->SizeOf("/empty/LOCK").status().IsNotFound());
}

TEST_P(RepairTest, GivesUpOnRequest) {
  auto sim = whole_.Copy();
  ASSERT_OK(sim->files->FlipBit(First(whole_, ".tbl"), 30, 2));
  const Files before = Snapshot(*sim->files);
  const Progress give_up = [](uint64_t, uint64_t) { return false; };
  EXPECT_THAT(Verify(whole_.OptionsFor(*sim), SimulatedEnv::kPath, give_up), StatusIs(Code::kAborted));
  EXPECT_THAT(Repair(whole_.OptionsFor(*sim), SimulatedEnv::kPath, {.progress = give_up}), StatusIs(Code::kAborted));
  EXPECT_EQ(Snapshot(*sim->files), before);
  int calls = 0;
  uint64_t last = 0;
  const Progress count = [&](uint64_t done, uint64_t all) {
    EXPECT_LE(done, all);
    EXPECT_GE(done, last);
    last = done;
    return ++calls > 0;
  };
  EXPECT_OK(Verify(whole_.OptionsFor(*sim), SimulatedEnv::kPath, count));
  EXPECT_GT(calls, 1);
}

// An old MANIFEST describes an earlier tree; most of the tables of that tree may still be there.
TEST(Repair, DoesNotTakeAnOldManifestForTheTree) {
  SimulatedEnv sim;
  const auto manifest = [&] {
    for (const std::string& path : sim.files->Files()) {
      if (path.find("MANIFEST") != std::string::npos) return path;
    }
    return std::string();
  };
  std::string old_path, old_bytes;
  for (const char* value : {"old", "new"}) {
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    ASSERT_OK(db->Put({}, "key", value));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Put({}, std::string("only ") + value, value));
    ASSERT_OK(db->Close());
    if (old_path.empty()) {
      old_path = manifest();
      old_bytes = *sim.files->ReadWhole(old_path);
    }
  }
  ASSERT_NE(manifest(), old_path);
  ASSERT_OK(sim.files->WriteWhole(manifest(), "damaged"));
  ASSERT_OK(sim.files->WriteWhole(old_path, old_bytes));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, Repair(sim.SmallOptions(), SimulatedEnv::kPath));
  EXPECT_FALSE(report.losses.empty()) << "nobody can know";
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  for (const auto& [key, expected] :
       std::map<std::string, std::string>{{"key", "new"}, {"only old", "old"}, {"only new", "new"}}) {
    std::string value;
    EXPECT_OK(db->Get({}, key, &value));
    EXPECT_EQ(value, expected) << key;
  }
}

std::string FirstFile(const SimulatedEnv& sim, const std::string& ending, size_t nth = 0) {
  for (const std::string& path : sim.files->Files()) {
    if (path.find(ending) != std::string::npos && nth-- == 0) return path;
  }
  return "";
}

// If a range tombstone is lost, the keys that it deleted are visible again; a repair hides no live key.
TEST(Repair, ShowsWhatLostRangeTombstonesDeleted) {
  SimulatedEnv sim;
  {
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    ASSERT_OK(db->Put({}, "a", "1"));
    ASSERT_OK(db->Put({}, "p", "2"));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->DeleteRange({}, "a", "m"));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Close());
  }
  const std::string newer = FirstFile(sim, ".tbl", 1);
  ASSERT_NE(newer, "");
  ASSERT_OK(sim.files->FlipBit(newer, 3, 1));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, Repair(sim.SmallOptions(), SimulatedEnv::kPath));
  ASSERT_EQ(report.losses.size(), 1u);
  EXPECT_THAT(
      ToText(report.losses[0]),
      ::testing::HasSubstr("the keys that they deleted may be visible again; entries of keys from \"a\" to \"m\""));
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  std::string value;
  EXPECT_OK(db->Get({}, "a", &value));
  EXPECT_OK(db->Get({}, "p", &value));
}

// A repair reads a value twice: for the diagnosis, and for the table that receives its entry. A value that
// only the second read could not read is not lost.
TEST(Repair, GivesUpNoValueWithoutAWord) {
  SimulatedEnv sim;
  Options options = sim.SmallOptions();
  options.block_bytes = 1024;
  std::vector<std::string> keys;
  {
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, SimulatedEnv::kPath));
    for (int i = 100; i < 300; ++i) {
      keys.push_back("key" + std::to_string(i));
      ASSERT_OK(db->Put({}, keys.back(), std::string(100, 'v')));
    }
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Close());
  }
  ASSERT_OK(sim.files->FlipBit(FirstFile(sim, ".tbl"), 30, 2));
  ASSERT_NE(FirstFile(sim, ".val"), "");
  uint64_t refused = 0;
  for (uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    const auto after = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
    after->files->AddFault({.op = FileOp::kRead, .path_contains = ".val", .nth = nth});
    auto repaired = Repair(after->SmallOptions(), SimulatedEnv::kPath);
    if (after->files->faults_hit() == 0) break;
    after->files->ClearFaults();
    if (!repaired) {
      ++refused;
      EXPECT_THAT(repaired, StatusIs(Code::kIOError, ::testing::HasSubstr("run the repair again")));
      repaired = Repair(after->SmallOptions(), SimulatedEnv::kPath);
      ASSERT_OK(repaired);
    }
    ASSERT_OK_AND_ASSIGN(auto db, after->Open());
    for (const std::string& key : keys) {
      std::string value;
      const bool is_told = std::ranges::any_of(
          repaired->losses, [&](const Damage& loss) { return *loss.smallest_key <= key && key <= *loss.largest_key; });
      EXPECT_TRUE(db->Get({}, key, &value).ok() || is_told) << key;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 50u);
}

// Symptom: a repair rejected a MANIFEST that had been put back to an older state, and failed. The second
// repair trusted that MANIFEST and gave up all newer tables. Cause: CURRENT, which records how far the
// MANIFEST had reached, went to lost/ before the new one replaced it.
TEST(Repair, RejectsAManifestAgainThatItHadRejected) {
  SimulatedEnv sim;
  std::string path, older;
  {
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    for (const char* value : {"old", "new"}) {  // the WAL holds none of it
      for (const char* key : {"a", "b", "c"}) ASSERT_OK(db->Put({.durability = Durability::kNoWal}, key, value));
      ASSERT_OK(db->Flush());
      ASSERT_OK(db->CompactRange(nullptr, nullptr));
      if (older.empty()) {
        path = FirstFile(sim, "MANIFEST");
        ASSERT_OK_AND_ASSIGN(older, sim.files->ReadWhole(path));
      }
    }
    ASSERT_OK(db->Close());
  }
  ASSERT_OK(sim.files->WriteWhole(path, older));
  const std::string current = *sim.files->ReadWhole(SimulatedEnv::kPath + "/CURRENT");
  const Status no_space = Status::NoSpace("injected");
  sim.files->AddFault({.op = FileOp::kCreate, .path_contains = "MANIFEST", .status = no_space});
  EXPECT_THAT(Repair(sim.SmallOptions(), SimulatedEnv::kPath), StatusIs(Code::kNoSpace));
  EXPECT_EQ(sim.files->faults_hit(), 1u);
  sim.files->ClearFaults();
  for (const char* name : {"/CURRENT", "/lost/CURRENT"}) {
    const auto bytes = sim.files->ReadWhole(SimulatedEnv::kPath + name);
    EXPECT_TRUE(bytes && *bytes == current) << name;
  }
  ASSERT_OK(Repair(sim.SmallOptions(), SimulatedEnv::kPath).status());
  ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
  for (const char* key : {"a", "b", "c"}) {
    std::string value;
    EXPECT_OK(db->Get({}, key, &value)) << key;
    EXPECT_EQ(value, "new") << key;
  }
}

class Joining final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.joining"; }
  Status Apply(std::string_view, std::optional<std::string_view> base, Span<const std::string_view> operands,
               std::string* result) const override {
    if (base) *result = *base;
    for (const std::string_view each : operands) result->append("/").append(each);
    return {};
  }
};

// Repair does not need a program's merge operators: operands that it cannot fold stay, and each counts once,
// in tables or in the WAL. Both record the operator's name.
TEST(Repair, KeepsOperandsWhoseOperatorItLacks) {
  struct Way {
    bool has_operator;
    bool is_in_log;
  };
  for (const Way way : {Way{false, true}, Way{true, true}, Way{false, false}}) {
    for (const std::string lost : {"MANIFEST", "CURRENT"}) {
      SCOPED_TRACE(lost + (way.has_operator ? ", with the operator" : "") + (way.is_in_log ? "" : ", without the log"));
      SimulatedEnv sim;
      Options options = sim.SmallOptions();
      options.merge_operators = {std::make_shared<Joining>()};
      {
        ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, SimulatedEnv::kPath));
        ASSERT_OK(db->Put({}, "k", "base"));
        for (const char* part : {"1", "2", "3"}) {
          ASSERT_OK(db->Merge({}, "k", merge::Named("test.joining", part)));
          ASSERT_OK(db->Flush());
        }
        ASSERT_OK(db->Merge({}, "k", merge::Named("test.joining", "4")));
        ASSERT_OK(db->Flush());
        if (way.is_in_log) { ASSERT_OK(db->Merge({}, "k", merge::Named("test.joining", "5"))); }
        ASSERT_OK(db->Close());
      }
      ASSERT_OK(sim.files->Remove(FirstFile(sim, lost)));
      while (!way.is_in_log && FirstFile(sim, ".seg") != "") ASSERT_OK(sim.files->Remove(FirstFile(sim, ".seg")));
      ASSERT_OK(Repair(way.has_operator ? options : sim.SmallOptions(), SimulatedEnv::kPath));
      ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, SimulatedEnv::kPath));
      std::string value;
      EXPECT_OK(db->Get({}, "k", &value));
      EXPECT_EQ(value, way.is_in_log ? "base/1/2/3/4/5" : "base/1/2/3/4");
      EXPECT_EQ(Property(*db, "merge_operators"), "test.joining\n");
    }
  }
}

// KEEP exists if an open dropped a part of the MANIFEST and has not yet moved all files.
TEST(Repair, VerifySaysWhatTheNextOpenDoesWithAFileThatNothingNames) {
  SimulatedEnv sim;
  { ASSERT_OK(sim.Open()); }
  const auto create = [&](const std::string& name) {
    ASSERT_OK(sim.files->Open(SimulatedEnv::kPath + "/" + name, {.access = Access::kCreate}).status());
  };
  create("000099.tbl");
  const auto notes = [&] {
    auto report = Verify(sim.SmallOptions(), SimulatedEnv::kPath);
    EXPECT_OK(report.status());
    return report ? report->notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes(), ::testing::Contains("000099.tbl: the MANIFEST does not name it; the next open removes it"));
  create("KEEP");
  EXPECT_THAT(notes(),
              ::testing::Contains("000099.tbl: the MANIFEST does not name it; the next open moves it to lost/"));
}

// Symptom: after a repair without a MANIFEST a power cut took tables that the new MANIFEST names. Cause: the
// repair synced only the tables that it had made; the tables that it found may never have been synced, as
// MANIFEST commits lag behind. Consequence: the repaired database did not open.
TEST(Repair, MakesDurableWhatNobodyHadSynced) {
  SimulatedEnv sim;
  {
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    for (int i = 0; i < 200; ++i)
      ASSERT_OK(db->Put({}, "key" + std::to_string(i), std::string(static_cast<size_t>(i), 'v')));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Close());
  }
  for (const std::string& path : sim.files->Files()) {
    if (!EndsWith(path, ".tbl") && !EndsWith(path, ".val")) continue;
    ASSERT_OK_AND_ASSIGN(const std::string bytes, sim.files->ReadWhole(path));
    ASSERT_OK(sim.files->Remove(path));
    ASSERT_OK_AND_ASSIGN(auto file, sim.files->Open(path, {.access = Access::kCreate}));
    ASSERT_OK(file->WriteAt(0, bytes));
    ASSERT_OK(file->Close());
  }
  ASSERT_OK(sim.files->Remove(FirstFile(sim, "MANIFEST")));
  ASSERT_OK(Repair(sim.SmallOptions(), SimulatedEnv::kPath));
  for (const CrashModel model : kCrashModels) {
    const auto after = SimulatedEnv::After(sim, CrashMode::kMin, model, 1);
    ASSERT_OK_AND_ASSIGN(auto db, after->Open());
    EXPECT_OK(db->CheckIntegrity());
    for (int i = 0; i < 200; ++i) {
      std::string value;
      EXPECT_OK(db->Get({}, "key" + std::to_string(i), &value));
      EXPECT_EQ(value, std::string(static_cast<size_t>(i), 'v'));
    }
  }
}

// ---- interrupted ------------------------------------------------------------------------------------------

// Kinds of damage that are repaired in different ways.
struct Case {
  const char* name;
  std::function<void(const WholeDatabase&, FaultFileSystem&)> damage;
};
const Case kCases[] = {
    {"a table's block",
     [](const WholeDatabase& whole, FaultFileSystem& files) { ASSERT_OK(files.FlipBit(First(whole, ".tbl"), 30, 2)); }},
    {"no MANIFEST",
     [](const WholeDatabase& whole, FaultFileSystem& files) { ASSERT_OK(files.Remove(First(whole, "MANIFEST"))); }},
    {"no CURRENT",
     [](const WholeDatabase& whole, FaultFileSystem& files) { ASSERT_OK(files.Remove(First(whole, "CURRENT"))); }},
    {"a MANIFEST put back to an older state",
     [](const WholeDatabase& whole, FaultFileSystem& files) {
       const std::string path = First(whole, "MANIFEST");
       const std::vector<std::string> older = whole.EarlierContents(path);
       if (whole.shape().is_closed) {  // only a clean close records how far the MANIFEST reached
         ASSERT_GT(older.size(), 1u);
         ASSERT_OK(files.WriteWhole(path, older[1]));
       }
     }},
    {"the log segments",
     [](const WholeDatabase& whole, FaultFileSystem& files) {
       for (const std::string& path : whole.Files(".seg")) ASSERT_OK(files.WriteWhole(path, "gone"));
     }},
    {"a value",
     [](const WholeDatabase& whole, FaultFileSystem& files) {
       if (whole.shape().separates) { ASSERT_OK(files.FlipBit(First(whole, ".val"), 30, 2)); }
     }},
    {"all of it", [](const WholeDatabase& whole, FaultFileSystem& files) {
       ASSERT_OK(files.WriteWhole(First(whole, "CURRENT"), "mergedb"));
       ASSERT_OK(files.WriteWhole(First(whole, "MANIFEST"), "x"));
       ASSERT_OK(files.FlipBit(First(whole, ".tbl"), 30, 2));
       ASSERT_OK(files.WriteWhole(First(whole, ".seg"), "gone"));
     }}};

TEST_P(RepairTest, InterruptedAnywhereItIsDoneAgain) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.name);
    auto first = whole_.Copy();
    each.damage(whole_, *first->files);
    if (Snapshot(*first->files) == Snapshot(whole_.image())) continue;
    const Files before = Snapshot(*first->files);
    const auto damaged = DurableCopy(*first->files);
    const ModelDb::Pairs expected = RepairAndCheck(*first, "CURRENT");
    if (HasFailure()) return;

    // Once more, with a crash before every operation.
    SimulatedEnv sim({.seed = 9}, damaged->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
    std::vector<std::unique_ptr<FaultFileSystem>> images;
    sim.files->SetOpHook([&](uint64_t op, const char*, const std::string&) {
      images.push_back(sim.files->Crash(CrashMode::kKill, CrashModel::kStrict, op));
      const CrashMode mode = kPowerCutModes[op % std::size(kPowerCutModes)];
      images.push_back(sim.files->Crash(mode, kCrashModels[op / 7 % 2], op));
    });
    ASSERT_OK(Repair(whole_.OptionsFor(sim), SimulatedEnv::kPath));
    sim.files->SetOpHook(nullptr);
    EXPECT_GT(images.size(), 20u);
    for (size_t i = 0; i < images.size(); ++i) {
      SCOPED_TRACE("image " + std::to_string(i));
      SimulatedEnv after({.seed = 9}, std::move(images[i]));
      {  // A half-repaired database is never visible: it is damaged, or marked, or repaired.
        auto copy = std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = 9},
                                                   after.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
        auto db = whole_.Open(*copy);
        if (db) {
          ModelDb::Pairs found;
          auto it = (*db)->NewIterator();
          for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace_back(it->key(), it->value());
          if (it->status().ok()) { EXPECT_TRUE(found == expected); }
        }
      }
      ASSERT_OK(Repair(whole_.OptionsFor(after), SimulatedEnv::kPath));
      ExpectNothingDeleted(before, *after.files);
      EXPECT_TRUE(Read(after) == expected);
      if (HasFailure()) return;
    }
  }
}

TEST_P(RepairTest, AnErrorLeavesItToBeDoneAgain) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.name);
    auto first = whole_.Copy();
    each.damage(whole_, *first->files);
    if (Snapshot(*first->files) == Snapshot(whole_.image())) continue;
    const auto damaged = first->files->Crash(CrashMode::kKill, CrashModel::kStrict, 1);
    const ModelDb::Pairs expected = RepairAndCheck(*first, "CURRENT");
    for (uint64_t nth = 1; nth < 400; ++nth) {
      SCOPED_TRACE("operation " + std::to_string(nth));
      SimulatedEnv sim({.seed = 9}, damaged->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
      sim.files->AddFault({.op = FileOp::kAnyChange, .nth = nth, .status = Status::NoSpace("injected")});
      const auto failed = Repair(whole_.OptionsFor(sim), SimulatedEnv::kPath);
      if (sim.files->faults_hit() == 0) break;
      sim.files->ClearFaults();
      if (failed) {  // the repair went on with a copy of the file
        EXPECT_THAT(failed->actions,
                    ::testing::Contains(::testing::HasSubstr("a sync failed; the file was replaced by a copy")));
      }
      ASSERT_OK(Repair(whole_.OptionsFor(sim), SimulatedEnv::kPath));
      EXPECT_TRUE(Read(sim) == expected);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_FOR(RepairTest, kEndings);
INSTANTIATE_FOR(RepairTest, kEndingsWithBlobFiles);

}  // namespace
}  // namespace mergedb::testing
