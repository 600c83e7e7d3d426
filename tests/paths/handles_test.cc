// Goal: each call of the C interface that takes a handle returns the code that c.h says, whatever calls came before it:
// use after close, close in any order, a handle of another kind or of another database, a call while a second thread is
// inside of the object. No call crashes or hangs. Method: testing/paths.h; handle_model.h says the answers.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"
#include "testing/paths.h"
#include "testing/seed.h"
#include "tests/paths/handle_model.h"
#include "tests/paths/handle_subject.h"

namespace mergedb::testing::handles {
namespace {

struct Part {
  const char* name;
  Topic topic;
  size_t calls_max;
};

void PrintTo(const Part& part, std::ostream* out) { *out << part.name; }

class HandlePaths : public ::testing::TestWithParam<Part> {
 protected:
  auto Make() {
    return [this] { return Handles(&home_, GetParam().topic); };
  }
  void Tell(const Walked& walked) {
    EXPECT_EQ(walked.finding, "") << GetParam().name;
    RecordProperty("paths", std::to_string(walked.paths));
    RecordProperty("states", std::to_string(walked.states));
    std::printf("%s: %zu paths, %zu calls, %zu states\n", GetParam().name, static_cast<size_t>(walked.paths),
                static_cast<size_t>(walked.calls), static_cast<size_t>(walked.states));
  }

  Home home_;
};

TEST_P(HandlePaths, AllShortOnes) {
  const Walk walk{.calls_max = GetParam().calls_max, .paths_max = Sized(5'000, 200'000), .seed = SeedOr(1)};
  Tell(WalkPaths(Model(GetParam().topic), walk, Make()));
}

TEST_P(HandlePaths, EachCallInEachState) {
  const Walk walk{.calls_max = 12, .paths_max = Sized(8'000, 200'000)};
  Tell(WalkStates(Model(GetParam().topic), walk, Make()));
}

INSTANTIATE_TEST_SUITE_P(Topics, HandlePaths,
                         ::testing::Values(Part{"Reads", Topic::kReads, 4}, Part{"Batches", Topic::kBatches, 4},
                                           Part{"Transactions", Topic::kTransactions, 5},
                                           Part{"Cursors", Topic::kCursors, 5}, Part{"Threads", Topic::kThreads, 4},
                                           Part{"Kinds", Topic::kKinds, 4}),
                         [](const auto& part) { return std::string(part.param.name); });

// ---- The file of paths for other languages -------------------------------------------------------------------------

std::string RandomPath(Topic topic, size_t calls, base::Random& random) {
  std::string text;
  Model start(Topic::kKinds);  // nothing comes before its paths
  for (const Call& call : Model::Before(topic)) text += ToText(call) + ": " + start.Do(call) + "; ";
  Model model(topic);
  for (size_t i = 0; i < calls; ++i) {
    const std::vector<Call> possible = model.Calls();
    const Call call = possible[random.Uniform(possible.size())];
    text += (i == 0 ? "" : "; ") + ToText(call) + ": " + model.Do(call);
  }
  return text;
}

// Short paths, and a few long ones, which reach states that no short one has.
std::string PathsForLanguages() {
  std::string text =
      "# Paths of calls on handles, with the answer of each call: tests/paths/handle_calls.h. Made by "
      "MERGEDB_WRITE_PATHS=FILE paths_handles_test.\n";
  base::Random random(1);
  const uint64_t count = Sized(30, 1'000);
  for (const Topic topic : {Topic::kReads, Topic::kBatches, Topic::kTransactions, Topic::kCursors, Topic::kThreads}) {
    for (const size_t calls : {3, 4, 5, 6, 14}) {
      for (uint64_t i = 0; i < count; ++i) text += RandomPath(topic, calls, random) + "\n";
    }
  }
  return text;
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The tests of the languages read it. MERGEDB_WRITE_PATHS=FILE writes it; with MERGEDB_FULL=1, many more paths.
TEST(HandlePathsFile, IsOfThisModel) {
  if (const char* const to = std::getenv("MERGEDB_WRITE_PATHS")) std::ofstream(to) << PathsForLanguages();
  if (kInstrumentedFactor != 1 || IsFullSize()) GTEST_SKIP() << "the file has as many paths as a short run";
  EXPECT_EQ(ContentOf(MERGEDB_HANDLE_PATHS), PathsForLanguages()) << "write tests/paths/handle_paths.txt again";
}

}  // namespace
}  // namespace mergedb::testing::handles
