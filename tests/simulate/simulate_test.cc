// Goal: whatever happens to a database, no answer is wrong, no promised commit is missing, and when all faults have
// ended, it works again and comes to rest. Method: world.h, one number after the other, for as long as it is told. A
// failure is shrunk, and prints one line that replays it.
//
//     MERGEDB_WORLD='7 commit:1,2,3 cut:5 heal:0'   one list of operations, under this seed
//     MERGEDB_SEED=n                                begins with this number
//     MERGEDB_SIMULATE_SECONDS=n                    n seconds of CPU time (20)
//     MERGEDB_SIMULATE_STRIDE=n                     every n-th number (1)
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "testing/seed.h"
#include "world.h"

namespace mergedb::simulate {
namespace {

constexpr time_t kSecondsOfLine = 60;  // a line of progress

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double NumberOf(const char* variable, double standard) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atof(text) : standard;
}

std::string ReplayOf(const World& world) {
  return "MERGEDB_WORLD='" + std::to_string(world.seed) + " " + testing::PrintOps(WorldOps(), world.ops) + "'";
}

std::string ProblemOf(const World& world) {
  Tally ignored;
  return Simulate(world, &ignored);
}

// The smallest part of the world that still breaks a promise.
std::string Blame(const World& world) {
  World small = world;
  small.ops = testing::Shrink(
      world.ops,
      [&](const testing::OpList& ops) {
        return !ProblemOf({world.seed, ops}).empty();
      },
      2000);
  return ProblemOf(small) + "\n" + ReplayOf(small);
}

World WorldOf(uint64_t seed) { return {.seed = seed, .ops = DrawWorld(seed, 40 + seed % 7 * 60)}; }

TEST(Simulate, EachPromiseIsKept) {
  const char* const named = std::getenv("MERGEDB_WORLD");
  if (named != nullptr) {
    char* rest = nullptr;
    const uint64_t seed = std::strtoull(named, &rest, 10);
    const auto ops = testing::ParseOps(WorldOps(), rest + (*rest == ' '));
    ASSERT_TRUE(ops.has_value()) << "MERGEDB_WORLD is what a failing test printed";
    EXPECT_EQ(ProblemOf({seed, *ops}), "");
    return;
  }
  const double end = CpuSeconds() + NumberOf("MERGEDB_SIMULATE_SECONDS", 20);
  const auto stride = static_cast<uint64_t>(NumberOf("MERGEDB_SIMULATE_STRIDE", 1));
  time_t next_line = std::time(nullptr) + kSecondsOfLine;
  Tally tally;
  uint64_t seed = testing::SeedOr(1), worlds = 0;
  for (; CpuSeconds() < end || worlds < 20; seed += stride, ++worlds) {
    const World world = WorldOf(seed);
    const std::string problem = Simulate(world, &tally);
    if (std::time(nullptr) >= next_line) {
      next_line += kSecondsOfLine;
      std::printf("%llu worlds, up to seed %llu\n", worlds + 0ull, seed + 0ull);
    }
    if (problem.empty()) continue;
    std::printf("seed %llu: %s\nlooking for a smaller world that shows it\n", seed + 0ull, problem.c_str());
    std::fflush(stdout);
    ADD_FAILURE() << "seed " << seed << ": " << Blame(world);
    break;
  }
  std::printf(
      "%llu worlds, up to seed %llu; %llu commits, %llu failed, %llu of unknown outcome; %llu faults; %llu kills, "
      "%llu power cuts, %llu opens, %llu failed opens; %llu reads, %llu failed; %llu flips, %llu readers, %llu heals\n",
      worlds + 0ull, seed + 0ull, tally.commits + 0ull, tally.failed + 0ull, tally.unknown + 0ull, tally.faults + 0ull,
      tally.kills + 0ull, tally.cuts + 0ull, tally.opens + 0ull, tally.failed_opens + 0ull, tally.reads + 0ull,
      tally.failed_reads + 0ull, tally.flips + 0ull, tally.readers + 0ull, tally.heals + 0ull);
  EXPECT_GT(tally.failed + tally.unknown, 10u);
  EXPECT_GT(tally.faults, 10u);
}

TEST(Simulate, ASeedDecidesEverything) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Tally first, second;
    EXPECT_EQ(Simulate(WorldOf(seed), &first), Simulate(WorldOf(seed), &second));
    EXPECT_EQ(first.reads, second.reads);
    EXPECT_EQ(first.failed, second.failed);
    EXPECT_EQ(first.faults, second.faults);
    EXPECT_EQ(first.failed_reads, second.failed_reads);
  }
}

}  // namespace
}  // namespace mergedb::simulate
