// Goal: the checker of histories finds each kind of anomaly, and accepts serializable histories.
#include "testing/history.h"

#include <gtest/gtest.h>

namespace mergedb::testing::history_test {
namespace {

using Op = HistoryTransaction::Op;
using Fate = HistoryTransaction::Fate;

Op Read(const char* key, List list) { return {.key = key, .is_read = true, .read = std::move(list)}; }
Op Append(const char* key, uint64_t number) { return {.key = key, .append = number}; }
// By default all transactions run at the same time.
HistoryTransaction Did(std::vector<Op> ops, Fate fate = Fate::kCommitted, uint64_t began = 1, uint64_t ended = 100) {
  return {.began = began, .ended = ended, .fate = fate, .ops = std::move(ops)};
}
using Final = std::map<std::string, List>;

TEST(FindAnomaly, IsContentWithWhatIsSerial) {
  EXPECT_FALSE(FindAnomaly({}, {}));
  EXPECT_FALSE(FindAnomaly(
      {Did({Append("x", 1)}), Did({Read("x", {1}), Append("x", 2), Read("x", {1, 2})}), Did({Read("x", {1})})},
      {{"x", {1, 2}}}));
}

TEST(FindAnomaly, FindsALostUpdate) {
  EXPECT_TRUE(
      FindAnomaly({Did({Read("x", {}), Append("x", 1)}), Did({Read("x", {}), Append("x", 2)})}, {{"x", {1, 2}}}));
  EXPECT_TRUE(FindAnomaly({Did({Append("x", 1)}), Did({Append("x", 2)})}, {{"x", {2}}}));
}

TEST(FindAnomaly, FindsWriteSkew) {
  EXPECT_TRUE(FindAnomaly({Did({Read("x", {}), Append("y", 1)}), Did({Read("y", {}), Append("x", 2)})},
                          {{"x", {2}}, {"y", {1}}}));
}

TEST(FindAnomaly, FindsAReadOnlyAnomaly) {
  EXPECT_TRUE(FindAnomaly({Did({Append("x", 1)}), Did({Append("y", 2)}), Did({Read("x", {1}), Read("y", {})}),
                           Did({Read("x", {}), Read("y", {2})})},
                          {{"x", {1}}, {"y", {2}}}));
}

TEST(FindAnomaly, FindsDirtyAndIntermediateReads) {
  EXPECT_TRUE(FindAnomaly({Did({Append("x", 1)}, Fate::kRolledBack), Did({Read("x", {1})})}, {}));
  EXPECT_TRUE(FindAnomaly({Did({Append("x", 1)}, Fate::kRolledBack)}, {{"x", {1}}}));
  EXPECT_TRUE(FindAnomaly({Did({Append("x", 1), Append("x", 2)}), Did({Read("x", {1})})}, {{"x", {1, 2}}}));
  EXPECT_TRUE(FindAnomaly({Did({Append("x", 1)}), Did({Append("x", 2)}), Did({Read("x", {2})})}, {{"x", {1, 2}}}));
}

TEST(FindAnomaly, FindsOnesThatMissTheirOwnWrites) {
  EXPECT_TRUE(FindAnomaly({Did({Append("x", 1), Read("x", {})})}, {{"x", {1}}}));
}

TEST(FindAnomaly, FindsWhatRealTimeForbids) {
  const auto write = Did({Append("x", 1)}, Fate::kCommitted, 1, 2);
  EXPECT_TRUE(FindAnomaly({write, Did({Read("x", {})}, Fate::kCommitted, 3, 4)}, {{"x", {1}}}));
  EXPECT_FALSE(FindAnomaly({write, Did({Read("x", {})}, Fate::kCommitted, 2, 4)}, {{"x", {1}}}));
  // By a third transaction: it ends before the second begins.
  const auto third = Did({Append("y", 2)}, Fate::kCommitted, 5, 6);
  EXPECT_TRUE(FindAnomaly({write, third, Did({Read("y", {2}), Read("x", {})}, Fate::kCommitted, 4, 9)},
                          {{"x", {1}}, {"y", {2}}}));
}

TEST(FindAnomaly, LetsOneOfUnknownFateBeThereOrNot) {
  const auto unknown = Did({Append("x", 1), Append("y", 2)}, Fate::kUnknown);
  EXPECT_FALSE(FindAnomaly({unknown}, {}));
  EXPECT_FALSE(FindAnomaly({unknown}, {{"x", {1}}, {"y", {2}}}));
  EXPECT_TRUE(FindAnomaly({unknown}, {{"x", {1}}}));
}

}  // namespace
}  // namespace mergedb::testing::history_test
