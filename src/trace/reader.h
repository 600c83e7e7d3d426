// Reads a trace from front to back, one block at a time.
//
//     auto reader = trace::Reader::Open(files, path);
//     if (!reader) return reader.error();
//     for (trace::Operation op; (*reader)->Next(&op);) Use(op);
//     if (!(*reader)->status().ok()) ...      // cut or damaged: what came before is usable
//
// Memory: one block. Tests: tests/unit/trace/format_test.cc, fuzz/trace_fuzz.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mergedb/env.h"
#include "trace/format.h"

namespace mergedb::trace {

class Reader {
 public:
  // Corruption or NotSupported name the file and the offset.
  static Result<std::unique_ptr<Reader>> Open(FileSystem* files, const std::string& path);

  const Head& head() const { return head_; }
  // False after the last operation and at damage. The views in *operation live until the next call. A record END is not
  // shown.
  bool Next(Operation* operation);
  // OK if the whole trace was read; Corruption with the file and the offset if it is cut or damaged.
  const Status& status() const { return status_; }
  // The record END, after the last operation of a whole trace.
  const std::optional<Operation>& end() const { return end_; }
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  Reader(std::unique_ptr<File> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Status ReadHead();
  bool ReadBlock();
  bool Fail(uint64_t offset, std::string_view what);

  const std::unique_ptr<File> file_;
  const std::string path_;
  Head head_;
  uint64_t file_bytes_ = 0;
  uint64_t offset_ = 0;  // of the next block
  uint64_t payload_offset_ = 0;
  uint32_t number_ = 0;
  std::string payload_;
  BlockDecoder decoder_;
  std::optional<Operation> end_;
  Status status_;
};

}  // namespace mergedb::trace
