// The WAL buffer (file STAGING): a ring with the newest bytes of the stream; position p is at p % size().
//
//     mapped    the file STAGING, mapped twice in a row:  |0 ....... size|0 ....... size|   a frame never wraps
//     in memory size() bytes and room for one overhang:   |0 ....... size|.....|          Mirror copies it to the front
//
// WHY each epoch makes the file anew, with writes of 4 KiB: the page cache then holds it in small folios, and
// dirtying a page again costs 0.5-1.1 us. After large writes or a read-ahead it costs 4.2 us, because the
// kernel scans large folios as a whole. Create syncs the file once, so that its size and its name survive a
// power cut and the MANIFEST may require it (docs/decisions/0014-lost-staging.md). Frames in it are not
// synced: after a power cut the chain decides which of them count.
// WHY the whole file is written: on a full disk, a store into a hole of a mapped file kills the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mergedb/env.h"
#include "wal/aligned.h"

namespace mergedb::wal {

class WalBuffer {
 public:
  // `overhang_bytes`: how far the largest frame may extend beyond the end. Removes the file of an earlier epoch.
  static Result<std::unique_ptr<WalBuffer>> Create(FileSystem* file_system, const std::string& directory, size_t bytes,
                                                   size_t overhang_bytes, bool use_mapping);

  char* data() { return data_; }
  size_t size() const { return size_; }
  bool is_mapped() const { return mapping_ != nullptr; }
  char* At(uint64_t position) { return data_ + (position & (size_ - 1)); }

  // For a mapped buffer: after it a store needs no new disk block, even if the file was copied by reflink meanwhile.
  Status Unshare() { return file_->Unshare(); }

  // In memory only: copies bytes beyond the end to the front.
  void Mirror(uint64_t position, size_t bytes);

 private:
  WalBuffer() = default;
  Status MapFile(FileSystem* file_system, const std::string& directory, const std::string& path);

  char* data_ = nullptr;
  size_t size_ = 0;
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;
  AlignedBytes memory_;
};

}  // namespace mergedb::wal
