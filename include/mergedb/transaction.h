// A transaction: reads as of one moment, its own writes among them, and then all of its writes at once or none.
//
//     auto transaction = Transaction::Begin(*db, {.kind = TransactionKind::kSingleWriter});
//     if (!transaction) return Fail(transaction.error());
//     std::string balance;
//     RETURN_IF_ERROR((*transaction)->Get("alice", &balance));
//     RETURN_IF_ERROR((*transaction)->Put("alice", Less(balance)));
//     RETURN_IF_ERROR((*transaction)->Commit());          // destroyed without: rolled back
//
// Three kinds, all serializable:
//   kSingleWriter  one at a time; every other write to the database, by whomever, waits until it has ended. Its reads are
//                  of the newest state, so its commit never conflicts. A write outside of it by the thread that began it
//                  is Busy rather than a wait without end.
//   kOptimistic    any number at a time, waiting for nobody. What it reads is remembered: each key, and each stretch that a
//                  cursor walked. Commit looks whether any of that was written since it began; if so it is Conflict,
//                  conflict() names the key, and nothing was written: begin again. Writing what others wrote is no conflict
//                  in itself. The writes of others are remembered in a bounded window (bytes); a transaction that began before
//                  it is Conflict too, without a key.
//   kReadOnly      never waits, is never waited for, and never conflicts. Writes are NotSupported.
// Reads of none of them wait for writers or make them wait.
//
// A transaction that stays open costs what its snapshot pins (space: at most one more version of each key) and its own writes
// and reads in memory, up to bytes_max. Property "mergedb.transactions" lists those that are open, oldest first: name, kind,
// age, snapshot, bytes.
//
// Merges are applied where they are read, over what the tree holds, typed as in the tree; a range delete hides what is under it
// from its place in the transaction on. Savepoints nest.
//
// After Commit or Rollback every call but conflict() and the destructor returns Aborted; after the database's Close,
// ShuttingDown. The DB object must outlive its transactions.
// THREADS: not for use by two threads at once; it may go from one thread to another between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/cursor.h"
#include "mergedb/db.h"
#include "mergedb/export.h"
#include "mergedb/keyspace.h"
#include "mergedb/options.h"
#include "mergedb/result.h"
#include "mergedb/status.h"

namespace mergedb {

enum class TransactionKind : uint8_t { kSingleWriter, kOptimistic, kReadOnly };

struct TransactionOptions {
  TransactionKind kind = TransactionKind::kSingleWriter;

  // Of the commit.
  Durability durability = Durability::kProcessCrash;

  // The most memory, in bytes, that its writes (as logged, and 64 more for each) and, if optimistic, its reads may take; a
  // call that would exceed it is NoSpace and changes nothing. At most kBatchBytesMax. Nothing is spilled.
  size_t bytes_max = size_t{256} << 20;

  // kSingleWriter: how long Begin waits for the one before, in microseconds; then Busy. 0: not at all.
  uint64_t wait_us_max = UINT64_MAX;

  // kReadOnly: read as of this snapshot, which must be of the same database; null: as of now.
  std::shared_ptr<const Snapshot> snapshot = nullptr;

  // For property "mergedb.transactions": who holds it.
  std::string name = {};

  ReadOptions read = {};  // its snapshot is not looked at
};

// Why a commit was refused.
struct TransactionConflict {
  Keyspace keyspace = {};
  std::string key = {};   // what was read and has been written since
  uint64_t sequence = 0;  // of the snapshot that it was read from
};

class MERGEDB_EXPORT Transaction {
 public:
  // The database must outlive the transaction. InvalidArgument for options that contradict each other, NotSupported for a
  // writing kind on a database that is open read-only, Busy as the options say.
  static Result<std::unique_ptr<Transaction>> Begin(DB& db, const TransactionOptions& options = {});

  virtual ~Transaction();  // rolls back what was not committed
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // ---- reading: as DB::Get

  Status Get(std::string_view key, std::string* value) { return Get(Keyspace(), key, value); }
  virtual Status Get(Keyspace keyspace, std::string_view key, std::string* value) = 0;
  // Never null: a cursor that could not be made carries the error in each of its calls.
  virtual std::unique_ptr<Cursor> OpenCursor(Keyspace keyspace = {}) = 0;

  // ---- writing: seen by this transaction at once, by others after Commit. As in DB and WriteBatch; what is refused changes
  // nothing, and the transaction goes on.

  Status Put(std::string_view key, std::string_view value) { return Put(Keyspace(), key, value); }
  virtual Status Put(Keyspace keyspace, std::string_view key, std::string_view value) = 0;
  Status Delete(std::string_view key) { return Delete(Keyspace(), key); }  // OK if absent; reads nothing
  virtual Status Delete(Keyspace keyspace, std::string_view key) = 0;
  Status DeleteRange(std::string_view begin, std::string_view end) { return DeleteRange(Keyspace(), begin, end); }
  virtual Status DeleteRange(Keyspace keyspace, std::string_view begin, std::string_view end) = 0;
  Status Merge(std::string_view key, std::string_view operand) { return Merge(Keyspace(), key, operand); }
  virtual Status Merge(Keyspace keyspace, std::string_view key, std::string_view operand) = 0;
  // A Put of `value_bytes` zeroes, which the caller overwrites at *value before its next call on this transaction or its cursors.
  virtual Status Reserve(Keyspace keyspace, std::string_view key, size_t value_bytes, char** value) = 0;

  // ---- keyspaces: creating and dropping are writes of this transaction like others: seen by it at once, by others after Commit,
  // undone by Rollback and savepoints. As in DB; KeyspaceOptions::write is not looked at.

  // The first keyspace of a database: NotSupported in an optimistic transaction; create one outside before. Two optimistic
  // transactions that create the same name conflict.
  virtual Result<Keyspace> CreateKeyspace(std::string_view name, const KeyspaceOptions& options = {}) = 0;
  virtual Result<Keyspace> OpenKeyspace(std::string_view name) = 0;
  virtual Result<std::vector<KeyspaceEntry>> ListKeyspaces() = 0;
  virtual Status DropKeyspace(Keyspace keyspace) = 0;
  virtual Status ClearKeyspace(Keyspace keyspace) = 0;

  // ---- savepoints: a stack

  virtual Status SetSavepoint() = 0;
  // Undo every write since the newest savepoint, and drop it. Cursors stay at their keys, or in their gaps. What was read stays
  // read. InvalidArgument if there is none.
  virtual Status RollbackToSavepoint() = 0;
  // Drop the newest savepoint and keep the writes. InvalidArgument if there is none.
  virtual Status ReleaseSavepoint() = 0;
  virtual size_t savepoints() const = 0;

  // ---- the end

  // Ends the transaction whatever it returns. Conflict: nothing was written. Other failures: as DB::Write; see
  // Status::outcome_unknown. Without writes it is OK (if optimistic: its reads are of one moment, so it never conflicts);
  // kSynced then makes earlier commits durable.
  virtual Status Commit() = 0;
  virtual void Rollback() = 0;

  // After a Commit that returned Conflict and knows the key.
  virtual const std::optional<TransactionConflict>& conflict() const = 0;

  // The database's writes up to this sequence are what it reads.
  virtual uint64_t sequence() const = 0;
  virtual TransactionKind kind() const = 0;
  virtual bool is_open() const = 0;  // neither committed nor rolled back
  // What counts against bytes_max.
  virtual size_t bytes() const = 0;
  // How many writes it holds.
  virtual uint64_t writes() const = 0;

 protected:
  Transaction() = default;
};

}  // namespace mergedb
