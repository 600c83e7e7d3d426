// The structs of the C face, turned into those of the C++ face. A struct carries the size that its caller was compiled
// with: a shorter one is an older caller's, whose missing fields have their defaults; a longer one is a newer caller's,
// whose unknown fields must be zero, since this library would ignore what they ask for.
#pragma once

#include <memory>

#include "c/face.h"
#include "mergedb/care.h"
#include "mergedb/checkpoint.h"
#include "mergedb/transaction.h"

namespace mergedb::c {

// *borrowed owns what the options point to. Nothing is borrowed unless it returns OK.
Status DecodeOptions(const mergedb_options* given, Options* options, Borrowed* borrowed);

// Where a call is about no keyspace, or names it itself, `keyspace` is null and the field must be 0.
Status DecodeWriteOptions(const mergedb_write_options* given, WriteOptions* options, Keyspace* keyspace = nullptr);

// *snapshot keeps options->snapshot alive. The snapshot must be one of `opened`.
Outcome DecodeReadOptions(const mergedb_read_options* given, const Opened* opened, ReadOptions* options,
                          std::shared_ptr<const Snapshot>* snapshot, Keyspace* keyspace = nullptr);

// What verify and repair take. *borrowed as for DecodeOptions.
struct DecodedCare {
  Options options;
  RepairOptions repair;
};
Status DecodeCareOptions(const mergedb_care_options* given, DecodedCare* care, Borrowed* borrowed);

Status DecodeCheckpointOptions(const mergedb_checkpoint_options* given, CheckpointOptions* options);

// OK if `out` can be filled: it says of itself that it has all fields of the first version, or more.
Status CheckRoom(size_t struct_size, size_t bytes, const char* name);

Status DecodeOperand(const mergedb_operand* given, std::string* operand);

Outcome DecodeIteratorOptions(const mergedb_iterator_options* given, const Opened* opened, IteratorOptions* options,
                              std::shared_ptr<const Snapshot>* snapshot);

// 0 or MERGEDB_NO: false.
Status DecodeMayExist(int32_t may_exist, KeyspaceOptions* options);

Outcome DecodeTransactionOptions(const mergedb_transaction_options* given, const Opened* opened,
                                 TransactionOptions* options);

}  // namespace mergedb::c
