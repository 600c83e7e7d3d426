// The values of one reader that goes from entry to entry: a cursor of a user, or a job that cleans value files.
//
//   key order     a  b  c  d  e  f            values that a merge wrote lie in the order of keys: from the third neighbour
//   one file      [a][b][c][d][e][f]          on they come out of larger and larger reads, forward or backward
//
//   several       f1:[c][a]  f2:[f][b][e]     values that a flush wrote do not: each is a read of its own, the first in a
//   files                                     neighbourhood bringing it along (env::ReadAround)
//
// A scan may go to and fro between a few files that are in order each: what was read ahead is kept by file. It goes past the
// block cache, where a scan would push out what is read again.
// THREADS: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "blob/cache.h"
#include "env/buffer_pool.h"
#include "format/blob_file.h"

namespace mergedb::blob {

class Scanner {
 public:
  // `files` outlives it.
  Scanner(Cache& files, bool verify_checksums) : files_(files), verifies_(verify_checksums) {}

  // The value, which lives until the next call. REQUIRES: reference.file is meta.number.
  Status Read(const format::BlobFileMeta& meta, const format::ValueReference& reference, std::string_view key,
              std::string_view* value);

 private:
  // A file that is being scanned, and what of it was read ahead.
  struct Course {
    std::shared_ptr<Reader> reader;
    format::ValueReference last{};
    bool is_forward = true;
    int neighbours = 0;         // records in a row, each beside the one before
    env::AlignedBuffer window;  // bytes [begin, end) of the file
    uint64_t begin = 0;
    uint64_t end = 0;
    size_t window_bytes = 0;  // of the next refill

    bool IsInSequence(const format::ValueReference& reference);
    bool Has(const format::ValueReference& reference) const {
      return reference.offset >= begin && reference.offset + reference.bytes <= end;
    }
    Status Refill(const format::ValueReference& reference);
  };
  // Few: a cursor that lives long keeps the files open, and a window for each that it scans.
  static constexpr size_t kCourseBits = 4;
  static constexpr size_t kCourses = size_t{1} << kCourseBits;

  Result<Course*> CourseOf(const format::BlobFileMeta& meta);
  Status ReadRecord(Course* course, const format::ValueReference& reference, std::string_view* record);

  Cache& files_;
  const bool verifies_;
  std::array<Course, kCourses> courses_;  // by number, mixed
  std::string single_;                    // a record that was read alone
  std::string room_;                      // a value that had to be decompressed
};

}  // namespace mergedb::blob
