// Converts the structs of the C interface to those of the C++ interface. A struct carries the size with which
// its caller was compiled. A shorter struct comes from an older caller, and its missing fields have their
// defaults. A longer struct comes from a newer caller, and its unknown fields must be zero, because this
// library cannot do what they ask for.
#pragma once

#include <memory>

#include "c/interface.h"
#include "mergedb/checkpoint.h"
#include "mergedb/repair.h"
#include "mergedb/transaction.h"

namespace mergedb::c {

// The base of an object that the program implements: `Given` is its struct in C, whose `destroy` may be null.
template <typename Base, typename Given>
class Foreign : public Base {
 public:
  explicit Foreign(const Given& given) : given_(given) {}
  ~Foreign() override {
    if (given_.destroy != nullptr) given_.destroy(given_.state);
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

 protected:
  const Given given_;
};

// *borrowed owns the objects that the options point to. If the call fails, nothing is borrowed.
Status DecodeOptions(const mergedb_options* given, Options* options, Borrowed* borrowed);

// If the call concerns no keyspace, or names the keyspace itself, `keyspace` is null and the field must be 0.
Status DecodeWriteOptions(const mergedb_write_options* given, WriteOptions* options, Keyspace* keyspace = nullptr);

// Decodes the write options, then calls `body`, which checks the pointers and sizes and writes.
template <typename Body>
mergedb_code WriteOn(mergedb_db db, const mergedb_write_options* options, mergedb_error* error, Body body) {
  return On<Database>(db, error, [&](Database& database) -> Status {
    WriteOptions write;
    Keyspace keyspace;
    RETURN_IF_ERROR(DecodeWriteOptions(options, &write, &keyspace));
    return body(database.db(), write, keyspace);
  });
}

// *snapshot keeps options->snapshot alive. The snapshot must belong to `opened`.
Status DecodeReadOptions(const mergedb_read_options* given, const Opened* opened, ReadOptions* options,
                         std::shared_ptr<const Snapshot>* snapshot, Keyspace* keyspace = nullptr);

// The options of verify and repair. *borrowed as for DecodeOptions.
struct DecodedRepair {
  Options options;
  RepairOptions repair;
};
Status DecodeRepairOptions(const mergedb_repair_options* given, DecodedRepair* decoded, Borrowed* borrowed);

Status DecodeCheckpointOptions(const mergedb_checkpoint_options* given, CheckpointOptions* options);

Status DecodeTraceOptions(const mergedb_trace_options* given, TraceOptions* options);

// OK if an output struct of the caller can be filled: its struct_size is at least `bytes`.
Status CheckRoom(size_t struct_size, size_t bytes, const char* name);

Status DecodeOperand(const mergedb_operand* given, std::string* operand);

Status DecodeIteratorOptions(const mergedb_iterator_options* given, const Opened* opened, IteratorOptions* options,
                             std::shared_ptr<const Snapshot>* snapshot);

// MERGEDB_DEFAULT (0) and MERGEDB_NO: false.
Status DecodeMayExist(int32_t may_exist, KeyspaceOptions* options);

Status DecodeTransactionOptions(const mergedb_transaction_options* given, const Opened* opened,
                                TransactionOptions* options);

}  // namespace mergedb::c
