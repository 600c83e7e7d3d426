// The interface of a database for transactions (src/txn), beyond DB.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "db/open_transactions.h"
#include "db/operator_names.h"
#include "kv/key_map.h"
#include "kv/order.h"
#include "kv/program_operators.h"
#include "mergedb/iterator.h"
#include "mergedb/keyspace.h"
#include "mergedb/options.h"
#include "mergedb/snapshot.h"
#include "mergedb/status.h"
#include "read/db_iterator.h"
#include "read/lookup.h"
#include "write/change.h"

namespace mergedb::db {

// THREADS: any.
class TransactionHost {
 public:
  virtual ~TransactionHost() = default;

  virtual const kv::Order& order() const = 0;
  virtual const kv::ProgramOperators& operators() const = 0;
  virtual OperatorNames& operator_names() = 0;
  // OK if the database is open and, with `to_write`, writable.
  virtual Status CheckUsable(bool to_write) const = 0;

  // Begin and end of a single-writer transaction: write/writers_lock.h.
  virtual Status LockWriters(const void* owner, uint64_t wait_nanos) = 0;
  virtual void UnlockWriters(const void* owner) = 0;
  // Begin and end of an optimistic transaction. Between the two calls, the writes committed after its
  // snapshot are recorded (write/recent_writes.h).
  virtual void EnterWindow() = 0;
  virtual void LeaveWindow() = 0;
  // Conflict, or advances reads->checked_to, so that the commit has less to check.
  virtual Status CheckAhead(write::ReadCheck* reads) = 0;

  virtual std::unique_ptr<OpenTransactions::Entry> Register(const std::string& name, TransactionKind kind,
                                                            kv::Sequence sequence) = 0;
  // Lists an entry again after its Rest().
  virtual void RegisterAgain(OpenTransactions::Entry& entry, kv::Sequence sequence) = 0;

  // The key map for keyspaces; null while there are no keyspaces. A transaction's own writes and reads use
  // tree keys (kv/key_map.h), all of one key map. If the current key map is another one at the commit, the
  // commit returns Aborted.
  virtual const kv::KeyMap* key_map() const = 0;
  virtual Status CheckMade(Keyspace keyspace) = 0;           // InvalidArgument if the id was never given out
  virtual bool IsLiveKeyspace(kv::KeyspaceId id) const = 0;  // REQUIRES: CheckMade was OK once
  // As of the newest commit; empty if the keyspace is not live. REQUIRES: CheckMade was OK once.
  virtual std::optional<std::string> NameOfKeyspace(kv::KeyspaceId id) const = 0;
  // OK: there is a key map, and its marker begins none of the caller's own uncommitted keys. REQUIRES:
  // `owner` holds the writers' lock.
  using BeginsOwnKey = std::function<bool(const std::string& prefix)>;
  virtual Status EnableKeyspaces(const void* owner, const BeginsOwnKey& begins_own_key) = 0;
  // An id for a new keyspace. `owner` holds the writers' lock, or is null; if it is null, the call may wait
  // for the lock.
  virtual Result<kv::KeyspaceId> AllocateKeyspaceId(const void* owner) = 0;
  // The record that says which ids were given out; empty if keyspace ids are not loaded.
  struct TreeRecord {
    std::string key, value;
  };
  virtual std::optional<TreeRecord> NextIdRecord() const = 0;

  // DB::Get of a tree key. `newer` holds operands that are newer than all data of the database, newest first.
  // `in_place`: as in read::Lookup.
  virtual Status GetUnder(const ReadOptions& options, std::string_view key, std::span<const std::string_view> newer,
                          std::string* value, read::InPlace* in_place = nullptr) = 0;
  // DB::NewIterator, with a transaction's own writes on top of the database. Mapped tables whose data the
  // iterator shows are added to `kept`, which must outlive the iterator. Null: they are released as the
  // iterator moves on.
  virtual std::unique_ptr<Iterator> NewIteratorUnder(const IteratorOptions& options, read::Overlay overlay,
                                                     read::PinnedTables* kept = nullptr) = 0;

  // NewIteratorUnder over the tree keys in `options`, which names no keyspace.
  virtual std::unique_ptr<read::InternalAccessIterator> NewTreeIterator(const IteratorOptions& options,
                                                                        read::Overlay overlay,
                                                                        read::PinnedTables* kept = nullptr) = 0;

  // REQUIRES: each record passed db/write_checks.h.
  virtual Status CommitTransaction(const write::Change& change) = 0;
};

}  // namespace mergedb::db
