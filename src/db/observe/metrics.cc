#include "db/observe/metrics.h"

#include <algorithm>

#include "base/wait_counter.h"

namespace mergedb::db {
namespace {

using Sources = const MetricSources&;
using enum MetricUnit;
using enum MetricType;
using enum MetricScope;

const version::Version& TreeOf(Sources s) { return *s.super_version->version; }

uint64_t RangeDeletesIn(const read::SuperVersion& super_version) {
  uint64_t count = super_version.active->range_deletes().count();
  for (const auto& immutable : super_version.immutable) count += immutable->range_deletes().count();
  return count;
}

uint64_t MemtableBytesOf(const read::SuperVersion& super_version) {
  uint64_t bytes = super_version.active->bytes_held();
  for (const auto& immutable : super_version.immutable) bytes += immutable->bytes_held();
  return bytes;
}

uint64_t OldestSnapshotAge(Sources s) {
  const auto oldest = s.store.snapshots->oldest();
  const uint64_t now = s.store.options.env.clock->NowNanos();
  return oldest.count == 0 ? 0 : now - std::min(now, oldest.since_nanos);
}

uint64_t RecordsSinceOldestSnapshot(Sources s) {
  const auto oldest = s.store.snapshots->oldest();
  return oldest.count == 0 ? 0 : s.store.snapshots->published() - oldest.sequence;
}

uint64_t WrittenFor(Sources s, picker::CompactionReason reason) {
  return s.background->counters().compaction_bytes_written.Of(reason);
}

uint64_t BegunFor(Sources s, picker::CompactionReason reason) {
  return s.background->counters().compactions_begun.Of(reason);
}

// Causes of writers' waits.
const base::WaitCounter& WriteDelayWaits(Sources s) { return s.writers.write_delay().waits(); }
const base::WaitCounter& WalBufferWaits(Sources s) { return s.wal->counters().wal_buffer_waits; }
const base::WaitCounter& SegmentWaits(Sources s) { return s.wal->counters().segment_waits; }
const base::WaitCounter& QueueWaits(Sources s) { return s.writers.queue().counters().queue_waits; }
const base::WaitCounter& MemoryWaits(Sources s) { return s.writers.counters().memory_waits; }

constexpr MetricRow kRows[] = {
    // ---- the tree, its files and its readers
    {"entries_in_tables", kCount, kGauge, kEveryOpen,
     "Entries in all live tables: every stored version of a key counts, and so does every tombstone.",
     [](Sources s) -> uint64_t { return TreeOf(s).entries(); }},
    {"tombstones_in_tables", kCount, kGauge, kEveryOpen,
     "Entries in live tables that mark a key as deleted; compare with entries_in_tables.",
     [](Sources s) -> uint64_t { return TreeOf(s).tombstones(); }},
    {"range_tombstones_in_tables", kCount, kGauge, kEveryOpen,
     "Range tombstones in all live tables; compactions into the bottommost run remove them.",
     [](Sources s) -> uint64_t { return TreeOf(s).range_tombstones(); }},
    {"range_deletes_in_memory", kCount, kGauge, kEveryOpen, "Range deletes in memtables, not flushed yet.",
     [](Sources s) -> uint64_t { return RangeDeletesIn(*s.super_version); }},
    {"tables", kCount, kGauge, kEveryOpen, "Live tables, each file counted once.",
     [](Sources s) -> uint64_t { return TreeOf(s).file_count(); }},
    {"table_bytes_live", kBytes, kGauge, kEveryOpen, "Total size of the live tables.",
     [](Sources s) -> uint64_t { return TreeOf(s).bytes(); }},
    {"table_bytes_on_disk", kBytes, kGauge, kEveryOpen,
     "Total size of all table files on disk; the surplus over table_bytes_live is obsolete files that readers still "
     "use or that are not removed yet.",
     [](Sources s) -> uint64_t { return s.store.obsolete->table_bytes(); }},
    {"blob_files", kCount, kGauge, kEveryOpen, "Live blob files, which hold large values.",
     [](Sources s) -> uint64_t { return TreeOf(s).blob_files().size(); }},
    {"blob_bytes_live", kBytes, kGauge, kEveryOpen, "Records in live blob files to which tables refer.",
     [](Sources s) -> uint64_t { return TreeOf(s).value_bytes(); }},
    {"blob_bytes_garbage", kBytes, kGauge, kEveryOpen,
     "Records in live blob files to which no table refers; blob garbage collection frees them.",
     [](Sources s) -> uint64_t { return TreeOf(s).garbage_bytes(); }},
    {"blob_bytes_on_disk", kBytes, kGauge, kEveryOpen,
     "Total size of all blob files on disk, obsolete ones that are not removed yet included.",
     [](Sources s) -> uint64_t { return s.store.obsolete->blob_file_bytes(); }},
    {"runs", kCount, kGauge, kEveryOpen,
     "Sorted runs of the tree; a read of an absent key and a new iterator look into each of them.",
     [](Sources s) -> uint64_t { return TreeOf(s).runs().size(); }},
    {"sequence", kCount, kGauge, kEveryOpen,
     "Sequence number of the newest visible write; it grows by one for each record, also across opens.",
     [](Sources s) -> uint64_t { return s.store.snapshots->published(); }},
    {"block_cache_bytes", kBytes, kGauge, kEveryOpen, "Memory that the block cache uses now.",
     [](Sources s) -> uint64_t { return s.store.blocks.bytes(); }},
    {"block_cache_bytes_max", kBytes, kGauge, kEveryOpen,
     "Most memory that the block cache may use; the option memory_bytes decides it.",
     [](Sources s) -> uint64_t { return s.store.blocks.bytes_max(); }},
    {"block_cache_hits", kCount, kCounter, kEveryOpen, "Blocks that readers found in the block cache.",
     [](Sources s) -> uint64_t { return s.store.blocks.hits(); }},
    {"block_cache_misses", kCount, kCounter, kEveryOpen,
     "Blocks that readers did not find in the block cache and read from a file; compare with block_cache_hits.",
     [](Sources s) -> uint64_t { return s.store.blocks.misses(); }},
    {"mapped_read_faults", kCount, kCounter, kEveryOpen,
     "Pages of mapped tables and blob files that the system could not read: an I/O error of the disk, or another "
     "program "
     "cut the file.",
     [](Sources s) -> uint64_t { return s.store.file_memory.faults().count(); }},
    {"tables_open", kCount, kGauge, kEveryOpen, "Tables that the table cache holds open.",
     [](Sources s) -> uint64_t { return s.store.tables->open_tables(); }},
    {"blob_files_open", kCount, kGauge, kEveryOpen, "Blob files that are held open.",
     [](Sources s) -> uint64_t { return s.store.values.open_files(); }},
    {"table_memory_bytes", kBytes, kGauge, kEveryOpen,
     "Memory of the open tables outside of the block cache, such as their indexes and filters.",
     [](Sources s) -> uint64_t { return s.store.tables->memory_bytes(); }},
    {"snapshots_open", kCount, kGauge, kEveryOpen,
     "Snapshots that programs hold; each keeps old versions on disk until it is released.",
     [](Sources s) -> uint64_t { return s.store.snapshots->oldest().count; }},
    {"snapshot_oldest_age_nanos", kNanoseconds, kGauge, kEveryOpen, "Age of the oldest open snapshot; 0 without one.",
     [](Sources s) -> uint64_t { return OldestSnapshotAge(s); }},
    {"snapshot_oldest_records", kCount, kGauge, kEveryOpen,
     "Records that were written since the oldest open snapshot; compactions keep the versions that it needs.",
     [](Sources s) -> uint64_t { return RecordsSinceOldestSnapshot(s); }},
    {"transactions_open", kCount, kGauge, kEveryOpen, "Transactions that have begun and not ended.",
     [](Sources s) -> uint64_t { return s.store.transactions->count(); }},

    // ---- writes: memtables, WAL, writer queue
    {"memtables", kCount, kGauge, kOpenForWrites,
     "Memtables: the active one, and the immutable ones that wait for a flush.",
     [](Sources s) -> uint64_t { return 1 + s.super_version->immutable.size(); }},
    {"memtable_bytes", kBytes, kGauge, kOpenForWrites, "Memory of all memtables.",
     [](Sources s) -> uint64_t { return MemtableBytesOf(*s.super_version); }},
    {"wal_buffer_bytes", kBytes, kGauge, kOpenForWrites, "Size of the WAL buffer, constant while the database is open.",
     [](Sources s) -> uint64_t { return s.store.memory.wal_buffer_bytes; }},
    {"wal_buffer_is_mapped", kBool, kGauge, kOpenForWrites,
     "1 if the WAL buffer is the mapped file STAGING, so that writes survive the end of the process at once; 0 if it "
     "is plain memory.",
     [](Sources s) -> uint64_t { return s.wal->is_mapped(); }},
    {"wal_bytes_on_disk", kBytes, kGauge, kOpenForWrites,
     "Disk space of the WAL: its segments and the allocated part of STAGING.",
     [](Sources s) -> uint64_t { return s.wal->bytes_on_disk(); }},
    {"wal_bytes_appended", kBytes, kCounter, kOpenForWrites,
     "Bytes of frames that writers appended to the WAL, frame heads included.",
     [](Sources s) -> uint64_t { return s.wal->counters().bytes_appended; }},
    {"wal_bytes_written", kBytes, kCounter, kOpenForWrites, "Bytes that the WAL wrote to segments.",
     [](Sources s) -> uint64_t { return s.wal->counters().bytes_written; }},
    {"wal_writes", kCount, kCounter, kOpenForWrites, "Writes of the WAL buffer to segments.",
     [](Sources s) -> uint64_t { return s.wal->counters().writes; }},
    {"wal_write_nanos", kNanoseconds, kCounter, kOpenForWrites, "Total time of writes to WAL segments.",
     [](Sources s) -> uint64_t { return s.wal->counters().write_nanos; }},
    {"wal_sync_nanos", kNanoseconds, kCounter, kOpenForWrites, "Total time of syncs of the WAL.",
     [](Sources s) -> uint64_t { return s.wal->counters().sync_nanos; }},
    {"wal_syncs", kCount, kCounter, kOpenForWrites, "Syncs of the WAL.",
     [](Sources s) -> uint64_t { return s.wal->counters().syncs; }},
    {"wal_segments_created", kCount, kCounter, kOpenForWrites, "WAL segments that were created as new files.",
     [](Sources s) -> uint64_t { return s.wal->counters().segments_created; }},
    {"wal_segments_recycled", kCount, kCounter, kOpenForWrites, "WAL segments that overwrite a released one.",
     [](Sources s) -> uint64_t { return s.wal->counters().segments_reused; }},
    {"wal_resumes", kCount, kCounter, kOpenForWrites,
     "Resumes of the WAL on new files after a failure; look at errors and at the property mergedb.errors.",
     [](Sources s) -> uint64_t { return s.writers.counters().resumes; }},
    {"writes", kCount, kCounter, kOpenForWrites, "Committed writes: a put, a delete or a whole batch counts once.",
     [](Sources s) -> uint64_t { return s.writers.queue().counters().writes; }},
    {"records_written", kCount, kCounter, kOpenForWrites, "Records of committed writes: each change in a batch counts.",
     [](Sources s) -> uint64_t { return s.writers.queue().counters().records; }},
    {"write_groups", kCount, kCounter, kOpenForWrites,
     "Groups in which queued writes were committed; writes per group show how well group commit works.",
     [](Sources s) -> uint64_t { return s.writers.queue().counters().groups; }},
    {"queue_waits", kCount, kCounter, kOpenForWrites,
     "Waits of writers for other writers, for a single-writer transaction, or for a call such as Flush or Checkpoint.",
     [](Sources s) -> uint64_t { return QueueWaits(s).count(); }},
    {"queue_wait_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time of queue_waits; a writer that another one commits waits for the whole commit.",
     [](Sources s) -> uint64_t { return QueueWaits(s).nanos(); }},
    {"queue_wait_nanos_max", kNanoseconds, kGauge, kOpenForWrites, "Longest of queue_waits since the open.",
     [](Sources s) -> uint64_t { return QueueWaits(s).nanos_max(); }},
    {"write_delay_nanos_per_kib", kNanosecondsPerKib, kGauge, kOpenForWrites,
     "Pause that the write delay now asks of writers for each KiB; 0 if flushes, compactions and the WAL keep up.",
     [](Sources s) -> uint64_t { return s.writers.write_delay().rate(); }},
    {"write_delay_waits", kCount, kCounter, kOpenForWrites, "Waits of writers for the write delay.",
     [](Sources s) -> uint64_t { return WriteDelayWaits(s).count(); }},
    {"write_delay_wait_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time that writers waited for the write delay.",
     [](Sources s) -> uint64_t { return WriteDelayWaits(s).nanos(); }},
    {"write_delay_wait_nanos_max", kNanoseconds, kGauge, kOpenForWrites,
     "Longest wait of a writer for the write delay since the open.",
     [](Sources s) -> uint64_t { return WriteDelayWaits(s).nanos_max(); }},
    {"wal_buffer_waits", kCount, kCounter, kOpenForWrites, "Waits of writers for room in the WAL buffer.",
     [](Sources s) -> uint64_t { return WalBufferWaits(s).count(); }},
    {"wal_buffer_wait_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time that writers waited for room in the WAL buffer.",
     [](Sources s) -> uint64_t { return WalBufferWaits(s).nanos(); }},
    {"wal_buffer_wait_nanos_max", kNanoseconds, kGauge, kOpenForWrites,
     "Longest wait of a writer for room in the WAL buffer since the open.",
     [](Sources s) -> uint64_t { return WalBufferWaits(s).nanos_max(); }},
    {"segment_waits", kCount, kCounter, kOpenForWrites,
     "Waits of writers for disk space of the WAL (blocks of STAGING or a new segment).",
     [](Sources s) -> uint64_t { return SegmentWaits(s).count(); }},
    {"segment_wait_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time that writers waited for disk space of the WAL.",
     [](Sources s) -> uint64_t { return SegmentWaits(s).nanos(); }},
    {"segment_wait_nanos_max", kNanoseconds, kGauge, kOpenForWrites,
     "Longest wait of a writer for disk space of the WAL since the open.",
     [](Sources s) -> uint64_t { return SegmentWaits(s).nanos_max(); }},
    {"memory_waits", kCount, kCounter, kOpenForWrites,
     "Waits of writers for memory, because immutable memtables are not flushed yet.",
     [](Sources s) -> uint64_t { return MemoryWaits(s).count(); }},
    {"memory_wait_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time that writers waited for memory for unflushed writes.",
     [](Sources s) -> uint64_t { return MemoryWaits(s).nanos(); }},
    {"memory_wait_nanos_max", kNanoseconds, kGauge, kOpenForWrites,
     "Longest wait of a writer for memory for unflushed writes since the open.",
     [](Sources s) -> uint64_t { return MemoryWaits(s).nanos_max(); }},

    // ---- background work
    {"flushes", kCount, kCounter, kOpenForWrites, "Memtables that were flushed to a table.",
     [](Sources s) -> uint64_t { return s.background->counters().flushes; }},
    {"flush_bytes", kBytes, kCounter, kOpenForWrites, "Bytes of tables and blob files that flushes wrote.",
     [](Sources s) -> uint64_t { return s.background->counters().flush_bytes; }},
    {"flush_nanos", kNanoseconds, kCounter, kOpenForWrites, "Total time of flushes.",
     [](Sources s) -> uint64_t { return s.background->counters().flush_nanos; }},
    {"flush_entries_in", kCount, kCounter, kOpenForWrites, "Entries of memtables that were flushed.",
     [](Sources s) -> uint64_t { return s.background->counters().flush_entries_in; }},
    {"flush_entries_out", kCount, kCounter, kOpenForWrites,
     "Entries that flushes wrote; the rest of flush_entries_in was older versions of the same keys.",
     [](Sources s) -> uint64_t { return s.background->counters().flush_entries_out; }},
    {"flush_hot_key_entries", kCount, kCounter, kOpenForWrites,
     "Of the older versions that flushes dropped, those of the one key of each flush that had most of them.",
     [](Sources s) -> uint64_t { return s.background->counters().flush_hot_key_entries; }},
    {"compactions", kCount, kCounter, kOpenForWrites, "Compactions that ended well and rewrote tables.",
     [](Sources s) -> uint64_t { return s.background->counters().jobs; }},
    {"compactions_failed", kCount, kCounter, kOpenForWrites,
     "Compactions that ended with an error; the database tries again.",
     [](Sources s) -> uint64_t { return s.background->counters().jobs_failed; }},
    {"unreadable_files", kCount, kGauge, kOpenForWrites,
     "Tables and blob files that a compaction could not read; compactions leave alone what is damaged.",
     [](Sources s) -> uint64_t { return s.background->unreadable_files(); }},
    {"moves", kCount, kCounter, kOpenForWrites, "Compactions that moved tables to another run without rewriting them.",
     [](Sources s) -> uint64_t { return s.background->counters().moves; }},
    {"compaction_bytes_read", kBytes, kCounter, kOpenForWrites,
     "Bytes of tables and blob files that ended compactions read.",
     [](Sources s) -> uint64_t { return s.background->counters().compaction_bytes_read; }},
    {"compaction_bytes_written", kBytes, kCounter, kOpenForWrites,
     "Bytes of tables and blob files that ended compactions wrote, the sum over all reasons; with flush_bytes and "
     "wal_bytes_written, the write amplification.",
     [](Sources s) -> uint64_t { return s.background->counters().compaction_bytes_written.Total(); }},
    {"compaction_bytes_written_tier_full", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because enough new sorted runs had gathered (style lazy).",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kTierFull); }},
    {"compaction_bytes_written_adjacent_full", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because four adjacent levels were full (style cascade).",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kAdjacentFull); }},
    {"compaction_bytes_written_prefix", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because the newest levels were full (style cascade).",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kPrefix); }},
    {"compaction_bytes_written_space", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because tables and values took more disk space than the space bound "
     "allows.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kSpace); }},
    {"compaction_bytes_written_idle", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because no writes came, so that reads meet fewer sorted runs.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kIdle); }},
    {"compaction_bytes_written_manual", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because a program called CompactRange.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kManual); }},
    {"compaction_bytes_written_tombstones", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because tombstones were most of a part of the oldest sorted run.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kTombstones); }},
    {"compaction_bytes_written_tombstone_scan", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because a scan had passed over many tombstones.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kTombstoneScan); }},
    {"compaction_bytes_written_reads", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because seeks had visited many sorted runs.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kReads); }},
    {"compaction_bytes_written_blob_garbage", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because blob files held too much garbage.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kBlobGarbage); }},
    {"compaction_bytes_written_small_blobs", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because there were many small blob files.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kSmallBlobs); }},
    {"compaction_bytes_written_blob_order", kBytes, kCounter, kOpenForWrites,
     "Part of compaction_bytes_written: written because scans had read many scattered blob values.",
     [](Sources s) -> uint64_t { return WrittenFor(s, picker::CompactionReason::kBlobOrder); }},
    {"table_bytes_moved", kBytes, kCounter, kOpenForWrites,
     "Bytes of tables that moves put into another sorted run; nothing is written for them.",
     [](Sources s) -> uint64_t { return s.background->counters().table_bytes_moved; }},
    {"compaction_bytes_unread", kBytes, kCounter, kOpenForWrites,
     "Bytes of tables that compactions dropped unread, because range tombstones mask them as a whole.",
     [](Sources s) -> uint64_t { return s.background->counters().compaction_bytes_unread; }},
    {"compaction_entries_in", kCount, kCounter, kOpenForWrites, "Entries that ended compactions read.",
     [](Sources s) -> uint64_t { return s.background->counters().compaction_entries_in; }},
    {"compaction_entries_out", kCount, kCounter, kOpenForWrites,
     "Entries that ended compactions wrote; the rest of compaction_entries_in was old versions, tombstones and masked "
     "entries.",
     [](Sources s) -> uint64_t { return s.background->counters().compaction_entries_out; }},
    {"compaction_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time of the steps of compactions; compactions at the same time add up.",
     [](Sources s) -> uint64_t { return s.background->counters().compaction_nanos; }},
    {"blob_bytes_moved", kBytes, kCounter, kOpenForWrites,
     "Bytes of records that blob garbage collection copied out of collected blob files.",
     [](Sources s) -> uint64_t { return s.background->counters().blob_bytes_moved; }},
    {"warmed_bytes", kBytes, kCounter, kOpenForWrites,
     "Tables and blob files that were read into the page cache while no writes came.",
     [](Sources s) -> uint64_t { return s.background->counters().warmed_bytes; }},
    {"table_write_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time of writes to tables and blob files, by flushes and compactions; a part of flush_nanos and "
     "compaction_nanos.",
     [](Sources s) -> uint64_t { return s.tree.write_times.nanos; }},
    {"files_removed", kCount, kCounter, kOpenForWrites, "Obsolete and recycled files that were removed.",
     [](Sources s) -> uint64_t { return s.background->counters().files_removed + s.tree.recycled_files.removed(); }},
    {"files_recycled", kCount, kCounter, kOpenForWrites, "Recycled files that new tables or blob files overwrote.",
     [](Sources s) -> uint64_t { return s.tree.recycled_files.reused(); }},
    {"space_bound_bytes", kBytes, kGauge, kOpenForWrites,
     "Bound of tables and blob files while writes come, as of the last flush or compaction; outputs, recycled files "
     "and "
     "the WAL come on top.",
     [](Sources s) -> uint64_t { return s.background->controller().limit_bytes(); }},
    {"unreleased_bytes", kBytes, kGauge, kOpenForWrites,
     "Tables and blob files that are obsolete and stay on disk until the MANIFEST is committed.",
     [](Sources s) -> uint64_t { return s.tree.version_set.unreleased_bytes(); }},
    {"scattered_value_bytes", kBytes, kCounter, kOpenForWrites,
     "Bytes of blob values that scans read one by one, because the values are not in key order.",
     [](Sources s) -> uint64_t { return s.background->counters().scattered_value_bytes; }},
    {"extra_run_visits", kCount, kCounter, kOpenForWrites,
     "Sorted runs that seeks of iterators had to visit beside the first one.",
     [](Sources s) -> uint64_t { return s.background->counters().extra_run_visits; }},
    {"read_compactions", kCount, kCounter, kOpenForWrites,
     "Compactions that began because seeks had visited many sorted runs.",
     [](Sources s) -> uint64_t { return BegunFor(s, picker::CompactionReason::kReads); }},
    {"blob_order_compactions", kCount, kCounter, kOpenForWrites,
     "Compactions that wrote blob values in key order, because scans had read many scattered ones.",
     [](Sources s) -> uint64_t { return BegunFor(s, picker::CompactionReason::kBlobOrder); }},
    {"tombstone_scan_compactions", kCount, kCounter, kOpenForWrites,
     "Compactions that began because a scan passed over many tombstones.",
     [](Sources s) -> uint64_t { return BegunFor(s, picker::CompactionReason::kTombstoneScan); }},
    {"tombstone_scans", kCount, kCounter, kOpenForWrites,
     "Moves of iterators that passed over 1024 or more deleted or hidden entries.",
     [](Sources s) -> uint64_t { return s.background->counters().tombstone_scans; }},
    {"tombstone_scan_entries", kCount, kCounter, kOpenForWrites,
     "Deleted or hidden entries that these moves passed over.",
     [](Sources s) -> uint64_t { return s.background->counters().tombstone_scan_entries; }},
    {"runs_max", kCount, kGauge, kOpenForWrites, "Most sorted runs that the tree had since the open.",
     [](Sources s) -> uint64_t { return s.background->counters().runs_max; }},
    {"compactions_at_once_max", kCount, kGauge, kOpenForWrites,
     "Most compactions that ran at the same time since the open.",
     [](Sources s) -> uint64_t { return s.background->counters().compactions_at_once_max; }},
    {"manifest_commits", kCount, kCounter, kOpenForWrites, "Commits to the MANIFEST.",
     [](Sources s) -> uint64_t { return s.tree.committer.commits(); }},
    {"manifest_commit_nanos", kNanoseconds, kCounter, kOpenForWrites,
     "Total time of commits to the MANIFEST, mostly that of syncs of new files.",
     [](Sources s) -> uint64_t { return s.tree.committer.commit_nanos(); }},
    {"manifest_bytes", kBytes, kGauge, kOpenForWrites,
     "Size of the MANIFEST as of its last commit; it shrinks when a new MANIFEST begins.",
     [](Sources s) -> uint64_t { return s.tree.committer.manifest_bytes(); }},
    {"disk_is_full", kBool, kGauge, kOpenForWrites,
     "1 if a flush, a compaction, a commit or the newest write failed for lack of disk space.",
     [](Sources s) -> uint64_t { return s.background->DiskIsFull() || s.writers.is_out_of_space(); }},
    {"errors_no_space", kCount, kCounter, kOpenForWrites,
     "Writes that failed because the WAL found no disk space, a part of errors; the next write tries again.",
     [](Sources s) -> uint64_t { return s.writers.counters().errors_no_space; }},
    {"errors", kCount, kCounter, kOpenForWrites,
     "Writes for which the WAL found no disk space, and failures of the WAL that stop writes until it resumes on new "
     "files.",
     [](Sources s) -> uint64_t { return s.writers.counters().errors; }},
};

