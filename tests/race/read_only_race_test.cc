// A read-only open beside a process that writes: it shows every write that was acknowledged before the open
// began, in order and without a gap, and reports no damage, also long after the writer has replaced all of its files.
// Method: a child process writes numbers to keys in rotation and counts the returned writes on a shared page.
// The parent opens the directory and scans it, again and again, until the child ends. With small buffers the
// writer reuses its WAL buffer and its WAL segments every few milliseconds, and replaces its files all the time.
// MERGEDB_FULL=1: many more opens.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/metrics.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"

namespace mergedb {
namespace {

using testing::Sized;

struct Geometry {
  const char* name;
  size_t write_buffer_bytes;
  bool is_mapped;
  Style style;
  uint64_t synced_every;  // 0: never
  uint64_t opens;
  uint64_t keys = 50;
  Compression compression = Compression::kLz4;  // most bytes of a value are spaces
};
constexpr Geometry kGeometries[] = {
    {"SmallMapped", size_t{64} << 10, true, Style::kLazy, 0, 60},
    {"SmallWritten", size_t{64} << 10, false, Style::kCascade, 0, 60},
    {"SmallSynced", size_t{256} << 10, true, Style::kLazy, 3, 60},
    {"DefaultMapped", 0, true, Style::kLazy, 0, 8},
};
// Several tables and blob files. LargeTables has tables of more than 256 KiB, which checks read in another way.
constexpr Geometry kLargeGeometries[] = {
    {"LargeMapped", size_t{64} << 10, true, Style::kLazy, 0, 6, 2'000},
    {"LargeWritten", size_t{64} << 10, false, Style::kCascade, 0, 6, 2'000},
    {"LargeSynced", size_t{256} << 10, true, Style::kLazy, 200, 4, 2'000},
    {"LargeDefault", 0, true, Style::kLazy, 0, 2, 2'000},
    {"LargeTables", size_t{256} << 10, true, Style::kLazy, 0, 3, 12'000, Compression::kNone},
};

Options OptionsOf(const Geometry& geometry) {
  Options options;
  if (geometry.write_buffer_bytes != 0) {
    options.write_buffer_bytes = geometry.write_buffer_bytes;
    options.memory_bytes = size_t{8} << 20;
    options.blob_value_bytes_min = 300;
  }
  options.use_mapped_wal_buffer = geometry.is_mapped;
  options.style = geometry.style;
  options.compression = {geometry.compression, geometry.compression};
  return options;
}

std::string KeyOf(const Geometry& geometry, uint64_t number) {
  char key[24];
  std::snprintf(key, sizeof key, "key%05llu", static_cast<unsigned long long>(number % geometry.keys));
  return key;
}
std::string ValueOf(uint64_t number) { return std::to_string(number) + std::string(100 + number % 300, ' '); }

// On a page that both processes see.
struct Shared {
  std::atomic<uint64_t> returned{0};  // writes
  std::atomic<uint64_t> recycled{0};  // files that the writer has overwritten
};

uint64_t RecycledFiles(DB& db) {
  const auto metrics = db.Metrics();
  if (!metrics) return 0;
  for (const Metric& metric : *metrics) {
    if (metric.name == "files_recycled") return metric.value;
  }
  return 0;
}

[[noreturn]] void Write(const Geometry& geometry, const std::string& path, Shared* shared) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto db = DB::Open(OptionsOf(geometry), path);
  if (!db) std::fprintf(stderr, "%s\n", db.error().ToString().c_str()), _exit(1);
  for (uint64_t i = 1;; ++i) {
    const bool is_synced = geometry.synced_every != 0 && i % geometry.synced_every == 0;
    const WriteOptions options{.durability = is_synced ? Durability::kSynced : Durability::kProcessCrash};
    if (Status status = (*db)->Put(options, KeyOf(geometry, i), ValueOf(i)); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      _exit(1);
    }
    shared->returned.store(i);
    if (i % 512 == 0) shared->recycled.store(RecycledFiles(**db));
  }
}

class ReadOnlyRace : public ::testing::TestWithParam<Geometry> {
 protected:
  ReadOnlyRace() : path_(::testing::TempDir() + "read_only_race_" + GetParam().name + std::to_string(getpid())) {
    std::filesystem::remove_all(path_);
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (page) Shared;
    child_ = fork();
    if (child_ == 0) Write(GetParam(), path_, shared_);
  }
  ~ReadOnlyRace() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    std::filesystem::remove_all(path_);
    munmap(shared_, 4096);
  }

  bool WriterRuns() const { return waitpid(child_, nullptr, WNOHANG) == 0; }
  void WaitForWrites(uint64_t count) {
    while (shared_->returned < count) ASSERT_TRUE(WriterRuns()) << "the writer ended";
  }

  // The newest number that the database shows.
  Result<uint64_t> Newest(DB& db) {
    const uint64_t keys = GetParam().keys;
    std::vector<uint64_t> numbers(keys, 0);
    auto it = db.NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const uint64_t number = std::strtoull(std::string(it->value()).c_str(), nullptr, 10);
      EXPECT_EQ(it->key(), KeyOf(GetParam(), number));
      EXPECT_EQ(it->value(), ValueOf(number));
      numbers[number % keys] = number;
    }
    RETURN_IF_ERROR(it->status());
    const uint64_t newest = *std::max_element(numbers.begin(), numbers.end());
    for (uint64_t number = newest; number > 0 && newest - number < keys; --number) {
      EXPECT_EQ(numbers[number % keys], number) << "a hole below " << newest;
    }
    return newest;
  }

  const std::string path_;
  Shared* shared_;
  pid_t child_;
};
class LongReadOnlyRace : public ReadOnlyRace {};

const auto kNameOf = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(, ReadOnlyRace, ::testing::ValuesIn(kGeometries), kNameOf);
INSTANTIATE_TEST_SUITE_P(, LongReadOnlyRace, ::testing::ValuesIn(kLargeGeometries), kNameOf);

TEST_P(ReadOnlyRace, ShowsAllThatWasAcknowledgedBefore) {
  WaitForWrites(1000);
  Options options = OptionsOf(GetParam());
  options.mode = OpenMode::kReadOnly;
  const uint64_t opens = Sized(GetParam().opens, 40 * GetParam().opens, 5);
  int shown = 0;
  for (uint64_t i = 0; i < opens; ++i) {
    const uint64_t before = shared_->returned;
    auto db = DB::Open(options, path_);
    if (!db) {  // outrun by the writer: allowed, if the message says so
      EXPECT_THAT(db.error().ToString(), ::testing::HasSubstr("another process writes faster")) << i;
      continue;
    }
    std::string report;
    ASSERT_TRUE((*db)->GetProperty("mergedb.recovery", &report));
    EXPECT_EQ(report, "") << "nothing is wrong";
    const auto newest = Newest(**db);
    ASSERT_TRUE(newest) << "of open " << i << ": " << newest.error().ToString();
    ++shown;
    ASSERT_GE(*newest, before) << "of open " << i;
  }
  ASSERT_TRUE(WriterRuns()) << "the writer ended";
  EXPECT_GT(shown, 0);
  RecordProperty("shown", shown);
}

// The reader is slow: meanwhile the writer overwrites each key a few times, and so replaces all files.
TEST_P(LongReadOnlyRace, AnOpenKeepsItsStateForAsLongAsItLives) {
  const uint64_t keys = GetParam().keys;
  WaitForWrites(3 * keys);
  Options options = OptionsOf(GetParam());
  options.mode = OpenMode::kReadOnly;
  const uint64_t opens = Sized(GetParam().opens, 20 * GetParam().opens, 2);
  uint64_t shown = 0;
  for (uint64_t i = 0; i < opens; ++i) {
    const uint64_t before = shared_->returned;
    auto db = DB::Open(options, path_);
    if (!db) {
      EXPECT_THAT(db.error().ToString(), ::testing::HasSubstr("another process writes faster")) << i;
      continue;
    }
    const auto it = (*db)->NewIterator();
    it->SeekToFirst();
    uint64_t entries = 0;
    for (; it->Valid() && entries < keys / 2; it->Next()) ++entries;
    WaitForWrites(shared_->returned + 4 * keys);
    for (; it->Valid(); it->Next()) ++entries;
    ASSERT_TRUE(it->status().ok()) << "open " << i << ": " << it->status().ToString();
    EXPECT_EQ(entries, keys);
    const auto newest = Newest(**db);
    ASSERT_TRUE(newest) << "open " << i << ": " << newest.error().ToString();
    EXPECT_GE(*newest, before);
    const Status whole = (*db)->CheckIntegrity();
    ASSERT_TRUE(whole.ok()) << "open " << i << ": " << whole.ToString();
    std::string value;
    for (uint64_t key = 0; key < keys; key += 37) ASSERT_TRUE((*db)->Get({}, KeyOf(GetParam(), key), &value).ok());
    ++shown;
  }
  EXPECT_GT(shown, opens / 2);
  if (GetParam().write_buffer_bytes == 0) return;
  // Without a reader the writer overwrites its obsolete files again.
  const uint64_t recycled = shared_->recycled;
  while (shared_->recycled == recycled) ASSERT_TRUE(WriterRuns()) << "no file is recycled";
}

}  // namespace
}  // namespace mergedb
