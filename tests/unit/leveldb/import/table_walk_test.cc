// Goal: LevelDB's tables become as few iterators as their overlaps allow, each with one table open; damage is an error
// that names the file and the place, or a reported loss that costs one block. Method: tables made by hand, in memory,
// with bounds from the MANIFEST or without, and damaged at chosen places.
#include "leveldb/import/table_walk.h"

#include <gtest/gtest.h>

#include "tests/unit/leveldb/import/sources.h"

namespace mergedb::leveldb_import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace mergedb::testing;
using Iterators = std::vector<std::unique_ptr<kv::ForwardIterator>>;

class TableWalkTest : public ImportTest {
 protected:
  void SetUp() override {
    directory_.table_options.codec.compression = Compression::kNone;
    directory_.table_options.block_bytes = 100;
  }
  // The tables of `directory_`, as the MANIFEST describes them.
  Iterators NewIterators() {
    Write(directory_.Finish());
    auto source = ReadSource(&files_, kHome, order_);
    EXPECT_OK(source.status());
    tables_ = source->tables;
    return Iterate();
  }
  Iterators Iterate() {
    auto iterators = NewTableIterators(walking_, tables_);
    EXPECT_OK(iterators.status());
    return iterators ? std::move(*iterators) : Iterators();
  }
  void ReportLosses() {
    walking_.on_loss = [this](const std::string& name, uint64_t offset, uint64_t bytes, std::string_view what) {
      losses_.push_back({.name = name, .offset = offset, .bytes = bytes, .what = std::string(what)});
    };
  }
  // The one iterator over table 000002.ldb, which holds the keys k00 to k19, in several blocks.
  std::unique_ptr<kv::ForwardIterator> LargeTable() {
    std::vector<KeyChange> changes;
    for (int i = 0; i < 20; ++i)
      changes.push_back(Put(KeyOf(i), 100 + static_cast<kv::Sequence>(i), std::string(30, 'v')));
    directory_.AddTable(1, changes);
    Iterators iterators = NewIterators();
    EXPECT_EQ(iterators.size(), 1u);
    return std::move(iterators.front());
  }
  static std::string KeyOf(int i) { return (i < 10 ? "k0" : "k") + std::to_string(i); }

  struct Lost {
    std::string name;
    uint64_t offset, bytes;
    std::string what;
  };
  LevelDbDirectory directory_;
  Walking walking_{.file_system = &files_, .directory = kHome, .order = order_};
  std::vector<SourceTable> tables_;
  std::vector<Lost> losses_;
};

TEST_F(TableWalkTest, TablesWithoutACommonKeyShareAnIterator) {
  directory_.AddTable(1, {Put("m", 3, ""), Deleted("n", 4)});
  directory_.AddTable(1, {Put("a", 1, ""), Put("b", 2, "")});
  directory_.AddTable(1, {Put("x", 5, ""), Put("y", 6, "")});
  const Iterators iterators = NewIterators();
  ASSERT_EQ(iterators.size(), 1u);
  EXPECT_THAT(Entries(*iterators[0]), ElementsAre("a#1,PUT", "b#2,PUT", "m#3,PUT", "n#4,DELETE", "x#5,PUT", "y#6,PUT"));
  EXPECT_THAT(Entries(*iterators[0]).size(), 6u) << "a second walk reads them again";
}

// A key at the end of one table and at the beginning of the next has versions in both: only a merging iterator may
// bring them together.
TEST_F(TableWalkTest, TablesWithACommonKeyOrOfTwoLevelsDoNot) {
  directory_.AddTable(1, {Put("a", 1, ""), Put("k", 9, "")});
  directory_.AddTable(1, {Put("k", 4, ""), Put("z", 2, "")});
  directory_.AddTable(0, {Put("l", 5, "")});
  directory_.AddTable(0, {Put("b", 6, ""), Put("p", 7, "")});
  directory_.AddTable(0, {Put("q", 8, "")});
  const Iterators iterators = NewIterators();
  ASSERT_EQ(iterators.size(), 4u);
  EXPECT_THAT(Entries(*iterators[0]), ElementsAre("b#6,PUT", "p#7,PUT", "q#8,PUT")) << "level 0 first";
  EXPECT_THAT(Entries(*iterators[1]), ElementsAre("l#5,PUT"));
  EXPECT_THAT(Entries(*iterators[2]), ElementsAre("a#1,PUT", "k#9,PUT"));
  EXPECT_THAT(Entries(*iterators[3]), ElementsAre("k#4,PUT", "z#2,PUT"));
}