constexpr HistogramRow kHistogramRows[] = {
    {"write_latency_nanos", env::Operation::kWrite, kOpenForWrites,
     "Latency of puts, deletes, merges and batches, with their waits; one of 64 is measured, and each that waits for "
     "50 "
     "us."},
    {"get_latency_nanos", env::Operation::kGet, kEveryOpen,
     "Latency of Get; one of 64 is measured, and each that waits for 50 us for reads of files."},
    {"multi_get_latency_nanos", env::Operation::kMultiGet, kEveryOpen,
     "Latency of MultiGet for all of its keys together; one of 64 is measured, and each that waits for 50 us."},
    {"iterator_seek_latency_nanos", env::Operation::kIteratorSeek, kEveryOpen,
     "Latency of the seeks of iterators; one of 64 is measured, and each that waits for 50 us."},
    {"flush_latency_nanos", env::Operation::kFlush, kOpenForWrites, "Time that the flush of a memtable takes."},
    {"compaction_latency_nanos", env::Operation::kCompaction, kOpenForWrites,
     "Time from the begin of a compaction to its end, with its pauses; moves do not count."},
    {"wal_sync_latency_nanos", env::Operation::kWalSync, kOpenForWrites, "Time that a sync of the WAL takes."},
    {"device_read_latency_nanos", env::Operation::kDeviceRead, kEveryOpen,
     "Time of each read of a block or a blob value from a file, also if the page cache of the system has it; not of "
     "compactions, nor of mapped tables."},
};

