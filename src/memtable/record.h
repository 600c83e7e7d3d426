// A record in the arena: one version of one key. Immutable once it can be found.
//
//   0        8         12         16           20
//   | tag 64 | older 32 | key bytes 32 | value bytes 32 | key | value | up to a multiple of 8
//
// `older` is the next older version of the same key, 0 for none (kept by the hash index alone).
#pragma once

#include <cstring>
#include <string_view>

#include "base/coding.h"
#include "kv/key.h"
#include "memtable/memory.h"

namespace mergedb::memtable {

inline constexpr size_t kHeaderBytes = 20;
inline constexpr uint64_t kLengthMax = 0xffffffffu;  // of a key, and of a value

// REQUIRES: both up to kLengthMax.
constexpr size_t RecordBytes(size_t key_bytes, size_t value_bytes) {
  return RoundUp(kHeaderBytes + key_bytes + value_bytes, kUnitBytes);
}

class Record {
 public:
  explicit Record(const char* begin) : begin_(begin) {}
  Record(const char* arena, uint32_t offset) : begin_(arena + offset * kUnitBytes) {}

  kv::Tag tag() const { return base::LoadFixed64(begin_); }
  bool is_range_delete() const { return kv::KindOf(tag()) == kv::Kind::kRangeDelete; }
  uint32_t older() const { return base::LoadFixed32(begin_ + 8); }
  std::string_view key() const { return {begin_ + kHeaderBytes, key_bytes()}; }
  std::string_view value() const { return {begin_ + kHeaderBytes + key_bytes(), value_bytes()}; }
  size_t bytes() const { return RecordBytes(key_bytes(), value_bytes()); }

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
inline void SetOlder(char* record, uint32_t older) { base::StoreFixed32(record + 8, older); }

}  // namespace mergedb::memtable
