// Goal: a small database takes little disk space and memory, and a large one gives the disk space of its WAL back when
// it waits for compactions and when it is closed. Databases at rest hold almost no memory, whatever they did before.
// Method: real files with the default options; st_blocks of the directory, RssAnon of the process. A rest passes in
// simulated time.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

bool HoldsData(const std::filesystem::path& path) { return path.extension() == ".tbl" || path.extension() == ".val"; }

uint64_t AllocatedBytes(const std::string& directory, bool with_data = true) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    struct stat file {};
    if (!with_data && HoldsData(entry.path())) continue;
    if (stat(entry.path().c_str(), &file) == 0) bytes += static_cast<uint64_t>(file.st_blocks) * 512;
  }
  return bytes;
}

uint64_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib << 10;
  }
  return 0;
}

TEST(SmallDatabase, TakesLittleDiskSpace) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open({}, directory.path()));
  EXPECT_LE(AllocatedBytes(directory.path()), 256u << 10) << "empty";
  ASSERT_OK(db->Put({}, "key", "value"));
  EXPECT_LE(AllocatedBytes(directory.path()), 1u << 20) << "one key";
  ASSERT_OK(db->Close());
  EXPECT_LE(AllocatedBytes(directory.path()), 512u << 10) << "one key, closed";
  ASSERT_OK_AND_ASSIGN(db, DB::Open({}, directory.path()));
  std::string value;
  EXPECT_OK(db->Get({}, "key", &value));
}

// Bytes of mapped pages of files whose path ends in `name`, which a store or a fault for a store has made dirty. The
// kernel writes them to the disk.
uint64_t DirtyBytes(const std::string& name) {
  std::ifstream mappings("/proc/self/smaps");
  uint64_t bytes = 0;
  bool is_named = false;
  for (std::string line; std::getline(mappings, line);) {
    if (line.find('-') < line.find(' ')) is_named = line.ends_with(name);
    uint64_t kib = 0;
    if (is_named && (std::sscanf(line.c_str(), "Shared_Dirty: %lu", &kib) == 1 ||
                     std::sscanf(line.c_str(), "Private_Dirty: %lu", &kib) == 1))
      bytes += kib << 10;
  }
  return bytes;
}

TEST(SmallDatabase, DirtiesOnlyThePagesOfTheWalBufferThatHoldItsRecords) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open({}, directory.path()));
  for (int i = 0; i < 20; ++i) ASSERT_OK(db->Put({}, "key" + std::to_string(i), "value"));
  const uint64_t bytes = DirtyBytes(directory / "STAGING");
  EXPECT_GE(bytes, 4096u);
  EXPECT_LE(bytes, 16u << 10) << "1.5 KB of frames, in pages of up to 16 KiB";
}

TEST(SmallDatabase, ManyOfThemTakeLittleMemory) {
  for (const bool is_mapped : {true, false}) {
    SCOPED_TRACE(is_mapped ? "mapped WAL buffer" : "WAL buffer in memory");
    const TempDirectory directory;
    std::vector<std::unique_ptr<DB>> databases;
    const uint64_t before = AnonymousBytes();
    const uint64_t count = is_mapped ? 100 : 20;
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_OK_AND_ASSIGN(auto db, DB::Open({.use_mapped_wal_buffer = is_mapped}, directory / std::to_string(i)));
      ASSERT_OK(db->Put({}, "key", "value"));
      databases.push_back(std::move(db));
    }
    const uint64_t bytes = AnonymousBytes() - before;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    EXPECT_LE(bytes, uint64_t{2} << 30) << "shadow memory included";
#else
    EXPECT_LE(bytes, count << 20);
#endif
  }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsMemory = false;  // shadow memory and freed memory count as well
#else
constexpr bool kCountsMemory = true;
#endif
constexpr uint64_t kRestingBytesMax = uint64_t{512} << 10;

// Databases with real files whose background work and time the test advances.
class RestingDatabases : public ::testing::Test {
 protected:
  static constexpr int kCount = 50;

