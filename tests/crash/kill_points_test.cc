// kill -9 at every kind of call that the database makes of the file system: before it, after it, and in the
// middle of a write. Method: a child process uses real files through a watched file system that kills it at
// the n-th call of a named point ("sync MANIFEST", "rename CURRENT.tmp"). Its batches are numbered; the child
// records begun and returned batches on a page shared with the parent. Another process opens the remaining
// files: every returned batch is there, and the begun one is there completely or not at all. A life without a
// kill finds the points, in an empty directory and in one that a kill has left. Three geometries: the
// smallest buffers with and without a mapped WAL buffer, and one that the seed draws.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/geometry.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/time_limit.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kBatches = 150;
constexpr uint64_t kKeys = 40;

struct Report {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> returned{0};
};

enum class Moment : uint8_t { kBefore, kHalf, kAfter };
constexpr const char* kMomentNames[] = {"before", "half", "after"};

struct KillPoint {
  std::string point;  // empty: live to the end
  uint64_t nth = 0;
  Moment moment = Moment::kBefore;
};

std::string KeyOf(uint64_t n) { return "key" + std::to_string(n % kKeys); }
std::string ValueOf(uint64_t n) { return std::to_string(n) + ":" + std::string(n * 7919 % 3000, 'v'); }

Geometry LeastGeometry(bool use_mapping) {
  return {.use_mapping = use_mapping, .memory_bytes = 512 << 10, .blob_value_bytes_min = 768, .open_tables_max = 1000};
}

Options OptionsOf(const Geometry& geometry) {
  Options options;
  Choose(geometry, &options);
  return options;
}

[[noreturn]] void FailChild(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::fflush(stderr);
  _exit(1);
}

[[noreturn]] void Die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// Counts the calls of each point, and kills the process at one of them.
class Killer {
 public:
  explicit Killer(const KillPoint& at) : at_(at) {}

  Watch watch() {
    return {.before = [this](const FileCall& call, size_t* keep_bytes) -> Status {
              if (!IsTheOne(call) || at_.moment == Moment::kAfter) return {};
              if (at_.moment == Moment::kBefore) Die();
              *keep_bytes =
                  // half of it, at the alignment of direct writes
                  call.bytes.size() / 2 / kDirectIoAlign * kDirectIoAlign;
              return Status::IOError("dies after half of it");
            },
            .after =
                [this](const FileCall& call, const Status&) {
                  if (at_.moment != Moment::kBefore && is_here_ && PointName(call) == at_.point) Die();
                }};
  }
  std::map<std::string, uint64_t> counts() const { return counts_; }

 private:
  bool IsTheOne(const FileCall& call) {
    const std::string point = PointName(call);
    const std::lock_guard lock(mutex_);
    const bool is_the_one = ++counts_[point] == at_.nth && point == at_.point;
    if (is_the_one) is_here_ = true;
    return is_the_one;
  }

  const KillPoint at_;
  std::mutex mutex_;
  std::map<std::string, uint64_t> counts_;
  std::atomic<bool> is_here_{false};
};

void WriteSome(DB& db, uint64_t first, Report* report) {
  for (uint64_t n = first; n < first + kBatches; ++n) {
    WriteBatch batch;
    batch.Put(KeyOf(n), ValueOf(n));
    batch.Put("count", std::to_string(n));
    report->begun = n;
    const auto durability = n % 10 == 0 ? Durability::kSynced : Durability::kProcessCrash;
    if (Status status = db.Write({.durability = durability}, batch); !status.ok())
      FailChild("write", status.ToString());
    report->returned = n;
  }
}

[[noreturn]] void RunChild(const std::string& path, const Geometry& geometry, const KillPoint& at,
                           const std::string& counts_path, Report* report) {
  Killer killer(at);
  WatchedFileSystem files(DefaultEnv().file_system, killer.watch());
  Options options = OptionsOf(geometry);
  options.env = DefaultEnv();
  options.env.file_system = &files;
  const uint64_t first = report->returned + 1;
  {
    auto db = DB::Open(options, path);
    if (!db) FailChild("open", db.error().ToString());
    WriteSome(**db, first, report);
    if (Status status = (*db)->CompactRange(nullptr, nullptr); !status.ok()) FailChild("compact", status.ToString());
    WriteSome(**db, first + kBatches, report);
    if (Status status = (*db)->SyncWal(); !status.ok()) FailChild("sync", status.ToString());
    if (Status status = (*db)->Close(); !status.ok()) FailChild("close", status.ToString());
  }
  std::ofstream out(counts_path);
  for (const auto& [point, count] : killer.counts()) out << count << " " << point << "\n";
  out.close();
  _exit(0);
}

