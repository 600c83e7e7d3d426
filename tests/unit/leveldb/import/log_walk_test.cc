// Goal: LevelDB's logs become sorted entries, all of them however little memory there is; a torn tail is dropped and
// reported, and damage that whole records follow is an error that names the file, or a reported loss. Method: logs
// made batch by batch, in memory, and damaged at chosen places.
#include "leveldb/import/log_walk.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "iterator/merging_iterator.h"
#include "tests/unit/leveldb/import/sources.h"

namespace mergedb::leveldb_import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace mergedb::testing;

class LogWalkTest : public ImportTest {
 protected:
  // Writes logs 000003.log, 000004.log, ... and walks through them.
  Status Walk(const std::vector<std::string>& logs) {
    walk_ = {};
    losses_.clear();
    std::vector<SourceLog> sources;
    for (size_t i = 0; i < logs.size(); ++i) {
      const kv::FileNumber number{3 + i};
      const std::string name = leveldb_format::PrintName(leveldb_format::NameKind::kLog, number);
      Write(name, logs[i]);
      sources.push_back({.name = name, .number = number, .bytes = logs[i].size()});
    }
    return WalkLogs(walking_, sources, options_, &walk_);
  }
  void ReportLosses() {
    walking_.on_loss = [this](const std::string& name, uint64_t offset, uint64_t bytes, std::string_view) {
      losses_.push_back(name + " " + std::to_string(offset) + "+" + std::to_string(bytes));
    };
  }
  // All entries, in order. Consumes the pieces.
  std::vector<std::string> Walked() { return Entries(*iterator::NewMergingIterator(order_, std::move(walk_.pieces))); }

  Walking walking_{.file_system = &files_, .directory = kHome, .order = order_};
  uint64_t next_file_ = 100;
  LogWalkOptions options_{.allocate_number = [this] { return kv::FileNumber{next_file_++}; },
                          .entropy = [] { return uint64_t{42}; }};
  LogWalk walk_;
  std::vector<std::string> losses_;
};

TEST_F(LogWalkTest, EntriesAreSortedByKeyAndTheNewestFirst) {
  ASSERT_OK(Walk({LogOf({{Put("b", 5, "1"), Put("a", 6, "2")}, {Deleted("b", 7)}}),
                  LogOf({{Put("a", 8, "3"), Deleted("c", 9), Put("b", 10, "4")}})}));
  EXPECT_EQ(walk_.pieces.size(), 1u);
  EXPECT_THAT(walk_.tables, IsEmpty());
  EXPECT_EQ(walk_.report, "");
  EXPECT_EQ(walk_.first_sequence, 5u);
  EXPECT_EQ(walk_.last_sequence, 10u);
  EXPECT_THAT(Walked(), ElementsAre("a#8,PUT=3", "a#6,PUT=2", "b#10,PUT=4", "b#7,DELETE", "b#5,PUT=1", "c#9,DELETE"));
}

TEST_F(LogWalkTest, NoOperationsAreNoPieces) {
  std::string nothing;
  std::string record;
  leveldb_format::AppendBatchHeader(&record, 77, 0);
  leveldb_format::LogWriter().Append(record, &nothing);
  ASSERT_OK(Walk({"", nothing}));
  EXPECT_THAT(walk_.pieces, IsEmpty());
  EXPECT_EQ(walk_.first_sequence, 0u);
  EXPECT_EQ(walk_.last_sequence, 0u) << "a batch without operations has no sequence";
}

// A damaged writer may use a sequence twice. LevelDB applies the later operation last.
TEST_F(LogWalkTest, OfTwoOperationsWithOneSequenceTheLaterStays) {
  ASSERT_OK(Walk({LogOf({{Put("k", 5, "first")}, {Put("k", 5, "second")}})}));
  EXPECT_THAT(Walked(), ElementsAre("k#5,PUT=second"));
}

