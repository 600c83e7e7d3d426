// The layouts that programs were compiled against: Debian's for libleveldb.so.1d, upstream's for libleveldb.so.1.
// A change here breaks compiled programs. tests/compat/transcript.cc compares the order of the virtual functions.
#include <cstddef>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "leveldb/write_batch.h"

namespace leveldb {

#if defined(__x86_64__) || defined(__aarch64__)

static_assert(offsetof(Options, comparator) == 0 && offsetof(Options, create_if_missing) == 8);
static_assert(offsetof(Options, error_if_exists) == 9 && offsetof(Options, paranoid_checks) == 10);
static_assert(offsetof(Options, env) == 16 && offsetof(Options, info_log) == 24);
static_assert(offsetof(Options, write_buffer_size) == 32 && offsetof(Options, max_open_files) == 40);
static_assert(offsetof(Options, block_cache) == 48 && offsetof(Options, block_size) == 56);
static_assert(offsetof(Options, block_restart_interval) == 64 && offsetof(Options, max_file_size) == 72);
static_assert(offsetof(Options, compression) == 80);
#ifdef MERGEDB_LEVELDB_UPSTREAM_LAYOUT
static_assert(offsetof(Options, zstd_compression_level) == 84);
static_assert(offsetof(Options, reuse_logs) == 88 && offsetof(Options, filter_policy) == 96 && sizeof(Options) == 104);
#else
static_assert(offsetof(Options, reuse_logs) == 84 && offsetof(Options, filter_policy) == 88 && sizeof(Options) == 96);
#endif
static_assert(offsetof(ReadOptions, verify_checksums) == 0 && offsetof(ReadOptions, fill_cache) == 1);
static_assert(offsetof(ReadOptions, snapshot) == 8 && sizeof(ReadOptions) == 16);
static_assert(offsetof(WriteOptions, sync) == 0 && sizeof(WriteOptions) == 1);
static_assert(offsetof(Range, limit) == 16 && sizeof(Range) == 32);
static_assert(sizeof(Slice) == 16 && sizeof(Status) == 8 && sizeof(CompressionType) == 4);
static_assert(sizeof(WriteBatch) == sizeof(std::string) && sizeof(WriteBatch) == 32);
static_assert(sizeof(Iterator) == 40 && sizeof(EnvWrapper) == 16 && sizeof(Cache) == 16);
static_assert(sizeof(DB) == 8 && sizeof(Env) == 8 && sizeof(Comparator) == 8 && sizeof(FilterPolicy) == 8);
static_assert(sizeof(Snapshot) == 8 && sizeof(Logger) == 8 && sizeof(FileLock) == 8 &&
              sizeof(WriteBatch::Handler) == 8);
static_assert(sizeof(SequentialFile) == 8 && sizeof(RandomAccessFile) == 8 && sizeof(WritableFile) == 8);

#endif

}  // namespace leveldb
