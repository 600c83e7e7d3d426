// The verbs verify and repair. Both also work on a database that does not open.
#include <cstdio>

#include "command.h"
#include "file_report.h"
#include "text.h"

namespace mergedb::tool {

namespace {

nlohmann::ordered_json ToJson(const std::vector<Damage>& damages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Damage& damage : damages) {
    list.push_back({{"file", damage.file}});
    list.back().update(DamageJson(damage));
  }
  return list;
}

void PrintList(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  Print(std::string(title) + ":\n");
  for (const std::string& line : lines) Print("  " + ToLine(line) + "\n");
}

std::vector<std::string> Texts(const std::vector<Damage>& damages) {
  std::vector<std::string> texts;
  for (const Damage& damage : damages) texts.push_back(ToText(damage));
  return texts;
}

int Flush(int exit) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
  return Fail(kError, "cannot write to stdout");
}

int RunVerify(Arguments& arguments) {
  const auto report = Verify({.memory_bytes = size_t{64} << 20}, arguments.directory, ShowProgress(arguments));
  if (!report && report.error().IsBusy()) {
    return Fail(kError, report.error().ToString() + "; `mergedb check " + arguments.directory +
                            "` reads tables and blob files beside it");
  }
  if (!report) return Fail(report.error());
  if (arguments.is_json) {
    PrintJson({{"directory", arguments.directory},
               {"ok", report->damages.empty()},
               {"damages", ToJson(report->damages)},
               {"notes", report->notes},
               {"tables", report->tables},
               {"entries", report->entries},
               {"wal_frames", report->wal_frames},
               {"bytes", report->bytes}},
              2);
  } else {
    PrintList("damages", Texts(report->damages));
    PrintList("notes", report->notes);
    Print(std::to_string(report->tables) + " tables with " + std::to_string(report->entries) + " entries, " +
          std::to_string(report->wal_frames) + " WAL frames, " + PrintBytes(report->bytes) + " read: " +
          (report->damages.empty() ? "no damage\n" : std::to_string(report->damages.size()) + " damages\n"));
  }
  return Flush(report->damages.empty() ? kOk : kNo);
}

int RunRepair(Arguments& arguments) {
  const auto report = Repair({.memory_bytes = size_t{64} << 20}, arguments.directory,
                             {.dry_run = arguments.is_dry, .progress = ShowProgress(arguments)});
  if (!report) return Fail(report.error());
  if (arguments.is_json) {
    PrintJson({{"directory", arguments.directory},
               {"dry_run", arguments.is_dry},
               {"damages", ToJson(report->damages)},
               {"losses", ToJson(report->losses)},
               {"actions", report->actions},
               {"notes", report->notes},
               {"entries_saved", report->entries_saved}},
              2);
  } else {
    PrintList("damages", Texts(report->damages));
    PrintList(arguments.is_dry ? "would be lost" : "lost", Texts(report->losses));
    PrintList(arguments.is_dry ? "actions that a repair would take" : "actions", report->actions);
    PrintList("notes", report->notes);
    Print(report->damages.empty()  ? "no damage: nothing to repair\n"
          : arguments.is_dry       ? "nothing was changed\n"
          : report->losses.empty() ? "repaired; nothing was lost\n"
                                   : "repaired; the damaged files are in " + ToText(arguments.directory) + "/lost\n");
  }
  return Flush(report->losses.empty() ? kOk : kNo);
}

}  // namespace

void AddRepairCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* verify = AddVerb(app, context,
                             {"verify", "verify DIR [--json] [--quiet]",
                              "List all damage, also if the database does not open; changes nothing",
                              "Exit code 1 if there is damage. The database must not be open.", 0, 0, RunVerify});
  verify->add_flag("--json", arguments.is_json, "Print JSON");
  verify->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");

  CLI::App* repair = AddVerb(
      app, context,
      {"repair", "repair DIR [--dry-run] [--json] [--quiet]", "Repair a damaged database: keep all intact entries",
       "Damaged files move to DIR/lost, with a report; no file is deleted. If the repair is interrupted, run it "
       "again.\n"
       "Exit code 1 if entries are lost; with --dry-run, if they would be lost.",
       0, 0, RunRepair});
  repair->add_flag("--dry-run", arguments.is_dry, "Print the actions and the losses; change nothing");
  repair->add_flag("--json", arguments.is_json, "Print JSON");
  repair->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");
}

}  // namespace mergedb::tool
