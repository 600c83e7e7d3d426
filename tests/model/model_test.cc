// Random operations over the whole interface, beside a model, with every set of options: every answer equals
// the model's, the same operations give the same answers with all options, and maintenance inserted anywhere
// changes no answer.
// Method: a seed draws lists of operations (testing/random_ops.h) without a database; each list runs with
// each option set in a process of its own, where background steps run when the list says so. A list that
// fails is shrunk, and the failure ends with the line that reproduces it:
//
//     MERGEDB_REPLAY='Cascade put:1,17 flush get:0,1' build/dev/tests/model_model_test --gtest_filter='Replay.*'
//
// Some lists record traces while they run (testing/op_traces.h): MERGEDB_TRACED=1 does so in a replay.
//
// Another seed: MERGEDB_SEED or --gtest_random_seed. MERGEDB_FULL=1 runs six times as many lists, six times
// as long.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "testing/apart.h"
#include "testing/keyspace_db.h"
#include "testing/op_runner.h"
#include "testing/option_sets.h"
#include "testing/random_ops.h"
#include "testing/seed.h"

namespace mergedb::testing {
namespace {

const Profile kProfiles[] = {
    {},
    {.name = "few_keys", .keys = 8, .favourites = {"take", "drop", "flush", "compact"}},
    {.name = "large_values", .keys = 100, .large_value_one_in = 5, .favourites = {"steps"}},
    {.name = "restless", .favourites = {"flush", "reopen", "kill", "read_only", "destroy", "wait_for_compaction"}},
    {.name = "cursors", .keys = 250, .favourites = {"open_iterator", "move", "scan", "take"}},
};

// ---- one run ----------------------------------------------------------------------------------------------

struct Judged {
  std::string problem = {};
  std::string answers = {};
};

// A list takes a tenth of a second; after this time it counts as hanging. Shrinking waits less, since it sees
// a hang often.
constexpr uint64_t kSeconds = kInstrumentedFactor > 1 ? 240 : 60;
constexpr std::chrono::seconds kShrinkingTime(120);
constexpr uint64_t kRunSeed = 7;  // of the order of background steps; the same in a replay

// How a list runs.
struct Way {
  const OptionSet& set;
  bool is_traced = false;
};

Judged Judge(const OpList& list, const Way& way, bool is_quiet) {
  const Outcome outcome = RunApart(
      [&] {
        const Verdict verdict = RunOps(list, way.set, {.seed = kRunSeed, .is_traced = way.is_traced});
        return verdict.problem.empty() ? "=" + std::to_string(verdict.answers) : verdict.problem;
      },
      {.seconds = is_quiet ? kSeconds / 20 : kSeconds, .is_quiet = is_quiet});
  if (!outcome.trouble.empty()) return {.problem = outcome.trouble};
  if (outcome.answer.starts_with('=')) return {.answers = outcome.answer};
  return {.problem = outcome.answer};
}

// Shrinks a failing list; returns its failure and its line.
std::string Explain(const OpList& list, const Way& way, const std::string& problem) {
  const auto deadline = std::chrono::steady_clock::now() + kShrinkingTime;
  const auto fails = [&](const OpList& part) {
    return std::chrono::steady_clock::now() < deadline && !Judge(part, way, true).problem.empty();
  };
  if (!fails(list)) return problem + "\nnot seen again: it does not depend on the operations alone";
  const OpList small = Shrink(list, fails);
  return problem + "\nshrunk from " + std::to_string(list.size()) + " operations to " + std::to_string(small.size()) +
         ": " + Judge(small, way, true).problem + (way.is_traced ? "\nMERGEDB_TRACED=1 " : "\n") + "MERGEDB_REPLAY='" +
         way.set.name + ' ' + PrintOps(ModelOpTable(), small) +
         "' build/dev/tests/model_model_test --gtest_filter='Replay.*'";
}

// Returns std::nullopt after a failure, and reports the failure.
std::optional<std::string> AnswersOf(const OpList& list, const Way& way) {
  const Judged judged = Judge(list, way, false);
  if (judged.problem.empty()) return judged.answers;
  ADD_FAILURE() << way.set.name << ": " << Explain(list, way, judged.problem);
  return std::nullopt;
}

// ---- lists ------------------------------------------------------------------------------------------------

// The lengths of the lists of each part: short ones shrink fast, long ones grow trees.
constexpr uint64_t kLengths[] = {3'600, 3'000, 1'400, 1'400, 400, 400, 700, 700};
constexpr int kParts = std::size(kLengths);

// Under the thread sanitizer a fork costs most of a second, and these tests have no threads: each profile
// runs with an eighth of the option sets.
#if defined(__SANITIZE_THREAD__)
constexpr size_t kSetsOneIn = 8;
#else
constexpr size_t kSetsOneIn = 1;
#endif

// Each part runs one list of each profile; there are several parts so that ctest can run them in parallel.
class ModelTest : public ::testing::TestWithParam<int> {
 protected:
  size_t count() const {
    const uint64_t length = kLengths[static_cast<size_t>(GetParam()) % kParts];
    return Sized(length / 4, 3 * length, 60);
  }
  uint64_t seed() const { return SeedOr(20'261'121) * 1000 + static_cast<uint64_t>(GetParam()); }
};

OpList Drawn(uint64_t seed, const Profile& profile, size_t count) {
  base::Random random(seed);
  return DrawOps(ModelOpTable(), profile, random, count);
}

TEST_P(ModelTest, AnswersAreTheModelsUnderEveryOptionSet) {
  size_t turn = static_cast<size_t>(GetParam());
  for (const Profile& profile : kProfiles) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'121)) + " " + profile.name);
    const OpList list = Drawn(seed(), profile, count());
    // By comparator, since the order of keys depends on it.
    std::vector<std::pair<const Comparator*, std::string>> first_answers;
    for (const OptionSet& set : SimulatedOptionSets()) {
      if (turn++ % kSetsOneIn != 0) continue;
      const auto answers = AnswersOf(list, {set});
      if (!answers) return;
      const auto same = [&](const auto& each) { return each.first == set.comparator; };
      const auto first = std::find_if(first_answers.begin(), first_answers.end(), same);
      if (first == first_answers.end()) {
        first_answers.emplace_back(set.comparator, *answers);
      } else {
        ASSERT_EQ(*answers, first->second) << set.name << " answers like the model, and unlike other sets";
      }
    }
  }
}

TEST_P(ModelTest, MaintenanceAnywhereChangesNoAnswer) {
  for (const Profile& profile : kProfiles) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'121)) + " " + profile.name);
    const OpList list = Drawn(seed() + 500, profile, count());
    base::Random random(seed());
    const auto& sets = SimulatedOptionSets();
    const OptionSet& set = sets[random.Uniform(sets.size())];
    const auto answers = AnswersOf(list, {set});
    for (const uint64_t one_in : {1, 5, 40}) {
      const auto others = AnswersOf(WithMaintenance(ModelOpTable(), list, random, one_in), {set});
      if (!answers || !others) return;
      ASSERT_EQ(*answers, *others) << set.name << ": maintenance after one operation in " << one_in;
    }
  }
}

