// The page of `mergedb inspect`: the tree of a database as one HTML file that needs no network.
//
// The page is the text of assets/inspect.{html,css,js}, with the data of the database as JSON between them, which
// inspect.js draws. In the JSON, bytes are text as ToText prints it, and < is escaped, so that no key and no message
// ends the element that holds it.
#pragma once

#include <optional>
#include <string>

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

}  // namespace mergedb::tool
