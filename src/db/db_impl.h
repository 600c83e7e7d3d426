// The implementation of DB: short public methods, and the wiring between the folders. No algorithms.
//
//   Put, Write ──► WriterQueue ──► Host (this class): write delay, WAL, active memtable ──► SwitchMemtable ──► Background: flush
//   Get, iterator ─► VersionSet::Current ──► read/
//   Background ──► picker/ ──► compaction/ ──► VersionSet::Install ──► VersionSet::Commit
//
// THREADS: as include/mergedb/db.h says. The exclusive section of the writer queue guards the WAL and the
// memtable's writing side.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/wait_counter.h"
#include "db/background.h"
#include "db/keyspace_ids.h"
#include "db/recovered_tree.h"
#include "db/store.h"
#include "db/transaction_host.h"
#include "mergedb/checkpoint.h"
#include "mergedb/db.h"
#include "read/db_iterator.h"
#include "read/lookup.h"
#include "read/next_step.h"
#include "wal/wal.h"
#include "write/recent_writes.h"
#include "write/write_delay.h"
#include "write/writer_queue.h"

namespace mergedb::db {

// Methods that change the database are noexcept: if memory runs out during a change, the process stops
// (docs/decisions/0017-out-of-memory.md).
class DbImpl final : public DB, public TransactionHost, private write::Host {
 public:
  // open.cc
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
  bool GetProperty(std::string_view name, std::string* value) override;  // properties.cc
  Status CheckIntegrity() override;
  Status Close() noexcept override;
  Result<CheckpointReport> Checkpoint(const std::string& target, const CheckpointOptions& options);  // checkpoint.cc

  // NewIterator for the default keyspace. If `skipped` is given, the iterator passes over blocks and tables
  // that it cannot read, and adds the errors there.
  std::unique_ptr<read::InternalAccessIterator> NewCursor(const IteratorOptions& options,
                                                          kv::SkippedErrors* skipped = nullptr);
  // The current SuperVersion, for interfaces that report on it in their own terms (LevelDB's properties).
  read::SuperVersionPtr CurrentSuperVersion() const { return tree_->version_set.Current(); }

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

  // keyspace_records.cc
  Result<Keyspace> CreateKeyspace(std::string_view name, const KeyspaceOptions& options) override;
  Result<Keyspace> OpenKeyspace(std::string_view name, const ReadOptions& options) override;
  Result<std::vector<KeyspaceEntry>> ListKeyspaces(const ReadOptions& options) override;
  Status DropKeyspace(const WriteOptions& options, Keyspace keyspace) override;
  Status ClearKeyspace(const WriteOptions& options, Keyspace keyspace) override;

  // TransactionHost: transactions.cc
  const kv::Order& order() const override { return store_->order; }
  const kv::ProgramOperators& operators() const override { return store_->operators; }
  OperatorNames& operator_names() override { return store_->operator_names; }
  Status CheckUsable(bool to_write) const override;
  Status LockWriters(const void* owner, uint64_t wait_nanos) override;
  void UnlockWriters(const void* owner) override;
  void EnterWindow() override;
  void LeaveWindow() override;
  Status CheckAhead(write::ReadCheck* reads) override;
  std::unique_ptr<OpenTransactions::Entry> Register(const std::string& name, TransactionKind kind,
                                                    kv::Sequence sequence) override;
  void RegisterAgain(OpenTransactions::Entry& entry, kv::Sequence sequence) override;
  Status GetUnder(const ReadOptions& options, std::string_view key, std::span<const std::string_view> newer,
                  std::string* value, read::InPlace* in_place = nullptr) override;
  std::unique_ptr<Iterator> NewIteratorUnder(const IteratorOptions& options, read::Overlay overlay,
                                             read::PinnedTables* kept = nullptr) override;
  std::unique_ptr<read::InternalAccessIterator> NewTreeIterator(const IteratorOptions& options, read::Overlay overlay,
                                                                read::PinnedTables* kept = nullptr) override {
    return OpenTreeIterator(options, std::move(overlay), kept, nullptr);
  }
  Status CommitTransaction(const write::Change& change) override;
  const kv::KeyMap* key_map() const override { return store_->key_map(); }
  Status CheckMade(Keyspace keyspace) override {
    if (keyspace.is_default() || keyspace_ids_.WasMade(keyspace.id())) [[likely]]
      return {};
    return CheckMadeSlowly(keyspace);
  }
  bool IsLiveKeyspace(kv::KeyspaceId id) const override { return keyspace_ids_.IsLive(id); }
  std::optional<std::string> NameOfKeyspace(kv::KeyspaceId id) const override { return keyspace_ids_.NameOf(id); }
  Status EnableKeyspaces(const void* owner, const BeginsOwnKey& begins_own_key) override;
  Result<kv::KeyspaceId> AllocateKeyspaceId(const void* owner) override;
  std::optional<TreeRecord> NextIdRecord() const override;

