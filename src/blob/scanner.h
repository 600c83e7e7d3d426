// Reads the values of one sequence of entries: of a user iterator, or of a compaction that collects blob garbage.
//
//  key order     a  b  c  d  e  f            A compaction writes values in key order: from the second value on,
//  one file      [a][b][c][d][e][f]          they come from larger and larger reads, forward or backward.
//
//  several       f1:[c][a]  f2:[f][b][e]     Values in several files: each value is a read of its own; the first one
//  files                                     of a neighbourhood reads its surroundings ahead (env::ReadAround). The
//                                            scanner counts these values, as scattered.
//
// A scan may alternate between files if each of them is in key order, as flushes and compactions write them: the
// read-ahead is kept by file, for the files that were used last.
// Scans bypass the block cache, where they would evict values that are read again. Values of mapped files are read in
// place.
// THREADS: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blob/cache.h"
#include "env/buffer_pool.h"
#include "format/blob_file.h"

namespace mergedb::blob {

// What a scanner holds: files that stay open, each with a window.
struct ScannerLimits {
  size_t files_max = 64;
  size_t window_bytes = size_t{2} << 20;  // about; of all files
  bool reads_in_place = true;             // values of mapped files
};
// For compactions. WHY more: a database has few of them at a time. WHY not in place: an error of the disk is then
// named by the call, and a copy of zeros never becomes a value.
inline constexpr ScannerLimits kCompactionScannerLimits{
    .files_max = 256, .window_bytes = size_t{8} << 20, .reads_in_place = false};

class Scanner {
 public:
  // `files` must outlive the scanner.
  Scanner(Cache& files, bool verify_checksums, const ScannerLimits& limits = {})
      : files_(files), verifies_(verify_checksums), limits_(limits) {}

  // Stores a view of the value, valid until the next call. REQUIRES: reference.file is meta.number.
  Status Read(const format::BlobFileMeta& meta, const format::BlobIndex& reference, std::string_view key,
              std::string_view* value);
  // Of the file of the last value. REQUIRES: Read has returned OK.
  const std::shared_ptr<Reader>& last_reader() const { return courses_[current_].reader; }
  // The next value has no neighbour that was read before it.
  void NoteSeek() { is_first_ = true; }
  // Bytes of scattered values: they would have come with their neighbours if values were in key order.
  uint64_t scattered_bytes() const { return scattered_bytes_; }

 private:
  // A file that is being scanned, and its read-ahead.
  struct Course {
    std::shared_ptr<Reader> reader;
    uint64_t used = 0;  // the value of clock_ at the last use
    format::BlobIndex last{};
    bool is_forward = true;
    env::AlignedBuffer window;  // bytes [begin, end) of the file
    uint64_t begin = 0;
    uint64_t end = 0;
    size_t window_bytes = 0;  // size of the next refill, if all windows leave that much

    bool IsNeighbour(const format::BlobIndex& reference);
    bool Has(const format::BlobIndex& reference) const {
      return reference.offset >= begin && reference.offset + reference.bytes <= end;
    }
    Status Refill(const format::BlobIndex& reference, size_t window_bytes_max);
  };

  Result<Course*> CourseOf(const format::BlobFileMeta& meta);
  Result<Course*> NewCourse(const format::BlobFileMeta& meta);
  Status ReadRecord(Course* course, const format::BlobIndex& reference, std::string_view* record);
  Status ReadSingle(Course* course, const format::BlobIndex& reference, std::string_view* record);

  Cache& files_;
  const bool verifies_;
  const ScannerLimits limits_;
  std::vector<Course> courses_;
  std::vector<kv::FileNumber> numbers_;  // of the files of courses_
  size_t current_ = 0;                   // the course that was used last
  uint64_t clock_ = 0;                   // number of uses of all courses
  bool is_first_ = true;                 // no value was read since NoteSeek
  bool is_in_place_ = false;             // the last record is in the mapping
  uint64_t scattered_bytes_ = 0;
  std::string single_;  // a record that is read by itself
  std::string room_;    // a decompressed value
};

}  // namespace mergedb::blob
