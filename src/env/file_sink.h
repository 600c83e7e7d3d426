// A file written from front to back through one aligned buffer, in pieces of 1 MiB.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "mergedb/env.h"
#include "env/buffer_pool.h"

namespace mergedb::env {

class FileSink {
 public:
  explicit FileSink(std::unique_ptr<File> file);

  uint64_t offset() const { return written_ + used_; }  // of the next byte
  [[nodiscard]] Status Append(std::string_view bytes);
  // Zeros up to `offset`, less than a page of them or many.
  [[nodiscard]] Status PadTo(uint64_t offset);
  // Write what is left. REQUIRES: offset() is a multiple of kDirectIoAlign. Nothing can be appended afterwards.
  [[nodiscard]] Status Finish();
  [[nodiscard]] Status Sync() { return file_->Sync(); }
  [[nodiscard]] Status Truncate(uint64_t bytes) { return file_->Truncate(bytes); }

 private:
  Status WriteBuffer();

  std::unique_ptr<File> file_;
  AlignedBuffer buffer_;
  size_t used_ = 0;
  uint64_t written_ = 0;
};

}  // namespace mergedb::env
