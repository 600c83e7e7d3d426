// Goal: the result of a key's operands does not depend on how they are grouped. The test vectors that other
// languages share hold. If a program's operator misbehaves, only its key has an error.
#include "kv/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/bytes.h"
#include "mergedb/merge.h"
#include "testing/seed.h"
#include "tests/unit/kv/merge_histories.h"

namespace mergedb::kv {
namespace {

std::string FromHex(std::string_view hex) {
  std::string bytes;
  EXPECT_TRUE(base::FromHex(hex, &bytes));
  return bytes;
}

TEST(Fold, AgreesWithTheVectorsThatOtherLanguagesShare) {
  std::ifstream file(std::string(MERGEDB_SOURCE_DIR) + "/tests/golden/merge/vectors.json");
  const auto vectors = nlohmann::json::parse(file);
  ASSERT_GT(vectors.size(), 60u);
  for (const auto& vector : vectors) {
    SCOPED_TRACE(vector["name"].get<std::string>());
    const std::string base_bytes = vector["base"].is_null() ? "" : FromHex(vector["base"].get<std::string>());
    const Base base = vector["base"].is_null() ? Base{} : Base{Kind::kPut, base_bytes};
    Chain chain(nullptr);
    for (const auto& hex : vector["operands"]) {
      std::string operand = FromHex(hex.get<std::string>());
      if (vector.contains("named")) operand = merge::Named(vector["named"].get<std::string>(), operand);
      EXPECT_TRUE(CheckOperand(operand).ok());
      chain.AddNewer("k", 0, operand);
    }
    std::string value;
    const Status status = FoldAndShow("k", base, chain, &value);
    if (vector["value"].is_null()) {
      EXPECT_TRUE(status.IsMergeFailed()) << status.ToString();
    } else {
      EXPECT_TRUE(status.ok()) << status.ToString();
      EXPECT_EQ(base::ToHex(value), vector["value"].get<std::string>());
    }
    if (!vector.contains("stored")) continue;
    Folded folded;
    EXPECT_TRUE(Fold(nullptr, "k", base, chain.OldestFirst(), &folded).ok());
    EXPECT_EQ(folded.kind == Kind::kPut ? "put" : "merged", vector["stored"][0].get<std::string>());
    EXPECT_EQ(base::ToHex(folded.bytes), vector["stored"][1].get<std::string>());
  }
}

// ---- grouping ---------------------------------------------------------------------------------------------

// The expected result: the operands are applied one after the other, and no two are combined.
std::string OneByOne(const ProgramOperators* operators, const Base& base, const std::vector<std::string>& operands) {
  Folded folded{base.kind, std::string(base.bytes)};
  const std::vector<std::string_view> views(operands.begin(), operands.end());
  std::string value, scratch;
  std::string_view shown;
  Status status = Fold(operators, "k", base, views, &folded);
  if (status.ok()) status = ShowValue({folded.kind, folded.bytes}, &scratch, &shown);
  return status.ok() ? "=" + std::string(shown) : std::string(CodeName(status.code()));
}

// An associative operator: joins two texts with "+" between them.
class Joiner final : public AssociativeMergeOperator {
 public:
  std::string_view Name() const override { return "test.joiner"; }
  Status Join(std::string_view, std::string_view older, std::string_view newer, std::string* joined) const override {
    joined->assign(older).append("+").append(newer);
    return {};
  }
};

// Counts operands and cannot combine them.
class Counter final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.counter"; }
  Status Apply(std::string_view, std::optional<std::string_view> base, Span<const std::string_view> operands,
               std::string* result) const override {
    const uint64_t before = base ? std::strtoull(std::string(*base).c_str(), nullptr, 10) : 0;
    *result = std::to_string(before + operands.size());
    return {};
  }
};

const ProgramOperators& Programs() {
  static const ProgramOperators operators({std::make_shared<Joiner>(), std::make_shared<Counter>()});
  return operators;
}

TEST(Fold, DoesNotDependOnTheGrouping) {
  const uint64_t seed = testing::SeedOr(1);
  for (uint64_t round = 0; round < 6000; ++round) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    base::Random random(seed * 1'000'003 + round);
    std::vector<std::string> operands = testing::RandomOperands(random, 1 + random.Uniform(12));
    if (random.OneIn(5)) {
      for (std::string& operand : operands) {
        if (random.OneIn(2)) operand = merge::Named(random.OneIn(2) ? "test.joiner" : "test.counter", "7");
      }
    }
    const std::string base_bytes = testing::RandomBaseBytes(random);
    Base base = random.OneIn(2) ? Base{} : Base{Kind::kPut, base_bytes};
    const std::string expected = OneByOne(&Programs(), base, operands);

    // In random order: apply a prefix to the base, or combine neighbours.
    Folded folded;
    for (int step = 0; step < 6 && !operands.empty(); ++step) {
      const size_t first = random.Uniform(operands.size());
      const size_t count = 1 + random.Uniform(operands.size() - first);
      if (random.OneIn(3)) {
        const std::vector<std::string_view> prefix(operands.begin(), operands.begin() + static_cast<ptrdiff_t>(count));
        Folded next;
        if (!Fold(&Programs(), "k", base, prefix, &next).ok()) continue;
        folded = std::move(next);
        base = {folded.kind, folded.bytes};
        operands.erase(operands.begin(), operands.begin() + static_cast<ptrdiff_t>(count));
      } else {
        Chain chain(&Programs());
        const bool newest_first = random.OneIn(2);
        for (size_t i = 0; i < count; ++i) {
          if (newest_first) {
            chain.AddOlder("k", 100 - i, operands[first + count - 1 - i]);
          } else {
            chain.AddNewer("k", i, operands[first + i]);
          }
        }
        chain.Combine("k");
        std::vector<std::string> combined;
        std::vector<Chain::Operand> taken;
        chain.Take(&taken);
        for (auto operand = taken.rbegin(); operand != taken.rend(); ++operand) combined.push_back(operand->bytes);
        const auto at = operands.erase(operands.begin() + static_cast<ptrdiff_t>(first),
                                       operands.begin() + static_cast<ptrdiff_t>(first + count));
        operands.insert(at, combined.begin(), combined.end());
      }
    }
    if (operands.empty()) {
      std::string value;
      const Status status = FoldAndShow("k", base, Chain(nullptr), &value);
      EXPECT_EQ(status.ok() ? "=" + value : std::string(CodeName(status.code())), expected);
    } else {
      EXPECT_EQ(OneByOne(&Programs(), base, operands), expected);
    }
    if (HasFailure()) return;
  }
}

