#include "db/db_impl.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/schedule_point.h"
#include "db/write_checks.h"
#include "format/blob_file.h"
#include "format/file_name.h"
#include "read/blob_values.h"
#include "read/db_iterator.h"
#include "read/keyspace_iterator.h"

namespace mergedb {

DB::~DB() = default;

Result<std::unique_ptr<DB>> DB::Open(const Options& options, const std::string& path) {
  ASSIGN_OR_RETURN(auto database, db::DbImpl::Open(options, path));
  return std::unique_ptr<DB>(std::move(database));
}

Status DB::Destroy(const Options& options, const std::string& path) { return db::DbImpl::Destroy(options, path); }

namespace db {
namespace {

// Urgency whose space bound WaitForCompaction waits for: see picker::Urgency.
constexpr picker::Urgency kDrained = picker::Urgency::kQuiet;

}  // namespace

DbImpl::DbImpl(std::shared_ptr<Store> store, std::unique_ptr<FileLock> file_lock, RecoveredTree recovered)
    : store_(std::move(store)),
      lock_(std::move(file_lock)),
      tree_(std::move(recovered.tree)),
      recovery_report_(std::move(recovered.report)),
      write_delay_(store_->options.env.clock, store_->options.write_delay_us_max * 1000),
      queue_(*this) {}

// ---- Writing ----------------------------------------------------------------------------------------------

Status DbImpl::Put(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(value));
  RETURN_IF_ERROR(CheckWritable(options));
  return Commit(keyspace, {.kind = kv::Kind::kPut, .key = key, .value = value, .durability = options.durability});
}

Status DbImpl::Delete(const WriteOptions& options, Keyspace keyspace, std::string_view key) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckWritable(options));
  return Commit(keyspace, {.kind = kv::Kind::kDelete, .key = key, .value = {}, .durability = options.durability});
}

Status DbImpl::DeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin,
                           std::string_view end) {
  RETURN_IF_ERROR(CheckRange(store_->order, begin, end));
  RETURN_IF_ERROR(CheckWritable(options));
  RETURN_IF_ERROR(CheckMade(keyspace));
  if (store_->order.SameKey(begin, end)) return options.durability == Durability::kSynced ? SyncWal() : Status();
  return Commit(keyspace,
                {.kind = kv::Kind::kRangeDelete, .key = begin, .value = end, .durability = options.durability});
}

Status DbImpl::DeletePrefix(const WriteOptions& options, Keyspace keyspace, std::string_view prefix) {
  if (!store_->order.is_bytewise()) {
    return Status::InvalidArgument("a prefix needs the bytewise comparator; use DeleteRange");
  }
  const std::optional<std::string> end = base::PrefixEnd(std::string(prefix));
  if (!end) return Status::InvalidArgument("a prefix that is empty or all 0xff has no upper bound; use DeleteRange");
  return DeleteRange(options, keyspace, prefix, *end);
}

Status DbImpl::Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckValue(operand));
  RETURN_IF_ERROR(CheckMerge(operand));
  RETURN_IF_ERROR(CheckWritable(options));
  store_->operator_names.AddOf(operand);
  return Commit(keyspace, {.kind = kv::Kind::kMerge, .key = key, .value = operand, .durability = options.durability});
}

Status DbImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  bool has_keyspaces = false;
  RETURN_IF_ERROR(CheckBatch(store_->order, batch, &store_->operator_names, &has_keyspaces));
  RETURN_IF_ERROR(CheckWritable(options));
  if (batch.count() == 0) return options.durability == Durability::kSynced ? SyncWal() : Status();
  if (has_keyspaces) return CommitBatch(options, batch.rep());
  return CommitDefault(
      {.batch = batch.rep(), .is_batch = true, .records = batch.count(), .durability = options.durability});
}

// ---- Reading ----------------------------------------------------------------------------------------------

Status DbImpl::CheckOpen() const {
  if (!store_->is_closed->load(std::memory_order_acquire)) [[likely]]
    return {};
  return Status::ShuttingDown(store_->directory + ": the database is closed");
}

