// FORMAT: the names in a LevelDB directory (docs/formats/leveldb.md). CURRENT, LOCK and MANIFEST-000005 mean the
// same to mergedb. All other names are foreign to mergedb, and mergedb's other names are foreign to LevelDB.
//
//   CURRENT         "MANIFEST-000005\n"; LevelDB's CURRENT ends with a newline, mergedb's does not
//   000003.log      a WAL            000005.ldb, 000005.sst   a table; LevelDB before 1.14 used the suffix .sst
//   MANIFEST-000004 VersionEdits     000007.dbtmp             the next CURRENT, before its rename
//   LOCK            LOG, LOG.old     the info log
//
// Numbers are decimal. The writer pads them with zeros to six digits; the parser accepts any number of digits.
//
// Tests: tests/unit/leveldb/format/name_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kv/key.h"

namespace mergedb::leveldb_format {

enum class NameKind : uint8_t { kCurrent, kLock, kTextLog, kManifest, kLog, kTable, kOldTable, kTemporary };

struct Name {
  NameKind kind;
  kv::FileNumber number{};  // 0 for kinds without a number
};

std::string PrintName(NameKind kind, kv::FileNumber number = {});  // without the directory; kTextLog is "LOG"
std::optional<Name> ParseName(std::string_view name);

// The MANIFEST that `bytes`, the contents of CURRENT, names. nullopt if the contents are not LevelDB's.
std::optional<kv::FileNumber> DecodeCurrent(std::string_view bytes);
std::string EncodeCurrent(kv::FileNumber manifest);

}  // namespace mergedb::leveldb_format