TEST(Chain, KeepsTheTagOfTheNewest) {
  Chain chain(nullptr);
  chain.AddOlder("k", 9, merge::AddU64(1));
  chain.AddOlder("k", 8, merge::AddU64(2));
  EXPECT_EQ(chain.count(), 1u);
  EXPECT_EQ(chain.newest_tag(), 9u);
  chain.AddOlder("k", 7, merge::Append("x"));
  chain.AddOlder("k", 6, merge::Append("w"));
  chain.Combine("k");
  std::vector<Chain::Operand> operands;
  chain.Take(&operands);
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[0].tag, 9u);
  EXPECT_EQ(operands[0].bytes, merge::AddU64(3));
  EXPECT_EQ(operands[1].tag, 7u);
  EXPECT_EQ(operands[1].bytes, merge::Append("wx"));
}

// Numbers are combined at once and texts when there are many, so the chain stays short.
TEST(Chain, OfAMillionOperandsTakesNoMoreThanTheirSum) {
  Chain sums(nullptr), texts(nullptr);
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    sums.AddOlder("k", 1'000'000 - i, merge::AddU64(i));
    texts.AddOlder("k", 1'000'000 - i, merge::Append("x", {.cap_bytes = 10}));
  }
  EXPECT_EQ(sums.count(), 1u);
  EXPECT_LT(texts.count(), 200u);
  std::string value;
  ASSERT_TRUE(FoldAndShow("k", {}, sums, &value).ok());
  EXPECT_EQ(merge::ToU64(value), 499'999'500'000u);
  ASSERT_TRUE(FoldAndShow("k", {}, texts, &value).ok());
  EXPECT_EQ(value, "xxxxxxxxxx");
}

