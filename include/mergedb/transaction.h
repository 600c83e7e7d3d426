// A transaction: it reads the database as of one moment, together with its own writes, and then commits all
// of its writes atomically, or none.
//
//     auto transaction = Transaction::Begin(*db, {.kind = TransactionKind::kSingleWriter});
//     if (!transaction) return Fail(transaction.error());
//     std::string balance;
//     RETURN_IF_ERROR((*transaction)->Get("alice", &balance));
//     RETURN_IF_ERROR((*transaction)->Put("alice", Less(balance)));
//     RETURN_IF_ERROR((*transaction)->Commit());          // destroyed without Commit: rolled back
//
// Three kinds, all serializable:
//  kSingleWriter  One at a time. Every other write to the database waits until the transaction ends. The transaction
//                 reads the newest state, so its commit never conflicts. If the thread that made its last
//                 call writes to the database outside of it, that write returns Busy, since it would wait forever.
//  kOptimistic    Any number at a time, without waiting. The transaction records its read set: each key, and each
//                 range over which a cursor moved. If another write has changed the read set since the start,
//                 Commit returns Conflict and writes nothing; conflict() names the key. Begin again then. A write to
//                 a key that another write changed is not a conflict by itself. The database remembers recent writes
//                 in a window of bounded size. A transaction that began before the window gets Conflict, too, without
//                 a key.
//  kReadOnly      Never waits, never makes a write wait, and never conflicts. Writes return NotSupported.
// Reads of all kinds do not wait for writers and do not make writers wait.
//
// COST: an open transaction pins its snapshot on disk (at most one more version of each key). Its writes and
// its read set are in memory, up to bytes_max. Property "mergedb.transactions" lists the open transactions,
// oldest first, with name, kind, age, snapshot and bytes.
//
// Merge operands are applied at the read, to the value in the tree, with the types of the tree. A range
// delete hides all keys of its range that were written before it, in the transaction or in the database.
// Savepoints nest.
//
// After Commit or Rollback, every call except conflict() and the destructor returns Aborted. After the Close
// of the database, every call returns ShuttingDown. The DB object must outlive its transactions.
// THREADS: one thread at a time. A transaction may move to another thread between calls.
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

  // The durability of the commit.
  Durability durability = Durability::kProcessCrash;

  // The maximum memory in bytes for the transaction's writes (their size in the WAL and 64 bytes for each)
  // and, if optimistic, its read set. A call that would exceed it returns NoSpace and changes nothing. At
  // most kBatchBytesMax. Nothing is moved to disk.
  size_t bytes_max = size_t{256} << 20;

  // kSingleWriter: how long Begin waits for the previous single writer, in microseconds; after that Begin
  // returns Busy. 0: Begin does not wait. UINT64_MAX: no limit.
  uint64_t wait_us_max = UINT64_MAX;

  // kReadOnly: reads the state of this snapshot, which must be of the same database. Null: the newest state.
  // With another kind: InvalidArgument.
  std::shared_ptr<const Snapshot> snapshot = nullptr;

  // A name for property "mergedb.transactions".
  std::string name = {};

  ReadOptions read = {};  // read options; `snapshot` is ignored
};

// Why Commit returned Conflict.
struct TransactionConflict {
  Keyspace keyspace = {};
  std::string key = {};   // a key that the transaction read and another write has changed since
  uint64_t sequence = 0;  // sequence number of the transaction's snapshot
};

class MERGEDB_EXPORT Transaction {
 public:
  // Begins a transaction. The database must outlive it. Errors: InvalidArgument (the options contradict each
  // other), NotSupported (a writing kind on a read-only database), Busy (see wait_us_max).
  static Result<std::unique_ptr<Transaction>> Begin(DB& db, const TransactionOptions& options = {});

  virtual ~Transaction();  // rolls back unless committed
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // ---- reading: as DB::Get

  Status Get(std::string_view key, std::string* value) { return Get(Keyspace(), key, value); }
  virtual Status Get(Keyspace keyspace, std::string_view key, std::string* value) = 0;
  // Never null: if the cursor cannot be made, each of its calls returns the error.
  virtual std::unique_ptr<Cursor> OpenCursor(Keyspace keyspace = {}) = 0;

