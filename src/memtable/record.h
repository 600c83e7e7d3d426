// A record in the arena: one version of one key. Immutable once a reader can find it.
//
//   0        8         12         16           20
//   | tag 64 | older 32 | key bytes 32 | value bytes 32 | key | value | [trailer] | up to a multiple of 8
//
// `older` is the next older version of the same key, 0 if there is none (only the hash index uses it). Bit 7 of
// the tag says that there is a trailer. Operands above an older version have one (memtable/fold_on_write.h):
//
//   trailer := kind u8 | bytes u32 | fold of this version and all older ones here            kind: MERGE, PUT or MERGED
//            | 0xff | operands since the last fold u32 | bytes missing to its size u32       no fold yet
#pragma once

#include <cstring>
#include <string_view>

#include "base/coding.h"
#include "kv/key.h"
#include "memtable/memory.h"

namespace mergedb::memtable {

inline constexpr size_t kHeaderBytes = 20;
inline constexpr uint64_t kLengthMax = 0xffffffffu;  // of a key, and of a value
inline constexpr kv::Tag kTrailerFlag = 0x80;
inline constexpr uint8_t kNoFold = 0xff;
inline constexpr size_t kFoldHeaderBytes = 5;
inline constexpr size_t kCountsBytes = 9;

// REQUIRES: both are at most kLengthMax.
constexpr size_t RecordBytes(size_t key_bytes, size_t value_bytes) {
  return RoundUp(kHeaderBytes + key_bytes + value_bytes, kUnitBytes);
}

class Record {
 public:
  explicit Record(const char* begin) : begin_(begin) {}
  Record(const char* arena, uint32_t offset) : begin_(arena + offset * kUnitBytes) {}

  kv::Tag tag() const { return base::LoadFixed64(begin_) & ~kTrailerFlag; }
  bool is_range_delete() const { return kv::KindOf(tag()) == kv::Kind::kRangeDelete; }
  uint32_t older() const { return base::LoadFixed32(begin_ + 8); }
  std::string_view key() const { return {begin_ + kHeaderBytes, key_bytes()}; }
  std::string_view value() const { return {begin_ + kHeaderBytes + key_bytes(), value_bytes()}; }
  size_t bytes() const { return RecordBytes(key_bytes(), value_bytes() + trailer().size()); }

  bool has_trailer() const { return (static_cast<uint8_t>(begin_[0]) & kTrailerFlag) != 0; }
  std::string_view trailer() const {
    if (!has_trailer()) [[likely]]
      return {};
    const char* const trailer = begin_ + kHeaderBytes + key_bytes() + value_bytes();
    const bool has_fold = static_cast<uint8_t>(trailer[0]) != kNoFold;
    return {trailer, has_fold ? kFoldHeaderBytes + base::LoadFixed32(trailer + 1) : kCountsBytes};
  }

 private:
  uint32_t key_bytes() const { return base::LoadFixed32(begin_ + 12); }
  uint32_t value_bytes() const { return base::LoadFixed32(begin_ + 16); }

  const char* begin_;
};

inline void WriteRecord(char* out, std::string_view key, kv::Tag tag, std::string_view value) {
  base::StoreFixed64(out, tag);
  base::StoreFixed32(out + 8, 0);
  base::StoreFixed32(out + 12, static_cast<uint32_t>(key.size()));
  base::StoreFixed32(out + 16, static_cast<uint32_t>(value.size()));
  if (!key.empty()) std::memcpy(out + kHeaderBytes, key.data(), key.size());
  if (!value.empty()) std::memcpy(out + kHeaderBytes + key.size(), value.data(), value.size());
}
// Writes the trailer behind the record that was just written.
inline void WriteTrailer(char* record, size_t key_bytes, size_t value_bytes, std::string_view trailer) {
  base::StoreFixed64(record, base::LoadFixed64(record) | kTrailerFlag);
  std::memcpy(record + kHeaderBytes + key_bytes + value_bytes, trailer.data(), trailer.size());
}
inline void SetOlder(char* record, uint32_t older) { base::StoreFixed32(record + 8, older); }

}  // namespace mergedb::memtable
