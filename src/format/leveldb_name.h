// FORMAT: the names in a LevelDB directory (docs/formats/leveldb.md). Three of them mean the same to mergedb: CURRENT, LOCK and
// MANIFEST-000005; all others are foreign to it, as mergedb's are to LevelDB.
//
//   CURRENT         "MANIFEST-000005\n"; with the newline it is LevelDB's, without one mergedb's
//   000003.log      a log            000005.ldb, 000005.sst   a table, by its name since 1.14 and the one before
//   MANIFEST-000004 a log of edits   000007.dbtmp             the next CURRENT, before its rename
//   LOCK            LOG, LOG.old     text for people
//
// Numbers are decimal and zero-padded to six digits when written; any count of digits is read.
//
// Tests: tests/unit/format/leveldb_name_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kv/key.h"

namespace mergedb::format::leveldb {

enum class NameKind : uint8_t { kCurrent, kLock, kTextLog, kManifest, kLog, kTable, kOldTable, kTemporary };

struct Name {
  NameKind kind;
  kv::FileNumber number{};  // 0 for kinds without one
};

std::string PrintName(NameKind kind, kv::FileNumber number = {});  // without directory; kTextLog is "LOG"
std::optional<Name> ParseName(std::string_view name);

// The MANIFEST that the contents of a CURRENT name; none if they are not LevelDB's.
std::optional<kv::FileNumber> DecodeCurrent(std::string_view bytes);
std::string EncodeCurrent(kv::FileNumber manifest);

}  // namespace mergedb::format::leveldb