  // ---- writing: this transaction sees its writes at once; other readers see them after Commit. As in DB and
  // WriteBatch. A refused write changes nothing, and the transaction stays open.

  Status Put(std::string_view key, std::string_view value) { return Put(Keyspace(), key, value); }
  virtual Status Put(Keyspace keyspace, std::string_view key, std::string_view value) = 0;
  Status Delete(std::string_view key) { return Delete(Keyspace(), key); }  // OK if absent; adds nothing to the read set
  virtual Status Delete(Keyspace keyspace, std::string_view key) = 0;
  Status DeleteRange(std::string_view begin, std::string_view end) { return DeleteRange(Keyspace(), begin, end); }
  virtual Status DeleteRange(Keyspace keyspace, std::string_view begin, std::string_view end) = 0;
  Status Merge(std::string_view key, std::string_view operand) { return Merge(Keyspace(), key, operand); }
  virtual Status Merge(Keyspace keyspace, std::string_view key, std::string_view operand) = 0;
  // Puts a value of `value_bytes` zero bytes. The caller overwrites the bytes at *value before its next call
  // on this transaction or its cursors.
  virtual Status Reserve(Keyspace keyspace, std::string_view key, size_t value_bytes, char** value) = 0;

  // ---- keyspaces: create and drop are writes of this transaction. The transaction sees them at once, other
  // readers see them after Commit. Rollback and savepoints undo them. As in DB; KeyspaceOptions::write is ignored.

  // An optimistic transaction cannot create the first keyspace of a database (NotSupported); create it
  // outside before. Two optimistic transactions that create the same name conflict.
  // If another writer creates the first keyspace of a database, an optimistic transaction that has read or written
  // before gets Conflict from its reads, writes and savepoints, and from a Commit with writes.
  virtual Result<Keyspace> CreateKeyspace(std::string_view name, const KeyspaceOptions& options = {}) = 0;
  virtual Result<Keyspace> OpenKeyspace(std::string_view name) = 0;
  virtual Result<std::vector<KeyspaceEntry>> ListKeyspaces() = 0;
  virtual Status DropKeyspace(Keyspace keyspace) = 0;
  virtual Status ClearKeyspace(Keyspace keyspace) = 0;

  // ---- savepoints: a stack

  // Adds a savepoint on top of the stack.
  virtual Status SetSavepoint() = 0;
  // Undoes every write since the newest savepoint and removes that savepoint. Cursors stay at their keys or
  // in their gaps. The read set stays as it is. InvalidArgument if there is no savepoint.
  virtual Status RollbackToSavepoint() = 0;
  // Removes the newest savepoint and keeps the writes. InvalidArgument if there is no savepoint.
  virtual Status ReleaseSavepoint() = 0;
  virtual size_t savepoints() const = 0;

  // ---- the end

  // Commits and ends the transaction; the transaction ends also if Commit fails. Conflict: nothing was
  // written. Other errors: as DB::Write; see Status::outcome_unknown. A transaction without writes returns
  // OK; it never conflicts, since its reads are of one moment. With kSynced (except kReadOnly) it still makes
  // earlier commits durable.
  virtual Status Commit() = 0;
  // Ends the transaction and discards its writes. Does nothing if it has ended.
  virtual void Rollback() = 0;

  // The conflicting key, after a Commit that returned Conflict and knows the key; else without a value.
  virtual const std::optional<TransactionConflict>& conflict() const = 0;

  // The transaction reads the database's writes up to this sequence number.
  virtual uint64_t sequence() const = 0;
  virtual TransactionKind kind() const = 0;
  virtual bool is_open() const = 0;  // true until Commit or Rollback
  // The bytes that count against bytes_max.
  virtual size_t bytes() const = 0;
  // The number of its writes.
  virtual uint64_t writes() const = 0;

 protected:
  Transaction() = default;
};

}  // namespace mergedb
