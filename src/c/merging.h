// Converts merge operands and merge operators of the C interface to those of the C++ interface.
#pragma once

#include <memory>
#include <string>

#include "mergedb/c.h"
#include "mergedb/merge_operator.h"
#include "mergedb/status.h"

namespace mergedb::c {

// Converts a complete struct, as src/c/options.h reads it, to the bytes of the operand.
Status EncodeOperand(const mergedb_operand& given, std::string* operand);

// Takes ownership of `given.state`. REQUIRES: a name and an `apply`.
std::shared_ptr<const MergeOperator> NewForeignOperator(const mergedb_merge_operator& given);

}  // namespace mergedb::c
