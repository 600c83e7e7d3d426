// Random operations for long: several threads write, read, scan, flush and compact on real files, each beside
// a model of its own keys, while calls of the file system fail at times; life after life in one directory,
// each with other options, each ended by a close or a kill -9. Acknowledged writes are there, failed ones are
// not unless they reported an unknown outcome, and neither descriptors nor memory grow.
// Method: each life is a process of its own, so that it can be killed; the models are on pages shared with
// the parent, as two numbers a key: its value, and the value that an unknown outcome may have given it.
// MERGEDB_SOAK_SECONDS sets the duration.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/geometry.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/time_limit.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kThreads = 4;
constexpr uint64_t kKeys = 400;  // of each thread
constexpr double kLifeSecondsMax = 1.5;

// One key. A number stands for a value; 0 for no value. During a write, and after one with unknown outcome,
// the next life may find either value. THREADS: only the key's own thread writes the cell.
struct Cell {
  std::atomic<uint64_t> sure{0};
  std::atomic<uint64_t> maybe{0};
  std::atomic<uint64_t> earlier{0};  // the other value that was possible when the current write began
  std::atomic<bool> is_unsure{false};
};
struct Shared {
  std::array<std::array<Cell, kKeys>, kThreads> cells;
  std::array<std::atomic<uint64_t>, kThreads> next_number;
  std::atomic<uint64_t> operations{0}, failed{0}, faults{0};
  std::atomic<uint64_t> descriptors_max{0}, resident_kib_max{0};
};

[[noreturn]] void FailLife(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::fflush(stderr);
  _exit(1);
}

std::string KeyOf(size_t thread, uint64_t key) {
  return "t" + std::to_string(thread) + "-" + std::to_string(100000 + key * 7919 % 99991);
}
std::string ValueOf(uint64_t number) {
  const uint64_t bytes = number % 50 == 0 ? 20'000 + number % 30'000 : number * 7919 % 1500;
  return std::to_string(number) + ":" + std::string(bytes, static_cast<char>('a' + number % 26));
}
uint64_t NumberIn(const std::string& value) { return std::strtoull(value.c_str(), nullptr, 10); }

Options OptionsOf(const Geometry& geometry, FileSystem* files) {
  Options options;
  Choose(geometry, &options);
  options.env = DefaultEnv();
  options.env.file_system = files;
  return options;
}

// Fails calls while it is told to.
class Weather {
 public:
  Weather(uint64_t seed, Shared* shared) : random_(seed), shared_(shared) {}
  Watch watch() {
    return {.before = [this](const FileCall& call, size_t* keep_bytes) -> Status {
      const uint64_t one_in = one_in_.load();
      if (one_in == 0 || call.op == FileOp::kLock) return {};
      const std::lock_guard lock(mutex_);
      if (!random_.OneIn(one_in)) return {};
      ++shared_->faults;
      if (random_.OneIn(2)) *keep_bytes = call.bytes.size() / 2 / kDirectIoAlign * kDirectIoAlign;
      switch (random_.Uniform(3)) {
        case 0: return Status::NoSpace("soak: ENOSPC");
        case 1: return Status::Busy("soak: EMFILE");
        default: return Status::IOError("soak: EIO");
      }
    }};
  }
  void Set(uint64_t one_in) {
    one_in_ = one_in;
    if (one_in > 0) was_bad_ = true;
  }
  bool was_bad() const { return was_bad_; }

 private:
  std::mutex mutex_;
  base::Random random_;
  Shared* const shared_;
  std::atomic<uint64_t> one_in_{0};
  std::atomic<bool> was_bad_{false};
};

class Writer {
 public:
  Writer(DB& db, size_t thread, uint64_t seed, const Weather& weather, Shared* shared)
      : db_(db), thread_(thread), random_(seed * 16 + thread), weather_(weather), shared_(shared) {}

  void Run(const std::atomic<bool>& stop) {
    while (!stop) {
      const uint64_t dice = random_.Uniform(1000);
      if (dice < 500) {
        WriteSome(1 + random_.Uniform(5));
      } else if (dice < 900) {
        ReadOne(random_.Uniform(kKeys));
      } else if (dice < 990) {
        ScanSome();
      } else {
        VerifyAndRepair(dice);
      }
      ++shared_->operations;
    }
  }

  // After an open: the value in the database becomes `sure`, if it is one of the possible values.
  void ResolveUnknown() {
    for (uint64_t key = 0; key < kKeys; ++key) {
      Cell& cell = shared_->cells[thread_][key];
      std::string value;
      const Status status = db_.Get({}, KeyOf(thread_, key), &value);
      if (!status.ok() && !status.IsNotFound()) FailLife("resolve " + KeyOf(thread_, key) + ": " + status.ToString());
      const uint64_t found = status.ok() ? NumberIn(value) : 0;
      if (found != cell.sure && !(cell.is_unsure && (found == cell.maybe || found == cell.earlier))) {
        FailLife(KeyOf(thread_, key) + " is " + std::to_string(found) + " after a restart, not " +
                 std::to_string(cell.sure));
      }
      if (status.ok() && value != ValueOf(found)) FailLife(KeyOf(thread_, key) + " has a torn value");
      cell.sure = found;
      cell.is_unsure = false;
    }
  }

