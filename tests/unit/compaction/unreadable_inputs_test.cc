// Goal: what a compaction could not read is left alone where a version shows it, is read again after growing pauses,
// and is forgotten once it is readable or gone. Method: versions of a few tables, a time that the test passes.
#include "compaction/unreadable_inputs.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/tree_text.h"

namespace mergedb::compaction {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
const Status kDamage = Status::Corruption("000008.tbl: block at 0: checksum");
const Status kDiskError = Status::IOError("000008.tbl: pread: Input/output error");

class UnreadableInputsTest : public ::testing::Test {
 protected:
  version::VersionPtr Parse(const std::string& text) {
    auto parsed = mergedb::testing::ParseTree(order_, text);
    EXPECT_OK(parsed.status());
    return parsed ? *parsed : std::make_shared<version::Version>();
  }
  // "8:[a..f)", "8:[a..f)block", "blob 7"
  std::string In(const version::Version& version) {
    const auto unreadable = inputs_.In(version);
    if (unreadable == nullptr) return "null";
    std::string text;
    for (const picker::UnreadableKeys& each : unreadable->keys) {
      text += (text.empty() ? "" : " ") + std::to_string(kv::ToInt(each.position)) + ":[" +
              each.bounds.lower.value_or("") + ".." + each.bounds.upper.value_or("") + ")" +
              (each.is_block ? "block" : "");
    }
    for (const kv::FileNumber file : unreadable->blob_files) text += " blob " + std::to_string(kv::ToInt(file));
    return text;
  }
  static FailedInput Table(uint64_t number, format::Bounds keys = {}) {
    return {.file = kv::FileNumber{number}, .is_blob_file = false, .keys = std::move(keys)};
  }
  void Prune(const version::VersionPtr& version) {
    inputs_.Prune([&] { return version; });
  }

  const kv::Order order_{BytewiseComparator()};
  UnreadableInputs inputs_{order_};
  const version::VersionPtr version_ = Parse(
      "position 9 level 0: 000012[a..z]1MB\n"
      "position 8 level 1: 000008[a..f]1MB 000007[k..p]1MB\n"
      "position 1 level bottom: 000001[a..z]9MB{7:1MB}\n"
      "values 7 2MB\n");
};

TEST_F(UnreadableInputsTest, LeavesAloneTheKeysOfABlockWhereTheFileIsShown) {
  EXPECT_EQ(In(*version_), "null");
  EXPECT_TRUE(inputs_.Note(Table(8, {.lower = "b", .upper = "c"}), kDamage, 0));
  EXPECT_EQ(In(*version_), "8:[b..c)block");
  EXPECT_FALSE(inputs_.Note(Table(8, {.lower = "d", .upper = "e"}), kDamage, 0)) << "the file is known";
  EXPECT_EQ(In(*version_), "8:[b..c)block 8:[d..e)block");
  // The keys beside the damage went elsewhere, and the rest moved to another run.
  EXPECT_EQ(In(*Parse("position 7 level 2: 000008[a..c)1MB 000008[e..f]\n")), "7:[b..c)block");
  EXPECT_EQ(inputs_.count(), 1u);
  EXPECT_EQ(inputs_.status().ToString(), kDamage.ToString());
}

TEST_F(UnreadableInputsTest, LeavesAloneAllKeysOfATableThatCannotBeOpened) {
  EXPECT_TRUE(inputs_.Note(Table(8), kDiskError, 0));
  EXPECT_EQ(In(*version_), "8:[a..k)");
  inputs_.Note(Table(8, {.lower = "b", .upper = "c"}), kDamage, 0);
  EXPECT_EQ(In(*version_), "8:[a..k)");
}

TEST_F(UnreadableInputsTest, ABlockThatIsKnownIsNotCountedAgain) {
  const auto block = [](int i) {
    return Table(7, {.lower = "l" + std::to_string(2 * i), .upper = "l" + std::to_string(2 * i + 1)});
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) inputs_.Note(block(i), kDamage, 0);
  }
  EXPECT_EQ(In(*version_), "8:[l0..l1)block 8:[l2..l3)block 8:[l4..l5)block 8:[l6..l7)block");
  inputs_.Note(block(4), kDamage, 0);
  EXPECT_EQ(In(*version_), "8:[k..)") << "too many to list";
}

