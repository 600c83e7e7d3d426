#include "db/state/options_check.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "env/file_limit.h"
#include "kv/program_operators.h"

namespace mergedb::db {
namespace {

// options: begin computed (scripts/options.toml)
constexpr size_t kWriteBufferBytesMin = 65536;
constexpr size_t kWriteBufferBytesMax = 34359738368;
// options: end
constexpr uint64_t kNoMaximum = UINT64_MAX;
constexpr size_t kWalBufferBytesMin = size_t{32} << 10;
constexpr size_t kWalBufferBytesMax = size_t{256} << 20;
// The WAL buffer is as large as all unflushed writes, and a memtable takes a quarter of these. So three memtables and
// the flushed writes that wait for a commit of the MANIFEST (an eighth: db/background/commit_runner.cc) fit into it
// before the WAL writer starts at seven eighths: the WAL of a flushed memtable is not written. A commit takes
// milliseconds, however small the flush is, so small write buffers get a larger multiple, up to
// kSmallWalBufferBytesMax.
// MEASURED: db_bench fillrandom, 300,000 x 1,000 B, write buffers of 64 MiB: with memtables of 42 MiB, 131 of 300 MiB
// were written. A WAL buffer of 256 MiB avoids this, too, but the first touch of its pages costs 3.5 us each.
constexpr size_t kSmallWalBufferFactor = 8;
constexpr size_t kSmallWalBufferBytesMax = size_t{64} << 20;
constexpr size_t kMemtableShare = 4;
constexpr size_t kUnwrittenBytesMax = size_t{8} << 20;
constexpr size_t kSegmentBytesMin = size_t{1} << 20;
constexpr size_t kLimitedSegmentBytesMin = size_t{64} << 10;  // if the process may not write larger files
constexpr size_t kSegmentBytesMax = size_t{16} << 20;
constexpr size_t kWalQuotaBytesMin = size_t{16} << 20;

Status Refuse(std::string_view field, std::string value, std::string_view rule) {
  return Status::InvalidArgument("options." + std::string(field) + " is " + value + ": " + std::string(rule));
}

Status CheckLimits(const Options& options) {
#define LIMIT(field, least, most, rule)                                               \
  if (std::cmp_less(options.field, least) || std::cmp_greater(options.field, most)) { \
    return Refuse(#field, std::to_string(options.field), rule);                       \
  }
#define LIMIT_OR_0(field, least, most, rule) \
  if (options.field != 0) LIMIT(field, least, most, rule)
  // options: begin limits (scripts/options.toml)
  LIMIT(memory_bytes, 0, 1125899906842624, "the maximum is 1125899906842624");
  LIMIT_OR_0(write_buffer_bytes, 65536, 34359738368, "0, or between 65536 and 34359738368");
  LIMIT(bloom_bits_per_key, 0, 64, "between 0 and 64");
  LIMIT(block_bytes, 256, 4194304, "between 256 and 4194304");
  LIMIT(open_tables_max, 16, kNoMaximum, "the minimum is 16");
  LIMIT(write_delay_us_max, 0, 3600000000, "the maximum is 3600000000, an hour");
  LIMIT(wal_sync_interval_ms, 0, 3600000, "the maximum is 3600000, an hour");
  LIMIT_OR_0(log_bytes_max, 16384, 1073741824, "0, or between 16384 and 1073741824");
  LIMIT(slow_call_us, 0, 3600000000, "the maximum is 3600000000, an hour");
  // options: end
#undef LIMIT
#undef LIMIT_OR_0
  return {};
}

}  // namespace

Status CheckOptions(Options* options) {
  const Env standard = DefaultEnv();
  Env& env = options->env;
  if (env.file_system == nullptr) env.file_system = standard.file_system;
  if (env.clock == nullptr) env.clock = standard.clock;
  if (env.executor == nullptr) env.executor = standard.executor;
  if (!env.entropy) env.entropy = standard.entropy;

  RETURN_IF_ERROR(kv::ProgramOperators::Check(options->merge_operators));
  if (options->comparator == nullptr) return Refuse("comparator", "null", "pass a comparator or leave the default");
  if (options->write_buffer_bytes == 0) {
    options->write_buffer_bytes = std::clamp(options->memory_bytes / 8, kWriteBufferBytesMin, kWriteBufferBytesMax);
  }
  RETURN_IF_ERROR(CheckLimits(*options));
  if (options->memory_bytes < 2 * options->write_buffer_bytes) {
    return Refuse("memory_bytes", std::to_string(options->memory_bytes),
                  "less than twice write_buffer_bytes (" + std::to_string(options->write_buffer_bytes) + ")");
  }
  for (const Compression codec : {options->compression.upper, options->compression.bottom}) {
    if (static_cast<int>(codec) > static_cast<int>(Compression::kLz4)) {
      return Refuse("compression", std::to_string(static_cast<int>(codec)), "unknown codec");
    }
  }
  return {};
}

Status CheckPath(const std::string& path) {
  const size_t null = path.find('\0');
  if (null == std::string::npos) return {};
  return Status::InvalidArgument(base::Escape(path) + ": the path has a null byte at offset " + std::to_string(null));
}

Result<std::unique_ptr<FileSystem>> BindDirectory(Options* checked, const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  ASSIGN_OR_RETURN(auto bound, checked->env.file_system->Bind(path));
  if (bound != nullptr) checked->env.file_system = bound.get();
  return bound;
}

MemoryPlan PlanMemory(const Options& options) {
  MemoryPlan plan;
  const size_t unflushed = 2 * options.write_buffer_bytes;
  plan.write_buffer_bytes = options.write_buffer_bytes;
  const size_t rounded = std::bit_ceil(unflushed);
  const size_t small = std::min(kSmallWalBufferFactor * rounded, kSmallWalBufferBytesMax);
  plan.wal_buffer_bytes = std::clamp(std::max(rounded, small), kWalBufferBytesMin, kWalBufferBytesMax);
  // WHY not the whole limit for a segment: it has a head.
  const uint64_t file_bytes_max = env::FileBytesMax();
  plan.wal_buffer_bytes = std::min(plan.wal_buffer_bytes, std::max(kWalBufferBytesMin, std::bit_floor(file_bytes_max)));
  plan.unwritten_bytes_max = std::min(kUnwrittenBytesMax, plan.wal_buffer_bytes / 4);
  plan.memtable_bytes = unflushed / kMemtableShare;
  plan.block_cache_bytes = options.memory_bytes - unflushed;
  plan.segment_bytes = std::clamp(std::bit_floor(unflushed), kSegmentBytesMin, kSegmentBytesMax);
  plan.segment_bytes =
      std::min(plan.segment_bytes, std::max(kLimitedSegmentBytesMin, std::bit_floor(file_bytes_max / 2)));
  plan.wal_quota_bytes = std::max(2 * unflushed, kWalQuotaBytesMin);
  // The WAL goes to segments when seven eighths of the buffer are in use. Beyond the memtables' bytes, they and the
  // segments but one may hold it.
  plan.uncommitted_wal_bytes_max = plan.wal_buffer_bytes / 8 * 7 + plan.wal_quota_bytes - plan.segment_bytes -
                                   std::min(unflushed, plan.wal_buffer_bytes / 2);
  return plan;
}

}  // namespace mergedb::db
