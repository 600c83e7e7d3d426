// Power cuts and kills at every call: whatever the disk kept, dropped, tore or mixed, the database opens and
// holds the first P commits, where P includes all commits that were promised; it accepts writes again, and
// keeps them.
// Method: testing/power_cut.h. All short sequences of the nine steps, and long random workloads in which
// memtables fill, compactions run, the WAL changes segments and writers queue.
//     MERGEDB_CUT="seed=... point=... cut=..."   replays one crash (the line that a failure prints)
//     MERGEDB_SEED=n                             other workloads
//     MERGEDB_FULL=1                             all sequences of four steps, and several times the random cuts
#include "testing/power_cut.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "testing/seed.h"

namespace mergedb::testing {
namespace {

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Shape {
  Style style;
  bool use_mapping;
  bool separates = false;
  bool is_append_only = false;  // as with an Env of LevelDB's
};

struct Mixture {
  std::string_view common;
  std::string_view rare = "";
  uint64_t rare_one_in = 16;
};

std::string DrawSteps(const Mixture& mixture, uint64_t seed, size_t count) {
  base::Random random(seed * 77 + 5);
  std::string steps;
  for (size_t i = 0; i < count; ++i) {
    const bool is_rare = !mixture.rare.empty() && random.OneIn(mixture.rare_one_in);
    const std::string_view letters = is_rare ? mixture.rare : mixture.common;
    steps += letters[random.Uniform(letters.size())];
  }
  return steps;
}

class PowerCutTest : public ::testing::TestWithParam<Shape> {
 protected:
  CutSetup Setup(uint64_t seed, std::string steps) const {
    const Shape& shape = GetParam();
    return {.seed = seed,
            .style = shape.style,
            .use_mapping = shape.use_mapping,
            .is_append_only = shape.is_append_only,
            .steps = std::move(steps),
            .separates = shape.separates};
  }
  // Returns false after a failure.
  bool Check(const CutSetup& setup, const CutPlan& plan, bool* has_faulted = nullptr) {
    PowerCuts cuts(setup, plan, &seen_);
    const std::string problem = cuts.Run();
    if (!problem.empty()) ADD_FAILURE() << problem;
    if (has_faulted != nullptr) *has_faulted = cuts.counts().has_faulted;
    sum_.points += cuts.counts().points;
    sum_.states += cuts.counts().states;
    sum_.recovered += cuts.counts().recovered;
    sum_.nested += cuts.counts().nested;
    sum_.corrupt += cuts.counts().corrupt;
    return problem.empty();
  }
  // Random workloads of `letters` steps, with a seed each.
  void CheckWorkloads(const Mixture& mixture, uint64_t first_seed, uint64_t rounds, size_t letters,
                      const CutPlan& plan) {
    for (uint64_t round = 0; round < rounds; ++round) {
      const uint64_t seed = SeedOr(first_seed) + round;
      if (!Check(Setup(seed, DrawSteps(mixture, seed, letters)), plan)) return;
    }
  }
  void TearDown() override {
    const double seconds = CpuSeconds() - began_;
    std::printf("%llu crash states, %llu recovered, %llu nested, %llu lies noticed; %.1f s of CPU, %.0f states/s\n",
                static_cast<unsigned long long>(sum_.states), static_cast<unsigned long long>(sum_.recovered),
                static_cast<unsigned long long>(sum_.nested), static_cast<unsigned long long>(sum_.corrupt), seconds,
                static_cast<double>(sum_.states) / seconds);
    RecordProperty("crash_states", static_cast<int>(sum_.states));
  }

  CutCounts sum_;

