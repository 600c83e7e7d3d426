// Goal: a process without a free file descriptor can still write, as long as idle tables or blob files are
// open. Where closing those is not enough, the call returns an error, and writes work again once descriptors
// are free. Method: a child process takes all remaining descriptors (RLIMIT_NOFILE); and files in memory with
// a limit, at every number of descriptors from 0 on.
#include "env/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mergedb/checkpoint.h"
#include "testing/apart.h"
#include "testing/counters.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

using Pairs = std::map<std::string, std::string>;

std::string KeyOf(int i) { return "key" + std::to_string(100'000 + i * 7919 % 10'000); }

Status Write(DB& db, int first, int count, char filler, Durability durability = Durability::kProcessCrash) {
  for (int i = first; i < first + count; ++i) {
    RETURN_IF_ERROR(db.Put({.durability = durability}, KeyOf(i), std::string(i % 2 == 0 ? 50 : 1000, filler)));
  }
  return {};
}

// Opens as many files of the tree as fit into the caches.
Status ReadAll(DB& db, Pairs* pairs) {
  pairs->clear();
  const auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) pairs->emplace(it->key(), it->value());
  return it->status();
}

// ---- a real limit -----------------------------------------------------------------------------------------

constexpr rlim_t kDescriptors = 512;
constexpr size_t kLeft = 16;  // a compaction of all sorted runs, and the WAL, need three times as many
constexpr int kOthers = 6;

// Takes all descriptors except kLeft.
std::vector<int> TakeDescriptors() {
  std::vector<int> taken;
  for (int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0; fd = dup(fd)) taken.push_back(fd);
  for (size_t i = 0; i < kLeft && !taken.empty(); ++i) {
    close(taken.back());
    taken.pop_back();
  }
  return taken;
}

