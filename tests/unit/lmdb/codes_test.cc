// Goal: each Status has the code of LMDB that programs decide by, and each code its text. Method: all codes of both;
// the numbers next to the first and the last code of LMDB.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lmdb/handles.h"

namespace mergedb::lmdb {
namespace {

TEST(LmdbCodes, AreThoseOfTheStatus) {
  EXPECT_EQ(CodeOf({}), MDB_SUCCESS);
  EXPECT_EQ(CodeOf(Status::NotFound("")), MDB_NOTFOUND);
  EXPECT_EQ(CodeOf(Status::Corruption("")), MDB_CORRUPTED);
  EXPECT_EQ(CodeOf(Status::InvalidArgument("")), EINVAL);
  EXPECT_EQ(CodeOf(Status::NotSupported("")), MDB_INCOMPATIBLE);
  EXPECT_EQ(CodeOf(Status::IOError("")), EIO);
  EXPECT_EQ(CodeOf(Status::NoSpace("")), ENOSPC);
  EXPECT_EQ(CodeOf(Status::Busy("")), EBUSY);
  EXPECT_EQ(CodeOf(Status::Make(Code::kConflict, "")), MDB_BAD_TXN);
  EXPECT_EQ(CodeOf(Status::Make(Code::kAborted, "")), MDB_BAD_TXN);
  EXPECT_EQ(CodeOf(Status::Make(Code::kShuttingDown, "")), EINVAL);
  EXPECT_EQ(CodeOf(Status::Make(Code::kMergeFailed, "")), MDB_CORRUPTED);
}

TEST(LmdbTexts, BeginWithTheNameOfTheirCode) {
#define EXPECT_NAMED(code) EXPECT_EQ(std::string(mdb_strerror(code)).rfind(#code ": ", 0), 0u) << mdb_strerror(code)
  EXPECT_NAMED(MDB_KEYEXIST);
  EXPECT_NAMED(MDB_NOTFOUND);
  EXPECT_NAMED(MDB_PAGE_NOTFOUND);
  EXPECT_NAMED(MDB_CORRUPTED);
  EXPECT_NAMED(MDB_PANIC);
  EXPECT_NAMED(MDB_VERSION_MISMATCH);
  EXPECT_NAMED(MDB_INVALID);
  EXPECT_NAMED(MDB_MAP_FULL);
  EXPECT_NAMED(MDB_DBS_FULL);
  EXPECT_NAMED(MDB_READERS_FULL);
  EXPECT_NAMED(MDB_TLS_FULL);
  EXPECT_NAMED(MDB_TXN_FULL);
  EXPECT_NAMED(MDB_CURSOR_FULL);
  EXPECT_NAMED(MDB_PAGE_FULL);
  EXPECT_NAMED(MDB_MAP_RESIZED);
  EXPECT_NAMED(MDB_INCOMPATIBLE);
  EXPECT_NAMED(MDB_BAD_RSLOT);
  EXPECT_NAMED(MDB_BAD_TXN);
  EXPECT_NAMED(MDB_BAD_VALSIZE);
  EXPECT_NAMED(MDB_BAD_DBI);
#undef EXPECT_NAMED
}

TEST(LmdbTexts, OfOtherNumbersAreTheSystems) {
  EXPECT_STREQ(mdb_strerror(0), "Successful return: 0");
  EXPECT_STREQ(mdb_strerror(MDB_CORRUPTED), "MDB_CORRUPTED: Located page was wrong type") << "lmdbjava compares it";
  for (const int code : {MDB_KEYEXIST - 1, MDB_LAST_ERRCODE + 1, int{EINVAL}, -1}) {
    const std::string expected = strerror(code);  // WHY a copy: mdb_strerror uses the same buffer of the C library
    EXPECT_EQ(mdb_strerror(code), expected) << code;
  }
}

TEST(LmdbVersion, IsToldInPartsThatAreAskedFor) {
  int major = -1, minor = -1, patch = -1;
  EXPECT_STREQ(mdb_version(&major, nullptr, &patch), MDB_VERSION_STRING);
  EXPECT_EQ(major, MDB_VERSION_MAJOR);
  EXPECT_EQ(minor, -1);
  EXPECT_EQ(patch, MDB_VERSION_PATCH);
  EXPECT_STREQ(mdb_version(nullptr, &minor, nullptr), MDB_VERSION_STRING);
  EXPECT_EQ(minor, MDB_VERSION_MINOR);
}

}  // namespace
}  // namespace mergedb::lmdb
