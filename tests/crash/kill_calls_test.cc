// kill -9 at named calls of a process with many threads, at every geometry: the database opens, holds every
// acknowledged batch and only complete batches, and nothing is damaged.
// Method: a seed draws chains of short lives of one directory; each life is a process of its own (a fork of
// this one), with a geometry of its own. Its file system counts the calls of one kind ("the 3rd removal of a
// WAL segment") and kills the process at one of them: before it, after it, with half of a write done, or
// after the calling thread has stopped there while the others continued. Other calls of a drawn kind are
// slow, as on a disk. The kill stops all other threads wherever they are. Acknowledgements are counters on a
// page that outlives the process; the next life reads the whole database before it continues.
// Beside some lives another process opens the directory read-only, checkpoints it, or stops the writer to
// copy its files.
//     MERGEDB_SEED=n        other chains                       MERGEDB_GEOMETRY=...   all lives with this one
//     MERGEDB_CHAIN=n       this chain alone, repeatedly       MERGEDB_KILLS=n        kills (./dev test kill: 1,000)
//     MERGEDB_FEW_DESCRIPTORS=1   also lives with 128 or 256 file descriptors
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/random.h"
#include "mergedb/checkpoint.h"
#include "mergedb/db.h"
#include "mergedb/repair.h"
#include "testing/counted_writer.h"
#include "testing/geometry.h"
#include "testing/log_lines.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/time_limit.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

using Way = CountedWriter::Way;