TEST_F(LogWalkTest, LittleMemorySpillsIntoTablesThatTheCallerRemoves) {
  std::vector<std::vector<KeyChange>> batches;
  for (kv::Sequence sequence = 1; sequence <= 100; ++sequence) {
    const std::string key = "k" + std::to_string(sequence * 37 % 10);
    batches.push_back({sequence % 3 == 0 ? Deleted(key, sequence) : Put(key, sequence, std::string(100, 'v'))});
  }
  ASSERT_OK(Walk({LogOf(batches)}));
  ASSERT_EQ(walk_.pieces.size(), 1u);
  const std::vector<std::string> expected = Walked();
  ASSERT_EQ(expected.size(), 100u);

  options_.piece_bytes = 2000;
  ASSERT_OK(Walk({LogOf(batches)}));
  EXPECT_GT(walk_.tables.size(), 3u);
  EXPECT_EQ(walk_.pieces.size(), walk_.tables.size() + 1) << "the last piece stays in memory";
  const std::vector<std::string> oldest = Entries(*walk_.pieces.back());
  EXPECT_THAT(oldest, ::testing::Contains(::testing::StartsWith("k7#1,PUT")));
  EXPECT_THAT(Entries(*walk_.pieces.front()), ::testing::Contains(::testing::StartsWith("k0#100,PUT")));
  for (const kv::FileNumber number : walk_.tables) EXPECT_OK(files_.SizeOf(format::TablePath(kHome, number)));
  EXPECT_EQ(Walked(), expected);
}

TEST_F(LogWalkTest, ATableThatCannotBeWrittenIsStillListed) {
  options_.piece_bytes = 1;
  files_.AddFault({.op = FileOp::kWrite, .path_contains = ".tbl", .sticky = true});
  EXPECT_THAT(Walk({LogOf({{Put("k", 1, "v")}})}), StatusIs(Code::kIOError));
  EXPECT_THAT(walk_.tables, ElementsAre(kv::FileNumber{100}));
}

// ---- torn tails -----------------------------------------------------------------------------------------------

TEST_F(LogWalkTest, ARecordThatTheEndOfTheFileCutsIsDroppedAndReported) {
  const std::string before = LogOf({{Put("a", 1, "1")}});
  const std::string whole = LogOf({{Put("a", 1, "1")}, {Put("b", 2, "2")}});
  for (size_t bytes = before.size(); bytes <= whole.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    ASSERT_OK(Walk({whole.substr(0, bytes)}));
    const bool is_cut = bytes > before.size() && bytes < whole.size();
    EXPECT_EQ(walk_.report, is_cut ? "dropped an unfinished record at the end of /db/000003.log\n" : "");
    EXPECT_EQ(walk_.last_sequence, bytes == whole.size() ? 2u : 1u);
    EXPECT_EQ(Walked().size(), bytes == whole.size() ? 2u : 1u);
  }
}

TEST_F(LogWalkTest, ADamagedLastRecordIsATornTail) {
  std::string log = LogOf({{Put("a", 1, "1")}, {Put("b", 2, "2")}});
  log.back() ^= 1;
  ASSERT_OK(Walk({log, ""}));
  EXPECT_THAT(walk_.report, AllOf(HasSubstr("dropped a torn tail: "), HasSubstr("/db/000003.log: offset ")));
  EXPECT_EQ(walk_.last_sequence, 1u);
  EXPECT_THAT(Walked(), ElementsAre("a#1,PUT=1"));
}

// ---- damage ---------------------------------------------------------------------------------------------------

