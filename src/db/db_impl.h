// The implementation of DB: short public methods, and the wiring between the parts. No algorithms.
//
//   Put, Write ────► KeyspaceAccess ─► WriteHost: WriterQueue, WAL, active memtable ─► Background: flush
//   Get, iterator ─► KeyspaceAccess ─► TreeReader ─► VersionSet::Current ─► read/
//   transactions ──► TransactionAccess ─► the same parts, with tree keys
//   Background ────► picker/ ─► compaction/ ─► VersionSet::Install ─► ManifestCommitter::Commit
//
// THREADS: as include/mergedb/db.h says. The exclusive section of the writer queue guards the WAL and the
// memtable's writing side.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/closing.h"
#include "db/access/commit_checks.h"
#include "db/access/keyspace_access.h"
#include "db/access/keyspace_catalog.h"
#include "db/access/transaction_access.h"
#include "db/access/tree_reader.h"
#include "db/access/write_host.h"
#include "db/background/background.h"
#include "db/observe/live_publisher.h"
#include "db/observe/properties.h"
#include "db/recovery/recovered_tree.h"
#include "db/recovery/wal_epochs.h"
#include "db/state/store.h"
#include "db/state/tree.h"
#include "mergedb/checkpoint.h"
#include "mergedb/db.h"

namespace mergedb::db {

class ReadsToBackground;

// Where a change is made, methods are noexcept: if memory runs out there, the process stops
// (docs/decisions/0017-out-of-memory.md).
class DbImpl final : public DB, public base::Closing {
 public:
  static Result<std::unique_ptr<DbImpl>> Open(const Options& options, const std::string& path,
                                              const Supplies& supplies = {});
  static Status Destroy(const Options& options, const std::string& path);
  ~DbImpl() override;

  Status Put(const WriteOptions& options, std::string_view key, std::string_view value) override {
    return Put(options, Keyspace(), key, value);
  }
  Status Delete(const WriteOptions& options, std::string_view key) override { return Delete(options, Keyspace(), key); }
  Status DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) override {
    return DeleteRange(options, Keyspace(), begin, end);
  }
  Status DeletePrefix(const WriteOptions& options, std::string_view prefix) override {
    return DeletePrefix(options, Keyspace(), prefix);
  }
  Status Merge(const WriteOptions& options, std::string_view key, std::string_view operand) override {
    return Merge(options, Keyspace(), key, operand);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override;
  Status Get(const ReadOptions& options, std::string_view key, std::string* value) override {
    return Get(options, Keyspace(), key, value);
  }
  std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override {
    return MultiGet(options, Keyspace(), keys, values);
  }
  std::unique_ptr<Iterator> NewIterator(const IteratorOptions& options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override;
  Status Flush() noexcept override;
  Status SyncWal() noexcept override;
  Status CompactRange(const std::string_view* lower, const std::string_view* upper) noexcept override {
    return CompactRange(Keyspace(), lower, upper);
  }
  Status WaitForCompaction() noexcept override;
  std::vector<uint64_t> ApproximateSizes(const std::vector<KeyRange>& ranges) override {
    return ApproximateSizes(Keyspace(), ranges);
  }
  bool GetProperty(std::string_view name, std::string* value) override;
  Result<std::vector<Metric>> Metrics() override;
  Result<std::vector<LatencyHistogram>> Histograms() override;
  Status StartTrace(const std::string& path, const TraceOptions& options) override;
  Status EndTrace(TraceReport* report) override;
  Status CheckIntegrity() override;
  Status Close() noexcept override;
  void BeginClose() override { writers_.queue().Stop(); }
  Result<CheckpointReport> Checkpoint(const std::string& target, const CheckpointOptions& options);

  // NewIterator for the default keyspace. If `skipped` is given, the iterator passes over blocks and tables
  // that it cannot read, and adds the errors there.
  std::unique_ptr<read::InternalAccessIterator> NewCursor(const IteratorOptions& options,
                                                          kv::SkippedErrors* skipped = nullptr) {
    return access_.NewCursor(options, skipped);
  }
  // The current SuperVersion, for interfaces that report on it in their own terms (LevelDB's properties).
  read::SuperVersionPtr CurrentSuperVersion() const { return reader_.Current(); }
  TransactionAccess& transactions() { return transactions_; }
  // Reaches the files of the database's directory (FileSystem::Bind). Lives as long as the database.
  FileSystem* files() const { return store_->options.env.file_system; }

  // The same operations in any keyspace.
  Status Put(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value) override;
  Status Delete(const WriteOptions& options, Keyspace keyspace, std::string_view key) override;
  Status DeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin,
                     std::string_view end) override;
  Status DeletePrefix(const WriteOptions& options, Keyspace keyspace, std::string_view prefix) override;
  Status Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand) override;
  Status Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) override;
  std::vector<Status> MultiGet(const ReadOptions& options, Keyspace keyspace, const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override;
  Status CompactRange(Keyspace keyspace, const std::string_view* lower,
                      const std::string_view* upper) noexcept override;
  std::vector<uint64_t> ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges) override;
  Result<Keyspace> CreateKeyspace(std::string_view name, const KeyspaceOptions& options) override;
  Result<Keyspace> OpenKeyspace(std::string_view name, const ReadOptions& options) override;
  Result<std::vector<KeyspaceEntry>> ListKeyspaces(const ReadOptions& options) override;
  Status DropKeyspace(const WriteOptions& options, Keyspace keyspace) override;
  Status ClearKeyspace(const WriteOptions& options, Keyspace keyspace) override;

 private:
  DbImpl(std::shared_ptr<Store> store, std::unique_ptr<FileLock> file_lock, RecoveredTree recovered);

  // open.cc
  static Result<std::unique_ptr<DbImpl>> OpenOrFail(const Options& options, const std::string& path,
                                                    const Supplies& supplies);
  Status Start(const VersionSet::WalStart& start, const Inventory& inventory, wal::Replayed wal);
  // As Start, if a part of the MANIFEST was dropped.
  Status StartWithDroppedFiles(const VersionSet::WalStart& start, const Inventory& inventory, wal::Replayed wal);
  void StartBackground() noexcept;
  void TellOpen();  // the events of the open; LOG begins
  PropertySources Sources() const;

  // The public calls of these names, without a trace and without the time of a slow call.
  Status DoPut(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value);
  Status DoDelete(const WriteOptions& options, Keyspace keyspace, std::string_view key);
  Status DoDeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin, std::string_view end);
  Status DoMerge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand);
  Status DoWrite(const WriteOptions& options, const WriteBatch& batch);
  Status DoGet(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value);
  // Notes one key of `keys` for Store::heat.
  void NoteReads(Keyspace keyspace, std::span<const std::string_view> keys) noexcept;
  // Runs `act`, which returns its Status: measures it as a slow call and records `operation`, as far as they are
  // wanted.
  template <typename Act>
  Status Watched(std::string_view call, trace::Operation operation, const Act& act);

  const std::shared_ptr<Store> store_;
  std::unique_ptr<FileLock> file_lock_;  // null after Close, and if the database is open read-only
  const std::unique_ptr<Tree> tree_;
  std::string recovery_report_;
  WalEpochs epochs_;
  CommitChecks checks_;
  WriteHost writers_;
  std::shared_ptr<Background> background_;  // null if the database is open read-only
  std::shared_ptr<LivePublisher> live_;     // null if the database is open read-only
  ReadsToBackground* reads_ = nullptr;      // store_->read_observer; null if the database is open read-only
  TreeReader reader_;
  KeyspaceCatalog keyspaces_;
  KeyspaceAccess access_;
  TransactionAccess transactions_;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace mergedb::db
