// The verb verify, which also works on a database that does not open.
#include "command.h"
#include "damage_report.h"
#include "text.h"

namespace mergedb::tool::verify_verb {
namespace {

struct Arguments : Line {
  bool is_json = false;
  bool is_quiet = false;
};

int Run(Arguments& arguments) {
  const auto report = Verify({.memory_bytes = size_t{64} << 20}, arguments.directory, ShowProgress(arguments.is_quiet));
  if (!report && report.error().IsBusy()) {
    return Fail(kError, report.error().ToString() + "; `mergedb check " + arguments.directory +
                            "` reads tables and blob files beside it");
  }
  if (!report) return Fail(report.error());
  if (arguments.is_json) {
    PrintJson({{"directory", arguments.directory},
               {"ok", report->damages.empty()},
               {"damages", DamagesJson(report->damages)},
               {"notes", report->notes},
               {"tables", report->tables},
               {"entries", report->entries},
               {"wal_frames", report->wal_frames},
               {"bytes", report->bytes}},
              2);
  } else {
    PrintList("damages", report->damages);
    PrintList("notes", report->notes);
    Print(PrintCount(report->tables, "table") + " with " + PrintCount(report->entries, "entry", "entries") + ", " +
          PrintCount(report->wal_frames, "WAL frame") + ", " + PrintBytes(report->bytes) +
          " read: " + (report->damages.empty() ? "no damage" : PrintCount(report->damages.size(), "damage")) + "\n");
  }
  return report->damages.empty() ? kOk : kNo;
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "verify DIR [--json] [--quiet]",
               .description = "List all damage, also if the database does not open; changes nothing",
               .footer = "Exit code 1 if there is damage. The database must not be open.",
               .examples = {"mergedb verify /srv/data", "mergedb verify /srv/data --json --quiet > report.json"}},
              Run);
  verb->add_flag("--json", arguments.is_json, "Print JSON");
  verb->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");
}

}  // namespace mergedb::tool::verify_verb
