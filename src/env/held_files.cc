#include "env/held_files.h"

#include "env/hold.h"

namespace mergedb::env {

// Reads through a descriptor that others share.
class HeldFiles::Shared final : public File {
 public:
  Shared(std::string path, FilePtr file) : path_(std::move(path)), file_(std::move(file)) {}

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    return file_->ReadAt(offset, bytes, out, got);
  }
  Status WriteAt(uint64_t, std::string_view) override { return ReadOnly(); }
  Status Truncate(uint64_t) override { return ReadOnly(); }
  Status Sync() override { return ReadOnly(); }
  Result<uint64_t> Size() override { return file_->Size(); }
  Status Close() override { return {}; }
  void WillRead(uint64_t offset, uint64_t bytes) override { file_->WillRead(offset, bytes); }
  Result<std::unique_ptr<Mapping>> Map(size_t) override { return ReadOnly(); }
  Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes) override { return file_->MapForReading(bytes); }

 private:
  Status ReadOnly() const { return Status::NotSupported(path_ + ": opened for reading"); }

  const std::string path_;
  const FilePtr file_;
};

void HeldFiles::Hold(const std::set<std::string>& paths) {
  std::vector<FilePtr> closed;  // destroyed without the lock
  {
    base::Lock lock(mutex_);
    for (auto it = files_.begin(); it != files_.end();) {
      if (paths.contains(it->first)) {
        ++it;
        continue;
      }
      closed.push_back(std::move(it->second));
      it = files_.erase(it);
      --all_;
    }
  }
  closed.clear();
  for (const std::string& path : paths) {
    {
      base::Lock lock(mutex_);
      if (all_ >= files_max_) return;
      if (files_.contains(path)) continue;
    }
    auto file = OpenHeld(*below_, path);
    if (!file && file.error().IsBusy()) return;  // no descriptor is left
    if (!file) continue;
    base::Lock lock(mutex_);
    if (files_.emplace(path, std::move(*file)).second) ++all_;
  }
}

Result<std::unique_ptr<File>> HeldFiles::Open(const std::string& path, const FileOptions& options) {
  if (options.access == Access::kRead && !options.direct) {
    base::Lock lock(mutex_);
    if (const auto found = files_.find(path); found != files_.end())
      return std::unique_ptr<File>(std::make_unique<Shared>(path, found->second));
  }
  return below_->Open(path, options);
}

// WHY a few: an open needs one descriptor, and a file that is let go may be gone when it is read.
void HeldFiles::LetGoIdle() {
  constexpr size_t kLetGoMax = 8;
  std::vector<FilePtr> closed;  // destroyed without the lock
  base::Lock lock(mutex_);
  for (auto it = files_.begin(); it != files_.end() && closed.size() < kLetGoMax;) {
    if (it->second.use_count() > 1) {
      ++it;
      continue;
    }
    closed.push_back(std::move(it->second));
    it = files_.erase(it);
    --all_;
  }
}

}  // namespace mergedb::env
