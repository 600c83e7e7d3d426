// The names that --benchmarks takes: each one exists, once, and has a sentence of help. Then benchmarks on a real
// database: the keys that they write, and the figures of the results.
#include "bench/workloads.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "bench/json.h"
#include "bench/runner.h"

namespace mergedb::bench {
namespace {

TEST(Workloads, TheListHasEachNameOnceWithASentence) {
  std::istringstream lines(WorkloadsHelp());
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, help;
    words >> name;
    std::getline(words >> std::ws, help);
    EXPECT_TRUE(names.insert(name).second) << line;
    EXPECT_GT(help.size(), 10U) << line;
    EXPECT_NE(FindWorkload(name, Flags{}).has_value(), IsProperty(name)) << line;
  }
  EXPECT_GT(names.size(), 30U);
}

TEST(Workloads, TheDefaultsAreInTheList) {
  std::istringstream names(Flags().benchmarks);
  for (std::string name; std::getline(names, name, ',');) EXPECT_TRUE(FindWorkload(name, Flags{})) << name;
}

class CursorAtAValue final : public Cursor {
 public:
  explicit CursorAtAValue(std::string_view value) : value_(value) {}
  bool Valid() const override { return true; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  void Next() override {}
  void Prev() override {}
  std::string_view key() const override { return "key"; }
  std::string_view value() const override { return value_; }

 private:
  const std::string_view value_;
};

TEST(Workloads, AScanReadsTheBytesOfValuesOnlyIfAsked) {
  constexpr size_t kBytes = 8192;
  void* const memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const CursorAtAValue cursor({static_cast<const char*>(memory), kBytes - 3});
  Flags flags;
  EXPECT_EQ(EntryBytes(cursor, flags), 3 + 8189);
  flags.touch_values = true;
  EXPECT_DEATH(EntryBytes(cursor, flags), "");
  ASSERT_EQ(mprotect(memory, kBytes / 2, PROT_READ), 0);
  EXPECT_DEATH(EntryBytes(cursor, flags), "") << "the second half";
  ASSERT_EQ(mprotect(memory, kBytes, PROT_READ), 0);
  EXPECT_EQ(EntryBytes(cursor, flags), 3 + 8189);
  munmap(memory, kBytes);
}

TEST(Workloads, OnlyABenchmarkWithAValueSizeOfItsOwnHasFixedSizesIfTheFlagsAskForRandomOnes) {
  Flags flags;
  flags.value_size_distribution = "uniform";
  flags.value_size_min = 1;
  flags.value_size_max = 1000;
  for (const char* name : {"fillrandom", "overwrite", "fill100K"}) {
    const Workload workload = *FindWorkload(name, flags);
    Engine* engine = nullptr;
    const std::function<void()> reopen;
    const std::atomic<int> others_left{0};
    const Task task{.flags = flags,
                    .workload = workload,
                    .engine = engine,
                    .index = 0,
                    .seed = 1001,
                    .value_bytes = {},
                    .reopen = reopen,
                    .others_left = others_left};
    ValueSizes sizes = SizesOf(task);
    std::set<size_t> met;
    for (int i = 0; i < 100; ++i) met.insert(sizes.Next());
    if (workload.name == "fill100K") {
      EXPECT_EQ(met, std::set<size_t>{100'000});
    } else {
      EXPECT_GT(met.size(), 50U) << name;
    }
  }
}

// The results of db_bench, as in its JSON file, on a database in `path`.
nlohmann::json ResultsOf(const std::string& path, const std::string& benchmarks, Flags flags) {
  flags.db = path;
  flags.benchmarks = benchmarks;
  testing::internal::CaptureStdout();
  Runner runner(flags);
  EXPECT_TRUE(runner.RunAll());
  testing::internal::GetCapturedStdout();
  return nlohmann::json::parse(ToJson(flags, {}, runner));
}

class Benchmarks : public testing::TestWithParam<std::string> {
 protected:
  Benchmarks() : path_((std::filesystem::temp_directory_path() / "mergedb-workloads-XXXXXX").string()) {
    EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_;
    flags_.engine = GetParam();
    flags_.num = 5000;
  }
  ~Benchmarks() override { std::filesystem::remove_all(path_); }
  std::string database() const { return path_ + "/db"; }

  std::string path_;
  Flags flags_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Benchmarks, testing::ValuesIn(LinkedEngines()),
                         [](const auto& engine) { return engine.param; });

TEST_P(Benchmarks, FillUniqueRandomWritesEachKeyOnce) {
  for (const int threads : {1, 3}) {
    flags_.threads = threads;
    const auto json = ResultsOf(database(), "filluniquerandom,readseq", flags_);
    EXPECT_EQ(json["benchmarks"][0]["ops"], flags_.num);
    EXPECT_EQ(json["benchmarks"][0]["user_bytes"], flags_.num * 116);
    EXPECT_EQ(json["benchmarks"][1]["ops"], flags_.num * threads);  // each thread reads all
    flags_.reads = 1000;
    flags_.use_existing_db = true;
    EXPECT_EQ(ResultsOf(database(), "readrandom", flags_)["benchmarks"][0]["found"], 1000 * threads);
    flags_.reads = -1;
    flags_.use_existing_db = false;
  }
}

TEST_P(Benchmarks, OverwriteMakesAsManyWritesAsTheFlagSays) {
  for (const auto& [writes, expected] : {std::pair<int64_t, int64_t>{-1, 5000}, {0, 0}, {700, 700}, {6000, 6000}}) {
    flags_.writes = writes;
    const auto json = ResultsOf(database(), "overwrite", flags_);
    EXPECT_EQ(json["benchmarks"][0]["ops"], expected);
    EXPECT_EQ(json["benchmarks"][0]["user_bytes"], expected * 116);
  }
}

TEST_P(Benchmarks, TheResultsHaveTheTimeOfTheOpenAndSamples) {
  const auto json = ResultsOf(database(), "filluniquerandom,waitforcompaction", flags_);
  EXPECT_GT(json["context"]["open_seconds"].get<double>(), 0);
  const auto& samples = json["benchmarks"][0]["samples"];
  const std::vector<std::string> columns = samples["columns"];
  const auto column = [&](const char* name) {
    return static_cast<size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  };
  ASSERT_FALSE(samples["rows"].empty());
  for (const auto& row : samples["rows"]) {
    ASSERT_EQ(row.size(), columns.size());
    EXPECT_GT(row[column("rss_bytes")].get<int64_t>(), 1 << 20);
    EXPECT_EQ(row[column("pending_compaction_bytes")].get<int64_t>() >= 0, GetParam() == "mergedb");
  }
}

}  // namespace
}  // namespace mergedb::bench
