// Goal: keyspace records decode to the values that were encoded, and all other bytes are errors. Method:
// goldens, damaged bytes.
#include "format/keyspace_record.h"

#include <gtest/gtest.h>

namespace mergedb::format {
namespace {

using namespace std::string_literals;

// FORMAT golden: docs/formats/keyspaces.md
TEST(KeyspaceRecord, Golden) {
  const kv::KeyMap map("\xff");
  EXPECT_EQ(map.Prefix(0) + std::string(kNextIdKey), "\xff\0\0mergedb keyspaces"s);
  EXPECT_EQ(EncodeNextId(65), "\x41");
  EXPECT_EQ(map.Prefix(0) + KeyspaceRecordKey("users"), "\xff\0\x01users"s);
  EXPECT_EQ(EncodeKeyspaceRecord(1), "\x01");
  EXPECT_EQ(EncodeKeyspaceRecord(300), "\xac\x02");
}

TEST(KeyspaceRecord, ComesBack) {
  for (const kv::KeyspaceId id : {1u, 127u, 128u, 70'000u, 0xffffffffu}) {
    EXPECT_EQ(*DecodeKeyspaceRecord(EncodeKeyspaceRecord(id)), id);
    EXPECT_EQ(*DecodeNextId(EncodeNextId(id)), id);
  }
  EXPECT_EQ(ParseKeyspaceRecordKey(KeyspaceRecordKey("a\0b"s)), "a\0b"s);
  EXPECT_EQ(ParseKeyspaceRecordKey(kNextIdKey), std::nullopt);
  EXPECT_EQ(ParseKeyspaceRecordKey(KeyspaceRecordKey("")), std::nullopt);
}

TEST(KeyspaceRecord, DamageIsAnError) {
  EXPECT_TRUE(DecodeNextId("").status().IsCorruption());
  EXPECT_TRUE(DecodeNextId("\0"s).status().IsCorruption());
  EXPECT_TRUE(DecodeNextId("\x01\x01").status().IsCorruption());
  EXPECT_TRUE(DecodeNextId("\xff\xff\xff\xff\xff\x01").status().IsCorruption());
  EXPECT_TRUE(DecodeKeyspaceRecord("").status().IsCorruption());
  EXPECT_TRUE(DecodeKeyspaceRecord("\0"s).status().IsCorruption());
  EXPECT_TRUE(DecodeKeyspaceRecord("\x05\x01\x01x").status().IsNotSupported()) << "a field of a newer version";
}

TEST(KeyspaceRecord, TheKeyOfTheNextIdHasTheReservedPrefix) {
  for (const std::string& marker : {"\xff"s, "ab"s, "\0"s}) {
    EXPECT_EQ(ReservedPrefixOfNextIdKey(kv::KeyMap(marker).Prefix(0) + std::string(kNextIdKey)), marker);
  }
  EXPECT_EQ(ReservedPrefixOfNextIdKey(kNextIdKey), std::nullopt);
  EXPECT_EQ(ReservedPrefixOfNextIdKey("x" + std::string(kNextIdKey)), std::nullopt);
  EXPECT_EQ(ReservedPrefixOfNextIdKey("apple"), std::nullopt);
}

}  // namespace
}  // namespace mergedb::format
