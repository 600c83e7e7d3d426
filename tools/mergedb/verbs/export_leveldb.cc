// The verb export-leveldb, which makes LevelDB's files of a database.
#include "command.h"
#include "mergedb/leveldb.h"
#include "text.h"

namespace mergedb::tool::export_leveldb_verb {
namespace {

struct Arguments : Line, KeyspaceOption {
  bool is_default_alone = false;
  bool is_skipping = false;
  bool is_quiet = false;
};

int Run(Arguments& arguments) {
  if (const Status status = CheckIsOutside(arguments.directory, arguments.words[0]); !status.ok()) return Fail(status);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  SkippedKeys skipped(arguments.is_skipping);
  LevelDbExportOptions options{.progress = ShowProgress(arguments.is_quiet)};
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
  Print(PrintCount(exported->entries, "key") + " in " + PrintCount(exported->tables, "table") + ", " +
        PrintBytes(exported->bytes) + "\n");
  return Finish(*db, skipped.Finish(kOk));
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "export-leveldb DIR TARGET [--keyspace NAME | --default-alone] [--skip-errors] [--quiet]",
               .description = "Export the database to a directory that LevelDB opens",
               .footer = "TARGET must not exist or be empty. Merge operands and deletes are applied. LevelDB can open "
                         "TARGET only after the\n"
                         "last step; if the export is interrupted, run it again. LevelDB has no keyspaces: export each "
                         "one separately.",
               .examples = {"mergedb export-leveldb /srv/data /srv/leveldb",
                            "mergedb export-leveldb /srv/data /srv/leveldb --keyspace users"},
               .words_min = 1,
               .words_max = 1},
              Run);
  AddKeyspace(verb, arguments);
  verb->add_flag("--default-alone", arguments.is_default_alone,
                 "Export only the default keyspace, although there are others")
      ->excludes("--keyspace");
  AddSkipErrors(verb, arguments.is_skipping);
  verb->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");
}

}  // namespace mergedb::tool::export_leveldb_verb
