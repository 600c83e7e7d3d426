#include "leveldb/format/order.h"

#include <algorithm>

#include "base/coding.h"
#include "leveldb/format/edit.h"

namespace mergedb::leveldb_format {
namespace {

bool HasTag(std::string_view key) { return key.size() >= kInternalTagBytes; }
std::string_view UserKeyOf(std::string_view key) { return key.substr(0, key.size() - kInternalTagBytes); }
kv::Tag TagOf(std::string_view key) { return base::LoadFixed64(key.data() + key.size() - kInternalTagBytes); }

}  // namespace

void UserOrder::ShortenTowards(std::string_view limit, std::string* key) const {
  if (!order_.is_bytewise()) return;
  const size_t shared = base::CommonPrefixBytes(*key, limit);
  if (shared >= std::min(key->size(), limit.size())) return;  // one key is a prefix of the other
  const auto byte = static_cast<uint8_t>((*key)[shared]);
  if (byte == 0xff || byte + 1 >= static_cast<uint8_t>(limit[shared])) return;
  (*key)[shared] = static_cast<char>(byte + 1);
  key->resize(shared + 1);
}

void UserOrder::ShortenUpwards(std::string* key) const {
  if (!order_.is_bytewise()) return;
  const size_t at = key->find_first_not_of('\xff');
  if (at == std::string::npos) return;
  (*key)[at] = static_cast<char>(static_cast<uint8_t>((*key)[at]) + 1);
  key->resize(at + 1);
}

int InternalOrder::Compare(std::string_view a, std::string_view b) const {
  if (!HasTag(a) || !HasTag(b)) return static_cast<int>(HasTag(a)) - static_cast<int>(HasTag(b));
  const int by_key = user_.Compare(UserKeyOf(a), UserKeyOf(b));
  if (by_key != 0) return by_key;
  return TagOf(a) > TagOf(b) ? -1 : TagOf(a) < TagOf(b) ? 1 : 0;
}

void InternalOrder::ShortenTowards(std::string_view limit, std::string* key) const {
  if (!HasTag(*key) || !HasTag(limit)) return;
  std::string shortened(UserKeyOf(*key));
  user_.ShortenTowards(UserKeyOf(limit), &shortened);
  TakeIfShorter(std::move(shortened), key);
}

void InternalOrder::ShortenUpwards(std::string* key) const {
  if (!HasTag(*key)) return;
  std::string shortened(UserKeyOf(*key));
  user_.ShortenUpwards(&shortened);
  TakeIfShorter(std::move(shortened), key);
}

// Takes the shortened user key if it is both larger and shorter than the old one. Adds the tag that sorts first,
// so the new key precedes all versions of that user key.
void InternalOrder::TakeIfShorter(std::string shortened, std::string* key) const {
  if (shortened.size() >= UserKeyOf(*key).size() || user_.Compare(UserKeyOf(*key), shortened) >= 0) return;
  *key = std::move(shortened);
  base::AppendFixed64(key, kv::MakeTag(kv::kSequenceMax, kv::Kind::kPut));
}

}  // namespace mergedb::leveldb_format
