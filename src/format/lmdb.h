// Bytes of LMDB that more than one part of mergedb reads or writes: the beginning of LMDB's data file, the items that
// the LMDB interface keeps for named databases, and the stored form of keys of databases with another order.
//
// A named database of the LMDB interface is the keyspace of its name, and an item of the default keyspace: its key is
// the name, its value has LMDB's length and holds the flags. An entry is such an item only if a keyspace has its name
// and its value is exactly of this form; every other entry is data. A keyspace that the other interfaces create has no
// item. Tests: tests/unit/format/lmdb_test.cc, tests/db/dump_random_test.cc.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mergedb::format {

inline constexpr std::string_view kLmdbDataName = "data.mdb";
// An archive of mdb_env_copyfd that mdb_env_open unpacks, or has begun to unpack.
inline constexpr std::string_view kLmdbUnpackingName = "data.mdb.unpacking";
// With MDB_NOSUBDIR, the archive is at the path itself. This directory has it as data.mdb until the directory moves to
// the path.
inline std::string LmdbUnpackingDirectory(std::string_view path) {
  return std::string(path.substr(0, path.find_last_not_of('/') + 1)) + ".unpacking";
}
inline constexpr size_t kLmdbHeadBytes = 20;  // of LMDB's data file

// True for the beginning of LMDB's data file: the magic number of its first meta page.
inline bool IsLmdbData(std::string_view head) {
  constexpr std::string_view kMagic = "\xde\xc0\xef\xbe";
  return head.size() >= kLmdbHeadBytes && head.substr(kLmdbHeadBytes - kMagic.size(), kMagic.size()) == kMagic;
}

// True for the beginning of an archive of mdb_env_copyfd: a ustar header whose name begins so (lmdb/archive.h).
inline constexpr std::string_view kLmdbArchiveName = "mergedb/";
inline constexpr size_t kLmdbArchiveHeadBytes = 512;
inline bool IsLmdbArchive(std::string_view head) {
  constexpr size_t kMagicOffset = 257;
  return head.size() == kLmdbArchiveHeadBytes && head.starts_with(kLmdbArchiveName) &&
         head.substr(kMagicOffset).starts_with("ustar");
}

// The values of lmdb.h: MDB_REVERSEKEY and MDB_INTEGERKEY.
inline constexpr unsigned kLmdbReverseKey = 0x02;
inline constexpr unsigned kLmdbIntegerKey = 0x08;
inline constexpr unsigned kLmdbKeyOrders = kLmdbReverseKey | kLmdbIntegerKey;

// FORMAT: the value of a name's item: 4 bytes zero, flags (2 bytes, little-endian), 42 bytes zero.
inline constexpr size_t kNameItemBytes = 48;
inline constexpr size_t kNameItemFlagsOffset = 4;

inline std::string EncodeNameItem(unsigned flags) {
  std::string item(kNameItemBytes, '\0');
  item[kNameItemFlagsOffset] = static_cast<char>(flags & 0xff);
  item[kNameItemFlagsOffset + 1] = static_cast<char>(flags >> 8 & 0xff);
  return item;
}

// The flags; nullopt if `value` is no item.
inline std::optional<unsigned> DecodeNameItem(std::string_view value) {
  if (value.size() != kNameItemBytes) return std::nullopt;
  const auto byte = [&](size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(value[at])); };
  const unsigned flags = byte(kNameItemFlagsOffset) | byte(kNameItemFlagsOffset + 1) << 8;
  if ((flags & ~kLmdbKeyOrders) != 0 || value != EncodeNameItem(flags)) return std::nullopt;
  return flags;
}

// Converts a key of LMDB to its stored form, in which the order of bytes is LMDB's order, and back. With
// kLmdbIntegerKey the most significant byte comes first, with kLmdbReverseKey the last byte.
inline void TurnLmdbKey(unsigned flags, std::string* key) {
  const bool is_integer = (flags & kLmdbIntegerKey) != 0 && std::endian::native == std::endian::little;
  if ((flags & kLmdbReverseKey) != 0 || is_integer) std::reverse(key->begin(), key->end());
}

}  // namespace mergedb::format
