// Goal: each broken invariant is detected by its own check. Method: Versions made by hand, without the builder.
#include "version/invariants.h"

#include <gtest/gtest.h>

#include "tests/unit/version/order.h"

namespace mergedb::version::invariants_test {
namespace {

std::shared_ptr<format::FileMeta> File(uint64_t number, std::string smallest, std::string largest) {
  auto file = std::make_shared<format::FileMeta>();
  file->number = kv::FileNumber{number};
  file->entries = 10;
  file->smallest = std::move(smallest);
  file->largest = std::move(largest);
  file->smallest_sequence = 1;
  file->largest_sequence = 9;
  return file;
}

RunPtr RunOf(uint64_t position, std::vector<VirtualTable> virtual_tables) {
  return std::make_shared<Run>(kv::Position{position}, 0, std::move(virtual_tables));
}

std::string Broken(const Version& version) {
  const Status status = CheckInvariants(kOrder, version);
  if (status.ok()) return "";
  EXPECT_TRUE(status.IsCorruption());
  return std::string(status.message().substr(0, 2));
}

TEST(Invariants, HoldInAnOrdinaryTree) {
  const auto shared = File(1, "a", "z");
  const Version version({RunOf(9, {{shared, {.lower = {}, .upper = "f"}}, {File(2, "f", "g"), {}}}),
                         RunOf(3, {{shared, {.lower = "m", .upper = {}}}})});
  EXPECT_EQ(Broken(version), "");
}

TEST(Invariants, I2PositionsDescendAndRunsShowSomething) {
  EXPECT_EQ(Broken(Version({RunOf(3, {{File(1, "a", "b"), {}}}), RunOf(9, {{File(2, "a", "b"), {}}})})), "I2");
  EXPECT_EQ(Broken(Version({RunOf(3, {})})), "I2");
}

TEST(Invariants, I3VirtualTablesAreDisjointAndInOrder) {
  EXPECT_EQ(Broken(Version({RunOf(3, {{File(1, "a", "f"), {}}, {File(2, "f", "g"), {}}})})), "I3");
  EXPECT_EQ(Broken(Version({RunOf(3, {{File(1, "m", "n"), {}}, {File(2, "f", "g"), {}}})})), "I3");
}

TEST(Invariants, I4BoundsAreClippedToTheFile) {
  EXPECT_EQ(Broken(Version({RunOf(3, {{File(1, "c", "f"), {.lower = "a", .upper = {}}}})})), "I4");
  EXPECT_EQ(Broken(Version({RunOf(3, {{File(1, "c", "f"), {.lower = "g", .upper = {}}}})})), "I4");
}

TEST(Invariants, I5FilesAreSane) {
  EXPECT_EQ(Broken(Version({RunOf(3, {{File(1, "f", "c"), {}}})})), "I5");
  const auto sequences = File(1, "a", "b");
  sequences->smallest_sequence = 10;
  EXPECT_EQ(Broken(Version({RunOf(3, {{sequences, {}}})})), "I5");
  const auto tombstones = File(1, "a", "b");
  tombstones->tombstones = 11;
  EXPECT_EQ(Broken(Version({RunOf(3, {{tombstones, {}}})})), "I5");
  const auto open = File(1, "a", "b");
  open->largest_is_open = true;
  EXPECT_EQ(Broken(Version({RunOf(3, {{open, {}}})})), "I5");
  open->range_tombstones = 1;
  EXPECT_EQ(Broken(Version({RunOf(3, {{open, {}}})})), "");
  open->largest = "a";
  EXPECT_EQ(Broken(Version({RunOf(3, {{open, {}}})})), "I5");
  const auto nothing = File(1, "a", "b");
  nothing->entries = 0;
  EXPECT_EQ(Broken(Version({RunOf(3, {{nothing, {}}})})), "I5");
}

TEST(Invariants, I6AKeyOfAFileIsShownOnce) {
  const auto shared = File(1, "a", "z");
  EXPECT_EQ(Broken(Version({RunOf(9, {{shared, {.lower = {}, .upper = "f"}}}),
                            RunOf(3, {{shared, {.lower = "e", .upper = {}}}})})),
            "I6");
  EXPECT_EQ(Broken(Version({RunOf(9, {{File(1, "a", "b"), {}}}), RunOf(3, {{File(1, "c", "d"), {}}})})), "I6");
}

format::BlobFilePtr Values(uint64_t number, uint64_t record_bytes = 1000) {
  return std::make_shared<format::BlobFileMeta>(
      format::BlobFileMeta{.number = kv::FileNumber{number}, .bytes = 4096, .record_bytes = record_bytes});
}

TEST(Invariants, I7BlobFilesThatTablesReferToAreThere) {
  const auto table = File(1, "a", "z");
  table->values = {{.file = kv::FileNumber{7}, .bytes = 10}, {.file = kv::FileNumber{8}, .bytes = 10}};
  const auto runs = [&] { return std::vector<RunPtr>{RunOf(3, {{table, {}}})}; };
  EXPECT_EQ(Broken(Version(runs(), {Values(7), Values(8)})), "");
  EXPECT_EQ(Broken(Version(runs(), {Values(8)})), "I7");
  EXPECT_EQ(Broken(Version(runs())), "I7");
  table->values = {{.file = kv::FileNumber{1}, .bytes = 10}};
  EXPECT_EQ(Broken(Version(runs(), {Values(1)})), "I7") << "one number, a table and a blob file";
  table->values = {{.file = kv::FileNumber{7}, .bytes = Values(7)->record_bytes}};
  EXPECT_EQ(Broken(Version(runs(), {Values(7)})), "");
  ++table->values[0].bytes;
  EXPECT_EQ(Broken(Version(runs(), {Values(7)})), "I7") << "more than the file holds";
}

}  // namespace
}  // namespace mergedb::version::invariants_test
