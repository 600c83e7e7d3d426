// Goal: a program that is compiled as C++17 uses the C++ interface. mergedb::Span stands in for std::span.
// Method: CMake compiles this file as C++17 and as C++20, with all warnings, and links it with the library, which
// is C++20. It derives from every class that a program may implement and whose functions take a Span, so a
// difference in a symbol or in a layout between the two standards fails the link or the run.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mergedb/checkpoint.h"
#include "mergedb/cursor.h"
#include "mergedb/db.h"
#include "mergedb/env.h"
#include "mergedb/keyspace.h"
#include "mergedb/leveldb.h"
#include "mergedb/merge.h"
#include "mergedb/merge_operator.h"
#include "mergedb/repair.h"
#include "mergedb/snapshot.h"
#include "mergedb/span.h"
#include "mergedb/transaction.h"
#include "mergedb/write_batch.h"
#if __cplusplus >= 202002L
#include <span>
#endif

namespace mergedb {
namespace {

static_assert(__cplusplus == EXPECTED_STANDARD);

std::string Joined(Span<const std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) joined.append(word).append(";");
  return joined;
}

TEST(Span, TakesArraysContainersAndLists) {
  const std::string_view array[] = {"a", "b"};
  std::vector<std::string_view> vector = {"c"};
  const std::array<std::string_view, 2> fixed = {"d", "e"};
  EXPECT_EQ(Joined(array), "a;b;");
  EXPECT_EQ(Joined(vector), "c;");
  EXPECT_EQ(Joined(fixed), "d;e;");
  EXPECT_EQ(Joined({"f", "g", "h"}), "f;g;h;");
  EXPECT_EQ(Joined({array, 1}), "a;");
  EXPECT_EQ(Joined({}), "");
  EXPECT_EQ(Joined(std::vector<std::string_view>()), "");
}

TEST(Span, HasTheMembersOfStdSpan) {
  std::vector<int> numbers = {1, 2, 3, 4};
  const Span<int> span = numbers;
  span[0] = 10;
  EXPECT_EQ(numbers[0], 10);
  EXPECT_EQ(span.data(), numbers.data());
  EXPECT_EQ(span.front() + span.back(), 14);
  EXPECT_EQ(span.first(2).size(), 2u);
  EXPECT_EQ(span.last(1)[0], 4);
  EXPECT_EQ(span.subspan(1)[0], 2);
  EXPECT_EQ(span.subspan(1, 2).back(), 3);
  EXPECT_TRUE(span.subspan(4).empty());
}

TEST(Span, RefusesOtherElements) {
  struct Base {};
  struct Derived : Base {
    int more;
  };
  static_assert(std::is_convertible_v<std::vector<int>&, Span<const int>>);
  static_assert(std::is_convertible_v<Span<int>, Span<const int>>);
  static_assert(!std::is_convertible_v<const std::vector<int>&, Span<int>>, "const");
  static_assert(!std::is_convertible_v<std::vector<int>&, Span<const long>>, "another size");
  static_assert(!std::is_convertible_v<std::vector<Derived>&, Span<const Base>>, "another stride");
  static_assert(std::is_trivially_copyable_v<Span<int>>);
}

#if __cplusplus >= 202002L
TEST(Span, ConvertsFromAndToStdSpan) {
  const std::vector<std::string_view> words = {"a", "b", "c"};
  const std::span<const std::string_view> standard = words;
  EXPECT_EQ(Joined(standard), "a;b;c;");
  EXPECT_EQ(Joined(standard.subspan(1)), "b;c;");
  const Span<const std::string_view> ours = words;
  const std::span<const std::string_view> back = ours;
  EXPECT_EQ(back.data(), words.data());
  EXPECT_EQ(back.size(), 3u);
}
#endif

class Joining final : public AssociativeMergeOperator {
 public:
  std::string_view Name() const override { return "cxx17.joining"; }
  Status Join(std::string_view, std::string_view older, std::string_view newer, std::string* joined) const override {
    joined->append(older).append("+").append(newer);
    return {};
  }
};

class Counting final : public MergeOperator {
 public:
  std::string_view Name() const override { return "cxx17.counting"; }
  Status Apply(std::string_view, std::optional<std::string_view> base, Span<const std::string_view> operands,
               std::string* result) const override {
    result->assign(base.value_or("none")).append(":");
    for (const std::string_view operand : operands) result->append(operand);
    return {};
  }
};

class Backwards final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "cxx17.backwards"; }
};

class Cxx17 : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/mergedb_cxx17_XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    directory_ = path;
  }
  void TearDown() override {
    if (!directory_.empty()) (void)DB::Destroy({}, directory_);
  }
  Status OpenAgain(const Options& options) {
    db_.reset();
    ASSIGN_OR_RETURN(db_, DB::Open(options, directory_));
    return {};
  }
  std::string Value(std::string_view key) {
    std::string value;
    const Status status = db_->Get({}, key, &value);
    return status.ok() ? value : status.ToString();
  }

  std::string directory_;
  std::unique_ptr<DB> db_;
};

TEST_F(Cxx17, OwnMergeOperatorsAreCalled) {
  Options options;
  options.merge_operators = {std::make_shared<Joining>(), std::make_shared<Counting>()};
  ASSERT_TRUE(OpenAgain(options).ok());
  ASSERT_TRUE(db_->Put({}, "joined", "a").ok());
  for (const char* operand : {"b", "c"}) {
    ASSERT_TRUE(db_->Merge({}, "joined", merge::Named("cxx17.joining", operand)).ok());
    ASSERT_TRUE(db_->Merge({}, "counted", merge::Named("cxx17.counting", operand)).ok());
  }
  EXPECT_EQ(Value("joined"), "a+b+c");
  EXPECT_EQ(Value("counted"), "none:bc");
  std::string joined;
  ASSERT_TRUE(Joining().Apply("key", std::nullopt, {"x", "y"}, &joined).ok());
  EXPECT_EQ(joined, "x+y") << "a program may call an operator with a list";
}

TEST_F(Cxx17, BatchesScansAndTransactionsWork) {
  const Backwards backwards;
  Options options;
  options.comparator = &backwards;
  ASSERT_TRUE(OpenAgain(options).ok());
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  WriteOptions synced;
  synced.durability = Durability::kSynced;
  ASSERT_TRUE(db_->Write(synced, batch).ok());
  auto begun = Transaction::Begin(*db_);
  ASSERT_TRUE(begun.has_value()) << begun.error().ToString();
  ASSERT_TRUE((*begun)->Put("c", "3").ok());
  ASSERT_TRUE((*begun)->Commit().ok());
  std::string keys;
  const auto iterator = db_->NewIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) keys.append(iterator->key());
  EXPECT_TRUE(iterator->status().ok());
  EXPECT_EQ(keys, "cba");
}

TEST_F(Cxx17, StatusesAndMacrosPassErrorsOn) {
  Options options;
  options.mode = OpenMode::kMustExist;
  const Status status = OpenAgain(options);
  EXPECT_FALSE(status.ok());
  const auto passed_on = [&]() -> Status {
    RETURN_IF_ERROR(Status());
    RETURN_IF_ERROR(Status::InvalidArgument("passed on"));
    return {};
  };
  EXPECT_EQ(passed_on().ToString(), "InvalidArgument: passed on");
}

}  // namespace
}  // namespace mergedb