// Drawn sizes and limits: the option sets above are corners, these are anywhere between them.
TEST_P(ModelTest, AnswersAreTheModelsAtDrawnGeometries) {
  base::Random random(seed() + 800);
  for (const Profile& profile : kProfiles) {
    const OpList list = Drawn(seed() + 800, profile, count() / 2);
    for (int draw = 0; draw < 4; ++draw) {
      const uint64_t turn = random.Next() % 64;
      const OptionSet set = OptionSetOf(GeometryFor(seed() * 16 + turn, {.write_buffer_bytes_max = 8 << 20}), turn);
      SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'121)) + " " + profile.name + " " + set.name);
      if (!AnswersOf(list, {set})) return;
    }
  }
}

// A keyspace among others gives the same answers as a single one.
TEST_P(ModelTest, AnswersAreTheModelsInANamedKeyspaceAndBesideOne) {
  for (const Profile& profile : kProfiles) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'121)) + " " + profile.name);
    const OpList list = Drawn(seed() + 600, profile, count() / 2);
    base::Random random(seed());
    const auto& sets = SimulatedOptionSets();
    for (const Tenancy tenancy : {Tenancy::kNamed, Tenancy::kBesideNamed}) {
      const OptionSet& set = sets[random.Uniform(sets.size())];
      const auto wrap = [tenancy](std::unique_ptr<DB> db) { return NewKeyspaceDb(std::move(db), tenancy); };
      const Outcome outcome =
          RunApart([&] { return RunOps(list, set, {.seed = kRunSeed, .wrap = wrap}).problem; }, {.seconds = kSeconds});
      ASSERT_EQ(outcome.trouble + outcome.answer, "")
          << set.name << (tenancy == Tenancy::kNamed ? " named" : " beside");
    }
  }
}

