// What transactions (src/txn) need of a database beyond its public face.
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
#include "write/writer_queue.h"

namespace mergedb::db {

// THREADS: any.
class TransactionHost {
 public:
  virtual ~TransactionHost() = default;

  virtual const kv::Order& order() const = 0;
  virtual const kv::ProgramOperators& operators() const = 0;
  virtual OperatorNames& operator_names() = 0;
  // Open, and if asked for, writable.
  virtual Status CheckUsable(bool to_write) const = 0;

  // A single writer's begin and end: write/writer_queue.h.
  virtual Status LockWriters(const void* owner, uint64_t wait_nanos) = 0;
  virtual void UnlockWriters(const void* owner) = 0;
  // An optimistic one's. What is committed after a snapshot taken in between is remembered (write/recent_writes.h).
  virtual void EnterWindow() = 0;
  virtual void LeaveWindow() = 0;
  // Conflict, or reads->checked_to has moved on: less is left for the commit.
  virtual Status CheckAhead(write::ReadCheck* reads) = 0;

  virtual std::unique_ptr<OpenTransactions::Entry> Register(const std::string& name, TransactionKind kind,
                                                            kv::Sequence sequence) = 0;
  // One that is at rest is listed again.
  virtual void RegisterAgain(OpenTransactions::Entry& entry, kv::Sequence sequence) = 0;

  // Keyspaces: null while there are none. Own writes and reads are of tree keys (kv/key_map.h), made by one map: of a transaction
  // that used another one than is current when it commits, the commit is Aborted.
  virtual const kv::KeyMap* key_map() const = 0;
  virtual Status CheckMade(Keyspace keyspace) = 0;           // InvalidArgument: no such id was ever given out
  virtual bool IsLiveKeyspace(kv::KeyspaceId id) const = 0;  // REQUIRES: CheckMade was OK once
  virtual std::optional<std::string> NameOfKeyspace(
      kv::KeyspaceId id) const = 0;  // as of the newest commit; none: it is not live. As above
  // There is a key map when this returns OK, which was chosen so that it leaves the caller's own uncommitted keys as they are.
  // `owner` holds the writers' lock.
  using BeginsOwnKey = std::function<bool(const std::string& prefix)>;
  virtual Status EnableKeyspaces(const void* owner, const BeginsOwnKey& begins_own_key) = 0;
  // An id for a keyspace to be created. `owner` holds the writers' lock, or is null; then this may wait for it.
  virtual Result<kv::KeyspaceId> AllocateKeyspaceId(const void* owner) = 0;
  // The tree's record that says which ids were given out; none: none was.
  struct TreeRecord {
    std::string key, value;
  };
  virtual std::optional<TreeRecord> NextIdRecord() const = 0;

  // As DB::Get of a tree key, with operands above all that the database holds, newest first.
  // `in_place`: as read::Lookup's.
  virtual Status GetUnder(const ReadOptions& options, std::string_view key, std::span<const std::string_view> newer,
                          std::string* value, read::InPlace* in_place = nullptr) = 0;
  // As DB::NewIterator, with a transaction's own writes over what the database holds. Mapped tables that it shows anything of go into `kept`,
  // which outlives it; null: they do not.
  virtual std::unique_ptr<Iterator> NewIteratorUnder(const IteratorOptions& options, read::Overlay overlay,
                                                     read::PinnedTables* kept = nullptr) = 0;

  // The same over the tree keys in `options`, which names no keyspace.
  virtual std::unique_ptr<read::WalkableIterator> NewTreeIterator(const IteratorOptions& options, read::Overlay overlay,
                                                                  read::PinnedTables* kept = nullptr) = 0;

  // Records that were checked (db/write_checks.h) one by one.
  virtual Status CommitTransaction(const write::Change& change) = 0;
};

}  // namespace mergedb::db
