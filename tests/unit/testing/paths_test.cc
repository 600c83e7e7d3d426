// Goal: each path of a model runs, shortest first; a wrong answer names the path that replays it. Method: a stack of
// two letters, and a subject that forgets what lies below the third letter.
#include "testing/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace mergedb::testing::paths_test {
namespace {

struct Stack {
  using Call = char;  // pushes the letter; '-': pops
  std::string Calls() const { return letters.empty() ? "ab" : "ab-"; }
  std::string Do(char call) {
    if (call != '-') return letters += call, "";
    const char top = letters.back();
    letters.pop_back();
    return {top};
  }
  std::string Key() const { return letters; }
  static std::string TextOf(char call) { return {call}; }

  std::string letters;
};

struct ShortStack {
  std::string Do(char call) {
    if (stack.letters.empty() && call == '-') return "empty";
    const std::string answer = stack.Do(call);
    if (stack.letters.size() == 3) stack.letters.erase(0, 1);
    return answer;
  }
  Stack stack;
};

TEST(Paths, EachPathRuns) {
  const Walked walked = WalkPaths(Stack(), {.calls_max = 3}, [] { return Stack(); });
  EXPECT_EQ(walked.finding, "");
  EXPECT_EQ(walked.paths, 2u + 6u + 2u * (3u + 3u + 2u));
  const Walked sample = WalkPaths(Stack(), {.calls_max = 8, .paths_max = 100}, [] { return Stack(); });
  EXPECT_GT(sample.paths, 300u);
  EXPECT_LT(sample.paths, 800u);
}

TEST(Paths, EachCallInEachStateRuns) {
  const Walked walked = WalkStates(Stack(), {.calls_max = 3}, [] { return Stack(); });
  EXPECT_EQ(walked.finding, "");
  EXPECT_EQ(walked.states, 1u + 2u + 4u + 8u);
  EXPECT_EQ(walked.paths, 2u + 3u * (2u + 4u));
}

TEST(Paths, AWrongAnswerNamesAShortestPath) {
  const auto walk = [] { return WalkPaths(Stack(), {.calls_max = 8}, [] { return ShortStack(); }).finding; };
  const std::string finding = "-: expected a, found empty\nMERGEDB_PATH='a; a; a; -; -; -'";
  EXPECT_EQ(walk(), finding);
  setenv("MERGEDB_PATH", "a; a; a; -; -; -", 1);
  EXPECT_EQ(walk(), finding);
  setenv("MERGEDB_PATH", "a; -; -", 1);
  EXPECT_EQ(walk(), "MERGEDB_PATH is no path of this model: 'a; -' can be followed by 'a' 'b'");
  unsetenv("MERGEDB_PATH");
}

}  // namespace
}  // namespace mergedb::testing::paths_test