Status WriteWithoutDescriptors(DB& db, char filler) {
  const std::vector<int> taken = TakeDescriptors();
  if (taken.empty()) return Status::IOError("there was no descriptor to take");
  Status status = Write(db, 0, 10'000, filler);
  if (status.ok()) status = Write(db, 0, 10, filler, Durability::kSynced);
  if (status.ok()) status = db.Flush();
  // A compaction of many sorted runs, as a slow machine has them, may find too few descriptors nevertheless.
  Status compacted = status.ok() ? db.CompactRange(nullptr, nullptr) : Status();
  for (const int fd : taken) close(fd);
  if (compacted.IsBusy()) compacted = db.CompactRange(nullptr, nullptr);
  return status.ok() ? compacted : status.WithContext("without descriptors");
}

// Most of the idle files belong to other databases.
Status WriteBesideOthers(const std::string& home, bool is_mapped) {
  const rlimit limit{.rlim_cur = kDescriptors, .rlim_max = kDescriptors};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::IOError("setrlimit failed");
  // WHY a short delay: a compaction of more sorted runs than there are descriptors fails until the end, and at
  // the default of 10 ms the writes beside it take a minute.
  const Options options{.memory_bytes = size_t{2} << 20,
                        .write_buffer_bytes = size_t{64} << 10,
                        .write_delay_us_max = 100,
                        .use_mapped_wal_buffer = is_mapped};
  std::vector<std::unique_ptr<DB>> all;
  for (int i = 0; i <= kOthers; ++i) {
    ASSIGN_OR_RETURN(auto db, DB::Open(options, home + "/" + std::to_string(i)));
    RETURN_IF_ERROR(Write(*db, 0, 10'000, 'a'));
    RETURN_IF_ERROR(db->Flush());
    all.push_back(std::move(db));
  }
  DB& written = *all.front();
  Pairs pairs;
  for (const char filler : {'b', 'c'}) {
    for (const auto& db : all) RETURN_IF_ERROR(ReadAll(*db, &pairs).WithContext("read"));
    RETURN_IF_ERROR(WriteWithoutDescriptors(written, filler));
  }
  RETURN_IF_ERROR(ReadAll(written, &pairs));
  for (const auto& [key, value] : pairs) {
    if (value.front() != 'c') return Status::Corruption(key + ": an old value");
  }
  return pairs.size() == 10'000 ? Status() : Status::Corruption(std::to_string(pairs.size()) + " keys");
}

// WHY not in that build: the undefined-behaviour sanitizer looks at an object through a pipe, and calls the object
// invalid if no descriptor is left for the pipe.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitizerNeedsDescriptors = true;
#else
constexpr bool kSanitizerNeedsDescriptors = false;
#endif

TEST(DescriptorsOfAProcess, WritersGoOnWhereNoneIsLeft) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  for (const bool is_mapped : {true, false}) {
    const TempDirectory home;
    const Outcome outcome =
        RunApart([&] { return WriteBesideOthers(home.path(), is_mapped).ToString(); }, {.seconds = 60});
    EXPECT_EQ(outcome.trouble, "");
    EXPECT_EQ(outcome.answer, Status().ToString());
  }
}

// ---- more sorted runs than descriptors ----

constexpr rlim_t kFewDescriptors = 96;
constexpr int kDatabases = 5;  // each needs about ten descriptors that it cannot give back

// Writes to all databases in turn, with scans in between; then all of them are at rest.
Status WriteToManyWithFew(const std::string& home) {
  const rlimit limit{.rlim_cur = kFewDescriptors, .rlim_max = kFewDescriptors};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::IOError("setrlimit failed");
  const Options options{.memory_bytes = size_t{1} << 20, .write_buffer_bytes = size_t{64} << 10};
  std::vector<std::unique_ptr<DB>> all;
  for (int i = 0; i < kDatabases; ++i) {
    ASSIGN_OR_RETURN(auto db, DB::Open(options, home + "/" + std::to_string(i)));
    all.push_back(std::move(db));
  }
  Pairs pairs;
  uint64_t runs_max = 0;
  const std::string value(300, 'v');
  for (int i = 0; i < 100'000; ++i) {
    DB& db = *all[static_cast<size_t>(i % kDatabases)];
    RETURN_IF_ERROR(db.Put({}, KeyOf(i * 7 % 99'991), value).WithContext("put"));
    if (i % 10'007 != 0) continue;
    RETURN_IF_ERROR(ReadAll(db, &pairs).WithContext("scan beside writes"));
    runs_max = std::max(runs_max, Counter(db, "runs"));
  }
  for (const auto& db : all) {
    RETURN_IF_ERROR(db->WaitForCompaction().WithContext("wait"));
    RETURN_IF_ERROR(ReadAll(*db, &pairs).WithContext("scan"));
    RETURN_IF_ERROR(db->CompactRange(nullptr, nullptr).WithContext("compact"));
    if (Counter(*db, "compactions_failed") > 0) return Status::IOError("compactions failed");
  }
  return runs_max <= 160 ? Status() : Status::IOError(std::to_string(runs_max) + " runs");
}

TEST(DescriptorsOfAProcess, ManyDatabasesWithFewDescriptorsWriteAndScan) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  const TempDirectory home;
  const Outcome outcome = RunApart([&] { return WriteToManyWithFew(home.path()).ToString(); }, {.seconds = 60});
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.answer, Status().ToString());
}

// A program's own file system that refuses to open more than a few files at once: compactions have fewer sources.
TEST(DescriptorsOfAProcess, ACompactionThatFindsTooFewIsTriedWithFewerSources) {
  SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(sim.SmallOptions(), "/db"));
  for (char filler = 'a'; filler < 'a' + 26; ++filler) {
    ASSERT_OK(Write(*db, 0, 200, filler));
    ASSERT_OK(db->Flush());
  }
  env::CloseIdleFiles();
  ASSERT_GT(Counter(*db, "runs"), 20u);
  sim.files->SetDescriptorsMax(sim.files->descriptors() + 10);
  EXPECT_OK(db->CompactRange(nullptr, nullptr));
  EXPECT_GT(Counter(*db, "compactions_failed"), 0u) << "there were enough";
  EXPECT_LE(Counter(*db, "compactions_failed"), 5u);
  EXPECT_EQ(Counter(*db, "runs"), 1u);
  Pairs pairs;
  ASSERT_OK(ReadAll(*db, &pairs));
  EXPECT_EQ(pairs.size(), 200u);
}

// ---- a failure that is older than the call ----

// A flush fails that began before the second call: the call lets it run again. A sleep gives the call time to
// wait for that flush; if the sleep is too short, the test shows nothing, but does not fail.
TEST(DescriptorsOfAProcess, ACallReportsOnlyWhatFailedSinceItBegan) {
  const TempDirectory home;
  std::mutex mutex;
  std::condition_variable changed;
  enum class Stage { kPassing, kArmed, kBlocked, kReleased } stage = Stage::kPassing;
  WatchedFileSystem files(
      DefaultEnv().file_system, {.before = [&](const FileCall& call, size_t*) -> Status {
        std::unique_lock lock(mutex);
        if (stage != Stage::kArmed || call.op != FileOp::kOpen || FileKindOf(call.op, call.path) != "tbl") return {};
        stage = Stage::kBlocked;
        changed.notify_all();
        changed.wait(lock, [&] { return stage == Stage::kReleased; });
        return Status::Busy("open: Too many open files");
      }});
  Options options;
  options.env.file_system = &files;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, home.path() + "/db"));
  ASSERT_OK(db->Put({}, "key", "value"));
  const auto go_to = [&](Stage next) {
    const std::lock_guard lock(mutex);
    stage = next;
    changed.notify_all();
  };
  go_to(Stage::kArmed);
  Status first, second;
  std::thread first_call([&] { first = db->Flush(); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stage == Stage::kBlocked; });
  }
  std::thread second_call([&] { second = db->Flush(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go_to(Stage::kReleased);
  first_call.join();
  second_call.join();
  EXPECT_TRUE(first.ok() || first.IsBusy()) << first.ToString();
  EXPECT_OK(second);
  EXPECT_OK(db->Close());
}

// ---- files in memory --------------------------------------------------------------------------------------

class Descriptors : public ::testing::TestWithParam<bool> {
 protected:
  Options SmallOptions(SimulatedEnv& sim) const {
    Options options = sim.SmallOptions();
    options.use_mapped_wal_buffer = GetParam();
    return options;
  }
};

// Each operation begins with every descriptor taken, most of them by idle files.
TEST_P(Descriptors, EveryKindOfOpenMakesRoom) {
  SimulatedEnv sim;
  const Options options = SmallOptions(sim);
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, "/db"));
  ASSERT_OK(Write(*db, 0, 3000, 'a'));
  ASSERT_OK(db->Flush());
  char filler = 'b';
  Pairs pairs;
  const std::vector<std::pair<const char*, std::function<Status()>>> acts = {
      {"log segments, tables", [&] { return Write(*db, 0, 3000, filler++); }},
      {"a synced write", [&] { return Write(*db, 0, 1, filler++, Durability::kSynced); }},
      {"a flush",
       [&] {
         RETURN_IF_ERROR(Write(*db, 0, 30, filler++));
         return db->Flush();
       }},
      {"a compaction", [&] { return db->CompactRange(nullptr, nullptr); }},
      {"a keyspace", [&] { return db->CreateKeyspace("named").status(); }},
      {"a checkpoint", [&] { return Checkpoint(*db, "/linked").status(); }},
      {"a copy", [&] { return Checkpoint(*db, "/copied", {.may_link = false}).status(); }},
      {"another open",
       [&]() -> Status {
         ASSIGN_OR_RETURN(auto other, DB::Open(options, "/copied"));
         return other->Close();
       }},
      {"a close and an open",
       [&]() -> Status {
         RETURN_IF_ERROR(db->Close());
         ASSIGN_OR_RETURN(db, DB::Open(options, "/db"));
         return {};
       }},
  };
  for (const auto& [name, act] : acts) {
    SCOPED_TRACE(name);
    sim.files->SetDescriptorsMax(UINT64_MAX);
    ASSERT_OK(ReadAll(*db, &pairs));
    const uint64_t before = sim.files->descriptors();
    env::CloseIdleFiles();
    EXPECT_GE(before, sim.files->descriptors() + 4) << "hardly anything is idle";
    ASSERT_OK(ReadAll(*db, &pairs));
    sim.files->SetDescriptorsMax(sim.files->descriptors());
    ASSERT_OK(act());
    sim.executor.RunAll();
  }
  sim.files->SetDescriptorsMax(UINT64_MAX);
  const Pairs expected = [&] {
    EXPECT_OK(ReadAll(*db, &pairs));
    return pairs;
  }();
  ASSERT_OK(db->Close());
  ASSERT_OK_AND_ASSIGN(db, DB::Open(options, "/db"));
  ASSERT_OK(ReadAll(*db, &pairs));
  EXPECT_EQ(pairs, expected);
}

constexpr uint64_t kHeldWhenIdle = 12;  // LOCK, MANIFEST, the WAL

bool IsCompacting(DB& db) {
  std::string text;
  return db.GetProperty("mergedb.stats", &text) && text.find("running compactions") != std::string::npos;
}

// Writes until a compaction holds files open.
Status WriteUntilFilesAreHeld(SimulatedEnv& sim, DB& db) {
  for (int i = 0; i < 10'000; ++i) {
    RETURN_IF_ERROR(Write(db, i, 1, 'a'));
    sim.executor.RunOne();
    env::CloseIdleFiles();
    if (IsCompacting(db) && sim.files->descriptors() >= kHeldWhenIdle + 4) return {};
  }
  return Status::NotFound("a compaction that holds files");
}

// A compaction of many sorted runs holds all descriptors that idle files gave up. A flush that finds none
// waits for its end, and so does the write that needs the flush.
TEST_P(Descriptors, AWriteWaitsForTheCompactionThatHoldsThem) {
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedEnv sim({.seed = seed});
    const Options options = SmallOptions(sim);
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, "/db"));
    ASSERT_OK(WriteUntilFilesAreHeld(sim, *db));
    sim.files->SetDescriptorsMax(sim.files->descriptors());
    EXPECT_OK(Write(*db, 0, 300, 'b'));
    EXPECT_OK(db->Flush());
    EXPECT_OK(db->Close());
  }
}

