// Goal: lists of operations can be printed and parsed, a failure shrinks to the operations that it needs, and
// the runner finds a database that returns wrong answers. A DB between the engine and the runner makes the
// wrong answers.
#include "testing/random_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "testing/op_runner.h"

namespace mergedb::testing::random_ops_test {
namespace {

uint64_t DrawSmall(base::Random& random, const Profile&) { return random.Uniform(10); }

const OpTable kTable = {
    {.name = "one", .weight = 5, .head = {DrawSmall}},
    {.name = "none", .weight = 1},
    {.name = "many", .weight = 3, .head = {DrawSmall, DrawSmall}, .each = {DrawSmall, DrawSmall}, .groups_max = 4},
    {.name = "repair", .weight = 1, .is_maintenance = true}};

OpList Drawn(uint64_t seed, size_t count) {
  base::Random random(seed);
  return DrawOps(kTable, {}, random, count);
}

std::string Again(const std::string& text) {
  const auto list = ParseOps(kTable, text);
  return list ? PrintOps(kTable, *list) : "not a list";
}

TEST(OpText, IsReadBack) {
  EXPECT_EQ(
      PrintOps(kTable,
               {{.kind = 0, .head = {3}}, {.kind = 1}, {.kind = 2, .head = {0, 7}, .tail = {{1, 2}, {0, 0}, {0, 5}}}}),
      "one:3 none many:0,7/1,2/0/0,5");
  const auto list = ParseOps(kTable, " many/0/4,4  none one:9 ");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(*list, (OpList{{.kind = 2, .tail = {{0}, {4, 4}}}, {.kind = 1}, {.kind = 0, .head = {9}}}));
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const std::string text = PrintOps(kTable, Drawn(seed, 40));
    EXPECT_EQ(Again(text), text) << "seed " << seed;
  }
}

TEST(OpText, RefusesWhatIsNoList) {
  for (const char* text : {"other", "one:1,2", "none:1", "one:x", "one:-1", "one:1,,", "many:0/1,2,3",
                           "one:99999999999999999999", ":", "/"}) {
    EXPECT_FALSE(ParseOps(kTable, text).has_value()) << text;
  }
}

TEST(DrawOps, IsDecidedByTheSeed) {
  EXPECT_EQ(Drawn(1, 100), Drawn(1, 100));
  EXPECT_NE(Drawn(1, 100), Drawn(2, 100));
  std::set<size_t> kinds;
  for (const Op& op : Drawn(1, 100)) kinds.insert(op.kind);
  EXPECT_EQ(kinds.size(), kTable.size());
}

TEST(WithMaintenance, KeepsTheListAndAddsMaintenanceOnly) {
  base::Random random(3);
  const OpList list = Drawn(5, 200);
  const OpList longer = WithMaintenance(kTable, list, random, 2);
  EXPECT_GT(longer.size(), list.size() + 50);
  OpList rest = list;
  size_t next = 0;
  for (const Op& op : longer) {
    if (next < list.size() && op == list[next]) {
      ++next;
    } else {
      EXPECT_TRUE(kTable[op.kind].is_maintenance);
    }
  }
  EXPECT_EQ(next, list.size());
}

TEST(Shrink, LeavesWhatTheFailureNeeds) {
  // Fails if a "many" with a group that begins with 7 comes after a "one" of at least 4.
  const auto fails = [](const OpList& list) {
    const auto one =
        std::find_if(list.begin(), list.end(), [](const Op& op) { return op.kind == 0 && NumberAt(op.head, 0) >= 4; });
    return std::any_of(one, list.end(), [](const Op& op) {
      return op.kind == 2 &&
             std::any_of(op.tail.begin(), op.tail.end(), [](const auto& group) { return NumberAt(group, 0) == 7; });
    });
  };
  int shrunk = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const OpList list = Drawn(seed, 300);
    if (!fails(list)) continue;
    ++shrunk;
    EXPECT_EQ(PrintOps(kTable, Shrink(list, fails)), "one:4 many/7") << "seed " << seed;
  }
  EXPECT_GT(shrunk, 10);
}

TEST(Shrink, StopsWhenItsTrialsAreUsedUp) {
  size_t trials = 0;
  const OpList list = Drawn(1, 300);
  (void)Shrink(
      list, [&](const OpList& part) { return ++trials, part.size() > 5; }, 20);
  EXPECT_LE(trials, 20u);
}

// ---- the runner with a wrong database ---------------------------------------------------------------------

