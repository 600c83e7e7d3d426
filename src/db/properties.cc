#include "db/properties.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "base/wait_counter.h"

namespace mergedb::db {
namespace {

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

__attribute__((format(printf, 2, 3))) void Print(std::string* text, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  *text += line;
}

uint64_t RangeDeletesIn(const read::SuperVersion& super_version) {
  uint64_t count = super_version.active->range_deletes().count();
  for (const auto& immutable : super_version.immutable) count += immutable->range_deletes().count();
  return count;
}

// Lines of counters, "name value".
class Lines {
 public:
  void Put(const char* name, uint64_t value) { Print(&text_, "%s %" PRIu64 "\n", name, value); }
  void PutWaits(const std::string& cause, const base::WaitCounter& waits) {
    Put((cause + "_waits").c_str(), waits.count());
    Put((cause + "_wait_nanos").c_str(), waits.nanos());
    Put((cause + "_wait_nanos_max").c_str(), waits.nanos_max());
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void PutTreeCounters(const Store& store, const read::SuperVersion& super_version, Lines* lines) {
  const version::Version& version = *super_version.version;
  lines->Put("entries_in_tables", version.entries());
  lines->Put("range_tombstones_in_tables", version.range_tombstones());
  lines->Put("range_deletes_in_memory", RangeDeletesIn(super_version));
  lines->Put("tables", version.file_count());
  lines->Put("table_bytes_live", version.bytes());
  lines->Put("table_bytes_on_disk", store.obsolete->table_bytes());
  lines->Put("blob_files", version.blob_files().size());
  lines->Put("blob_bytes_live", version.value_bytes());
  lines->Put("blob_bytes_garbage", version.garbage_bytes());
  lines->Put("blob_bytes_on_disk", store.obsolete->blob_file_bytes());
  lines->Put("runs", version.runs().size());
  lines->Put("sequence", store.snapshots->published());
  lines->Put("block_cache_bytes", store.blocks.bytes());
  lines->Put("block_cache_hits", store.blocks.hits());
  lines->Put("block_cache_misses", store.blocks.misses());
  lines->Put("tables_open", store.tables->open_tables());
  lines->Put("blob_files_open", store.values.open_files());
  lines->Put("table_memory_bytes", store.tables->memory_bytes());
  lines->Put("snapshots_open", store.snapshots->oldest().count);
  lines->Put("transactions_open", store.transactions->count());
}

void PutWriteCounters(const PropertySources& sources, const read::SuperVersion& super_version, Lines* lines) {
  const WriteHost::Counters& counted = sources.writers.counters();
  const auto log = sources.epochs.Current();
  uint64_t memtable_bytes = super_version.active->bytes_held();
  for (const auto& immutable : super_version.immutable) memtable_bytes += immutable->bytes_held();
  lines->Put("memtables", 1 + super_version.immutable.size());
  lines->Put("memtable_bytes", memtable_bytes);
  lines->Put("wal_buffer_bytes", sources.store.memory.wal_buffer_bytes);
  lines->Put("wal_buffer_is_mapped", log->is_mapped());
  lines->Put("wal_bytes_on_disk", log->bytes_on_disk());
  const auto& logged = log->counters();
  lines->Put("wal_bytes_appended", logged.bytes_appended);
  lines->Put("wal_bytes_written", logged.bytes_written);
  lines->Put("wal_writes", logged.writes);
  lines->Put("wal_syncs", logged.syncs);
  lines->Put("wal_segments_created", logged.segments_created);
  lines->Put("wal_segments_recycled", logged.segments_reused);
  lines->Put("wal_resumes", counted.resumes);
  const auto& written = sources.writers.queue().counters();
  lines->Put("writes", written.writes);
  lines->Put("records_written", written.records);
  lines->Put("write_groups", written.groups);
  lines->Put("write_delay_nanos_per_kib", sources.writers.write_delay().rate());
  // Causes of writers' waits: write delay, room in the WAL buffer, a new WAL segment, memory for unflushed
  // writes.
  lines->PutWaits("write_delay", sources.writers.write_delay().waits());
  lines->PutWaits("wal_buffer", logged.wal_buffer_waits);
  lines->PutWaits("segment", logged.segment_waits);
  lines->PutWaits("memory", counted.memory_waits);
}

void PutBackgroundCounters(const PropertySources& sources, Lines* lines) {
  const auto& work = sources.background->counters();
  lines->Put("flushes", work.flushes);
  lines->Put("flush_bytes", work.flush_bytes);
  lines->Put("flush_nanos", work.flush_nanos);
  lines->Put("compactions", work.jobs);
  lines->Put("compactions_failed", work.jobs_failed);
  lines->Put("moves", work.moves);
  lines->Put("compaction_bytes_read", work.compaction_bytes_read);
  lines->Put("compaction_bytes_written", work.compaction_bytes_written);
  lines->Put("compaction_bytes_unread", work.compaction_bytes_unread);
  lines->Put("compaction_entries_in", work.compaction_entries_in);
  lines->Put("compaction_entries_out", work.compaction_entries_out);
  lines->Put("compaction_nanos", work.compaction_nanos);
  lines->Put("blob_bytes_moved", work.blob_bytes_moved);
  lines->Put("files_removed", work.files_removed + sources.tree.recycled_files.removed());
  lines->Put("files_recycled", sources.tree.recycled_files.reused());
  lines->Put("space_bound_bytes", sources.background->controller().limit_bytes());
  lines->Put("unreleased_bytes", sources.tree.version_set.unreleased_bytes());
  lines->Put("tombstone_scan_compactions", work.tombstone_scan_compactions);
  lines->Put("runs_max", work.runs_max);
  lines->Put("compactions_at_once_max", work.compactions_at_once_max);
  lines->Put("manifest_commits", sources.tree.committer.commits());
  lines->Put("manifest_bytes", sources.tree.committer.manifest_bytes());
  lines->Put("errors", sources.writers.counters().errors);
}

// The list of all counters. PrintProperty looks up single counters in it.
std::string CountersText(const PropertySources& sources) {
  const read::SuperVersionPtr super_version = sources.tree.version_set.Current();
  Lines lines;
  PutTreeCounters(sources.store, *super_version, &lines);
  if (sources.background != nullptr) {
    PutWriteCounters(sources, *super_version, &lines);
    PutBackgroundCounters(sources, &lines);
  }
  return std::move(lines).text();
}

std::string StatsText(const PropertySources& sources) {
  std::string text;
  const read::SuperVersionPtr super_version = sources.tree.version_set.Current();
  Print(&text, "%s\n", sources.store.directory.c_str());
  Print(&text, "%zu runs, %" PRIu64 " tables, %.1f MiB, %" PRIu64 " entries\n", super_version->version->runs().size(),
        super_version->version->file_count(), MiB(super_version->version->bytes()), super_version->version->entries());
  if (const auto& files = super_version->version->blob_files(); !files.empty()) {
    Print(&text, "%zu blob files, %.1f MiB: %.1f live, %.1f garbage\n", files.size(),
          MiB(super_version->version->blob_file_bytes()), MiB(super_version->version->value_bytes()),
          MiB(super_version->version->garbage_bytes()));
  }
  Print(&text, "%10s %8s %8s %12s %14s %14s\n", "position", "level", "tables", "MiB", "blobs MiB", "entries");
  for (const auto& run : super_version->version->runs()) {
    Print(&text, "%10" PRIu64 " %8u %8zu %12.1f %14.1f %14" PRIu64 "\n", kv::ToInt(run->position()), run->level(),
          run->virtual_tables().size(), MiB(run->bytes()), MiB(run->value_bytes()), run->entries());
  }
  if (sources.background != nullptr) {
    const auto log = sources.epochs.Current();
    const auto& work = sources.background->counters();
    const uint64_t staged = log->counters().bytes_appended;
    const uint64_t written = log->counters().bytes_written + work.flush_bytes + work.compaction_bytes_written;
    Print(&text, "WAL appended %.1f MiB, WAL written %.1f, flushed %.1f, compacted %.1f: write amplification %.2f\n",
          MiB(staged), MiB(log->counters().bytes_written), MiB(work.flush_bytes), MiB(work.compaction_bytes_written),
          staged == 0 ? 0.0 : static_cast<double>(written) / static_cast<double>(staged));
    const std::string jobs = sources.background->DescribeJobs();
    if (!jobs.empty()) Print(&text, "running compactions:\n%s", jobs.c_str());
    if (Status status = sources.background->error(); !status.ok())
      Print(&text, "background error: %s\n", status.ToString().c_str());
  }
  return text;
}

}  // namespace

bool PrintProperty(const PropertySources& sources, std::string_view name, std::string* value) {
  constexpr std::string_view kOurs = "mergedb.";
  if (!sources.store.CheckOpen().ok() || name.substr(0, kOurs.size()) != kOurs) return false;
  name.remove_prefix(kOurs.size());
  if (name == "stats") {
    *value = StatsText(sources);
  } else if (name == "runs") {
    *value = sources.tree.version_set.Current()->version->ToString();
  } else if (name == "merge_operators") {
    value->clear();
    for (const std::string& each : sources.store.operator_names.List()) value->append(each).append("\n");
  } else if (name == "recovery") {
    *value = sources.recovery_report;
  } else if (name == "errors") {
    const Status status = sources.background == nullptr ? Status() : sources.background->error();
    *value = status.ok() ? "" : status.ToString();
  } else if (name == "snapshots") {
    const auto oldest = sources.store.snapshots->oldest();
    value->clear();
    if (oldest.count > 0) {
      const uint64_t age = sources.store.options.env.clock->NowNanos() - oldest.since_nanos;
      Print(value, "%zu snapshots, the oldest at sequence %" PRIu64 ", %" PRIu64 " ms old", oldest.count,
            oldest.sequence, age / 1'000'000);
    }
  } else if (name == "transactions") {
    *value = sources.store.transactions->Text(sources.store.options.env.clock->NowNanos());
  } else if (name == "counters") {
    *value = CountersText(sources);
  } else {
    const std::string counters = "\n" + CountersText(sources);
    const std::string key = "\n" + std::string(name) + " ";
    const size_t at = counters.find(key);
    if (at == std::string::npos) return false;
    const size_t begin = at + key.size();
    *value = counters.substr(begin, counters.find('\n', begin) - begin);
  }
  return true;
}

}  // namespace mergedb::db