// A file system without a descriptor for files of one kind while a compaction runs.
struct RefusedOpens {
  explicit RefusedOpens(SimulatedEnv& sim)
      : files(sim.files.get(), {.before = [this](const FileCall& call, size_t*) -> Status {
                if (left == 0 || call.op != FileOp::kOpen || FileKindOf(call.op, call.path) != kind ||
                    !IsCompacting(*db)) {
                  return {};
                }
                --left;
                if (before_refusal) before_refusal();
                return Status::Busy("open: Too many open files");
              }}) {}

  WatchedFileSystem files;
  std::unique_ptr<DB> db;
  std::string_view kind;
  int left = 0;
  std::function<void()> before_refusal;
};

// The flush's open fails, the compaction ends and releases its descriptors, then the flush reports its failure.
TEST_P(Descriptors, AFlushThatFailsWhileACompactionEndsIsRepeated) {
  int ended = 0;
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedEnv sim({.seed = seed});
    RefusedOpens opens(sim);
    Options options = SmallOptions(sim);
    options.env.file_system = &opens.files;
    ASSERT_OK_AND_ASSIGN(opens.db, DB::Open(options, "/db"));
    ASSERT_OK(WriteUntilFilesAreHeld(sim, *opens.db));
    opens.before_refusal = [&] {
      for (int i = 0; i < 1000 && IsCompacting(*opens.db); ++i) sim.executor.RunOne();
      ended += !IsCompacting(*opens.db);
    };
    opens.kind = "tbl";
    opens.left = 1;
    EXPECT_OK(opens.db->Flush());
    EXPECT_OK(opens.db->Close());
  }
  EXPECT_GT(ended, 0) << "no compaction ended during a flush";
}

