// Loads a Version from CURRENT and the MANIFEST. An error names the damage. tests/flips/ flips the bytes.
#include "manifest/loader.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "manifest/manifest.h"
#include "manifest/mirror_file.h"
#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::manifest {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

class LoaderTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("/d")); }
  Result<Loaded> LoadIt() { return Load(&files_, "/d", order_); }
  format::VersionEdit Snapshot() {
    format::VersionEdit edit;
    edit.database_id = 7;
    edit.comparator = std::string(BytewiseComparator()->Name());
    edit.next_file = kv::FileNumber{12};
    edit.next_position = kv::Position{3};
    edit.last_sequence = 99;
    edit.wal_start = format::VersionEdit::WalStart{.epoch = 2, .salt = 5, .position = 640, .chain = 1, .sequence = 100};
    edit.wal_durable = 700;
    edit.clean_wal_end = 720;
    return edit;
  }
  // An edit that adds a table with this number to the run at this position.
  format::VersionEdit WithTable(uint64_t number, kv::Position position) {
    format::VersionEdit edit = Snapshot();
    const format::FileMeta file{.number = kv::FileNumber{number},
                                .bytes = 4096,
                                .entries = 1,
                                .smallest_sequence = 1,
                                .largest_sequence = 2,
                                .smallest = "a",
                                .largest = "b"};
    edit.adds = {{.position = position, .level = 0, .file = std::make_shared<format::FileMeta>(file), .bounds = {}}};
    return edit;
  }
  void Commit(const format::VersionEdit& edit) {
    Manifest manifest({.file_system = &files_, .directory = "/d", .database_id = 7, .allocate_number = [this] {
                         return kv::FileNumber{next_manifest_++};
                       }});
    ASSERT_OK(manifest.Commit(edit));
  }

  testing::FaultFileSystem files_;
  const kv::Order order_{BytewiseComparator()};
  uint64_t next_manifest_ = 4;
};

TEST_F(LoaderTest, FindsNothingInAnEmptyDirectory) {
  EXPECT_THAT(LoadIt(), StatusIs(Code::kNotFound));
  ASSERT_OK(files_.WriteWhole("/d/LOCK", ""));
  ASSERT_OK(files_.WriteWhole("/d/MANIFEST-000001", "of a creation that was interrupted"));
  EXPECT_THAT(LoadIt(), StatusIs(Code::kNotFound));
}

TEST_F(LoaderTest, MissesCurrentWhereThereAreFilesOfADatabase) {
  for (const char* name : {"/d/000004.tbl", "/d/000004.seg", "/d/STAGING"}) {
    ASSERT_OK(files_.WriteWhole(name, "x"));
    EXPECT_THAT(LoadIt(), StatusIs(Code::kCorruption, HasSubstr("CURRENT"))) << name;
    ASSERT_OK(files_.Remove(name));
  }
}

TEST_F(LoaderTest, TellsWhatWasCommitted) {
  Commit(Snapshot());
  ASSERT_OK_AND_ASSIGN(const Loaded loaded, LoadIt());
  EXPECT_EQ(loaded.manifest, kv::FileNumber{4});
  EXPECT_EQ(loaded.database_id, 7u);
  EXPECT_EQ(loaded.next_file, kv::FileNumber{12});
  EXPECT_EQ(loaded.last_sequence, 99u);
  EXPECT_EQ(loaded.wal_start, *Snapshot().wal_start);
  EXPECT_EQ(loaded.wal_durable, 700u);
  EXPECT_EQ(loaded.clean_wal_end, std::optional<uint64_t>(720));
  EXPECT_EQ(loaded.report, "");
}

TEST_F(LoaderTest, NamesTheManifestThatIsMissing) {
  ASSERT_OK(files_.WriteWhole("/d/CURRENT", EncodeCurrent({kv::FileNumber{9}})));
  EXPECT_THAT(LoadIt(), StatusIs(Code::kCorruption, HasSubstr("MANIFEST-000009: missing")));
}

// Older builds write no end of the MANIFEST to CURRENT.
TEST_F(LoaderTest, ReadsACurrentWithoutAnEnd) {
  Commit(Snapshot());
  ASSERT_OK(files_.WriteWhole("/d/CURRENT", EncodeCurrent({kv::FileNumber{4}})));
  ASSERT_OK_AND_ASSIGN(const Loaded loaded, LoadIt());
  EXPECT_EQ(loaded.last_sequence, 99u);
}

TEST_F(LoaderTest, RefusesAManifestUnderAnotherNumberOrOfAnotherDatabase) {
  Commit(Snapshot());
  ASSERT_OK(files_.WriteWhole("/d/MANIFEST-000009", *files_.ReadWhole("/d/MANIFEST-000004")));
  ASSERT_OK(files_.WriteWhole("/d/CURRENT", EncodeCurrent({kv::FileNumber{9}})));
  EXPECT_THAT(LoadIt(), StatusIs(Code::kCorruption, HasSubstr("the header has number 4")));
}

