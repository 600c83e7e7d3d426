// Properties: texts for people; "mergedb.counters" and "mergedb.<counter>" for programs.
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "db/db_impl.h"

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

}  // namespace

// The list of all counters, one "name value" a line. GetProperty looks up single counters in it.
std::string DbImpl::CountersText() {
  std::string text;
  const auto put = [&](const char* name, uint64_t value) { Print(&text, "%s %" PRIu64 "\n", name, value); };
  const read::SuperVersionPtr super_version = tree_->version_set.Current();
  put("entries_in_tables", super_version->version->entries());
  put("range_tombstones_in_tables", super_version->version->range_tombstones());
  put("range_deletes_in_memory", RangeDeletesIn(*super_version));
  put("tables", super_version->version->file_count());
  put("table_bytes_live", super_version->version->bytes());
  put("table_bytes_on_disk", store_->obsolete->table_bytes());
  put("blob_files", super_version->version->blob_files().size());
  put("blob_bytes_live", super_version->version->value_bytes());
  put("blob_bytes_garbage", super_version->version->garbage_bytes());
  put("blob_bytes_on_disk", store_->obsolete->blob_file_bytes());
  put("runs", super_version->version->runs().size());
  put("sequence", store_->snapshots->published());
  put("block_cache_bytes", store_->blocks.bytes());
  put("block_cache_hits", store_->blocks.hits());
  put("block_cache_misses", store_->blocks.misses());
  put("tables_open", store_->tables->open_tables());
  put("blob_files_open", store_->values.open_files());
  put("table_memory_bytes", store_->tables->memory_bytes());
  put("snapshots_open", store_->snapshots->oldest().count);
  put("transactions_open", store_->transactions->count());
  if (background_ == nullptr) return text;

  const auto log = CurrentWal();
  uint64_t memtable_bytes = super_version->active->bytes_held();
  for (const auto& immutable : super_version->immutable) memtable_bytes += immutable->bytes_held();
  put("memtables", 1 + super_version->immutable.size());
  put("memtable_bytes", memtable_bytes);
  put("wal_buffer_bytes", store_->memory.staging_bytes);
  put("wal_buffer_is_mapped", log->is_mapped());
  put("wal_bytes_on_disk", log->bytes_on_disk());
  const auto& logged = log->counters();
  put("wal_bytes_appended", logged.bytes_appended);
  put("wal_bytes_written", logged.bytes_written);
  put("wal_writes", logged.writes);
  put("wal_syncs", logged.syncs);
  put("wal_segments_created", logged.segments_created);
  put("wal_segments_recycled", logged.segments_reused);
  put("wal_resumes", resumes_);
  const auto& written = queue_.counters();
  put("writes", written.writes);
  put("records_written", written.records);
  put("write_groups", written.groups);
  put("write_delay_nanos_per_kib", write_delay_.rate());
  // Causes of writers' waits: write delay, room in the WAL buffer, a new WAL segment, memory for unflushed
  // writes.
  const auto put_waits = [&](const std::string& cause, const base::WaitCounter& waits) {
    put((cause + "_waits").c_str(), waits.count());
    put((cause + "_wait_nanos").c_str(), waits.nanos());
    put((cause + "_wait_nanos_max").c_str(), waits.nanos_max());
  };
  put_waits("write_delay", write_delay_.waits());
  put_waits("wal_buffer", logged.wal_buffer_waits);
  put_waits("segment", logged.segment_waits);
  put_waits("memory", memory_waits_);
  const auto& work = background_->counters();
  put("flushes", work.flushes);
  put("flush_bytes", work.flush_bytes);
  put("flush_nanos", work.flush_nanos);
  put("compactions", work.jobs);
  put("compactions_failed", work.jobs_failed);
  put("moves", work.moves);
  put("compaction_bytes_read", work.compaction_bytes_read);
  put("compaction_bytes_written", work.compaction_bytes_written);
  put("compaction_bytes_unread", work.compaction_bytes_unread);
  put("compaction_entries_in", work.compaction_entries_in);
  put("compaction_entries_out", work.compaction_entries_out);
  put("compaction_nanos", work.compaction_nanos);
  put("blob_bytes_moved", work.blob_bytes_moved);
  put("files_removed", work.files_removed + tree_->recycled_files.removed());
  put("files_recycled", tree_->recycled_files.reused());
  put("tombstone_scan_compactions", work.tombstone_scan_compactions);
  put("runs_max", work.runs_max);
  put("compactions_at_once_max", work.compactions_at_once_max);
  put("manifest_commits", tree_->version_set.commits());
  put("manifest_bytes", tree_->version_set.manifest_bytes());
  put("errors", errors_);
  return text;
}

std::string DbImpl::StatsText() {
  std::string text;
  const read::SuperVersionPtr super_version = tree_->version_set.Current();
  Print(&text, "%s\n", store_->directory.c_str());
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
  if (background_ != nullptr) {
    const auto log = CurrentWal();
    const auto& work = background_->counters();
    const uint64_t staged = log->counters().bytes_appended;
    const uint64_t written = log->counters().bytes_written + work.flush_bytes + work.compaction_bytes_written;
    Print(&text, "WAL appended %.1f MiB, WAL written %.1f, flushed %.1f, compacted %.1f: write amplification %.2f\n",
          MiB(staged), MiB(log->counters().bytes_written), MiB(work.flush_bytes), MiB(work.compaction_bytes_written),
          staged == 0 ? 0.0 : static_cast<double>(written) / static_cast<double>(staged));
    const std::string jobs = background_->DescribeJobs();
    if (!jobs.empty()) Print(&text, "running compactions:\n%s", jobs.c_str());
    if (Status status = background_->error(); !status.ok())
      Print(&text, "background error: %s\n", status.ToString().c_str());
  }
  return text;
}

bool DbImpl::GetProperty(std::string_view name, std::string* value) {
  constexpr std::string_view kOurs = "mergedb.";
  if (!CheckOpen().ok() || name.substr(0, kOurs.size()) != kOurs) return false;
  name.remove_prefix(kOurs.size());
  if (name == "stats") {
    *value = StatsText();
  } else if (name == "runs") {
    *value = tree_->version_set.Current()->version->ToString();
  } else if (name == "merge_operators") {
    value->clear();
    for (const std::string& each : store_->operator_names.List()) value->append(each).append("\n");
  } else if (name == "recovery") {
    *value = recovery_report_;
  } else if (name == "errors") {
    const Status status = background_ == nullptr ? Status() : background_->error();
    *value = status.ok() ? "" : status.ToString();
  } else if (name == "snapshots") {
    const auto oldest = store_->snapshots->oldest();
    value->clear();
    if (oldest.count > 0) {
      const uint64_t age = store_->options.env.clock->NowNanos() - oldest.since_nanos;
      Print(value, "%zu snapshots, the oldest at sequence %" PRIu64 ", %" PRIu64 " ms old", oldest.count,
            oldest.sequence, age / 1'000'000);
    }
  } else if (name == "transactions") {
    *value = store_->transactions->Text(store_->options.env.clock->NowNanos());
  } else if (name == "counters") {
    *value = CountersText();
  } else {
    const std::string counters = "\n" + CountersText();
    const std::string key = "\n" + std::string(name) + " ";
    const size_t at = counters.find(key);
    if (at == std::string::npos) return false;
    const size_t begin = at + key.size();
    *value = counters.substr(begin, counters.find('\n', begin) - begin);
  }
  return true;
}

}  // namespace mergedb::db
