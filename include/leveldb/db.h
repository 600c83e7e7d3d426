// LevelDB's database, on mergedb. docs/api/leveldb-differences.md says what can be told apart.
// THREADS: a DB may be used from several threads at once.
#ifndef STORAGE_LEVELDB_INCLUDE_DB_H_
#define STORAGE_LEVELDB_INCLUDE_DB_H_

#include <cstdint>
#include <cstdio>

#include "leveldb/export.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"

namespace leveldb {

// Of LevelDB, whose interface this is.
static const int kMajorVersion = 1;
static const int kMinorVersion = 23;

struct Options;
struct ReadOptions;
struct WriteOptions;
class WriteBatch;

// The state at one moment. Immutable.
class LEVELDB_EXPORT Snapshot {
 protected:
  virtual ~Snapshot();
};

// Keys from start up to, and without, limit.
struct LEVELDB_EXPORT Range {
  Range() = default;
  Range(const Slice& start_key, const Slice& limit_key) : start(start_key), limit(limit_key) {}
  Slice start;
  Slice limit;
};

class LEVELDB_EXPORT DB {
 public:
  // OK and *dbptr, which the caller deletes; or an error and null.
  static Status Open(const Options& options, const std::string& name, DB** dbptr);

  DB() = default;
  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;
  virtual ~DB();

  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;  // OK if absent
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;
  // NotFound if absent; *value is then untouched.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;
  // Not valid until it is sought. The caller deletes it before the database.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;
  virtual const Snapshot* GetSnapshot() = 0;
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;
  // "leveldb.num-files-at-level<N>", "leveldb.stats", "leveldb.sstables", "leveldb.approximate-memory-usage". False if
  // unknown.
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;
  // Bytes on disk of ranges[0, n), about; unflushed writes are not counted.
  virtual void GetApproximateSizes(const Range* ranges, int n, uint64_t* sizes) = 0;
  // Merge [*begin, *end] into the bottom; null is open.
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;
};

// Remove a database. Whatever else the directory holds stays.
LEVELDB_EXPORT Status DestroyDB(const std::string& name, const Options& options);
// Save what can be saved of a damaged database; see docs/api/leveldb-differences.md.
LEVELDB_EXPORT Status RepairDB(const std::string& dbname, const Options& options);

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_DB_H_
