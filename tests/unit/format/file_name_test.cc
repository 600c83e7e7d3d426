// Goal: each file has one name and each name is of one file. All other names are foreign.
#include "format/file_name.h"

#include <gtest/gtest.h>

namespace mergedb::format {
namespace {

struct Golden {
  FileKind kind;
  uint64_t number;
  const char* name;
};
// The names of docs/formats/files.md.
// clang-format off
const Golden kGoldens[] = {
    {FileKind::kCurrent, 0, "CURRENT"},
    {FileKind::kCurrentTemporary, 0, "CURRENT.tmp"},
    {FileKind::kLock, 0, "LOCK"},
    {FileKind::kManifest, 5, "MANIFEST-000005"},
    {FileKind::kStaging, 0, "STAGING"},
    {FileKind::kSegment, 7, "000007.seg"},
    {FileKind::kTable, 12, "000012.tbl"},
    {FileKind::kBlobFile, 13, "000013.val"},
    {FileKind::kTable, 999999, "999999.tbl"},
    {FileKind::kRecycled, 12, "000012.spare"},
    {FileKind::kTable, 1000000, "1000000.tbl"},
    {FileKind::kManifest, kFileNumberMax, "MANIFEST-4611686018427387904"},
    {FileKind::kRepair, 0, "REPAIR"},
    {FileKind::kImport, 0, "IMPORT"},
    {FileKind::kKeep, 0, "KEEP"},
    {FileKind::kLive, 0, "LIVE"},
};
// clang-format on

TEST(FileName, GoesBothWays) {
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(golden.name);
    EXPECT_EQ(PrintFileName(golden.kind, kv::FileNumber{golden.number}), golden.name);
    const auto parsed = ParseFileName(golden.name);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->kind, golden.kind);
    EXPECT_EQ(ToInt(parsed->number), golden.number);
  }
}

TEST(FileName, OtherNamesAreForeign) {
  for (const char* name : {"",
                           "current",
                           "CURRENT ",
                           "CURRENT.tmp2",
                           "LOCK.bak",
                           "STAGING1",
                           "MANIFEST",
                           "MANIFEST-",
                           "MANIFEST-5",
                           "MANIFEST-000005.tmp",
                           "MANIFEST-+00005",
                           "MANIFEST-00000x",
                           "000012",
                           "12.tbl",
                           "00012.tbl",
                           "0000012.tbl",
                           "000012.TBL",
                           "000012.sst",
                           "000012.ldb",
                           "000012.log",
                           "x000012.tbl",
                           "-000012.tbl",
                           "000012.tbl~",
                           ".tbl",
                           "4611686018427387905.tbl",
                           "18446744073709551615.tbl",
                           "18446744073709551616.tbl",
                           "REPAIR.old",
                           "lost",
                           "99999999999999999999999999.seg",
                           "00012 .tbl",
                           " 00012.tbl"}) {
    EXPECT_FALSE(ParseFileName(name)) << name;
  }
  EXPECT_FALSE(ParseFileName(std::string_view("CURRENT\0", 8)));
}

TEST(FileName, PathsJoinWithOneSlash) {
  EXPECT_EQ(JoinPath("/db", "LOCK"), "/db/LOCK");
  EXPECT_EQ(JoinPath("/db/", "LOCK"), "/db/LOCK");
  EXPECT_EQ(JoinPath("", "LOCK"), "LOCK");
  EXPECT_EQ(TablePath("/db", kv::FileNumber{12}), "/db/000012.tbl");
  EXPECT_EQ(SegmentPath("/db", kv::FileNumber{7}), "/db/000007.seg");
  EXPECT_EQ(ManifestPath("/db", kv::FileNumber{5}), "/db/MANIFEST-000005");
}

TEST(FileName, TheLastNameIsBehindTheLastSlash) {
  EXPECT_EQ(LastName("/a/db/000012.tbl"), "000012.tbl");
  EXPECT_EQ(LastName("LOCK"), "LOCK");
  EXPECT_EQ(LastName("/a/"), "");
}

TEST(FileName, ParentOfAPathIgnoresSlashesAtItsEnd) {
  EXPECT_EQ(ParentOf("/a/db"), "/a");
  EXPECT_EQ(ParentOf("/a/db//"), "/a");
  EXPECT_EQ(ParentOf("/db"), "/");
  EXPECT_EQ(ParentOf("/"), "/");
  EXPECT_EQ(ParentOf("db"), ".");
  EXPECT_EQ(ParentOf(""), ".");
}

}  // namespace
}  // namespace mergedb::format