 private:
  void Expect(const Status& status, const char* what) {
    if (status.ok()) return;
    ++shared_->failed;
    const bool is_fair = weather_.was_bad() && (status.IsIOError() || status.IsNoSpace() || status.IsBusy());
    if (!is_fair) FailLife(std::string(what) + ": " + status.ToString());
  }

  void WriteSome(uint64_t count) {
    WriteBatch batch;
    std::array<uint64_t, 5> keys;
    std::array<bool, 5> was_unsure;
    const uint64_t first = random_.Uniform(kKeys);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t key = keys[i] = (first + i * 37) % kKeys;
      Cell& cell = shared_->cells[thread_][key];
      was_unsure[i] = cell.is_unsure;
      cell.earlier = was_unsure[i] ? cell.maybe.load() : cell.sure.load();
      cell.maybe = random_.OneIn(6) ? 0 : ++shared_->next_number[thread_];
      cell.is_unsure = true;
      cell.maybe == 0 ? batch.Delete(KeyOf(thread_, key)) : batch.Put(KeyOf(thread_, key), ValueOf(cell.maybe));
    }
    const Status status =
        db_.Write({.durability = random_.OneIn(30) ? Durability::kSynced : Durability::kProcessCrash}, batch);
    for (uint64_t i = 0; i < count; ++i) {
      Cell& cell = shared_->cells[thread_][keys[i]];
      if (status.ok()) {
        cell.sure = cell.maybe.load();
        cell.is_unsure = false;
      } else if (!status.outcome_unknown()) {  // the write did not happen; an earlier unknown outcome stays unknown
        cell.maybe = cell.earlier.load();
        cell.is_unsure = was_unsure[i];
      }
    }
    Expect(status, "write");
    if (status.ok()) return;
    // a failed write is not visible in this life, whatever the next life finds
    for (uint64_t i = 0; i < count; ++i) ReadOne(keys[i]);
  }

  void ReadOne(uint64_t key) {
    std::string value;
    const Status status = db_.Get({}, KeyOf(thread_, key), &value);
    if (!status.ok() && !status.IsNotFound()) return Expect(status, "get");
    Compare(key, status.ok() ? value : std::string());
  }

  void Compare(uint64_t key, const std::string& value) {
    const uint64_t wanted = shared_->cells[thread_][key].sure;
    const uint64_t found = value.empty() ? 0 : NumberIn(value);
    if (found != wanted || (found != 0 && value != ValueOf(found))) {
      FailLife(KeyOf(thread_, key) + " reads " + std::to_string(found) + ", not " + std::to_string(wanted));
    }
  }

  // Reads the thread's keys in either direction, at a snapshot or not.
  void ScanSome() {
    const auto snapshot = random_.OneIn(2) ? db_.GetSnapshot() : nullptr;
    IteratorOptions options;
    options.read.snapshot = snapshot.get();
    auto it = db_.NewIterator(options);
    std::vector<std::pair<std::string, uint64_t>> wanted;
    for (uint64_t key = 0; key < kKeys; ++key)
      wanted.emplace_back(KeyOf(thread_, key), shared_->cells[thread_][key].sure);
    std::erase_if(wanted, [](const auto& pair) { return pair.second == 0; });
    std::sort(wanted.begin(), wanted.end());
    const std::string lower = "t" + std::to_string(thread_) + "-", upper = "t" + std::to_string(thread_) + ".";
    const bool is_forward = random_.OneIn(2);
    if (!is_forward) std::reverse(wanted.begin(), wanted.end());
    size_t at = 0;
    is_forward ? it->Seek(lower) : it->SeekForPrev(upper);
    while (it->Valid() && it->key() >= lower && it->key() < upper) {
      const uint64_t found = NumberIn(std::string(it->value()));
      if (at >= wanted.size() || it->key() != wanted[at].first || found != wanted[at].second) {
        FailLife("scan found " + std::string(it->key()) + "=" + std::to_string(found) + " at place " +
                 std::to_string(at));
      }
      ++at;
      is_forward ? it->Next() : it->Prev();
    }
    if (!it->status().ok()) return Expect(it->status(), "scan");
    if (at != wanted.size()) FailLife("scan found " + std::to_string(at) + " of " + std::to_string(wanted.size()));
  }

  void VerifyAndRepair(uint64_t dice) {
    const std::string lower = "t" + std::to_string(thread_) + "-";
    const std::string_view from = lower;
    switch (dice % 5) {
      case 0: return Expect(db_.Flush(), "flush");
      case 1: return Expect(db_.SyncWal(), "sync");
      case 2: return random_.OneIn(8) ? Expect(db_.CompactRange(&from, nullptr), "compact") : void();
      case 3: return random_.OneIn(8) ? Expect(db_.CheckIntegrity(), "check") : void();
      default: {
        std::string text;
        (void)db_.GetProperty("mergedb.stats", &text);
      }
    }
  }

  DB& db_;
  const size_t thread_;
  base::Random random_;
  const Weather& weather_;
  Shared* const shared_;
};

