// What the inspections of one file share (repair/one_file.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "env/held_files.h"
#include "repair/one_file.h"

namespace mergedb::repair {

// Checks the kind, opens the file, and sets name, bytes and the number that the name has.
Result<std::unique_ptr<File>> OpenOneFile(FileSystem* file_system, const std::string& path, OneFileKind kind,
                                          OneFile* report);
// Adds a damage.
Damage& Report(OneFile* report, uint64_t offset, uint64_t bytes, std::string_view what);
// Compares the number of the content with that of the name, if the name has one.
void TakeNumber(kv::FileNumber found, OneFile* report);

// ---- beside a program that writes
//
// A program that has the database open may be filling the file, or overwriting it for another use, while it is read:
// that looks like damage. So damage counts only if a second look finds it at the same place, and, while a program has
// the database open, only in a file that the MANIFEST names:
//
//     look ─► no damage ─► the report
//          └► somebody has the database open, and CURRENT or the MANIFEST does not name the file ─► Busy
//             else: look again ─► damage at the same places ─► the report, with this damage
//                              └► else ─► Busy

// True if a process has locked the database in the file's directory.
bool IsOpen(FileSystem* file_system, const std::string& path);
// Busy if the newest MANIFEST does not name a table, a blob file or a segment, or CURRENT a MANIFEST, or if that is not
// known.
Status CheckIsNamed(FileSystem* file_system, const std::string& path);
void WaitForAWrite();
Status WasWritten(const std::string& path);
// Keeps the damage of `report` at places where `again` has damage, too. False: there is none.
bool KeepCommonDamage(const OneFile& again, OneFile* report);

// `inspect(is_first, is_open)` returns a report. `confirm(again, &report)` keeps the damage of the report that the
// second one confirms; false: none, or the file has changed.
template <typename Inspect, typename Confirm>
auto InspectTwice(FileSystem* file_system, const std::string& path, const Inspect& inspect, const Confirm& confirm)
    -> decltype(inspect(true, true)) {
  const bool was_open = IsOpen(file_system, path);
  auto report = inspect(true, was_open);
  // A file of another kind: a file that is overwritten has the bytes of its earlier use first.
  const bool is_doubtful = report ? !report->file.damages.empty() : report.error().IsInvalidArgument();
  if (!is_doubtful) return report;
  const bool is_open = was_open || IsOpen(file_system, path);
  if (is_open) RETURN_IF_ERROR(CheckIsNamed(file_system, path));
  if (is_open) WaitForAWrite();
  const auto again = inspect(false, is_open);
  if (!again) return again.error().IsNotFound() ? WasWritten(path) : again.error();
  if (!report || !confirm(*again, &*report)) return WasWritten(path);
  return report;
}

// Of a table or a blob file: `inspect(file_system, is_first)` reads through a file system that holds the file
// (env/hold.h).
template <typename Inspect>
auto InspectHeld(FileSystem* file_system, const std::string& path, const Inspect& inspect)
    -> decltype(inspect(file_system, true)) {
  env::HeldFiles held(file_system, SIZE_MAX);
  return InspectTwice(
      file_system, path,
      [&](bool is_first, bool) {
        held.Hold({});  // the name may be another file now
        held.Hold({path});
        // A file that lost its name before it was held may have been overwritten.
        if (file_system->SizeOf(path).status().IsNotFound()) held.Hold({});
        return inspect(static_cast<FileSystem*>(&held), is_first);
      },
      [](const auto& again, auto* report) { return KeepCommonDamage(again.file, &report->file); });
}

// The status of a file system, an open file or a visitor, but not damage.
inline bool IsFailure(const Status& status) { return !status.ok() && !status.IsCorruption(); }

}  // namespace mergedb::repair