 private:
  DbImpl(std::shared_ptr<Store> store, std::unique_ptr<FileLock> file_lock, RecoveredTree recovered);

  std::unique_ptr<read::InternalAccessIterator> OpenTreeIterator(const IteratorOptions& options, read::Overlay overlay,
                                                                 read::PinnedTables* kept, kv::SkippedErrors* skipped);

  // open.cc
  static Result<std::unique_ptr<DbImpl>> OpenOrFail(const Options& options, const std::string& path,
                                                    const Supplies& supplies);
  Status Start(const VersionSet::WalStart& start, const Inventory& inventory, wal::Replayed log);
  // As Start, if a part of the MANIFEST was dropped.
  Status StartWithDroppedFiles(const VersionSet::WalStart& start, const Inventory& inventory, wal::Replayed log);
  // `before_log` runs after the new epoch is durable, while the files of the old WAL still exist.
  Status StartWriting(const VersionSet::WalStart& start, std::vector<kv::FileNumber> reusable_segments,
                      const std::function<void()>& before_log = nullptr);
  void StartBackground() noexcept;

  // write::Host: write_host.cc
  Status BeforeGroup(size_t bytes) override;
  Status CheckConflicts(const write::Change& change) override;  // transactions.cc
  void Withdraw(const write::Change& change) override;          // transactions.cc
  Status MakeRoom(const write::Room& room) override;
  void MakeRoomAnyway(const write::Room& room) override;
  bool WaitForDescriptors() override { return background_->WaitForJobEnd(); }
  bool FitsOneMemtable(const write::Room& room) const override;
  wal::Wal& log() override { return *log_; }
  memtable::Memtable& active() override { return *active_; }
  void Publish(kv::Sequence last) override;  // transactions.cc
  void WalFailed(const Status& status) override;
  void BeginPieces(const wal::Mark& replay_from) override;
  void EndPieces() override;
  bool IsWorthSwitching();
  Status WaitForImmutableSlot();
  void SwitchMemtable(std::shared_ptr<memtable::Memtable> next);
  Status SwitchMemtableIfUsed();
  void FlushIfIdle();
  bool WalIsUsable() const { return !log_->is_in_trouble() && !epoch_is_owed_; }
  Status ResumeWal();
  Status Resume();
  Status FlushAll();
  Status StartNewEpoch();
  Status StartWal(uint64_t epoch, uint64_t salt, kv::Sequence sequence, std::vector<kv::FileNumber> reusable_segments);
  VersionSet::WalStart At(const wal::Mark& mark) const;
  VersionSet::WalFacts FactsOf(const VersionSet::WalStart& from) const;

  Status CommitToQueue(const write::Change& change) {
    Status status = queue_.Commit(change);
    if (status.ok()) [[likely]]
      return status;
    return read::OfWrite(std::move(status), store_->directory);
  }

  // keyspaces.cc: maps callers' keys to tree keys. Without a key map, the default keyspace needs no mapping.
  Status Commit(Keyspace keyspace, const write::Change& change) {
    return keyspace.is_default() ? CommitDefault(change) : CommitMapped(keyspace, change);
  }
  Status CommitDefault(const write::Change& change) {
    if (store_->key_map() == nullptr) [[likely]] {
      Status status = CommitToQueue(change);
      if (!status.IsAborted() || store_->key_map() == nullptr) [[likely]]
        return status;
    }
    return change.is_batch ? CommitBatch({.durability = change.durability}, change.batch)
                           : CommitMapped(Keyspace(), change);
  }
  Status CommitMapped(Keyspace keyspace, write::Change change);
  Status CommitBatch(const WriteOptions& options, std::string_view rep);

