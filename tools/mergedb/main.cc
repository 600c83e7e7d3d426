// The mergedb command. Exit codes: 0 ok, 1 not found or failed check, 2 usage, 3 error.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "command.h"
#include "mergedb/c.h"
#include "text.h"

namespace mergedb::tool {

namespace {

int Run(int argc, char** argv) {
  CLI::App app("Look into and change a mergedb database.", "mergedb");
  Context context;
  app.set_version_flag("--version", std::string("mergedb ") + mergedb_version());
  app.add_option("--db", context.arguments.directory, "The database directory");
  app.require_subcommand(1);
  app.footer(
      "`mergedb VERB --help` tells more. Data goes to stdout, messages to stderr.\n"
      "Exit codes: 0 ok, 1 not found or failed check, 2 usage, 3 error.\n"
      "A key that begins with a dash goes after --, as in: mergedb get DIR -- -key");
  AddDataCommands(app, context);
  AddMergeCommand(app, context);
  AddInspectCommands(app, context);
  AddCareCommands(app, context);
  AddDamageCommands(app, context);
  AddLevelDbCommands(app, context);
  // WHY not left to CLI11: it gives what follows "--" after a verb to nobody.
  char** const end = argv + argc;
  char** const mark = std::find_if(argv, end, [](const char* word) { return std::strcmp(word, "--") == 0; });
  if (mark != end) context.arguments.tail.assign(mark + 1, end);
  try {
    app.parse(static_cast<int>(mark - argv), argv);
    return context.run();
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::RequiredError& error) {
    const std::vector<std::string> unknown = app.remaining();
    return Fail(kUsage, (unknown.empty() ? error.what() : "no verb is called " + unknown.front()) +
                            std::string(" (see mergedb --help)"));
  } catch (const CLI::ParseError& error) {
    return Fail(kUsage, std::string(error.what()) + " (see mergedb --help)");
  }
}

}  // namespace

}  // namespace mergedb::tool

int main(int argc, char** argv) {
  try {
    return mergedb::tool::Run(argc, argv);
  } catch (const std::exception& exception) {  // out of memory
    std::fprintf(stderr, "mergedb: %s\n", exception.what());
    return mergedb::tool::kError;
  }
}
