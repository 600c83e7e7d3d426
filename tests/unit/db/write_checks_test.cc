// Goal: a write that can never succeed is refused before anything is written, and one at the limit is not. Method:
// keys, values, ranges, names and batches at each limit, one below and one above.
#include "db/access/write_checks.h"

#include <gtest/gtest.h>

#include "format/batch.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "testing/reverse_comparator.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

const kv::Order kBytewise(BytewiseComparator());

// One byte longer than the limit. The tests share it, since it is large.
const std::string kBeyond(kKeyBytesMax + 1, 'k');
const std::string_view kLargest = std::string_view(kBeyond).substr(1);

TEST(WriteChecks, AKeyHasAtMostItsLimit) {
  EXPECT_OK(CheckKey(""));
  EXPECT_OK(CheckKey(kLargest));
  EXPECT_THAT(CheckKey(kBeyond), StatusIs(Code::kInvalidArgument, HasSubstr("key of")));
}

TEST(WriteChecks, AValueHasAtMostItsLimit) {
  const char byte = 'v';  // only the size is looked at
  EXPECT_OK(CheckValue({&byte, kValueBytesMax}));
  EXPECT_THAT(CheckValue({&byte, kValueBytesMax + 1}), StatusIs(Code::kInvalidArgument, HasSubstr("value of")));
}

TEST(WriteChecks, ARangeDoesNotBeginAfterItsEnd) {
  const testing::ReverseComparator comparator;
  const kv::Order reverse(&comparator);
  EXPECT_OK(CheckRange(kBytewise, "a", "b"));
  EXPECT_OK(CheckRange(kBytewise, "a", "a"));
  EXPECT_THAT(CheckRange(kBytewise, "b", "a"), StatusIs(Code::kInvalidArgument, HasSubstr("'b', after its end 'a'")));
  EXPECT_OK(CheckRange(reverse, "b", "a"));
  EXPECT_THAT(CheckRange(reverse, "a", "b"), StatusIs(Code::kInvalidArgument));
}

TEST(WriteChecks, EndsOfRangesAreKeys) {
  EXPECT_OK(CheckRange(kBytewise, "", kLargest));
  EXPECT_THAT(CheckRange(kBytewise, "", kBeyond), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(CheckRange(kBytewise, kBeyond, "z"), StatusIs(Code::kInvalidArgument));
}

TEST(WriteChecks, AnOperandIsWellFormed) {
  EXPECT_OK(CheckMerge(merge::Append("x")));
  EXPECT_THAT(CheckMerge(""), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(CheckMerge("\xff\xff"), StatusIs(Code::kInvalidArgument));
}

TEST(WriteChecks, AKeyspaceHasANameAndTheBytewiseOrder) {
  EXPECT_THAT(CheckKeyspace("", {}), StatusIs(Code::kInvalidArgument));
  EXPECT_OK(CheckKeyspace("n", {}));
  EXPECT_OK(CheckKeyspace(std::string(kKeyspaceNameBytesMax, 'n'), {}));
  EXPECT_THAT(CheckKeyspace(std::string(kKeyspaceNameBytesMax + 1, 'n'), {}), StatusIs(Code::kInvalidArgument));
  const testing::ReverseComparator reverse;
  EXPECT_THAT(CheckKeyspace("n", {.comparator = &reverse}), StatusIs(Code::kNotSupported, HasSubstr("test.reverse")));
  EXPECT_THAT(CheckKeyspace("n", {.comparator = nullptr}), StatusIs(Code::kInvalidArgument));
}

Status Check(const WriteBatch& batch, bool* has_keyspaces = nullptr) {
  OperatorNames names;
  bool ignored = false;
  return CheckBatch(kBytewise, batch, &names, has_keyspaces == nullptr ? &ignored : has_keyspaces);
}

TEST(WriteChecks, EachEntryOfABatchIsChecked) {
  const auto with = [](const std::function<void(WriteBatch*)>& add) {
    WriteBatch batch;
    batch.Put("a", "1");
    add(&batch);
    batch.Delete("z");
    return Check(batch);
  };
  EXPECT_OK(with([](WriteBatch* batch) { batch->DeleteRange("b", "c"); }));
  EXPECT_THAT(with([](WriteBatch* batch) { batch->Put(kBeyond, ""); }), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(with([](WriteBatch* batch) { batch->DeleteRange("c", "b"); }), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(with([](WriteBatch* batch) { batch->Merge("k", "\xff\xff"); }), StatusIs(Code::kInvalidArgument));
}

TEST(WriteChecks, OperatorsOfTheProgramAreNamedOnce) {
  WriteBatch batch;
  batch.Merge("a", merge::Named("mine", "1"));
  batch.Merge("b", merge::Append("2"));
  batch.Merge("c", merge::Named("mine", "3"));
  OperatorNames names;
  bool has_keyspaces = false;
  EXPECT_OK(CheckBatch(kBytewise, batch, &names, &has_keyspaces));
  EXPECT_EQ(names.List(), std::vector<std::string>{"mine"});
}

TEST(WriteChecks, ABatchWithoutNamedKeyspacesHasNone) {
  WriteBatch batch;
  bool has_keyspaces = false;
  EXPECT_OK(Check(batch, &has_keyspaces));
  batch.Put("a", "1");
  EXPECT_OK(Check(batch, &has_keyspaces));
  EXPECT_FALSE(has_keyspaces);
}

}  // namespace
}  // namespace mergedb::db