Status DbImpl::CheckWritable() const {
  RETURN_IF_ERROR(CheckOpen());
  if (store_->options.mode != OpenMode::kReadOnly) [[likely]]
    return {};
  return Status::NotSupported(store_->directory + ": opened read-only");
}

Status DbImpl::CheckWritable(const WriteOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  if (options.durability == Durability::kNoWal) has_unlogged_.store(true, std::memory_order_relaxed);
  return {};
}

Status DbImpl::CheckSnapshot(const ReadOptions& options) const {
  if (options.snapshot == nullptr || store_->snapshots->Owns(options.snapshot)) [[likely]]
    return {};
  return Status::InvalidArgument("the snapshot is of another database");
}

// `take` returns the current SuperVersion. WHY a read with a snapshot is not repeated: the SuperVersion is
// newer than the snapshot, so it holds all pieces of every batch that the snapshot sees.
template <class Take>
auto DbImpl::TakeSuperVersion(const ReadOptions& options, const Take& take, kv::Sequence* sequence) const {
  for (;;) {
    auto super_version = take();
    *sequence = options.snapshot == nullptr ? store_->snapshots->published() : options.snapshot->sequence();
    if (options.snapshot != nullptr || !tree_->version_set.IsTooOld(*super_version)) [[likely]]
      return super_version;
  }
}

// True if a read that found no key map is valid. WHY: if the first keyspace is created between the load of
// the key map and the load of the SuperVersion, the SuperVersion may hold keyspace records. A snapshot
// excludes this: it is older than the first keyspace, or its reader finds the key map. One retry is enough,
// since the key map is set once.
bool DbImpl::StillHasNoKeyMap(const ReadOptions& options) const {
  return store_->key_map() == nullptr || options.snapshot != nullptr;
}

Status DbImpl::Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value) {
  RETURN_IF_ERROR(CheckMade(keyspace));
  if (store_->key_map() == nullptr) [[likely]] {
    Status status = GetUnder(options, key, {}, value);
    if (StillHasNoKeyMap(options)) [[likely]]
      return status;
  }
  const kv::KeyMap* const map = store_->key_map();
  std::string scratch;
  return GetUnder(options, map->ToTree(keyspace.id(), key, &scratch), {}, value);
}

Status DbImpl::GetUnder(const ReadOptions& options, std::string_view key, std::span<const std::string_view> newer,
                        std::string* value, read::InPlace* in_place) {
  RETURN_IF_ERROR(CheckOpen());
  RETURN_IF_ERROR(CheckSnapshot(options));
  kv::Sequence sequence = 0;
  const read::SuperVersionPin super_version = TakeSuperVersion(
      options, [this] { return tree_->version_set.Pinned(); }, &sequence);
  return read::WithNextStep(read::Lookup(LookupIn(), *super_version, key, sequence,
                                         {options.verify_checksums, options.fill_cache}, value, newer, in_place),
                            store_->directory);
}

std::vector<Status> DbImpl::MultiGet(const ReadOptions& options, Keyspace keyspace,
                                     const std::vector<std::string_view>& keys, std::vector<std::string>* values) {
  values->assign(keys.size(), std::string());
  Status status = CheckOpen();
  if (status.ok()) status = CheckMade(keyspace);
  if (!status.ok()) return std::vector<Status>(keys.size(), status);
  if (store_->key_map() == nullptr) [[likely]] {
    auto statuses = MultiGetUnder(options, nullptr, keyspace, keys, values);
    if (StillHasNoKeyMap(options)) [[likely]]
      return statuses;
  }
  return MultiGetUnder(options, store_->key_map(), keyspace, keys, values);
}