uint64_t Descriptors() {
  return static_cast<uint64_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}
uint64_t ResidentKib() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Opens several databases one after the other in one process, to detect leaks.
[[noreturn]] void Live(const std::string& path, uint64_t seed, bool is_killed, Shared* shared) {
  base::Random random(seed);
  const uint64_t descriptors_before = Descriptors();
  const int opens = is_killed ? 1 : 3;
  for (int open = 0; open < opens; ++open) {
    Weather weather(random.Next(), shared);
    WatchedFileSystem files(DefaultEnv().file_system, weather.watch());
    const Geometry geometry = GeometryFor(random.Next(), {.write_buffer_bytes_max = 4 << 20});
    const Options options = OptionsOf(geometry, &files);
    auto db = DB::Open(options, path);
    if (!db) FailLife("open: " + db.error().ToString() + "; " + ReplayOf(geometry));
    std::vector<std::unique_ptr<Writer>> writers;
    for (size_t i = 0; i < kThreads; ++i)
      writers.push_back(std::make_unique<Writer>(**db, i, random.Next(), weather, shared));
    for (const auto& writer : writers) writer->ResolveUnknown();
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (const auto& writer : writers) threads.emplace_back([&] { writer->Run(stop); });
    for (int spell = 0; spell < 3; ++spell) {
      Sleep(kLifeSecondsMax / 6 * static_cast<double>(random.Uniform(1000)) / 1000);
      weather.Set(random.OneIn(2) ? 20 + random.Uniform(2000) : 0);
      Sleep(kLifeSecondsMax / 6 * static_cast<double>(random.Uniform(1000)) / 1000);
      weather.Set(0);
    }
    shared->descriptors_max = std::max(shared->descriptors_max.load(), Descriptors());
    shared->resident_kib_max = std::max(shared->resident_kib_max.load(), ResidentKib());
    if (is_killed) {
      kill(getpid(), SIGKILL);
      for (;;) pause();
    }
    stop = true;
    for (auto& thread : threads) thread.join();
    if (random.OneIn(4)) weather.Set(3);
    (void)(*db)->Close();  // may fail with a fault; acknowledged writes are there nevertheless
    *db = nullptr;
    if (Descriptors() > descriptors_before + 4)
      FailLife(std::to_string(Descriptors()) + " descriptors after a close, " + std::to_string(descriptors_before) +
               " before");
  }
  _exit(0);
}

double SecondsToSoak() {
  const char* text = std::getenv("MERGEDB_SOAK_SECONDS");
  return text != nullptr ? std::atof(text) : 20;
}

TEST(Soak, KeepsEveryPromiseForALongTime) {
  const uint64_t seed = SeedOr(static_cast<uint64_t>(SteadyClock::now().time_since_epoch().count()));
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  std::string pattern = "/tmp/mergedb_soak_XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  auto* const shared =
      new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  const auto start = SteadyClock::now();
  const double seconds = SecondsToSoak();
  uint64_t lives = 0, kills = 0;
  while (std::chrono::duration<double>(SteadyClock::now() - start).count() < seconds && !HasFailure()) {
    const bool is_killed = random.OneIn(2);
    const uint64_t life_seed = random.Next();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      LimitTime(60);
      Live(pattern + "/db", life_seed, is_killed, shared);
    }
    int outcome = 0;
    ASSERT_EQ(waitpid(child, &outcome, 0), child);
    const bool is_right = is_killed ? WIFSIGNALED(outcome) && WTERMSIG(outcome) == SIGKILL : outcome == 0;
    EXPECT_TRUE(is_right) << "life " << lives << ": exit " << WEXITSTATUS(outcome) << " signal " << WTERMSIG(outcome)
                          << "; kept in " << pattern;
    ++lives;
    kills += is_killed;
  }
  std::printf(
      "%llu lives, %llu of them killed; %llu operations, %llu failed; %llu faults; at most %llu descriptors, %llu "
      "MiB\n",
      static_cast<unsigned long long>(lives), static_cast<unsigned long long>(kills),
      static_cast<unsigned long long>(shared->operations), static_cast<unsigned long long>(shared->failed),
      static_cast<unsigned long long>(shared->faults), static_cast<unsigned long long>(shared->descriptors_max),
      static_cast<unsigned long long>(shared->resident_kib_max / 1024));
  EXPECT_GT(shared->operations, 1000u);
  if (!HasFailure()) std::filesystem::remove_all(pattern);
  munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace mergedb::testing
