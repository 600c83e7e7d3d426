// Goal: LevelDB's file names are parsed and printed as LevelDB does. CURRENT tells a LevelDB database from one
// of mergedb.
#include "leveldb/format/name.h"

#include <gtest/gtest.h>

namespace mergedb::leveldb_format {
namespace {

void ExpectName(const std::string& name, NameKind kind, uint64_t number) {
  const auto parsed = ParseName(name);
  ASSERT_TRUE(parsed) << name;
  EXPECT_EQ(parsed->kind, kind) << name;
  EXPECT_EQ(ToInt(parsed->number), number) << name;
}

TEST(LevelDbName, ReadsEveryKindWithAnyCountOfDigits) {
  ExpectName("CURRENT", NameKind::kCurrent, 0);
  ExpectName("LOCK", NameKind::kLock, 0);
  ExpectName("LOG", NameKind::kTextLog, 0);
  ExpectName("LOG.old", NameKind::kTextLog, 0);
  ExpectName("MANIFEST-2", NameKind::kManifest, 2);
  ExpectName("100.log", NameKind::kLog, 100);
  ExpectName("0.sst", NameKind::kOldTable, 0);
  ExpectName("000012.ldb", NameKind::kTable, 12);
  ExpectName("000012.dbtmp", NameKind::kTemporary, 12);
  ExpectName("18446744073709551615.log", NameKind::kLog, UINT64_MAX);
}

TEST(LevelDbName, LeavesOthersAlone) {
  for (const char* name :
       {"", "foo", ".log", "manifest", "MANIFEST", "MANIFEST-", "MANIFEST-3x", "XMANIFEST-3", "CURRENT2", "LOG.1",
        "100", "100.", "100.lop", "x.ldb", "-1.ldb", "+1.ldb", "18446744073709551616.log", "000012.tbl"}) {
    EXPECT_FALSE(ParseName(name)) << name;
  }
}

TEST(LevelDbName, WritesSixDigits) {
  EXPECT_EQ(PrintName(NameKind::kTable, kv::FileNumber{7}), "000007.ldb");
  EXPECT_EQ(PrintName(NameKind::kOldTable, kv::FileNumber{7}), "000007.sst");
  EXPECT_EQ(PrintName(NameKind::kLog, kv::FileNumber{1234567}), "1234567.log");
  EXPECT_EQ(PrintName(NameKind::kManifest, kv::FileNumber{5}), "MANIFEST-000005");
  EXPECT_EQ(PrintName(NameKind::kTemporary, kv::FileNumber{5}), "000005.dbtmp");
  EXPECT_EQ(PrintName(NameKind::kCurrent), "CURRENT");
}

TEST(LevelDbName, CurrentEndsWithANewline) {
  EXPECT_EQ(EncodeCurrent(kv::FileNumber{5}), "MANIFEST-000005\n");
  EXPECT_EQ(DecodeCurrent("MANIFEST-000005\n"), kv::FileNumber{5});
  for (const char* bytes :
       {"", "\n", "MANIFEST-000005", "000005.log\n", "MANIFEST-000005\n\n", "mergedb-1 MANIFEST-000012 1a2b3c4d"}) {
    EXPECT_FALSE(DecodeCurrent(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace mergedb::leveldb_format
