// A copy of the last key that an iterator showed or hid, by which the iterator recognises the older versions
// of that key. WHY a copy: the input's views die when the input moves (kv/iterator.h, R5).
//
// WHY not a std::string compared with ==: the iterators compare once an entry, mostly short keys of one
// length. For 8 to 16 bytes two overlapping word loads compare without a call.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "base/coding.h"
#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::iterator {

inline bool SameBytes(const char* a, const char* b, size_t count) {
  if (count >= 8 && count <= 16) {
    return ((base::LoadFixed64(a) ^ base::LoadFixed64(b)) |
            (base::LoadFixed64(a + count - 8) ^ base::LoadFixed64(b + count - 8))) == 0;
  }
  return count == 0 || std::memcmp(a, b, count) == 0;
}

// True if `a` and `b` are versions of one key.
inline bool IsSameKey(const kv::Order& order, const kv::Entry& a, const kv::Entry& b) {
  if (a.prefix != b.prefix) return false;
  if (!order.is_bytewise()) return order.SameKey(a.key, b.key);
  return a.key.size() == b.key.size() && SameBytes(a.key.data(), b.key.data(), a.key.size());
}

class SavedKey {
 public:
  void Clear() { is_kept_ = false; }
  std::string_view key() const { return {bytes_.data(), count_}; }
  uint64_t prefix() const { return prefix_; }

  void Keep(const kv::Entry& entry) {
    if (entry.key.size() > bytes_.size()) [[unlikely]]
      bytes_.resize(entry.key.size() + 64);
    count_ = entry.key.size();
    prefix_ = entry.prefix;
    is_kept_ = true;
    CopyShort(bytes_.data(), entry.key.data(), count_);
  }

  bool Matches(const kv::Order& order, const kv::Entry& entry) const {
    return is_kept_ && IsSameKey(order, {.prefix = prefix_, .key = key(), .tag = 0, .value = {}}, entry);
  }

 private:
  static void CopyShort(char* to, const char* from, size_t count) {
    if (count >= 8 && count <= 16) {
      const uint64_t head = base::LoadFixed64(from);
      const uint64_t last = base::LoadFixed64(from + count - 8);
      base::StoreFixed64(to, head);
      base::StoreFixed64(to + count - 8, last);
    } else if (count > 0) {
      std::memcpy(to, from, count);
    }
  }

  std::string bytes_;  // its size is the capacity; the first count_ bytes are the key
  size_t count_ = 0;
  uint64_t prefix_ = 0;
  bool is_kept_ = false;
};

// The status for an entry whose kind this build can neither show nor drop.
inline Status ReservedKind(const kv::Entry& entry) {
  const std::string name = kv::PrintKey(entry.key, entry.tag);
  if (kv::KindOf(entry.tag) > kv::kKindMax) return Status::Corruption("entry " + name + ": unknown kind");
  return Status::NotSupported("entry " + name + ": a kind that this version cannot read");
}

constexpr bool IsKnownKind(kv::Kind kind) {
  return kind == kv::Kind::kPut || kind == kv::Kind::kDelete || kind == kv::Kind::kMerge ||
         kind == kv::Kind::kPutBlobIndex || kind == kv::Kind::kMerged;
}

}  // namespace mergedb::iterator
