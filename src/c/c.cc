// The C interface of a database: open, write, read, compact, check. Batches, snapshots and iterators:
// src/c/cursors.cc.
#include "mergedb/c.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "c/interface.h"
#include "c/options.h"
#include "mergedb/perf_context.h"

using namespace mergedb;
using namespace mergedb::c;

namespace {

#define MERGEDB_TEXT_INNER(x) #x
#define MERGEDB_TEXT(x) MERGEDB_TEXT_INNER(x)
constexpr char kVersion[] = MERGEDB_TEXT(MERGEDB_VERSION_MAJOR) "." MERGEDB_TEXT(MERGEDB_VERSION_MINOR)  //
    "." MERGEDB_TEXT(MERGEDB_VERSION_PATCH);
static_assert(std::string_view(kVersion) == MERGEDB_PROJECT_VERSION, "c.h and CMakeLists.txt name different versions");

static_assert(MERGEDB_MERGE_FAILED == static_cast<int>(Code::kMergeFailed), "the codes are the same numbers");

Status GetString(Database& database, const mergedb_read_options* options, const void* key, size_t key_size,
                 std::string* value) {
  RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
  ReadOptions read;
  std::shared_ptr<const Snapshot> snapshot;
  Keyspace keyspace;
  RETURN_IF_ERROR(DecodeReadOptions(options, database.opened.get(), &read, &snapshot, &keyspace));
  return database.db().Get(read, keyspace, ToStringView(key, key_size), value);
}

// Of mergedb_perf_begin.
struct ThreadPerf {
  PerfContext context;
  std::optional<PerfScope> scope;
};
thread_local ThreadPerf thread_perf;

Status TakeKeys(const mergedb_slice* keys, size_t count, std::vector<std::string_view>* views) {
  views->reserve(count);
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckBytes(keys[i], "key"));
    views->push_back(ToStringView(keys[i]));
  }
  return Status::Ok();
}

// Copies out the results of a MultiGet. After std::bad_alloc no copy is left allocated.
Status CopyOutAll(const std::vector<Status>& statuses, const std::vector<std::string>& found, void** values,
                  size_t* value_sizes, int32_t* codes) {
  Status first_failure;
  for (size_t i = 0; i < statuses.size(); ++i) {
    codes[i] = static_cast<int32_t>(statuses[i].code());
    if (statuses[i].ok()) {
      try {
        values[i] = CopyOut(found[i]);
      } catch (...) {
        while (i-- > 0) std::free(std::exchange(values[i], nullptr));
        std::fill_n(codes, statuses.size(), static_cast<int32_t>(MERGEDB_OUT_OF_MEMORY));
        throw;
      }
      value_sizes[i] = found[i].size();
    } else if (!statuses[i].IsNotFound() && first_failure.ok()) {
      first_failure = statuses[i];
    }
  }
  return first_failure;
}

}  // namespace

extern "C" {

const char* mergedb_code_name(int32_t code) {
  if (code == MERGEDB_BAD_HANDLE) return "BadHandle";
  if (code == MERGEDB_OUT_OF_MEMORY) return "OutOfMemory";
  if (code < 0 || code > MERGEDB_MERGE_FAILED) return "Unknown";
  return CodeName(static_cast<Code>(code)).data();  // string literals: NUL-terminated
}

const char* mergedb_version(void) { return kVersion; }

void mergedb_free(void* bytes) { std::free(bytes); }

mergedb_code mergedb_open(const char* path, const mergedb_options* options, mergedb_db* db, mergedb_error* error) {
  Clear(db);
  return Call(error, [&]() -> Status {
    auto opened = std::make_shared<Opened>();
    Options decoded;
    RETURN_IF_ERROR(DecodeOptions(options, &decoded, &opened->borrowed));
    RETURN_IF_ERROR(CheckPointer(path, "path"));
    RETURN_IF_ERROR(CheckPointer(db, "db"));
    Result<std::unique_ptr<DB>> result = DB::Open(decoded, path);
    if (!result) return std::move(result).error();
    opened->db = std::move(result).value();
    return GiveHandle(HandleKind::kDatabase, std::make_unique<Database>(std::move(opened)), db);
  });
}

mergedb_code mergedb_close(mergedb_db db, mergedb_error* error) {
  return Call(error, [&]() -> Status {
    if (CallbackScope::Covers(db)) {
      return Status::Busy("a callback cannot close the database whose call runs it; close it after that call");
    }
    std::unique_ptr<Object> object;
    const PinOutcome outcome = HandleTable::Global().Close(db, HandleKind::kDatabase, &object);
    if (outcome != PinOutcome::kPinned) return BadHandle(outcome, HandleKind::kDatabase);
    return static_cast<Database&>(*object).db().Close();
  });
}

mergedb_code mergedb_destroy(const char* path, mergedb_error* error) {
  return Call(error, [&]() -> Status {
    RETURN_IF_ERROR(CheckPointer(path, "path"));
    return DB::Destroy({}, path);
  });
}

mergedb_code mergedb_put(mergedb_db db, const mergedb_write_options* options, const void* key, size_t key_size,
                         const void* value, size_t value_size, mergedb_error* error) {
  return WriteOn(db, options, error, [&](DB& target, const WriteOptions& write, Keyspace keyspace) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    RETURN_IF_ERROR(CheckBytes(value, value_size, "value"));
    return target.Put(write, keyspace, ToStringView(key, key_size), ToStringView(value, value_size));
  });
}

