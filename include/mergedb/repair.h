// Verify and repair of a database that may be damaged. Verify finds all damage and changes no byte. Repair
// makes a database that opens from the intact data, moves the other files to `lost` and deletes nothing. Both
// work on a directory that DB::Open refuses.
//
//     auto found = mergedb::Verify({}, "/srv/data");
//     if (found && !found->damages.empty()) {
//       auto repaired = mergedb::Repair({}, "/srv/data", {.dry_run = true});      // what would be lost?
//       for (const auto& loss : repaired->losses) puts(mergedb::ToText(loss).c_str());
//     }
//
// docs/verify-and-repair.md says what Verify finds, what Repair keeps and what cannot be saved.
// THREADS: any thread; one call at a time on a directory.
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

// A damage: bytes that are missing or differ from the bytes that were written.
struct Damage {
  std::string file;            // file name in the directory, such as "000012.tbl"
  uint64_t offset = 0;         // offset of the first damaged byte
  uint64_t bytes = 0;          // number of damaged bytes; 0: unknown, or the whole file
  std::string what;            // what was expected and what was found
  bool loses_entries = false;  // false: another copy is intact, or the bytes can be rebuilt
  // The keys of the entries that may be lost, both bounds inclusive. Without a value: that bound is open.
  std::optional<std::string> smallest_key = {};
  std::optional<std::string> largest_key = {};
};
// One line for people, keys escaped: "000012.tbl: offset 4096, 812 bytes: block: checksum: ...; entries of
// keys from \"a\" to \"m\" may be lost".
MERGEDB_EXPORT std::string ToText(const Damage& damage);

// Called from time to time, by the calling thread, with the bytes read so far and the total. If it returns
// false, the call ends with Aborted.
using Progress = std::function<bool(uint64_t bytes_done, uint64_t bytes_all)>;

struct VerifyReport {
  std::vector<Damage> damages;     // empty: the database is intact
  std::vector<std::string> notes;  // not damage: files that the next open removes, unfinished records, foreign files
  uint64_t tables = 0;             // tables read
  uint64_t entries = 0;            // entries in these tables
  uint64_t wal_frames = 0;         // WAL frames read
  uint64_t bytes = 0;              // bytes of all files read
};

// Reads every byte that the database in `path` needs. The call returns an error only if it cannot do that:
// NotFound (no database), Busy (the database is open: close it, or use DB::CheckIntegrity; or the process has
// too many open files), InvalidArgument (the database has another comparator than options.comparator, or
// belongs to LevelDB), NotSupported (a newer version or RocksDB made the database), IOError (a file exists and cannot
// be opened, for example for lack of permission), Aborted. Of the options only comparator and env are used.
MERGEDB_EXPORT Result<VerifyReport> Verify(const Options& options, const std::string& path,
                                           const Progress& progress = {});

struct RepairOptions {
  bool dry_run = false;  // true: report what Repair would do and lose, and change nothing
  Progress progress = {};
};

struct RepairReport {
  std::vector<Damage> damages;       // the damages that Verify finds
  std::vector<Damage> losses;        // the damages that lose entries
  std::vector<std::string> actions;  // what Repair did, or would do: "000012.tbl -> lost/000012.tbl", ...
  std::vector<std::string> notes;    // facts about the result, such as older versions of keys that may show again
  uint64_t entries_saved = 0;        // entries saved from damaged tables and from the WAL
};

// Repairs the database in `path` so that it opens again. Repair moves damaged files to `path`/lost and writes
// a report there. A second call finds nothing to do. If the repair is interrupted at any point, call it
// again; until it is complete, DB::Open refuses the directory.
// Errors as Verify, then nothing was changed. Also Busy if the lock is held or the process has too many open files,
// IOError, NoSpace: after an error nothing is lost; call it again.
MERGEDB_EXPORT Result<RepairReport> Repair(const Options& options, const std::string& path,
                                           const RepairOptions& repair = {});

}  // namespace mergedb
