// The staging ring: the newest bytes of the stream; position p lies at p % size().
//
//     mapped    the file STAGING, mapped twice in a row:  |0 ....... size|0 ....... size|   a frame never wraps
//     in memory size() bytes and room for one overhang:   |0 ....... size|.....|            Mirror brings it to the front
//
// WHY the file is made anew for every epoch, by writes of 4 KiB: the page cache then holds it in small folios, and
// dirtying a page again costs 0.5-1.1 us; after large writes or a read-ahead it is 4.2, as large folios are walked whole.
// It is synced once, before its first use, so that its size and its name outlast a power cut and the MANIFEST may demand it
// (docs/decisions/0014-lost-staging.md). What is staged later is not: after a power cut the chain decides what of it counts.
// WHY all of it is written: a store into a hole of a mapped file on a full disk is fatal.
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
  // `overhang_bytes`: how far the largest frame may reach beyond the end. Removes what an earlier epoch left.
  static Result<std::unique_ptr<WalBuffer>> Create(FileSystem* file_system, const std::string& directory, size_t bytes,
                                                   size_t overhang_bytes, bool use_mapping);

  char* data() { return data_; }
  size_t size() const { return size_; }
  bool is_mapped() const { return mapping_ != nullptr; }
  char* At(uint64_t position) { return data_ + (position & (size_ - 1)); }

  // Of a mapped ring: after it, a store needs no new block of the disk, even if the file was copied by reflink meanwhile.
  Status Unshare() { return file_->Unshare(); }

  // In memory only: bytes that hang over the end belong to the front as well.
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
