// Goal: any version of a key that begins with the prefix is found, in whichever part of the SuperVersion it lies, and
// no other key is. Method: one key in one part; the keys around the prefix.
#include "read/begins_any.h"

#include <gtest/gtest.h>

#include "tests/unit/read/super_versions.h"

namespace mergedb::read {
namespace {

using testing::DeleteEntry;
using testing::PutEntry;

class BeginsAny : public ::testing::Test {
 protected:
  bool Finds(const SuperVersion& super_version, const std::string& prefix = "ab") {
    const auto found = BeginsAnyKey(tables_.order, *tables_.cache, super_version, prefix);
    EXPECT_OK(found.status());
    return found && *found;
  }
  // Whether the key is found in each of the parts: active memtable, immutable memtable, newer run, older run.
  std::string FoundIn(const testing::OwnedEntry& entry, const std::string& prefix = "ab") {
    const testing::OwnedEntry other = PutEntry("m", 1, "v");
    std::string found;
    found += Finds(testing::ViewOf(tables_, {entry}, {}, {}), prefix) ? 'a' : '-';
    found += Finds(testing::ViewOf(tables_, {other}, {entry}, {}), prefix) ? 'i' : '-';
    found += Finds(testing::ViewOf(tables_, {other}, {other}, {{entry}, {other}}), prefix) ? 'n' : '-';
    found += Finds(testing::ViewOf(tables_, {other}, {other}, {{other}, {entry}}), prefix) ? 'o' : '-';
    return found;
  }

  testing::Tables tables_;
};

TEST_F(BeginsAny, AKeyInAnyPart) { EXPECT_EQ(FoundIn(PutEntry("abz", 5, "v")), "aino"); }

TEST_F(BeginsAny, ThePrefixItselfAndADeletedKeyCount) {
  for (const auto& entry : {PutEntry("ab", 5, "v"), PutEntry("ab\xff\xff", 5, "v"), DeleteEntry("abc", 5)}) {
    EXPECT_TRUE(Finds(testing::ViewOf(tables_, {}, {}, {{entry}}))) << entry.key;
  }
}

TEST_F(BeginsAny, NotTheKeysAroundThePrefix) {
  const std::vector<testing::OwnedEntry> around = {PutEntry("a", 5, "v"), PutEntry("aa\xff", 5, "v"),
                                                   PutEntry("ac", 5, "v")};
  EXPECT_FALSE(Finds(testing::ViewOf(tables_, around, around, {around, around})));
  EXPECT_FALSE(Finds(testing::ViewOf(tables_, {}, {}, {{around[1]}, {around[2]}})));
}

TEST_F(BeginsAny, NotInATableWithKeysOnlyBeforeAndBehind) {
  EXPECT_FALSE(Finds(testing::ViewOf(tables_, {}, {}, {{PutEntry("aa", 1, "v"), PutEntry("ac", 2, "v")}})));
  EXPECT_TRUE(Finds(
      testing::ViewOf(tables_, {}, {}, {{PutEntry("aa", 1, "v"), PutEntry("abx", 3, "v"), PutEntry("ac", 2, "v")}})));
  EXPECT_FALSE(Finds(testing::ViewOf(tables_, {}, {}, {})));
}

// No key follows all keys with this prefix.
TEST_F(BeginsAny, APrefixOfTheLargestBytes) {
  EXPECT_EQ(FoundIn(PutEntry("\xff\xff", 5, "v"), "\xff"), "aino");
  EXPECT_EQ(FoundIn(PutEntry("\xfe\xff", 5, "v"), "\xff"), "----");
}

TEST_F(BeginsAny, ATableThatCannotBeOpenedIsAnError) {
  const SuperVersion super_version = testing::ViewOf(tables_, {}, {}, {{PutEntry("abc", 1, "v")}});
  EXPECT_FALSE(Finds(super_version, "b")) << "no table has keys there, so none is opened";
  tables_.files.AddFault({.op = testing::FileOp::kOpen});
  EXPECT_THAT(BeginsAnyKey(tables_.order, *tables_.cache, super_version, "ab"), testing::StatusIs(Code::kIOError));
}

}  // namespace
}  // namespace mergedb::read