mergedb_code mergedb_delete(mergedb_db db, const mergedb_write_options* options, const void* key, size_t key_size,
                            mergedb_error* error) {
  return WriteOn(db, options, error, [&](DB& target, const WriteOptions& write, Keyspace keyspace) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    return target.Delete(write, keyspace, ToStringView(key, key_size));
  });
}

mergedb_code mergedb_delete_range(mergedb_db db, const mergedb_write_options* options, const void* begin,
                                  size_t begin_size, const void* end, size_t end_size, mergedb_error* error) {
  return WriteOn(db, options, error, [&](DB& target, const WriteOptions& write, Keyspace keyspace) {
    RETURN_IF_ERROR(CheckBytes(begin, begin_size, "begin"));
    RETURN_IF_ERROR(CheckBytes(end, end_size, "end"));
    return target.DeleteRange(write, keyspace, ToStringView(begin, begin_size), ToStringView(end, end_size));
  });
}

mergedb_code mergedb_delete_prefix(mergedb_db db, const mergedb_write_options* options, const void* prefix,
                                   size_t prefix_size, mergedb_error* error) {
  return WriteOn(db, options, error, [&](DB& target, const WriteOptions& write, Keyspace keyspace) {
    RETURN_IF_ERROR(CheckBytes(prefix, prefix_size, "prefix"));
    return target.DeletePrefix(write, keyspace, ToStringView(prefix, prefix_size));
  });
}

mergedb_code mergedb_write(mergedb_db db, const mergedb_write_options* options, mergedb_batch batch,
                           mergedb_error* error) {
  return WriteOn(db, options, error, [&](DB& target, const WriteOptions& write, Keyspace keyspace) {
    if (!keyspace.is_default())
      return Status::InvalidArgument("a batch says itself of which keyspaces its changes are");
    Pinned<BatchHolder> source(batch);
    RETURN_IF_ERROR(CheckPinned(source));
    return target.Write(write, source->batch);
  });
}

mergedb_code mergedb_get(mergedb_db db, const mergedb_read_options* options, const void* key, size_t key_size,
                         void** value, size_t* value_size, mergedb_error* error) {
  Clear(value, value_size);
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(value, "value"));
    RETURN_IF_ERROR(CheckPointer(value_size, "value_size"));
    std::string found;
    RETURN_IF_ERROR(GetString(database, options, key, key_size, &found));
    CopyOut(found, value, value_size);
    return Status::Ok();
  });
}

mergedb_code mergedb_get_into(mergedb_db db, const mergedb_read_options* options, const void* key, size_t key_size,
                              void* buffer, size_t capacity, size_t* value_size, mergedb_error* error) {
  Clear(value_size);
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckBytes(buffer, capacity, "buffer"));
    RETURN_IF_ERROR(CheckPointer(value_size, "value_size"));
    std::string found;
    RETURN_IF_ERROR(GetString(database, options, key, key_size, &found));
    *value_size = found.size();
    const size_t copied = found.size() < capacity ? found.size() : capacity;
    if (copied > 0) std::memcpy(buffer, found.data(), copied);
    return Status::Ok();
  });
}

