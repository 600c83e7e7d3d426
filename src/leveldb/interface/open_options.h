// leveldb::Options -> mergedb::Options, and the files LOG and LOG.old, which only LevelDB programs expect.
//
//   comparator            as it is; "leveldb.BytewiseComparator" becomes mergedb's own order
//   create, error_if      mode
//   write_buffer_size     write_buffer_bytes, limited as in LevelDB           64 KiB to 1 GiB
//   block_cache           memory_bytes: two write buffers, and the capacity of a NewLRUCache, or else 8 MiB
//   max_open_files        open_tables_max: ten less; first limited            74 to 50,000
//   block_size            block_bytes                                         1 KiB to 4 MiB
//   compression           compression of the upper tiers and of the bottom
//   filter_policy         null: mergedb's own filters; from NewBloomFilterPolicy: mergedb's, with that many bits;
//                         a program's own: LevelDB's filter blocks in the tables
//   max_file_size, block_restart_interval, paranoid_checks and reuse_logs have no effect: mergedb chooses table
//                         sizes itself, always verifies checksums, and always reuses its WAL
#pragma once

#include <memory>
#include <string>

#include "base/sync.h"
#include "leveldb/interface/adapters.h"
#include "leveldb/interface/block_keeper.h"
#include "leveldb/interface/env_files.h"
#include "leveldb/interface/table_adapters.h"
#include "leveldb/options.h"
#include "mergedb/options.h"

namespace leveldb {

// The info log. Lines wait in memory until Begin, so an open that fails creates no LOG and renames none.
// THREADS: all methods, any thread.
class LogOfDatabase final : public mergedb::Logger {
 public:
  explicit LogOfDatabase(const Options& options) : info_log_(options.info_log) {}
  ~LogOfDatabase() override;
  void Log(std::string_view line) override;
  // Call when the database is open. Waiting and later lines go to the program's logger, or to a new LOG in
  // `directory`.
  void Begin(Env* env, const std::string& directory);

 private:
  mergedb::base::Mutex mutex_;
  std::string waiting_ GUARDED_BY(mutex_);
  leveldb::Logger* const info_log_;
  leveldb::Logger* own_ GUARDED_BY(mutex_) = nullptr;
  bool has_begun_ GUARDED_BY(mutex_) = false;
};

// Objects that the engine uses as long as the database lives.
struct Borrowed {
  // REQUIRES: CheckOptions(options) is OK.
  Borrowed(const Options& options, const std::string& name);
  const std::unique_ptr<const ComparatorAdapter> comparator;  // null: the bytewise order
  const std::unique_ptr<EnvFiles> files;                      // null: the operating system's files
  const std::unique_ptr<BlockKeeper> blocks;                  // null: the database has a cache of its own
  const std::unique_ptr<const FilterAdapter> filters;         // null: the engine's filters
  LogOfDatabase log;
};

// InvalidArgument for null pointers that LevelDB would dereference, and for unknown values.
Status CheckOptions(const Options& options);
// REQUIRES: CheckOptions(options) is OK. `borrowed` must outlive the database that is opened with the result.
mergedb::Options ToCore(const Options& options, Borrowed* borrowed);

// Converts mergedb's status of a failed open into LevelDB's.
Status OpenError(const Options& options, const std::string& name, const mergedb::Status& status);

}  // namespace leveldb