std::vector<Status> DbImpl::MultiGetUnder(const ReadOptions& options, const kv::KeyMap* map, Keyspace keyspace,
                                          const std::vector<std::string_view>& keys, std::vector<std::string>* values) {
  if (Status status = CheckSnapshot(options); !status.ok()) return std::vector<Status>(keys.size(), status);
  kv::Sequence sequence = 0;
  const read::SuperVersionPin super_version = TakeSuperVersion(
      options, [this] { return tree_->version_set.Pinned(); }, &sequence);
  std::vector<Status> statuses(keys.size());
  std::string scratch;
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = map == nullptr ? keys[i] : map->ToTree(keyspace.id(), keys[i], &scratch);
    Status status = read::Lookup(LookupIn(), *super_version, key, sequence,
                                 {options.verify_checksums, options.fill_cache}, &(*values)[i]);
    statuses[i] = read::WithNextStep(std::move(status), store_->directory);
  }
  return statuses;
}

std::unique_ptr<read::InternalAccessIterator> DbImpl::NewCursor(const IteratorOptions& options,
                                                                kv::SkippedErrors* skipped) {
  if (store_->key_map() == nullptr) [[likely]] {
    auto tree = OpenTreeIterator(options, {}, nullptr, skipped);
    if (StillHasNoKeyMap(options.read)) [[likely]]
      return tree;
  }
  const kv::KeyMap* const map = store_->key_map();
  auto tree = OpenTreeIterator(read::ToTreeOptions(*map, options), {}, nullptr, skipped);
  return read::NewDefaultIterator(*map, options, std::move(tree));
}

std::unique_ptr<Iterator> DbImpl::NewIterator(const IteratorOptions& options) { return NewIteratorUnder(options, {}); }

std::unique_ptr<Iterator> DbImpl::NewIteratorUnder(const IteratorOptions& options, read::Overlay overlay,
                                                   read::PinnedTables* kept) {
  if (!options.keyspace.is_default()) {
    if (Status status = CheckMade(options.keyspace); !status.ok()) return read::NewErrorIterator(std::move(status));
  }
  if (store_->key_map() == nullptr) [[likely]] {
    auto tree = NewTreeIterator(options, std::move(overlay), kept);
    if (StillHasNoKeyMap(options.read)) [[likely]]
      return tree;
    overlay = {};  // it was empty: a transaction, which reads with a snapshot, has returned above
  }
  const kv::KeyMap* const map = store_->key_map();
  return read::NewKeyspaceIterator(*map, options,
                                   NewTreeIterator(read::ToTreeOptions(*map, options), std::move(overlay), kept));
}

std::unique_ptr<read::InternalAccessIterator> DbImpl::OpenTreeIterator(const IteratorOptions& options,
                                                                       read::Overlay overlay, read::PinnedTables* kept,
                                                                       kv::SkippedErrors* skipped) {
  if (Status status = CheckOpen(); !status.ok()) return read::NewErrorIterator(std::move(status));
  if (Status status = CheckSnapshot(options.read); !status.ok()) return read::NewErrorIterator(std::move(status));
  kv::Sequence sequence = 0;
  read::SuperVersionPtr super_version = TakeSuperVersion(
      options.read, [this] { return tree_->version_set.Current(); }, &sequence);
  read::DbIteratorContext context{.order = store_->order,
                                  .tables = *store_->tables,
                                  .values = store_->values,
                                  .is_closed = store_->is_closed,
                                  .keep = store_,
                                  .directory = store_->directory,
                                  .operators = &store_->operators,
                                  .skipped = skipped,
                                  .kept = kept};
  if (background_ != nullptr) {
    context.on_tombstone_scan = [background = std::weak_ptr(background_)](iterator::TombstoneScan scan) {
      if (auto alive = background.lock())
        alive->RequestScanCompaction({.lower = std::move(scan.lower), .upper = std::move(scan.upper)});
    };
  }
  return read::NewDbIterator(context, std::move(super_version), sequence, options, std::move(overlay));
}

std::shared_ptr<const Snapshot> DbImpl::GetSnapshot() {
  return store_->snapshots->Get(store_->options.env.clock->NowNanos());
}