// Counts the bytes that it copies.
class CountingJoiner final : public AssociativeMergeOperator {
 public:
  std::string_view Name() const override { return "test.counting"; }
  Status Join(std::string_view, std::string_view older, std::string_view newer, std::string* joined) const override {
    copied_bytes += older.size() + newer.size();
    joined->append(older).append(newer);
    return {};
  }
  mutable uint64_t copied_bytes = 0;
};

// The operands that combine to one that grows: the bytes copied are not the square of their number.
TEST(Chain, CombinesOperandsThatGrowForTheirBytesTimesALogarithm) {
  constexpr uint64_t kOperandBytes = 72;
  for (const bool is_older : {true, false}) {
    for (const uint64_t operands : {1'000, 10'000, 50'000}) {
      const auto joiner = std::make_shared<CountingJoiner>();
      const ProgramOperators operators({joiner}, kMergedValueBytesMax);
      Chain chain(&operators);
      std::string expected;
      for (uint64_t i = 0; i < operands; ++i) {
        const std::string part(kOperandBytes, static_cast<char>('a' + i % 26));
        const std::string operand = merge::Named("test.counting", part);
        is_older ? chain.AddOlder("k", operands - i, operand) : chain.AddNewer("k", i + 1, operand);
        expected.append(part);
      }
      std::string value;
      ASSERT_TRUE(FoldAndShow("k", {}, chain, &value).ok());
      if (is_older) {
        std::ranges::reverse(expected);  // equal bytes within a part
      }
      EXPECT_EQ(value, expected);
      const uint64_t levels = std::bit_width(operands);
      EXPECT_LE(joiner->copied_bytes, 3 * operands * kOperandBytes * levels) << operands << " operands";
    }
  }
}

// Short operands above a long one that they combine with: the chain does not become full of them.
TEST(Chain, StaysReadableAboveALongOperand) {
  constexpr size_t kOperandsMax = 4'096;
  const ProgramOperators operators({std::make_shared<CountingJoiner>()}, kMergedValueBytesMax);
  Chain chain(&operators, kOperandsMax);
  chain.AddNewer("k", 1, merge::Named("test.counting", std::string(size_t{1} << 20, 'v')));
  for (uint64_t i = 0; i < kOperandsMax + 10; ++i) {
    ASSERT_FALSE(chain.is_full()) << i;
    chain.AddNewer("k", i + 2, merge::Named("test.counting", ""));
  }
  std::string value;
  ASSERT_TRUE(FoldAndShow("k", {}, chain, &value).ok());
  EXPECT_EQ(value.size(), size_t{1} << 20);
}

TEST(Chain, OfOperandsThatDoNotCombineIsBounded) {
  Chain chain(&Programs());
  const std::string operand = merge::Named("test.counter", "");
  while (!chain.is_full()) chain.AddOlder("k", 1, operand);
  EXPECT_EQ(chain.count(), kChainOperandsMax);
  std::string value;
  EXPECT_TRUE(FoldAndShow("k", {}, chain, &value).ok()) << "a full chain is whole";
}

// ---- programs' operators ----------------------------------------------------------------------------------

class Misbehaving final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.bad"; }
  Status Apply(std::string_view, std::optional<std::string_view>, Span<const std::string_view> operands,
               std::string* result) const override {
    if (operands[0] == "throws") throw std::runtime_error("no such thing");
    if (operands[0] == "throws an int") throw 7;
    if (operands[0] == "fails") return Status::InvalidArgument("I do not like it");
    if (operands[0] == "huge") result->resize(1001);
    return {};
  }
  bool Combine(std::string_view, std::string_view, std::string_view, std::string*) const override {
    throw std::runtime_error("not even that");
  }
};