  mergedb::Options OptionsOf() {
    mergedb::Options options;
    options.env.clock = &clock_;
    options.env.executor = &executor_;
    return options;
  }
  void OpenAll(int count = kCount) {
    before_ = AnonymousBytes();
    for (int i = 0; i < count; ++i) Open(i);
  }
  void Open(int i) {
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(OptionsOf(), directory_ / std::to_string(i)));
    databases_.push_back(std::move(db));
  }
  // Ten seconds pass. The idle flush comes after five, the end of the ticks after eight.
  void Rest() {
    for (int second = 0; second < 10; ++second) {
      clock_.SleepNanos(1'000'000'000);
      executor_.RunTimers();
      executor_.RunAll();
    }
  }
  uint64_t BytesOfOne() const {
    const uint64_t now = AnonymousBytes();
    return now <= before_ ? 0 : (now - before_) / databases_.size();
  }
  void ExpectLittleMemory(const char* when) {
    if (kCountsMemory) { EXPECT_LE(BytesOfOne(), kRestingBytesMax) << when; }
  }

  const TempDirectory directory_;
  TickingClock clock_;
  ManualExecutor executor_;
  uint64_t before_ = 0;
  std::vector<std::unique_ptr<DB>> databases_;
};

TEST_F(RestingDatabases, HoldLittleMemoryWithOneKey) {
  OpenAll();
  for (auto& db : databases_) ASSERT_OK(db->Put({}, "key", "value"));
  Rest();
  ExpectLittleMemory("after the idle flush");
  for (auto& db : databases_) ASSERT_OK(db->Put({}, "key2", "value"));
  ExpectLittleMemory("after a put that follows a rest");
  Rest();
  ExpectLittleMemory("after the second rest");
  for (auto& db : databases_) {
    ASSERT_OK(db->Put({}, "key3", "value"));
    ASSERT_OK(db->Flush());
  }
  ExpectLittleMemory("right after a flush");
  Rest();
  ExpectLittleMemory("after a flush and a rest");
  databases_.clear();
  for (int i = 0; i < kCount; ++i) Open(i);
  Rest();
  ExpectLittleMemory("opened again");
  std::string value;
  for (auto& db : databases_) {
    for (const char* key : {"key", "key2", "key3"}) EXPECT_OK(db->Get({}, key, &value));
  }
  ExpectLittleMemory("after reads");
}

// 40 MB go through several memtables, so there were standby memtables, and memories wait in the pool.
TEST_F(RestingDatabases, GiveBackWhatALoadNeeded) {
  OpenAll(1);
  const std::string value(1'000, 'v');
  for (int i = 0; i < 40'000; ++i) {
    ASSERT_OK(databases_[0]->Put({}, "key" + std::to_string(i), value));
    if (i % 100 == 0) executor_.RunAll();
  }
  std::unique_ptr<Iterator> pin = databases_[0]->NewIterator();  // its memtable comes back after the rest has begun
  Rest();
  pin = nullptr;
  Rest();
  if (kCountsMemory) { EXPECT_LE(BytesOfOne(), uint64_t{8} << 20) << "with the block cache"; }
}

// What the WAL buffer no longer needs must not be written to the disk by a sync of the file system.
TEST(SmallDatabase, AWaitForCompactionGivesTheWalBufferBack) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open({.write_buffer_bytes = size_t{32} << 20}, directory.path()));
  const std::string value(10'000, 'v');
  for (int i = 0; i < 5'000; ++i) ASSERT_OK(db->Put({}, "key" + std::to_string(i), value));
  ASSERT_OK(db->WaitForCompaction());
  EXPECT_LE(AllocatedBytes(directory.path(), false), uint64_t{2} << 20);
}

// The WAL of a load is as large as the write buffers; none of it stays after Close.
TEST(SmallDatabase, CloseLeavesTablesAndLittleElse) {
  const TempDirectory directory;
  for (const Durability durability : {Durability::kProcessCrash, Durability::kSynced}) {
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open({}, directory.path()));
    const std::string value(10'000, 'v');
    const int count = durability == Durability::kSynced ? 300 : 3'000;
    for (int i = 0; i < count; ++i) ASSERT_OK(db->Put({.durability = durability}, "key" + std::to_string(i), value));
    ASSERT_OK(db->Close());
    uint64_t others = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      if (!HoldsData(entry.path())) others += entry.file_size();
    }
    EXPECT_LE(others, 1u << 20);
    ASSERT_OK_AND_ASSIGN(db, DB::Open({}, directory.path()));
    std::string found;
    for (int i = 0; i < count; i += 100) {
      ASSERT_OK(db->Get({}, "key" + std::to_string(i), &found));
      EXPECT_EQ(found, value);
    }
  }
}

}  // namespace
}  // namespace mergedb::testing