uint64_t DbImpl::SizeOfRange(const version::Version& version, const format::Bounds& bounds) {
  uint64_t bytes = 0, referred_bytes = 0;
  for (const auto& run : version.runs()) {
    const auto [first, last] = run->Overlap(store_->order, bounds);
    for (size_t i = first; i < last; ++i) {
      const version::VirtualTable& virtual_table = run->virtual_tables()[i];
      const format::Bounds shown = version::Intersection(store_->order, virtual_table.bounds, bounds);
      const uint64_t value_bytes = virtual_table.file->value_bytes();
      if (version::VirtualTable{virtual_table.file, shown}.is_whole()) {
        bytes += virtual_table.file->bytes;
        referred_bytes += value_bytes;
        continue;
      }
      auto reader = store_->tables->Open(virtual_table.file);
      if (!reader) continue;
      const uint64_t from = shown.lower ? (*reader)->ApproximateOffset(*shown.lower) : 0;
      const uint64_t to = shown.upper ? (*reader)->ApproximateOffset(*shown.upper) : virtual_table.file->bytes;
      if (to <= from) continue;
      // Blob references are spread about evenly over the blocks of their table.
      const uint64_t blocks = std::max<uint64_t>((*reader)->ApproximateOffset(virtual_table.file->largest), 1);
      const double share =
          static_cast<double>(std::min(to, blocks) - std::min(from, blocks)) / static_cast<double>(blocks);
      bytes += to - from;
      referred_bytes += static_cast<uint64_t>(share * static_cast<double>(value_bytes));
    }
  }
  // WHY a limit: a partly visible table also refers to values of keys that other tables show.
  return bytes + std::min(referred_bytes, version.value_bytes());
}

std::vector<uint64_t> DbImpl::ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges) {
  std::vector<uint64_t> sizes;
  const read::SuperVersionPtr super_version = tree_->version_set.Current();
  const kv::KeyMap* const map = store_->key_map();
  if (!CheckMade(keyspace).ok()) return std::vector<uint64_t>(ranges.size(), 0);
  for (const KeyRange& range : ranges) {
    kv::KeyMap::Range asked{.lower = std::string(range.lower), .upper = std::string(range.upper)};
    if (map == nullptr) {
      sizes.push_back(
          SizeOfRange(*super_version->version, {.lower = std::move(asked.lower), .upper = std::move(asked.upper)}));
      continue;
    }
    sizes.push_back(0);
    for (auto& stretch : map->ToTreeRanges(keyspace.id(), asked)) {
      sizes.back() +=
          SizeOfRange(*super_version->version, {.lower = std::move(stretch.lower), .upper = std::move(stretch.upper)});
    }
  }
  return sizes;
}

Status DbImpl::CheckIntegrity() { return read::OfWrite(CheckLiveFiles(), store_->directory); }

Status DbImpl::CheckLiveFiles() {
  RETURN_IF_ERROR(CheckOpen());
  const read::SuperVersionPtr super_version = tree_->version_set.Current();
  for (const auto& meta : super_version->version->file_metas()) {
    ASSIGN_OR_RETURN(auto reader, store_->tables->Open(meta));
    RETURN_IF_ERROR(reader->CheckIntegrity());
  }
  for (const version::BlobFile& each : super_version->version->blob_files()) {
    ASSIGN_OR_RETURN(auto reader, store_->values.Open(*each.file));
    RETURN_IF_ERROR(reader->CheckIntegrity());
  }
  for (const auto& meta : super_version->version->file_metas())
    RETURN_IF_ERROR(CheckReferences(*super_version->version, meta));
  return {};
}

// Every blob reference of the table must lead to a value of its key, and the sums must equal those of the
// FileMeta.
Status DbImpl::CheckReferences(const version::Version& version, const format::FileMetaPtr& meta) {
  ASSIGN_OR_RETURN(auto table, store_->tables->Open(meta));
  blob::Scanner values(store_->values, true);
  std::map<kv::FileNumber, uint64_t> found;
  const auto entries = table->NewScanIterator();
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    if (kv::KindOf(entries->entry().tag) != kv::Kind::kPutBlobIndex) continue;
    format::BlobIndex reference;
    ASSIGN_OR_RETURN(const auto file, read::BlobFileOf(version, entries->entry(), &reference));
    std::string_view value;
    RETURN_IF_ERROR(values.Read(*file, reference, entries->entry().key, &value));
    found[reference.file] += reference.bytes;
  }
  RETURN_IF_ERROR(entries->status());
  std::map<kv::FileNumber, uint64_t> expected;
  for (const format::BlobShare& share : meta->values) expected[share.file] = share.bytes;
  if (found == expected) return {};
  return Status::Corruption(format::TablePath(store_->directory, meta->number) +
                            ": the MANIFEST has other numbers of bytes in blob files for this table");
}

