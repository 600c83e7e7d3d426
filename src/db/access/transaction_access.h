// The interface of a database for transactions (src/txn), beyond DB.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "db/access/commit_checks.h"
#include "db/access/keyspace_access.h"
#include "db/access/keyspace_catalog.h"
#include "db/access/tree_reader.h"
#include "db/access/write_host.h"
#include "db/state/open_transactions.h"
#include "db/state/store.h"

namespace mergedb::db {

// THREADS: any.
class TransactionAccess {
 public:
  struct Parts {
    std::shared_ptr<Store> store;
    const TreeReader& reader;
    CommitChecks& checks;
    WriteHost& writers;
    KeyspaceCatalog& keyspaces;
    KeyspaceAccess& access;
  };
  explicit TransactionAccess(const Parts& parts) : parts_(parts) {}

  const kv::Order& order() const { return parts_.store->order; }
  const kv::ProgramOperators& operators() const { return parts_.store->operators; }
  OperatorNames& operator_names() { return parts_.store->operator_names; }
  // OK if the database is open and, with `to_write`, writable.
  Status CheckUsable(bool to_write) const {
    return to_write ? parts_.store->CheckWritable() : parts_.store->CheckOpen();
  }

  trace::Recorder& recorder() { return parts_.store->recorder; }

  // Begin and end of a single-writer transaction: write/writer_queue.h.
  Status LockWriters(const void* owner, uint64_t wait_nanos) {
    return parts_.writers.queue().LockWriters(owner, wait_nanos);
  }
  void UnlockWriters(const void* owner) { parts_.writers.queue().UnlockWriters(owner); }
  void MoveWriters(const void* owner) { parts_.writers.queue().MoveWriters(owner); }
  // Begin and end of an optimistic transaction. Between the two calls, the writes committed after its
  // snapshot are recorded (write/recent_writes.h).
  void EnterWindow();
  void LeaveWindow() { parts_.checks.recent_writes().Leave(); }

  std::unique_ptr<OpenTransactions::Entry> Register(const std::string& name, TransactionKind kind,
                                                    kv::Sequence sequence);
  // Lists an entry again after its Rest().
  void RegisterAgain(OpenTransactions::Entry& entry, kv::Sequence sequence);

  // The key map for keyspaces; null while there are no keyspaces. A transaction's own writes and reads use
  // tree keys (kv/key_map.h), all of one key map. If the current key map is another one at the commit, the
  // commit returns Aborted.
  const kv::KeyMap* key_map() const { return parts_.store->key_map(); }
  KeyspaceCatalog& keyspaces() { return parts_.keyspaces; }

  // DB::Get of a tree key. `newer` and `in_place` as in TreeReader::Get.
  Status GetUnder(const ReadOptions& options, std::string_view key, std::span<const std::string_view> newer,
                  std::string* value, read::InPlace* in_place = nullptr) {
    return parts_.reader.Get(options, key, value, newer, in_place);
  }
  // DB::NewIterator, with a transaction's own writes on top of the database. `kept` as in
  // TreeReader::NewIterator. A trace that runs records the iterator and its calls.
  std::unique_ptr<Iterator> NewIteratorUnder(const IteratorOptions& options, read::Overlay overlay,
                                             read::PinnedTables* kept = nullptr);
  // NewIteratorUnder over the tree keys in `options`, which names no keyspace.
  std::unique_ptr<read::InternalAccessIterator> NewTreeIterator(const IteratorOptions& options, read::Overlay overlay,
                                                                read::PinnedTables* kept = nullptr) {
    return parts_.reader.NewIterator(options, std::move(overlay), kept);
  }

  // A trace that runs records the batch, also if the commit fails. REQUIRES: each record passed
  // db/access/write_checks.h.
  Status Commit(const write::Change& change);

 private:
  const Parts parts_;
};

}  // namespace mergedb::db