mergedb_code mergedb_multi_get(mergedb_db db, const mergedb_read_options* options, const mergedb_slice* keys,
                               size_t count, void** values, size_t* value_sizes, int32_t* codes, mergedb_error* error) {
  if (values != nullptr) std::fill_n(values, count, nullptr);
  if (value_sizes != nullptr) std::fill_n(value_sizes, count, size_t{0});
  if (codes != nullptr) std::fill_n(codes, count, static_cast<int32_t>(MERGEDB_ABORTED));
  return On<Database>(db, error, [&](Database& database) {
    if (count == 0) return Status::Ok();
    RETURN_IF_ERROR(CheckPointer(keys, "keys"));
    RETURN_IF_ERROR(CheckPointer(values, "values"));
    RETURN_IF_ERROR(CheckPointer(value_sizes, "value_sizes"));
    RETURN_IF_ERROR(CheckPointer(codes, "codes"));
    ReadOptions read;
    std::shared_ptr<const Snapshot> snapshot;
    Keyspace keyspace;
    RETURN_IF_ERROR(DecodeReadOptions(options, database.opened.get(), &read, &snapshot, &keyspace));
    std::vector<std::string_view> views;
    RETURN_IF_ERROR(TakeKeys(keys, count, &views));
    std::vector<std::string> found;
    const std::vector<Status> statuses = database.db().MultiGet(read, keyspace, views, &found);
    return CopyOutAll(statuses, found, values, value_sizes, codes);
  });
}

mergedb_code mergedb_flush(mergedb_db db, mergedb_error* error) {
  return On<Database>(db, error, [](Database& database) { return database.db().Flush(); });
}

mergedb_code mergedb_sync_wal(mergedb_db db, mergedb_error* error) {
  return On<Database>(db, error, [](Database& database) { return database.db().SyncWal(); });
}

mergedb_code mergedb_compact_range(mergedb_db db, const mergedb_slice* lower, const mergedb_slice* upper,
                                   mergedb_error* error) {
  return mergedb_keyspace_compact(db, 0, lower, upper, error);
}

mergedb_code mergedb_wait(mergedb_db db, mergedb_error* error) {
  return On<Database>(db, error, [](Database& database) { return database.db().WaitForCompaction(); });
}

mergedb_code mergedb_approximate_sizes(mergedb_db db, const mergedb_slice* lowers, const mergedb_slice* uppers,
                                       size_t count, uint64_t* bytes, mergedb_error* error) {
  if (bytes != nullptr) std::fill_n(bytes, count, uint64_t{0});
  return On<Database>(db, error, [&](Database& database) {
    if (count == 0) return Status::Ok();
    RETURN_IF_ERROR(CheckPointer(lowers, "lowers"));
    RETURN_IF_ERROR(CheckPointer(uppers, "uppers"));
    RETURN_IF_ERROR(CheckPointer(bytes, "bytes"));
    std::vector<std::string_view> lower_views, upper_views;
    RETURN_IF_ERROR(TakeKeys(lowers, count, &lower_views));
    RETURN_IF_ERROR(TakeKeys(uppers, count, &upper_views));
    std::vector<KeyRange> ranges;
    ranges.reserve(count);
    for (size_t i = 0; i < count; ++i) ranges.push_back({lower_views[i], upper_views[i]});
    const std::vector<uint64_t> sizes = database.db().ApproximateSizes(ranges);
    std::copy_n(sizes.begin(), std::min(count, sizes.size()), bytes);
    return Status::Ok();
  });
}

mergedb_code mergedb_get_property(mergedb_db db, const char* name, char** value, mergedb_error* error) {
  Clear(value);
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(name, "name"));
    RETURN_IF_ERROR(CheckPointer(value, "value"));
    std::string text;
    if (!database.db().GetProperty(name, &text)) { return Status::NotFound(std::string("unknown property: ") + name); }
    *value = static_cast<char*>(CopyOut(text));
    return Status::Ok();
  });
}

