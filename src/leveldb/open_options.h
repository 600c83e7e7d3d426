// leveldb::Options -> mergedb::Options, and the files that only LevelDB's habits ask for: LOG and LOG.old.
//
//   comparator            as it is; "leveldb.BytewiseComparator" is mergedb's own order
//   create, error_if      mode
//   write_buffer_size     write_buffer_bytes (both fill twice)          clipped as LevelDB clips: 64 KiB to 1 GiB
//   block_cache           memory_bytes: that of NewLRUCache, else 8 MiB, beside the buffers
//   max_open_files        open_tables_max: ten less                     74 to 50,000
//   block_size            block_bytes                                   1 KiB to 4 MiB
//   compression           both tiers
//   filter_policy         null: mergedb's own filters; of NewBloomFilterPolicy: mergedb's, of so many bits
//   max_file_size, block_restart_interval, paranoid_checks, reuse_logs have nothing to act on: mergedb cuts tables by itself, always
//                         verifies, and always reuses logs
#pragma once

#include <memory>
#include <string>

#include "base/sync.h"
#include "leveldb/adapters.h"
#include "leveldb/block_keeper.h"
#include "leveldb/env_files.h"
#include "leveldb/options.h"
#include "leveldb/table_adapters.h"
#include "mergedb/options.h"

namespace leveldb {

// Lines wait in memory until there is a place for them. So an open that fails renames and creates no LOG.
// THREADS: all methods, any thread.
class LogOfDatabase final : public mergedb::Logger {
 public:
  explicit LogOfDatabase(const Options& options) : info_log_(options.info_log) {}
  ~LogOfDatabase() override;
  void Log(std::string_view line) override;
  // The database is open: what waits, and what follows, goes to the program's logger or to a new LOG in `directory`.
  void Begin(Env* env, const std::string& directory);

 private:
  mergedb::base::Mutex mutex_;
  std::string waiting_ GUARDED_BY(mutex_);
  leveldb::Logger* const info_log_;
  leveldb::Logger* own_ GUARDED_BY(mutex_) = nullptr;
  bool has_begun_ GUARDED_BY(mutex_) = false;
};

// What the engine borrows for the life of a database.
struct Borrowed {
  // REQUIRES: checked.
  Borrowed(const Options& options, const std::string& name);
  const std::unique_ptr<const ComparatorAdapter> comparator;  // null: the bytewise order
  const std::unique_ptr<EnvFiles> files;                      // null: the operating system's
  const std::unique_ptr<BlockKeeper> blocks;                  // null: a cache of the database's own
  const std::unique_ptr<const FilterAdapter> filters;         // null: the engine's
  LogOfDatabase log;
};

// InvalidArgument for what LevelDB would read through or not understand.
Status CheckOptions(const Options& options);
// REQUIRES: checked. `borrowed` must outlive what is opened with the result.
mergedb::Options ToCore(const Options& options, Borrowed* borrowed);

// What mergedb said of an open, as LevelDB says it.
Status OpenError(const Options& options, const std::string& name, const mergedb::Status& status);

}  // namespace leveldb
