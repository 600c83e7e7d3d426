// The verb keyspaces, which lists, creates and drops keyspaces.
#include "command.h"
#include "lmdb_programs.h"

namespace mergedb::tool::keyspaces_verb {
namespace {

struct Arguments : Line, HexOption {
  bool is_json = false;
  std::optional<std::string> create, drop;
};

int Run(Arguments& arguments) {
  const bool is_change = arguments.create || arguments.drop;
  const auto db = OpenDatabase(arguments.directory, is_change ? OpenMode::kMustExist : OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  Status status;
  if (arguments.create) status = db->CreateKeyspace(TakeBytes(arguments, *arguments.create)).status();
  if (status.ok() && arguments.drop) {
    const std::string name = TakeBytes(arguments, *arguments.drop);
    const auto keyspace = db->OpenKeyspace(name);
    status = keyspace ? DropDatabase(*db, {name, *keyspace}) : keyspace.status();
  }
  if (!status.ok()) return Finish(*db, Fail(status));
  if (is_change) return Finish(*db, kOk);
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
              {.usage = "keyspaces DIR [--create NAME] [--drop NAME] [--hex] [--json]",
               .description = "List the named keyspaces, or create or drop one",
               .footer = "A line is name, tab, id.",
               .examples = {"mergedb keyspaces /srv/data", "mergedb keyspaces /srv/data --create users"}},
              Run);
  AddHexAndJson(verb, arguments, arguments.is_json);
  verb->add_option("--create", arguments.create, "Create this keyspace")->type_name("NAME")->check(NotEmpty());
  verb->add_option("--drop", arguments.drop, "Drop this keyspace with all its entries")
      ->type_name("NAME")
      ->check(NotEmpty());
}

}  // namespace mergedb::tool::keyspaces_verb
