// A read-only open beside a writer in another process: it shows every write that was acknowledged before the
// open began, in order and completely, and reports no damage; or it fails and says that it was outrun.
// Method: schedules of testing/explore.h that stop the open at its file calls; meanwhile the writer
// overwrites its WAL buffer, commits, and reuses WAL segments.
#include <gtest/gtest.h>

#include "testing/explore.h"
#include "testing/scheduled_env.h"
#include "testing/seed.h"

namespace mergedb::testing::read_only_schedule_test {
namespace {

constexpr int kWrites = 200;
constexpr int kWritesBefore = 80;
constexpr int kWritesToFlush = 40;
constexpr size_t kValueBytes = 15 << 10;  // two writes fill a memtable, 68 a WAL segment

std::string KeyOf(int i) { return "k" + std::to_string(1000 + i); }

// The number of writes that `db` shows; they must be a prefix. -1 on an error.
int CountPrefix(Scheduler& scheduler, DB& db) {
  int count = 0;
  const auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++count) {
    if (it->key() != KeyOf(count)) scheduler.Fail("expected " + KeyOf(count) + ", found " + std::string(it->key()));
    if (it->value().size() != kValueBytes) scheduler.Fail(KeyOf(count) + " has another value");
  }
  // An error: the writer removed a table meanwhile: docs/PROMISES.md, "Read-only opens".
  return it->status().ok() ? count : -1;
}

struct Program {
  const char* name;
  bool is_mapped = true;
  std::string halves_writes_of = {};  // if set, the writer runs first
  std::vector<std::string> only_at = {"open", "read", "list", "size"};
};
const Program kPrograms[] = {
    {.name = "Mapped"},
    {.name = "Written", .is_mapped = false},
    {.name = "HalfManifest", .halves_writes_of = "MANIFEST", .only_at = {"half-written", "list"}},
    {.name = "HalfSegment", .halves_writes_of = ".seg", .only_at = {"half-written", "read", "list"}},
    {.name = "HalfStaging",
     .is_mapped = false,
     .halves_writes_of = "STAGING",
     .only_at = {"half-written", "read", "list"}},
};

void OpenBesideWrites(Scheduler& scheduler, const Program& program) {
  FaultFileSystem::Options file_options = ScheduledEnv::FilesOf();
  file_options.halves_writes_of = program.halves_writes_of;
  ScheduledEnv sim(scheduler, std::make_unique<FaultFileSystem>(file_options));
  Options options = sim.SmallOptions();
  options.use_mapped_wal_buffer = program.is_mapped;
  const auto db = sim.Open(options);
  if (db == nullptr) return;
  int begun = 0, acknowledged = 0;
  const auto write = [&] {
    const int i = begun++;
    sim.Expect(db->Put({}, KeyOf(i), std::string(kValueBytes, 'v')), "put");
    ++acknowledged;
    if (i % kWritesToFlush == 0) sim.Expect(db->Flush(), "flush");
  };
  while (begun < kWritesBefore) write();
  const auto open = [&] {
    options.mode = OpenMode::kReadOnly;
    const int acknowledged_before = acknowledged;
    const auto reader = DB::Open(options, ScheduledEnv::kPath);
    const int begun_after = begun;
    if (!reader) {
      const std::string message = reader.error().ToString();
      if (message.find("another process writes faster") == std::string::npos) scheduler.Fail("open: " + message);
      return;
    }
    std::string report;
    (void)(*reader)->GetProperty("mergedb.recovery", &report);
    // A record that stays half written looks the same as after a crash.
    if (!report.empty() && !sim.files->is_half_written()) scheduler.Fail("damage reported beside a writer: " + report);
    const int count = CountPrefix(scheduler, **reader);
    if (count >= 0 && (count < acknowledged_before || count > begun_after)) {
      scheduler.Fail("the open shows " + std::to_string(count) + " writes; acknowledged before it " +
                     std::to_string(acknowledged_before) + ", begun before its end " + std::to_string(begun_after));
    }
  };
  const auto write_all = [&] {
    while (begun < kWrites) write();
  };
  if (!program.halves_writes_of.empty()) scheduler.Spawn("writer", write_all);
  scheduler.Spawn("open", open);
  if (program.halves_writes_of.empty()) scheduler.Spawn("writer", write_all);
  scheduler.JoinAll();
}

class ReadOnlySchedule : public ::testing::TestWithParam<Program> {};
INSTANTIATE_TEST_SUITE_P(, ReadOnlySchedule, ::testing::ValuesIn(kPrograms),
                         [](const auto& test) { return test.param.name; });

TEST_P(ReadOnlySchedule, ShowsAllThatWasAcknowledgedBefore) {
  const Explored explored = Explore({.name = std::string("ReadOnly") + GetParam().name,
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(12, 2'000),
                                     .random_runs = Sized(24, 1'000),
                                     .only_at = GetParam().only_at,
                                     .seed = SeedOr(1)},
                                    [](Scheduler& scheduler) { OpenBesideWrites(scheduler, GetParam()); });
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

}  // namespace
}  // namespace mergedb::testing::read_only_schedule_test
