// The whole command line: the options of the command itself, and all verbs. The command parses it; man pages and
// completions are written from it (pages.cc).
#include "command.h"
#include "mergedb/c.h"

namespace mergedb::tool {

void AddVerbs(CLI::App& app, Context& context) {
  app.set_version_flag("--version", std::string("mergedb ") + mergedb_version());
  app.add_option("--db", context.arguments.directory, "The database directory")->check(NotEmpty());
  app.require_subcommand(1);
  app.footer(
      "`mergedb VERB --help` prints the options of a verb. Data goes to stdout, messages to stderr.\n"
      "Exit codes: 0 ok, 1 not found or failed check, 2 usage, 3 error, 4 --skip-errors left keys out.\n"
      "A key that begins with a dash goes after --: mergedb get DIR -- -key");
  AddDataCommands(app, context);
  AddLoadCommand(app, context);
  AddCopyCommands(app, context);
  AddMergeCommand(app, context);
  AddInspectCommands(app, context);
  AddMaintenanceCommands(app, context);
  AddRepairCommands(app, context);
  AddLevelDbCommands(app, context);
  AddKeyspaceCommands(app, context);
  AddTableCommand(app, context);
  AddBlobCommand(app, context);
  AddWalCommand(app, context);
  AddManifestCommand(app, context);
  AddMetricsCommands(app, context);
  AddInspectPageCommand(app, context);
  AddEstimateCommand(app, context);
  AddTopCommand(app, context);
  AddWhyCommand(app, context);
  AddTraceCommand(app, context);
  AddDoctorCommand(app, context);
  AddExamples(app);
}

}  // namespace mergedb::tool