constexpr size_t kWriters = 3;
constexpr uint64_t kLivesPerChain = 12;
constexpr uint64_t kLifeMillis = 60, kLongLifeMillis = 600;
// One of these for each chain. With the largest, a batch of all keys is several WAL segments long.
constexpr size_t kValueBytesMax[] = {1'500, 12'000, 100'000};
constexpr int kFailed = 3, kEndedByItself = 4;

struct NamedCall {
  FileOp op;
  std::string_view file;  // the file's kind as in FileKindOf; empty: any
  uint64_t nth_max;       // the number of such calls in a short life
  bool is_rare = false;   // only a long life that writes much makes such calls
};
// clang-format off
constexpr NamedCall kCalls[] = {
    {FileOp::kRemove, "seg", 12, true}, {FileOp::kRemove, "", 12},          {FileOp::kRemove, "tbl", 8},   {FileOp::kRemove, "MANIFEST", 2}, {FileOp::kRename, "", 4},
    {FileOp::kSync, "MANIFEST", 30}, {FileOp::kSync, "seg", 8},          {FileOp::kSync, "tbl", 8},     {FileOp::kSync, "", 40},          {FileOp::kSyncDirectory, "", 10},
    {FileOp::kCreate, "", 12},       {FileOp::kCreate, "seg", 12, true},       {FileOp::kWrite, "MANIFEST", 30}, {FileOp::kWrite, "seg", 30},  {FileOp::kWrite, "STAGING", 20},
    {FileOp::kWrite, "tbl", 60},     {FileOp::kTruncate, "", 6},         {FileOp::kClose, "", 30},      {FileOp::kMap, "", 1},            {FileOp::kOpen, "", 30}};

// The calls that are slow, as on a disk.
constexpr NamedCall kSlowCalls[] = {{FileOp::kSync, "MANIFEST", 0}, {FileOp::kSync, "MANIFEST", 0}, {FileOp::kSync, "tbl", 0}, {FileOp::kSync, "seg", 0},
                                    {FileOp::kWrite, "seg", 0},     {FileOp::kCreate, "", 0},       {FileOp::kRemove, "", 0}};

bool IsOne(const FileCall& call, const NamedCall& named) {
  return call.op == named.op && (named.file.empty() || FileKindOf(call.op, call.path) == named.file);
}

enum class Moment : uint8_t { kBefore, kHalf, kAfter };

// One life, as the seed draws it.
struct Plan {
  Geometry geometry;
  NamedCall call = kCalls[0];
  uint64_t nth = 1;
  Moment moment = Moment::kBefore;
  bool spares_open = false;          // counts calls only after the open
  uint64_t stands_still_us = 0;  // before the kill, while the other threads continue
  NamedCall slow_call = kSlowCalls[0];
  uint64_t slow_us = 0;
  uint64_t synced_one_in = 20;
  uint64_t seed = 0;
};
// clang-format on

// With MERGEDB_FEW_DESCRIPTORS=1 lives may have 128 or 256 descriptors.
// WHY not always: killed lives with the smallest buffers leave hundreds of small tables; reads of them then
// fail with Busy.
bool IsLimited() { return std::getenv("MERGEDB_FEW_DESCRIPTORS") != nullptr; }

Plan DrawPlan(uint64_t chain, uint64_t life) {
  base::Random random(chain * 1009 + life);
  Plan plan;
  plan.call = kCalls[random.Uniform(std::size(kCalls))];
  const size_t buffer_bytes_max = plan.call.is_rare ? 1 << 20 : kWriteBufferBytesDefault;
  plan.geometry =
      GeometryFor(random.Next(), {.write_buffer_bytes_max = buffer_bytes_max, .may_limit_descriptors = IsLimited()});
  plan.nth = 1 + random.Uniform(1 + random.Uniform(plan.call.nth_max));
  plan.moment = static_cast<Moment>(random.Uniform(3));
  if (plan.call.op != FileOp::kWrite && plan.moment == Moment::kHalf) plan.moment = Moment::kAfter;
  if (random.OneIn(2)) plan.stands_still_us = 1 + random.Uniform(4000);
  plan.slow_call = kSlowCalls[random.Uniform(std::size(kSlowCalls))];
  plan.slow_us = random.OneIn(2) ? 0 : 100 + random.Uniform(2000);
  if (plan.call.is_rare) {  // a commit of the MANIFEST so slow that the WAL outgrows its recycled segments
    plan.slow_call = {FileOp::kSync, "", 0};
    plan.slow_us = 200 + random.Uniform(800);
  }
  plan.synced_one_in = plan.call.is_rare || random.OneIn(2) ? 2000 : 20;
  plan.spares_open = plan.call.is_rare || !random.OneIn(3);
  plan.seed = random.Next();
  return plan;
}

uint64_t MillisOf(const Plan& plan) { return plan.call.is_rare ? kLongLifeMillis : kLifeMillis; }

std::string Print(const Plan& plan) {
  static constexpr const char* kMoments[] = {"before", "half of", "after"};
  std::string text = std::string(kMoments[static_cast<size_t>(plan.moment)]) + " " + OpName(plan.call.op) + " " +
                     std::string(plan.call.file) + " number " + std::to_string(plan.nth) +
                     (plan.spares_open ? " after the open" : "");
  if (plan.stands_still_us > 0) text += ", which stood still for " + std::to_string(plan.stands_still_us) + " us";
  if (plan.slow_us > 0)
    text += "; each " + std::string(OpName(plan.slow_call.op)) + " " + std::string(plan.slow_call.file) + " took " +
            std::to_string(plan.slow_us) + " us";
  return text + "; " + ReplayOf(plan.geometry);
}

// On a shared page, for all processes of a chain.
struct Shared {
  CountedProgress progress;
  size_t value_bytes_max = 0;
  std::atomic<bool> is_at_call{false};  // the life has reached its call
  std::atomic<uint64_t> readers_opened{0}, readers_refused{0}, reads_failed{0};
  std::atomic<bool> has_message{false};
  char message[4000] = {};
};

[[noreturn]] void Fail(Shared* shared, const std::string& what) {
  if (!shared->has_message.exchange(true)) std::snprintf(shared->message, sizeof shared->message, "%s", what.c_str());
  _exit(kFailed);
}

// The values of a chain are small or large.
CountedWriter WriterOf(size_t id, const Shared& shared, uint64_t synced_one_in = 1) {
  return CountedWriter({.id = id, .value_bytes_max = shared.value_bytes_max, .synced_one_in = synced_one_in});
}

// ---- the life that is killed ------------------------------------------------------------------------------

// Counts the calls, and kills the process at one of them.
class Killer {
 public:
  Killer(const Plan& plan, Shared* shared) : plan_(plan), shared_(shared) {}

  Watch watch() {
    return {.before = [this](const FileCall& call, size_t* keep_bytes) -> Status {
              if (plan_.slow_us > 0 && IsOne(call, plan_.slow_call)) usleep(static_cast<useconds_t>(plan_.slow_us));
              if (!IsNamed(call) || (plan_.spares_open && !is_open_) || ++calls_ != plan_.nth) return {};
              if (plan_.moment == Moment::kBefore) Die();
              is_here_ = std::this_thread::get_id();
              if (plan_.moment == Moment::kAfter) return {};
              *keep_bytes =
                  // half of it, at the alignment of direct writes
                  call.bytes.size() / 2 / kDirectIoAlign * kDirectIoAlign;
              return Status::IOError("dies after half of it");
            },
            .after =
                [this](const FileCall& call, const Status&) {
                  if (plan_.moment != Moment::kBefore && is_here_.load() == std::this_thread::get_id() && IsNamed(call))
                    Die();
                }};
  }

  void Opened() { is_open_ = true; }

 private:
  bool IsNamed(const FileCall& call) const { return IsOne(call, plan_.call); }
  [[noreturn]] void Die() {
    shared_->is_at_call = true;
    if (plan_.stands_still_us > 0) usleep(static_cast<useconds_t>(plan_.stands_still_us));
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }

  const Plan& plan_;
  Shared* const shared_;
  std::atomic<bool> is_open_{false};
  std::atomic<uint64_t> calls_{0};
  std::atomic<std::thread::id> is_here_{};
};

// The batches of all writers are there, read in a random way; a begun batch that is not there never happened.
void CheckAll(DB& db, base::Random& random, Shared* shared) {
  for (size_t id = 0; id < kWriters; ++id) {
    const auto way = static_cast<Way>(random.Uniform(CountedWriter::kWays));
    const auto seen =
        WriterOf(id, *shared).ReadBetween(db, way, shared->progress.returned[id], shared->progress.begun[id]);
    if (!seen.problem.empty()) Fail(shared, "after a kill: " + seen.problem);
    shared->progress.begun[id] = shared->progress.returned[id] = seen.count;
  }
}

void Maintain(DB& db, base::Random& random, Shared* shared) {
  const uint64_t choice = random.Uniform(8);
  const Status status = choice == 0   ? db.Flush()
                        : choice == 1 ? db.SyncWal()
                        : choice == 2 ? db.CompactRange(nullptr, nullptr)
                                      : Status();
  if (!status.ok()) Fail(shared, "maintenance: " + status.ToString());
  usleep(2000);
}

[[noreturn]] void Live(const std::string& path, const Plan& plan, Shared* shared) {
  LimitDescriptors(plan.geometry);
  Killer killer(plan, shared);
  WatchedFileSystem files(DefaultEnv().file_system, killer.watch());
  Options options;
  Choose(plan.geometry, &options);
  options.env = DefaultEnv();
  options.env.file_system = &files;
  options.log_bytes_max = kSmallLogBytes;
  base::Random random(plan.seed);
  const LogFiles log = ReadLog(*DefaultEnv().file_system, path);
  if (const std::string problem = LogProblem(log, kSmallLogBytes, TornLines::kBegun); !problem.empty())
    Fail(shared, "the killed process has left: " + problem);
  auto db = DB::Open(options, path);
  if (!db) Fail(shared, "open: " + db.error().ToString());
  killer.Opened();
  CheckAll(**db, random, shared);
  const uint64_t until = DefaultEnv().clock->NowNanos() + MillisOf(plan) * 1'000'000;
  const auto goes_on = [&] { return DefaultEnv().clock->NowNanos() < until; };
  std::vector<std::thread> threads;
  for (size_t id = 0; id < kWriters; ++id) {
    threads.emplace_back([&, id] {
      const Status status =
          WriterOf(id, *shared, plan.synced_one_in).Write(**db, &shared->progress, plan.seed, goes_on);
      if (!status.ok() && !shared->is_at_call) Fail(shared, "write: " + status.ToString());
    });
  }
  while (goes_on()) Maintain(**db, random, shared);
  for (std::thread& thread : threads) thread.join();
  if (random.OneIn(2)) {
    if (Status status = (*db)->Close(); !status.ok() && !shared->is_at_call)
      Fail(shared, "close: " + status.ToString());
  }
  _exit(kEndedByItself);
}

// ---- the process beside it --------------------------------------------------------------------------------

struct Acknowledged {
  explicit Acknowledged(const Shared& shared) {
    for (size_t id = 0; id < kWriters; ++id) returned[id] = shared.progress.returned[id];
  }
  uint64_t returned[kWriters];
};

void CheckCopy(DB& db, const Acknowledged& before, base::Random& random, const std::string& what, Shared* shared) {
  for (size_t id = 0; id < kWriters; ++id) {
    const auto way = static_cast<Way>(random.Uniform(CountedWriter::kWays));
    const auto seen = WriterOf(id, *shared).ReadBetween(db, way, before.returned[id], shared->progress.begun[id]);
    if (!seen.problem.empty()) Fail(shared, what + ": " + seen.problem);
  }
}

// Collects the lines that the database logs, for the message of a failure.
class Lines final : public Logger {
 public:
  void Log(std::string_view line) override {
    const std::scoped_lock lock(mutex_);
    lines_ += "\n  " + std::string(line);
  }
  std::string Text() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::string lines_;
};

// The open shows every batch that was acknowledged before it began, or fails with an error.
void ReadBeside(const std::string& path, const Plan& plan, base::Random& random, Shared* shared) {
  Options options;
  Choose(plan.geometry, &options);
  options.mode = OpenMode::kReadOnly;
  Lines log;  // outlives the database
  options.env = DefaultEnv();
  options.env.logger = &log;
  const Acknowledged before(*shared);
  auto db = DB::Open(options, path);
  if (!db) {
    ++shared->readers_refused;
    return;
  }
  ++shared->readers_opened;
  for (size_t id = 0; id < kWriters; ++id) {
    const auto way = static_cast<Way>(random.Uniform(CountedWriter::kWays));
    const auto seen = WriterOf(id, *shared).ReadBetween(**db, way, before.returned[id], shared->progress.begun[id]);
    if (!seen.status.ok())
      return (void)++shared->reads_failed;  // a table that the writer removes causes an error, never a wrong answer
    if (!seen.problem.empty()) Fail(shared, "read-only open beside the writer: " + seen.problem + log.Text());
  }
  if (!random.OneIn(4)) return;
  const std::string target = path + ".copy";
  std::filesystem::remove_all(target);
  std::filesystem::remove_all(target + ".partial");
  if (!Checkpoint(**db, target)) return;  // the writer removed its files
  options.mode = OpenMode::kMustExist;
  auto copy = DB::Open(options, target);
  if (!copy) Fail(shared, "open of a checkpoint: " + copy.error().ToString());
  CheckCopy(**copy, before, random, "checkpoint beside the writer", shared);
}

// A copy of the files while all threads of the writer are stopped equals the files after a kill at that
// moment.
void CopyWhileItStands(const std::string& path, const Plan& plan, base::Random& random, pid_t writer, Shared* shared) {
  const std::string target = path + ".stopped";
  std::filesystem::remove_all(target);
  if (kill(writer, SIGSTOP) != 0) return;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(writer), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 || info.si_code != CLD_STOPPED)
    return;
  const Acknowledged before(*shared);
  std::error_code error;
  if (std::filesystem::exists(path))
    std::filesystem::copy(path, target, error);  // fails if the writer stopped before it made the directory
  kill(writer, SIGCONT);
  std::fflush(nullptr);
  const pid_t checker = fork();
  if (checker == 0) {
    if (error) Fail(shared, "copy: " + error.message());
    // The first open had not created the database yet: then no batch was acknowledged.
    const bool is_made = std::filesystem::exists(target + "/CURRENT");
    for (const uint64_t returned : before.returned) {
      if (!is_made && returned > 0)
        Fail(shared, "copy of a writer that stands still: no CURRENT, and " + std::to_string(returned) + " returned");
    }
    if (!is_made) _exit(0);
    Options options;
    Choose(plan.geometry, &options);
    const auto verified = Verify(options, target);
    if (!verified) Fail(shared, "verify of a copy of a writer that stands still: " + verified.error().ToString());
    for (const Damage& damage : verified->damages)
      Fail(shared, "verify of a copy of a writer that stands still: " + ToText(damage));
    auto db = DB::Open(options, target);
    if (!db) Fail(shared, "open of a copy of a writer that stands still: " + db.error().ToString());
    CheckCopy(**db, before, random, "copy of a writer that stands still", shared);
    (void)db->release();
    _exit(0);
  }
  int outcome = 0;
  waitpid(checker, &outcome, 0);
  std::filesystem::remove_all(target);
}

