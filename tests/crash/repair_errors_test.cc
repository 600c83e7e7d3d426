// Goal: whatever file call fails while a database is verified, repaired, checkpointed or opened with files of
// other names: the call returns an error, or reports the unreadable part as damage; no byte of the database
// is deleted; and once the files work again, the same call succeeds and all committed data is there.
// Method: databases in memory, intact and damaged in many ways; each file system call of the operation fails,
// once; and each call of the progress callback asks to stop.
#include <algorithm>
#include <map>

#include "base/coding.h"
#include "blob/writer.h"
#include "format/batch.h"
#include "format/file_name.h"
#include "format/table_layout.h"
#include "manifest/loader.h"
#include "manifest/mirror_file.h"
#include "mergedb/checkpoint.h"
#include "mergedb/leveldb.h"
#include "table/writer.h"
#include "testing/whole_database.h"
#include "tests/crash/each_call.h"
#include "version/version_builder.h"
#include "wal/frame.h"
#include "wal/replay.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;
using Shown = std::map<std::string, std::string>;
using Image = std::unique_ptr<FaultFileSystem>;

const std::string kPath = SimulatedEnv::kPath;

// ---- databases to be verified and repaired ----------------------------------------------------------------

Image FilesOf(const SimulatedEnv& sim) { return sim.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1); }

std::string First(const FaultFileSystem& files, std::string_view part) {
  for (const std::string& path : files.Files()) {
    if (path.find(part) != std::string::npos) return path;
  }
  ADD_FAILURE() << "no file of " << part;
  return "";
}

std::string FirstLive(const WholeDatabase& whole) {
  for (const std::string& path : whole.Files(".tbl")) {
    if (whole.IsLiveTable(path)) return path;
  }
  return "";
}

const WholeDatabase& Closed() {
  static const WholeDatabase whole({.separates = true});
  return whole;
}
const WholeDatabase& Killed() {
  static const WholeDatabase whole({.is_closed = false, .is_mapped = false, .separates = true});
  return whole;
}

// Tables, values, a WAL and keyspaces; nothing is compacted.
Image WithKeyspaces() {
  SimulatedEnv sim;
  auto db = sim.Open();
  EXPECT_OK(db);
  const auto named = (*db)->CreateKeyspace("named");
  EXPECT_OK(named);
  for (int i = 0; i < 300; ++i) {
    EXPECT_OK((*db)->Put({}, "key" + std::to_string(i), std::string(static_cast<size_t>(i), 'v')));
    EXPECT_OK((*db)->Put({}, *named, "key" + std::to_string(i % 50), "named"));
    if (i % 100 == 99) { EXPECT_OK((*db)->Flush()); }
  }
  EXPECT_OK((*db)->DeleteRange({}, "key2", "key25"));
  EXPECT_OK((*db)->Close());
  return FilesOf(sim);
}

