// The verb convert, which makes a mergedb database of LevelDB's files.
#include <cstdio>

#include "command.h"
#include "mergedb/leveldb.h"
#include "text.h"

namespace mergedb::tool::convert_verb {
namespace {

struct Arguments : Line {
  bool is_salvage = false;
  bool is_quiet = false;
};

// Prints the messages of the conversion on stderr, one a line.
class StderrLogger final : public Logger {
 public:
  void Log(std::string_view line) override { std::fprintf(stderr, "mergedb: %s\n", ToLine(line).c_str()); }
};

int RunSalvage(const Arguments& arguments) {
  const auto report =
      RepairLevelDb({.memory_bytes = size_t{64} << 20}, arguments.directory, ShowProgress(arguments.is_quiet));
  if (!report) return Fail(report.error());
  for (const Damage& loss : report->losses) Print("lost: " + ToLine(ToText(loss)) + "\n");
  for (const std::string& action : report->actions) Print(ToLine(action) + "\n");
  for (const std::string& note : report->notes) Print(ToLine(note) + "\n");
  return report->losses.empty() ? kOk : kNo;
}

int Run(Arguments& arguments) {
  const auto is_leveldb = IsLevelDb({}, arguments.directory);
  if (!is_leveldb) return Fail(is_leveldb.error());
  if (arguments.is_salvage) return RunSalvage(arguments);
  if (!*is_leveldb) {
    std::unique_ptr<DB> db;
    const Status status = ReadUntilNotBusy(arguments.directory, &db, [](DB&) { return Status(); });
    // No database, RocksDB's or LMDB's files, a damaged database of LevelDB or mergedb, or a directory that cannot be
    // read
    if (!status.ok()) return Fail(status);
    return Fail(kNo, arguments.directory + ": a database of mergedb, not of LevelDB; nothing was converted");
  }
  StderrLogger logger;
  Options options{.mode = OpenMode::kMustExist, .memory_bytes = size_t{256} << 20};
  if (!arguments.is_quiet) options.env.logger = &logger;
  const auto db = DB::Open(options, arguments.directory);
  if (!db) return Fail(db.error());
  return Finish(**db, kOk);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "convert DIR [--salvage] [--quiet]",
       .description = "Convert a LevelDB database to mergedb, in place",
       .footer =
           "No other command does; a program that opens the database for writing does. The conversion needs as much "
           "free space as the database has.\n"
           "Exit code 1: it is a database of mergedb already.\n"
           "If it fails or is interrupted, LevelDB still opens the database. With --salvage, all intact entries are\n"
           "converted, the losses are printed (exit code 1 if there are any), and LevelDB's files move to DIR/lost.",
       .examples = {"mergedb convert /srv/leveldb", "mergedb convert /srv/leveldb --salvage"}},
      Run);
  verb->add_flag("--salvage", arguments.is_salvage, "Convert a damaged database: keep all intact entries");
  verb->add_flag("--quiet", arguments.is_quiet, "Print no progress on stderr");
}

}  // namespace mergedb::tool::convert_verb
