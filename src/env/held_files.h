// A file system for a database that is open read-only. It keeps the files of the database open and holds them
// (env/hold.h), so that a process that writes to the database can neither remove nor overwrite what the reader needs.
//
//     Open("000012.tbl") ──► held: a File that reads through the descriptor that is open already, never with O_DIRECT
//                        └─► else: the file system below
//
// All objects together hold at most `files_max` files: a database that is open read-only asks for half of the
// descriptors that the process may have (ulimit -n). The files with the highest numbers are held first. If the process
// runs out of descriptors, the objects let a few files go that no call uses. A file that is not held is opened by its
// name; if it is gone by then, or overwritten while it is read, the read fails.
//
//     MapForReading    of a file that is held, after Confirm    the mapping, which keeps the file open, and so held
//                      of every other file                      NotSupported; the caller reads by calls
// WHY: a program sees changed bytes in a mapping of a file that is overwritten, and zeros if the file becomes
// shorter within a page. A read by calls meets the checksum.
//
// Tests: tests/unit/env/held_files_test.cc. THREADS: any.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "env/descriptors.h"
#include "env/hold.h"
#include "mergedb/env.h"

namespace mergedb::env {

class HeldFiles final : public FileSystem {
 public:
  // `below` outlives the object.
  HeldFiles(FileSystem* below, size_t files_max) : below_(below), files_max_(files_max) {}
  ~HeldFiles() override { Hold({}); }

  // Holds exactly these files. A file that cannot be opened, or that is too many, is not held. Afterwards the caller
  // checks that each name still exists: then no process has overwritten the file, and none will.
  void Hold(const std::set<std::string>& paths);
  // REQUIRES: each name that the last Hold was given still existed after it.
  void Confirm();
  FileSystem& below() const { return *below_; }
  size_t count() const {
    base::Lock lock(mutex_);
    return files_.size();
  }
  // True if no process can overwrite the file: it is open and locked. A file that the object has let go it does not
  // open again before the next Hold.
  bool Keeps(const std::string& path) const {
    base::Lock lock(mutex_);
    const auto found = files_.find(path);
    return found != files_.end() && found->second->is_locked;
  }

  Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) override;
  Status Remove(const std::string& path) override { return below_->Remove(path); }
  Status Rename(const std::string& source, const std::string& target) override {
    return below_->Rename(source, target);
  }
  Status Link(const std::string& source, const std::string& target) override { return below_->Link(source, target); }
  Result<std::vector<std::string>> List(const std::string& directory) override { return below_->List(directory); }
  Status CreateDirectory(const std::string& path) override { return below_->CreateDirectory(path); }
  Status RemoveDirectory(const std::string& path) override { return below_->RemoveDirectory(path); }
  Status SyncDirectory(const std::string& directory) override { return below_->SyncDirectory(directory); }
  Result<uint64_t> SizeOf(const std::string& path) override { return below_->SizeOf(path); }
  Result<bool> IsDirectory(const std::string& path) override { return below_->IsDirectory(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return below_->Lock(path); }
  bool is_append_only() const override { return below_->is_append_only(); }
  uint64_t FreeMemoryBytes() override { return below_->FreeMemoryBytes(); }

 private:
  struct Held {
    explicit Held(HeldFile opened) : file(std::move(opened.file)), is_locked(opened.is_held) {}

    const std::unique_ptr<File> file;
    const bool is_locked;
    std::atomic<bool> is_confirmed{false};
  };
  using FilePtr = std::shared_ptr<Held>;
  class Shared;
  class SharedMapping;
  class OpenedByName;

  void LetGoIdle();

  static inline std::atomic<size_t> all_{0};  // files that all objects hold

  FileSystem* const below_;
  const size_t files_max_;
  mutable base::Mutex mutex_;
  std::map<std::string, FilePtr> files_ GUARDED_BY(mutex_);  // by path
  const IdleFiles idle_{[this] { LetGoIdle(); }};            // the last member, so it is destroyed first
};

}  // namespace mergedb::env