TEST_P(ModelTest, AnswersAreTheModelsInRealFilesAndThroughC) {
  const Profile& profile = kProfiles[static_cast<size_t>(GetParam()) % std::size(kProfiles)];
  const OpList list = Drawn(seed() + 700, profile, count() / 4);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'121)) + " " + profile.name);
  for (const OptionSet& set : RealOptionSets()) {
    if (!AnswersOf(list, {set})) return;
  }
}

// A trace of the run decodes whole, and its writes give the content of the model. It changes no answer.
TEST_P(ModelTest, TracesOfTheRunHaveItsWrites) {
  const Profile& profile = kProfiles[static_cast<size_t>(GetParam()) % std::size(kProfiles)];
  const OpList list = Drawn(seed() + 900, profile, count() / 2);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'121)) + " " + profile.name);
  base::Random random(seed() + 900);
  const auto& simulated = SimulatedOptionSets();
  for (int draw = 0; draw < 2; ++draw) {
    const OptionSet& set = simulated[random.Uniform(simulated.size())];
    const auto answers = AnswersOf(list, {set});
    const auto traced = AnswersOf(list, {.set = set, .is_traced = true});
    if (!answers || !traced) return;
    ASSERT_EQ(*answers, *traced) << set.name << " answers otherwise while a trace runs";
  }
  const auto of_files = std::ranges::find(RealOptionSets(), Place::kRealFiles, &OptionSet::place);
  (void)AnswersOf(list, {.set = *of_files, .is_traced = true});
}

INSTANTIATE_TEST_SUITE_P(Part, ModelTest, ::testing::Range(0, IsFullSize() ? 6 * kParts : kParts));

// ---- a line from a failure --------------------------------------------------------------------------------

TEST(Replay, RunsTheLineOfTheEnvironment) {
  const char* text = std::getenv("MERGEDB_REPLAY");
  if (text == nullptr) GTEST_SKIP() << "no MERGEDB_REPLAY";
  const std::string line = text;
  const size_t blank = std::min(line.find(' '), line.size());
  const auto set = FindOptionSet(line.substr(0, blank));
  ASSERT_TRUE(set.has_value()) << "no option set " << line.substr(0, blank);
  const auto list = ParseOps(ModelOpTable(), std::string_view(line).substr(blank));
  ASSERT_TRUE(list.has_value()) << "not a list of operations";
  // Runs in this process, so that a debugger can be attached.
  const bool is_traced = std::getenv("MERGEDB_TRACED") != nullptr;
  EXPECT_EQ(RunOps(*list, *set, {.seed = kRunSeed, .is_traced = is_traced}).problem, "");
}

}  // namespace
}  // namespace mergedb::testing
