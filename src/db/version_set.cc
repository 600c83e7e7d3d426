#include "db/version_set.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/schedule_point.h"
#include "env/copy_file.h"
#include "format/file_name.h"
#include "version/version_builder.h"
#include "version/version_diff.h"

namespace mergedb::db {
namespace {

// The numbers of all tables and blob files.
std::set<kv::FileNumber> FilesOf(const version::Version& version) {
  std::set<kv::FileNumber> files = version.files();
  for (const version::BlobFile& each : version.blob_files()) files.insert(each.file->number);
  return files;
}

}  // namespace

VersionSet::VersionSet(const Options& options, version::VersionPtr version, kv::FileNumber next_file,
                       kv::Position next_position, const WalStart& wal_start)
    : options_(options),
      next_file_(kv::ToInt(next_file)),
      manifest_({.file_system = options.file_system,
                 .directory = options.directory,
                 .database_id = options.database_id,
                 .allocate_number = [this] { return AllocateNumber(); }}),
      committed_(version),
      key_marker_(options.key_marker),
      key_marker_is_committed_(options.key_marker.has_value()),
      synced_(FilesOf(*version)),
      version_(std::move(version)),
      flushed_(wal_start),
      next_position_(next_position) {}

read::SuperVersionPtr VersionSet::InstallSuperVersionLocked(uint64_t large_batches) {
  auto super_version = std::make_shared<read::SuperVersion>();
  super_version->active = active_;
  super_version->immutable.reserve(immutables_.size());
  for (auto immutable = immutables_.rbegin(); immutable != immutables_.rend(); ++immutable)
    super_version->immutable.push_back(immutable->memtable);
  super_version->version = version_;
  super_version->large_batches = large_batches;
  return super_versions_.Install(std::move(super_version));
}

void VersionSet::SwitchMemtable(std::shared_ptr<memtable::Memtable> next, const WalStart& end) {
  read::SuperVersionPtr before;  // destroyed after the lock is released
  base::Lock lock(mutex_);
  if (active_ != nullptr) immutables_.push_back({std::move(active_), end});
  active_ = std::move(next);
  before = InstallSuperVersionLocked(large_batches_);
}

// WHY the SuperVersion comes before large_batches_: a reader whose SuperVersion is too old must find a newer
// one at its next look.
void VersionSet::CountLargeBatch() {
  read::SuperVersionPtr before;  // destroyed after the lock is released
  base::Lock lock(mutex_);
  const uint64_t count = large_batches_.load(std::memory_order_relaxed) + 1;
  before = InstallSuperVersionLocked(count);
  SCHEDULE_POINT("count a large batch");
  large_batches_.store(count, std::memory_order_release);
}

size_t VersionSet::immutable_count() const {
  base::Lock lock(mutex_);
  return immutables_.size();
}

std::shared_ptr<memtable::Memtable> VersionSet::OldestImmutable() const {
  base::Lock lock(mutex_);
  return immutables_.empty() ? nullptr : immutables_.front().memtable;
}

// Builds the version outside of mutex_, since SwitchMemtable must not wait for it. REQUIRES: install_mutex_ is held.
Result<version::VersionPtr> VersionSet::NextVersion(const format::VersionEdit& edit) {
  version::VersionPtr base;
  {
    base::Lock lock(mutex_);
    base = version_;
  }
  ASSIGN_OR_RETURN(auto next, version::ApplyEdit(options_.order, *base, edit));
  uint64_t added = 0;
  for (const auto& add : edit.adds) added += add.file->bytes;
  for (const auto& add : edit.blob_files) added += add.file->bytes;
  const uint64_t before = base->bytes_on_disk() + added;
  if (before > next->bytes_on_disk())
    obsolete_bytes_.fetch_add(before - next->bytes_on_disk(), std::memory_order_relaxed);
  return next;
}

kv::Sequence VersionSet::flushed_sequence() const {
  base::Lock lock(mutex_);
  return flushed_.sequence == 0 ? 0 : flushed_.sequence - 1;
}

Status VersionSet::InstallFlush(const format::FileMetaPtr& table, const std::vector<format::BlobFilePtr>& blob_files) {
  read::SuperVersionPtr before;  // destroyed after the locks are released
  base::Lock install_lock(install_mutex_);
  version::VersionPtr next;
  if (table != nullptr) {
    format::VersionEdit edit;
    edit.adds.push_back({.position = next_position_, .level = 0, .file = table, .bounds = {}});
    for (const auto& file : blob_files) edit.blob_files.push_back({file});
    ASSIGN_OR_RETURN(next, NextVersion(edit));
  }
  base::Lock lock(mutex_);
  ASSERT(!immutables_.empty(), "the oldest immutable memtable is flushed first");
  if (next != nullptr) {
    version_ = std::move(next);
    next_position_ = kv::Position{kv::ToInt(next_position_) + 1};
  }
  flushed_ = immutables_.front().end;
  flushed_sequence_ = std::max(flushed_sequence_, immutables_.front().memtable->newest_sequence());
  immutables_.pop_front();
  before = NoteChangeLocked();
  return {};
}

Status VersionSet::Install(const format::VersionEdit& edit) {
  SCHEDULE_POINT("install a version");
  read::SuperVersionPtr before;  // destroyed after the locks are released
  base::Lock install_lock(install_mutex_);
  ASSIGN_OR_RETURN(auto next, NextVersion(edit));
  base::Lock lock(mutex_);
  version_ = std::move(next);
  before = NoteChangeLocked();
  return {};
}

read::SuperVersionPtr VersionSet::NoteChangeLocked() {
  has_uncommitted_ = true;
  ++changes_;
  return InstallSuperVersionLocked(large_batches_);
}

void VersionSet::StartEpoch(const WalStart& start) {
  base::Lock lock(mutex_);
  ASSERT(immutables_.empty(), "a new epoch begins after all older writes are in tables");
  flushed_ = start;
  has_uncommitted_ = true;
  ++changes_;
}

Status VersionSet::SyncFiles(const version::Version& version) {
  base::Lock commit_lock(commit_mutex_);
  return SyncNewFiles(version::VersionEditFromEmpty(version));
}

// Rule W1: tables and blob files and their names are durable before the MANIFEST names them.
Status VersionSet::SyncNewFiles(const format::VersionEdit& edit) {
  std::set<kv::FileNumber> fresh;
  for (const auto& add : edit.adds) {
    const auto check = [&](const std::string& path) { return options_.check_table(path, add.file); };
    RETURN_IF_ERROR(SyncNewFile(format::FileKind::kTable, add.file->number, check, &fresh));
  }
  for (const auto& add : edit.blob_files) {
    const auto check = [&](const std::string& path) { return options_.check_blob_file(path, *add.file); };
    RETURN_IF_ERROR(SyncNewFile(format::FileKind::kBlobFile, add.file->number, check, &fresh));
  }
  if (fresh.empty()) return {};
  RETURN_IF_ERROR(options_.file_system->SyncDirectory(options_.directory));
  synced_.merge(fresh);
  return {};
}

Status VersionSet::SyncNewFile(format::FileKind kind, kv::FileNumber number, const CheckCopy& check,
                               std::set<kv::FileNumber>* fresh) {
  if (synced_.contains(number)) return {};
  RETURN_IF_ERROR(SyncHasFailed(number) ? ReplaceFile(kind, number, check) : SyncFile(kind, number));
  fresh->insert(number);
  return {};
}

Status VersionSet::SyncFile(format::FileKind kind, kv::FileNumber number) {
  if (options_.file_system->is_append_only()) return {};  // synced when it was finished
  const std::string path = format::FilePath(options_.directory, kind, number);
  ASSIGN_OR_RETURN(auto file, options_.file_system->Open(path, {.access = Access::kReadWrite}));
  Status status = file->Sync();
  if (status.ok()) status = file->Close();
  if (!status.ok()) {
    base::Lock lock(failed_mutex_);
    sync_failed_.insert(number);
  }
  return status;
}

bool VersionSet::SyncHasFailed(kv::FileNumber number) const {
  base::Lock lock(failed_mutex_);
  return sync_failed_.contains(number);
}

// Row B1: after a failed sync it is unknown which pages will reach the disk, and a second sync may report
// success. The bytes can still be read: copies them to a new file, checks it, and renames it to the old name.
Status VersionSet::ReplaceFile(format::FileKind kind, kv::FileNumber number, const CheckCopy& check) {
  const std::string path = format::FilePath(options_.directory, kind, number);
  const std::string copy = format::FilePath(options_.directory, kind, AllocateNumber());  // after a crash: an orphan
  Status status = env::CopyFile(options_.file_system, path, copy);
  if (status.ok()) status = check(copy);
  if (status.ok()) status = options_.file_system->Rename(copy, path);
  if (!status.ok()) {
    (void)options_.file_system->Remove(copy);
    return status;
  }
  {
    base::Lock lock(failed_mutex_);
    sync_failed_.erase(number);
  }
  options_.file_replaced(number);
  return {};
}

format::VersionEdit VersionSet::Describe(const Target& target, const WalFacts& facts,
                                         std::optional<uint64_t> clean_wal_end) const {
  format::VersionEdit edit = manifest_.needs_snapshot()
                                 ? version::VersionEditFromEmpty(*target.version)
                                 : version::DiffVersions(options_.order, *committed_, *target.version);
  if (manifest_.needs_snapshot()) {
    edit.database_id = options_.database_id;
    edit.comparator = std::string(options_.order.comparator()->Name());
  }
  edit.next_file = kv::FileNumber{next_file_.load(std::memory_order_relaxed) + 1};
  edit.next_position = target.next_position;
  edit.last_sequence = target.wal_start.sequence - 1;
  edit.wal_start = target.wal_start;
  edit.wal_durable = facts.durable;
  edit.wal_segments = facts.segments;
  edit.staging_bytes = facts.staging_bytes;
  edit.clean_wal_end = clean_wal_end;
  auto operators = options_.merge_operators ? options_.merge_operators() : std::vector<std::string>();
  const bool is_news = manifest_.needs_snapshot() ? !operators.empty() : operators != committed_operators_;
  if (is_news) edit.merge_operators = std::move(operators);
  if (manifest_.needs_snapshot() || !key_marker_is_committed_) edit.key_marker = key_marker_;
  if (target.flushed_sequence >= target.wal_start.sequence) edit.flushed_sequence = target.flushed_sequence;
  return edit;
}

Status VersionSet::Commit(const std::function<WalFacts(const WalStart&)>& wal_facts,
                          std::optional<uint64_t> clean_wal_end, const WalReleased& wal_released) {
  base::Lock commit_lock(commit_mutex_);
  Target target;
  uint64_t changes;
  {
    base::Lock lock(mutex_);
    target = {version_, flushed_, next_position_, flushed_sequence_};
    has_uncommitted_ = false;
    changes = changes_;
    obsolete_bytes_.store(0, std::memory_order_relaxed);
  }
  const format::VersionEdit edit = Describe(target, wal_facts(target.wal_start), clean_wal_end);
  Status status = SyncNewFiles(edit);
  if (status.ok()) {
    status = manifest_.Commit(edit);
    if (!status.ok()) suspects_.push_back(target.version);
  }
  if (!status.ok()) {
    base::Lock lock(mutex_);
    has_uncommitted_ = true;
    return status;
  }
  if (clean_wal_end) (void)manifest_.BindEnd();  // optional: all data is durable without it
  commits_.fetch_add(1, std::memory_order_relaxed);
  manifest_bytes_.store(manifest_.bytes_on_disk(), std::memory_order_relaxed);
  committed_ = target.version;
  if (edit.merge_operators) committed_operators_ = *edit.merge_operators;
  key_marker_is_committed_ = key_marker_.has_value();
  suspects_.clear();
  const size_t files_committed = committed_->file_count() + committed_->blob_files().size();
  if (synced_.size() > 2 * files_committed + 1000) synced_ = FilesOf(*committed_);
  {
    base::Lock lock(mutex_);
    committed_position_ = target.wal_start.position;
    committed_epoch_ = target.wal_start.epoch;
    committed_changes_ = changes;
  }
  if (wal_released) wal_released(target.wal_start);
  return {};
}

void VersionSet::SetKeyMarker(std::string marker) {
  base::Lock lock(commit_mutex_);
  key_marker_ = std::move(marker);
}

bool VersionSet::HasUncommitted() const {
  base::Lock lock(mutex_);
  return has_uncommitted_;
}

kv::Sequence VersionSet::immutable_end() const {
  base::Lock lock(mutex_);
  return immutables_.empty() ? flushed_.sequence : immutables_.back().end.sequence;
}

kv::Sequence VersionSet::flushed_end() const {
  base::Lock lock(mutex_);
  return flushed_.sequence;
}

uint64_t VersionSet::changes() const {
  base::Lock lock(mutex_);
  return changes_;
}

uint64_t VersionSet::committed_changes() const {
  base::Lock lock(mutex_);
  return committed_changes_;
}

uint64_t VersionSet::UncommittedWalBytes() const {
  base::Lock lock(mutex_);
  const uint64_t since = flushed_.epoch == committed_epoch_ ? committed_position_ : 0;
  return flushed_.position > since ? flushed_.position - since : 0;
}

std::optional<kv::FileNumber> VersionSet::manifest_number() const {
  base::Lock lock(commit_mutex_);
  return manifest_.number();
}

}  // namespace mergedb::db
