// A read-only open takes no lock: another process may be writing meanwhile. It reads MANIFEST, STAGING and segments at different moments,
// while the writer commits edits, drains the ring and uses segments again. The open shows every write that was acknowledged before it
// began, or fails.
//
//   read        MANIFEST ── STAGING ── list of segments ── segments, along the chain ── MANIFEST again
//
// A frame that was staged before the open and is gone from STAGING is in a segment: the ring is used again only behind the drain, so
// STAGING is read first. A segment that was used again is needed no more by the MANIFEST of then: if the log start of the second MANIFEST
// is beyond the end of the chain, or of another epoch, the attempt says nothing.
//
// Where the chain ends with frames above it, a writer may just have put them there, or the log may be damaged. A second attempt decides:
// damage is still in the same place, a writer has got on. The same goes for a MANIFEST with an unfinished record, or a damaged copy of one: a
// read beside a write may see half of what is written. Tests: tests/race/read_only_race_test.cc.
#include <optional>
#include <utility>

#include "base/zoo.h"
#include "db/db_impl.h"
#include "format/file_name.h"

namespace mergedb::db {
namespace {

constexpr int kAttemptsMax = 50;

struct Attempt {
  Status problem;  // of the files or of the log
  bool is_prefix = false;  // the tree's files are there, and the log is whole up to `replayed.log.end`
  Replayed replayed;
  uint64_t end() const { return replayed.log.end.position; }
  bool is_clean() const { return problem.ok() && replayed.log.report.empty(); }
};

Status CheckTree(Store& store, const manifest::Loaded& loaded) {
  FileSystem* const files = store.options.env.file_system;
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(files, store.directory));
  RETURN_IF_ERROR(AdoptFiles(files, store.directory, inventory, &loaded, false).status());
  if (inventory.has_repair_marker) return InterruptedRepair(store.directory);
  return CheckFiles(files, store.directory, *loaded.version);
}

Attempt Try(Store& store, const manifest::Loaded& loaded) {
  Attempt attempt;
  attempt.problem = CheckTree(store, loaded);
  if (!attempt.problem.ok()) return attempt;
  auto salvaged = SalvageLog(store, log::OriginOf(loaded.database_id, loaded.log_start), &loaded, {});
  if (!salvaged) {
    attempt.problem = salvaged.error();
    return attempt;
  }
  attempt.is_prefix = salvaged->log.flaws.empty();
  attempt.problem = attempt.is_prefix ? salvaged->log.verdict : salvaged->log.flaws.front();
  attempt.replayed = std::move(salvaged->replayed);
  attempt.replayed.log = std::move(salvaged->log.replayed);
  return attempt;
}

bool IsSame(const manifest::Loaded& a, const manifest::Loaded& b) {
  return a.manifest == b.manifest && a.next_file == b.next_file && a.next_position == b.next_position &&
         a.log_start.epoch == b.log_start.epoch && a.log_start.position == b.log_start.position &&
         a.log_durable == b.log_durable && a.log_segments == b.log_segments && a.clean_log_end == b.clean_log_end &&
         a.version->files() == b.version->files();
}

bool HasSameDamage(const manifest::Loaded& a, const manifest::Loaded& b) {
  return a.manifest == b.manifest && a.report == b.report && a.flaws == b.flaws && a.tail == b.tail;
}

std::string Place(const manifest::Loaded& loaded) {
  return format::PrintFileName(format::FileKind::kManifest, loaded.manifest) + ", epoch " + std::to_string(loaded.log_start.epoch) +
         ", log from " + std::to_string(loaded.log_start.position);
}

// One attempt, for Env::logger: enough to explain a wrong answer.
std::string Print(int number, const manifest::Loaded& loaded, const Attempt& attempt, const manifest::Loaded& again) {
  return "read-only open, attempt " + std::to_string(number) + ": " + Place(loaded) + " (sequence " + std::to_string(loaded.last_sequence) +
         ", flushed " + std::to_string(loaded.flushed_sequence) + "); log read to " + std::to_string(attempt.end()) + " (sequence " +
         std::to_string(attempt.replayed.last_sequence) + "); then " + Place(again) + "; " + attempt.problem.ToString() +
         (attempt.replayed.log.report.empty() ? "" : "; " + attempt.replayed.log.report);
}

}  // namespace

Status DbImpl::RecoverReadOnly(manifest::Loaded loaded) {
  FileSystem* const files = store_->options.env.file_system;
  std::optional<Attempt> before;  // not clean, of the same epoch
  Status unreadable;
  for (int i = 0; i < kAttemptsMax; ++i) {
    Attempt now = Try(*store_, loaded);
    if (ZOO(kReadOnlyLooksOnce) && now.is_prefix) return ShowReadOnly(loaded, std::move(now.replayed));
    auto again = manifest::Load(files, store_->directory, store_->order);
    unreadable = again.status();
    if (!again) continue;  // a writer may be replacing the MANIFEST
    if (Logger* const logger = store_->options.env.logger) logger->Log(Print(i, loaded, now, *again));
    const bool is_outrun = again->log_start.epoch != loaded.log_start.epoch ||
                           (!loaded.report.empty() && !HasSameDamage(loaded, *again)) ||
                           (now.is_prefix ? again->log_start.position > now.end() : !IsSame(loaded, *again));
    if (is_outrun) {
      before = std::nullopt;
    } else if (now.is_clean()) {
      return ShowReadOnly(loaded, std::move(now.replayed));
    } else if (!now.problem.ok() && !now.problem.IsCorruption() && !now.problem.IsNotFound()) {
      return now.problem;  // of the file system, and no question of when a file was read
    } else if (before && before->is_prefix && now.is_prefix && now.problem.ok() && now.end() > before->end()) {
      now.replayed.log.report.clear();  // what stands above the end is newer than this open
      return ShowReadOnly(loaded, std::move(now.replayed));
    } else if (before && before->end() == now.end() && before->problem.message() == now.problem.message()) {
      RETURN_IF_ERROR(now.problem);
      return ShowReadOnly(loaded, std::move(now.replayed));
    } else {
      before = std::move(now);
      before->replayed.memtables.clear();
    }
    loaded = std::move(*again);
  }
  RETURN_IF_ERROR(unreadable);
  return Status::Busy(store_->directory + ": another process writes faster than a read-only open can follow (" +
                      std::to_string(kAttemptsMax) + " attempts); open again, or make a checkpoint in the writing process and open that");
}

Status DbImpl::ShowReadOnly(const manifest::Loaded& loaded, Replayed replayed) {
  RETURN_IF_ERROR(TakeTree(loaded, loaded.next_file));
  kv::Sequence last = 0;
  RETURN_IF_ERROR(TakeLog(loaded, replayed, &last));
  for (auto& memtable : replayed.memtables) shape_->Seal(std::move(memtable), loaded.log_start);
  shape_->Seal(store_->memtables->NewMemtable(store_->order), loaded.log_start);
  return {};
}

}  // namespace mergedb::db