// Checks the database and writes the number of its batches to `report`.
[[noreturn]] void RunChecker(const std::string& path, const Geometry& geometry, Report* report) {
  auto db = DB::Open(OptionsOf(geometry), path);
  if (!db) FailChild("reopen", db.error().ToString());
  std::string text = "0";
  if (Status status = (*db)->Get({}, "count", &text); !status.ok() && !status.IsNotFound())
    FailChild("count", status.ToString());
  const uint64_t count = std::stoull(text);
  if (count < report->returned || count > report->begun) FailChild("lost or made up", text);
  for (uint64_t n = count; n > 0 && n + kKeys > count; --n) {
    if (Status status = (*db)->Get({}, KeyOf(n), &text); !status.ok() || text != ValueOf(n))
      FailChild(KeyOf(n).c_str(), status.ToString());
  }
  if (Status status = (*db)->CheckIntegrity(); !status.ok()) FailChild("check", status.ToString());
  report->returned = report->begun = count;
  _exit(0);  // without a close: the next life starts from the files that two kills left
}

template <typename Run>
int OutcomeOf(Run&& run) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    LimitTime(60);
    run();
  }
  int outcome = -1;
  waitpid(child, &outcome, 0);
  return outcome;
}

class KillPoints : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/mergedb_points_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    report_ = new (mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Report;
  }
  void TearDown() override {
    std::filesystem::remove_all(root_);
    munmap(report_, sizeof(Report));
  }

  std::string path() const { return root_ + "/db"; }
  void StartAfresh() {
    std::filesystem::remove_all(path());
    report_->begun = report_->returned = 0;
  }
  // One life. Returns true if it was killed at the point, false if it did not reach it.
  bool Live(const KillPoint& at) {
    const int outcome = OutcomeOf([&] { RunChild(path(), geometry_, at, root_ + "/counts", report_); });
    const bool is_killed = WIFSIGNALED(outcome) && WTERMSIG(outcome) == SIGKILL;
    EXPECT_TRUE(outcome == 0 || is_killed) << "exit " << WEXITSTATUS(outcome) << " signal " << WTERMSIG(outcome);
    return is_killed;
  }
  void Check() {
    EXPECT_EQ(OutcomeOf([&] { RunChecker(path(), geometry_, report_); }), 0)
        << "returned " << report_->returned << ", begun " << report_->begun;
  }
  std::map<std::string, uint64_t> CountPoints() {
    EXPECT_FALSE(Live({}));
    std::map<std::string, uint64_t> counts;
    std::ifstream in(root_ + "/counts");
    uint64_t count = 0;
    std::string point;
    while (in >> count && std::getline(in >> std::ws, point)) counts[point] = count;
    return counts;
  }
  // Leaves a directory whose last process was killed with much data in its WAL.
  void LeaveAKilledOne() {
    StartAfresh();
    EXPECT_TRUE(Live({.point = "sync MANIFEST", .nth = 4, .moment = Moment::kBefore}));
    Check();
  }

  void KillAtEveryPoint(const Geometry& geometry, uint64_t seed);

  std::string root_;
  Geometry geometry_;
  Report* report_ = nullptr;
};

void KillPoints::KillAtEveryPoint(const Geometry& geometry, uint64_t seed) {
  geometry_ = geometry;
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " " + ReplayOf(geometry));
  base::Random random(seed);
  const uint64_t hits_wanted = IsFullSize() ? 40 : 1;
  uint64_t kills = 0;
  std::set<std::string> points_hit;
  for (const bool is_fresh : {true, false}) {
    is_fresh ? StartAfresh() : LeaveAKilledOne();
    const auto counts = CountPoints();
    ASSERT_GT(counts.size(), 15u);
    for (const auto& [point, count] : counts) {
      const bool is_write = point.starts_with("write");
      for (const Moment moment : {Moment::kBefore, Moment::kHalf, Moment::kAfter}) {
        if (moment == Moment::kHalf && !is_write) continue;
        for (uint64_t hit = 0; hit < hits_wanted; ++hit) {
          const KillPoint at{point, hit == 0 ? 1 : 1 + random.Uniform(count), moment};
          SCOPED_TRACE(std::string(is_fresh ? "empty directory, " : "after a kill, ") +
                       kMomentNames[static_cast<int>(moment)] + " " + point + " number " + std::to_string(at.nth) +
                       " of " + std::to_string(count));
          is_fresh ? StartAfresh() : LeaveAKilledOne();
          if (Live(at)) {
            ++kills;
            points_hit.insert(std::string(kMomentNames[static_cast<int>(moment)]) + " " + point);
          }
          Check();
          if (HasFailure()) return;
        }
      }
    }
  }
  std::printf("%llu kills at %zu named points\n", static_cast<unsigned long long>(kills), points_hit.size());
  EXPECT_GE(points_hit.size(), 40u);
}

constexpr uint64_t kSeed = 5;

TEST_F(KillPoints, LoseNothingThatReturnedMapped) { KillAtEveryPoint(LeastGeometry(true), SeedOr(kSeed)); }
TEST_F(KillPoints, LoseNothingThatReturnedWritten) { KillAtEveryPoint(LeastGeometry(false), SeedOr(kSeed)); }

// A larger buffer holds all writes of a life.
TEST_F(KillPoints, LoseNothingThatReturnedWithADrawnGeometry) {
  const uint64_t seed = SeedOr(kSeed);
  KillAtEveryPoint(GeometryFor(seed, {.write_buffer_bytes_max = 64 << 10}), seed);
}

}  // namespace
}  // namespace mergedb::testing
