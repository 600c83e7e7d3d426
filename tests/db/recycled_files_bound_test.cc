// Goal: the number of recycled files is bounded at every moment, whatever the program does. Method: before each
// operation of the file system the test counts the `.spare` files in the directory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "format/file_name.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

// db/state/recycled_files.h keeps 64, and renames a file to a recycled file before it removes another one.
constexpr size_t kRecycledFilesMax = 66;
constexpr uint64_t kSmallBlobFilesMax = 32;  // picker/blob_picker.cc
constexpr uint64_t kMiB = uint64_t{1} << 20;

std::string Key(uint64_t i) { return "key" + std::to_string(1'000'000'000 + i); }

class RecycledFilesBound : public ::testing::Test {
 protected:
  void Open(const Options& options) {
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
    Watch();
  }
  void Watch() {
    sim_.files->SetOpHook([this](uint64_t, std::string_view what, const std::string&) {
      if (what != OpName(FileOp::kRename) && what != OpName(FileOp::kRemove)) return;  // no others change the number
      const size_t count = Count(".spare");
      size_t most = most_.load();
      while (count > most && !most_.compare_exchange_weak(most, count)) continue;
    });
  }
  size_t Count(std::string_view extension) {
    const auto names = sim_.files->List(SimulatedEnv::kPath);
    EXPECT_OK(names.status());
    return static_cast<size_t>(
        std::ranges::count_if(*names, [&](const auto& name) { return name.ends_with(extension); }));
  }
  void ExpectIsBounded() {
    most_ = std::max(most_.load(), Count(".spare"));
    EXPECT_LE(most_, kRecycledFilesMax) << Property(*db_, "counters");
    RecordProperty("recycled_files_most", static_cast<int>(most_));
  }
  // The program never rests: without its timer the database assumes that the writer has stopped.
  void Work(base::Random& random) {
    if (++steps_ % 64 == 0) sim_.executor.RunTimers();
    for (uint64_t steps = random.Uniform(4); steps > 0; --steps) sim_.executor.RunOne();
  }
  // Puts a value of up to `value_bytes` and compacts all keys, `rounds` times.
  void PutAndCompact(const Options& options, uint64_t rounds, uint64_t keys, uint64_t value_bytes) {
    Open(options);
    base::Random random(7);
    for (uint64_t n = 0; n < rounds; ++n) {
      ASSERT_OK(db_->Put({}, Key(random.Uniform(keys)), std::string(1 + random.Uniform(value_bytes), 'v')));
      ASSERT_OK(db_->CompactRange(nullptr, nullptr));
      Work(random);
    }
    ExpectIsBounded();
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
  std::atomic<size_t> most_{0};
  uint64_t steps_ = 0;
};

TEST_F(RecycledFilesBound, EachSmallPutIsCompacted) { PutAndCompact(sim_.SmallOptions(), 6'000, 1'000'000, 100); }

TEST_F(RecycledFilesBound, EachPutOfABlobIsCompacted) { PutAndCompact(sim_.SmallOptions(), 1'000, 20, 64 << 10); }

// The table grows beyond every file that it makes obsolete, so none is written again as the next one.
TEST_F(RecycledFilesBound, EachPutOfAGrowingTableIsCompacted) {
  Options options = sim_.SmallOptions();
  options.blob_value_bytes_min = 0;
  PutAndCompact(options, 1'000, 1'000'000, 4'000);
}

// Each flush of a value makes a blob file; many small ones become one.
TEST_F(RecycledFilesBound, SmallBlobFilesAreMerged) {
  Options options = sim_.SmallOptions();
  options.memory_bytes = 8 * kMiB;
  options.write_buffer_bytes = 4 * kMiB;
  PutAndCompact(options, 400, 1'000'000, 64 << 10);
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_LE(Counter(*db_, "blob_files"), kSmallBlobFilesMax + Counter(*db_, "blob_bytes_live") / kMiB);
  ASSERT_OK(db_->CheckIntegrity());
}

// Compactions of runs of 32 KiB make many small tables obsolete at once.
TEST_F(RecycledFilesBound, SmallestBuffersAreOverwritten) {
  for (const uint64_t blob_value_bytes_min : {0u, 64u}) {
    most_ = 0;
    db_ = nullptr;
    Options options = sim_.SmallOptions();
    options.blob_value_bytes_min = blob_value_bytes_min;
    Open(options);
    base::Random random(blob_value_bytes_min);
    for (uint64_t n = 0; n < 60'000; ++n) {
      ASSERT_OK(db_->Put({}, Key(random.Uniform(8'000)), std::string(500, 'v')));
      Work(random);
    }
    ExpectIsBounded();
    sim_.files->SetOpHook(nullptr);
  }
}

TEST_F(RecycledFilesBound, ManyTinyFlushes) {
  Open(sim_.SmallOptions());
  base::Random random(3);
  for (uint64_t n = 0; n < 3'000; ++n) {
    ASSERT_OK(db_->Put({}, Key(random.Uniform(1'000)), "value"));
    ASSERT_OK(db_->Flush());
    Work(random);
  }
  ExpectIsBounded();
}

// An iterator holds many tables, and releases them at once.
TEST_F(RecycledFilesBound, AnIteratorReleasesManyFiles) {
  Open(sim_.SmallOptions());
  base::Random random(3);
  std::vector<std::unique_ptr<Iterator>> iterators;
  for (uint64_t n = 0; n < 300; ++n) {
    ASSERT_OK(db_->Put({}, Key(n % 10), std::string(n, 'v')));
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    iterators.push_back(db_->NewIterator());
    Work(random);
  }
  iterators.clear();
  for (uint64_t n = 0; n < 100; ++n) {
    ASSERT_OK(db_->Put({}, Key(n % 10), "value"));
    sim_.executor.RunTimers();
    for (int i = 0; i < 10; ++i) sim_.executor.RunOne();
  }
  ExpectIsBounded();
}

// A process that ended left more recycled files than the database keeps.
TEST_F(RecycledFilesBound, AnOpenAdoptsManyFiles) {
  Open(sim_.SmallOptions());
  db_ = nullptr;
  sim_.files->SetOpHook(nullptr);
  for (uint64_t n = 0; n < 2'000; ++n)
    ASSERT_OK(sim_.files->WriteWhole(format::RecycledPath(SimulatedEnv::kPath, kv::FileNumber{100'000 + n}), "stale"));
  ASSERT_OK_AND_ASSIGN(db_, DB::Open(sim_.SmallOptions(), SimulatedEnv::kPath));
  ASSERT_OK(db_->Put({}, "key", "value"));
  ASSERT_OK(db_->Flush());
  sim_.executor.RunTimers();
  for (int i = 0; i < 100; ++i) sim_.executor.RunOne();
  EXPECT_LE(Count(".spare"), kRecycledFilesMax);
}

TEST_F(RecycledFilesBound, ManyThreads) {
  Options options = sim_.SmallOptions();
  options.env.executor = nullptr;
  options.env.clock = nullptr;
  options.env.entropy = nullptr;
  // WHY: the simulated file system reads a mapping at each call, beside the stores of other threads.
  options.use_mapped_wal_buffer = false;
  Open(options);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      base::Random random(thread);
      for (uint64_t n = 0; n < 300; ++n) {
        ASSERT_OK(db_->Put({}, Key(random.Uniform(1'000'000)), std::string(random.Uniform(8'000), 'v')));
        ASSERT_OK(db_->CompactRange(nullptr, nullptr));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectIsBounded();
  db_ = nullptr;
}

}  // namespace
}  // namespace mergedb::testing
