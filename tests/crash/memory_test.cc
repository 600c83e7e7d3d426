// Every allocation fails once (docs/decisions/0017-out-of-memory.md): a read throws std::bad_alloc and the
// next one is right; a write without memory for a new memtable returns Busy, and the next one works; any other
// failure in a write or in background work stops the process, as kill -9 would, and no acknowledged write is lost.
// Method: this program's operator new fails the n-th allocation that the database makes in a process of its
// own: open, write, read, flush, compact, close, on real files in memory. Another process opens the remaining
// files and compares. The process stops a moment after std::terminate, so that its other threads meet the state in
// which the failure left their objects.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/time_limit.h"

#if __has_include(<execinfo.h>) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <execinfo.h>
#define MERGEDB_TELLS_WHERE
#endif

namespace {

std::atomic<bool> g_is_armed{false};
std::atomic<int64_t> g_left{0};         // allocations until the one that fails
thread_local bool g_is_spared = false;  // on the test's thread while test code runs

}  // namespace

namespace mergedb::testing {

inline void BeforeAllocation() {
  if (g_is_armed.load(std::memory_order_relaxed) && !g_is_spared && g_left.fetch_sub(1) == 1) throw std::bad_alloc();
}

}  // namespace mergedb::testing

#include "testing/replaced_new.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kBatches = 120;
constexpr uint64_t kKeys = 30;

// The child's results, in memory that outlives it.
struct Report {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> returned{0};
  std::atomic<int64_t> allocations_left{0};
  std::atomic<uint64_t> reads_failed{0};
};

std::string KeyOf(uint64_t n) { return "key" + std::to_string(n % kKeys); }
std::string ValueOf(uint64_t n) { return std::to_string(n) + ":" + std::string(n * 7919 % 3000, 'v'); }
// The number of the newest write to `key` among the first `count`; 0 if there is none.
uint64_t NewestOf(uint64_t key, uint64_t count) {
  for (uint64_t n = count; n > 0; --n) {
    if (n % kKeys == key) return n;
  }
  return 0;
}

Options SmallOptions(bool use_mapping) {
  Options options;
  options.memory_bytes = 512 << 10;
  options.write_buffer_bytes = 64 << 10;
  options.use_mapped_wal_buffer = use_mapping;
  return options;
}

[[noreturn]] void FailChild(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::fflush(stderr);
  _exit(1);
}

// Allocations within its scope belong to the database and may fail; outside of it they belong to the test.
class Tried {
 public:
  Tried() { g_is_spared = false; }
  ~Tried() { g_is_spared = true; }
};

bool LacksMemtable(const Status& status) {
  return status.IsBusy() && status.message().find("no memory for a memtable") != std::string_view::npos;
}

void ReadAll(DB& db, uint64_t count, Report* report) {
  for (uint64_t key = 0; key < kKeys; ++key) {
    const uint64_t newest = NewestOf(key, count);
    const std::string name = KeyOf(key);
    std::string value;
    Status status;
    try {
      const Tried tried;
      status = db.Get({}, name, &value);
    } catch (const std::bad_alloc&) {
      ++report->reads_failed;
      status = db.Get({}, name, &value);  // memory is available again
    }
    if (newest == 0 ? !status.IsNotFound() : !status.ok() || value != ValueOf(newest)) FailChild("wrong answer", name);
  }
  std::unique_ptr<Iterator> it;
  uint64_t shown = 0;
  const auto scan = [&] {  // allocates nothing itself
    shown = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) shown += it->key() != "count" && it->value().size() > 1;
    if (!it->status().ok()) FailChild("scan", it->status().ToString());
  };
  try {
    const Tried tried;
    it = db.NewIterator();
    scan();
  } catch (const std::bad_alloc&) {
    ++report->reads_failed;
    if (it == nullptr) return;
    if (it->Valid()) FailChild("scan", "the iterator is valid after a move that threw");
    scan();  // memory is available again, and the same iterator finds all entries
  }
  if (shown != std::min(kKeys, count)) FailChild("scan", std::to_string(shown) + " keys");
}

#if defined(MERGEDB_TELLS_WHERE)
// Writes the places of the calls, for addr2line.
void TellWhere(int number) {
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  signal(number, SIG_DFL);
  raise(number);
}
#endif

void TellOfTheEnd() {
  static const std::terminate_handler standard = std::get_terminate();
  std::set_terminate([] {
    usleep(1000);
    standard();
  });
#if defined(MERGEDB_TELLS_WHERE)
  void* frame = nullptr;
  (void)backtrace(&frame, 1);  // the first call may allocate
  signal(SIGSEGV, TellWhere);
  signal(SIGBUS, TellWhere);
#endif
}

