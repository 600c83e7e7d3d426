// The page of `mergedb inspect`: the tree of a database as one HTML file that needs no network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect_history.h"
#include "kv/order.h"
#include "live_view.h"
#include "mergedb/options.h"
#include "version/version.h"

namespace mergedb::tool {

struct InspectPage {
  std::string directory;
  const version::Version& version;
  const kv::Order& order;
  Style style = Style::kLazy;
  uint64_t disk_bytes = 0;
  uint64_t disk_files = 0;
  History history = {};
  std::optional<LiveView> live = {};  // of the process that has the database open, or of one that was killed
};

std::string PrintPage(const InspectPage& page);

// Where keys lie between 0, the smallest key of the tree, and 1, behind the largest one. Equal distances hold about
// equal bytes, so a part of the keys with much data is wide.
class KeyScale {
 public:
  KeyScale(const version::Version& version, const kv::Order& order);
  double At(std::string_view key) const;
  // As At, for any key: between two bounds of tables, by the bytes of the keys.
  double Within(std::string_view key) const;
  // The key at which the scale reaches about `place`; "" without tables.
  std::string KeyAt(double place) const;

 private:
  const kv::Order& order_;
  std::vector<std::string_view> keys_;  // all bounds of virtual tables, ascending; they live as long as the version
  std::vector<double> places_;
};

}  // namespace mergedb::tool