TEST_F(TableWalkTest, AnIteratorHasOneTableOpenAtATime) {
  for (int i = 0; i < 20; ++i) directory_.AddTable(1, {Put(KeyOf(i), 1 + static_cast<kv::Sequence>(i), "v")});
  const Iterators iterators = NewIterators();
  ASSERT_EQ(iterators.size(), 1u);
  EXPECT_EQ(files_.descriptors(), 0u) << "bounds of the MANIFEST need no file";
  int count = 0;
  for (iterators[0]->SeekToFirst(); iterators[0]->Valid(); iterators[0]->Next(), ++count)
    EXPECT_EQ(files_.descriptors(), 1u);
  EXPECT_EQ(count, 20);
  EXPECT_EQ(files_.descriptors(), 0u);
}

TEST_F(TableWalkTest, TablesWithoutBoundsAreReadForThem) {
  directory_.AddTable(0, {Put("a", 1, ""), Put("c", 2, "")});
  directory_.AddTable(0, {Put("b", 3, "")});
  directory_.AddTable(0, {Put("d", 4, "")});
  NewIterators();
  for (SourceTable& table : tables_) {
    table.has_bounds = false;
    table.file.smallest = table.file.largest = "";
  }
  const Iterators iterators = Iterate();
  ASSERT_EQ(iterators.size(), 2u);
  EXPECT_THAT(Entries(*iterators[0]), ElementsAre("a#1,PUT", "c#2,PUT", "d#4,PUT"));
  EXPECT_THAT(Entries(*iterators[1]), ElementsAre("b#3,PUT"));
}

TEST_F(TableWalkTest, BoundsThatAreNoInternalKeysAreCorruption) {
  directory_.AddTable(1, {Put("a", 1, "")});
  NewIterators();
  tables_.front().file.largest = "short";
  EXPECT_THAT(NewTableIterators(walking_, tables_), StatusIs(Code::kCorruption, HasSubstr("000002.ldb")));
}

// ---- damage ---------------------------------------------------------------------------------------------------

TEST_F(TableWalkTest, ABlockWithAWrongChecksumIsAnErrorWithFileAndOffset) {
  const auto it = LargeTable();
  ASSERT_OK_AND_ASSIGN(const std::string bytes, files_.ReadWhole(kHome + "/000002.ldb"));
  ASSERT_OK(files_.FlipBit(kHome + "/000002.ldb", bytes.find("k06"), 0));
  const std::vector<std::string> entries = Entries(*it);
  EXPECT_THAT(it->status(), StatusIs(Code::kCorruption, AllOf(HasSubstr("/db/000002.ldb"), HasSubstr("offset "))));
  ASSERT_FALSE(entries.empty());
  EXPECT_LT(entries.size(), 7u) << "nothing from behind the damage";
  for (size_t i = 0; i < entries.size(); ++i)
    EXPECT_THAT(entries[i], ::testing::StartsWith(KeyOf(static_cast<int>(i)) + "#"));
}

