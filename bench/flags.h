// The flags of db_bench. LevelDB's flags keep their names, defaults and spelling (--name=value). Flags of
// mergedb stand beside them. Flags that only RocksDB's db_bench knows are accepted and ignored, so that
// published command lines run without changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::bench {

struct Flags {
  // LevelDB's flags.
  std::string benchmarks =
      "fillseq,fillsync,fillrandom,overwrite,readrandom,readrandom,readseq,readreverse,compact,readrandom,readseq,"
      "readreverse,fill100K,crc32c";
  double compression_ratio = 0.5;  // a value of n bytes has n * ratio random bytes
  bool histogram = false;
  bool use_existing_db = false;
  bool reuse_logs = false;
  int64_t num = 1000000;
  int64_t reads = -1;  // < 0: num
  int threads = 1;
  int64_t value_size = 100;
  // RocksDB's limits of random value sizes.
  std::string value_size_distribution = "fixed";  // or "uniform", "mixed"
  int64_t value_size_min = 100;
  int64_t value_size_max = 102400;
  int64_t write_buffer_size = int64_t{4} << 20;
  int64_t max_file_size = int64_t{2} << 20;
  int64_t block_size = 4096;
  int key_prefix = 0;
  int64_t cache_size = -1;  // < 0: LevelDB's default of 8 MiB
  int bloom_bits = -1;      // < 0: no filter
  int64_t open_files = 1000;
  std::string db;  // empty: a directory below the system's temporary directory

  // Flags of mergedb's db_bench.
  std::string engine = "mergedb";
  int64_t seed = 1000;  // the first thread of a run has the seed after it
  int key_size = 16;
  int64_t batch_size = 1;
  bool sync = false;
  bool disable_wal = false;
  // RocksDB's flags: a fill makes one range delete of range_tombstone_width keys after each
  // writes_per_range_tombstone writes, and at most max_num_range_tombstones (0: no limit). The benchmark
  // deleterange makes only range deletes; without a limit they delete half of the keys.
  int64_t writes_per_range_tombstone = 0;
  int64_t range_tombstone_width = 100;
  int64_t max_num_range_tombstones = 0;
  int compression = 1;  // 0 none, 1 snappy, 2 zstd, 3 lz4
  std::string style = "lazy";
  int64_t memory = 0;  // Options::memory_bytes; 0: 2 * write buffer + cache
  bool mapped_staging = true;
  bool mmap_read = true;            // false: Options::mapped_read_bytes_max is 0; under RocksDB's name
  bool keep_space_at_rest = false;  // Options::keep_space_at_rest
  bool touch_values = false;        // scans read the bytes of values
  // Options::blob_value_bytes_min, under RocksDB's name; -1: the default; 0: all values stay in the tables.
  int64_t min_blob_size = -1;
  std::string distribution;  // "uniform", "zipfian", "latest"; empty: the benchmark's own
  double zipf_theta = 0.99;
  double rate = 100000;   // openloop: puts a second
  double duration = 10;   // openloop: seconds
  double write_rate = 0;  // the ...whilewriting benchmarks: writes a second; 0: no limit
  // RocksDB's flags of its merge benchmarks.
  std::string merge_operator;  // uint64add, stringappend, max, put or bytesxor
  int64_t merge_keys = -1;     // number of keys that get operands; < 0: num
  // Operations of overwrite: num if < 0. Of the benchmarks that read and write: the larger one of reads and writes; num
  // if both are < 0.
  int64_t writes = -1;
  int64_t mergereadpercent = 70;  // readrandommergerandom: percentage of merges

  std::string trace;        // replay: the file
  double replay_speed = 0;  // replay: 1 is the recorded speed; 0: no pauses

  std::string rocksdb_library;
  std::string rocksdb_style = "leveled";  // or "universal"
  int64_t rocksdb_level_base = 0;         // max_bytes_for_level_base; 0: derived from the write buffer
  std::string peer_library;
  std::string json;
  bool latency = true;  // with --json, time every operation
  bool details = false;

  // Accepted flags that have no effect, in order of appearance, each once.
  std::vector<std::string> ignored;

  int64_t cache_bytes() const { return cache_size < 0 ? int64_t{8} << 20 : cache_size; }
  int64_t read_count() const { return reads < 0 ? num : reads; }
  int64_t change_count() const { return reads < 0 && writes < 0 ? num : reads > writes ? reads : writes; }
  int64_t value_bytes_max() const { return value_size_distribution == "fixed" ? value_size : value_size_max; }
  bool times_each_op() const { return histogram || (latency && !json.empty()); }
};

// False if `argument` is not a known flag with a value of its type.
[[nodiscard]] bool ParseFlag(std::string_view argument, Flags* flags);

// Two lines for each flag: its name and default; then its meaning, and the unit of a number.
std::string FlagsHelp();

// A sentence about flags that contradict each other; empty if there are none.
std::string FlagConflict(const Flags& flags);

}  // namespace mergedb::bench
