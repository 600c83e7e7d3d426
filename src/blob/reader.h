// An open blob file. It returns the values to which blob indexes refer.
//
// A value is returned only if the blob index lies within the file's records, the record there is intact and belongs
// to this file and offset (its checksum is salted with both), and its key is the key of the table entry. Anything
// else is Corruption with file and offset: a wrong blob index gives an error, never another value.
//
//  Get            one value, from the cache or the file; for point reads
//  CheckBlobIndex, ReadAt, OpenValue
//                 the steps of Get, for callers with memory of their own: blob::Scanner and repair
//
// A file may be mapped (`memory`). Then a value that is not compressed is read in place, and verified at each read: the
// bits that a table has for its verified blocks would be one for each value here.
// THREADS: constant once open; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/block_cache.h"
#include "env/deferral.h"
#include "env/file_memory.h"
#include "env/latencies.h"
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

// `pin` keeps `value` alive. With an empty pin, `value` is in the mapping and valid as long as the Reader.
struct Found {
  std::string_view value;
  base::BlockCache::Pin pin;
};

class Reader {
 public:
  // Reads the footer and checks it against `meta`. `order` decides whether two keys are equal. `cache` may be null.
  // `latencies`: of reads by Get; outlives the reader; may be null. `memory`: maps the file and reads around cold
  // values if this allows it; null: the file is not mapped.
  static Result<std::shared_ptr<Reader>> Open(FileSystem* file_system, const std::string& path,
                                              const format::BlobFileMeta& meta, const kv::Order& order,
                                              base::BlockCache* cache, env::Latencies* latencies = nullptr,
                                              env::FileMemory* memory = nullptr);

  // As Open, for a file that may be damaged: without a check of the footer. `meta.record_bytes` is cut to the
  // file's size. Values are not cached.
  static Result<std::shared_ptr<Reader>> OpenUnchecked(FileSystem* file_system, const std::string& path,
                                                       const format::BlobFileMeta& meta, const kv::Order& order);

  // REQUIRES: reference.file is this file's number.
  Status Get(const format::BlobIndex& reference, std::string_view key, const ReadControl& control, Found* found) const {
    return GetOrWait(reference, key, control, nullptr, found).status();
  }
  // As Get, but may wait before it reads from the file. A null `deferral` never waits.
  env::ReadResult GetOrWait(const format::BlobIndex& reference, std::string_view key, const ReadControl& control,
                            env::Deferral* deferral, Found* found) const;

  // The steps of Get, for callers with memory of their own. First, check a blob index before a read:
  Status CheckBlobIndex(const format::BlobIndex& reference) const;
  // then read bytes [offset, offset + bytes) of the file into `out` (`reads_around`: tell the system to read
  // the surroundings, too):
  Status ReadAt(uint64_t offset, size_t bytes, bool reads_around, char* out) const;
  // or look at them in place (an empty view: the file is not mapped);
  std::string_view InPlace(uint64_t offset, size_t bytes) const;
  // then take the value out of a stored record; `room` holds a value that is decompressed:
  Status OpenValue(std::string_view record, const format::BlobIndex& reference, std::string_view key, bool verify,
                   std::string* room, std::string_view* value) const;

  // Asks the system to load the whole file, or these bytes, into its page cache; returns at once.
  void Warm() const { file_->WillRead(0, meta_.record_bytes); }
  void WillRead(uint64_t offset, uint64_t bytes) const { file_->WillRead(offset, bytes); }
  // Reads and verifies every byte.
  Status CheckIntegrity() const;
  const format::BlobFileMeta& meta() const { return meta_; }
  // All records, if the file is mapped; else empty. Values that are not compressed lie in it.
  std::string_view mapped() const {
    return mapping_ == nullptr ? std::string_view() : std::string_view(mapping_->data(), mapping_->size());
  }

 private:
  Reader(std::unique_ptr<File> file, std::string path, const format::BlobFileMeta& meta, const kv::Order& order,
         base::BlockCache* cache, env::Latencies* latencies);
  bool Defers(const format::BlobIndex& reference, env::Deferral* deferral) const;
  Status CheckKey(std::string_view expected, std::string_view found) const;
  bool FindInPlace(const format::BlobIndex& reference, std::string_view key, const ReadControl& control,
                   Found* found) const;
  bool FindCached(const format::BlobIndex& reference, std::string_view key, bool counts_miss, Found* found,
                  Status* status) const;
  Status Load(const format::BlobIndex& reference, std::string_view key, const ReadControl& control, Found* found) const;
  Status CheckFooter() const;
  Status CheckRecords() const;
  Status CheckZeros() const;
  Status At(uint64_t offset, Status status) const;  // adds "path: value at offset: " to an error

  const std::unique_ptr<File> file_;
  const std::string path_;
  const format::BlobFileMeta meta_;
  const kv::Order order_;
  base::BlockCache* const cache_;
  env::Latencies* const latencies_;
  // Constant after Open.
  env::ReadAround around_;
  std::unique_ptr<env::MappedFile> mapping_;  // of all records; null: the file is not mapped
};

}  // namespace mergedb::blob
