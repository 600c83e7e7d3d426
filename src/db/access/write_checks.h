// Checks of a caller's arguments before anything is written. InvalidArgument, with the reason, for a write
// that can never succeed.
// Tests: tests/db/arguments_test.cc.
#pragma once

#include <string_view>

#include "db/state/operator_names.h"
#include "kv/order.h"
#include "mergedb/keyspace.h"
#include "mergedb/status.h"
#include "mergedb/write_batch.h"

namespace mergedb::db {

Status CheckKey(std::string_view key);
Status CheckValue(std::string_view value);
// Both ends are valid keys, and `begin` does not lie after `end`.
Status CheckRange(const kv::Order& order, std::string_view begin, std::string_view end);
Status CheckMerge(std::string_view operand);
// For a new keyspace. NotSupported if it has a comparator other than the bytewise one.
Status CheckKeyspace(std::string_view name, const KeyspaceOptions& options);
// Checks a whole batch. Adds the program-defined merge operators in it to `names`. Sets *has_keyspaces if it
// writes to named keyspaces.
Status CheckBatch(const kv::Order& order, const WriteBatch& batch, OperatorNames* names, bool* has_keyspaces);

}  // namespace mergedb::db
