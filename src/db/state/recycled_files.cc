#include "db/state/recycled_files.h"

#include <algorithm>

#include "env/hold.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kTinyBytes = uint64_t{64} << 10;
constexpr uint64_t kSmallBytes = uint64_t{1} << 20;

bool IsSmall(const format::DataFile& file) { return file.bytes < kSmallBytes; }

}  // namespace

bool RecycledFiles::Keep(const format::DataFile& file) {
  if (file_system_->is_append_only() || file.number < first_number_) return false;
  const Status renamed = file_system_->Rename(file.PathIn(directory_), format::RecycledPath(directory_, file.number));
  if (!renamed.ok()) return false;
  {
    base::Lock lock(mutex_);
    recycled_files_.push_back(file);
    bytes_ += file.bytes;
  }
  if (count() <= kCountMax) return true;
  if (const auto surplus = TakeOldest(true)) (void)Remove(*surplus);  // after a failure the next Keep tries another one
  return true;
}

void RecycledFiles::Adopt(kv::FileNumber number) {
  const std::string path = format::RecycledPath(directory_, number);
  const auto bytes = file_system_->SizeOf(path);
  if (!bytes) {
    (void)file_system_->Remove(path);  // if this fails, the next open retries
    return;
  }
  const format::DataFile file{.kind = format::FileKind::kTable, .number = number, .bytes = *bytes};
  obsolete_.Found(file);
  base::Lock lock(mutex_);
  recycled_files_.push_back(file);
  bytes_ += file.bytes;
}

// Picks the file nearest in size. It has at most `bytes_expected` + 1/8 bytes, or 64 KiB if that is more:
// surplus bytes would be padding, or be cut off and freed after all. Cutting a tiny file costs nothing.
std::optional<format::DataFile> RecycledFiles::TakeNearest(uint64_t bytes_expected) {
  base::Lock lock(mutex_);
  auto best = recycled_files_.end();
  uint64_t least = UINT64_MAX;
  for (auto at = recycled_files_.begin(); at != recycled_files_.end(); ++at) {
    if (at->bytes > std::max(bytes_expected + bytes_expected / 8, kTinyBytes)) continue;
    const uint64_t distance = at->bytes > bytes_expected ? at->bytes - bytes_expected : bytes_expected - at->bytes;
    if (distance >= least) continue;
    least = distance;
    best = at;
  }
  if (best == recycled_files_.end()) return std::nullopt;
  return TakeLocked(best);
}

Result<bool> RecycledFiles::Reuse(const format::DataFile& file) {
  for (;;) {
    const auto recycled = TakeNearest(file.bytes);
    if (!recycled) return false;
    const std::string source = format::RecycledPath(directory_, recycled->number);
    if (env::IsHeld(*file_system_, source)) {
      if (!Remove(*recycled).ok()) return false;  // it is in the pool again
      continue;
    }
    const std::string target = file.PathIn(directory_);
    const Status renamed = file_system_->Rename(source, target);
    obsolete_.Removed(*recycled);
    if (renamed.ok()) {
      base::Lock lock(mutex_);
      ++reused_;
      return true;
    }
    if (renamed.IsNotFound()) return false;  // an earlier Remove reported an error but removed the file
    // The rename may have happened. If these removals fail, the next open removes the orphan.
    (void)file_system_->Remove(source);
    (void)file_system_->Remove(target);
    return renamed;
  }
}

Status RecycledFiles::RemoveOldest() {
  std::optional<format::DataFile> oldest;
  if (count() > kCountMax) oldest = TakeOldest(true);
  if (!oldest) oldest = TakeOldest(false);
  return oldest ? Remove(*oldest) : Status();
}

std::optional<format::DataFile> RecycledFiles::TakeOldest(bool is_small_only) {
  base::Lock lock(mutex_);
  const auto found = std::ranges::find_if(
      recycled_files_, [&](const format::DataFile& file) { return !is_small_only || IsSmall(file); });
  if (found == recycled_files_.end()) return std::nullopt;
  return TakeLocked(found);
}

format::DataFile RecycledFiles::TakeLocked(std::deque<format::DataFile>::iterator at) {
  const format::DataFile taken = *at;
  recycled_files_.erase(at);
  bytes_ -= taken.bytes;
  return taken;
}

Status RecycledFiles::Remove(const format::DataFile& file) {
  Status status = file_system_->Remove(format::RecycledPath(directory_, file.number));
  const bool is_gone = status.ok() || status.IsNotFound();
  if (is_gone) obsolete_.Removed(file);
  base::Lock lock(mutex_);
  if (is_gone) {
    ++removed_;
    return {};
  }
  recycled_files_.push_back(file);  // at the end, so that the next call tries another one
  bytes_ += file.bytes;
  return status;
}

Status RecycledFiles::RemoveAll() {
  while (!empty()) RETURN_IF_ERROR(RemoveOldest());
  return {};
}

}  // namespace mergedb::db
