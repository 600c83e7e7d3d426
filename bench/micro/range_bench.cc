// The cost of range deletes for reads: scans and gets with 10,000 range tombstones over half of the keys. The
// states are: tombstones in the memtable, in a table, half of the key space compacted, all of it compacted
// (only the remaining keys are left). CPU of the whole process. Background work runs only when a step requests
// it, so that each state stays. Prints one line for each figure.
//
//     range_bench [keys = 2000000] [range deletes = 10000] [spread | adjacent] [directory]
//
// spread: deleted and remaining ranges alternate, so that nearly all blocks hold remaining keys. adjacent: the
// ranges follow each other in the lower half of the keys.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>

#include "base/random.h"
#include "base/sync.h"
#include "mergedb/db.h"

namespace {

using mergedb::Status;

double CpuNanos() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto nanos = [](const timeval& time) {
    return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec);
  };
  return nanos(usage.ru_utime) + nanos(usage.ru_stime);
}

void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Runs work on the thread that waits for it. Delayed work never runs.
class StillExecutor final : public mergedb::Executor {
 public:
  void Schedule(std::function<void()> work) override {
    mergedb::base::Lock lock(mutex_);
    queue_.push_back(std::move(work));
  }
  void ScheduleAfter(uint64_t, std::function<void()>) override {}
  int Parallelism() const override { return 1; }
  bool RunOne() override {
    std::function<void()> work;
    {
      mergedb::base::Lock lock(mutex_);
      if (queue_.empty()) return false;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
    return true;
  }

 private:
  mergedb::base::Mutex mutex_;
  std::deque<std::function<void()>> queue_;
};

// The time advances only 10 ns a call, so the database is never idle for its clock.
class StillClock final : public mergedb::Clock {
 public:
  uint64_t NowNanos() override { return now_ += 10; }
  void SleepNanos(uint64_t) override {}

 private:
  std::atomic<uint64_t> now_{1'000'000'000'000};
};

std::string Key(uint64_t number) {
  char key[24];
  std::snprintf(key, sizeof key, "%016llu", static_cast<unsigned long long>(number));
  return key;
}

class Bench {
 public:
  Bench(uint64_t keys, uint64_t deletes, bool is_adjacent, const std::string& path)
      : keys_(keys), stride_(keys / deletes), is_adjacent_(is_adjacent), path_(path) {
    options_.memory_bytes = size_t{1} << 30;  // all data fits into the block cache
    options_.write_buffer_bytes = size_t{32} << 20;
    options_.compression = {mergedb::Compression::kNone, mergedb::Compression::kNone};
    options_.env.executor = &executor_;
    options_.env.clock = &clock_;
    (void)mergedb::DB::Destroy(options_, path_);
    auto db = mergedb::DB::Open(options_, path_);
    Check(db.status());
    db_ = std::move(*db);
  }
  ~Bench() {
    Check(db_->Close());
    db_ = nullptr;
    Check(mergedb::DB::Destroy(options_, path_));
  }

  void Run() {
    const std::string value(100, 'v');
    for (uint64_t i = 0; i < keys_; ++i) Check(db_->Put({}, Key(i), value));
    Check(db_->CompactRange(nullptr, nullptr));
    Read("no range deletes");
    const double start = CpuNanos();
    for (uint64_t i = 0; i < keys_; i += stride_) {
      const uint64_t first = is_adjacent_ ? i / 2 : i;
      Check(db_->DeleteRange({}, Key(first), Key(first + stride_ / 2)));
    }
    std::printf("range delete %.0f ns\n", (CpuNanos() - start) / static_cast<double>(keys_ / stride_));
    Read("in the memtable");
    Check(db_->Flush());
    Read("in a table");
    const std::string middle = Key(is_adjacent_ ? keys_ / 4 : keys_ / 2);
    const std::string_view lower = middle;
    Check(db_->CompactRange(&lower, nullptr));
    Read("half compacted");
    Check(db_->CompactRange(nullptr, nullptr));
    Read("all compacted: only live keys");
  }

 private:
  void Read(const char* state) {
    double best[3] = {1e18, 1e18, 1e18};
    uint64_t shown = 0;
    for (int round = 0; round < 4; ++round) {  // the first round fills the cache
      const double start = CpuNanos();
      const auto it = db_->NewIterator();
      shown = 0;
      for (it->SeekToFirst(); it->Valid(); it->Next()) ++shown;
      Check(it->status());
      const double forward = CpuNanos();
      for (it->SeekToLast(); it->Valid(); it->Prev()) --shown;
      Check(it->status());
      const double backward = CpuNanos();
      if (shown != 0) std::exit(3);
      for (it->SeekToFirst(); it->Valid(); it->Next()) ++shown;
      const double gets = CpuNanos();
      mergedb::base::Random random(7);
      std::string found;
      for (int i = 0; i < 100'000; ++i) (void)db_->Get({}, Key(random.Uniform(keys_)), &found);
      best[0] = std::min(best[0], forward - start);
      best[1] = std::min(best[1], backward - forward);
      best[2] = std::min(best[2], CpuNanos() - gets);
    }
    std::printf("%-32s %8llu keys: scan %6.1f ns a key, %6.1f ms; back %6.1f ns; get %6.0f ns\n", state,
                static_cast<unsigned long long>(shown), best[0] / static_cast<double>(shown), best[0] / 1e6,
                best[1] / static_cast<double>(shown), best[2] / 1e5);
  }

  const uint64_t keys_;
  const uint64_t stride_;
  const bool is_adjacent_;
  const std::string path_;
  StillExecutor executor_;
  StillClock clock_;
  mergedb::Options options_;
  std::unique_ptr<mergedb::DB> db_;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000;
  const uint64_t deletes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000;
  const bool is_adjacent = argc > 3 && std::string(argv[3]) == "adjacent";
  Bench(keys, deletes, is_adjacent, argc > 4 ? argv[4] : "/tmp/mergedb-range-bench").Run();
}