[[noreturn]] void ReadBesideForEver(const std::string& path, const Plan& plan, Shared* shared) {
  base::Random random(plan.seed + 1);
  for (;;) {
    ReadBeside(path, plan, random, shared);
    usleep(static_cast<useconds_t>(random.Uniform(3000)));
  }
}

// ---- chains -----------------------------------------------------------------------------------------------

class KillCalls : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string pattern = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/mergedb_calls_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override {
    if (HasFailure()) {
      std::printf("the files are kept in %s\n", root_.c_str());
    } else {
      std::filesystem::remove_all(root_);
    }
  }

  template <typename Run>
  static pid_t Fork(Run&& run) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      LimitTime(60);
      run();
    }
    return child;
  }

  // One life, with a process that reads beside it. Records whether the life died at its call.
  void LiveOnce(const std::string& path, const Plan& plan, Shared* shared) {
    shared->is_at_call = false;
    base::Random random(plan.seed + 2);
    const uint64_t beside = random.Uniform(6);
    const pid_t child = Fork([&] { Live(path, plan, shared); });
    const pid_t reader = beside == 0 ? Fork([&] { ReadBesideForEver(path, plan, shared); }) : 0;
    if (beside == 1) {
      usleep(static_cast<useconds_t>(random.Uniform(MillisOf(plan) * 1000)));
      CopyWhileItStands(path, plan, random, child, shared);
    }
    int outcome = 0;
    waitpid(child, &outcome, 0);
    if (reader > 0) {
      kill(reader, SIGKILL);
      int ignored = 0;
      waitpid(reader, &ignored, 0);
    }
    const bool is_killed = WIFSIGNALED(outcome) && WTERMSIG(outcome) == SIGKILL;
    EXPECT_FALSE(shared->has_message) << shared->message;
    EXPECT_TRUE(is_killed || (WIFEXITED(outcome) && WEXITSTATUS(outcome) == kEndedByItself) || shared->has_message)
        << "exit " << WEXITSTATUS(outcome) << " signal " << WTERMSIG(outcome);
    if (is_killed) ++kills_[std::string(OpName(plan.call.op)) + " " + std::string(plan.call.file)];
    killed_ += is_killed;
    ++lives_;
  }

  void RunChain(uint64_t chain) {
    auto* const shared =
        new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
    shared->value_bytes_max = kValueBytesMax[chain % std::size(kValueBytesMax)];
    const std::string path = root_ + "/" + std::to_string(chain);
    std::string before = "nothing";
    for (uint64_t life = 0; life < kLivesPerChain && !HasFailure(); ++life) {
      const Plan plan = DrawPlan(chain, life);
      SCOPED_TRACE("MERGEDB_CHAIN=" + std::to_string(chain) + " life " + std::to_string(life) +
                   "\n  killed before it: " + before + "\n  this life: " + Print(plan));
      LiveOnce(path, plan, shared);
      before = Print(plan);
    }
    opened_ += shared->readers_opened;
    refused_ += shared->readers_refused;
    failed_ += shared->reads_failed;
    munmap(shared, sizeof(Shared));
    if (!HasFailure()) std::filesystem::remove_all(path);
  }

  std::string root_;
  std::map<std::string, uint64_t> kills_;  // by the call
  uint64_t killed_ = 0, lives_ = 0, opened_ = 0, refused_ = 0, failed_ = 0;
};

