// Goal: once writes have ended, the directory holds at most 1.25 x the live bytes and a few MiB: tables, blob files and
// recycled files together, for small and large values, after a load, after uniform and after skewed overwrites. That
// holds when WaitForCompaction returns, after a Close, and when a database is left alone. While writes come, the bound
// of docs/PROMISES.md holds at every file operation. Method: the sizes of the files in a simulated directory against
// the bytes of the keys and values that the test wrote. Nothing is compressed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLiveBytes = 24 * kMiB;
constexpr uint64_t kSlack = 3 * kMiB;
constexpr uint64_t kSmallBuffer = kMiB / 4, kLargeBuffer = 16 * kMiB;  // a large memtable holds a third of the keys

std::string Key(uint64_t i) { return "key" + std::to_string(1'000'000'000 + i * 7919 % 1'000'003); }

class SpaceAtRest : public ::testing::TestWithParam<std::tuple<Style, uint64_t, uint64_t>> {
 protected:
  void Open() {
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(SpaceOptions(), SimulatedEnv::kPath));
    sim_.files->SetOpHook([this](uint64_t, const char*, const std::string&) {
      over_most_ =
          std::max(over_most_, static_cast<int64_t>(sim_.files->bytes_used()) - static_cast<int64_t>(WritingBound()));
    });
  }
  // docs/PROMISES.md. A small database's two partitions have 8 MiB each.
  uint64_t WritingBound() const {
    const bool is_lazy = std::get<0>(GetParam()) == Style::kLazy;
    const uint64_t flush_bytes = std::max(write_buffer_bytes() / 2, value_bytes());
    const uint64_t flushed = (is_lazy ? 2 * 64 : 24) * flush_bytes;
    const uint64_t live = keys_written_ * (value_bytes() + Key(0).size());
    return (is_lazy ? live * 2 : live * 3 / 2) + flushed + std::max(16 * kMiB, 4 * write_buffer_bytes()) +
           2 * write_buffer_bytes() + 2 * 8 * kMiB + kSlack;
  }
  Options SpaceOptions() {
    Options options = sim_.SmallOptions();
    options.memory_bytes = 4 * kMiB + 2 * write_buffer_bytes();
    options.write_buffer_bytes = write_buffer_bytes();
    options.blob_value_bytes_min = 256;
    options.style = std::get<0>(GetParam());
    return options;
  }
  uint64_t value_bytes() const { return std::get<1>(GetParam()); }
  uint64_t write_buffer_bytes() const { return std::get<2>(GetParam()); }
  uint64_t keys() const { return kLiveBytes / value_bytes(); }
  void Put(uint64_t i) {
    value_.resize(value_bytes(), 'v');
    value_.replace(0, 8, std::to_string(10'000'000 + ++puts_));
    ASSERT_OK(db_->Put({}, Key(i), value_));
    if (sim_.clock.NowNanos() >= next_timer_nanos_) {  // without its timer the database assumes that the writer stopped
      sim_.executor.RunTimers();
      next_timer_nanos_ = sim_.clock.NowNanos() + 500'000'000;
    }
    steps_ += random_.Uniform(3 * (value_bytes() + 500)) / 500;
    for (; steps_ >= 3; steps_ -= 3) sim_.executor.RunOne();
  }
  void Load() {
    for (uint64_t i = 0; i < keys(); ++i) {
      Put(i);
      ++keys_written_;
    }
  }
  void OverwriteUniformly() {
    for (uint64_t n = 0; n < keys(); ++n) Put(random_.Uniform(keys()));
  }
  void OverwriteSkewed() {
    for (uint64_t n = 0; n < keys(); ++n) {
      const double u = static_cast<double>(random_.Uniform(1u << 30)) / static_cast<double>(1u << 30);
      Put(static_cast<uint64_t>(std::pow(u, 8) * static_cast<double>(keys())) * 31 % keys());
    }
  }
  uint64_t BytesInDirectory() {
    uint64_t bytes = 0;
    for (const std::string& path : sim_.files->Files()) {
      if (!path.ends_with(".tbl") && !path.ends_with(".val") && !path.ends_with(".spare")) continue;
      const auto size = sim_.files->SizeOf(path);
      EXPECT_OK(size.status());
      bytes += size ? (*size + 4095) / 4096 * 4096 : 0;
    }
    return bytes;
  }
  uint64_t live_bytes() const { return keys() * (value_bytes() + Key(0).size()); }
  void ExpectIsAtRest(const std::string& what) {
    EXPECT_LE(BytesInDirectory(), live_bytes() + live_bytes() / 4 + kSlack)
        << what << ", live " << live_bytes() << "\n"
        << (db_ ? Property(*db_, "stats") + Property(*db_, "counters") : "");
    RecordProperty("percent " + what, static_cast<int>(BytesInDirectory() * 100 / live_bytes()));
  }
  void TearDown() override {
    db_ = nullptr;
    EXPECT_LE(over_most_, 0) << "while writes came";
    RecordProperty("over_most_kib", static_cast<int>(over_most_ / 1024));
  }
  void ExpectGoesToRest(const std::string& what) {
    ASSERT_OK(db_->WaitForCompaction());
    ExpectIsAtRest(what + ", waited");
    ASSERT_OK(db_->Close());
    db_ = nullptr;
    ExpectIsAtRest(what + ", closed");
    Open();
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
  base::Random random_{5};
  std::string value_;
  uint64_t puts_ = 0;
  uint64_t keys_written_ = 0;
  int64_t over_most_ = INT64_MIN;
  uint64_t steps_ = 0;
  uint64_t next_timer_nanos_ = 0;
};

TEST_P(SpaceAtRest, IsBoundedAfterALoadAndAfterOverwrites) {
  Open();
  Load();
  ExpectGoesToRest("load");
  OverwriteUniformly();
  ExpectGoesToRest("uniform");
  OverwriteSkewed();
  ExpectGoesToRest("skewed");
  OverwriteUniformly();
  OverwriteUniformly();
  ExpectGoesToRest("uniform twice");
}

TEST_P(SpaceAtRest, IsBoundedWithoutACallThatWaits) {
  Open();
  Load();
  OverwriteUniformly();
  sim_.PassTime(3);
  ExpectIsAtRest("quiet");
  OverwriteSkewed();
  sim_.PassTime(3);
  ExpectIsAtRest("quiet after a skewed overwrite");
  sim_.PassTime(20);
  ExpectIsAtRest("idle");
}

// The database is closed at the bound of writes, and opened to be read.
TEST_P(SpaceAtRest, IsBoundedAfterAnOpenThatOnlyReads) {
  Open();
  Load();
  OverwriteUniformly();
  ASSERT_OK(db_->Close());
  Open();
  sim_.PassTime(20);
  ExpectIsAtRest("opened");
}

// With keep_space_at_rest a database at rest keeps the files that a busy one reuses, until it is opened without it.
TEST(KeepSpaceAtRest, KeepsRecycledFiles) {
  SimulatedEnv sim;
  const auto bytes_of = [&](std::string_view suffix) {
    uint64_t bytes = 0;
    for (const std::string& path : sim.files->Files()) bytes += path.ends_with(suffix) ? *sim.files->SizeOf(path) : 0;
    return bytes;
  };
  Options options = sim.SmallOptions();
  options.memory_bytes = 4 * kMiB + 2 * kSmallBuffer;
  options.write_buffer_bytes = kSmallBuffer;
  std::unique_ptr<DB> db;
  const auto write_and_rest = [&](bool keeps) {
    options.keep_space_at_rest = keeps;
    db = nullptr;
    ASSERT_OK_AND_ASSIGN(db, DB::Open(options, SimulatedEnv::kPath));
    for (uint64_t i = 0; i < 12'000; ++i) {
      ASSERT_OK(db->Put({}, Key(i % 4'000), std::string(1'000, 'v')));
      if (i % 8 == 0) sim.executor.RunOne();
    }
    ASSERT_OK(db->WaitForCompaction());
    sim.PassTime(20);
  };
  write_and_rest(true);
  EXPECT_GT(bytes_of(".spare"), kMiB / 2);
  ASSERT_OK(db->Close());
  EXPECT_GT(bytes_of(".spare"), kMiB / 2) << "closed";
  write_and_rest(true);
  EXPECT_LT(bytes_of(".spare"), 4'000 * 1'000 * 5) << "the bound of the writing database holds for what is kept";
  std::string value;
  for (uint64_t i = 0; i < 4'000; ++i) ASSERT_OK(db->Get({}, Key(i), &value));
  write_and_rest(false);
  EXPECT_LT(bytes_of(".spare"), kMiB / 2);
  ASSERT_OK(db->Close());
  EXPECT_EQ(bytes_of(".spare"), 0u);
}

uint64_t WalBufferBytesOnDisk(const std::string& directory) {
  struct stat buffer {};
  EXPECT_EQ(stat((directory + "/STAGING").c_str(), &buffer), 0);
  return static_cast<uint64_t>(buffer.st_blocks) * 512;
}

// On real files, since a simulated file system has no mapped WAL buffer, and in simulated time. A wait leaves a few
// blocks for the next writes; rest leaves none.
TEST(WalBufferAtRest, GivesItsLastBlocksBackWithoutWrites) {
  const TempDirectory directory;
  SimulatedEnv sim;
  Options options = sim.SmallOptions();
  options.env.file_system = DefaultEnv().file_system;
  options.memory_bytes = 16 * kMiB;
  options.write_buffer_bytes = 4 * kMiB;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, directory.path() + "/db"));
  if (Counter(*db, "wal_buffer_is_mapped") == 0) GTEST_SKIP() << "this file system has no mapped WAL buffer";
  for (uint64_t i = 0; i < 7'000; ++i) ASSERT_OK(db->Put({}, Key(i), std::string(1'000, 'v')));
  ASSERT_OK(db->WaitForCompaction());
  ASSERT_OK(db->Put({}, Key(0), "a record that is in no table"));
  ASSERT_OK(db->WaitForCompaction());
  EXPECT_GT(WalBufferBytesOnDisk(directory.path() + "/db"), 4 * kMiB) << "nothing to give back";
  EXPECT_LE(WalBufferBytesOnDisk(directory.path() + "/db"), 17 * kMiB);
  sim.PassTime(20);
  EXPECT_LE(WalBufferBytesOnDisk(directory.path() + "/db"), kMiB);
}

