// The WAL buffer (file STAGING): the newest bytes of the stream; position p is at p % size().
//
//     mapped    the file STAGING, mapped twice in a row:  |0 ....... size|0 ....... size|   a frame never wraps
//     in memory size() bytes and room for one overhang:   |0 ....... size|.....|          Mirror copies it to the front
//
// The file has its full size from the start, but no blocks: Allocate gives it blocks in pieces, ahead of the first
// lap, so a small database takes a small part of the disk. GiveBack makes a hole of what is not needed, so that the
// kernel does not write it to the disk. After a failed Allocate no store goes there: on a full disk, a store into a
// hole of a mapped file raises SIGBUS, which fails the WAL (env/mapped_files.h).
//
// Create syncs the file once, so that its size and its name survive a power cut and the MANIFEST may require it
// (docs/decisions/0014-lost-staging.md). Frames in it are not synced: after a power cut the chain decides which
// of them count.
//
// THREADS: Allocate and GiveBack by one thread at a time; GiveBack not beside a store.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/mapped_faults.h"
#include "env/mapped_files.h"
#include "mergedb/env.h"
#include "wal/aligned.h"

namespace mergedb::wal {

class WalBuffer {
 public:
  struct Sizes {
    size_t mapped = 0;     // a power of two
    size_t in_memory = 0;  // a power of two; of a buffer that is not mapped
  };
  // Removes the file of an earlier epoch.
  static Result<std::unique_ptr<WalBuffer>> Create(FileSystem* file_system, const std::string& directory,
                                                   const Sizes& sizes, bool use_mapping);

  char* data() { return data_; }
  size_t size() const { return size_; }
  size_t frame_bytes_max() const { return size_ / 4; }
  bool is_mapped() const { return mapping_ != nullptr; }
  // True: a page of the mapped file could not be read, and what was stored there is not in the file.
  bool has_failed() const { return guard_ != nullptr && guard_->has_failed(); }
  // REQUIRES: has_failed()
  Status failure() const { return faults_->status(0); }
  // Fails if another program has cut the mapped file: the kernel puts zeros behind the cut in its page, and raises no
  // signal.
  void CheckSize();
  char* At(uint64_t position) { return data_ + (position & (size_ - 1)); }

  // The end of the positions that have blocks. UINT64_MAX: all of them, until GiveBack.
  uint64_t allocated_end() const { return allocated_end_.load(std::memory_order_acquire); }
  uint64_t allocated_bytes() const { return allocated_bytes_.load(std::memory_order_relaxed); }
  // Allocates until allocated_end() >= `position`. NoSpace if the disk is full. REQUIRES: position is at most size()
  // above every byte that is still needed.
  Status Allocate(uint64_t position);
  // Gives back some blocks of positions outside of [begin, end), a piece at a time. False if there is nothing more to
  // give back, or if the file system failed. Positions from `end` on, the end of the stream, may need blocks again.
  // `keeps_spare`: leaves some blocks for the next frames, if any are needed now. REQUIRES: no byte below `begin` is
  // needed.
  bool GiveBack(uint64_t begin, uint64_t end, bool keeps_spare);

  // For a mapped buffer: after it a store needs no new disk block, even if the file was copied by reflink meanwhile.
  Status Unshare() { return file_->Unshare(); }

  // In memory only: copies bytes beyond the end to the front.
  void Mirror(uint64_t position, size_t bytes);

 private:
  WalBuffer() = default;
  Status MapFile(FileSystem* file_system, const std::string& directory, const std::string& path, size_t bytes);

  char* data_ = nullptr;
  size_t size_ = 0;
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;
  const std::shared_ptr<base::MappedFaults> faults_ = std::make_shared<base::MappedFaults>();
  std::unique_ptr<env::FaultGuard> guard_;  // of mapping_, null if it is
  ZeroedBytes memory_;
  std::atomic<uint64_t> allocated_end_{UINT64_MAX};
  std::atomic<uint64_t> allocated_bytes_{0};
};

}  // namespace mergedb::wal
