#include "env/held_files.h"

#include <algorithm>

namespace mergedb::env {
namespace {

Status NotMapped(const std::string& path, const char* why) {
  return Status::NotSupported(path + ": map for reading: " + why);
}

}  // namespace

// WHY it keeps the file: the lock ends with the File (env/hold.h). The mapping is destroyed first.
class HeldFiles::SharedMapping final : public ReadMapping {
 public:
  SharedMapping(FilePtr file, std::unique_ptr<ReadMapping> mapping)
      : file_(std::move(file)), mapping_(std::move(mapping)) {}
  const char* data() const override { return mapping_->data(); }
  size_t size() const override { return mapping_->size(); }

 private:
  const FilePtr file_;
  const std::unique_ptr<ReadMapping> mapping_;
};

// Reads through a descriptor that others share.
class HeldFiles::Shared final : public File {
 public:
  Shared(std::string path, FilePtr file) : path_(std::move(path)), file_(std::move(file)) {}

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    return file_->file->ReadAt(offset, bytes, out, got);
  }
  Status WriteAt(uint64_t, std::string_view) override { return ReadOnly(); }
  Status Truncate(uint64_t) override { return ReadOnly(); }
  Status Sync() override { return ReadOnly(); }
  Result<uint64_t> Size() override { return file_->file->Size(); }
  Status Close() override { return {}; }
  void WillRead(uint64_t offset, uint64_t bytes) override { file_->file->WillRead(offset, bytes); }
  Result<std::unique_ptr<Mapping>> Map(size_t) override { return ReadOnly(); }
  Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes) override {
    if (!file_->is_locked) return NotMapped(path_, "the file has no lock that keeps a writer from overwriting it");
    if (!file_->is_confirmed) return NotMapped(path_, "it is not known yet whether the name still exists");
    ASSIGN_OR_RETURN(auto mapping, file_->file->MapForReading(bytes));
    return std::unique_ptr<ReadMapping>(std::make_unique<SharedMapping>(file_, std::move(mapping)));
  }

 private:
  Status ReadOnly() const { return Status::NotSupported(path_ + ": opened for reading"); }

  const std::string path_;
  const FilePtr file_;
};

// A file that a writer may overwrite or remove: as the file below, but never mapped.
class HeldFiles::OpenedByName final : public File {
 public:
  OpenedByName(std::string path, std::unique_ptr<File> file) : path_(std::move(path)), file_(std::move(file)) {}

  Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) override {
    return file_->ReadAt(offset, bytes, out, got);
  }
  Status WriteAt(uint64_t offset, std::string_view bytes) override { return file_->WriteAt(offset, bytes); }
  Status Truncate(uint64_t bytes) override { return file_->Truncate(bytes); }
  Status Sync() override { return file_->Sync(); }
  Result<uint64_t> Size() override { return file_->Size(); }
  Status Close() override { return file_->Close(); }
  void WillRead(uint64_t offset, uint64_t bytes) override { file_->WillRead(offset, bytes); }
  Result<std::unique_ptr<Mapping>> Map(size_t bytes) override { return file_->Map(bytes); }
  Result<std::unique_ptr<ReadMapping>> MapForReading(size_t) override {
    return NotMapped(path_, "the file is not held, so a writer may overwrite it");
  }

 private:
  const std::string path_;
  const std::unique_ptr<File> file_;
};

void HeldFiles::Hold(const std::set<std::string>& paths) {
  std::vector<FilePtr> closed;  // destroyed without the lock
  {
    base::Lock lock(mutex_);
    std::erase_if(files_, [&](auto& each) REQUIRES_LOCK(mutex_) {
      if (paths.contains(each.first)) return false;
      closed.push_back(std::move(each.second));
      --all_;
      return true;
    });
  }
  closed.clear();
  // WHY the newest first: if there are too many, an old file is the least likely to be replaced. The name is a number
  // of six digits or more, and an ending.
  std::vector<std::string> newest_first(paths.begin(), paths.end());
  const auto number_of = [](const std::string& path) { return std::string_view(path).substr(0, path.rfind('.')); };
  std::ranges::sort(newest_first, [&](const std::string& a, const std::string& b) {
    const std::string_view first = number_of(a), second = number_of(b);
    return first.size() != second.size() ? first.size() > second.size() : first > second;
  });
  for (const std::string& path : newest_first) {
    {
      base::Lock lock(mutex_);
      if (all_ >= files_max_) return;
      if (files_.contains(path)) continue;
    }
    auto file = env::OpenHeld(*below_, path);
    if (!file && file.error().IsBusy()) return;  // no descriptor is left
    if (!file) continue;
    base::Lock lock(mutex_);
    if (files_.emplace(path, std::make_shared<Held>(std::move(*file))).second) ++all_;
  }
}

void HeldFiles::Confirm() {
  base::Lock lock(mutex_);
  for (const auto& [path, file] : files_) file->is_confirmed = true;
}

Result<std::unique_ptr<File>> HeldFiles::Open(const std::string& path, const FileOptions& options) {
  if (options.access != Access::kRead) return below_->Open(path, options);
  {
    // WHY also if options.direct: the name may be gone. The pages of such reads go through the page cache.
    base::Lock lock(mutex_);
    if (const auto found = files_.find(path); found != files_.end())
      return std::unique_ptr<File>(std::make_unique<Shared>(path, found->second));
  }
  ASSIGN_OR_RETURN(auto file, below_->Open(path, options));
  return std::unique_ptr<File>(std::make_unique<OpenedByName>(path, std::move(file)));
}

// WHY a few: an open needs one descriptor, and a file that is let go may be gone when it is read.
void HeldFiles::LetGoIdle() {
  constexpr size_t kLetGoMax = 8;
  std::vector<FilePtr> closed;  // destroyed without the lock
  base::Lock lock(mutex_);
  std::erase_if(files_, [&](auto& each) REQUIRES_LOCK(mutex_) {
    if (closed.size() == kLetGoMax || each.second.use_count() > 1) return false;
    closed.push_back(std::move(each.second));
    --all_;
    return true;
  });
}

}  // namespace mergedb::env
