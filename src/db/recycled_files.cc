#include "db/recycled_files.h"

#include <algorithm>
#include <optional>

namespace mergedb::db {
namespace {

constexpr uint64_t kTinyBytes = uint64_t{64} << 10;
constexpr uint64_t kSmallBytes = uint64_t{1} << 20;
constexpr size_t kSmallCountMax = 256;

bool IsSmall(const ObsoleteFiles::ObsoleteFile& file) { return file.bytes < kSmallBytes; }

}  // namespace

bool RecycledFiles::Keep(const ObsoleteFiles::ObsoleteFile& file) {
  if (file_system_->is_append_only()) return false;
  const Status renamed = file_system_->Rename(format::FilePath(directory_, file.kind, file.number),
                                              format::RecycledPath(directory_, file.number));
  if (!renamed.ok()) return false;
  size_t small_count = 0;
  {
    base::Lock lock(mutex_);
    recycled_files_.push_back(file);
    bytes_ += file.bytes;
    if (IsSmall(file))
      small_count = static_cast<size_t>(std::count_if(recycled_files_.begin(), recycled_files_.end(), IsSmall));
  }
  if (small_count > kSmallCountMax) (void)RemoveFirst(IsSmall);  // after a failure the next Keep tries another one
  return true;
}

void RecycledFiles::Adopt(kv::FileNumber number) {
  const std::string path = format::RecycledPath(directory_, number);
  const auto bytes = file_system_->SizeOf(path);
  if (!bytes) {
    (void)file_system_->Remove(path);  // if this fails, the next open retries
    return;
  }
  const ObsoleteFiles::ObsoleteFile file{.kind = format::FileKind::kTable, .number = number, .bytes = *bytes};
  obsolete_.Found(file);
  base::Lock lock(mutex_);
  recycled_files_.push_back(file);
  bytes_ += file.bytes;
}

// Picks the file nearest in size. It has at most `bytes_expected` + 1/8 bytes, or 64 KiB if that is more:
// surplus bytes would be padding, or be cut off and freed after all. Cutting a tiny file costs nothing.
Result<bool> RecycledFiles::Reuse(format::FileKind kind, kv::FileNumber number, uint64_t bytes_expected) {
  std::optional<ObsoleteFiles::ObsoleteFile> recycled;
  {
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
    if (best == recycled_files_.end()) return false;
    recycled = *best;
    recycled_files_.erase(best);
    bytes_ -= recycled->bytes;
    ++reused_;
  }
  const std::string source = format::RecycledPath(directory_, recycled->number);
  const std::string target = format::FilePath(directory_, kind, number);
  const Status renamed = file_system_->Rename(source, target);
  obsolete_.Removed(*recycled);
  if (renamed.ok()) return true;
  if (renamed.IsNotFound()) return false;  // an earlier Remove reported an error but removed the file
  // The rename may have happened. If these removals fail, the next open removes the orphan.
  (void)file_system_->Remove(source);
  (void)file_system_->Remove(target);
  return renamed;
}

Status RecycledFiles::RemoveOldest() {
  return RemoveFirst([](const ObsoleteFiles::ObsoleteFile&) { return true; });
}

Status RecycledFiles::RemoveFirst(bool (*is_to_go)(const ObsoleteFiles::ObsoleteFile&)) {
  std::optional<ObsoleteFiles::ObsoleteFile> recycled;
  {
    base::Lock lock(mutex_);
    const auto found = std::find_if(recycled_files_.begin(), recycled_files_.end(), is_to_go);
    if (found == recycled_files_.end()) return {};
    recycled = *found;
    recycled_files_.erase(found);
    bytes_ -= recycled->bytes;
  }
  Status status = file_system_->Remove(format::RecycledPath(directory_, recycled->number));
  const bool is_gone = status.ok() || status.IsNotFound();
  if (is_gone) obsolete_.Removed(*recycled);
  base::Lock lock(mutex_);
  if (is_gone) {
    ++removed_;
    return {};
  }
  recycled_files_.push_back(*recycled);  // at the end, so that the next call tries another one
  bytes_ += recycled->bytes;
  return status;
}

Status RecycledFiles::RemoveAll() {
  while (!empty()) RETURN_IF_ERROR(RemoveOldest());
  return {};
}

}  // namespace mergedb::db
