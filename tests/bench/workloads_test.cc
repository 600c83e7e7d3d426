// The names that --benchmarks takes: each one exists, once, and has a sentence of help.
#include "bench/workloads.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

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

}  // namespace
}  // namespace mergedb::bench
