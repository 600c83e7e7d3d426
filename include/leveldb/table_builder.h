// Pairs in order -> a file in LevelDB's table format. THREADS: const members may run at once; anything else needs the
// caller's lock.
#ifndef STORAGE_LEVELDB_INCLUDE_TABLE_BUILDER_H_
#define STORAGE_LEVELDB_INCLUDE_TABLE_BUILDER_H_

#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/options.h"
#include "leveldb/status.h"

namespace leveldb {

class WritableFile;

class LEVELDB_EXPORT TableBuilder {
 public:
  // Appends to `file`, which the caller closes after Finish.
  TableBuilder(const Options& options, WritableFile* file);
  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;
  ~TableBuilder();  // REQUIRES: Finish or Abandon was called

  // Change options for what follows; the comparator cannot be changed (InvalidArgument).
  Status ChangeOptions(const Options& options);
  // REQUIRES: after all keys before, neither finished nor abandoned.
  void Add(const Slice& key, const Slice& value);
  // End the block here. Mostly of use to keep two adjacent entries out of one block.
  void Flush();
  Status status() const;
  Status Finish();  // writes what is left
  void Abandon();   // the file is the caller's to remove
  uint64_t NumEntries() const;
  uint64_t FileSize() const;  // so far; after Finish, of the file

 private:
  struct Rep;
  Rep* rep_;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_TABLE_BUILDER_H_
