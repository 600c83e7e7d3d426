// Operands and merge operators of the C face, as those of the C++ one.
#pragma once

#include <memory>
#include <string>

#include "mergedb/c.h"
#include "mergedb/merge_operator.h"
#include "mergedb/status.h"

namespace mergedb::c {

// A whole struct, as src/c/options.h reads them -> the operand's bytes.
Status EncodeOperand(const mergedb_operand& given, std::string* operand);

// Takes over `given.state`. REQUIRES: a name and an `apply`.
std::shared_ptr<const MergeOperator> NewForeignOperator(const mergedb_merge_operator& given);

}  // namespace mergedb::c
