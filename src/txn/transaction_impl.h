// The transaction implementation: own writes over a snapshot. An optimistic transaction also remembers what it read.
//
//   Get, cursor ─► OwnWrites ─► db::TransactionAccess, as of the snapshot        Put, Delete, ... ─► OwnWrites
//   Commit      ─► db::TransactionAccess: the records as one change of the writer queue
//
// Other code makes it serializable: the writers' lock in write/writers_lock.h, or write/recent_writes.h and ReadSet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/current.h"
#include "db/access/transaction_access.h"
#include "mergedb/transaction.h"
#include "txn/cursor_impl.h"
#include "txn/own_writes.h"
#include "txn/read_set.h"

namespace mergedb::txn {

inline constexpr std::string_view kOtherKeyMap =
    "the first keyspace was created after this transaction began; begin a new transaction";

class TransactionImpl final : public Transaction {
 public:
  static Result<std::unique_ptr<TransactionImpl>> Begin(DB& db, db::TransactionAccess& host,
                                                        const TransactionOptions& options);
  ~TransactionImpl() override;

  using Transaction::Delete;
  using Transaction::DeleteRange;
  using Transaction::Get;
  using Transaction::Merge;
  using Transaction::Put;
  Status Get(Keyspace keyspace, std::string_view key, std::string* value) override;
  std::unique_ptr<Cursor> OpenCursor(Keyspace keyspace) override;
  Status Put(Keyspace keyspace, std::string_view key, std::string_view value) override;
  Status Delete(Keyspace keyspace, std::string_view key) override;
  Status DeleteRange(Keyspace keyspace, std::string_view begin, std::string_view end) override;
  Status Merge(Keyspace keyspace, std::string_view key, std::string_view operand) override;
  Status Reserve(Keyspace keyspace, std::string_view key, size_t value_bytes, char** value) override;
  Result<Keyspace> CreateKeyspace(std::string_view name, const KeyspaceOptions& options) override;
  Result<Keyspace> OpenKeyspace(std::string_view name) override;
  Result<std::vector<KeyspaceEntry>> ListKeyspaces() override;
  Status DropKeyspace(Keyspace keyspace) override;
  Status ClearKeyspace(Keyspace keyspace) override;
  Status SetSavepoint() override;
  Status RollbackToSavepoint() override;
  Status ReleaseSavepoint() override;
  size_t savepoints() const override { return savepoints_.size(); }
  Status Commit() override;
  void Rollback() override;
  const std::optional<TransactionConflict>& conflict() const override { return conflict_; }
  uint64_t sequence() const override { return sequence_; }
  TransactionKind kind() const override { return options_.kind; }
  bool is_open() const override { return is_open_; }
  size_t bytes() const override { return writes_.bytes() + reads_.bytes(); }
  uint64_t writes() const override { return writes_.count(); }

  // ---- for interfaces that return views into the database's memory and say how long these live

  // As Get. *value is a view, into *scratch or elsewhere, that lives until the next call; if Lasts(*value),
  // until the transaction ends.
  Status GetView(Keyspace keyspace, std::string_view key, std::string* scratch, std::string_view* value);
  // Begins an ended transaction again, as of now; cheaper than a new one. REQUIRES: kReadOnly, no snapshot in
  // its options, not open.
  Status BeginAgain();
  // As OpenCursor.
  std::unique_ptr<CursorImpl> NewCursor(Keyspace keyspace);
  // True if `shown`, which a Get or a cursor has shown, lives until the transaction ends: it lies in a memtable, or
  // in a mapped table or blob file.
  bool Lasts(std::string_view shown) { return kept_.Holds(shown); }
  // What Lasts relies on. The caller keeps them, and the views into them, beyond the transaction's end.
  read::PinnedTables TakeKept() { return std::exchange(kept_, {}); }

  // ---- for cursors

