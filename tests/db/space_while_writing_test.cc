// Goal: the bytes on disk stay within the bound of docs/PROMISES.md while threads write as fast as they can and the
// disk syncs, renames and removes slowly: files that no version shows stay until a commit of the MANIFEST and then
// until they are recycled or removed, beside outputs of compactions and recycled files. Method: real threads on a file
// system in memory whose syncs, renames and removals take long; before each of its operations the test compares the
// bytes of all files with the bound. With a mapped WAL buffer, which the file system in memory does not allow beside
// threads: real files, and their allocated blocks before each sync, which alone takes long.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

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
    // WHY: the simulated file system reads a mapping at each call, beside the stores of other threads.
    options.use_mapped_wal_buffer = false;
    Open(options, SimulatedEnv::kPath);
  }
  void Open(Options options, const std::string& path) {
    options.memory_bytes = 4 * kMiB;
    options.write_buffer_bytes = kFlushBytes;
    options.style = GetParam().style;
    options.blob_value_bytes_min = GetParam().separates ? 64 : 0;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, path));
  }
  // Writes each key once. Then the database is at rest.
  void Fill() {
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(kValueBytes, 'v')));
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    ASSERT_OK(db_->WaitForCompaction());
  }
  // docs/PROMISES.md. A file of a flush ends in a page that is not full. REQUIRES: the database is at rest.
  uint64_t Bound() {
    const uint64_t live = Counter(*db_, "table_bytes_on_disk") + Counter(*db_, "blob_bytes_on_disk");
    const bool is_lazy = GetParam().style == Style::kLazy;
    const uint64_t flushed = (is_lazy ? 2 * 64 : 24) * kFlushBytes, partitions = 2 * 8 * kMiB,
                   release = 8 * kFlushBytes;
    const uint64_t segments = (16 + 2) * kMiB;
    const uint64_t files = live * (is_lazy ? 4 : 3) / 2 + flushed + partitions + release;
    return files + files / kFlushBytes * 4096 + segments;
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

// Of an operation of a slow disk. The purge of released files, by renames and removals, is the slowest part.
uint64_t MillisOf(std::string_view operation) {
  if (operation == OpName(FileOp::kSync)) return 1;
  return operation == OpName(FileOp::kRename) || operation == OpName(FileOp::kRemove) ? 3 : 0;
}

TEST_P(SpaceWhileWriting, StaysWithinTheBoundIfTheDiskIsSlow) {
  const uint64_t seed = SeedOr(31);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  Open();
  Fill();
  const uint64_t bound = Bound();
  std::atomic<uint64_t> most{0};
  sim_.files->SetOpHook([&](uint64_t, std::string_view what, const std::string&) {
    const uint64_t bytes = sim_.files->bytes_used();
    uint64_t before = most.load();
    while (bytes > before && !most.compare_exchange_weak(before, bytes)) continue;
    if (const uint64_t millis = MillisOf(what); millis > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(millis));
  });
  for (uint64_t round = 0; round < (IsFullSize() ? 20u : 2u); ++round) Overwrite(seed + 100 * round);
  sim_.files->SetOpHook(nullptr);
  EXPECT_LE(most.load(), bound) << Property(*db_, "stats") << Property(*db_, "counters");
  RecordProperty("most_percent_of_bound", static_cast<int>(most.load() * 100 / bound));
  db_ = nullptr;
}

uint64_t AllocatedBytes(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code error;  // files come and go
  for (std::filesystem::directory_iterator file(directory, error), end; !error && file != end; file.increment(error)) {
    struct stat status {};
    if (::stat(file->path().c_str(), &status) == 0) bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

class SpaceWhileWritingMapped : public SpaceWhileWriting {};

TEST_P(SpaceWhileWritingMapped, StaysWithinTheBoundIfTheDiskIsSlow) {
  const uint64_t seed = SeedOr(32);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  const TempDirectory directory;
  const std::string path = directory.path() + "/db";
  std::atomic<uint64_t> most{0};
  std::atomic<bool> is_slow{false};
  WatchedFileSystem files(DefaultEnv().file_system, {.before = [&](const FileCall& call, size_t*) -> Status {
                            if (call.op != FileOp::kSync || !is_slow) return {};
                            const uint64_t bytes = AllocatedBytes(path);
                            uint64_t before = most.load();
                            while (bytes > before && !most.compare_exchange_weak(before, bytes)) continue;
                            std::this_thread::sleep_for(std::chrono::milliseconds(3));
                            return {};
                          }});
  Options options;
  options.env.file_system = &files;
  Open(options, path);
  if (Counter(*db_, "wal_buffer_is_mapped") == 0) GTEST_SKIP() << "this file system has no mapped WAL buffer";
  Fill();
  const uint64_t bound = Bound();
  is_slow = true;
  for (uint64_t round = 0; round < (IsFullSize() ? 20u : 1u); ++round) Overwrite(seed + 100 * round);
  is_slow = false;
  EXPECT_LE(most.load(), bound) << Property(*db_, "stats") << Property(*db_, "counters");
  EXPECT_GT(most.load(), bound / 4);
  RecordProperty("most_percent_of_bound", static_cast<int>(most.load() * 100 / bound));
  db_ = nullptr;
}

INSTANTIATE_TEST_SUITE_P(Styles, SpaceWhileWriting,
                         ::testing::Values(Case{Style::kLazy, false, 1}, Case{Style::kLazy, true, 1},
                                           Case{Style::kLazy, true, 4}, Case{Style::kCascade, false, 1},
                                           Case{Style::kCascade, true, 1}));

// Fewer, since these write to the disk.
INSTANTIATE_TEST_SUITE_P(Styles, SpaceWhileWritingMapped,
                         ::testing::Values(Case{Style::kLazy, true, 4}, Case{Style::kCascade, false, 1}));

}  // namespace
}  // namespace mergedb::testing
