// What a writer asks for, looked at before anything is written: InvalidArgument, with the reason, for what can never work.
// Tests: tests/db/arguments_test.cc.
#pragma once

#include <string_view>

#include "db/operator_names.h"
#include "kv/order.h"
#include "mergedb/status.h"
#include "mergedb/write_batch.h"

namespace mergedb::db {

Status CheckKey(std::string_view key);
Status CheckValue(std::string_view value);
// Its ends are keys, and in order.
Status CheckRange(const kv::Order& order, std::string_view begin, std::string_view end);
Status CheckMerge(std::string_view operand);
// All of a batch; `names` learns of the programs' operators in it.
Status CheckBatch(const kv::Order& order, const WriteBatch& batch, OperatorNames* names);

}  // namespace mergedb::db