// The header has 32 bits for the file number. File numbers have up to 62 bits.
TEST_F(LoaderTest, ReadsAManifestWhoseNumberIsBeyond32Bits) {
  Manifest manifest({.file_system = &files_, .directory = "/d", .database_id = 7, .allocate_number = [] {
                       return kv::FileNumber{(uint64_t{1} << 32) + 5};
                     }});
  ASSERT_OK(manifest.Commit(Snapshot()));
  ASSERT_OK_AND_ASSIGN(const Loaded loaded, LoadIt());
  EXPECT_EQ(loaded.manifest, kv::FileNumber{(uint64_t{1} << 32) + 5});
}

TEST_F(LoaderTest, RefusesOneThatDoesNotNameItsDatabaseAndComparator) {
  format::VersionEdit edit = Snapshot();
  edit.comparator = std::nullopt;
  Commit(edit);
  EXPECT_THAT(LoadIt(), StatusIs(Code::kCorruption, HasSubstr("no valid database id")));
}

// The checksums of these records are right, but no program writes such records.
TEST_F(LoaderTest, RefusesRecordsThatAreNoEditsOrDoNotFollowTheTree) {
  format::VersionEdit backwards;
  backwards.cuts.push_back({.position = kv::Position{2}, .bounds = {.lower = "z", .upper = "a"}});
  const struct {
    std::string record;
    const char* words;
  } cases[] = {
      {"\x05\xff\xff\xff\xff\x0f", ""},
      {format::EncodeVersionEdit(backwards), "VersionEdit has a cut with lower bound 'z' and upper bound 'a'"}};
  for (const auto& [record, words] : cases) {
    const kv::FileNumber number{next_manifest_++};
    ASSERT_OK_AND_ASSIGN(auto writer, MirrorWriter::Create(&files_, format::ManifestPath("/d", number),
                                                           {.database_id = 7, .number = number}));
    ASSERT_OK(writer->Append(format::EncodeVersionEdit(Snapshot())));
    ASSERT_OK(files_.WriteWhole("/d/CURRENT", EncodeCurrent({number})));
    ASSERT_OK(LoadIt().status());
    ASSERT_OK(writer->Append(record));
    EXPECT_THAT(LoadIt(), StatusIs(Code::kCorruption, HasSubstr(words)));
  }
}

TEST_F(LoaderTest, RefusesATreeWithNumbersStillToBeGivenOut) {
  Commit(WithTable(11, kv::Position{2}));
  ASSERT_OK(LoadIt().status());
  Commit(WithTable(12, kv::Position{2}));
  EXPECT_THAT(LoadIt(), StatusIs(Code::kCorruption, HasSubstr("number of a table is 12")));
  Commit(WithTable(11, kv::Position{3}));
  EXPECT_THAT(LoadIt(), StatusIs(Code::kCorruption, HasSubstr("number of a position is 3")));
}

// Each of the two runs is valid by itself.
TEST_F(LoaderTest, RefusesATreeThatShowsATableTwice) {
  format::VersionEdit edit = WithTable(11, kv::Position{2});
  edit.adds.push_back(edit.adds[0]);
  edit.adds[1].position = kv::Position{1};
  Commit(edit);
  EXPECT_THAT(LoadIt(),
              StatusIs(Code::kCorruption,
                       HasSubstr("/d/MANIFEST-000004: I6 broken: table 11: key 'a' is in two virtual tables")));
}

TEST(Current, RefusesWhatItDidNotWrite) {
  const std::string good = EncodeCurrent({kv::FileNumber{12}});
  EXPECT_THAT(DecodeCurrent(good, "p"), IsOkAndHolds(Current{kv::FileNumber{12}}));
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THAT(DecodeCurrent(good.substr(0, length), "p"), StatusIs(Code::kCorruption)) << length;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] ^= 1;
    EXPECT_THAT(DecodeCurrent(damaged, "p"), StatusIs(Code::kCorruption)) << i;
  }
  EXPECT_THAT(DecodeCurrent(good + "\n", "p"), StatusIs(Code::kCorruption));
  const Current bound{kv::FileNumber{12}, MirrorEnd{3456, 0x5e6f7a8b}};
  const std::string text = EncodeCurrent(bound);
  EXPECT_EQ(text.substr(0, text.size() - 8), "mergedb-1 MANIFEST-000012 3456 5e6f7a8b ");
  EXPECT_THAT(DecodeCurrent(text, "p"), IsOkAndHolds(bound));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] ^= 1;
    EXPECT_THAT(DecodeCurrent(damaged, "p"), StatusIs(Code::kCorruption)) << i;
    EXPECT_THAT(DecodeCurrent(text.substr(0, i), "p"), StatusIs(Code::kCorruption)) << i;
  }
}

}  // namespace
}  // namespace mergedb::manifest
