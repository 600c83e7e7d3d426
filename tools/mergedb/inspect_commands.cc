// The verbs stat and check. They change nothing.
#include <sstream>

#include "command.h"
#include "text.h"

namespace mergedb::tool {

namespace {

std::string Property(DB& db, const std::string& name) {
  std::string text;
  db.GetProperty("mergedb." + name, &text);
  return text;
}

nlohmann::ordered_json CountersOf(DB& db) {
  nlohmann::ordered_json counters = nlohmann::ordered_json::object();
  for (const std::string& line : Lines(Property(db, "counters"))) {
    std::istringstream in(line);
    std::string name;
    if (uint64_t value = 0; in >> name >> value) counters[name] = value;
  }
  return counters;
}

void PrintSection(const char* title, const std::string& text) {
  if (text.empty()) return;
  Print(std::string(title) + "\n");
  for (const std::string& line : Lines(text)) Print("  " + ToLine(line) + "\n");
}

bool IsLmdbStat(const Arguments& arguments) {
  return arguments.is_alias || arguments.is_environment || arguments.readers_level > 0 || arguments.free_level > 0 ||
         arguments.is_all || arguments.database.has_value();
}

int RunStat(Arguments& arguments) {
  if (IsLmdbStat(arguments)) return RunLmdbStat(arguments);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (arguments.property) {
    std::string text;
    if (!db->GetProperty(*arguments.property, &text)) {
      return Finish(*db, Fail(kNo, "there is no property \"" + *arguments.property +
                                       "\"; mergedb stat DIR --property mergedb.counters prints all counters"));
    }
    for (const std::string& line : Lines(text)) Print(ToLine(line) + "\n");
    return Finish(*db, kOk);
  }
  const Disk disk = MeasureDirectory(arguments.directory);
  if (arguments.is_json) {
    PrintJson({{"directory", arguments.directory},
               {"files", disk.files},
               {"bytes", disk.bytes},
               {"runs", Lines(Property(*db, "runs"))},
               {"counters", CountersOf(*db)},
               {"recovery", Property(*db, "recovery")},
               {"errors", Property(*db, "errors")}},
              2);
    return Finish(*db, kOk);
  }
  Print("directory  " + ToText(arguments.directory) + "\n");
  Print("on disk    " + PrintBytes(disk.bytes) + " in " + std::to_string(disk.files) + " files\n");
  for (const char* section : {"runs", "stats", "recovery", "errors"}) PrintSection(section, Property(*db, section));
  return Finish(*db, kOk);
}

int ReportCheck(const Arguments& arguments, const Status& status) {
  const bool is_damaged = status.IsCorruption();
  if (arguments.is_json && (status.ok() || is_damaged)) {
    nlohmann::ordered_json object = {{"directory", arguments.directory}, {"ok", status.ok()}};
    if (is_damaged) object["damage"] = std::string(status.message());
    PrintJson(object);
  } else if (status.ok()) {
    Print("ok: all tables and blob files were read; all checksums match\n");
  }
  if (status.ok()) return kOk;
  return Fail(is_damaged ? kNo : kError, status.ToString());
}

int RunCheck(Arguments& arguments) {
  std::unique_ptr<DB> db;
  const Status status = UntilNotBusy([&]() -> Status {
    db = nullptr;  // lets go of its files: a process holds so many (env/held_files.h)
    ASSIGN_OR_RETURN(db, OpenToReadOnce(arguments.directory));
    return db->CheckIntegrity();
  });
  const int exit = ReportCheck(arguments, status);
  return db == nullptr ? exit : Finish(*db, exit);
}

}  // namespace

void AddInspectCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* stat = AddVerb(app, context,
                           {"stat", "stat DIR [--json] [--property NAME] [-e] [-f] [-r] [-a | --keyspace NAME]",
                            "Print sizes, sorted runs and counters",
                            "With -e, -f, -r, -a or --keyspace, the output is that of mdb_stat.", 0, 0, RunStat});
  stat->add_flag("--json", arguments.is_json, "Print JSON");
  stat->add_option("--property", arguments.property, "Print one property, such as mergedb.counters");

  stat->add_flag("-e", arguments.is_environment, "mdb_stat's lines about the environment");
  stat->add_flag("-f", arguments.free_level, "mdb_stat's lines about free pages");
  stat->add_flag("-r", arguments.readers_level, "mdb_stat's lines about readers");
  CLI::Option* all = stat->add_flag("-a", arguments.is_all, "mdb_stat's lines about all databases");
  stat->add_option("-s,--keyspace", arguments.database, "mdb_stat's lines about this keyspace (LMDB: named database)")
      ->type_name("NAME")
      ->check(NotEmpty())
      ->excludes(all);
  AddLmdbFlags(stat);

  CLI::App* check = AddVerb(
      app, context,
      {"check", "check DIR [--json]", "Read all tables and blob files and verify their checksums; changes nothing",
       "`mergedb verify` also reads the MANIFEST and the WAL, of a database that is closed.\n"
       "Exit code 1 if there is damage; the message names the first damaged place. `mergedb verify` lists all of them. "
       "While "
       "another process writes to the database, the check reads the state as of its start.",
       0, 0, RunCheck});
  check->add_flag("--json", arguments.is_json, "Print JSON");
}

}  // namespace mergedb::tool
