// What a directory holds, what of it is damaged, and which description of the tree to believe. Reads only; Verify prints it,
// Repair acts on it.
//
//   CURRENT ──► MANIFEST ──► value files, tables (each byte, each reference) + log (each frame that replay needs)
//      any other MANIFEST, if that one is not whole
//         no MANIFEST: every table that is there, and what segment heads still say of the log
//
// WHY an older MANIFEST is believed only if all of its tables are there and its log replays to the end of the newest epoch: it
// then leads to the newest state, as after a crash. One that does not is history; to show it would lose everything since.
//
// Seam: whoever adds a kind of file looks at it in Inspect, before whatever refers to it, and says in Damage what its loss means.
// THREADS: one at a time. Tests: tests/unit/repair/, tests/flips/.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/recovery.h"
#include "format/file_name.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "manifest/loader.h"
#include "mergedb/care.h"
#include "repair/blob_files.h"
#include "table/salvage.h"
#include "wal/wal.h"

namespace mergedb::repair {

struct TableFinding {
  format::FileMetaPtr meta;  // what the MANIFEST says; without one what the file says; null: nobody says anything
  std::vector<format::CompactedRange> compacted_ranges;
  bool is_there = true;
  uint64_t entries = 0;                  // of its whole blocks
  kv::RangeTombstones range_tombstones;  // if something is damaged, but not they
  std::vector<table::Flaw> flaws;        // none, and there: its file is whole
  std::vector<Damage> lost_values;       // of the value files that it refers to
  bool refers_to_damaged = false;        // some of those are not whole
  bool is_whole() const { return is_there && flaws.empty() && !refers_to_damaged && lost_values.empty(); }
  bool loses_entries() const {
    return !lost_values.empty() ||
           std::any_of(flaws.begin(), flaws.end(), [](const auto& flaw) { return flaw.loses_entries; });
  }
  // Is there anything in it that can be saved?
  bool is_of_use() const { return is_there && (entries > 0 || !range_tombstones.empty()); }
};

struct Inspection {
  explicit Inspection(BlobFiles none_yet) : blob_files(std::move(none_yet)) {}

  std::vector<std::string> names;  // all in the directory
  db::Inventory inventory;
  bool has_marker = false;  // REPAIR is there

  std::optional<manifest::Current> current;       // what CURRENT says; none: it is missing or damaged
  std::optional<manifest::Loaded> loaded;         // what to believe; none: no MANIFEST can be
  bool is_current_right = false;                  // CURRENT names it
  std::map<kv::FileNumber, TableFinding> tables;  // those that it names; without it all that are there
  BlobFiles blob_files;                           // that the MANIFEST names; without it all that are there
  std::set<std::string> merge_operators;          // programs', that the operands in tables ask for; only without it

  std::optional<wal::Origin> origin;  // none: nothing can be read of the log
  wal::Salvaged log;
  bool is_log_whole() const { return origin && log.verdict.ok() && log.flaws.empty(); }

  VerifyReport report;
};

struct InspectionInput {
  FileSystem* file_system = nullptr;
  std::string directory;
  kv::Order order;
  const Progress& progress;
};
Result<Inspection> Inspect(const InspectionInput& input);

// NotFound unless the directory is there and holds some file of a database; InvalidArgument if that is one of LevelDB.
Status CheckIsDatabase(FileSystem* file_system, const std::string& directory);
// Nobody else has the database while this lives. Null, unless it may be created: there is no LOCK, or it cannot be written.
Result<std::unique_ptr<FileLock>> LockForCare(FileSystem* file_system, const std::string& directory, bool may_create);

}  // namespace mergedb::repair
