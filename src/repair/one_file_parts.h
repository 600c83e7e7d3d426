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
// ---- beside a program that writes
//
// A program that has the database open may be filling the file, or overwriting it for another use, while it is read: that
// looks like damage. So damage counts then only if the database needs the file and a second look finds it at the same place:
//
//     look ─► no damage, or nobody has the database open ─► the report
//          └► CURRENT and the MANIFEST do not name the file ─► Busy
//             they do: look again ─► damage at the same places ─► the report, with this damage
//                                 └► else ─► Busy

// A file that is overwritten has the bytes of its earlier use first.
inline bool IsOfOtherKind(const Status& status) { return status.IsInvalidArgument() || status.IsNotSupported(); }
// True if a process has locked the database in the file's directory.
bool IsOpen(FileSystem* file_system, const std::string& path);
// Busy if the newest MANIFEST does not name a table or a blob file, or CURRENT a MANIFEST. OK also if that is not known.
Status CheckIsNamed(FileSystem* file_system, const std::string& path);
void WaitForAWrite();
// Keeps the damage of `report` at places where `again` has damage, too. Busy if there is none.
Status KeepCommonDamage(const std::string& path, const OneFile& again, OneFile* report);
Status WasWritten(const std::string& path);

// `inspect(is_first, is_open)` returns a report. `is_same(first, again)`: both are of one state of the file.
template <typename Inspect, typename IsSame>
auto InspectBesideWriters(FileSystem* file_system, const std::string& path, const Inspect& inspect,
                          const IsSame& is_same) -> decltype(inspect(true, true)) {
  const bool was_open = IsOpen(file_system, path);
  auto report = inspect(true, was_open);
  const bool is_doubtful = report ? !report->file.damages.empty() : IsOfOtherKind(report.error());
  if (!is_doubtful || (!was_open && !IsOpen(file_system, path))) return report;
  RETURN_IF_ERROR(CheckIsNamed(file_system, path));
  if (!report) return report;
  WaitForAWrite();
  const auto again = inspect(false, true);
  if (!again) return again.error().IsNotFound() ? WasWritten(path) : again.error();
  if (!is_same(*report, *again)) return WasWritten(path);
  RETURN_IF_ERROR(KeepCommonDamage(path, again->file, &report->file));
  return report;
}

// Of a table or a blob file: `inspect(file_system, is_first)` reads through a file system that holds the file (env/hold.h).
template <typename Inspect>
auto InspectHeld(FileSystem* file_system, const std::string& path, const Inspect& inspect)
    -> decltype(inspect(file_system, true)) {
  env::HeldFiles held(file_system, SIZE_MAX);
  held.Hold({path});
  // A file that has lost its name before it was held may have been overwritten.
  if (file_system->SizeOf(path).status().IsNotFound()) held.Hold({});
  return InspectBesideWriters(
      file_system, path, [&](bool is_first, bool) { return inspect(static_cast<FileSystem*>(&held), is_first); },
      [](const auto&, const auto&) { return true; });
}

// The status of a file system, an open file or a visitor, but not damage.
inline bool IsFailure(const Status& status) { return !status.ok() && !status.IsCorruption(); }

}  // namespace mergedb::repair