mergedb_code mergedb_metrics(mergedb_db db, int32_t (*take)(void* state, const mergedb_metric* metric), void* state,
                             mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(reinterpret_cast<const void*>(take), "take"));
    ASSIGN_OR_RETURN(const std::vector<Metric> metrics, database.db().Metrics());
    const CallbackScope in_callback(db);
    for (const Metric& metric : metrics) {
      // The texts of a Metric are string literals (db/observe/metrics.cc), so a NUL follows each.
      const mergedb_metric given = {.struct_size = sizeof given,
                                    .name = metric.name.data(),
                                    .unit = metric.unit.data(),
                                    .help = metric.help.data(),
                                    .type = static_cast<int32_t>(metric.type),
                                    .value = metric.value};
      if (take(state, &given) == 0) return Status::Aborted("the callback ended mergedb_metrics");
    }
    return Status::Ok();
  });
}

mergedb_code mergedb_histograms(mergedb_db db, int32_t (*take)(void* state, const mergedb_histogram* histogram),
                                void* state, mergedb_error* error) {
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(reinterpret_cast<const void*>(take), "take"));
    ASSIGN_OR_RETURN(const std::vector<LatencyHistogram> histograms, database.db().Histograms());
    const CallbackScope in_callback(db);
    for (const LatencyHistogram& histogram : histograms) {
      std::vector<uint64_t> uppers, counts;
      for (const LatencyHistogram::Bucket& bucket : histogram.buckets) {
        uppers.push_back(bucket.upper);
        counts.push_back(bucket.count);
      }
      // The texts are string literals (db/observe/metrics.cc), so a NUL follows each.
      const mergedb_histogram given = {.struct_size = sizeof given,
                                       .name = histogram.name.data(),
                                       .help = histogram.help.data(),
                                       .sample_interval = histogram.sample_interval,
                                       .count = histogram.count,
                                       .sum = histogram.sum,
                                       .p50 = histogram.p50,
                                       .p99 = histogram.p99,
                                       .p99_9 = histogram.p99_9,
                                       .max = histogram.max,
                                       .bucket_uppers = uppers.data(),
                                       .bucket_counts = counts.data(),
                                       .buckets = counts.size()};
      if (take(state, &given) == 0) return Status::Aborted("the callback ended mergedb_histograms");
    }
    return Status::Ok();
  });
}

mergedb_code mergedb_perf_begin(mergedb_error* error) {
  return Call(error, []() -> Status {
    if (thread_perf.scope) return Status::Busy("mergedb_perf_begin: the calls of this thread are counted already");
    thread_perf.context = {};
    thread_perf.scope.emplace(&thread_perf.context);
    return Status::Ok();
  });
}

mergedb_code mergedb_perf_end(mergedb_perf* perf, mergedb_error* error) {
  return Call(error, [&]() -> Status {
    RETURN_IF_ERROR(CheckPointer(perf, "perf"));
    RETURN_IF_ERROR(CheckRoom(perf->struct_size, sizeof *perf, "mergedb_perf"));
    if (!thread_perf.scope)
      return Status::InvalidArgument("mergedb_perf_end: the calls of this thread are not counted");
    thread_perf.scope.reset();
    const PerfContext& counted = thread_perf.context;
    *perf = {.struct_size = perf->struct_size,
             .queue_wait_nanos = counted.queue_wait_nanos,
             .wal_nanos = counted.wal_nanos,
             .memtable_nanos = counted.memtable_nanos,
             .wait_nanos = counted.wait_nanos,
             .memtables_searched = counted.memtables_searched,
             .runs_visited = counted.runs_visited,
             .filters_checked = counted.filters_checked,
             .filters_useful = counted.filters_useful,
             .block_cache_hits = counted.block_cache_hits,
             .block_cache_misses = counted.block_cache_misses,
             .device_reads = counted.device_reads,
             .device_read_bytes = counted.device_read_bytes,
             .device_read_nanos = counted.device_read_nanos,
             .tombstones_skipped = counted.tombstones_skipped};
    return Status::Ok();
  });
}

mergedb_code mergedb_check(mergedb_db db, mergedb_error* error) {
  return On<Database>(db, error, [](Database& database) { return database.db().CheckIntegrity(); });
}

}  // extern "C"
