// Parses trees from text, for tests. It reads the text of Version::ToString, and more facts about a table:
//
//   position 9 level 0: 000012[a..f)8MB 000015[f..m]1MB,25% 000012[q..z]
//   position 3 level bottom: 000007[a..zz]64MB
//
//   position 9 level 0: 000013[a..m]4KB,0%,96MB
//
// Each word is a virtual table. [a..f) shows the keys below f; [f..m] shows the keys up to and including m. Then follow
// facts about the whole table: its size (KB or MB; default 1MB), the percentage of its entries that are tombstones (it
// has one entry for each KB), and how many bytes of older tables its range tombstones mask. If the last is given, the
// table has 10 range tombstones, else none. The key range of a table covers all its words: 000012 holds a to z, and
// does not show [f..q). Its sequences are the position of its run, times 10.
// {90:60MB,91:5MB} at the end of a word gives the table's bytes in blob files. A line "values 90 100MB" is a blob file.
// "positions 2-16 level 0: 000002[a..z]4MB" is a run of one table at each of these positions: 000002, 000003 and so on.
// Lines that begin with # are comments.
#pragma once

#include <string_view>

#include "kv/order.h"
#include "mergedb/result.h"
#include "version/version.h"

namespace mergedb::testing {

Result<version::VersionPtr> ParseTree(const kv::Order& order, std::string_view text);

}  // namespace mergedb::testing