// On real files, as above. The writes use more than the 16 MiB of blocks
// that WaitForCompaction may leave for the next writes, however late the blocks ahead of them are made.
TEST(KeepSpaceAtRest, KeepsTheBlocksOfTheWalBuffer) {
  for (const bool keeps : {true, false}) {
    const TempDirectory directory;
    const Options options{.memory_bytes = 16 * kMiB, .write_buffer_bytes = 4 * kMiB, .keep_space_at_rest = keeps};
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, directory.path() + "/db"));
    for (uint64_t i = 0; i < 24'000; ++i) ASSERT_OK(db->Put({}, Key(i), std::string(1'000, 'v')));
    ASSERT_OK(db->WaitForCompaction());
    const uint64_t bytes = WalBufferBytesOnDisk(directory.path() + "/db");
    EXPECT_EQ(bytes > kMiB, keeps) << bytes;
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::tuple<Style, uint64_t, uint64_t>>& shape) {
  return std::string(std::get<0>(shape.param) == Style::kLazy ? "Lazy" : "Cascade") +
         std::to_string(std::get<1>(shape.param)) + (std::get<2>(shape.param) == kLargeBuffer ? "LargeBuffer" : "");
}

INSTANTIATE_TEST_SUITE_P(Values, SpaceAtRest,
                         ::testing::Combine(::testing::Values(Style::kLazy, Style::kCascade),
                                            ::testing::Values(100, 1'000, 4'000, 100'000),
                                            ::testing::Values(kSmallBuffer)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(LargeBuffers, SpaceAtRest,
                         ::testing::Combine(::testing::Values(Style::kLazy, Style::kCascade), ::testing::Values(4'000),
                                            ::testing::Values(kLargeBuffer)),
                         NameOf);

}  // namespace
}  // namespace mergedb::testing
