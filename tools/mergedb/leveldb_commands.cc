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
    const auto db = OpenToRead(arguments.directory);
    // RocksDB's or LMDB's files, a damaged database of LevelDB or mergedb, or a directory that cannot be read
    if (!db && !db.error().IsNotFound()) return Fail(db.error());
    return Fail(kNo, arguments.directory + ": not a LevelDB database; nothing was converted");
  }
  StderrLogger logger;
  Options options{.mode = OpenMode::kMustExist, .memory_bytes = size_t{256} << 20};
  if (!arguments.is_quiet) options.env.logger = &logger;
  const auto db = DB::Open(options, arguments.directory);
  if (!db) return Fail(db.error());
  return Finish(**db, kOk);
}

int RunExport(Arguments& arguments) {
  if (const Status status = CheckIsOutside(arguments.directory, arguments.words[0]); !status.ok()) return Fail(status);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  SkippedKeys skipped(arguments);
  LevelDbExportOptions options{.progress = ShowProgress(arguments)};
  if (arguments.is_skipping)
    options.on_failed_key = [&](std::string_view key, const Status& status) { skipped.Take(key, status); };
  if (arguments.is_default_alone || arguments.keyspace) {
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
      {"convert", "convert DIR [--salvage] [--quiet]", "Convert a LevelDB database to mergedb, in place",
       "No other command does; a program that opens the database for writing does. The conversion needs as much free "
       "space as the database has.\n"
       "If it fails or is interrupted, LevelDB still opens the database. With --salvage, all intact entries are\n"
       "converted, the losses are printed (exit code 1 if there are any), and LevelDB's files move to DIR/lost.",
       0, 0, RunConvert});
  convert->add_flag("--salvage", arguments.is_salvage, "Convert a damaged database: keep all intact entries");
  convert->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");

  CLI::App* exporting = AddVerb(
      app, context,
      {"export-leveldb", "export-leveldb DIR TARGET [--keyspace NAME | --default-alone] [--skip-errors] [--quiet]",
       "Export the database to a directory that LevelDB opens",
       "TARGET must not exist or be empty. Merge operands and deletes are applied. LevelDB can open TARGET only after "
       "the\n"
       "last step; if the export is interrupted, run it again. LevelDB has no keyspaces: export each one separately.",
       1, 1, RunExport});
  AddKeyspace(exporting, arguments);
  exporting->add_flag("--default-alone", arguments.is_default_alone,
                      "Export only the default keyspace, although there are others");
  AddSkipErrors(exporting, arguments);
  exporting->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");
}

}  // namespace mergedb::tool