TEST(Fold, TurnsWhatAnOperatorDoesIntoTheKeysStatus) {
  const ProgramOperators operators({std::make_shared<Misbehaving>()}, 1000);
  const auto fold = [&](std::string_view operand) {
    Folded folded;
    const std::string made = merge::Named("test.bad", operand);
    const std::string_view view = made;
    return Fold(&operators, "some key", {}, {&view, 1}, &folded).ToString();
  };
  EXPECT_EQ(fold("throws"), "MergeFailed: key \"some key\": operator \"test.bad\" threw: no such thing");
  EXPECT_EQ(fold("throws an int"),
            "MergeFailed: key \"some key\": operator \"test.bad\" threw an exception that is not a std::exception");
  EXPECT_EQ(fold("fails"),
            "MergeFailed: key \"some key\": operator \"test.bad\" failed: InvalidArgument: I do not like it");
  EXPECT_EQ(fold("huge"),
            "MergeFailed: key \"some key\": operator \"test.bad\" returned a value of 1001 bytes; the "
            "maximum is 1000");
  EXPECT_EQ(fold("fine"), "OK");
  Chain chain(&operators);
  for (int i = 0; i < 200; ++i) chain.AddNewer("k", 1, merge::Named("test.bad", "x"));
  EXPECT_EQ(chain.count(), 200u);
}

TEST(Fold, NamesTheKeyWhoseBaseIsNoValue) {
  Folded folded;
  const std::string operand = merge::AddU64(1);
  const std::string_view view = operand;
  const Status status = Fold(nullptr, "some key", {Kind::kMerged, "\x7f"}, {&view, 1}, &folded);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("key \"some key\""), std::string::npos) << status.ToString();
}

TEST(Fold, StopsWhereTwoOperandsCannotBeJoined) {
  class Joining final : public AssociativeMergeOperator {
   public:
    std::string_view Name() const override { return "test.joining"; }
    Status Join(std::string_view, std::string_view older, std::string_view newer, std::string* joined) const override {
      if (newer == "bad") return Status::InvalidArgument("it is bad");
      *joined = std::string(older) + std::string(newer);
      return {};
    }
  };
  const ProgramOperators operators({std::make_shared<Joining>()}, 1000);
  Folded folded;
  const std::string made[] = {merge::Named("test.joining", "a"), merge::Named("test.joining", "bad"),
                              merge::Named("test.joining", "c")};
  const std::string_view views[] = {made[0], made[1], made[2]};
  EXPECT_EQ(Fold(&operators, "k", {}, views, &folded).ToString(),
            "MergeFailed: key \"k\": operator \"test.joining\" failed: InvalidArgument: it is bad");
  const std::string_view others[] = {made[0], made[2]};
  ASSERT_TRUE(Fold(&operators, "k", {}, others, &folded).ok());
  EXPECT_EQ(folded.bytes, "ac");
}

TEST(Fold, NamesTheOperatorThatIsMissing) {
  Folded folded;
  const std::string made = merge::Named("my.median", "5");
  const std::string_view view = made;
  EXPECT_EQ(Fold(nullptr, "k", {}, {&view, 1}, &folded).ToString(),
            "NotSupported: key \"k\": operator \"my.median\" is not among options.merge_operators");
}

TEST(ProgramOperators, AreCheckedByName) {
  class Named final : public MergeOperator {
   public:
    explicit Named(std::string name) : name_(std::move(name)) {}
    std::string_view Name() const override { return name_; }
    Status Apply(std::string_view, std::optional<std::string_view>, Span<const std::string_view>,
                 std::string*) const override {
      return {};
    }

   private:
    const std::string name_;
  };
  const auto check = [](std::vector<std::string> names) {
    ProgramOperators::Pointers operators;
    for (std::string& name : names) operators.push_back(std::make_shared<Named>(std::move(name)));
    return ProgramOperators::Check(operators).code();
  };
  EXPECT_EQ(check({"a", "b"}), Code::kOk);
  EXPECT_EQ(check({"a", "a"}), Code::kInvalidArgument);
  EXPECT_EQ(check({""}), Code::kInvalidArgument);
  EXPECT_EQ(check({std::string(256, 'n')}), Code::kInvalidArgument);
  EXPECT_EQ(check({"uint64add"}), Code::kInvalidArgument);
  EXPECT_EQ(ProgramOperators::Check({nullptr}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace mergedb::kv