 private:
  SeenImages seen_;
  const double began_ = CpuSeconds();
};

// Only the last step of each sequence is checked: the steps before it are a shorter sequence.
TEST_P(PowerCutTest, AllSequencesOfFewSteps) {
  if (GetParam().style != Style::kLazy) GTEST_SKIP() << "so few steps hardly know a style";
  // Blob files matter in compactions, not in so few steps.
  const size_t length_max = (IsFullSize() ? 4 : 3) - (GetParam().separates ? 1 : 0);
  const uint64_t one_in = SizedOneIn(80, 1);  // of the longest
  std::vector<std::string> sequences = {""};
  for (size_t begin = 0, length = 0; length <= length_max; ++length) {
    const size_t end = sequences.size();
    for (; begin < end; ++begin) {
      const std::string steps = sequences[begin];
      if (length == length_max && one_in > 1 && std::hash<std::string>{}(steps) % one_in != 0) continue;
      const CutPlan plan{.first_step = length == 0 ? 0 : length - 1, .nest_one_in = 60};
      if (!Check(Setup(1, steps), plan)) return;
      if (length == length_max) continue;
      for (const char step : kNineSteps) sequences.push_back(steps + step);
    }
  }
}

// Each sync fails once, and the power is cut at every call after it: acknowledged commits are there, commits
// that certainly failed are not, and the database does not trust a file whose sync failed.
TEST_P(PowerCutTest, SyncsThatFail) {
  if (GetParam().style != Style::kLazy) GTEST_SKIP() << "the log and the MANIFEST know no style";
  uint64_t seed = 0;  // differs, because it chooses the points: few lie between the failed sync and the flush
  for (const char first : kNineSteps) {
    for (const char second : kNineSteps) {
      for (uint64_t n = 1;; ++n) {
        CutSetup setup = Setup(++seed, std::string{first, second, 's', 'o', 'f'});
        setup.failing_sync = n;
        bool has_faulted = false;
        if (!Check(setup, {.point_one_in = SizedOneIn(300, 1), .nest_one_in = 100}, &has_faulted)) return;
        if (!has_faulted) break;
      }
    }
  }
}

// Memtables fill and are flushed, sorted runs are compacted, in several lives.
TEST_P(PowerCutTest, RandomWorkloads) {
  constexpr Mixture kMixture = {.common = "pppppppooooooddddeeebbbbxxsssnnnllawwwwwtvyg", .rare = "fffcr"};
  CheckWorkloads(kMixture, 1, IsFullSize() ? 4 : 1, 250, {.point_one_in = SizedOneIn(80, 2)});
}

// The same with other sizes and limits. The parameter sets style and WAL buffer, so each combination meets
// other sizes.
TEST_P(PowerCutTest, RandomWorkloadsAtDrawnGeometries) {
  constexpr Mixture kMixture = {.common = "ppppppooooooddddeeebbbbxxsssnnnlllawwwwwtvyg", .rare = "fffcr"};
  const Shape& shape = GetParam();
  const uint64_t first = SeedOr(501) + (shape.style == Style::kCascade) + 2 * shape.use_mapping + 4 * shape.separates +
                         8 * shape.is_append_only;
  const uint64_t rounds = IsFullSize() ? 10 : 1;
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t seed = first + 16 * round;
    CutSetup setup = Setup(seed, DrawSteps(kMixture, seed, 150));
    setup.geometry = GeometryFor(seed, {.write_buffer_bytes_max = size_t{256} << 10, .may_limit_descriptors = false});
    if (!Check(setup, {.point_one_in = SizedOneIn(80, 4), .nest_one_in = 200})) return;
  }
}

// The same in a named keyspace, whose creation may be cut too, and beside a named keyspace.
TEST_P(PowerCutTest, RandomWorkloadsInKeyspaces) {
  constexpr Mixture kMixture = {.common = "pppppooooddddeebbbbsssnnnllawwwwtvy", .rare = "fffcr"};
  const uint64_t rounds = IsFullSize() ? 10 : 1;
  for (const Tenancy tenancy : {Tenancy::kNamed, Tenancy::kBesideNamed}) {
    for (uint64_t round = 0; round < rounds; ++round) {
      CutSetup setup = Setup(SeedOr(401) + round, DrawSteps(kMixture, SeedOr(401) + round, 100));
      setup.tenancy = tenancy;
      if (!Check(setup, {.point_one_in = SizedOneIn(64, 8), .nest_one_in = 200})) return;
    }
  }
}

// Many small sorted runs, compacted as they arrive, and their obsolete files recycled.
TEST_P(PowerCutTest, CompactionsOfManyRuns) {
  constexpr Mixture kMixture = {.common = "oooppdbbxsnlllffffffwwwwwtv", .rare = "qqcr", .rare_one_in = 20};
  CheckWorkloads(kMixture, 201, IsFullSize() ? 8 : 1, 250, {.point_one_in = SizedOneIn(120, 4), .nest_one_in = 80});
}

// Between a few writes the database is idle so long that compactions leave one sorted run and the memtable is
// flushed.
TEST_P(PowerCutTest, WritesBetweenLongRests) {
  constexpr Mixture kMixture = {.common = "ppoodbexsnli", .rare = "fcrv", .rare_one_in = 20};
  CheckWorkloads(kMixture, 301, IsFullSize() ? 4 : 1, 100, {.point_one_in = SizedOneIn(60, 2), .nest_one_in = 80});
}

// The WAL changes from segment to segment and reuses released ones.
TEST_P(PowerCutTest, LogsThatRollOver) {
  constexpr Mixture kMixture = {.common = "lllllllllosgwwwwt", .rare = "fyqc", .rare_one_in = 30};
  CheckWorkloads(kMixture, 101, IsFullSize() ? 2 : 1, 160, {.point_one_in = SizedOneIn(300, 15), .nest_one_in = 80});
}

// LOG is written, and becomes LOG.old. Whatever a crash leaves of it, an open succeeds, goes on with whole lines of its
// own, and keeps the bound. After a kill, all lines are whole.
TEST_P(PowerCutTest, EventsInLog) {
  const Shape& shape = GetParam();
  if (shape.is_append_only || shape.separates || shape.style != Style::kLazy) GTEST_SKIP() << "no LOG, or the same LOG";
  for (const std::string_view steps : {"pfpfr", "sofcbfr", "pfofbfdfsfcfrpfpfpfq"}) {
    CutSetup setup = Setup(SeedOr(601) + steps.size(), std::string(steps));
    setup.has_log = true;
    if (!Check(setup, {.point_one_in = SizedOneIn(steps.size() > 10 ? 24 : 6, 1), .nest_one_in = 40})) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Options, PowerCutTest,
                         ::testing::Values(Shape{Style::kLazy, true}, Shape{Style::kLazy, false},
                                           Shape{Style::kCascade, true}, Shape{Style::kCascade, false},
                                           Shape{Style::kLazy, true, true}, Shape{Style::kCascade, false, true},
                                           Shape{Style::kLazy, false, false, true},
                                           Shape{Style::kLazy, false, true, true}),
                         [](const auto& shape) {
                           return std::string(shape.param.style == Style::kLazy ? "Lazy" : "Cascade") +
                                  (shape.param.is_append_only ? "Appended"
                                   : shape.param.use_mapping  ? "Mapped"
                                                              : "Written") +
                                  (shape.param.separates ? "Separated" : "");
                         });

TEST(PowerCutReplay, RunsTheCutThatTheEnvironmentNames) {
  const char* text = std::getenv("MERGEDB_CUT");
  if (text == nullptr) GTEST_SKIP() << "MERGEDB_CUT is not set";
  CutSetup setup;
  std::vector<Cut> cuts;
  ASSERT_TRUE(ParseCuts(text, &setup, &cuts)) << text;
  SeenImages seen;
  PowerCuts run(setup, {}, &seen);
  EXPECT_EQ(run.Replay(cuts), "");
}

TEST(PowerCutReplay, ReadsWhatItPrints) {
  CutSetup setup{.seed = 7, .style = Style::kCascade, .use_mapping = false, .steps = "psf", .separates = true};
  const std::vector<Cut> cuts = {{.point = 31, .mode = CrashMode::kBlockMix, .model = CrashModel::kStrict},
                                 {.point = 12, .mode = CrashMode::kMin, .model = CrashModel::kJournaled},
                                 {.point = 3, .mode = CrashMode::kKill, .model = CrashModel::kStrict}};
  const std::string text = PrintCuts(setup, cuts);
  EXPECT_EQ(text,
            "seed=7 style=cascade staging=written steps=psf values=separated point=31 cut=block-mix/strict "
            "nested=12:min/journaled,3:kill/strict");
  CutSetup read;
  std::vector<Cut> read_cuts;
  ASSERT_TRUE(ParseCuts(text, &read, &read_cuts));
  EXPECT_EQ(PrintCuts(read, read_cuts), text);
  setup.geometry = DrawGeometry(3);
  CutSetup drawn;
  ASSERT_TRUE(ParseCuts(PrintCuts(setup, {}), &drawn, &read_cuts));
  EXPECT_EQ(Print(drawn.geometry.value_or(Geometry{})), Print(*setup.geometry));
  setup.has_log = true;
  ASSERT_TRUE(ParseCuts(PrintCuts(setup, {}), &read, &read_cuts));
  EXPECT_TRUE(read.has_log);
  EXPECT_FALSE(ParseCuts("seed=7 steps=p!", &read, &read_cuts));
  EXPECT_FALSE(ParseCuts("cut=no-such/mode", &read, &read_cuts));
}

}  // namespace
}  // namespace mergedb::testing
