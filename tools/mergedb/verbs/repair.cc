// The verb repair, which also works on a database that does not open.
#include "command.h"
#include "damage_report.h"
#include "text.h"

namespace mergedb::tool::repair_verb {
namespace {

struct Arguments : Line {
  bool is_dry = false;
  bool is_json = false;
  bool is_quiet = false;
};

int Run(Arguments& arguments) {
  const auto report = Repair({.memory_bytes = size_t{64} << 20}, arguments.directory,
                             {.dry_run = arguments.is_dry, .progress = ShowProgress(arguments.is_quiet)});
  if (!report) return Fail(report.error());
  if (arguments.is_json) {
    PrintJson({{"directory", arguments.directory},
               {"dry_run", arguments.is_dry},
               {"damages", DamagesJson(report->damages)},
               {"losses", DamagesJson(report->losses)},
               {"actions", report->actions},
               {"notes", report->notes},
               {"entries_saved", report->entries_saved}},
              2);
  } else {
    PrintList("damages", report->damages);
    PrintList(arguments.is_dry ? "would be lost" : "lost", report->losses);
    PrintList(arguments.is_dry ? "actions that a repair would take" : "actions", report->actions);
    PrintList("notes", report->notes);
    Print(report->damages.empty()  ? "no damage: nothing to repair\n"
          : arguments.is_dry       ? "nothing was changed\n"
          : report->losses.empty() ? "repaired; nothing was lost\n"
                                   : "repaired; the damaged files are in " + ToText(arguments.directory) + "/lost\n");
  }
  return report->losses.empty() ? kOk : kNo;
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "repair DIR [--dry-run] [--json] [--quiet]",
               .description = "Repair a damaged database: keep all intact entries",
               .footer = "Damaged files move to DIR/lost, with a report; no file is deleted. If the repair is "
                         "interrupted, run it again.\n"
                         "Exit code 1 if entries are lost; with --dry-run, if they would be lost.",
               .examples = {"mergedb repair /srv/data --dry-run", "mergedb repair /srv/data"}},
              Run);
  verb->add_flag("--dry-run", arguments.is_dry, "Print the actions and the losses; change nothing");
  verb->add_flag("--json", arguments.is_json, "Print JSON");
  verb->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");
}

}  // namespace mergedb::tool::repair_verb