  const kv::Order& order() const { return host_.order(); }
  Status CheckReadable(Keyspace keyspace);
  bool has_writes() const { return writes_.count() > 0; }
  uint64_t generation() const { return writes_.generation(); }
  const kv::KeyMap* key_map() const { return key_map_; }
  std::unique_ptr<Iterator> NewIterator(Keyspace keyspace);
  bool remembers_reads() const { return options_.kind == TransactionKind::kOptimistic; }
  // False: a step of a cursor must note that the transaction has moved to this thread, as CheckReadable does.
  bool IsOnThisThread() const {
    return options_.kind != TransactionKind::kSingleWriter || thread_ == base::ThreadNumber();
  }
  // Remembers the keys that a cursor on `keyspace` moved over, both ends included.
  Status RememberStretch(Keyspace keyspace, ReadSet::OptionalKey lower, ReadSet::OptionalKey upper);
  Status RememberKey(Keyspace keyspace, std::string_view key);
  void Forget(CursorImpl* cursor);

 private:
  TransactionImpl(DB& db, db::TransactionAccess& host, const TransactionOptions& options);
  Status Start();
  Status CheckWritable(Keyspace keyspace);
  Status KeepKeyMap();
  // A transaction may move to another thread between calls; a write of the thread that it left waits for it then.
  void NoteThread() {
    if (IsOnThisThread()) [[likely]]
      return;
    thread_ = base::ThreadNumber();
    host_.MoveWriters(this);
  }
  std::string_view InTree(Keyspace keyspace, std::string_view key);
  read::Overlay NewOverlay();
  IteratorOptions OptionsOfReads() const;
  Status RememberTreeKey(std::string_view key);
  Status RememberTreeStretch(ReadSet::OptionalKey lower, ReadSet::OptionalKey upper);
  template <typename Act, typename ValueBytes>
  Status TracedGet(Keyspace keyspace, std::string_view key, const Act& act, const ValueBytes& value_bytes);
  // The public calls of these names, without a trace.
  Status DoGet(Keyspace keyspace, std::string_view key, std::string* value);
  Status DoGetView(Keyspace keyspace, std::string_view key, std::string* scratch, std::string_view* value);
  Status GetInTree(std::string_view key, std::string* value, read::InPlace* in_place = nullptr);
  Status WriteTo(Keyspace keyspace, kv::Kind kind, std::string_view key, std::string_view value);
  void NoteUse(Keyspace keyspace);
  Status EnsureKeyMap();
  std::string RecordKey(std::string_view name) const;
  Result<std::vector<KeyspaceEntry>> ReadKeyspaceRecords();
  Result<std::string> NameOf(Keyspace keyspace);
  Status CheckRoom(size_t bytes_more) const;
  void CountBytes();
  Status Write(std::optional<Keyspace> keyspace, kv::Kind kind, std::string_view key, std::string_view value);
  Status FoldOwn(OwnWrites::Says says, std::string_view key, std::string_view base, std::string* value) const;
  Status CommitWrites();
  void ParkCursors(std::optional<Keyspace> keyspace, size_t bytes_more);
  void CompactWrites();
  void End();

  DB& db_;
  db::TransactionAccess& host_;
  const kv::KeyMap* key_map_ = nullptr;  // its writes and reads are in tree keys of this map
  bool has_whole_ranges_ = false;        // some range deletes are older than the map and may mask keyspace records
  const TransactionOptions options_;
  bool is_open_ = false;
  size_t thread_ = write::kNoThread;  // of the last call, if it is a single writer
  std::shared_ptr<const Snapshot> snapshot_;
  kv::Sequence sequence_ = 0;
  std::unique_ptr<db::OpenTransactions::Entry> entry_;
  OwnWrites writes_;
  ReadSet reads_;
  struct Savepoint {
    OwnWrites::Mark mark;
    size_t created, dropped, used;  // the lengths of these lists
  };
  std::vector<Savepoint> savepoints_;
  write::KeyspaceChanges changes_;
  std::vector<kv::KeyspaceId> used_;  // the named keyspaces that it wrote to, each once
  std::string tree_key_;              // scratch for InTree
  read::PinnedTables kept_;
  std::vector<CursorImpl*> cursors_;
  std::optional<TransactionConflict> conflict_;
  std::vector<std::string_view> operands_;  // of the current Get
};

}  // namespace mergedb::txn
