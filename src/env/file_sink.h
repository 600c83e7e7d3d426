// Writes a file from front to back through one aligned buffer, in pieces of 1 MiB. The file is a new one, or
// a recycled one that is overwritten; its bytes beyond the end are then cut off.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "env/buffer_pool.h"
#include "mergedb/env.h"

namespace mergedb::env {

// The total time of writes to files. THREADS: any.
struct WriteTimes {
  Clock* clock = nullptr;
  std::atomic<uint64_t> nanos{0};
};

struct SinkFile {
  std::unique_ptr<File> file;
  uint64_t recycled_bytes = 0;  // old bytes of a recycled file, which have no meaning
  bool is_append_only = false;
  WriteTimes* times = nullptr;  // outlives the sink; null: the time is not counted

  struct Options {
    bool is_direct = true;
    bool is_reuse = false;  // overwrite an existing file; else the file must not exist
    WriteTimes* times = nullptr;
  };
  [[nodiscard]] static Result<SinkFile> Open(FileSystem* file_system, const std::string& path, const Options& options);
};

class FileSink {
 public:
  explicit FileSink(SinkFile target);

  uint64_t offset() const { return written_ + used_; }  // of the next byte
  uint64_t recycled_bytes() const { return recycled_bytes_; }
  [[nodiscard]] Status Append(std::string_view bytes);
  // Appends zeros up to `offset`.
  [[nodiscard]] Status PadTo(uint64_t offset);
  // Writes the rest of the buffer, and ends the file there. On an append-only file system this also syncs the
  // file, because nothing can sync it later. REQUIRES: offset() is a multiple of kDirectIoAlign. Nothing can
  // be appended afterwards.
  [[nodiscard]] Status Finish();
  [[nodiscard]] Status Sync() { return file_->Sync(); }

 private:
  Status WriteBuffer();

  std::unique_ptr<File> file_;
  const uint64_t recycled_bytes_;
  const bool is_append_only_;
  WriteTimes* const times_;
  AlignedBuffer buffer_;
  size_t used_ = 0;
  uint64_t written_ = 0;
};

}  // namespace mergedb::env
