// Goal: when writes stop, files are read into the page cache: all up to 4 times memory_bytes, those that were written
// since the open also into half of the free memory, older ones only if they all fit there, and each once. Blob files
// are written there if they fit. Method: files in memory with a given free memory, background work run by the test; the
// counter of the bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/simulated_db.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

using ::testing::MatchesRegex;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

class WarmingTest : public SimulatedDb, public ::testing::WithParamInterface<size_t> {
 protected:
  void SetUp() override {
    options_.memory_bytes = kMebibyte;
    options_.blob_value_bytes_min = GetParam();
    Reopen();
  }
  // More than 4 MiB and one step.
  void Fill(uint64_t mebibytes) {
    for (uint64_t i = 0; i < mebibytes << 9; ++i) {
      ASSERT_OK(db_->Put({}, "key" + std::to_string(next_++), std::string(2'000, 'v')));
    }
    ASSERT_OK(db_->WaitForCompaction());
    sim_.PassTime(10);
  }
  uint64_t Warmed() { return Counter(*db_, "warmed_bytes"); }

  uint64_t next_ = 1'000'000;
};

INSTANTIATE_TEST_SUITE_P(TablesAndBlobFiles, WarmingTest, ::testing::Values(0, 64));

TEST_P(WarmingTest, WithoutFreeMemoryTheLimitIsFourTimesMemoryBytes) {
  Fill(16);
  EXPECT_GT(Warmed(), 0u);
  EXPECT_LE(Warmed(), 8 * kMebibyte) << "with files that compactions have replaced since";
}

TEST_P(WarmingTest, NewFilesTakeHalfOfTheFreeMemory) {
  sim_.files->SetFreeMemory(24 * kMebibyte);
  Fill(16);
  EXPECT_GT(Warmed(), 9 * kMebibyte);
  EXPECT_LE(Warmed(), 14 * kMebibyte) << "with files that compactions have replaced since";
}

TEST_P(WarmingTest, WhatWasReadIsNoReasonToReadMore) {
  static constexpr uint64_t kFree = 80 * kMebibyte;
  const auto set_free = [this] { sim_.files->SetFreeMemory(kFree - std::min<uint64_t>(kFree, Warmed())); };
  set_free();
  sim_.files->SetOpHook([&](uint64_t, const char*, const std::string&) { set_free(); });
  for (uint64_t i = 0; i < 88 << 9; ++i)
    ASSERT_OK(db_->Put({}, "key" + std::to_string(next_++), std::string(2'000, 'v')));
  ASSERT_OK(db_->WaitForCompaction());
  while (sim_.executor.RunOne()) set_free();
  sim_.files->SetOpHook({});
  EXPECT_GT(Warmed(), 32 * kMebibyte) << "more than one step";
  EXPECT_LE(Warmed(), 50 * kMebibyte) << "with files that compactions have replaced since";
}

TEST_P(WarmingTest, AllNewFilesAreReadStepByStepIfTheyFit) {
  sim_.files->SetFreeMemory(1'000 * kMebibyte);
  Fill(48);
  EXPECT_GE(Warmed(), 47 * kMebibyte);
  const uint64_t before = Warmed();
  sim_.PassTime(10);
  EXPECT_EQ(Warmed(), before) << "each file once";
}

TEST_P(WarmingTest, BeginsAtTheEndOfAWaitAndNotWithinIt) {
  sim_.files->SetFreeMemory(1'000 * kMebibyte);
  uint64_t within = 0;
  for (uint64_t i = 0; i < 8 << 9; ++i)
    ASSERT_OK(db_->Put({}, "key" + std::to_string(next_++), std::string(2'000, 'v')));
  sim_.files->SetOpHook([&](uint64_t, const char*, const std::string&) { within = std::max(within, Warmed()); });
  ASSERT_OK(db_->WaitForCompaction());
  sim_.files->SetOpHook({});
  EXPECT_EQ(within, 0u);
  while (sim_.executor.RunOne()) {}
  EXPECT_GE(Warmed(), 7 * kMebibyte) << "no time has passed";
}

TEST_P(WarmingTest, OldFilesTakeNoFreeMemory) {
  Fill(16);
  sim_.files->SetFreeMemory(1'000 * kMebibyte);
  Reopen();
  sim_.PassTime(10);
  EXPECT_GT(Warmed(), 0u);
  EXPECT_LE(Warmed(), 8 * kMebibyte);
}

TEST_P(WarmingTest, OldFilesThatDoNotAllFitIntoHalfOfTheFreeMemoryAreNotRead) {
  Fill(16);
  sim_.files->SetFreeMemory(28 * kMebibyte);
  Reopen();
  sim_.PassTime(10);
  EXPECT_EQ(Warmed(), 0u);
  sim_.files->SetFreeMemory(1'000 * kMebibyte);
  sim_.PassTime(10);
  EXPECT_EQ(Warmed(), 0u) << "the open has decided";
  Fill(1);
  EXPECT_GT(Warmed(), 0u) << "files that were written since the open";
}

// How a load of 8 MiB writes its blob files, in their order: 'c', through the page cache, or 'd', past it. The last
// one, which is small, is 'c' in any case.
std::string WaysOfBlobFiles(uint64_t free_bytes) {
  SimulatedEnv sim;
  sim.files->SetFreeMemory(free_bytes);
  std::string ways;
  WatchedFileSystem files(sim.files.get(), {.before = [&](const FileCall& call, size_t*) -> Status {
                            if (call.op == FileOp::kCreate && call.path.ends_with(".val"))
                              ways += call.is_direct ? 'd' : 'c';
                            return {};
                          }});
  Options options = sim.SmallOptions();
  options.env.file_system = &files;
  options.memory_bytes = 8 << 20;
  options.write_buffer_bytes = 2 << 20;  // large enough blob files for direct writes
  auto db = DB::Open(options, SimulatedEnv::kPath);
  EXPECT_OK(db.status());
  for (int i = 0; i < 4'000; ++i) EXPECT_OK((*db)->Put({}, "key" + std::to_string(i), std::string(2'000, 'v')));
  EXPECT_OK((*db)->Flush());
  return ways;
}

TEST(BlobFilesInPageCache, IfAllFilesFitIntoHalfOfTheFreeMemory) {
  EXPECT_THAT(WaysOfBlobFiles(1'000 * kMebibyte), MatchesRegex("c+"));
  EXPECT_THAT(WaysOfBlobFiles(127 * kMebibyte), MatchesRegex("d+c?"));
  EXPECT_THAT(WaysOfBlobFiles(0), MatchesRegex("d+c?")) << "the free memory is not known";
}

}  // namespace
}  // namespace mergedb::testing