TEST_F(UnreadableInputsTest, LeavesAloneATableWithManyDamagedBlocks) {
  for (int i = 0; i < 40; ++i) {
    inputs_.Note(Table(7, {.lower = "l" + std::to_string(100 + i), .upper = "l" + std::to_string(101 + i)}), kDamage,
                 0);
  }
  EXPECT_EQ(In(*version_), "8:[k..)");
}

TEST_F(UnreadableInputsTest, ForgetsWhatIsGone) {
  inputs_.Note(Table(8, {.lower = "b", .upper = "c"}), kDamage, 0);
  inputs_.Note({.file = kv::FileNumber{7}, .is_blob_file = true, .keys = {}}, kDamage, 0);
  picker::CompactionPick pick;
  pick.sources = {kv::Position{9}, kv::Position{8}};
  inputs_.NotePick(pick, kDamage, 0);
  EXPECT_EQ(In(*version_), "8:[b..c)block 9:[..) 8:[..) blob 7");
  Prune(version_);
  EXPECT_EQ(inputs_.count(), 3u);
  Prune(Parse("position 8 level 1: 000008[d..f]1MB\n"));  // the keys of the block are not shown any more
  EXPECT_TRUE(inputs_.empty());
  EXPECT_OK(inputs_.status());
}

TEST_F(UnreadableInputsTest, PausesGrowToTenMinutes) {
  inputs_.Note(Table(8), kDiskError, 0);
  uint64_t now = 0, probes = 0;
  EXPECT_EQ(inputs_.NanosToNextDue(0), kSecond / 10);
  for (; now < 3'600 * kSecond; now += kSecond / 10) {
    const auto probe = inputs_.NextDue(now);
    if (!probe) continue;
    EXPECT_EQ(probe->file, kv::FileNumber{8});
    inputs_.NoteProbe(probe->file, false, now);
    ++probes;
  }
  EXPECT_EQ(probes, 13u + 4u) << "0.1 s to 409.6 s, then each 600 s";
  EXPECT_EQ(inputs_.count(), 1u);
  inputs_.MakeDue();
  EXPECT_TRUE(inputs_.NextDue(now));
  inputs_.NoteProbe(kv::FileNumber{8}, true, now);
  EXPECT_EQ(In(*version_), "null");
}

TEST_F(UnreadableInputsTest, DamageIsReadAgainAfterFiveSeconds) {
  inputs_.Note(Table(8), kDamage, 0);
  EXPECT_FALSE(inputs_.NextDue(5 * kSecond - 1));
  EXPECT_TRUE(inputs_.NextDue(5 * kSecond));
  EXPECT_FALSE(inputs_.NextDue(5 * kSecond)) << "it is being read";
}

TEST_F(UnreadableInputsTest, ABlobFileMayBePickedAgainAndPausesLongerIfThatFails) {
  const FailedInput blob{.file = kv::FileNumber{7}, .is_blob_file = true, .keys = {}};
  EXPECT_TRUE(inputs_.Note(blob, kDamage, 0));
  EXPECT_FALSE(inputs_.NextDue(5 * kSecond)) << "there is nothing to probe";
  EXPECT_EQ(In(*version_), "null");
  EXPECT_EQ(inputs_.count(), 0u) << "a file that may be picked again is not counted";
  EXPECT_OK(inputs_.status());
  EXPECT_FALSE(inputs_.NanosToNextDue(5 * kSecond));
  EXPECT_FALSE(inputs_.Note(blob, kDamage, 6 * kSecond)) << "it was told before";
  EXPECT_EQ(In(*version_), " blob 7");
  EXPECT_EQ(inputs_.NanosToNextDue(6 * kSecond), 10 * kSecond);
}

}  // namespace
}  // namespace mergedb::compaction
