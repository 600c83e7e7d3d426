// A read-only open takes no lock, so another process may write to the database meanwhile. The open reads
// MANIFEST, STAGING and WAL segments at different moments. Between them, the writer may commit edits, move
// frames from the WAL buffer to segments, and reuse segments. The open shows every write that was
// acknowledged before it began, or it fails.
//
//   read        MANIFEST ── STAGING ── heads of segments ── MANIFEST ── segments, along the chain ── MANIFEST
//
// WHY STAGING is read first: the WAL buffer is overwritten only after its bytes are in a segment, or after a durable
// MANIFEST starts replay above them. So a frame that was staged before the open and is missing in STAGING is in a
// segment, or a later MANIFEST shows that tables hold it. A segment is reused only when the MANIFEST no longer needs
// it. So an attempt is void if the WAL start of the last MANIFEST lies beyond the end of the chain or is of another
// epoch. The MANIFEST in the middle decides instead if no segment holds the end of the chain: then all of it was in
// STAGING, and what the writer released since then does not matter.
//
// If there are frames above the end of the chain, either a writer has just added them or the WAL is damaged.
// A second attempt decides: damage stays at the same place, a writer makes progress. The same rule decides about an
// unfinished MANIFEST record and about a damaged copy of one: a read beside a write may see half of the record.
// The files of the tree are held (env/held_files.h), so that the writer takes nothing away from the reader.
// Tests: tests/race/read_only_race_test.cc, tests/schedule/read_only_schedule_test.cc.
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "db/recovery/import.h"
#include "db/recovery/recovered_tree.h"
#include "format/file_name.h"

namespace mergedb::db {
namespace {

constexpr int kAttemptsMax = 50;
constexpr std::string_view kOutrun = ": another process writes faster than a read-only open can follow";

struct Attempt {
  Status problem;          // of the files or the WAL
  bool is_prefix = false;  // files of the tree exist; WAL is whole up to `replayed.wal.end`
  Replayed replayed;
  // The WAL start of the MANIFEST after STAGING and the heads of the segments were read; not set if a segment holds
  // the end of the chain.
  std::optional<format::VersionEdit::WalStart> released;
  uint64_t end() const { return replayed.wal.end.position; }
  // True if frames that the open must show may be missing, since the writer has released them. `start`: of the MANIFEST
  // after the attempt.
  bool IsPassedBy(const format::VersionEdit::WalStart& start) const {
    const bool was_whole = released && released->epoch == start.epoch && released->position <= end();
    return start.position > end() && !was_whole;
  }
  bool is_clean() const { return problem.ok() && replayed.wal.report.empty(); }
};

// Holds the files first. A file whose name still exists afterwards has not been overwritten, and will not be. From then
// on it may be mapped.
Status CheckTree(Store& store, const manifest::Loaded& loaded) {
  FileSystem* const files = store.options.env.file_system;
  std::set<std::string> paths;
  for (const auto& meta : loaded.version->file_metas()) paths.insert(format::TablePath(store.directory, meta->number));
  for (const auto& each : loaded.version->blob_files())
    paths.insert(format::BlobFilePath(store.directory, each.file->number));
  if (store.held != nullptr) store.held->Hold(paths);
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(files, store.directory));
  RETURN_IF_ERROR(AdoptFiles(files, store.directory, inventory, &loaded, false).status());
  RETURN_IF_ERROR(CheckNoRepairRuns(store));
  if (inventory.has_repair_marker) return InterruptedRepair(store.directory);
  RETURN_IF_ERROR(CheckFiles(files, store.directory, *loaded.version));
  if (store.held != nullptr) store.held->Confirm();
  return {};
}

Attempt Try(Store& store, const manifest::Loaded& loaded) {
  Attempt attempt;
  attempt.problem = CheckTree(store, loaded);
  if (!attempt.problem.ok()) return attempt;
  std::optional<format::VersionEdit::WalStart> released;
  const auto load_again = [&] {
    const auto again = manifest::Load(store.options.env.file_system, store.directory, store.order, DescribeForeignFile);
    if (again) released = again->wal_start;
  };
  auto salvaged = SalvageWal(store, wal::OriginOf(loaded.database_id, loaded.wal_start), &loaded, {}, load_again);
  if (!salvaged) {
    attempt.problem = salvaged.error();
    return attempt;
  }
  if (!salvaged->wal.end_is_in_segment) attempt.released = released;
  attempt.is_prefix = salvaged->wal.flaws.empty();
  attempt.problem = attempt.is_prefix ? salvaged->wal.verdict : salvaged->wal.flaws.front();
  attempt.replayed = std::move(salvaged->replayed);
  attempt.replayed.wal = std::move(salvaged->wal.replayed);
  return attempt;
}

bool IsSame(const manifest::Loaded& a, const manifest::Loaded& b) {
  return a.manifest == b.manifest && a.next_file == b.next_file && a.next_position == b.next_position &&
         a.wal_start.epoch == b.wal_start.epoch && a.wal_start.position == b.wal_start.position &&
         a.wal_durable == b.wal_durable && a.wal_segments == b.wal_segments && a.clean_wal_end == b.clean_wal_end &&
         a.version->files() == b.version->files();
}

bool HasSameDamage(const manifest::Loaded& a, const manifest::Loaded& b) {
  return a.manifest == b.manifest && a.report == b.report && a.flaws == b.flaws && a.tail == b.tail;
}

std::string Place(const manifest::Loaded& loaded) {
  return format::PrintFileName(format::FileKind::kManifest, loaded.manifest) + ", epoch " +
         std::to_string(loaded.wal_start.epoch) + ", WAL from " + std::to_string(loaded.wal_start.position);
}

// Describes one attempt for Env::logger: enough to explain a wrong answer.
std::string Print(int number, const manifest::Loaded& loaded, const Attempt& attempt, const manifest::Loaded& again) {
  return "read-only open, attempt " + std::to_string(number) + ": " + Place(loaded) + " (sequence " +
         std::to_string(loaded.last_sequence) + ", flushed " + std::to_string(loaded.flushed_sequence) +
         "); WAL read to " + std::to_string(attempt.end()) + " (sequence " +
         std::to_string(attempt.replayed.last_sequence) + "); then " + Place(again) + "; " +
         attempt.problem.ToString() + (attempt.replayed.wal.report.empty() ? "" : "; " + attempt.replayed.wal.report);
}

// A read-only tree keeps the memtables of the replay.
Result<RecoveredTree> Show(Store& store, const manifest::Loaded& loaded, Replayed replayed) {
  ASSIGN_OR_RETURN(auto tree, TakeTree(store, loaded, loaded.next_file));
  RETURN_IF_ERROR(PublishReplayed(store, loaded, replayed).status());
  for (auto& memtable : replayed.memtables) tree->version_set.SwitchMemtable(std::move(memtable), loaded.wal_start);
  tree->version_set.SwitchMemtable(store.memtables->NewUntouchedMemtable(store.order), loaded.wal_start);
  return RecoveredTree{.tree = std::move(tree), .report = loaded.report + replayed.wal.report};
}

}  // namespace

