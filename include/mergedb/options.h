// What a program may choose. Every field has a default that needs no change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mergedb/comparator.h"
#include "mergedb/env.h"
#include "mergedb/merge_operator.h"

namespace mergedb {

class Snapshot;

enum class OpenMode : uint8_t {
  kCreateIfMissing,
  kMustExist,
  kMustNotExist,
  kReadOnly,  // takes no lock, changes no byte; what the log holds is replayed into memory
};

enum class Style : uint8_t {
  kLazy,     // runs gather in tiers above one partitioned bottom run; the least writing for a given space bound
  kCascade,  // capacities double, full prefixes fold into the first level that holds them (the original MergeDB's)
};

enum class Compression : uint8_t { kNone = 0, kSnappy = 1, kZstd = 2, kLz4 = 3 };

// Which codec a table is written with: upper tables are rewritten soon, bottom ones stay.
struct CompressionByTier {
  Compression upper = Compression::kLz4;
  Compression bottom = Compression::kLz4;
};

struct Options {
  OpenMode mode = OpenMode::kCreateIfMissing;

  // The memory for write buffers, staging, cache, table indexes and filters, in bytes. More is faster. The most is 1 PiB.
  size_t memory_bytes = size_t{256} << 20;

  // The part of it for unflushed writes is twice this many bytes, staging and standby memtable included; 0 means an
  // eighth of memory_bytes. The least is 64 KiB, the most 32 GiB. (LevelDB's write_buffer_size, which also fills twice.)
  size_t write_buffer_bytes = 0;

  Style style = Style::kLazy;
  CompressionByTier compression = {};

  // Bits per key of the tables' bloom filters; 0 for none. 10 lets 1 in 100 absent keys cost a look at the table.
  int bloom_bits_per_key = 10;

  // Target size of a table's blocks before compression, in bytes.
  size_t block_bytes = 4096;

  // Values of so many bytes and more are written once to a value file, and tables refer to them; smaller ones are part of the
  // tables, and written again by each merge. 0: all are. (A few large values among many small ones stay with them.)
  // Smaller saves writing, and costs a second read where the value is not cached.
  size_t separated_value_bytes_min = 768;

  // Most tables held open, and half as many value files; the least is 16. Half of RLIMIT_NOFILE at most, whatever this says.
  size_t open_tables_max = 1000;

  // A put is delayed at most this long while the disk keeps up; it then waits for space with no limit of time
  // other than the disk's own errors. The most is an hour.
  uint64_t pause_us_max = 10'000;

  // Close normally stops merges at their next step, to be done again after the next open. True: Close waits.
  bool finish_merges_on_close = false;

  // Records are staged in a file mapped into memory where the file system allows it (no system call for a put);
  // false: one write per commit group. Both survive kill -9.
  bool use_mapped_staging = true;

  const Comparator* comparator = BytewiseComparator();  // must outlive the database

  // The program's own merge operators, by name (include/mergedb/merge_operator.h). The built-in ones need no entry.
  std::vector<std::shared_ptr<const MergeOperator>> merge_operators = {};
  Env env = {};  // null members are taken from DefaultEnv()
};

enum class Durability : uint8_t {
  kProcessCrash,  // survives kill -9 when the call returns; power loss may take the newest writes, never a hole
  kSynced,        // and survives power loss, as does every write committed before it
  kNoLog,         // not logged: durable after the next Flush or Close
};

struct WriteOptions {
  Durability durability = Durability::kProcessCrash;
};

struct ReadOptions {
  // Read as of this snapshot; null: as of now. Must be of the same database.
  const Snapshot* snapshot = nullptr;
  bool verify_checksums = true;
  bool fill_cache = true;
};

}  // namespace mergedb
