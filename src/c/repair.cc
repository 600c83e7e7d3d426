// The C interface of verify and repair. A report is a handle, and its lists are read line by line.
#include "mergedb/repair.h"

#include <string>
#include <utility>
#include <vector>

#include "c/interface.h"
#include "c/options.h"

namespace mergedb::c {
namespace {

// Constant after Give.
struct ReportHolder final : Object {
  static constexpr HandleKind kKind = HandleKind::kReport;

  std::vector<Damage> damages;
  std::vector<Damage> losses;
  std::vector<std::string> lists[4];  // by MERGEDB_DAMAGES, ...: as text
  mergedb_report_totals totals{};
};

mergedb_slice SliceOf(const std::optional<std::string>& key) { return key ? c::SliceOf(*key) : mergedb_slice{}; }

// Makes the handle of a report. `report` has all its lists except the texts of damages and losses.
Status Give(std::unique_ptr<ReportHolder> report, mergedb_report* handle) {
  for (const Damage& each : report->damages) report->lists[MERGEDB_DAMAGES].push_back(ToText(each));
  for (const Damage& each : report->losses) report->lists[MERGEDB_LOSSES].push_back(ToText(each));
  mergedb_report_totals& totals = report->totals;
  totals.struct_size = sizeof totals;
  totals.damages = report->damages.size();
  totals.losses = report->losses.size();
  totals.actions = report->lists[MERGEDB_ACTIONS].size();
  totals.notes = report->lists[MERGEDB_NOTES].size();
  return GiveHandle(HandleKind::kReport, std::move(report), handle);
}

// Checks options and pointers, sets *report to 0 and calls `body(options, report's holder)`. If it returns OK,
// makes the handle.
template <typename Body>
mergedb_code Look(const char* path, const mergedb_repair_options* given, mergedb_report* report, mergedb_error* error,
                  Body body) {
  Clear(report);
  return Call(error, [&]() -> Status {
    Borrowed borrowed;
    DecodedRepair decoded;
    RETURN_IF_ERROR(DecodeRepairOptions(given, &decoded, &borrowed));
    RETURN_IF_ERROR(CheckPointer(path, "path"));
    RETURN_IF_ERROR(CheckPointer(report, "report"));
    auto holder = std::make_unique<ReportHolder>();
    RETURN_IF_ERROR(body(decoded, holder.get()));
    return Give(std::move(holder), report);
  });
}

template <typename Element>
Status CheckIndex(const std::vector<Element>& list, size_t index) {
  return index < list.size() ? Status::Ok() : Status::Make(Code::kNotFound, {});
}

}  // namespace
}  // namespace mergedb::c

using namespace mergedb;
using namespace mergedb::c;

extern "C" {

mergedb_code mergedb_verify(const char* path, const mergedb_repair_options* options, mergedb_report* report,
                            mergedb_error* error) {
  return Look(path, options, report, error, [&](const DecodedRepair& decoded, ReportHolder* holder) -> Status {
    ASSIGN_OR_RETURN(VerifyReport found, Verify(decoded.options, path, decoded.repair.progress));
    holder->damages = std::move(found.damages);
    holder->lists[MERGEDB_NOTES] = std::move(found.notes);
    holder->totals.tables = found.tables;
    holder->totals.entries = found.entries;
    holder->totals.wal_frames = found.wal_frames;
    holder->totals.bytes = found.bytes;
    return Status::Ok();
  });
}

mergedb_code mergedb_repair(const char* path, const mergedb_repair_options* options, mergedb_report* report,
                            mergedb_error* error) {
  return Look(path, options, report, error, [&](const DecodedRepair& decoded, ReportHolder* holder) -> Status {
    ASSIGN_OR_RETURN(RepairReport done, Repair(decoded.options, path, decoded.repair));
    holder->damages = std::move(done.damages);
    holder->losses = std::move(done.losses);
    holder->lists[MERGEDB_ACTIONS] = std::move(done.actions);
    holder->lists[MERGEDB_NOTES] = std::move(done.notes);
    holder->totals.entries_saved = done.entries_saved;
    return Status::Ok();
  });
}

mergedb_code mergedb_report_text(mergedb_report report, int32_t list, size_t index, const char** text,
                                 mergedb_error* error) {
  Clear(text);
  return On<ReportHolder>(report, error, [&](ReportHolder& holder) {
    RETURN_IF_ERROR(CheckPointer(text, "text"));
    if (list < MERGEDB_DAMAGES || list > MERGEDB_NOTES)
      return Status::InvalidArgument("list is " + std::to_string(list) + ", expected 0 to 3");
    RETURN_IF_ERROR(CheckIndex(holder.lists[list], index));
    *text = holder.lists[list][index].c_str();
    return Status::Ok();
  });
}

mergedb_code mergedb_report_damage(mergedb_report report, int32_t list, size_t index, mergedb_damage* damage,
                                   mergedb_error* error) {
  return On<ReportHolder>(report, error, [&](ReportHolder& holder) {
    RETURN_IF_ERROR(CheckPointer(damage, "damage"));
    RETURN_IF_ERROR(CheckRoom(damage->struct_size, sizeof(mergedb_damage), "mergedb_damage"));
    if (list != MERGEDB_DAMAGES && list != MERGEDB_LOSSES)
      return Status::InvalidArgument("list is " + std::to_string(list) + ", expected 0 or 1");
    const std::vector<Damage>& all = list == MERGEDB_DAMAGES ? holder.damages : holder.losses;
    RETURN_IF_ERROR(CheckIndex(all, index));
    const Damage& each = all[index];
    *damage = {.struct_size = damage->struct_size,
               .file = each.file.c_str(),
               .what = each.what.c_str(),
               .offset = each.offset,
               .bytes = each.bytes,
               .loses_entries = each.loses_entries,
               .has_smallest_key = each.smallest_key.has_value(),
               .has_largest_key = each.largest_key.has_value(),
               .reserved = 0,
               .smallest_key = SliceOf(each.smallest_key),
               .largest_key = SliceOf(each.largest_key)};
    return Status::Ok();
  });
}

mergedb_code mergedb_report_count(mergedb_report report, mergedb_report_totals* totals, mergedb_error* error) {
  return On<ReportHolder>(report, error, [&](ReportHolder& holder) {
    RETURN_IF_ERROR(CheckPointer(totals, "totals"));
    RETURN_IF_ERROR(CheckRoom(totals->struct_size, sizeof(mergedb_report_totals), "mergedb_report_totals"));
    const size_t struct_size = totals->struct_size;
    *totals = holder.totals;
    totals->struct_size = struct_size;
    return Status::Ok();
  });
}

mergedb_code mergedb_report_close(mergedb_report report, mergedb_error* error) {
  return CloseHandle(report, HandleKind::kReport, error);
}

}  // extern "C"
