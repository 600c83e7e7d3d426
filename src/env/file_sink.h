// A file written from front to back through one aligned buffer, in pieces of 1 MiB: a new one, or a spare one that is written
// over, whose bytes beyond the end are cut off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "env/buffer_pool.h"
#include "mergedb/env.h"

namespace mergedb::env {

struct SinkFile {
  std::unique_ptr<File> file;
  uint64_t recycled_bytes = 0;  // that are there already, with no meaning left
  bool is_append_only = false;

  struct Options {
    bool is_direct = true;
    bool is_reuse = false;  // write over what is there; else there must be nothing
  };
  [[nodiscard]] static Result<SinkFile> Open(FileSystem* file_system, const std::string& path, const Options& options);
};

class FileSink {
 public:
  explicit FileSink(SinkFile target);

  uint64_t offset() const { return written_ + used_; }  // of the next byte
  uint64_t recycled_bytes() const { return recycled_bytes_; }
  [[nodiscard]] Status Append(std::string_view bytes);
  // Zeros up to `offset`, less than a page of them or many.
  [[nodiscard]] Status PadTo(uint64_t offset);
  // Write what is left, and end the file there. On an append-only file system the file is synced as well: nobody can later on. REQUIRES: offset() is a multiple of kDirectIoAlign. Nothing can be appended afterwards.
  [[nodiscard]] Status Finish();
  [[nodiscard]] Status Sync() { return file_->Sync(); }

 private:
  Status WriteBuffer();

  std::unique_ptr<File> file_;
  const uint64_t recycled_bytes_;
  const bool is_append_only_;
  AlignedBuffer buffer_;
  size_t used_ = 0;
  uint64_t written_ = 0;
};

}  // namespace mergedb::env