template <class Row>
bool Has(const MetricSources& sources, const Row& row) {
  return row.scope == kEveryOpen || sources.background != nullptr;
}

}  // namespace

std::span<const MetricRow> MetricRows() { return kRows; }

std::span<const HistogramRow> HistogramRows() { return kHistogramRows; }

std::string_view UnitName(MetricUnit unit) {
  switch (unit) {
    case kCount: return "count";
    case kBytes: return "bytes";
    case kNanoseconds: return "nanoseconds";
    case kNanosecondsPerKib: return "nanoseconds per KiB";
    case kBool: return "0 or 1";
  }
  return "";
}

std::vector<Metric> ReadMetrics(const MetricSources& sources) {
  std::vector<Metric> metrics;
  metrics.reserve(std::size(kRows));
  for (const MetricRow& row : kRows) {
    if (!Has(sources, row)) continue;
    metrics.push_back({row.name, UnitName(row.unit), row.type, row.help, row.read(sources)});
  }
  return metrics;
}

std::optional<uint64_t> ReadMetric(const MetricSources& sources, std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &MetricRow::name);
  if (row == std::end(kRows) || !Has(sources, *row)) return std::nullopt;
  return row->read(sources);
}

std::vector<ReadHistogram> ReadHistograms(const MetricSources& sources) {
  std::vector<ReadHistogram> histograms;
  for (const HistogramRow& row : kHistogramRows) {
    if (Has(sources, row)) histograms.push_back({&row, sources.store.latencies.Read(row.operation)});
  }
  return histograms;
}

LatencyHistogram PublicHistogram(const ReadHistogram& histogram) {
  const base::HistogramCounts& counts = histogram.counts;
  LatencyHistogram result{.name = histogram.row->name,
                          .help = histogram.row->help,
                          .sample_interval = env::Latencies::SampleIntervalOf(histogram.row->operation),
                          .count = counts.count(),
                          .sum = counts.sum(),
                          .p50 = counts.Quantile(0.5),
                          .p99 = counts.Quantile(0.99),
                          .p99_9 = counts.Quantile(0.999),
                          .max = counts.max(),
                          .buckets = {}};
  for (size_t i = 0; i < base::HistogramCounts::kBuckets; ++i) {
    if (counts.buckets()[i] > 0)
      result.buckets.push_back({.upper = base::HistogramCounts::UpperBound(i), .count = counts.buckets()[i]});
  }
  return result;
}

}  // namespace mergedb::db
