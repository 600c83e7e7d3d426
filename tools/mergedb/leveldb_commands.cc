// The verbs convert (from LevelDB's files) and export-leveldb (to them).
#include <cstdio>

#include "command.h"
#include "mergedb/leveldb.h"
#include "text.h"

namespace mergedb::tool {

namespace {

// Prints the messages of the conversion on stderr, one a line.
class StderrLogger final : public Logger {
 public:
  void Log(std::string_view line) override { std::fprintf(stderr, "mergedb: %s\n", ToLine(line).c_str()); }
};

int RunSalvage(const Arguments& arguments) {
  const auto report = RepairLevelDb({.memory_bytes = size_t{64} << 20}, arguments.directory, ShowProgress(arguments));
  if (!report) return Fail(report.error());
  for (const Damage& loss : report->losses) Print("lost: " + ToLine(ToText(loss)) + "\n");
  for (const std::string& action : report->actions) Print(ToLine(action) + "\n");
  for (const std::string& note : report->notes) Print(ToLine(note) + "\n");
  return report->losses.empty() ? kOk : kNo;
}

int RunConvert(Arguments& arguments) {
  const auto is_leveldb = IsLevelDb({}, arguments.directory);
  if (!is_leveldb) return Fail(is_leveldb.error());
  if (arguments.is_salvage) return RunSalvage(arguments);
  if (!*is_leveldb) {
    const auto db = DB::Open({.mode = OpenMode::kReadOnly, .memory_bytes = size_t{64} << 20}, arguments.directory);
    if (!db && db.error().IsNotSupported()) return Fail(db.error());  // for example RocksDB's files
    return Fail(kNo, arguments.directory + ": not a LevelDB database: there is nothing to convert");
  }
  StderrLogger logger;
  Options options{.mode = OpenMode::kMustExist, .memory_bytes = size_t{256} << 20};
  if (!arguments.is_quiet) options.env.logger = &logger;
  const auto db = DB::Open(options, arguments.directory);
  if (!db) return Fail(db.error());
  return Finish(**db, kOk);
}

int RunExport(Arguments& arguments) {
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  SkippedKeys skipped(arguments);
  LevelDbExportOptions options{.progress = ShowProgress(arguments)};
  if (arguments.is_skipping)
    options.on_failed_key = [&](std::string_view key, const Status& status) { skipped.Take(key, status); };
  if (arguments.is_default_alone || !arguments.keyspace.empty()) {
    const auto keyspace = KeyspaceOf(arguments, *db);
    if (!keyspace) return Finish(*db, Fail(keyspace.status()));
    options.keyspace = *keyspace;
  }
  const auto exported = ExportToLevelDb(*db, {}, arguments.words[0], options);
  options.progress = {};  // clears the progress line
  if (!exported)
    return Finish(*db, skipped.Finish(Fail(skipped.WithAdvice(exported.error(), exported.error().IsMergeFailed()))));
  Print(std::to_string(exported->entries) + " keys in " + std::to_string(exported->tables) + " tables, " +
        PrintBytes(exported->bytes) + "\n");
  return Finish(*db, skipped.Finish(kOk));
}

}  // namespace

void AddLevelDbCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* convert = AddVerb(
      app, context,
      {"convert", "convert DIR [--salvage] [--quiet]", "Make a LevelDB database one of mergedb, in place",
       "Opening it for writing does the same. Needs as much free space as the database has; interrupted or failed,\n"
       "LevelDB opens it as before. --salvage: take what is whole, say what is lost (exit code 1 then), and put\n"
       "LevelDB's files into DIR/lost.",
       0, 0, RunConvert});
  convert->add_flag("--salvage", arguments.is_salvage, "For a database that does not open");
  convert->add_flag("--quiet", arguments.is_quiet, "No progress on stderr");

  CLI::App* exporting = AddVerb(
      app, context,
      {"export-leveldb", "export-leveldb DIR TARGET [--keyspace NAME | --default-alone] [--skip-errors] [--quiet]",
       "Write the database as one that LevelDB opens",
       "TARGET must be new or empty. Merges are folded, deletes applied. It becomes a database at the last step;\n"
       "interrupted, run it again. LevelDB has no keyspaces: each is exported by itself.",
       1, 1, RunExport});
  AddKeyspace(exporting, arguments);
  exporting->add_flag("--default-alone", arguments.is_default_alone, "The default keyspace, although there are others");
  AddSkipErrors(exporting, arguments);
  exporting->add_flag("--quiet", arguments.is_quiet, "No progress on stderr");
}

}  // namespace mergedb::tool
