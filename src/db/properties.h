// DB::GetProperty: texts for people; "mergedb.counters" and "mergedb.<counter>" for programs.
#pragma once

#include <string>
#include <string_view>

#include "db/background.h"
#include "db/store.h"
#include "db/tree.h"
#include "db/wal_epochs.h"
#include "db/write_host.h"

namespace mergedb::db {

struct PropertySources {
  const Store& store;
  const Tree& tree;
  const WalEpochs& epochs;
  const WriteHost& writers;
  const Background* background;  // null if the database is open read-only
  const std::string& recovery_report;
};

// False if there is no property `name`. THREADS: any.
bool PrintProperty(const PropertySources& sources, std::string_view name, std::string* value);

}  // namespace mergedb::db
