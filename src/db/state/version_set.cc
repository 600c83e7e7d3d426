#include "db/state/version_set.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/schedule_point.h"
#include "version/version_builder.h"

namespace mergedb::db {

VersionSet::VersionSet(const kv::Order& order, version::VersionPtr version, kv::FileNumber next_file,
                       kv::Position next_position, const WalStart& wal_start)
    : order_(order),
      next_file_(kv::ToInt(next_file)),
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
  // WHY a copy: if memory runs out, the active memtable is not lost.
  if (active_ != nullptr) immutables_.push_back({active_, end});
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

// Builds the version outside of mutex_, since SwitchMemtable must not wait for it.
Result<version::VersionPtr> VersionSet::NextVersion(const format::VersionEdit& edit) {
  version::VersionPtr base;
  {
    base::Lock lock(mutex_);
    base = version_;
  }
  return version::ApplyEdit(order_, *base, edit);
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
  SCHEDULE_POINT("install the next version");
  uint64_t added = 0;
  for (const auto& add : edit.adds) added += add.file->bytes;
  for (const auto& add : edit.blob_files) added += add.file->bytes;
  base::Lock lock(mutex_);
  // WHY under the lock: a commit that begins before counts what the version before made obsolete.
  const uint64_t kept = next->bytes_on_disk(), all = version_->bytes_on_disk() + added;
  if (all > kept) obsolete_bytes_.fetch_add(all - kept, std::memory_order_relaxed);
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

VersionSet::CommitState VersionSet::BeginCommit() {
  base::Lock lock(mutex_);
  has_uncommitted_ = false;
  committing_obsolete_bytes_.store(obsolete_bytes_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
  return {version_, flushed_, next_position_, flushed_sequence_, changes_};
}

void VersionSet::EndCommit(const CommitState& state, bool is_committed) {
  base::Lock lock(mutex_);
  const uint64_t obsolete_bytes = committing_obsolete_bytes_.exchange(0, std::memory_order_relaxed);
  if (!is_committed) {
    has_uncommitted_ = true;
    obsolete_bytes_.fetch_add(obsolete_bytes, std::memory_order_relaxed);
    return;
  }
  committed_position_ = state.wal_start.position;
  committed_epoch_ = state.wal_start.epoch;
  committed_changes_ = state.changes;
}

bool VersionSet::HasUncommitted() const {
  base::Lock lock(mutex_);
  return has_uncommitted_;
}

kv::Sequence VersionSet::immutable_end() const {
  base::Lock lock(mutex_);
  return immutables_.empty() ? flushed_.sequence : immutables_.back().end.sequence;
}

VersionSet::WalStart VersionSet::flushed() const {
  base::Lock lock(mutex_);
  return flushed_;
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

}  // namespace mergedb::db