  // keyspace_records.cc
  class WritersLock;
  Status CheckMadeSlowly(Keyspace keyspace);
  Status LoadKeyspaces();
  Result<kv::KeyspaceId> FindKeyspace(std::string_view name, const ReadOptions& options);
  Result<std::string> ChooseMarker(const BeginsOwnKey& begins_own_key);
  Status CommitKeyspaceRecords(const write::Change& change);
  Status FlushIfTablesOverlap(kv::KeyspaceId id);

  Status CheckOpen() const;
  Status CheckWritable() const;
  Status CheckWritable(const WriteOptions& options);
  read::LookupContext LookupIn() const {
    return {
        .order = store_->order, .tables = *store_->tables, .values = store_->values, .operators = &store_->operators};
  }
  std::vector<Status> MultiGetUnder(const ReadOptions& options, const kv::KeyMap* map, Keyspace keyspace,
                                    const std::vector<std::string_view>& keys, std::vector<std::string>* values);
  bool StillHasNoKeyMap(const ReadOptions& options) const;
  Status CheckSnapshot(const ReadOptions& options) const;
  template <class Take>
  auto TakeSuperVersion(const ReadOptions& options, const Take& take, kv::Sequence* sequence) const;
  std::shared_ptr<wal::Wal> CurrentWal() const;
  // Null if the current WAL is of another epoch: positions of `epoch` mean nothing in it.
  std::shared_ptr<wal::Wal> WalOf(uint64_t epoch) const;
  std::shared_ptr<memtable::Memtable> TakeStandby();
  void MakeStandby();
  Status CheckLiveFiles();
  Status CheckReferences(const version::Version& version, const format::FileMetaPtr& meta);
  uint64_t SizeOfRange(const version::Version& version, const format::Bounds& bounds);
  std::string StatsText();
  std::string CountersText();

  // recent_writes_ may use 1/kWindowPart of write_buffer_bytes.
  static constexpr size_t kWindowPart = 4;

  const std::shared_ptr<Store> store_;
  std::unique_ptr<FileLock> lock_;
  const std::unique_ptr<Tree> tree_;
  std::string recovery_report_;
  write::WriteDelay write_delay_;
  write::WriterQueue queue_;
  KeyspaceIds keyspace_ids_;
  write::RecentWrites recent_writes_{store_->order, store_->memory.write_buffer_bytes / kWindowPart};
  std::shared_ptr<Background> background_;

  // (exclusive section)
  std::shared_ptr<memtable::Memtable> active_;
  std::optional<wal::Mark> pieces_from_;  // set while a large batch is applied piece by piece
  size_t bytes_since_delay_update_ = 0;   // written since BeforeGroup last updated the write delay
  const size_t delay_update_bytes_ = std::min(store_->memory.memtable_bytes, store_->memory.undrained_bytes_max) / 16;
  uint64_t epoch_ = 0;  // of log_; both change together, under mutex_
  uint64_t salt_ = 0;
  Status log_failure_;
  // A new epoch must begin before the next write. It stays set if StartNewEpoch fails to commit the MANIFEST
  // or to create the WAL.
  bool epoch_is_owed_ = false;
  std::optional<std::string> marker_to_come_;  // keyspace marker that takes effect with that epoch
  uint64_t resume_not_before_nanos_ = 0;

  base::Mutex load_mutex_;      // for loading keyspace_ids_; taken after the writers' lock
  base::Mutex allocate_mutex_;  // for allocating keyspace ids, held during a commit; after the writers' lock

  mutable base::Mutex mutex_;
  std::shared_ptr<wal::Wal> log_;  // replaced in the exclusive section and under mutex_
  std::shared_ptr<memtable::Memtable> standby_ GUARDED_BY(mutex_);
  bool is_stopped_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_unlogged_{false};  // true once a write skipped the WAL
  std::atomic<uint64_t> errors_{0};
  std::atomic<uint64_t> resumes_{0};
  base::WaitCounter memory_waits_;  // of writers that waited for a flush
};

}  // namespace mergedb::db
