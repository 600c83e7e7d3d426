// Looking after a database that may be damaged. Verify finds all that is not as it was written, without changing a byte; Repair
// makes a database that opens out of what is whole, moves the rest aside and deletes nothing. Both work on a directory that
// DB::Open refuses.
//
//     auto found = mergedb::Verify({}, "/srv/data");
//     if (found && !found->damages.empty()) {
//       auto repaired = mergedb::Repair({}, "/srv/data", {.dry_run = true});      // what would be lost?
//       for (const auto& loss : repaired->losses) puts(mergedb::ToText(loss).c_str());
//     }
//
// docs/CARE.md says what is found, what is kept and what cannot be. THREADS: any; one call at a time on a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mergedb/export.h"
#include "mergedb/options.h"
#include "mergedb/result.h"

namespace mergedb {

// Bytes that are not as they were written, or are not there.
struct Damage {
  std::string file;            // its name in the directory, such as "000012.tbl"
  uint64_t offset = 0;         // of the first byte concerned
  uint64_t bytes = 0;          // how many; 0: not known, or the whole file
  std::string what;            // what was expected and what was found
  bool loses_entries = false;  // false: another copy is whole, or it can be made anew
  // The keys of the entries that may be lost, both ends included; a missing end is open.
  std::optional<std::string> smallest_key = {};
  std::optional<std::string> largest_key = {};
};
// "000012.tbl: offset 4096, 812 bytes: block: checksum: ...; keys \"a\" to \"m\" may be lost". One line; keys are escaped.
MERGEDB_EXPORT std::string ToText(const Damage& damage);

// Called now and then with bytes read so far and in all; false gives up (Aborted).
using Progress = std::function<bool(uint64_t bytes_done, uint64_t bytes_all)>;

struct VerifyReport {
  std::vector<Damage> damages;     // empty: the database is whole
  std::vector<std::string> notes;  // no damage: what the next open will drop or remove, files that are not ours
  uint64_t tables = 0;             // that were read
  uint64_t entries = 0;            // in them
  uint64_t log_frames = 0;         // that were read
  uint64_t bytes = 0;              // of all files that were read
};

// Read every byte that the database in `path` needs. An error only if that cannot be tried: NotFound (there is none), Busy (it is
// open: close it, or ask DB::CheckIntegrity), InvalidArgument (made with another comparator than options.comparator), NotSupported
// (a newer version made it), Aborted. Busy, too: the process has too many open files. Of the options only comparator,
// memory_bytes and env matter.
MERGEDB_EXPORT Result<VerifyReport> Verify(const Options& options, const std::string& path,
                                           const Progress& progress = {});

struct RepairOptions {
  bool dry_run = false;  // say what would be done and lost, and do nothing
  Progress progress = {};
};

struct RepairReport {
  std::vector<Damage> damages;       // as Verify finds them
  std::vector<Damage> losses;        // what was given up: those damages that lose entries
  std::vector<std::string> actions;  // what was done, or would be: "000012.tbl -> lost/000012.tbl", ...
  std::vector<std::string> notes;    // what to know about the result, such as older versions of keys that may show
  uint64_t entries_saved = 0;        // taken out of damaged tables, and of the log
};

// Make the database in `path` open again. What is damaged is moved to `path`/lost, with a report; a second call finds nothing to do.
// Interrupted at any point, it can be called again; until then nobody can open the database. Errors as Verify; Busy if the lock
// is held or the process has too many open files; IOError, NoSpace, Busy: nothing was lost, call it again.
MERGEDB_EXPORT Result<RepairReport> Repair(const Options& options, const std::string& path,
                                           const RepairOptions& repair = {});

}  // namespace mergedb
