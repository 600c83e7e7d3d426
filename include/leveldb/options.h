// What a program may choose. The layout is fixed: programs hold these structures by value. Debian's libleveldb.so.1d
// (the default here) has no zstd level; upstream's libleveldb.so.1 has: define MERGEDB_LEVELDB_UPSTREAM_LAYOUT for that
// one.
#ifndef STORAGE_LEVELDB_INCLUDE_OPTIONS_H_
#define STORAGE_LEVELDB_INCLUDE_OPTIONS_H_

#include <cstddef>

#include "leveldb/export.h"

namespace leveldb {

class Cache;
class Comparator;
class Env;
class FilterPolicy;
class Logger;
class Snapshot;

// Values are stored in tables.
enum CompressionType : int { kNoCompression = 0x0, kSnappyCompression = 0x1, kZstdCompression = 0x2 };

// What it points to must outlive the database.
struct LEVELDB_EXPORT Options {
  Options();

  const Comparator* comparator;  // BytewiseComparator()
  bool create_if_missing = false;
  bool error_if_exists = false;
  bool paranoid_checks = false;                // stop at damage that could be passed over
  Env* env;                                    // Env::Default()
  Logger* info_log = nullptr;                  // null: a file LOG in the database's directory
  size_t write_buffer_size = 4 * 1024 * 1024;  // bytes; up to twice as many are held in memory
  int max_open_files = 1000;
  Cache* block_cache = nullptr;            // null: one of 8 MiB
  size_t block_size = 4 * 1024;            // bytes before compression
  int block_restart_interval = 16;         // of LevelDB's own tables
  size_t max_file_size = 2 * 1024 * 1024;  // bytes; a hint
  CompressionType compression = kSnappyCompression;
#ifdef MERGEDB_LEVELDB_UPSTREAM_LAYOUT
  int zstd_compression_level = 1;  // -5 to 22
#endif
  bool reuse_logs = false;  // accepted; logs are always reused
  const FilterPolicy* filter_policy = nullptr;
};

struct LEVELDB_EXPORT ReadOptions {
  bool verify_checksums = false;  // of what is read; mergedb verifies its own tables in any case
  bool fill_cache = true;
  const Snapshot* snapshot = nullptr;  // null: as of now
};

struct LEVELDB_EXPORT WriteOptions {
  WriteOptions() = default;
  bool sync = false;  // true: survives power loss when the call returns; false: survives the death of the process
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_OPTIONS_H_