[[noreturn]] void RunChild(const std::string& path, bool use_mapping, int64_t nth, Report* report) {
  g_is_spared = true;
  (void)DefaultEnv();
  g_left = nth;
  g_is_armed = true;
  Result<std::unique_ptr<DB>> db = Status::Aborted("not opened yet");
  try {
    const Tried tried;
    db = DB::Open(SmallOptions(use_mapping), path);
  } catch (const std::bad_alloc&) { db = DB::Open(SmallOptions(use_mapping), path); }
  if (!db) FailChild("open", db.error().ToString());
  for (uint64_t n = 1; n <= kBatches; ++n) {
    WriteBatch batch;
    batch.Put(KeyOf(n), ValueOf(n));
    batch.Put("count", std::to_string(n));
    const WriteOptions options{.durability = n % 10 == 0 ? Durability::kSynced : Durability::kProcessCrash};
    report->begun = n;
    Status status;
    {
      const Tried tried;
      status = (*db)->Write(options, batch);
    }
    if (LacksMemtable(status)) status = (*db)->Write(options, batch);  // memory is available again
    if (!status.ok()) FailChild("write", status.ToString());
    report->returned = n;
    if (n % 40 == 0) ReadAll(**db, n, report);
  }
  Status status;
  {
    const Tried tried;
    status = (*db)->CompactRange(nullptr, nullptr);
    if (LacksMemtable(status)) status = (*db)->CompactRange(nullptr, nullptr);
    if (status.ok()) status = (*db)->Close();
  }
  if (!status.ok()) FailChild("close", status.ToString());
  g_is_armed = false;
  report->allocations_left = g_left.load();
  _exit(0);
}

[[noreturn]] void RunChecker(const std::string& path, bool use_mapping, const Report& report) {
  auto db = DB::Open(SmallOptions(use_mapping), path);
  if (!db) FailChild("reopen", db.error().ToString());
  std::string text = "0";
  if (Status status = (*db)->Get({}, "count", &text); !status.ok() && !status.IsNotFound())
    FailChild("count", status.ToString());
  const uint64_t count = std::stoull(text);
  if (count < report.returned || count > report.begun) FailChild("lost or made up", text);
  for (uint64_t key = 0; key < kKeys; ++key) {
    const uint64_t newest = NewestOf(key, count);
    const Status status = (*db)->Get({}, KeyOf(key), &text);
    if (newest == 0 ? !status.IsNotFound() : !status.ok() || text != ValueOf(newest))
      FailChild("wrong after reopening", KeyOf(key));
  }
  if (Status status = (*db)->CheckIntegrity(); !status.ok()) FailChild("check", status.ToString());
  _exit(0);
}

template <typename Run>
int OutcomeOf(Run&& run) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    LimitTime(20);
    try {
      run();
    } catch (...) { FailChild("an exception came out of", "a call that changes the database"); }
  }
  int outcome = -1;
  waitpid(child, &outcome, 0);
  return outcome;
}

class OutOfMemory : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string pattern = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/mergedb_memory_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    report_ = new (mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Report;
  }
  void TearDown() override {
    std::filesystem::remove_all(path_);
    munmap(report_, sizeof(Report));
  }
  std::string path_;
  Report* report_ = nullptr;
};

TEST_P(OutOfMemory, FailsAReadOrStopsTheProcessAndLosesNothing) {
  const uint64_t seed = SeedOr(20261121);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  const bool use_mapping = GetParam();
  constexpr int64_t kNever = INT64_C(1) << 40;
  const std::string path = path_ + "/db";
  ASSERT_EQ(OutcomeOf([&] { RunChild(path, use_mapping, kNever, report_); }), 0);
  const int64_t allocations = kNever - report_->allocations_left;
  ASSERT_GT(allocations, 500);

  const int64_t stride = std::max<int64_t>(1, allocations / static_cast<int64_t>(Sized(200, 100'000)));
  uint64_t deaths = 0, survivals = 0;
  for (int64_t n = 1 + static_cast<int64_t>(random.Uniform(static_cast<uint64_t>(stride))); n < allocations + stride;
       n += stride) {
    SCOPED_TRACE("allocation " + std::to_string(n) + " of about " + std::to_string(allocations));
    std::filesystem::remove_all(path);
    report_->begun = report_->returned = 0;
    const int outcome = OutcomeOf([&] {
      if (freopen((path_ + "/stderr").c_str(), "w", stderr) == nullptr) _exit(9);
      (void)setvbuf(stderr, nullptr, _IONBF, 0);
      TellOfTheEnd();
      RunChild(path, use_mapping, n, report_);
    });
    std::ostringstream told;
    told << std::ifstream(path_ + "/stderr").rdbuf();
    // WHY the text: a failed assertion and a damaged heap end with SIGABRT, too.
    const bool is_clean = outcome == 0 || (WIFSIGNALED(outcome) && WTERMSIG(outcome) == SIGABRT &&
                                           told.str().find("terminate called") != std::string::npos);
    EXPECT_TRUE(is_clean) << "exit " << WEXITSTATUS(outcome) << " signal " << WTERMSIG(outcome) << ": " << told.str();
    (outcome == 0 ? survivals : deaths)++;
    if (report_->begun > 0) {
      EXPECT_EQ(OutcomeOf([&] { RunChecker(path, use_mapping, *report_); }), 0)
          << "acknowledged: " << report_->returned;
    }
    if (HasFailure()) return;
  }
  std::printf("%lld allocations: %llu lives ended, %llu went on, %llu of them after a read that threw\n",
              static_cast<long long>(allocations), static_cast<unsigned long long>(deaths),
              static_cast<unsigned long long>(survivals),
              static_cast<unsigned long long>(report_->reads_failed.load()));
  EXPECT_GT(report_->reads_failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Staging, OutOfMemory, ::testing::Bool());

}  // namespace
}  // namespace mergedb::testing