uint64_t FromEnvironment(const char* name, uint64_t standard) {
  const char* text = std::getenv(name);
  return text == nullptr ? standard : std::strtoull(text, nullptr, 10);
}

constexpr int kParts = 2;

TEST_P(KillCalls, LoseNoBatchThatReturned) {
  const uint64_t seed = SeedOr(11);
  const uint64_t kills_wanted = FromEnvironment("MERGEDB_KILLS", Sized(120, 10'000, 100)) / kParts;
  const uint64_t only = FromEnvironment("MERGEDB_CHAIN", 0);
  for (uint64_t round = 0; killed_ < kills_wanted && !HasFailure(); ++round) {
    RunChain(only != 0 ? only : seed * 1'000'000 + round * kParts + static_cast<uint64_t>(GetParam()));
  }
  std::printf(
      "%llu kills at %zu kinds of calls in %llu lives; beside them %llu read-only opens, of which %llu met a table "
      "that went away, and %llu refused\n",
      static_cast<unsigned long long>(killed_), kills_.size(), static_cast<unsigned long long>(lives_),
      static_cast<unsigned long long>(opened_), static_cast<unsigned long long>(failed_),
      static_cast<unsigned long long>(refused_));
  for (const auto& [call, count] : kills_)
    std::printf("  %4llu %s\n", static_cast<unsigned long long>(count), call.c_str());
}

INSTANTIATE_TEST_SUITE_P(Part, KillCalls, ::testing::Range(0, kParts));

}  // namespace
}  // namespace mergedb::testing
