// What the verbs share that stand for LMDB's programs: dump, load, stat, copy and drop. They take the options of
// mdb_dump, mdb_load, mdb_stat, mdb_copy and mdb_drop, and print what these print if the program is called by such a
// name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.h"

namespace mergedb::tool {

// The size of a page in outputs that have the form of LMDB's programs.
constexpr uint64_t kLmdbPageBytes = 4096;
// Adds -n, which mdb_dump and similar programs have and mergedb ignores, and -V, which prints the version and
// ends.
void AddLmdbFlags(CLI::App* verb);
// Adds -s,--keyspace.
CLI::Option* AddDatabase(CLI::App* verb, std::optional<std::string>& keyspace, const char* description);
// The keyspace of this name, else the main database, which has an empty name, and, if `is_all`, all others.
Result<std::vector<KeyspaceEntry>> DatabasesOf(DB& db, const std::optional<std::string>& keyspace, bool is_all);
// Drops the keyspace, and the item that the LMDB interface keeps for it (format/lmdb.h), at once.
Status DropDatabase(DB& db, const KeyspaceEntry& database);

}  // namespace mergedb::tool