TEST_F(LogWalkTest, DamageThatWholeRecordsFollowIsAnErrorWhereverTheyFollow) {
  const std::string record = LogOf({{Put("a", 1, "1")}});
  const size_t record_bytes = record.size();
  std::string two = LogOf({{Put("a", 1, "1")}, {Put("b", 2, "2")}});
  two[record_bytes - 1] ^= 1;
  const auto is_refusal = StatusIs(Code::kCorruption, HasSubstr("/db/000003.log: offset 0, "));
  EXPECT_THAT(Walk({two}), is_refusal) << "in the same block";

  std::string blocks = LogOf({{Put("a", 1, std::string(40'000, 'v'))}, {Put("b", 2, "2")}});
  blocks[100] ^= 1;
  EXPECT_THAT(Walk({blocks}), is_refusal) << "in the next block";

  std::string one = record;
  one.back() ^= 1;
  EXPECT_THAT(Walk({one, LogOf({{Put("b", 2, "2")}})}), is_refusal) << "in the next log";
}

TEST_F(LogWalkTest, ReportedLossesCostTheirOwnBlockOnly) {
  ReportLosses();
  std::vector<std::vector<KeyChange>> batches;
  for (kv::Sequence sequence = 1; sequence <= 3; ++sequence)
    batches.push_back(
        {Put("k" + std::to_string(sequence), sequence, std::string(leveldb_format::kLogBlockBytes / 2, 'v'))});
  std::string log = LogOf(batches);  // k1 and the first part of k2 | the rest of k2 and k3
  log[50] ^= 1;
  ASSERT_OK(Walk({log, LogOf({{Put("k4", 4, "4")}})}));
  ASSERT_FALSE(losses_.empty());
  EXPECT_EQ(losses_.front(), "000003.log 0+" + std::to_string(leveldb_format::kLogBlockBytes));
  EXPECT_EQ(walk_.report, "") << "losses are not reported twice";
  EXPECT_EQ(walk_.first_sequence, 3u);
  const std::vector<std::string> walked = Walked();
  ASSERT_EQ(walked.size(), 2u);
  EXPECT_THAT(walked.front(), ::testing::StartsWith("k3#3,PUT"));
  EXPECT_EQ(walked.back(), "k4#4,PUT=4");
}

// The record's checksum is right, and its batch is not: all of it counts or nothing.
TEST_F(LogWalkTest, ABatchWithAWrongCountGivesNoOperation) {
  for (const uint32_t count : {1u, 3u}) {
    SCOPED_TRACE(count);
    std::string record;
    leveldb_format::AppendBatchHeader(&record, 5, count);
    leveldb_format::AppendOperation(&record, kv::Kind::kPut, "a", "1");
    leveldb_format::AppendOperation(&record, kv::Kind::kPut, "b", "2");
    std::string log = LogOf({{Put("z", 4, "0")}});
    const size_t offset = log.size();
    leveldb_format::LogWriter(offset).Append(record, &log);
    walking_.on_loss = nullptr;
    EXPECT_THAT(Walk({log}),
                StatusIs(Code::kCorruption, HasSubstr("/db/000003.log: record at offset " + std::to_string(offset))));
    ReportLosses();
    ASSERT_OK(Walk({log}));
    EXPECT_THAT(losses_, ElementsAre("000003.log " + std::to_string(offset) + "+" + std::to_string(record.size())));
    EXPECT_EQ(walk_.last_sequence, 4u);
    EXPECT_THAT(Walked(), ElementsAre("z#4,PUT=0"));
  }
}

TEST_F(LogWalkTest, ErrorsOfTheFileAndOfTheCallerEndTheWalkEvenIfLossesAreReported) {
  ReportLosses();
  const std::string log = LogOf({{Put("k", 1, "v")}});
  files_.AddFault({.op = FileOp::kRead, .path_contains = ".log", .sticky = true});
  EXPECT_THAT(Walk({log}), StatusIs(Code::kIOError));
  files_.ClearFaults();
  uint64_t bytes = 0;
  walking_.advance = [&](uint64_t read) {
    bytes += read;
    return Status::Aborted("enough");
  };
  EXPECT_THAT(Walk({log}), StatusIs(Code::kAborted));
  EXPECT_EQ(bytes, log.size());
  EXPECT_THAT(losses_, IsEmpty());
}

}  // namespace
}  // namespace mergedb::leveldb_import
