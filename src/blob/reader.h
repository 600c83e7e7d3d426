// An open value file: the values that references lead to.
//
// A value passes if the reference lies within the file's records, the record there is whole and of this file and place (its
// checksum is salted with both), and its key is the one that led here. Anything else is Corruption naming file and offset:
// a reference that is wrong in any way gives an error, never another value.
//
//   Get      one value, from the cache or the file; for point reads
//   Window   large pieces, record after record; for the Scanner and for CheckIntegrity
//
// WHY read and not mapped: a mapping saves a system call for a value that the page cache has, but an I/O error on one kills
// the process, and damage to a file at rest must be an error here.
// THREADS: constant once open; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/block_cache.h"
#include "env/read_around.h"
#include "format/blob_file.h"
#include "kv/order.h"
#include "mergedb/env.h"
#include "mergedb/result.h"

namespace mergedb::blob {

struct ReadControl {
  bool verify_checksums = true;
  bool fill_cache = true;
};

// `pin` keeps `value` alive.
struct Found {
  std::string_view value;
  base::BlockCache::Pin pin;
};

class Reader {
 public:
  // Reads the footer and checks it against `meta`. `order` says when two keys are the same. `cache` may be null.
  static Result<std::shared_ptr<Reader>> Open(FileSystem* file_system, const std::string& path,
                                              const format::BlobFileMeta& meta, const kv::Order& order,
                                              base::BlockCache* cache);

  // The same of a file that may be damaged: nothing of it is checked but what is read.
  static Result<std::shared_ptr<Reader>> OpenUnchecked(FileSystem* file_system, const std::string& path,
                                                       const format::BlobFileMeta& meta, const kv::Order& order);

  // REQUIRES: reference.file is this file's number.
  Status Get(const format::ValueReference& reference, std::string_view key, const ReadControl& control,
             Found* found) const;

  // The pieces of Get, for who brings the memory along. Check a reference before anything is read for it:
  Status CheckReference(const format::ValueReference& reference) const;
  // bytes [offset, offset + bytes) of the file into `out`, its surroundings along with it if `reads_around`:
  Status ReadAt(uint64_t offset, size_t bytes, bool reads_around, char* out) const;
  // a record as stored -> its value; `room` takes a value that has to be decompressed:
  Status OpenValue(std::string_view record, const format::ValueReference& reference, std::string_view key, bool verify,
                   std::string* room, std::string_view* value) const;

  // Ask the system to have the file in its page cache soon.
  void Warm() const { file_->WillRead(0, meta_.record_bytes); }
  // Read and verify every byte.
  Status CheckIntegrity() const;
  const format::BlobFileMeta& meta() const { return meta_; }

 private:
  Reader(std::unique_ptr<File> file, std::string path, const format::BlobFileMeta& meta, const kv::Order& order,
         base::BlockCache* cache);
  Status CheckKey(std::string_view expected, std::string_view found) const;
  Status Load(const format::ValueReference& reference, std::string_view key, const ReadControl& control,
              Found* found) const;
  Status CheckFooter() const;
  Status CheckRecords() const;
  Status CheckZeros() const;
  Status At(uint64_t offset, Status status) const;  // "path: value at offset: ...", unless it is OK

  const std::unique_ptr<File> file_;
  const std::string path_;
  const format::BlobFileMeta meta_;
  const kv::Order order_;
  base::BlockCache* const cache_;
  env::ReadAround around_;  // constant once the reader is open
};

}  // namespace mergedb::blob