bool IsOutrun(const Status& status) {
  return status.IsBusy() && status.message().find(kOutrun) != std::string_view::npos;
}

Status CheckNoRepairRuns(const Store& store) {
  const auto path_of = [&](format::FileKind kind) { return format::FilePath(store.directory, kind); };
  FileSystem& files = store.held->below();
  if (!files.SizeOf(path_of(format::FileKind::kRepair)) || !env::IsHeld(files, path_of(format::FileKind::kLock)))
    return {};
  return Status::Busy(
      store.directory +
      ": a repair of the database runs, or `mergedb verify` after a repair that was interrupted; open it again "
      "when the command has ended");
}

Result<RecoveredTree> RecoverReadOnly(Store& store, manifest::Loaded loaded) {
  FileSystem* const files = store.options.env.file_system;
  std::optional<Attempt> before;  // an attempt that was not clean, of the same epoch
  Status unreadable;
  bool is_unreadable_twice = false;  // the same error: damage
  for (int i = 0; i < kAttemptsMax; ++i) {
    Attempt now = Try(store, loaded);
    auto again = manifest::Load(files, store.directory, store.order, DescribeForeignFile);
    is_unreadable_twice = !again && again.error().ToString() == unreadable.ToString();
    unreadable = again.status();
    if (!again) continue;  // a writer may be replacing the MANIFEST
    if (Logger* const logger = store.options.env.logger) logger->Log(Print(i, loaded, now, *again));
    const bool is_outrun = again->wal_start.epoch != loaded.wal_start.epoch ||
                           (!loaded.report.empty() && !HasSameDamage(loaded, *again)) ||
                           (now.is_prefix ? now.IsPassedBy(again->wal_start) : !IsSame(loaded, *again));
    if (is_outrun) {
      before = std::nullopt;
    } else if (now.is_clean()) {
      return Show(store, loaded, std::move(now.replayed));
    } else if (!now.problem.ok() && !now.problem.IsCorruption() && !now.problem.IsNotFound()) {
      return now.problem;  // a file system error does not depend on the moment of reading
    } else if (before && before->is_prefix && now.is_prefix && now.problem.ok() && now.end() > before->end()) {
      now.replayed.wal.report.clear();  // frames above the end are newer than this open
      return Show(store, loaded, std::move(now.replayed));
    } else if (before && before->end() == now.end() && before->problem.message() == now.problem.message()) {
      RETURN_IF_ERROR(now.problem);
      return Show(store, loaded, std::move(now.replayed));
    } else {
      before = std::move(now);
      before->replayed.memtables.clear();
    }
    loaded = std::move(*again);
  }
  if (is_unreadable_twice) return unreadable;
  return Status::Busy(store.directory + std::string(kOutrun) + " (" + std::to_string(kAttemptsMax) +
                      " attempts); open again, or open a checkpoint that the writing process makes");
}

}  // namespace mergedb::db
