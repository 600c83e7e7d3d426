// An immutable sorted file in LevelDB's table format. THREADS: all methods, any thread.
#ifndef STORAGE_LEVELDB_INCLUDE_TABLE_H_
#define STORAGE_LEVELDB_INCLUDE_TABLE_H_

#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/iterator.h"

namespace leveldb {

struct Options;
class RandomAccessFile;
struct ReadOptions;

class LEVELDB_EXPORT Table {
 public:
  // The table in the first `file_size` bytes of `file`, which must outlive it. OK and *table, which the caller deletes;
  // or an error and null.
  static Status Open(const Options& options, RandomAccessFile* file, uint64_t file_size, Table** table);

  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table();

  Iterator* NewIterator(const ReadOptions& options) const;
  // Where in the file `key` is, or would be: bytes, about.
  uint64_t ApproximateOffsetOf(const Slice& key) const;

 private:
  struct Rep;
  explicit Table(Rep* rep) : rep_(rep) {}
  Rep* const rep_;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_TABLE_H_