// ---- Maintenance ------------------------------------------------------------------------------------------

Status DbImpl::Flush() noexcept {
  RETURN_IF_ERROR(CheckWritable());
  {
    write::WriterQueue::ExclusiveSection section(queue_);
    RETURN_IF_ERROR(ResumeWal());
    RETURN_IF_ERROR(SwitchMemtableIfUsed());
  }
  return background_->WaitForFlush();
}

Status DbImpl::SyncWal() noexcept {
  RETURN_IF_ERROR(CheckWritable());
  write::WriterQueue::ExclusiveSection section(queue_);
  RETURN_IF_ERROR(ResumeWal());
  Status status = log_->MakeDurable();
  if (!status.ok()) WalFailed(status);
  return read::OfWrite(std::move(status), store_->directory);
}

Status DbImpl::CompactRange(Keyspace keyspace, const std::string_view* lower, const std::string_view* upper) noexcept {
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(CheckMade(keyspace));
  format::Bounds bounds;
  if (lower != nullptr) bounds.lower = std::string(*lower);
  if (upper != nullptr) bounds.upper = std::string(*upper);
  if (const kv::KeyMap* const map = store_->key_map(); map != nullptr) {
    auto stretches =
        map->ToTreeRanges(keyspace.id(), {.lower = std::move(bounds.lower), .upper = std::move(bounds.upper)});
    bounds = {.lower = std::move(stretches.front().lower), .upper = std::move(stretches.back().upper)};
  }
  // WHY: PickManual would find a table around an empty range again after each compaction. The check uses tree
  // keys, because a range without lower bound up to a keyspace's empty key is empty too.
  if (bounds.lower && bounds.upper && store_->order.CompareKeys(*bounds.lower, *bounds.upper) >= 0) return {};
  return background_->CompactRange(bounds);
}

Status DbImpl::WaitForCompaction() noexcept {
  RETURN_IF_ERROR(CheckWritable());
  return background_->WaitForCompactions(kDrained);
}

Status DbImpl::Close() noexcept {
  {
    base::Lock lock(mutex_);
    if (is_stopped_) return {};
    is_stopped_ = true;
  }
  SCHEDULE_POINT("publish that the database is closed");
  store_->is_closed->store(true, std::memory_order_release);
  if (store_->options.mode == OpenMode::kReadOnly || background_ == nullptr) return {};

  queue_.Stop();
  write::WriterQueue::ExclusiveSection section(queue_);
  Status unlogged;
  // WHY: options.h promises that a write with kNoWal is durable after Close.
  if (has_unlogged_) {
    unlogged = SwitchMemtableIfUsed();
    if (unlogged.ok()) unlogged = background_->WaitForFlush();
    if (!unlogged.ok()) unlogged = background_->WaitForFlush();  // the last chance; the fault may be temporary
  }
  background_->Stop(store_->options.finish_compactions_on_close);
  Status status = log_failure_;
  if (status.ok()) status = log_->MakeDurable();
  if (status.ok()) {
    // With the WAL's end in the MANIFEST, recovery detects any damage to the WAL.
    const wal::Mark end = log_->end();
    status = tree_->version_set.Commit(
        [&](const VersionSet::WalStart& from) {
          return VersionSet::WalFacts{end.position, log_->segments_from(from.position)};
        },
        end.position, nullptr);
  }
  (void)tree_->recycled_files.RemoveAll();  // if this fails, the next open adopts the files
  log_->Stop();
  lock_ = nullptr;
  return read::OfWrite(status.ok() ? std::move(unlogged) : std::move(status), store_->directory);
}

DbImpl::~DbImpl() { (void)Close(); }

}  // namespace db
}  // namespace mergedb
