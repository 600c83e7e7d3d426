// Where the keys of a tree lie, for drawings. Test: tests/db/command_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kv/order.h"
#include "version/version.h"

namespace mergedb::tool {

// Where keys lie between 0, the smallest key of the tree, and 1, behind the largest one. Equal distances hold about
// equal bytes, so a part of the keys with much data is wide.
class KeyScale {
 public:
  KeyScale(const version::Version& version, const kv::Order& order);
  double At(std::string_view key) const;
  // As At, for any key: between two bounds of tables, by the bytes of the keys.
  double Within(std::string_view key) const;
  // A short key, which may not exist, at which the scale reaches about `place`: Within(KeyAt(place)) is about `place`.
  // "" without tables.
  std::string KeyAt(double place) const;

 private:
  const kv::Order& order_;
  std::vector<std::string_view> keys_;  // all bounds of virtual tables, ascending; they live as long as the version
  std::vector<double> places_;
};

}  // namespace mergedb::tool