// Forwards all calls to the correct database. Subclasses change one answer.
class Liar : public DB {
 public:
  explicit Liar(std::unique_ptr<DB> honest) : honest_(std::move(honest)) {}
  Status Put(const WriteOptions& options, std::string_view key, std::string_view value) override {
    return honest_->Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, std::string_view key) override { return honest_->Delete(options, key); }
  Status DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) override {
    return honest_->DeleteRange(options, begin, end);
  }
  Status DeletePrefix(const WriteOptions& options, std::string_view prefix) override {
    return honest_->DeletePrefix(options, prefix);
  }
  Status Merge(const WriteOptions& options, std::string_view key, std::string_view operand) override {
    return honest_->Merge(options, key, operand);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override { return honest_->Write(options, batch); }
  Status Get(const ReadOptions& options, std::string_view key, std::string* value) override {
    return honest_->Get(options, key, value);
  }
  std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override {
    return honest_->MultiGet(options, keys, values);
  }
  std::unique_ptr<Iterator> NewIterator(const IteratorOptions& options) override {
    return honest_->NewIterator(options);
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return honest_->GetSnapshot(); }
  Status Flush() override { return honest_->Flush(); }
  Status SyncWal() override { return honest_->SyncWal(); }
  Status CompactRange(const std::string_view* lower, const std::string_view* upper) override {
    return honest_->CompactRange(lower, upper);
  }
  Status WaitForCompaction() override { return honest_->WaitForCompaction(); }
  std::vector<uint64_t> ApproximateSizes(const std::vector<KeyRange>& ranges) override {
    return honest_->ApproximateSizes(ranges);
  }
  bool GetProperty(std::string_view name, std::string* value) override { return honest_->GetProperty(name, value); }
  Result<std::vector<Metric>> Metrics() override { return honest_->Metrics(); }
  Result<std::vector<LatencyHistogram>> Histograms() override { return honest_->Histograms(); }
  Status CheckIntegrity() override { return honest_->CheckIntegrity(); }
  Status Close() override { return honest_->Close(); }

 protected:
  const std::unique_ptr<DB> honest_;
};

// Loses the first delete after each flush.
class ForgetsADelete final : public Liar {
 public:
  using Liar::Liar;
  Status Flush() override { return has_flushed_ = true, Liar::Flush(); }
  Status Delete(const WriteOptions& options, std::string_view key) override {
    return std::exchange(has_flushed_, false) ? Status() : Liar::Delete(options, key);
  }

 private:
  bool has_flushed_ = false;
};

// A snapshot shows the state at the time of the read.
class ForgetsSnapshots final : public Liar {
 public:
  using Liar::Liar;
  Status Get(const ReadOptions&, std::string_view key, std::string* value) override {
    return Liar::Get({}, key, value);
  }
};

template <typename Lie>
OpList ShrunkFailure(uint64_t seed) {
  const RunOptions options{
      .wrap = [](std::unique_ptr<DB> db) -> std::unique_ptr<DB> { return std::make_unique<Lie>(std::move(db)); }};
  const auto fails = [&](const OpList& list) {
    return !RunOps(list, SimulatedOptionSets()[0], options).problem.empty();
  };
  constexpr uint64_t kLists = 20;  // one list need not meet the wrong answer; each new operation changes which lists do
  for (uint64_t last = seed + kLists; seed < last; ++seed) {
    base::Random random(seed);
    const OpList list = DrawOps(ModelOpTable(), {.keys = 8, .favourites = {"flush", "take"}}, random, 400);
    if (fails(list)) return Shrink(list, fails);
  }
  ADD_FAILURE() << kLists << " lists did not find the lie";
  return {};
}

TEST(OpRunner, FindsAForgottenDelete) {
  const OpList list = ShrunkFailure<ForgetsADelete>(11);
  EXPECT_EQ(list.size(), 3u);  // put, flush, delete
}

TEST(OpRunner, FindsAForgottenSnapshot) {
  const OpList list = ShrunkFailure<ForgetsSnapshots>(12);
  EXPECT_EQ(list.size(), 3u);  // take, put, get
}

TEST(OpRunner, BelievesTheEngine) {
  base::Random random(13);
  EXPECT_EQ(RunOps(DrawOps(ModelOpTable(), {}, random, 200), SimulatedOptionSets()[0], {}).problem, "");
}

TEST(OpRunner, SaysWhichOperationMetTheProblem) {
  const auto list = ParseOps(ModelOpTable(), "put:1,5 take delete:1 get:1,1");
  ASSERT_TRUE(list.has_value());
  const RunOptions options{.wrap = [](std::unique_ptr<DB> db) -> std::unique_ptr<DB> {
    return std::make_unique<ForgetsSnapshots>(std::move(db));
  }};
  const Verdict verdict = RunOps(*list, SimulatedOptionSets()[0], options);
  EXPECT_EQ(verdict.op, 3u);
  EXPECT_TRUE(verdict.problem.starts_with("operation 3, get:1,1: key 5 bytes k0001: found nothing, expected 5 bytes "))
      << verdict.problem;
}

}  // namespace
}  // namespace mergedb::testing::random_ops_test
