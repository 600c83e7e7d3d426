#include "db/observe/diagnosis.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>

namespace mergedb::db {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Limits of the rules.
constexpr double kWaitShareMin = 0.05;        // of the window, in which writers wait
constexpr double kSyncShareMin = 0.10;        // of the window, in syncs of the WAL
constexpr double kDeviceShareMin = 0.5;       // of the time of background work, in writes and syncs
constexpr uint64_t kMissesMin = 1'000;        // in the window
constexpr double kMissShareMin = 0.2;         // of the blocks that readers asked for
constexpr double kFullCacheShareMin = 0.75;   // of the block cache's bytes
constexpr uint64_t kStaleRecordsMin = 1'000;  // since the oldest snapshot
constexpr double kStaleShareMin = 0.2;        // of the entries in tables
constexpr double kTombstoneShareMin = 0.5;    // of the entries in tables
constexpr uint64_t kTombstonesMin = 10'000;
constexpr double kGarbageShareMin = 0.3;  // of the records in blob files
constexpr uint64_t kGarbageBytesMin = kMebibyte;
constexpr uint64_t kHotEntriesMin = 1'000;  // in the window
constexpr double kHotShareMin = 0.5;        // of the entries of flushed memtables

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Percent(double share) { return Format(share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100); }

std::string Bytes(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return Format("%.1f GB", value / 1e9);
  if (bytes >= 1'000'000) return Format("%.1f MB", value / 1e6);
  if (bytes >= 1'000) return Format("%.1f KB", value / 1e3);
  return Format("%.0f B", value);
}

std::string Duration(uint64_t nanos) {
  const double seconds = static_cast<double>(nanos) / 1e9;
  if (seconds >= 5400) return Format("%.1f h", seconds / 3600);
  if (seconds >= 90) return Format("%.0f min", seconds / 60);
  if (seconds >= 1) return Format("%.1f s", seconds);
  if (seconds >= 0.001) return Format("%.1f ms", seconds * 1e3);
  return Format("%.0f us", seconds * 1e6);
}

// The state with the sums that several rules use.
class Facts {
 public:
  explicit Facts(const format::LiveState& state)
      : state_(state), window_(std::max<uint64_t>(1, state.times.window_nanos)) {}

  uint64_t Value(std::string_view name) const { return state_.Value(name); }
  uint64_t Growth(std::string_view name) const { return state_.Growth(name); }
  std::string Text(std::string_view name) const { return std::string(state_.Text(name)); }
  std::string Window() const { return "the last " + Duration(window_); }
  double ShareOfWindow(uint64_t nanos) const { return Ratio(nanos, window_); }

  // Time in which writers waited. Several writers may wait at once.
  uint64_t WaitNanos() const {
    return Growth("write_delay_wait_nanos") + Growth("wal_buffer_wait_nanos") + Growth("segment_wait_nanos") +
           Growth("memory_wait_nanos");
  }
  uint64_t SyncNanos() const { return Growth("wal_sync_nanos") + Growth("wal_write_nanos"); }
  uint64_t DeviceNanos() const { return Growth("table_write_nanos") + Growth("manifest_commit_nanos") + SyncNanos(); }
  uint64_t BackgroundNanos() const {
    return Growth("flush_nanos") + Growth("compaction_nanos") + Growth("manifest_commit_nanos") + SyncNanos();
  }
  uint64_t DeviceBytes() const {
    return Growth("flush_bytes") + Growth("compaction_bytes_written") + Growth("wal_bytes_written");
  }
  bool SyncsEachWrite() const {
    const uint64_t syncs = Growth("wal_syncs");
    return syncs >= 10 && 2 * syncs >= Growth("write_groups");
  }

 private:
  const format::LiveState& state_;
  const uint64_t window_;
};

class Findings {
 public:
  void Add(Finding finding) { findings_.push_back(std::move(finding)); }
  std::vector<Finding> Take() {
    std::ranges::stable_sort(findings_, std::ranges::greater(), &Finding::rank);
    return std::move(findings_);
  }

 private:
  std::vector<Finding> findings_;
};

int Rank(int from, int to, double share) {
  return from + static_cast<int>(static_cast<double>(to - from) * std::clamp(share, 0.0, 1.0));
}

void FindFailures(const Facts& facts, Findings* findings) {
  const uint64_t refused = facts.Growth("errors_no_space");
  const std::string error = facts.Text("error");
  std::vector<Figure> figures;
  if (!error.empty()) figures.push_back({"error", error});
  if (facts.Value("disk_is_full") != 0 || refused > 0) {
    figures.push_back({"disk_is_full", std::to_string(facts.Value("disk_is_full"))});
    figures.push_back({"errors_no_space in " + facts.Window(), std::to_string(refused)});
    for (const char* name : {"table_bytes_on_disk", "blob_bytes_on_disk", "wal_bytes_on_disk"})
      figures.push_back({name, Bytes(facts.Value(name))});
    findings->Add({.cause = Cause::kFullDisk,
                   .rank = 100,
                   .text = "The disk is full. Writes fail, or will fail when the WAL needs space; reads work.",
                   .advice = "Free disk space, then delete what is not needed. The database tries again by itself; a "
                             "restart is not needed.",
                   .figures = std::move(figures)});
  } else if (!error.empty() || facts.Growth("errors") > 0) {
    figures.push_back({"errors", std::to_string(facts.Value("errors"))});
    figures.push_back({"compactions_failed", std::to_string(facts.Value("compactions_failed"))});
    findings->Add({.cause = Cause::kFailedDisk,
                   .rank = 99,
                   .text = "Work on files fails, and the database tries again.",
                   .advice = "Look at the disk and at the system's log. Then run `mergedb verify` on the directory.",
                   .figures = std::move(figures)});
  }
}

void FindUnreadable(const Facts& facts, Findings* findings) {
  const std::string error = facts.Text("unreadable");
  if (error.empty()) return;
  findings->Add({.cause = Cause::kUnreadable,
                 .rank = 98,
                 .text = "A compaction could not read a file: " + error +
                         ". Reads of the damaged keys fail. Compactions "
                         "leave these keys alone; all other keys are compacted.",
                 .advice =
                     "Restore a backup, or close the database and run `mergedb verify` and `mergedb repair` on the "
                     "directory. Look at the disk and at the system's log.",
                 .figures = {{"unreadable_files", std::to_string(facts.Value("unreadable_files"))},
                             {"compactions_failed", std::to_string(facts.Value("compactions_failed"))}}});
}

void FindSyncs(const Facts& facts, Findings* findings) {
  const double share = facts.ShareOfWindow(facts.SyncNanos());
  if (!facts.SyncsEachWrite() || share < kSyncShareMin) return;
  const uint64_t syncs = facts.Growth("wal_syncs");
  findings->Add(
      {.cause = Cause::kSyncs,
       .rank = Rank(60, 95, share),
       .text = "Each write waits for a sync of the disk: " + Percent(share) + " of " + facts.Window() +
               " went into syncs of the WAL, " + Duration(facts.SyncNanos() / syncs) + " each.",
       .advice = "Write with Durability::kProcessCrash and sync at certain points (SyncWal), put many changes into one "
                 "WriteBatch, or write with more threads: writers that wait share a sync.",
       .figures = {{"wal_syncs in " + facts.Window(), std::to_string(syncs)},
                   {"write_groups", std::to_string(facts.Growth("write_groups"))},
                   {"writes", std::to_string(facts.Growth("writes"))},
                   {"wal_sync_nanos", Duration(facts.Growth("wal_sync_nanos"))}}});
}

// Writers wait for flushes and compactions. These wait for the device, or they are too slow themselves.
void FindWaits(const Facts& facts, Findings* findings) {
  const double share = facts.ShareOfWindow(facts.WaitNanos());
  const double device_share = Ratio(facts.DeviceNanos(), facts.BackgroundNanos());
  if (share < kWaitShareMin) return;
  const bool is_device = device_share >= kDeviceShareMin;
  std::vector<Figure> figures = {{"wait of writers in " + facts.Window(), Duration(facts.WaitNanos())},
                                 {"write_delay_wait_nanos", Duration(facts.Growth("write_delay_wait_nanos"))},
                                 {"wal_buffer_wait_nanos", Duration(facts.Growth("wal_buffer_wait_nanos"))},
                                 {"segment_wait_nanos", Duration(facts.Growth("segment_wait_nanos"))},
                                 {"memory_wait_nanos", Duration(facts.Growth("memory_wait_nanos"))},
                                 {"share of background time in writes and syncs", Percent(device_share)},
                                 {"bytes written to the device", Bytes(facts.DeviceBytes())},
                                 {"time of these writes and syncs", Duration(facts.DeviceNanos())},
                                 {"runs", std::to_string(facts.Value("runs"))}};
  const std::string waits = "Writers waited for " + Percent(share) + " of " + facts.Window();
  if (is_device) {
    const uint64_t mebibytes = std::max<uint64_t>(1, facts.DeviceBytes() / kMebibyte);
    findings->Add({.cause = Cause::kSlowDisk,
                   .rank = Rank(50, 94, share),
                   .text = waits + ", because the disk is slow: writes and syncs took " + Percent(device_share) +
                           " of the time of flushes, compactions and commits, " +
                           Duration(facts.DeviceNanos() / mebibytes) + " for each MiB.",
                   .advice = "Use a faster disk, or write less to it: a larger write_buffer_bytes makes fewer "
                             "compactions, and compression makes smaller tables.",
                   .figures = std::move(figures)});
  } else {
    findings->Add({.cause = Cause::kCompactions,
                   .rank = Rank(50, 94, share),
                   .text = waits +
                           ", because flushes and compactions are behind; the disk is not the reason, since it "
                           "took " +
                           Percent(device_share) + " of their time.",
                   .advice = "Give the process more processor time or the Executor more threads, choose a faster "
                             "compression, or raise write_buffer_bytes. Style::kLazy rewrites less than kCascade.",
                   .figures = std::move(figures)});
  }
}

void FindSmallCache(const Facts& facts, Findings* findings) {
  const uint64_t misses = facts.Growth("block_cache_misses");
  const uint64_t asked = misses + facts.Growth("block_cache_hits");
  const double share = Ratio(misses, asked);
  const double full = Ratio(facts.Value("block_cache_bytes"), facts.Value("block_cache_bytes_max"));
  if (misses < kMissesMin || share < kMissShareMin || full < kFullCacheShareMin) return;
  findings->Add({.cause = Cause::kSmallCache,
                 .rank = Rank(40, 90, share),
                 .text = "The block cache is too small for what is read: " + Percent(share) +
                         " of the blocks were not in it and came from files, and it is full.",
                 .advice =
                     "Raise memory_bytes; the block cache gets what the memtables do not need. If only scans miss, "
                     "read them with fill_cache = false.",
                 .figures = {{"block_cache_misses in " + facts.Window(), std::to_string(misses)},
                             {"block_cache_hits", std::to_string(asked - misses)},
                             {"block_cache_bytes", Bytes(facts.Value("block_cache_bytes"))},
                             {"block_cache_bytes_max", Bytes(facts.Value("block_cache_bytes_max"))},
                             {"table_bytes_live", Bytes(facts.Value("table_bytes_live"))}}});
}

void FindTombstones(const Facts& facts, Findings* findings) {
  const uint64_t scans = facts.Growth("tombstone_scans");
  const uint64_t passed = facts.Growth("tombstone_scan_entries");
  const uint64_t tombstones = facts.Value("tombstones_in_tables");
  const double share = Ratio(tombstones, facts.Value("entries_in_tables"));
  const bool is_desert = tombstones >= kTombstonesMin && share >= kTombstoneShareMin;
  if (scans == 0 && !is_desert) return;
  std::string text = scans == 0 ? "Most entries in tables are tombstones of deleted keys."
                                : "Scans pass over deleted keys: " + std::to_string(scans) + " moves of iterators in " +
                                      facts.Window() + " passed over " + std::to_string(passed / scans) +
                                      " entries each before they found a key.";
  std::string advice =
      "Delete ranges of keys with DeleteRange or DeletePrefix, which leaves one tombstone. Begin scans "
      "behind the keys that are deleted.";
  if (facts.Value("snapshots_open") > 0)
    advice += " Release the open snapshot: it keeps compactions from dropping the tombstones.";
  findings->Add({.cause = Cause::kTombstones,
                 .rank = scans > 0 ? 75 : 30,
                 .text = std::move(text),
                 .advice = std::move(advice),
                 .figures = {{"tombstone_scans in " + facts.Window(), std::to_string(scans)},
                             {"tombstone_scan_entries", std::to_string(passed)},
                             {"tombstones_in_tables", std::to_string(tombstones)},
                             {"entries_in_tables", std::to_string(facts.Value("entries_in_tables"))}}});
}

void FindHeldSnapshot(const Facts& facts, Findings* findings) {
  const uint64_t records = facts.Value("snapshot_oldest_records");
  const double share = Ratio(records, facts.Value("entries_in_tables"));
  if (facts.Value("snapshots_open") == 0 || records < kStaleRecordsMin || share < kStaleShareMin) return;
  findings->Add({.cause = Cause::kHeldSnapshot,
                 .rank = Rank(45, 85, share),
                 .text = "A snapshot is held open for " + Duration(facts.Value("snapshot_oldest_age_nanos")) +
                         ". Since then " + std::to_string(records) +
                         " records were written, and compactions keep every version that the snapshot needs.",
                 .advice = "Release the snapshot, the iterator or the transaction that holds it. The property "
                           "mergedb.snapshots shows the oldest one.",
                 .figures = {{"snapshots_open", std::to_string(facts.Value("snapshots_open"))},
                             {"snapshot_oldest_records", std::to_string(records)},
                             {"snapshot_oldest_age_nanos", Duration(facts.Value("snapshot_oldest_age_nanos"))},
                             {"entries_in_tables", std::to_string(facts.Value("entries_in_tables"))}}});
}

void FindBlobGarbage(const Facts& facts, Findings* findings) {
  const uint64_t garbage = facts.Value("blob_bytes_garbage"), live = facts.Value("blob_bytes_live");
  const double share = Ratio(garbage, garbage + live);
  if (garbage < kGarbageBytesMin || share < kGarbageShareMin) return;
  findings->Add({.cause = Cause::kBlobGarbage,
                 .rank = Rank(35, 80, share),
                 .text = Percent(share) + " of the bytes in blob files, " + Bytes(garbage) +
                         ", are garbage: values that were overwritten or deleted.",
                 .advice = facts.Value("snapshots_open") > 0
                               ? "Release the open snapshot, which keeps the values, and compact the database."
                               : "Compact the database (CompactRange, or `mergedb compact` after a close). If values "
                                 "are overwritten often, raise blob_value_bytes_min, so that they stay in tables.",
                 .figures = {{"blob_bytes_garbage", Bytes(garbage)},
                             {"blob_bytes_live", Bytes(live)},
                             {"blob_files", std::to_string(facts.Value("blob_files"))},
                             {"blob_bytes_moved in " + facts.Window(), Bytes(facts.Growth("blob_bytes_moved"))}}});
}

void FindHotKey(const Facts& facts, Findings* findings) {
  const uint64_t hot = facts.Growth("flush_hot_key_entries"), entries = facts.Growth("flush_entries_in");
  const double share = Ratio(hot, entries);
  if (hot < kHotEntriesMin || share < kHotShareMin) return;
  const std::string key = facts.Text("hot_key");
  findings->Add(
      {.cause = Cause::kHotKey,
       .rank = Rank(40, 70, share),
       .text = "One key gets most of the writes: " + Percent(share) + " of the records that were flushed in " +
               facts.Window() + " were versions of \"" + key + "\" that newer ones had replaced.",
       .advice = "Write the key less often: gather its changes in the program, or split it into several keys. "
                 "For a counter or a list use DB::Merge, which reads nothing.",
       .figures = {{"flush_hot_key_entries in " + facts.Window(), std::to_string(hot)},
                   {"flush_entries_in", std::to_string(entries)},
                   {"flush_entries_out", std::to_string(facts.Growth("flush_entries_out"))},
                   {"hot key", key}}});
}

}  // namespace

std::string_view CauseName(Cause cause) {
  switch (cause) {
    case Cause::kFullDisk: return "full_disk";
    case Cause::kFailedDisk: return "failed_disk";
    case Cause::kUnreadable: return "unreadable_file";
    case Cause::kSyncs: return "sync_per_write";
    case Cause::kSlowDisk: return "slow_disk";
    case Cause::kCompactions: return "compactions_behind";
    case Cause::kSmallCache: return "small_cache";
    case Cause::kTombstones: return "tombstones";
    case Cause::kHeldSnapshot: return "held_snapshot";
    case Cause::kBlobGarbage: return "blob_garbage";
    case Cause::kHotKey: return "hot_key";
  }
  return "";
}

std::vector<Finding> Diagnose(const format::LiveState& state) {
  const Facts facts(state);
  Findings findings;
  for (const auto find : {FindFailures, FindUnreadable, FindSyncs, FindWaits, FindSmallCache, FindTombstones,
                          FindHeldSnapshot, FindBlobGarbage, FindHotKey}) {
    find(facts, &findings);
  }
  return findings.Take();
}

}  // namespace mergedb::db