TEST_F(TableWalkTest, AReportedLossCostsTheBlockAndNothingElse) {
  const auto it = LargeTable();
  const std::vector<std::string> whole = Entries(*it);
  ASSERT_EQ(whole.size(), 20u);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, files_.ReadWhole(kHome + "/000002.ldb"));
  const size_t at = bytes.find("k06");
  ASSERT_OK(files_.FlipBit(kHome + "/000002.ldb", at, 0));
  ReportLosses();
  const std::vector<std::string> left = Entries(*it);
  ASSERT_OK(it->status());
  ASSERT_EQ(losses_.size(), 1u);
  const Lost& lost = losses_.front();
  EXPECT_EQ(lost.name, "000002.ldb");
  EXPECT_LE(lost.offset, at);
  EXPECT_GT(lost.offset + lost.bytes, at);
  // The entries that lie in the lost block, and no others, are missing.
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    // The key itself may share its first bytes with the key before it: look for its sequence.
    std::string tag;
    leveldb_format::AppendInternalKey(&tag, "", kv::MakeTag(100 + static_cast<kv::Sequence>(i), kv::Kind::kPut));
    const size_t place = bytes.find(tag + std::string(30, 'v'));
    ASSERT_NE(place, std::string::npos);
    if (place < lost.offset || place >= lost.offset + lost.bytes) expected.push_back(whole[static_cast<size_t>(i)]);
  }
  EXPECT_LT(expected.size(), 20u);
  EXPECT_EQ(left, expected);
}

TEST_F(TableWalkTest, AMissingTableIsAnErrorThatNamesItOrALossBesideTheOtherTables) {
  directory_.AddTable(1, {Put("a", 1, "")});
  directory_.AddTable(1, {Put("b", 2, "")});
  directory_.AddTable(1, {Put("c", 3, "")});
  Iterators iterators = NewIterators();
  ASSERT_EQ(iterators.size(), 1u);
  Remove("000003.ldb");
  EXPECT_THAT(Entries(*iterators[0]), ElementsAre("a#1,PUT"));
  EXPECT_THAT(iterators[0]->status(), StatusIs(Code::kNotFound, HasSubstr("/db/000003.ldb")));
  ReportLosses();
  iterators = Iterate();
  EXPECT_THAT(Entries(*iterators[0]), ElementsAre("a#1,PUT", "c#3,PUT"));
  ASSERT_OK(iterators[0]->status());
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_EQ(losses_.front().name, "000003.ldb");
}

// An error of the disk may pass: a repair that took it for a loss would give the table up.
TEST_F(TableWalkTest, AnErrorOfTheDiskIsNoLoss) {
  ReportLosses();
  const auto it = LargeTable();
  files_.AddFault({.op = FileOp::kRead, .path_contains = ".ldb", .nth = 4, .sticky = true});
  EXPECT_LT(Entries(*it).size(), 20u);
  EXPECT_THAT(it->status(), StatusIs(Code::kIOError));
  EXPECT_THAT(losses_, IsEmpty());
}

TEST_F(TableWalkTest, TheCallerMayEndTheWalk) {
  ReportLosses();
  const auto it = LargeTable();
  uint64_t bytes = 0;
  walking_.advance = [&](uint64_t read) { return (bytes += read) > 200 ? Status::Aborted("enough") : Status(); };
  EXPECT_LT(Entries(*it).size(), 20u);
  EXPECT_THAT(it->status(), StatusIs(Code::kAborted));
  EXPECT_THAT(losses_, IsEmpty());
}

// LevelDB looks for the footer at the size that the MANIFEST states: more bytes may follow, fewer are damage.
TEST_F(TableWalkTest, TheSizeInTheManifestDecidesWhereTheTableEnds) {
  LargeTable();
  ASSERT_OK_AND_ASSIGN(const std::string bytes, files_.ReadWhole(kHome + "/000002.ldb"));
  Write("000002.ldb", bytes + "more");
  EXPECT_EQ(Entries(*Iterate().front()).size(), 20u);
  Write("000002.ldb", bytes.substr(0, bytes.size() - 1));
  const Iterators iterators = Iterate();
  EXPECT_THAT(Entries(*iterators.front()), IsEmpty());
  EXPECT_THAT(iterators.front()->status(),
              StatusIs(Code::kCorruption, AllOf(HasSubstr("/db/000002.ldb"),
                                                HasSubstr(std::to_string(bytes.size() - 1) + " bytes, expected " +
                                                          std::to_string(bytes.size())))));
}