// Two tables of the same keys, so many that a compaction of them reports progress on its way.
Image WithManyEntries() {
  SimulatedEnv sim;
  Options options = sim.SmallOptions();
  // one table holds all keys: a repair would compact each pair of small tables separately
  options.write_buffer_bytes = 4 << 20;
  options.memory_bytes = 16 << 20;
  auto db = DB::Open(options, kPath);
  EXPECT_OK(db);
  for (const char* value : {"old", "new and longer"}) {
    for (int i = 0; i < 9000; ++i) EXPECT_OK((*db)->Put({}, std::to_string(100'000 + i), value));
    EXPECT_OK((*db)->Flush());
  }
  EXPECT_OK((*db)->Close());
  return FilesOf(sim);
}

// WAL segments and tables with the names that LevelDB's files have. The manual executor has copied the whole
// WAL buffer.
Image WithLevelDbsNames(const FaultFileSystem& whole) {
  Image files = whole.Crash(CrashMode::kKill, CrashModel::kStrict, 1);
  for (const std::string& path : files->Files()) {
    const std::string stem = path.substr(0, path.size() - 4);
    if (EndsWith(path, ".tbl")) { EXPECT_OK(files->Rename(path, stem + ".ldb")); }
    if (EndsWith(path, ".seg")) { EXPECT_OK(files->Rename(path, stem + ".log")); }
  }
  return files;
}

void RemoveAll(FaultFileSystem& files, std::string_view part) {
  for (const std::string& path : files.Files()) {
    if (path.find(part) != std::string::npos) { EXPECT_OK(files.Remove(path)); }
  }
}

struct Case {
  const char* name;
  std::function<Image()> make;
};

Image Damaged(const WholeDatabase& whole, const std::function<void(FaultFileSystem&)>& damage) {
  Image files = whole.image().Crash(CrashMode::kKill, CrashModel::kStrict, 1);
  damage(*files);
  return files;
}

void FlipIndexOf(FaultFileSystem& files, const std::string& path) {
  const std::string bytes = *files.ReadWhole(path);
  format::Footer footer;
  ASSERT_OK(
      format::DecodeFooter(std::string_view(bytes).substr(bytes.size() - format::kFooterBytes), bytes.size(), &footer));
  ASSERT_OK(files.FlipBit(path, footer.index_offset() + 3, 1));
}

// clang-format off
const Case kCases[] = {
    {"Whole", [] { return Damaged(Closed(), [](FaultFileSystem&) {}); }},
    {"WithALog", [] { return Damaged(Killed(), [](FaultFileSystem&) {}); }},
    {"WithoutCurrent", [] { return Damaged(Killed(), [](FaultFileSystem& files) { EXPECT_OK(files.Remove(kPath + "/CURRENT")); }); }},
    {"WithoutManifest", [] { return Damaged(Killed(), [](FaultFileSystem& files) { RemoveAll(files, "MANIFEST"); }); }},
    {"KeyspacesWithoutManifest",
     [] {
       Image files = WithKeyspaces();
       RemoveAll(*files, "MANIFEST");
       return files;
     }},
    {"ATablesBlock", [] { return Damaged(Killed(), [](FaultFileSystem& files) { EXPECT_OK(files.FlipBit(FirstLive(Killed()), 30, 2)); }); }},
    {"ATablesIndex", [] { return Damaged(Closed(), [](FaultFileSystem& files) { FlipIndexOf(files, FirstLive(Closed())); }); }},
    {"AValue", [] { return Damaged(Closed(), [](FaultFileSystem& files) { EXPECT_OK(files.FlipBit(First(files, ".val"), 30, 2)); }); }},
    {"AnInterruptedRepair",
     [] {
       return Damaged(Killed(), [](FaultFileSystem& files) {
         EXPECT_OK(files.CreateDirectory(kPath + "/lost"));
         EXPECT_OK(files.WriteWhole(kPath + "/lost/000004.tbl", "of an earlier one"));
         EXPECT_OK(files.WriteWhole(kPath + "/REPAIR", "found:\n"));
       });
     }},
    {"ADirectoryInTheMarkersPlace", [] { return Damaged(Closed(), [](FaultFileSystem& files) { EXPECT_OK(files.CreateDirectory(kPath + "/REPAIR")); }); }},
    {"LevelDbsNames", [] { return WithLevelDbsNames(Killed().image()); }},
    {"LevelDbsNamesAlone",
     [] {
       static const WholeDatabase plain({.is_closed = false, .is_mapped = false});
       Image files = WithLevelDbsNames(plain.image());
       for (const char* part : {"MANIFEST", "CURRENT", "STAGING"}) RemoveAll(*files, part);
       return files;
     }},
};
// clang-format on

class VerifyAndRepairErrors : public ::testing::TestWithParam<Case> {
 protected:
  const Image before_ = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(Databases, VerifyAndRepairErrors, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

// ---- permitted outcomes -----------------------------------------------------------------------------------

bool Says(const Status& status, std::string_view words) {
  return status.message().find(words) != std::string_view::npos;
}
bool IsInjected(const Status& status) { return Says(status, "injected"); }
// A repair reads files twice. It must report an entry that only its second read could not read, and ask to be
// run again.
bool FoundMoreOrLess(const Status& status) { return Says(status, "could be read a second time; run the repair again"); }

// All that the database shows, of every keyspace.
Shown ReadAll(DB& db) {
  Shown shown;
  std::vector<std::pair<std::string, Keyspace>> keyspaces = {{"", Keyspace()}};
  const auto listed = db.ListKeyspaces();
  EXPECT_OK(listed.status());
  for (const auto& each : *listed) keyspaces.emplace_back(each.name + "/", *db.OpenKeyspace(each.name));
  for (const auto& [name, keyspace] : keyspaces) {
    const auto it = db.NewIterator({.keyspace = keyspace});
    for (it->SeekToFirst(); it->Valid(); it->Next()) shown[name + std::string(it->key())] = it->value();
    EXPECT_OK(it->status());
  }
  return shown;
}

Shown OpenAndRead(SimulatedEnv& sim, const std::string& path = kPath) {
  Options options = sim.SmallOptions();
  options.mode = OpenMode::kMustExist;
  auto db = DB::Open(options, path);
  EXPECT_OK(db.status());
  if (!db) return {};
  EXPECT_OK((*db)->CheckIntegrity());
  return ReadAll(**db);
}

// The bytes of each file are there, perhaps in lost/ or under another name. CURRENT and REPAIR are replaced.
void ExpectNothingDeleted(const FaultFileSystem& before, const FaultFileSystem& after) {
  std::multimap<size_t, std::string> left;
  for (const std::string& path : after.Files()) {
    std::string bytes = *after.ReadWhole(path);
    left.emplace(bytes.size(), std::move(bytes));
  }
  for (const std::string& path : before.Files()) {
    const std::string name = BaseName(path);
    if (name == "LOCK" || name == "CURRENT" || name == "REPAIR") continue;
    const std::string bytes = *before.ReadWhole(path);
    const auto [begin, end] = left.equal_range(bytes.size());
    EXPECT_TRUE(std::any_of(begin, end, [&](const auto& each) { return each.second == bytes; })) << path << " is gone";
  }
}

bool IsLost(const std::string& key, const RepairReport& report) {
  const std::string plain = key.substr(key.find('/') + 1);
  // clang-format off
  return std::any_of(report.losses.begin(), report.losses.end(), [&](const Damage& loss) {
    return (!loss.smallest_key || *loss.smallest_key <= plain) && (!loss.largest_key || plain <= *loss.largest_key);
  });
}

void ExpectDifferencesReported(const Shown& found, const Shown& expected, const RepairReport& report) {
  Shown all = expected;
  all.insert(found.begin(), found.end());
  for (const auto& [key, value] : all) {
    const auto is = found.find(key), should = expected.find(key);
    const bool is_same = is != found.end() && should != expected.end() && is->second == should->second;
    EXPECT_TRUE(is_same || IsLost(key, report)) << key << " differs without a word";
    if (::testing::Test::HasFailure()) return;
  }
}

bool FindsTheSame(const VerifyReport& a, const VerifyReport& b) {
  return a.damages.size() == b.damages.size() && a.tables == b.tables && a.entries == b.entries && a.wal_frames == b.wal_frames;
}

// ---- verify -----------------------------------------------------------------------------------------------

// If verify skipped an unreadable file, it would report a database as intact that it has not read.
TEST_P(VerifyAndRepairErrors, VerifyTellsOfEveryFailedCallOrFindsAllTheSame) {
  const auto clean = Verify(CopyOf(*before_)->SmallOptions(), kPath);
  ForEachFailingCall(*before_, [&](SimulatedEnv& sim, const Fault& fault) {
    const uint64_t bytes_before = sim.files->Fingerprint();
    sim.files->AddFault(fault);
    const auto report = Verify(sim.SmallOptions(), kPath);
    const bool was_hit = EndFault(sim);
    if (!report) {
      EXPECT_TRUE(IsInjected(report.error()) || (!clean && report.error().code() == clean.error().code())) << report.error().ToString();
    } else {
      EXPECT_TRUE(!report->damages.empty() || (clean && FindsTheSame(*report, *clean)));
    }
    EXPECT_EQ(sim.files->Fingerprint(), bytes_before) << "verify changed something";
    const auto again = Verify(sim.SmallOptions(), kPath);
    EXPECT_EQ(again.has_value(), clean.has_value());
    EXPECT_TRUE(!again || FindsTheSame(*again, *clean));
    return was_hit;
  });
}

TEST_P(VerifyAndRepairErrors, VerifyGivesUpOnRequest) {
  if (!Verify(CopyOf(*before_)->SmallOptions(), kPath)) return;  // refused before it begins
  ForEachGivingUp(*before_, [](SimulatedEnv& sim, const Progress& progress) {
    const auto report = Verify(sim.SmallOptions(), kPath, progress);
    if (!report) { EXPECT_THAT(report, StatusIs(Code::kAborted, HasSubstr("cancelled by the progress callback"))); }
    return !report.has_value();
  });
}

// ---- repair -----------------------------------------------------------------------------------------------

// The contents after a repair without any failure.
Shown RepairCleanly(const FaultFileSystem& before) {
  const auto sim = CopyOf(before);
  EXPECT_OK(Repair(sim->SmallOptions(), kPath).status());
  return OpenAndRead(*sim);
}

// A repair treats read errors as damage and reports them; every other failure is an error, after which it is
// run again.
TEST_P(VerifyAndRepairErrors, RepairTellsOfEveryFailedCallAndDeletesNothing) {
  const Shown expected = RepairCleanly(*before_);
  ForEachFailingCall(*before_, [&](SimulatedEnv& sim, const Fault& fault) {
    sim.files->AddFault(fault);
    auto report = Repair(sim.SmallOptions(), kPath);
    const bool was_hit = EndFault(sim);
    ExpectNothingDeleted(*before_, *sim.files);
    if (report) {
      ExpectDifferencesReported(OpenAndRead(sim), expected, *report);
      return was_hit;
    }
    EXPECT_TRUE(was_hit && (IsInjected(report.error()) || FoundMoreOrLess(report.error()))) << report.error().ToString();
    const auto again = Repair(sim.SmallOptions(), kPath);
    EXPECT_OK(again.status());
    ExpectNothingDeleted(*before_, *sim.files);
    if (again) ExpectDifferencesReported(OpenAndRead(sim), expected, *again);
    return was_hit;
  });
}

TEST(InterruptedRepair, IsNotTakenUpWithoutReadingItsMarker) {
  const Image before = Damaged(Killed(), [](FaultFileSystem& files) { EXPECT_OK(files.WriteWhole(kPath + "/REPAIR", "found:\n")); });
  for (const FileOp op : {FileOp::kOpen, FileOp::kRead}) {
    const auto sim = CopyOf(*before);
    sim->files->AddFault({.op = op, .path_contains = "/REPAIR"});
    EXPECT_THAT(Repair(sim->SmallOptions(), kPath), StatusIs(Code::kIOError, HasSubstr("injected")));
  }
}

TEST_P(VerifyAndRepairErrors, RepairGivesUpOnRequestAndIsDoneAgain) {
  const Shown expected = RepairCleanly(*before_);
  ForEachGivingUp(*before_, [&](SimulatedEnv& sim, const Progress& progress) {
    const auto given_up = Repair(sim.SmallOptions(), kPath, {.progress = progress});
    if (!given_up) {
      EXPECT_THAT(given_up, StatusIs(Code::kAborted, HasSubstr("cancelled by the progress callback")));
      EXPECT_OK(Repair(sim.SmallOptions(), kPath).status());
    }
    EXPECT_EQ(OpenAndRead(sim), expected);
    return !given_up.has_value();
  });
}

// ---- too few descriptors ----------------------------------------------------------------------------------

const uint64_t kNoLimit = UINT64_MAX;

size_t LossesOf(const FaultFileSystem& before) {
  const auto report = Repair(CopyOf(before)->SmallOptions(), kPath);
  EXPECT_OK(report.status());
  return report ? report->losses.size() : 0;
}

// Symptom: a whole table went to lost/ because the process had too many open files. Cause: the repair treated
// a file that it could not open as damaged.
TEST_P(VerifyAndRepairErrors, TooFewDescriptorsAreBusyAndNoDamage) {
  const auto clean = Verify(CopyOf(*before_)->SmallOptions(), kPath);
  const Shown expected = RepairCleanly(*before_);
  const size_t losses = LossesOf(*before_);
  bool is_enough = false;
  uint64_t refused = 0;
  for (uint64_t count = 0; !is_enough && !HasFailure(); ++count) {
    SCOPED_TRACE(std::to_string(count) + " descriptors");
    ASSERT_LT(count, 40u);
    const auto sim = CopyOf(*before_);
    sim->files->SetDescriptorsMax(count);
    const auto found = Verify(sim->SmallOptions(), kPath);
    const bool is_verified = found.has_value() == clean.has_value();
    if (is_verified) { EXPECT_TRUE(!found || FindsTheSame(*found, *clean)); }
    if (!is_verified) { EXPECT_THAT(found, StatusIs(Code::kBusy, HasSubstr("Too many open files"))); }
    auto repaired = Repair(sim->SmallOptions(), kPath);
    is_enough = is_verified && repaired.has_value();
    sim->files->SetDescriptorsMax(kNoLimit);
    if (!repaired) {
      ++refused;
      EXPECT_THAT(repaired, StatusIs(Code::kBusy, HasSubstr("Too many open files")));
      repaired = Repair(sim->SmallOptions(), kPath);
      ASSERT_OK(repaired.status());
    }
    EXPECT_EQ(repaired->losses.size(), losses);
    EXPECT_EQ(OpenAndRead(*sim), expected);
  }
  EXPECT_GT(refused, 1u);
}

// Symptom: verify called an intact database damaged, and repair locked it, if the process may open about as
// many files as there are blob files. Cause: the diagnosis held all blob files open.
TEST(RepairDescriptors, ManyBlobFilesNeedFew) {
  SimulatedEnv sim;
  Shown expected;
  {
    auto db = sim.Open();
    ASSERT_OK(db);
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key" + std::to_string(i);
      expected[key] = std::string(20'000, 'v');
      ASSERT_OK((*db)->Put({}, key, expected[key]));
      ASSERT_OK((*db)->Flush());
    }
    ASSERT_OK((*db)->Close());
  }
  uint64_t blob_files = 0;
  for (const std::string& path : sim.files->Files()) blob_files += EndsWith(path, ".val");
  ASSERT_GT(blob_files, 50u);
  sim.files->SetDescriptorsMax(30);
  const auto found = Verify(sim.SmallOptions(), kPath);
  ASSERT_OK(found);
  EXPECT_TRUE(found->damages.empty()) << ToText(found->damages.front());
  RemoveAll(*sim.files, "MANIFEST");
  ASSERT_OK(Repair(sim.SmallOptions(), kPath).status());
  sim.files->SetDescriptorsMax(kNoLimit);
  EXPECT_EQ(OpenAndRead(sim), expected);
}

TEST(RepairProgress, IsAskedWithinTheRewriteOfLargeTables) {
  const Image before = WithManyEntries();
  RemoveAll(*before, "MANIFEST");
  const Shown expected = RepairCleanly(*before);
  EXPECT_EQ(expected.size(), 9000u);
  EXPECT_EQ(expected.begin()->second, "new and longer");
  uint64_t given_up = 0;
  ForEachGivingUp(*before, [&](SimulatedEnv& sim, const Progress& progress) {
    const bool is_done = Repair(sim.SmallOptions(), kPath, {.progress = progress}).has_value();
    given_up += !is_done;
    if (is_done) { EXPECT_EQ(OpenAndRead(sim), expected); }
    return !is_done;
  });
  EXPECT_GT(given_up, 4u);
}

TEST(RepairMarker, OneThatCannotBeReadIsAnErrorAndStays) {
  const auto sim = CopyOf(*kCases[8].make());
  ASSERT_TRUE(sim->files->ReadWhole(kPath + "/REPAIR").has_value());
  sim->files->AddFault({.op = FileOp::kRead, .path_contains = "REPAIR"});
  EXPECT_THAT(Repair(sim->SmallOptions(), kPath), StatusIs(Code::kIOError, HasSubstr("REPAIR: read")));
  EXPECT_THAT(sim->files->ReadWhole(kPath + "/REPAIR"), IsOkAndHolds("found:\n"));
}

class Other final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "repair_errors_test.other"; }
};

// The error comes from the MANIFEST or, without a MANIFEST, from the tables.
TEST(VerifyAndRepairOptions, AnotherComparatorIsRefusedAndNothingIsChanged) {
  const Other other;
  for (const Case& each : {kCases[0], kCases[3]}) {
    SCOPED_TRACE(each.name);
    const auto sim = CopyOf(*each.make());
    Options options = sim->SmallOptions();
    options.comparator = &other;
    const uint64_t before = sim->files->Fingerprint();
    EXPECT_THAT(Verify(options, kPath), StatusIs(Code::kInvalidArgument, HasSubstr("repair_errors_test.other")));
    EXPECT_THAT(Repair(options, kPath), StatusIs(Code::kInvalidArgument, HasSubstr("repair_errors_test.other")));
    EXPECT_EQ(sim->files->Fingerprint(), before);
  }
}

// To this version such a file looks like damage, but it may be the only copy of newer data.
TEST(VerifyAndRepairOptions, FilesOfANewerVersionAreRefusedAndNothingIsChanged) {
  const struct {
    const char* what;
    void (*make)(FaultFileSystem&);
  } cases[] = {
      // CURRENT names a later MANIFEST, which is gone
      {"/db/MANIFEST-000001 at stream offset 40: VersionEdit field 63 at offset 0: written by a newer version",
       [](FaultFileSystem& files) {
         ASSERT_OK_AND_ASSIGN(const auto loaded, manifest::Load(&files, kPath, kv::Order(BytewiseComparator())));
         const std::string path = format::ManifestPath(kPath, kv::FileNumber{1}), field_63 = "\x3f\x01x";
         ASSERT_OK(files.Remove(path));
         ASSERT_OK(manifest::MirrorWriter::WriteWhole(&files, path, {.database_id = loaded.database_id, .number = kv::FileNumber{1}}, field_63));
         ASSERT_OK(files.WriteWhole(kPath + "/CURRENT", manifest::EncodeCurrent({kv::FileNumber{900}})));
       }},
      {".val: value at 0: codec 9: written by a newer version of mergedb",
       [](FaultFileSystem& files) {
         const std::string path = First(files, ".val");
         const std::string bytes = *files.ReadWhole(path);
         format::BlobFileMeta meta;
         ASSERT_OK(format::DecodeBlobFooter(std::string_view(bytes).substr(bytes.size() - format::kBlobFooterBytes), bytes.size(), &meta));
         uint64_t record_bytes = 0;
         ASSERT_OK(format::ReadRecordBytes(bytes, &record_bytes));
         format::BlobRecord record;
         ASSERT_OK(format::OpenRecord(std::string_view(bytes).substr(0, record_bytes), {.unique_id = meta.unique_id, .offset = 0}, true, &record));
         char head[format::kRecordHeadBytesMax];
         const size_t head_bytes = format::StoreRecordHead(head, record.key, record.stored, Compression{9}, {.unique_id = meta.unique_id, .offset = 0});
         ASSERT_OK(files.PatchBytes(path, 0, {head, head_bytes}));
       }},
  };
  // clang-format on
  for (const auto& [what, make] : cases) {
    SCOPED_TRACE(what);
    const auto sim = CopyOf(Closed().image());
    make(*sim->files);
    const uint64_t before = sim->files->Fingerprint();
    EXPECT_THAT(Verify(sim->SmallOptions(), kPath), StatusIs(Code::kNotSupported, HasSubstr(what)));
    EXPECT_THAT(Repair(sim->SmallOptions(), kPath), StatusIs(Code::kNotSupported, HasSubstr(what)));
    EXPECT_EQ(sim->files->Fingerprint(), before);
  }
}

// ---- opening under other names ----------------------------------------------------------------------------

TEST(OpenErrors, FilesOfOtherNamesAreTakenInWhenTheCallsWorkAgain) {
  const Image before = WithLevelDbsNames(Killed().image());
  const Shown expected = OpenAndRead(*CopyOf(*before));
  EXPECT_EQ(expected.size(), Killed().expected().size());
  ForEachFailingCall(*before, [&](SimulatedEnv& sim, const Fault& fault) {
    Options options = sim.SmallOptions();
    options.mode = OpenMode::kMustExist;
    sim.files->AddFault(fault);
    const Status status = DB::Open(options, kPath).status();
    const bool was_hit = EndFault(sim);
    EXPECT_TRUE(status.ok() || (was_hit && IsInjected(status))) << status.ToString();
    EXPECT_EQ(OpenAndRead(sim), expected);
    return was_hit;
  });
}

// ---- checkpoint -------------------------------------------------------------------------------------------

// An earlier call stopped half-way; since then one of its files was damaged, and one belongs to a state that
// is gone.
Image WithInterruptedCopy() {
  const auto sim = CopyOf(Closed().image());
  auto db = sim->Open();
  EXPECT_OK(db);
  uint64_t left = 4;
  EXPECT_THAT(
      Checkpoint(**db, "/copy", {.may_link = false, .progress = [&](uint64_t, uint64_t) { return left-- > 0; }}),
      StatusIs(Code::kAborted));
  EXPECT_OK((*db)->Close());
  EXPECT_OK(sim->files->FlipBit(First(*sim->files, ".partial/"), 20, 1));
  EXPECT_OK(sim->files->WriteWhole("/copy.partial/000900.tbl", "of another state"));
  return FilesOf(*sim);
}

class CheckpointErrors : public ::testing::Test {
 protected:
  // A database with some writes only in memory.
  std::unique_ptr<DB> Open(SimulatedEnv& sim) {
    auto db = sim.Open();
    EXPECT_OK(db.status());
    EXPECT_OK((*db)->Put({}, "zz", "in memory"));
    EXPECT_OK((*db)->Put({}, "zzz", std::string(200, 'v')));
    return std::move(*db);
  }
  void CheckCopy(SimulatedEnv& sim, DB& db) {
    EXPECT_EQ(OpenAndRead(sim, "/copy"), ReadAll(db));
    EXPECT_OK(sim.files->IsDirectory("/copy.partial").status());
  }
  void FailEach(const FaultFileSystem& before, const CheckpointOptions& options) {
    ForEachFailingCall(before, [&](SimulatedEnv& sim, const Fault& fault) {
      const auto db = Open(sim);
      sim.files->AddFault(fault);
      const auto made = Checkpoint(*db, "/copy", options);
      const bool was_hit = EndFault(sim);
      EXPECT_TRUE(made || IsInjected(made.error()) || made.error().IsInvalidArgument()) << made.error().ToString();
      // The rename may have succeeded if only the sync of the directory failed.
      if (!made && !*sim.files->IsDirectory("/copy")) { EXPECT_OK(Checkpoint(*db, "/copy", options).status()); }
      CheckCopy(sim, *db);
      return was_hit;
    });
  }
};

TEST_F(CheckpointErrors, ALinkedCopyIsMadeWhenTheCallsWorkAgain) { FailEach(Closed().image(), {.verify = true}); }
TEST_F(CheckpointErrors, ACopyOfEveryByteIsMadeWhenTheCallsWorkAgain) {
  FailEach(Closed().image(), {.may_link = false, .verify = false});
}
TEST_F(CheckpointErrors, AnInterruptedCopyIsGoneOnWithWhenTheCallsWorkAgain) {
  FailEach(*WithInterruptedCopy(), {.may_link = false, .verify = true});
}

TEST_F(CheckpointErrors, AnEmptyDirectoryInItsPlaceStaysUntilTheCallsWorkAgain) {
  const auto sim = CopyOf(Closed().image());
  ASSERT_OK(sim->files->CreateDirectory("/copy"));
  const auto db = Open(*sim);
  sim->files->AddFault({.op = FileOp::kList, .path_contains = "/copy"});
  EXPECT_THAT(Checkpoint(*db, "/copy"), StatusIs(Code::kIOError, HasSubstr("/copy: list")));
  ASSERT_OK(Checkpoint(*db, "/copy").status());
  CheckCopy(*sim, *db);
}

// Symptom: after a power cut the database did not open, or its copy did not: the MANIFEST named a table that
// was lost. Cause: the sync of a linked file failed in the call, and the next commit synced the same file by
// its other name and got OK; the next call kept the copied files that it found. The test cuts the power after
// the failing calls.
TEST_F(CheckpointErrors, ASyncThatFailedIsNotRepeatedOnTheSameFile) {
  for (const bool may_link : {true, false}) {
    uint64_t failed = 0;
    for (uint64_t nth = 1; !HasFailure(); ++nth) {
      SCOPED_TRACE(std::string(may_link ? "linked" : "copied") + ", sync " + std::to_string(nth));
      const auto sim = CopyOf(Closed().image());
      const auto db = Open(*sim);
      for (int i = 0; i < 300; ++i)
        ASSERT_OK(db->Put({}, "new" + std::to_string(i), std::string(static_cast<size_t>(i % 4 * 500), 'n')));
      sim->executor.RunAll();  // tables that no MANIFEST names yet
      sim->files->AddFault({.op = FileOp::kSync, .nth = nth});
      bool is_made = Checkpoint(*db, "/copy", {.may_link = may_link}).has_value();
      const bool was_hit = EndFault(*sim);
      EXPECT_EQ(is_made, !was_hit);
      for (int i = 0; i < 2 && !is_made; ++i) is_made = Checkpoint(*db, "/copy", {.may_link = may_link}).has_value();
      EXPECT_TRUE(is_made);
      ASSERT_OK(db->Flush());
      EXPECT_EQ(sim->files->sync_after_failed_sync(), 0u);
      const auto after = SimulatedEnv::After(*sim, CrashMode::kMin, CrashModel::kStrict, nth);
      const Shown expected = ReadAll(*db);
      EXPECT_EQ(OpenAndRead(*after), expected);
      EXPECT_EQ(OpenAndRead(*after, "/copy"), expected);
      if (!was_hit) break;
      ++failed;
    }
    EXPECT_GE(failed, 3u);
  }
}

TEST_F(CheckpointErrors, ItGivesUpAtEveryStep) {
  for (const bool may_link : {true, false}) {
    ForEachGivingUp(Closed().image(), [&](SimulatedEnv& sim, const Progress& progress) {
      const auto db = Open(sim);
      const auto given_up = Checkpoint(*db, "/copy", {.may_link = may_link, .progress = progress});
      if (!given_up) {
        EXPECT_THAT(given_up, StatusIs(Code::kAborted, HasSubstr("the partial result is in /copy.partial")));
        EXPECT_THAT(sim.files->IsDirectory("/copy"), IsOkAndHolds(false));
        EXPECT_OK(Checkpoint(*db, "/copy", {.may_link = may_link}).status());
      }
      CheckCopy(sim, *db);
      return !given_up.has_value();
    });
  }
}

TEST_F(CheckpointErrors, AClosedDatabaseHasNoneAndOneWhoseLogFailedHasNoneUntilItGoesOn) {
  const auto sim = CopyOf(Closed().image());
  auto db = Open(*sim);
  sim->files->AddFault({.op = FileOp::kSync, .sticky = true});
  EXPECT_THAT(db->Put({.durability = Durability::kSynced}, "refused", ""), StatusIs(Code::kIOError));
  EXPECT_THAT(Checkpoint(*db, "/copy"), StatusIs(Code::kIOError, HasSubstr("injected")));
  EXPECT_THAT(sim->files->IsDirectory("/copy.partial"), IsOkAndHolds(false));
  sim->files->ClearFaults();
  sim->PassTime(60);
  ASSERT_OK(Checkpoint(*db, "/copy").status());
  CheckCopy(*sim, *db);
  ASSERT_OK(db->Close());
  EXPECT_FALSE(Checkpoint(*db, "/other"));
  EXPECT_THAT(sim->files->IsDirectory("/other.partial"), IsOkAndHolds(false));
}

// The maximum number of memtables is full, and no flush succeeds.
TEST_F(CheckpointErrors, ThereIsNoneWithoutTheFlushThatItWaitsFor) {
  const auto sim = CopyOf(Closed().image());
  const auto db = Open(*sim);
  sim->files->AddFault({.op = FileOp::kWrite, .path_contains = ".tbl", .sticky = true});
  Status status;
  for (int i = 0; status.ok() && i < 10'000; ++i)
    status = db->Put({}, "key" + std::to_string(i), std::string(1000, 'v'));
  EXPECT_THAT(status, StatusIs(Code::kIOError, HasSubstr(".tbl: write")));
  EXPECT_THAT(Checkpoint(*db, "/copy"), StatusIs(Code::kIOError, HasSubstr(".tbl: write")));
  EXPECT_THAT(sim->files->IsDirectory("/copy.partial"), IsOkAndHolds(false));
  sim->files->ClearFaults();
  ASSERT_OK(Checkpoint(*db, "/copy").status());
  CheckCopy(*sim, *db);
}

// ---- options ----------------------------------------------------------------------------------------------

TEST(VerifyAndRepairOptions, ThoseThatNoDatabaseCanHaveAreRefusedByEachCall) {
  const auto sim = CopyOf(Closed().image());
  const auto db = sim->Open();
  ASSERT_OK(db);
  const uint64_t before = sim->files->Fingerprint();
  Options options = sim->SmallOptions();
  options.block_bytes = 1;
  const struct {
    const char* name;
    Status status;
  } calls[] = {{"Verify", Verify(options, kPath).status()},
               {"Repair", Repair(options, kPath).status()},
               {"IsLevelDb", IsLevelDb(options, kPath).status()},
               {"RepairLevelDb", RepairLevelDb(options, kPath).status()},
               {"ExportToLevelDb", ExportToLevelDb(**db, options, "/out").status()}};
  for (const auto& call : calls) {
    EXPECT_THAT(call.status, StatusIs(Code::kInvalidArgument, HasSubstr("options.block_bytes"))) << call.name;
  }
  EXPECT_EQ(sim->files->Fingerprint(), before);
}

// ---- bytes with valid checksums ---------------------------------------------------------------------------

// Writes a valid frame with `payload`, correctly chained, after the first frame of the WAL. It replaces the
// rest of the WAL.
void ForgeSecondFrame(FaultFileSystem& files, const std::string& payload) {
  const auto loaded = manifest::Load(&files, kPath, kv::Order(BytewiseComparator()));
  ASSERT_OK(loaded.status());
  const wal::Origin origin = wal::OriginOf(loaded->database_id, loaded->wal_start);
  const std::string segment = First(files, ".seg");
  const std::string bytes = *files.ReadWhole(segment);
  const auto head = wal::LoadSegmentHead(bytes);
  ASSERT_OK(head.status());
  const auto offset_of = [&](uint64_t position) { return wal::kBlockBytes + (position - head->base()); };
  const wal::FrameHeader first = wal::LoadFrameHeader(bytes.data() + offset_of(origin.start.position));
  const uint64_t position = origin.start.position + wal::FrameBytes(first.length);
  std::string frame(wal::kFrameHeaderBytes, '\0');
  wal::StoreFrameHeader(frame.data(),
                        wal::MakeFrameHeader(origin.salt_crc, position, static_cast<uint32_t>(payload.size()), position,
                                             first.sequence + 10));
  frame += payload;
  base::StoreFixed32(frame.data(), wal::FrameCrc(first.crc, frame.data(), frame.size()));
  ASSERT_OK(files.PatchBytes(segment, offset_of(position), frame));
}

// A database after a kill, whose WAL has one commit and a forged one.
std::unique_ptr<SimulatedEnv> WithForgedFrame(const std::string& payload) {
  SimulatedEnv killed;
  Options options = killed.SmallOptions();
  options.use_mapped_wal_buffer = false;
  const auto db = DB::Open(options, kPath);
  EXPECT_OK(db);
  EXPECT_OK((*db)->Put({.durability = Durability::kSynced}, "first", "is whole"));
  auto sim = SimulatedEnv::After(killed, CrashMode::kKill, CrashModel::kStrict, 1);
  ForgeSecondFrame(*sim->files, payload);
  return sim;
}

std::string BackwardRange() {
  std::string payload(1, static_cast<char>(kv::Kind::kRangeDelete));
  payload += "\x01\x01za";  // the lengths, then the bytes
  return payload;
}

TEST(ForgedWal, AFrameThatNoProgramWroteIsRefusedToldAndRepaired) {
  const struct {
    std::string payload;
    const char* what;
  } cases[] = {{BackwardRange(), "the range begins after its end"}, {"\x7f", ""}};
  for (const auto& [payload, what] : cases) {
    SCOPED_TRACE(what);
    const auto sim = WithForgedFrame(payload);
    EXPECT_THAT(sim->Open(), StatusIs(Code::kCorruption, HasSubstr(what)));
    const auto found = Verify(sim->SmallOptions(), kPath);
    ASSERT_OK(found);
    ASSERT_EQ(found->damages.size(), 1u);
    EXPECT_THAT(found->damages[0].what, HasSubstr(what));
    EXPECT_TRUE(found->damages[0].loses_entries);
    const auto repaired = Repair(sim->SmallOptions(), kPath);
    ASSERT_OK(repaired);
    EXPECT_FALSE(repaired->losses.empty());
    EXPECT_EQ(OpenAndRead(*sim), (Shown{{"first", "is whole"}}));
  }
}

// Replaces the MANIFEST by a valid one whose sequences are older than the tables.
TEST(ForgedManifest, TablesNewerThanAllThatIsKnownAreRefused) {
  SimulatedEnv sim;
  {
    auto db = sim.Open();
    ASSERT_OK(db);
    ASSERT_OK((*db)->Put({}, "first", "1"));
    ASSERT_OK((*db)->Put({}, "second", "2"));
    ASSERT_OK((*db)->Flush());
    ASSERT_OK((*db)->Close());
  }
  { ASSERT_OK(sim.Open()); }  // the WAL begins anew
  const auto loaded = manifest::Load(sim.files.get(), kPath, kv::Order(BytewiseComparator()));
  ASSERT_OK(loaded.status());
  format::VersionEdit edit = version::VersionEditFromEmpty(*loaded->version);
  edit.database_id = loaded->database_id;
  edit.comparator = std::string(BytewiseComparator()->Name());
  edit.next_file = loaded->next_file;
  edit.next_position = loaded->next_position;
  edit.wal_start = format::VersionEdit::WalStart{.epoch = loaded->wal_start.epoch + 7,
                                                 .salt = 5,
                                                 .position = 0,
                                                 .chain = wal::FirstMark(5, 1).chain,
                                                 .sequence = 1};
  edit.last_sequence = 1;
  const std::string path = format::ManifestPath(kPath, loaded->manifest);
  ASSERT_OK(sim.files->Remove(path));
  ASSERT_OK(manifest::MirrorWriter::WriteWhole(sim.files.get(), path,
                                               {.database_id = loaded->database_id, .number = loaded->manifest},
                                               format::EncodeVersionEdit(edit)));
  ASSERT_OK(sim.files->WriteWhole(kPath + "/CURRENT", manifest::EncodeCurrent({loaded->manifest})));
  EXPECT_THAT(sim.Open(),
              StatusIs(Code::kCorruption, HasSubstr("has sequence 2, but the last sequence of MANIFEST and WAL is 1")));
}

// Blob indexes without a value, in a table with valid checksums.
TEST(ForgedBlobIndexes, AreValuesThatAreLost) {
  SimulatedEnv sim;
  FaultFileSystem& files = *sim.files;
  ASSERT_OK(files.CreateDirectory(kPath));
  const kv::Order order(BytewiseComparator());
  format::BlobIndex whole;
  {
    ASSERT_OK_AND_ASSIGN(auto values, blob::Writer::Create(&files, format::BlobFilePath(kPath, kv::FileNumber{5}),
                                                           kv::FileNumber{5}, 55, {}));
    ASSERT_OK(values->Add("whole", std::string(100, 'v'), &whole));
    ASSERT_OK(values->Finish().status());
  }
  whole.file = kv::FileNumber{5};
  const auto encode = [](const format::BlobIndex& reference) {
    char bytes[format::kBlobIndexBytesMax];
    return std::string(bytes, format::EncodeBlobIndex(bytes, reference));
  };
  const std::map<std::string, std::string> rows = {
      {"beyond", encode({.file = whole.file, .offset = 1 << 20, .bytes = 50})},
      {"none", "\xff"},
      {"nowhere", encode({.file = kv::FileNumber{9}, .offset = 0, .bytes = 50})},
      {"whole", encode(whole)}};
  {
    ASSERT_OK_AND_ASSIGN(auto table, table::Writer::Create(&files, format::TablePath(kPath, kv::FileNumber{7}),
                                                           kv::FileNumber{7}, 77, order, {}));
    kv::Sequence sequence = 10;
    for (const auto& [key, value] : rows) {
      ASSERT_OK(table->Add({.prefix = order.Prefix(key),
                            .key = key,
                            .tag = kv::MakeTag(sequence++, kv::Kind::kPutBlobIndex),
                            .value = value}));
    }
    ASSERT_OK(table->Finish().status());
  }
  const auto found = Verify(sim.SmallOptions(), kPath);
  ASSERT_OK(found);
  for (const auto& [key, value] : rows) {
    const bool is_told =
        std::any_of(found->damages.begin(), found->damages.end(), [&, &wanted = key](const Damage& damage) {
          return damage.loses_entries && damage.smallest_key && *damage.smallest_key <= wanted &&
                 wanted <= *damage.largest_key;
        });
    EXPECT_EQ(is_told, key != "whole") << key;
  }
  ASSERT_OK(Repair(sim.SmallOptions(), kPath).status());
  EXPECT_EQ(OpenAndRead(sim), (Shown{{"whole", std::string(100, 'v')}}));
}

}  // namespace
}  // namespace mergedb::testing
