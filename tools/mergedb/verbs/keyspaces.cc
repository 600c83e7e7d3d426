// The verb keyspaces, which lists, creates and drops keyspaces.
#include "command.h"
#include "lmdb_programs.h"

namespace mergedb::tool::keyspaces_verb {
namespace {

struct Arguments : Line, HexOption {
  bool is_json = false;
  std::optional<std::string> create, drop;
};

// WHY the one to drop is opened first: if it is unknown, none is created.
Status Change(DB& db, const std::string& create, const std::string& drop) {
  Keyspace dropped;
  if (!drop.empty()) { ASSIGN_OR_RETURN(dropped, db.OpenKeyspace(drop)); }
  if (!create.empty()) RETURN_IF_ERROR(db.CreateKeyspace(create).status());
  return drop.empty() ? Status() : DropDatabase(db, {drop, dropped});
}

int Run(Arguments& arguments) {
  const bool is_change = arguments.create || arguments.drop;
  const std::string create = TakeBytes(arguments, arguments.create.value_or(""));
  const std::string drop = TakeBytes(arguments, arguments.drop.value_or(""));
  const auto db = OpenDatabase(arguments.directory, is_change ? OpenMode::kMustExist : OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (is_change) {
    const Status status = Change(*db, create, drop);
    return Finish(*db, status.ok() ? kOk : Fail(status));
  }
  const auto entries = db->ListKeyspaces();
  if (!entries) return Finish(*db, Fail(entries.status()));
  for (const KeyspaceEntry& entry : *entries) {
    if (arguments.is_json) {
      nlohmann::ordered_json object;
      SetBytes(arguments, &object, "name", entry.name);
      object["id"] = entry.keyspace.id();
      PrintJson(object);
    } else {
      Print(ShowBytes(arguments, entry.name) + "\t" + std::to_string(entry.keyspace.id()) + "\n");
    }
  }
  return Finish(*db, kOk);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "keyspaces DIR [--create NAME] [--drop NAME] [--hex] | keyspaces DIR [--hex] [--json]",
               .description = "List the named keyspaces, or create one, or drop one",
               .footer = "A line is name, tab, id.",
               .examples = {"mergedb keyspaces /srv/data", "mergedb keyspaces /srv/data --create users"}},
              Run);
  CLI::Option* const json = AddHexAndJson(verb, arguments, arguments.is_json);
  verb->add_option("--create", arguments.create, "Create this keyspace")
      ->type_name("NAME")
      ->check(NotEmpty())
      ->excludes(json);
  verb->add_option("--drop", arguments.drop, "Drop this keyspace with all its entries")
      ->type_name("NAME")
      ->check(NotEmpty())
      ->excludes(json);
}

}  // namespace mergedb::tool::keyspaces_verb
