// Goal: the records of the keyspaces lie where no caller's key lies, and are read back; a damaged record is an error,
// never a keyspace that is missing. Method: records by hand, under an iterator over given pairs.
#include "db/access/keyspace_records.h"

#include <gtest/gtest.h>

#include <utility>

#include "format/keyspace_record.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using testing::StatusIs;

// Iterates forward over given pairs and ends with a given status.
class Pairs final : public Iterator {
 public:
  explicit Pairs(std::vector<std::pair<std::string, std::string>> pairs, Status end = {})
      : pairs_(std::move(pairs)), end_(std::move(end)) {}

  bool Valid() const override { return at_ < pairs_.size(); }
  void SeekToFirst() override { at_ = 0; }
  void Next() override { ++at_; }
  void SeekToLast() override { ADD_FAILURE(); }
  void Seek(std::string_view) override { ADD_FAILURE(); }
  void SeekForPrev(std::string_view) override { ADD_FAILURE(); }
  void Prev() override { ADD_FAILURE(); }
  std::string_view key() const override { return pairs_[at_].first; }
  std::string_view value() const override { return pairs_[at_].second; }
  const Status& status() const override { return Valid() ? ok_ : end_; }

 private:
  const std::vector<std::pair<std::string, std::string>> pairs_;
  const Status end_;
  const Status ok_;
  size_t at_ = 0;
};

class KeyspaceRecords : public ::testing::Test {
 protected:
  std::pair<std::string, std::string> Record(const std::string& name, kv::KeyspaceId id) const {
    return {KeyspaceRecordTreeKey(map_, name), format::EncodeKeyspaceRecord(id)};
  }

  const kv::KeyMap map_{"\x01p"};
};

TEST_F(KeyspaceRecords, LieWhereNoCallersKeyLies) {
  for (const std::string& key :
       {KeyspaceRecordTreeKey(map_, "users"), KeyspaceRecordTreeKey(map_, ""), NextIdTreeKey(map_)}) {
    EXPECT_TRUE(key.starts_with(map_.reserved_prefix()));
    EXPECT_TRUE(map_.FromTree(key).is_keyspace_record);
    EXPECT_TRUE(map_.IsNamed(key)) << "a scan of the default keyspace passes over it";
    // No keyspace maps a caller's key to this place.
    std::string scratch;
    for (const kv::KeyspaceId id : {kv::kDefaultKeyspace, kv::KeyspaceId{1}, kv::KeyspaceId{0x12345}})
      EXPECT_NE(map_.ToTree(id, key, &scratch), key);
  }
}

TEST_F(KeyspaceRecords, AllBeginWithThePrefixAndTheNextIdDoesNot) {
  const std::string prefix = KeyspaceRecordTreeKey(map_, "");
  EXPECT_TRUE(KeyspaceRecordTreeKey(map_, "users").starts_with(prefix));
  EXPECT_FALSE(NextIdTreeKey(map_).starts_with(prefix));
  EXPECT_EQ(format::ReservedPrefixOfNextIdKey(NextIdTreeKey(map_)), map_.reserved_prefix());
}

TEST_F(KeyspaceRecords, AreReadBackInTheirOrder) {
  const std::string binary("b\0\xff", 3);
  Pairs records({Record("a", 7), Record(binary, 300), Record("z", 1)});
  ASSERT_OK_AND_ASSIGN(const auto entries, ReadKeyspaceRecords(map_, records));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].keyspace, Keyspace(7));
  EXPECT_EQ(entries[1].name, binary);
  EXPECT_EQ(entries[1].keyspace, Keyspace(300));
  EXPECT_EQ(entries[2].keyspace, Keyspace(1));
}

// A list without the damaged record would let a program create the keyspace again, under another id.
TEST_F(KeyspaceRecords, ADamagedRecordFailsTheWholeList) {
  Pairs damaged({Record("a", 7), {KeyspaceRecordTreeKey(map_, "b"), ""}, Record("c", 8)});
  EXPECT_THAT(ReadKeyspaceRecords(map_, damaged), StatusIs(Code::kCorruption));
  Pairs unread({Record("a", 7)}, Status::IOError("the disk"));
  EXPECT_THAT(ReadKeyspaceRecords(map_, unread), StatusIs(Code::kIOError, "the disk"));
}

TEST_F(KeyspaceRecords, OtherRecordsArePassedOver) {
  Pairs records({{NextIdTreeKey(map_), "no record of a keyspace"},
                 {KeyspaceRecordTreeKey(map_, ""), "a name is never empty"},
                 Record("a", 7)});
  ASSERT_OK_AND_ASSIGN(const auto entries, ReadKeyspaceRecords(map_, records));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, "a");
}

}  // namespace
}  // namespace mergedb::db
