// The order of the keys in a LevelDB table, and the short separator keys of its index.
//
// A table of a database holds internal keys: user key ascending, then tag descending, so the newest version comes
// first. A table that a program wrote with TableBuilder holds plain keys.
//
// THREADS: any. Tests: tests/unit/leveldb/format/table_test.cc.
#pragma once

#include <string>
#include <string_view>

#include "kv/order.h"

namespace mergedb::leveldb_format {

class KeyOrder {
 public:
  virtual ~KeyOrder() = default;
  virtual int Compare(std::string_view a, std::string_view b) const = 0;
  // May replace *key by any key at or after *key and before `limit`, as short as possible. REQUIRES: *key < limit.
  virtual void ShortenTowards(std::string_view limit, std::string* key) const = 0;
  // May replace *key by any key at or after *key.
  virtual void ShortenUpwards(std::string* key) const = 0;
};

// The order of user keys in mergedb. Only the bytewise order shortens keys.
class UserOrder final : public KeyOrder {
 public:
  explicit UserOrder(const kv::Order& order) : order_(order) {}
  int Compare(std::string_view a, std::string_view b) const override { return order_.CompareKeys(a, b); }
  void ShortenTowards(std::string_view limit, std::string* key) const override;
  void ShortenUpwards(std::string* key) const override;

 private:
  const kv::Order order_;
};

// The order of internal keys over `user`, which must outlive it. Keys too short for a tag precede all other keys.
class InternalOrder final : public KeyOrder {
 public:
  explicit InternalOrder(const KeyOrder& user) : user_(user) {}
  int Compare(std::string_view a, std::string_view b) const override;
  void ShortenTowards(std::string_view limit, std::string* key) const override;
  void ShortenUpwards(std::string* key) const override;

 private:
  void TakeIfShorter(std::string shortened, std::string* key) const;

  const KeyOrder& user_;
};

}  // namespace mergedb::leveldb_format
