// The part of a database that may outlive Close, because iterators and snapshots use it: all that reading
// needs.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/block_cache.h"
#include "base/perf.h"
#include "base/schedule_point.h"
#include "blob/cache.h"
#include "db/state/events.h"
#include "db/state/obsolete_files.h"
#include "db/state/open_transactions.h"
#include "db/state/operator_names.h"
#include "db/state/options_check.h"
#include "db/state/snapshots.h"
#include "env/descriptors.h"
#include "env/file_memory.h"
#include "env/free_memory.h"
#include "env/held_files.h"
#include "env/latencies.h"
#include "env/slow_call.h"
#include "format/filter_block.h"
#include "kv/key_map.h"
#include "kv/order.h"
#include "kv/program_operators.h"
#include "mergedb/options.h"
#include "mergedb/result.h"
#include "read/heat.h"
#include "read/next_step.h"
#include "read/read_observer.h"
#include "table/cache.h"
#include "trace/recorder.h"
#include "write/memory_pool.h"

namespace mergedb::db {

// Set by the LevelDB and LMDB interfaces only. The pointers may be null; the objects outlive the database and
// its iterators.
struct Supplies {
  base::BlockCache::Keeper* block_keeper = nullptr;
  const format::FilterPolicy* filter_policy = nullptr;
  // New tables store whole keys, which can be read in place if the table is mapped (Options::mapped_read_bytes_max).
  bool keeps_keys_whole = false;
  // Files beyond the bound of Options::mapped_read_bytes_max are mapped, too: the interface gives out pointers into
  // files.
  bool maps_all_files = false;
};

// THREADS: constant after construction; the members synchronize themselves.
struct Store {
  // `bound`: the file system of `checked`, if it is of this database alone (BindDirectory). `holding`: the file system
  // of `checked`, if the open is read-only.
  Store(const Options& checked, std::string path, const Supplies& given = {},
        std::unique_ptr<FileSystem> bound = nullptr, std::shared_ptr<env::HeldFiles> holding = nullptr)
      : bound_files(std::move(bound)),
        held(std::move(holding)),
        supplies(given),
        options(checked),
        directory(std::move(path)),
        memory(PlanMemory(checked)),
        order(checked.comparator),
        operators(checked.merge_operators, kv::kMergedValueBytesMax, &key_map_now),
        latencies(checked.env.clock),
        heat(order.is_bytewise()),
        events(checked, directory),
        slow_calls(SlowCallsToTell()),
        recorder(checked.env.file_system, checked.env.clock, order.is_bytewise()),
        blocks(memory.block_cache_bytes, given.block_keeper),
        file_memory(MapsFiles() ? checked.mapped_read_bytes_max : 0, MemoryForFiles(),
                    MapsFiles() && given.maps_all_files),
        tables(
            table::Cache::New(checked.env.file_system, directory, order, &blocks, OpenTablesMax(checked),
                              {.filter_policy = given.filter_policy, .memory = &file_memory, .latencies = &latencies})),
        values(checked.env.file_system, directory, order, &blocks, OpenTablesMax(checked) / 2, &latencies,
               &file_memory),
        obsolete(std::make_shared<ObsoleteFiles>()),
        snapshots(std::make_shared<Snapshots>()),
        transactions(std::make_shared<OpenTransactions>()),
        memtables(std::make_shared<write::MemoryPool>(memory.memtable_bytes, memory.memtables_max)),
        is_closed(std::make_shared<std::atomic<bool>>(false)) {}

  // True if readers asked for more than kReadsToMatter blocks since the last call.
  bool TakeReadersSeen() {
    const uint64_t asked = blocks.hits() + blocks.misses();
    return asked > blocks_asked_before.exchange(asked) + kReadsToMatter;
  }
  static constexpr uint64_t kReadsToMatter = 64;

  // blob::Cache gets half of this limit, so tables and blob files use at most three quarters of the process's
  // file descriptors. If the rest runs out, the open of any file closes idle ones (env/descriptors.h).
  static size_t OpenTablesMax(const Options& options) {
    return std::min<uint64_t>(options.open_tables_max, env::DescriptorsMax() / 2);
  }

  // WHY under kReadOnly only files that are held: a process that writes to the database may recycle, and so overwrite,
  // any other file that this process maps. HeldFiles refuses to map these.
  bool MapsFiles() const { return options.mode != OpenMode::kReadOnly || held != nullptr; }

