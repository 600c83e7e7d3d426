// The verb check, which changes nothing.
#include "command.h"

namespace mergedb::tool::check_verb {
namespace {

struct Arguments : Line {
  bool is_json = false;
};

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

int Run(Arguments& arguments) {
  std::unique_ptr<DB> db;
  const Status status = ReadUntilNotBusy(arguments.directory, &db, [](DB& opened) { return opened.CheckIntegrity(); });
  const int exit = ReportCheck(arguments, status);
  return db == nullptr ? exit : Finish(*db, exit);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "check DIR [--json]",
       .description = "Read all tables and blob files and verify their checksums; changes nothing",
       .footer =
           "`mergedb verify` also reads the MANIFEST and the WAL, of a database that is closed.\n"
           "Exit code 1 if there is damage; the message names the first damaged place. `mergedb verify` lists all of "
           "them. While another process writes to the database, the check reads the state as of its start.",
       .examples = {"mergedb check /srv/data", "mergedb check /srv/data --json || mergedb verify /srv/data"}},
      Run);
  verb->add_flag("--json", arguments.is_json, "Print JSON");
}

}  // namespace mergedb::tool::check_verb
