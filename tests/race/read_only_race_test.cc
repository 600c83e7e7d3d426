// A read-only open beside a process that writes: it shows every write that was acknowledged before the open
// began, in order and without a gap, and reports no damage; or it fails with a message that says why.
// Method: a child process writes numbers to keys in rotation and counts the returned writes on a shared page.
// The parent opens the directory and scans it, again and again, until the child ends. With small buffers the
// writer reuses its WAL buffer and its WAL segments every few milliseconds.
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
#include "testing/seed.h"
#include "testing/status_matchers.h"

namespace mergedb {
namespace {

using testing::Sized;

constexpr uint64_t kKeys = 50;

struct Geometry {
  const char* name;
  size_t write_buffer_bytes;
  bool is_mapped;
  Style style;
  uint64_t synced_every;  // 0: never
  uint64_t opens;
};
constexpr Geometry kGeometries[] = {
    {"SmallMapped", size_t{64} << 10, true, Style::kLazy, 0, 60},
    {"SmallWritten", size_t{64} << 10, false, Style::kCascade, 0, 60},
    {"SmallSynced", size_t{256} << 10, true, Style::kLazy, 3, 60},
    {"DefaultMapped", 0, true, Style::kLazy, 0, 8},
};

Options OptionsOf(const Geometry& geometry) {
  Options options;
  if (geometry.write_buffer_bytes != 0) {
    options.write_buffer_bytes = geometry.write_buffer_bytes;
    options.memory_bytes = size_t{8} << 20;
  }
  options.use_mapped_wal_buffer = geometry.is_mapped;
  options.style = geometry.style;
  return options;
}

std::string KeyOf(uint64_t number) {
  char key[16];
  std::snprintf(key, sizeof key, "key%05llu", static_cast<unsigned long long>(number % kKeys));
  return key;
}
std::string ValueOf(uint64_t number) { return std::to_string(number) + std::string(100 + number % 300, ' '); }

[[noreturn]] void Write(const Geometry& geometry, const std::string& path, std::atomic<uint64_t>* returned) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto db = DB::Open(OptionsOf(geometry), path);
  if (!db) std::fprintf(stderr, "%s\n", db.error().ToString().c_str()), _exit(1);
  for (uint64_t i = 1;; ++i) {
    const bool is_synced = geometry.synced_every != 0 && i % geometry.synced_every == 0;
    const WriteOptions options{.durability = is_synced ? Durability::kSynced : Durability::kProcessCrash};
    if (Status status = (*db)->Put(options, KeyOf(i), ValueOf(i)); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      _exit(1);
    }
    returned->store(i);
  }
}

class ReadOnlyRace : public ::testing::TestWithParam<Geometry> {
 protected:
  ReadOnlyRace() : path_(::testing::TempDir() + "read_only_race_" + GetParam().name + std::to_string(getpid())) {
    std::filesystem::remove_all(path_);
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    returned_ = new (page) std::atomic<uint64_t>(0);
    child_ = fork();
    if (child_ == 0) Write(GetParam(), path_, returned_);
  }
  ~ReadOnlyRace() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    std::filesystem::remove_all(path_);
    munmap(returned_, 4096);
  }

  // The newest number that the database shows, or an error of a file that the writer removed.
  Result<uint64_t> Newest(DB& db) {
    std::vector<uint64_t> numbers(kKeys, 0);
    auto it = db.NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const uint64_t number = std::strtoull(std::string(it->value()).c_str(), nullptr, 10);
      EXPECT_EQ(it->key(), KeyOf(number));
      EXPECT_EQ(it->value(), ValueOf(number));
      numbers[number % kKeys] = number;
    }
    RETURN_IF_ERROR(it->status());
    const uint64_t newest = *std::max_element(numbers.begin(), numbers.end());
    for (uint64_t number = newest; number > 0 && newest - number < kKeys; --number) {
      EXPECT_EQ(numbers[number % kKeys], number) << "a hole below " << newest;
    }
    return newest;
  }

  const std::string path_;
  std::atomic<uint64_t>* returned_;
  pid_t child_;
};
INSTANTIATE_TEST_SUITE_P(, ReadOnlyRace, ::testing::ValuesIn(kGeometries),
                         [](const auto& test) { return test.param.name; });

TEST_P(ReadOnlyRace, ShowsAllThatWasAcknowledgedBefore) {
  while (returned_->load() < 1000) ASSERT_EQ(waitpid(child_, nullptr, WNOHANG), 0) << "the writer ended";
  Options options = OptionsOf(GetParam());
  options.mode = OpenMode::kReadOnly;
  const uint64_t opens = Sized(GetParam().opens, 40 * GetParam().opens, 5);
  int shown = 0;
  for (uint64_t i = 0; i < opens; ++i) {
    const uint64_t before = returned_->load();
    auto db = DB::Open(options, path_);
    if (!db) {  // outrun by the writer: allowed, if the message says so
      EXPECT_THAT(db.error().ToString(), ::testing::HasSubstr("another process writes faster")) << i;
      continue;
    }
    std::string report;
    ASSERT_TRUE((*db)->GetProperty("mergedb.recovery", &report));
    EXPECT_EQ(report, "") << "nothing is wrong";
    const auto newest = Newest(**db);
    if (!newest) continue;  // the writer removed a table: docs/PROMISES.md, "Read-only opens"
    ++shown;
    ASSERT_GE(*newest, before) << "of open " << i;
  }
  ASSERT_EQ(waitpid(child_, nullptr, WNOHANG), 0) << "the writer ended";
  EXPECT_GT(shown, 0);
  RecordProperty("shown", shown);
}

}  // namespace
}  // namespace mergedb