  // WHY half: the page cache holds other files, too.
  static uint64_t MemoryForFiles() {
    const uint64_t bytes = env::MemoryBytesMax();
    return bytes == 0 ? UINT64_MAX : bytes / 2;
  }

  // The slow calls become events. They outlive the database, as iterators do.
  env::SlowCalls SlowCallsToTell() const {
    return {.threshold_nanos = events.is_wanted() ? options.slow_call_us * 1000 : 0,
            .clock = options.env.clock,
            .tell = [this](std::string_view call, uint64_t nanos, const PerfContext& perf) {
              TellSlowCall(call, nanos, perf);
            }};
  }
  // True while a trace runs or slow calls are measured.
  bool WatchesCalls() const { return recorder.is_on() || slow_calls.threshold_nanos != 0; }
  void TellSlowCall(std::string_view call, uint64_t nanos, const PerfContext& perf) const {
    events.Emit(EventKind::kSlowCall, [&] {
      EventFields fields = {TextField("call", call), NumberField("micros", nanos / 1000)};
      for (const base::PerfField& each : base::kPerfFields) fields.push_back(NumberField(each.name, perf.*each.member));
      return fields;
    });
    events.WriteLog();
  }

  // The file of this table or blob file is obsolete or replaced: the caches close it.
  void Evict(kv::FileNumber number) {
    tables->Evict(number);
    values.Evict(number);
  }

  Status CheckOpen() const {
    if (!is_closed->load(std::memory_order_acquire)) [[likely]]
      return {};
    return Status::ShuttingDown(directory + ": the database is closed");
  }
  Status CheckWritable() const {
    RETURN_IF_ERROR(CheckOpen());
    if (options.mode != OpenMode::kReadOnly) [[likely]]
      return {};
    return Status::NotSupported(directory + ": opened read-only");
  }

  // Null while the database has no keyspaces. The key map lives as long as this Store.
  const kv::KeyMap* key_map() const { return key_map_now.load(std::memory_order_acquire); }
  // REQUIRES: not called before.
  void SetKeyMap(std::unique_ptr<const kv::KeyMap> map) {
    ASSERT(owned_key_map == nullptr, "the keyspace prefix never changes");
    owned_key_map = std::move(map);
    SCHEDULE_POINT("publish the map of keyspaces");
    key_map_now.store(owned_key_map.get(), std::memory_order_release);
  }

  // The error of a read or a check, with the next step. Of a read-only open: db/replaced_files.h.
  Status Explained(Status status) const {
    if (status.ok()) [[likely]]
      return status;
    return explain ? explain(std::move(status)) : read::WithNextStep(std::move(status), directory);
  }

  const std::unique_ptr<FileSystem> bound_files;  // first: it outlives all that uses it; may be null
  const std::shared_ptr<env::HeldFiles> held;     // of a read-only open: its options.env.file_system, above bound_files
  // Set before the first read; empty if the open is not read-only. WHY a function: db/replaced_files.h is above.
  std::function<Status(Status)> explain;
  std::unique_ptr<const kv::KeyMap> owned_key_map;
  std::atomic<const kv::KeyMap*> key_map_now{nullptr};
  std::unique_ptr<read::ReadObserver> read_observer;  // set before there is an iterator; null if read-only
  const Supplies supplies;
  const Options options;
  const std::string directory;
  const MemoryPlan memory;
  const kv::Order order;
  const kv::ProgramOperators operators;
  mutable env::Latencies latencies;
  mutable read::Heat heat;
  mutable Events events;
  mutable Stalls stalls{events};
  const env::SlowCalls slow_calls;
  mutable trace::Recorder recorder;
  const uint64_t opened_nanos = options.env.clock->NowNanos();
  base::BlockCache blocks;
  env::FileMemory file_memory;
  const std::unique_ptr<table::Cache> tables;
  blob::Cache values;
  const std::shared_ptr<ObsoleteFiles> obsolete;
  const std::shared_ptr<Snapshots> snapshots;
  const std::shared_ptr<OpenTransactions> transactions;
  const std::shared_ptr<write::MemoryPool> memtables;
  const std::shared_ptr<std::atomic<bool>> is_closed;
  std::atomic<uint64_t> blocks_asked_before{0};
  OperatorNames operator_names;
};

}  // namespace mergedb::db