TEST_P(Descriptors, TooFewAreAnErrorUntilThereAreMore) {
  bool is_enough = false;
  uint64_t refused = 0;
  for (uint64_t count = 0; !is_enough && !HasFailure(); ++count) {
    SCOPED_TRACE(std::to_string(count) + " descriptors");
    SimulatedEnv sim;
    const Options options = SmallOptions(sim);
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, "/db"));
    ASSERT_OK(Write(*db, 0, 1000, 'a'));
    Pairs pairs, expected;
    ASSERT_OK(ReadAll(*db, &expected));
    sim.files->SetDescriptorsMax(count);
    Status status;
    for (int i = 0; status.ok() && i < 1000; ++i) {
      const std::string value(1000, 'b');
      status = db->Put({}, KeyOf(i), value);
      if (status.ok() || status.outcome_unknown()) expected[KeyOf(i)] = value;
    }
    if (status.ok()) status = db->Flush();
    is_enough = status.ok();
    if (!is_enough) {
      EXPECT_THAT(status, StatusIs(Code::kBusy, ::testing::HasSubstr("Too many open files")));
      ++refused;
    }
    sim.files->SetDescriptorsMax(UINT64_MAX);
    sim.PassTime(60);
    ASSERT_OK(db->Put({}, "after", "works"));
    ASSERT_OK(db->Flush());
    expected["after"] = "works";
    ASSERT_OK(ReadAll(*db, &pairs));
    EXPECT_EQ(pairs, expected);
    EXPECT_LT(count, 40u) << "that is what an open database needs without its tables";
  }
  EXPECT_GT(refused, 3u);
}

INSTANTIATE_TEST_SUITE_P(Staging, Descriptors, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Mapped" : "Written"; });

}  // namespace
}  // namespace mergedb::testing
