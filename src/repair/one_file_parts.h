// What the inspections of one file share (repair/one_file.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "env/held_files.h"
#include "repair/one_file.h"

namespace mergedb::repair {

inline std::string_view LastName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Checks the kind, opens the file, and sets name, bytes and the number that the name has.
Result<std::unique_ptr<File>> OpenOneFile(FileSystem* file_system, const std::string& path, OneFileKind kind,
                                          OneFile* report);
// Adds a damage.
Damage& Report(OneFile* report, uint64_t offset, uint64_t bytes, std::string_view what);
// Compares the number of the content with that of the name, if the name has one.
void TakeNumber(kv::FileNumber found, OneFile* report);
// Busy: a program has overwritten, removed or renamed the file while it was read.
Status WasReplaced(const std::string& path);
// If a program has the database open, waits long enough for a write that is in progress.
void PauseIfOpen(FileSystem* file_system, const std::string& path);
// Damage of `report` at a place where `again` has none becomes a note.
void KeepDamageOf(const OneFile& again, OneFile* report);

// Of a table or a blob file, which is never changed, but may be overwritten after it got another name: calls `inspect` with
// a file system that holds the file (env/hold.h). Busy instead of damage if the name is gone afterwards.
template <typename Inspect>
auto InspectHeld(FileSystem* file_system, const std::string& path, const Inspect& inspect)
    -> decltype(inspect(file_system)) {
  env::HeldFiles held(file_system, SIZE_MAX);
  held.Hold({path});
  const auto is_gone = [&] { return file_system->SizeOf(path).status().IsNotFound(); };
  if (is_gone()) held.Hold({});  // it may have been overwritten before it was held
  auto report = inspect(static_cast<FileSystem*>(&held));
  if (report && !report->file.damages.empty() && is_gone()) return WasReplaced(path);
  return report;
}

// Of a file that a program may append to or overwrite under its name. `inspect` returns a report: the first one, if it has no
// damage, or if a second one has damage at the same places. Bytes that a program is just writing look like damage once.
// `is_same`: both reports are of one state, or the second one goes on where the first one ends; else Busy.
template <typename Inspect, typename IsSame>
auto InspectUntilSame(FileSystem* file_system, const std::string& path, const Inspect& inspect, const IsSame& is_same)
    -> decltype(inspect(true)) {
  auto report = inspect(true);
  if (!report || report->file.damages.empty()) return report;
  PauseIfOpen(file_system, path);
  const auto again = inspect(false);
  if (!again && again.error().IsNotFound()) return WasReplaced(path);
  if (!again) return again.error();
  if (!is_same(*report, *again)) return WasReplaced(path);
  KeepDamageOf(again->file, &report->file);
  return report;
}

// The status of a file system, an open file or a visitor, but not damage.
inline bool IsFailure(const Status& status) { return !status.ok() && !status.IsCorruption(); }

}  // namespace mergedb::repair