// Keys that are as they were written, but in an order or of a form that LevelDB does not write.
TEST_F(TableWalkTest, KeysOutOfOrderAndForeignKeysAreCorruptionOrOneLossEach) {
  // Orders by length only, so that the builder takes keys in any order.
  class AnyOrder final : public leveldb_format::KeyOrder {
   public:
    int Compare(std::string_view, std::string_view) const override { return -1; }
    void ShortenTowards(std::string_view, std::string*) const override {}
    void ShortenUpwards(std::string*) const override {}
  };
  const auto internal = [](const std::string& key, kv::Tag tag) {
    std::string bytes;
    leveldb_format::AppendInternalKey(&bytes, key, tag);
    return bytes;
  };
  struct Case {
    std::string wrong, message;
  };
  for (const Case& each :
       {Case{internal("a", kv::MakeTag(2, kv::Kind::kPut)), "keys out of order"},
        Case{internal("b", kv::MakeTag(9, kv::Kind::kPut)), "keys out of order"},
        Case{internal("b", kv::MakeTag(5, kv::Kind::kPut)), "keys out of order"}, Case{"short", "no internal key"},
        Case{internal("b", kv::MakeTag(2, kv::Kind::kMerge)), "no internal key"}}) {
    SCOPED_TRACE(each.message + " " + each.wrong);
    const AnyOrder order;
    std::string bytes;
    leveldb_format::TableBuilder builder(
        order, {.block_bytes = 1, .restart_interval = 1, .codec = {.compression = Compression::kNone}},
        [&](std::string_view part) {
          bytes += part;
          return Status();
        });
    builder.Add(internal("b", kv::MakeTag(5, kv::Kind::kPut)), "1");
    builder.Add(each.wrong, "2");
    builder.Add(internal("c", kv::MakeTag(3, kv::Kind::kPut)), "3");
    ASSERT_OK(builder.Finish());
    Write("000002.ldb", bytes);
    tables_ = {{.name = "000002.ldb",
                .file = {.number = kv::FileNumber{2},
                         .bytes = bytes.size(),
                         .smallest = internal("b", kv::MakeTag(5, kv::Kind::kPut)),
                         .largest = internal("c", kv::MakeTag(3, kv::Kind::kPut))}}};
    walking_.on_loss = nullptr;
    const Iterators strict = Iterate();
    EXPECT_THAT(Entries(*strict.front()), ElementsAre("b#5,PUT=1"));
    EXPECT_THAT(strict.front()->status(),
                StatusIs(Code::kCorruption, AllOf(HasSubstr("/db/000002.ldb"), HasSubstr(each.message))));
    losses_.clear();
    ReportLosses();
    const Iterators lenient = Iterate();
    EXPECT_THAT(Entries(*lenient.front()), ElementsAre("b#5,PUT=1", "c#3,PUT=3"));
    EXPECT_OK(lenient.front()->status());
    EXPECT_EQ(losses_.size(), 1u);
  }
}

// The bounds are read before the conversion reads the table again: only the second reading reports.
TEST_F(TableWalkTest, ALossIsReportedOnceAlsoWithoutBounds) {
  LargeTable();
  ASSERT_OK_AND_ASSIGN(const std::string bytes, files_.ReadWhole(kHome + "/000002.ldb"));
  ASSERT_OK(files_.FlipBit(kHome + "/000002.ldb", bytes.find("k06"), 0));
  tables_.front().has_bounds = false;
  ReportLosses();
  Iterators iterators = Iterate();
  EXPECT_THAT(losses_, IsEmpty());
  ASSERT_EQ(iterators.size(), 1u);
  Entries(*iterators.front());
  EXPECT_EQ(losses_.size(), 1u);
  // A table without one readable entry has no iterator, so its loss is reported at once.
  losses_.clear();
  Write("000002.ldb", std::string(bytes.size(), 'x'));
  EXPECT_THAT(Iterate(), IsEmpty());
  EXPECT_EQ(losses_.size(), 1u);
  walking_.on_loss = nullptr;
  EXPECT_THAT(NewTableIterators(walking_, tables_), StatusIs(Code::kCorruption, HasSubstr("/db/000002.ldb")));
}

}  // namespace
}  // namespace mergedb::leveldb_import
