// What a writer asks for, looked at before anything is written: InvalidArgument, with the reason, for what can never work.
// Tests: tests/db/arguments_test.cc.
#pragma once

#include <string_view>

#include "db/operator_names.h"
#include "kv/order.h"
#include "mergedb/keyspace.h"
#include "mergedb/status.h"
#include "mergedb/write_batch.h"

namespace mergedb::db {

Status CheckKey(std::string_view key);
Status CheckValue(std::string_view value);
// Its ends are keys, and in order.
Status CheckRange(const kv::Order& order, std::string_view begin, std::string_view end);
Status CheckMerge(std::string_view operand);
// Of a keyspace to be made. NotSupported for a comparator of its own.
Status CheckKeyspace(std::string_view name, const KeyspaceOptions& options);
// All of a batch; `names` learns of the programs' operators in it, *has_keyspaces whether it writes to named ones.
Status CheckBatch(const kv::Order& order, const WriteBatch& batch, OperatorNames* names, bool* has_keyspaces);

}  // namespace mergedb::db
