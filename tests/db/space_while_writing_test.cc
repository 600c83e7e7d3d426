// Goal: the bytes on disk stay within the bound of docs/PROMISES.md while threads write as fast as they can and the disk
// syncs slowly: files that no version shows stay until a commit of the MANIFEST, beside outputs of compactions and
// recycled files. Method: real threads on a file system in memory whose syncs take long; before each of its operations
// the test compares the bytes of all files with the bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kKeys = 40'000;
constexpr size_t kValueBytes = 1'000;
constexpr uint64_t kFlushBytes = 256 << 10;

struct Case {
  Style style;
  bool separates;  // values are in blob files
  int threads;
};

std::string Key(uint64_t i) { return "key" + std::to_string(1'000'000'000 + i); }

class SpaceWhileWriting : public ::testing::TestWithParam<Case> {
 protected:
  void Open() {
    Options options = sim_.SmallOptions();
    options.env.executor = nullptr;
    options.env.clock = nullptr;
    options.env.entropy = nullptr;
    options.memory_bytes = 4 * kMiB;
    options.write_buffer_bytes = kFlushBytes;
    options.style = GetParam().style;
    options.blob_value_bytes_min = GetParam().separates ? 64 : 0;
    // WHY: the simulated file system reads a mapping at each call, beside the stores of other threads.
    options.use_mapped_wal_buffer = false;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  }
  // Each key in a random order, from all threads.
  void Overwrite(uint64_t seed) {
    std::vector<std::thread> threads;
    const uint64_t count = static_cast<uint64_t>(GetParam().threads);
    for (uint64_t thread = 0; thread < count; ++thread) {
      threads.emplace_back([&, thread] {
        base::Random random(seed + thread);
        for (uint64_t n = 0; n < kKeys / count; ++n) {
          std::string value(kValueBytes, static_cast<char>('a' + random.Uniform(26)));
          ASSERT_OK(db_->Put({}, Key(random.Uniform(kKeys)), value));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
};

TEST_P(SpaceWhileWriting, StaysWithinTheBoundIfSyncsTakeLong) {
  const uint64_t seed = SeedOr(31);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  Open();
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(kValueBytes, 'v')));
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->WaitForCompaction());
  const uint64_t live = Counter(*db_, "table_bytes_on_disk") + Counter(*db_, "blob_bytes_on_disk");

  // docs/PROMISES.md. A file of a flush ends in a page that is not full.
  const bool is_lazy = GetParam().style == Style::kLazy;
  const uint64_t flushed = (is_lazy ? 2 * 64 : 24) * kFlushBytes, partitions = 2 * 8 * kMiB, release = 8 * kFlushBytes;
  const uint64_t segments = (16 + 2) * kMiB;
  const uint64_t files = live * (is_lazy ? 4 : 3) / 2 + flushed + partitions + release;
  const uint64_t bound = files + files / kFlushBytes * 4096 + segments;
  std::atomic<uint64_t> most{0};
  sim_.files->SetOpHook([&](uint64_t, std::string_view what, const std::string&) {
    const uint64_t bytes = sim_.files->bytes_used();
    uint64_t before = most.load();
    while (bytes > before && !most.compare_exchange_weak(before, bytes)) continue;
    if (what == OpName(Op::kSync)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  for (uint64_t round = 0; round < (IsFullSize() ? 20u : 2u); ++round) Overwrite(seed + 100 * round);
  sim_.files->SetOpHook(nullptr);
  EXPECT_LE(most.load(), bound) << Property(*db_, "stats") << Property(*db_, "counters");
  RecordProperty("most_percent_of_bound", static_cast<int>(most.load() * 100 / bound));
  db_ = nullptr;
}

INSTANTIATE_TEST_SUITE_P(Styles, SpaceWhileWriting,
                         ::testing::Values(Case{Style::kLazy, false, 1}, Case{Style::kLazy, true, 1},
                                           Case{Style::kLazy, true, 4}, Case{Style::kCascade, false, 1},
                                           Case{Style::kCascade, true, 1}));

}  // namespace
}  // namespace mergedb::testing
