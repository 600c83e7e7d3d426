#include "bench/flags.h"

#include <algorithm>
#include <charconv>
#include <variant>

namespace mergedb::bench {
namespace {

using Field = std::variant<int Flags::*, int64_t Flags::*, double Flags::*, bool Flags::*, std::string Flags::*>;
struct Named {
  std::string_view name;
  Field field;
  std::string_view unit;  // of a number; empty: the help has the possible values
  std::string_view help;
};

// All flags of db_bench: ParseFlag and FlagsHelp use this table.
constexpr Named kFlags[] = {
    {"benchmarks", &Flags::benchmarks, "", "What to run, in this order; --list prints the names."},
    {"compression_ratio", &Flags::compression_ratio, "share", "A value compresses to about this share of its size."},
    {"histogram", &Flags::histogram, "", "Print a histogram of latencies."},
    {"use_existing_db", &Flags::use_existing_db, "", "Keep the database; benchmarks that need a new one are skipped."},
    {"reuse_logs", &Flags::reuse_logs, "", "LevelDB's option of this name."},
    {"num", &Flags::num, "keys", "Number of keys, and of the operations of each thread."},
    {"reads", &Flags::reads, "operations", "Reads of each thread; below 0: --num."},
    {"threads", &Flags::threads, "threads", "Number of threads that run each benchmark."},
    {"value_size", &Flags::value_size, "bytes", "Size of a value."},
    {"value_size_distribution", &Flags::value_size_distribution, "",
     "Sizes of the values of fills, overwrites, transactions, openloop and ycsb: fixed (--value_size), uniform, or "
     "mixed "
     "(each doubling of the size is equally likely)."},
    {"value_size_min", &Flags::value_size_min, "bytes", "Smallest value, unless the sizes are fixed."},
    {"value_size_max", &Flags::value_size_max, "bytes", "Largest value, unless the sizes are fixed."},
    {"write_buffer_size", &Flags::write_buffer_size, "bytes", "Size of one write buffer."},
    {"max_file_size", &Flags::max_file_size, "bytes", "Size of a table, if the engine has such an option."},
    {"block_size", &Flags::block_size, "bytes", "Size of a block before compression."},
    {"key_prefix", &Flags::key_prefix, "bytes", "Number of letters before the number in each key."},
    {"cache_size", &Flags::cache_size, "bytes", "Size of the block cache; below 0: 8 MiB."},
    {"bloom_bits", &Flags::bloom_bits, "bits", "Bits of the filters for each key; below 0: no filters."},
    {"open_files", &Flags::open_files, "tables", "Number of tables that may be open at once."},
    {"db", &Flags::db, "", "The database's directory; empty: one under the temporary directory."},
    {"seed", &Flags::seed, "number", "Start of the random numbers; the same seed gives the same operations."},
    {"engine", &Flags::engine, "", "mergedb, leveldb, rocksdb, lmdb, fjall or pebble."},
    {"key_size", &Flags::key_size, "bytes", "Size of a key without --key_prefix."},
    {"batch_size", &Flags::batch_size, "operations",
     "Number of writes in one batch, and of keys in one call of multireadrandom."},
    {"sync", &Flags::sync, "", "Sync each write."},
    {"disable_wal", &Flags::disable_wal, "", "Write without the WAL."},
    {"writes_per_range_tombstone", &Flags::writes_per_range_tombstone, "writes",
     "Writes of a fill between two range deletes; 0: no range deletes."},
    {"range_tombstone_width", &Flags::range_tombstone_width, "keys", "Keys in one range delete."},
    {"max_num_range_tombstones", &Flags::max_num_range_tombstones, "range deletes",
     "Maximum number of range deletes; 0: no limit."},
    {"compression", &Flags::compression, "code", "0 none, 1 snappy, 2 zstd, 3 lz4."},
    {"style", &Flags::style, "", "mergedb's compaction style: lazy or cascade."},
    {"memory", &Flags::memory, "bytes", "mergedb's memory_bytes; 0: the size of two write buffers and the cache."},
    {"mapped_staging", &Flags::mapped_staging, "", "mergedb's use_mapped_wal_buffer."},
    {"mmap_read", &Flags::mmap_read, "", "mergedb maps tables and blob files for reading."},
    {"keep_space_at_rest", &Flags::keep_space_at_rest, "", "mergedb's keep_space_at_rest."},
    {"touch_values", &Flags::touch_values, "", "Scans read each byte of each value, not only its size."},
    {"min_blob_size", &Flags::min_blob_size, "bytes",
     "Minimum size of a value in a blob file; -1: the default, 0: no blob files."},
    {"distribution", &Flags::distribution, "",
     "Distribution of random keys: uniform, zipfian or latest; empty: that of the ycsb benchmark, and uniform for all "
     "others."},
    {"zipf_theta", &Flags::zipf_theta, "exponent", "Skew of the distributions zipfian and latest."},
    {"rate", &Flags::rate, "puts per second", "Rate of openloop."},
    {"duration", &Flags::duration, "seconds", "Duration of openloop."},
    {"write_rate", &Flags::write_rate, "writes per second", "Rate of the writer of ...whilewriting; 0: no limit."},
    {"merge_operator", &Flags::merge_operator, "", "uint64add, stringappend, max, put or bytesxor."},
    {"merge_keys", &Flags::merge_keys, "keys", "Number of keys that merge operands change; below 0: --num."},
    {"writes", &Flags::writes, "operations",
     "Operations of each thread in overwrite, and in benchmarks that read and write, if more than --reads; below 0: "
     "--num."},
    {"mergereadpercent", &Flags::mergereadpercent, "percent", "Share of merge operations in readrandommergerandom."},
    {"trace", &Flags::trace, "", "The trace that the benchmark replay reads."},
    {"replay_speed", &Flags::replay_speed, "times the recorded speed", "Speed of replay; 0: as fast as possible."},
    {"rocksdb_library", &Flags::rocksdb_library, "", "Path of librocksdb; empty: the system's."},
    {"rocksdb_style", &Flags::rocksdb_style, "", "RocksDB's compaction style: leveled or universal."},
    {"rocksdb_level_base", &Flags::rocksdb_level_base, "bytes",
     "RocksDB's max_bytes_for_level_base; 0: sized to the write buffer."},
    {"peer_library", &Flags::peer_library, "", "Path of the library of fjall or pebble, in build/peers/."},
    {"json", &Flags::json, "", "Write all figures to this file."},
    {"latency", &Flags::latency, "",
     "Time every operation when --json is given; the ycsb benchmarks always time every operation unless this is "
     "false."},
    {"details", &Flags::details, "", "Print CPU, bytes written, disk space and memory of each benchmark."},
};

constexpr bool IsNumber(const Field& field) {
  return std::holds_alternative<int Flags::*>(field) || std::holds_alternative<int64_t Flags::*>(field) ||
         std::holds_alternative<double Flags::*>(field);
}
static_assert(std::all_of(std::begin(kFlags), std::end(kFlags),
                          [](const Named& flag) {
                            return !flag.help.empty() && flag.unit.empty() != IsNumber(flag.field);
                          }),
              "each flag has a sentence, and each number has a unit");

// LevelDB's --comparisons, and flags of RocksDB's db_bench that published command lines use.
constexpr std::string_view kIgnored[] = {"comparisons",
                                         "statistics",
                                         "stats_interval",
                                         "stats_per_interval",
                                         "stats_interval_seconds",
                                         "num_levels",
                                         "level0_file_num_compaction_trigger",
                                         "level0_slowdown_writes_trigger",
                                         "level0_stop_writes_trigger",
                                         "max_background_compactions",
                                         "max_background_flushes",
                                         "max_background_jobs",
                                         "max_bytes_for_level_base",
                                         "max_bytes_for_level_multiplier",
                                         "max_grandparent_overlap_factor",
                                         "min_level_to_compress",
                                         "delete_obsolete_files_period_micros",
                                         "disable_seek_compaction",
                                         "mmap_read",
                                         "mmap_write",
                                         "bufferedio",
                                         "readahead_size",
                                         "target_file_size_base",
                                         "target_file_size_multiplier",
                                         "max_write_buffer_number",
                                         "min_write_buffer_number_to_merge",
                                         "compression_type",
                                         "compaction_style",
                                         "universal_size_ratio",
                                         "universal_min_merge_width",
                                         "universal_max_size_amplification_percent",
                                         "source_compaction_factor",
                                         "disable_data_sync",
                                         "verify_checksum",
                                         "cache_numshardbits",
                                         "hard_rate_limit",
                                         "rate_limit",
                                         "compaction_readahead_size",
                                         "use_direct_reads",
                                         "use_direct_io_for_flush_and_compaction",
                                         "ttl",
                                         "subcompactions",
                                         "enable_pipelined_write",
                                         "allow_concurrent_memtable_write",
                                         "wal_dir"};

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool Parse(std::string_view text, int* value) { return ParseNumber(text, value); }
bool Parse(std::string_view text, int64_t* value) { return ParseNumber(text, value); }
bool Parse(std::string_view text, double* value) { return ParseNumber(text, value); }
bool Parse(std::string_view text, std::string* value) {
  *value = text;
  return true;
}
bool Parse(std::string_view text, bool* value) {
  *value = text == "1" || text == "true";
  return *value || text == "0" || text == "false";
}

std::string Print(bool value) { return value ? "true" : "false"; }
std::string Print(const std::string& value) { return value; }
std::string Print(int value) { return std::to_string(value); }
std::string Print(int64_t value) { return std::to_string(value); }
std::string Print(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
  return error == std::errc() ? std::string(text, end) : "?";
}

bool OneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool ParseFlag(std::string_view argument, Flags* flags) {
  const size_t equals = argument.find('=');
  if (!argument.starts_with("--") || equals == std::string_view::npos) return false;
  const std::string_view name = argument.substr(2, equals - 2);
  const std::string_view text = argument.substr(equals + 1);
  for (const Named& flag : kFlags) {
    if (flag.name != name) continue;
    return std::visit([&](auto field) { return Parse(text, &(flags->*field)); }, flag.field);
  }
  if (std::find(std::begin(kIgnored), std::end(kIgnored), name) == std::end(kIgnored)) return false;
  if (std::find(flags->ignored.begin(), flags->ignored.end(), name) == flags->ignored.end()) {
    flags->ignored.emplace_back(name);
  }
  return true;
}

std::string FlagsHelp() {
  const Flags defaults;
  std::string text;
  for (const Named& flag : kFlags) {
    const std::string value = std::visit([&](auto field) { return Print(defaults.*field); }, flag.field);
    text.append("  --").append(flag.name).append("=").append(value);
    text.append("\n      ").append(flag.help);
    if (!flag.unit.empty()) text.append(" Unit: ").append(flag.unit).append(".");
    text.append("\n");
  }
  return text;
}

std::string FlagConflict(const Flags& flags) {
  if (!OneOf(flags.engine, {"mergedb", "leveldb", "rocksdb", "lmdb", "fjall", "pebble"}))
    return "--engine: expected mergedb, leveldb, rocksdb, lmdb, fjall or pebble";
  if (!OneOf(flags.style, {"lazy", "cascade"})) return "--style: expected lazy or cascade";
  if (!OneOf(flags.rocksdb_style, {"leveled", "universal"})) return "--rocksdb_style: expected leveled or universal";
  if (!OneOf(flags.distribution, {"", "uniform", "zipfian", "latest"}))
    return "--distribution: expected uniform, zipfian or latest";
  if (flags.compression < 0 || flags.compression > 3)
    return "--compression: expected 0 (none), 1 (snappy), 2 (zstd) or 3 (lz4)";
  if (flags.sync && flags.disable_wal) return "--sync requires the WAL; remove --disable_wal";
  if (flags.num < 1 || flags.threads < 1 || flags.batch_size < 1)
    return "--num, --threads, --batch_size: expected at least 1";
  if (flags.key_size < 1 || flags.key_size > 4096) return "--key_size: expected 1 to 4096";
  if (flags.key_prefix < 0 || flags.key_prefix > 4096) return "--key_prefix: expected 0 to 4096";
  if (flags.value_size < 0 || flags.value_size > (int64_t{1} << 30)) return "--value_size: expected 0 to 1 GiB";
  if (!OneOf(flags.value_size_distribution, {"fixed", "uniform", "mixed"}))
    return "--value_size_distribution: expected fixed, uniform or mixed";
  if (flags.value_size_min < 0 || flags.value_size_max < flags.value_size_min ||
      flags.value_size_max > (int64_t{1} << 30))
    return "--value_size_min, --value_size_max: expected 0 to 1 GiB, and no minimum above the maximum";
  int64_t keys = 1;
  for (int digit = 0; digit < flags.key_size && keys < flags.num; ++digit) keys *= 10;
  if (keys < flags.num) return "--key_size: --num keys need more digits";
  if (flags.writes_per_range_tombstone < 0 || flags.max_num_range_tombstones < 0 || flags.range_tombstone_width < 1) {
    return "--writes_per_range_tombstone, --max_num_range_tombstones: expected at least 0; --range_tombstone_width: "
           "expected at least 1";
  }
  if (!(flags.rate > 0) || !(flags.duration > 0)) return "--rate, --duration: expected more than 0";
  if (("," + flags.benchmarks + ",").find(",replay,") != std::string::npos && flags.trace.empty())
    return "--benchmarks=replay needs --trace";
  if (!(flags.replay_speed >= 0)) return "--replay_speed: expected at least 0";
  if (flags.mergereadpercent < 0 || flags.mergereadpercent > 100) return "--mergereadpercent: expected 0 to 100";
  if (flags.merge_keys == 0 || flags.merge_keys > flags.num) return "--merge_keys: expected 1 to --num";
  if (!(flags.zipf_theta > 0) || flags.zipf_theta == 1.0) return "--zipf_theta: expected more than 0, and not 1";
  return {};
}

}  // namespace mergedb::bench
