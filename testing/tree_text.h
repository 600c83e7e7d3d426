// Trees as text, for tests: what Version::ToString prints can be read back, and more can be said about a table.
//
//   position 9 level 0: 000012[a..f)8MB 000015[f..m]1MB,25% 000012[q..z]
//   position 3 level bottom: 000007[a..zz]64MB
//
//   position 9 level 0: 000013[a..m]4KB,0%,96MB
//
// [a..f) shows keys below f, [f..m] up to and with m. What comes after says how large the whole table is (1MB unless said;
// KB and MB), how many of its entries, one for each KB, are tombstones, and how much of older tables its range tombstones
// cover; it has some, 10, if this is said. A table reaches over all the keys with which it
// is mentioned: 000012 holds a to z, and nothing of it shows in [f..q). Its sequences are its run's position, times 10.
// A table may refer to values, {90:60MB,91:5MB} at the end of a mention; "values 90 100MB" on a line of its own is a value file.
// Lines that begin with # are comments.
#pragma once

#include <string_view>

#include "kv/order.h"
#include "mergedb/result.h"
#include "version/version.h"

namespace mergedb::testing {

Result<version::VersionPtr> ParseTree(const kv::Order& order, std::string_view text);

}  // namespace mergedb::testing
