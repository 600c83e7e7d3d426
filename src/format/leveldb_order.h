// The order of the keys in a LevelDB table, and the short keys between two of them that its index is made of.
//
// In a table of a database keys are internal ones: user key ascending, then tag descending, so that the newest version comes first.
// In a table of somebody's own they are just keys.
//
// THREADS: any. Tests: tests/unit/format/leveldb_table_test.cc.
#pragma once

#include <string>
#include <string_view>

#include "kv/order.h"

namespace mergedb::format::leveldb {

class KeyOrder {
 public:
  virtual ~KeyOrder() = default;
  virtual int Compare(std::string_view a, std::string_view b) const = 0;
  // *key may become any key at or after itself and before `limit`; the shorter the better. REQUIRES: *key < limit.
  virtual void ShortenTowards(std::string_view limit, std::string* key) const = 0;
  // *key may become any key at or after itself.
  virtual void ShortenUpwards(std::string* key) const = 0;
};

// As mergedb orders keys. Only the bytewise order has short keys in between.
class UserOrder final : public KeyOrder {
 public:
  explicit UserOrder(const kv::Order& order) : order_(order) {}
  int Compare(std::string_view a, std::string_view b) const override { return order_.CompareKeys(a, b); }
  void ShortenTowards(std::string_view limit, std::string* key) const override;
  void ShortenUpwards(std::string* key) const override;

 private:
  const kv::Order order_;
};

// Internal keys over an order of user keys, which it points to. Keys too short for a tag stand before all others.
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

}  // namespace mergedb::format::leveldb
